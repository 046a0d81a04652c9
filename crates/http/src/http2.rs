//! HTTP/2 over one connection, modelled in bytes: concurrent streams, frames, windows, priorities.
//!
//! References: RFC 9113 §4.1 (frame header, 9 bytes), §4.2 (frames of 16 384 bytes at most), §5.2 and §6.9 (windows), §6.4
//! (`RST_STREAM`); RFC 9218 §4 and §10 (priorities). Client: Chromium `net/spdy/spdy_session.h` (windows of 6 MiB for a stream and 15
//! MiB for the connection, reopened when half of it was read).
//! Differences from the references:
//! 1. Field sections have the size that the request states; the savings of HPACK after the first are not computed.
//! 2. No TLS and its records, no `PING`, no `PRIORITY_UPDATE`, no push; windows do not follow the path.
//! 3. A server that implements RFC 9218 in full: urgency first, incremental responses share by bytes; many servers implement less. Within
//!    one urgency, non-incremental responses go first, which the RFC leaves open; nghttp2 lets an older incremental response take its turn.
//!
//! Units: bytes. Invariants: each body byte of a request is delivered once, those of a stream in order, whatever is written, read, updated
//! or reset in between; the bytes in transit never exceed the windows; a frame that was begun is finished. Tested by `tests/http2.rs`
//! (worked
//! schedules, those of nghttp2, random interleavings).

mod server;

pub use server::Server;

use crate::{Ordered, Received};
use playpath_units::Time;
use playpath_video::cmsd::Cmsd;
use playpath_video::{Request, RequestId};
use std::collections::{BTreeMap, VecDeque};

pub const FRAME_HEADER: u64 = 9;
/// Most body bytes of a frame (`SETTINGS_MAX_FRAME_SIZE`, by default).
pub const MAX_FRAME: u64 = 16_384;
/// `SETTINGS_INITIAL_WINDOW_SIZE` of the client.
pub const STREAM_WINDOW: u64 = 6 << 20;
/// Connection window after the client's first `WINDOW_UPDATE`, bytes.
pub const CONNECTION_WINDOW: u64 = 15 << 20;

/// Bytes of the client's preface: magic, four settings, `WINDOW_UPDATE`.
const CLIENT_PREFACE: u64 = 24 + (FRAME_HEADER + 4 * 6) + CONTROL;
/// Bytes of the server's preface: three settings, `WINDOW_UPDATE`.
const SERVER_PREFACE: u64 = FRAME_HEADER + 3 * 6 + CONTROL;
/// A frame of four bytes: `WINDOW_UPDATE`, `RST_STREAM`.
const CONTROL: u64 = FRAME_HEADER + 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Stream that it belongs to; `None` for the connection.
    pub stream: Option<RequestId>,
    /// All bytes but those of a body.
    pub overhead: u64,
    pub body: u64,
    pub is_last: bool,
}

impl Frame {
    const fn control(overhead: u64) -> Frame {
        Frame { stream: None, overhead, body: 0, is_last: false }
    }
}

#[derive(Debug)]
enum ClientFrame {
    Preface,
    Acknowledgement,
    Request(Request),
    Reset(RequestId),
    WindowUpdate { stream: Option<RequestId>, bytes: u64 },
}

impl ClientFrame {
    fn bytes(&self) -> u64 {
        match self {
            ClientFrame::Preface => CLIENT_PREFACE,
            ClientFrame::Acknowledgement => FRAME_HEADER,
            ClientFrame::Request(request) => FRAME_HEADER + u64::from(request.request_header_bytes),
            ClientFrame::Reset(_) | ClientFrame::WindowUpdate { .. } => CONTROL,
        }
    }
}

/// Both ends of a connection, and the frames in transit between them. The owner carries the bytes: it writes those that the methods return,
/// and reports those read at either end.
#[derive(Debug)]
pub struct Http2Connection {
    server: Server,
    /// Frames from the client that are not completely read, and the bytes read of the first.
    up: VecDeque<ClientFrame>,
    up_read: u64,
    /// Frames from the server that were begun and are not completely read; bytes of the last that are not yet written, and of the first
    /// that were read.
    down: VecDeque<Frame>,
    unwritten: u64,
    down_read: u64,
    /// Body bytes that were read since the window was opened last: of each response that is awaited, and of all.
    awaited: BTreeMap<RequestId, u64>,
    consumed: u64,
    has_settings: bool,
    /// The server's data in headers that have not been read yet (CMSD).
    cmsd: BTreeMap<RequestId, Cmsd>,
}

impl Default for Http2Connection {
    fn default() -> Http2Connection {
        Http2Connection {
            server: Server::new([Frame::control(SERVER_PREFACE)]),
            up: VecDeque::from([ClientFrame::Preface]),
            up_read: 0,
            down: VecDeque::new(),
            unwritten: 0,
            down_read: 0,
            awaited: BTreeMap::new(),
            consumed: 0,
            has_settings: false,
            cmsd: BTreeMap::new(),
        }
    }
}

