//! The server's half: the choice of the next frame.

use super::{CONNECTION_WINDOW, FRAME_HEADER, Frame, MAX_FRAME, STREAM_WINDOW};
use playpath_units::Time;
use playpath_video::{Delivery, Priority, Request, RequestId};
use std::collections::VecDeque;

/// The responses of a connection that are not framed completely, in the order of their requests.
#[derive(Debug)]
pub struct Server {
    streams: Vec<Stream>,
    /// Body bytes that the client's windows still take, over all streams.
    window: u64,
    /// Frames of the connection itself.
    control: VecDeque<Frame>,
}

#[derive(Debug)]
struct Stream {
    id: RequestId,
    priority: Priority,
    header: u64,
    body: u64,
    delivery: Delivery,
    began: Time,
    is_header_framed: bool,
    framed: u64,
    window: u64,
    /// Incremental: bytes that it has had, and those that others had had when it joined them.
    share: u64,
    is_ready: bool,
}

impl Server {
    /// A connection whose first frames are those of `control`.
    pub fn new(control: impl IntoIterator<Item = Frame>) -> Server {
        Server { streams: Vec::new(), window: CONNECTION_WINDOW, control: control.into_iter().collect() }
    }

    /// A frame of the connection itself, which goes before all others.
    pub fn push_control(&mut self, frame: Frame) {
        self.control.push_back(frame);
    }

    /// A request has arrived; its response's header has so many bytes more than it states.
    pub fn handle_request(&mut self, now: Time, request: &Request, cmsd_bytes: u64) {
        self.streams.push(Stream {
            id: request.id,
            priority: request.priority.unwrap_or(Priority::UNSAID),
            header: u64::from(request.response_header_bytes) + cmsd_bytes,
            body: request.body_bytes,
            delivery: request.delivery,
            began: now,
            is_header_framed: false,
            framed: 0,
            window: STREAM_WINDOW,
            share: 0,
            is_ready: false,
        });
    }

    /// Handle `RST_STREAM`: frames already begun are still sent.
    pub fn handle_reset(&mut self, stream: RequestId) {
        self.streams.retain(|known| known.id != stream);
    }

    pub fn handle_window_update(&mut self, stream: Option<RequestId>, bytes: u64) {
        match stream {
            None => self.window += bytes,
            Some(id) => self.streams.iter_mut().filter(|known| known.id == id).for_each(|known| known.window += bytes),
        }
    }

    /// The next frame, if there is one to write now: control frames, then headers, then data by priority.
    pub fn next_frame(&mut self, now: Time) -> Option<Frame> {
        if let Some(frame) = self.control.pop_front() {
            return Some(frame);
        }
        let has_header = |stream: &Stream| !stream.is_header_framed && stream.written(now) >= stream.header.max(1);
        let frame = match self.streams.iter_mut().find(|stream| has_header(stream)) {
            Some(stream) => stream.frame_header(),
            None => self.frame_data(now)?,
        };
        if frame.is_last {
            self.streams.retain(|stream| Some(stream.id) != frame.stream);
        }
        Some(frame)
    }

    /// When there is more to frame though nothing arrives.
    pub fn next_write(&self, now: Time) -> Time {
        let next = |stream: &Stream| stream.delivery.next_write(stream.header, stream.body, stream.began, now);
        self.streams.iter().map(next).min().unwrap_or(Time::MAX)
    }

    /// RFC 9218 §10: the most urgent responses first; among them the non-incremental ones, one after the other in the order of the
    /// requests, then the incremental ones concurrently.
    fn frame_data(&mut self, now: Time) -> Option<Frame> {
        if self.window == 0 {
            return None;
        }
        self.note_ready(now);
        let ready = self.streams.iter_mut().filter(|stream| stream.is_ready);
        // The first of equals: the order of the requests.
        let stream = ready.min_by_key(|stream| {
            let Priority { urgency, incremental } = stream.priority;
            (urgency, incremental, if incremental { stream.share } else { 0 })
        })?;
        let frame = stream.frame_data(now, self.window);
        self.window -= frame.body;
        Some(frame)
    }

    /// Update the set of streams with data. A stream that joins others has no claim to bytes for their past share.
    fn note_ready(&mut self, now: Time) {
        for index in 0..self.streams.len() {
            let stream = &self.streams[index];
            let is_ready = stream.available(now) > 0;
            if is_ready && !stream.is_ready {
                let urgency = stream.priority.urgency;
                let is_competing =
                    |other: &&Stream| other.is_ready && other.priority == (Priority { urgency, incremental: true });
                let least = self.streams.iter().filter(is_competing).map(|other| other.share).min();
                self.streams[index].share = least.unwrap_or(0);
            }
            self.streams[index].is_ready = is_ready;
        }
    }
}

impl Stream {
    /// Bytes of header and body that the server's program has produced.
    fn written(&self, now: Time) -> u64 {
        self.delivery.written(self.header, self.body, self.began, now)
    }

    /// Body bytes that can be framed now.
    fn available(&self, now: Time) -> u64 {
        (self.written(now).saturating_sub(self.header) - self.framed).min(self.window)
    }

    fn frame_header(&mut self) -> Frame {
        self.is_header_framed = true;
        Frame { stream: Some(self.id), overhead: FRAME_HEADER + self.header, body: 0, is_last: self.body == 0 }
    }

    fn frame_data(&mut self, now: Time, window: u64) -> Frame {
        let body = self.available(now).min(MAX_FRAME).min(window);
        self.framed += body;
        self.window -= body;
        self.share += body;
        Frame { stream: Some(self.id), overhead: FRAME_HEADER, body, is_last: self.framed == self.body }
    }
}