impl Ordered for Http2Connection {
    fn has_priorities(&self) -> bool {
        true
    }

    fn send(&mut self, request: Request) -> u64 {
        self.awaited.insert(request.id, 0);
        self.queue(ClientFrame::Request(request))
    }

    fn abandon(&mut self, stream: RequestId) -> u64 {
        if self.awaited.remove(&stream).is_some() { self.queue(ClientFrame::Reset(stream)) } else { 0 }
    }

    fn is_idle(&self) -> bool {
        self.awaited.is_empty()
    }

    fn handle_at_server(&mut self, bytes: u64) -> Vec<Request> {
        self.up_read += bytes;
        let mut requests = Vec::new();
        while self.up.front().is_some_and(|frame| frame.bytes() <= self.up_read) {
            let Some(frame) = self.up.pop_front() else { break };
            self.up_read -= frame.bytes();
            match frame {
                ClientFrame::Preface => self.server.push_control(Frame::control(FRAME_HEADER)),
                ClientFrame::Acknowledgement => {}
                ClientFrame::Request(request) => requests.push(request),
                ClientFrame::Reset(stream) => self.server.handle_reset(stream),
                ClientFrame::WindowUpdate { stream, bytes } => self.server.handle_window_update(stream, bytes),
            }
        }
        requests
    }

    fn respond(&mut self, now: Time, request: &Request, cmsd: Option<Cmsd>) {
        let cmsd_bytes = cmsd.map_or(0, |cmsd| cmsd.header_bytes());
        self.server.handle_request(now, request, cmsd_bytes);
        self.cmsd.extend(cmsd.map(|cmsd| (request.id, cmsd)));
    }

    /// The rest of a frame.
    fn poll_write(&mut self, now: Time) -> u64 {
        if self.unwritten == 0
            && let Some(frame) = self.server.next_frame(now)
        {
            self.unwritten = frame.overhead + frame.body;
            self.down.push_back(frame);
        }
        self.unwritten
    }

    fn wrote(&mut self, bytes: u64) {
        self.unwritten -= bytes;
    }

    fn next_write(&self, now: Time) -> Time {
        self.server.next_write(now)
    }

    fn read_limit(&self, _: u64) -> u64 {
        u64::MAX
    }

    fn unread(&self) -> Option<u64> {
        None
    }

    fn handle_at_client(&mut self, mut bytes: u64, take: &mut dyn FnMut(RequestId, Received)) -> u64 {
        let mut answer = 0;
        while bytes > 0 {
            let frame = *self.down.front().expect("bytes are of frames");
            let end = (self.down_read + bytes).min(frame.overhead + frame.body);
            let body = end.saturating_sub(frame.overhead.max(self.down_read));
            bytes -= end - self.down_read;
            self.down_read = end;
            let is_whole = end == frame.overhead + frame.body;
            if is_whole {
                self.down.pop_front();
                self.down_read = 0;
            }
            match frame.stream {
                Some(stream) if body > 0 => {
                    if self.awaited.contains_key(&stream) {
                        take(stream, Received::Body(body));
                    }
                    answer += self.consume(stream, body, is_whole && frame.is_last);
                }
                Some(stream) => {
                    let cmsd = if is_whole { self.cmsd.remove(&stream) } else { None };
                    cmsd.filter(|_| self.awaited.contains_key(&stream))
                        .into_iter()
                        .for_each(|cmsd| take(stream, Received::ServerData(cmsd)));
                }
                None if is_whole && !std::mem::replace(&mut self.has_settings, true) => {
                    answer += self.queue(ClientFrame::Acknowledgement);
                }
                None => {}
            }
            if is_whole && frame.is_last {
                self.awaited.retain(|id, _| Some(*id) != frame.stream);
            }
        }
        answer
    }
}

impl Http2Connection {
    /// The connection is established: bytes that the client writes.
    pub fn begin(&self) -> u64 {
        CLIENT_PREFACE
    }

    /// Reopen windows when half of them was read; a stream's only while more data may follow.
    fn consume(&mut self, stream: RequestId, body: u64, is_end: bool) -> u64 {
        self.consumed += body;
        let mut answer = 0;
        if self.consumed > CONNECTION_WINDOW / 2 {
            let bytes = std::mem::take(&mut self.consumed);
            answer += self.queue(ClientFrame::WindowUpdate { stream: None, bytes });
        }
        let Some(consumed) = self.awaited.get_mut(&stream) else { return answer };
        *consumed += body;
        if *consumed > STREAM_WINDOW / 2 && !is_end {
            let bytes = std::mem::take(consumed);
            answer += self.queue(ClientFrame::WindowUpdate { stream: Some(stream), bytes });
        }
        answer
    }

    fn queue(&mut self, frame: ClientFrame) -> u64 {
        let bytes = frame.bytes();
        self.up.push_back(frame);
        bytes
    }
}
