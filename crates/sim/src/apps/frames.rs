//! A source of frames behind one persistent connection (model: `playpath_video::traffic`): the server writes a frame as soon as it has one,
//! and the delay of a frame ends when the client has read its last byte. When the connection breaks, what has not arrived is written to
//! another.

use crate::apps::FlowSetup;
use crate::engine::Owner;
use crate::network::{AppId, End, FlowId, Network, Notice, OwnerKind, What};
use playpath_units::random::Stream;
use playpath_units::{Duration, Time};
use playpath_video::traffic::{FrameModel, FrameSource as Model};
use std::collections::VecDeque;

pub struct FrameSource {
    owner: Owner,
    start_at: Time,
    stop_at: Time,
    setup: Box<FlowSetup>,
    model: FrameModel,
    stream: Stream,
    /// `None` before the connection is there and after its end.
    source: Option<Model>,
    /// `None` before it is open.
    flow: Option<FlowId>,
    /// Taken and not yet in the server's socket.
    unwritten_bytes: u64,
    taken_bytes: u64,
    read_bytes: u64,
    /// Frames that have not arrived: when each was taken, and where it ends in the stream.
    under_way: VecDeque<(Time, u64)>,
    delays: Vec<Duration>,
}

impl FrameSource {
    pub fn new(
        net: &mut Network,
        id: AppId,
        (start_at, stop_at): (Time, Option<Time>),
        model: FrameModel,
        stream: Stream,
        setup: FlowSetup,
    ) -> FrameSource {
        FrameSource {
            owner: net.add_owner(OwnerKind::App(id)),
            start_at,
            stop_at: stop_at.unwrap_or(Time::MAX),
            setup: Box::new(setup),
            model,
            stream,
            source: None,
            flow: None,
            unwritten_bytes: 0,
            taken_bytes: 0,
            read_bytes: 0,
            under_way: VecDeque::new(),
            delays: Vec::new(),
        }
    }

    pub fn start(&mut self, net: &mut Network) {
        net.arm(self.owner, self.start_at);
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        let Some(flow) = self.flow else {
            self.flow = Some(self.setup.open(net, false));
            return net.arm(self.owner, self.stop_at);
        };
        if net.now >= self.stop_at {
            self.source = None;
            self.delays.extend(self.under_way.drain(..).map(|(taken, _)| net.now - taken));
            net.abort(flow);
            return net.arm(self.owner, Time::MAX);
        }
        if let Some(bytes) = self.source.as_mut().and_then(|source| source.handle_timeout(net.now)) {
            self.taken_bytes += bytes;
            self.unwritten_bytes += bytes;
            self.under_way.push_back((net.now, self.taken_bytes));
            self.write(net, flow);
        }
        self.rearm(net);
    }

    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        if Some(notice.flow) != self.flow {
            return;
        }
        match (notice.end, notice.what) {
            (End::Server, What::Connected) => {
                self.source.get_or_insert_with(|| Model::new(self.model, net.now, self.stream.clone()));
                self.write(net, notice.flow);
                self.rearm(net);
            }
            (End::Server, What::Writable) => self.write(net, notice.flow),
            (End::Client, What::Closed) if net.now < self.stop_at => {
                self.flow = Some(self.setup.reopen(net, notice.flow, false));
                self.unwritten_bytes = self.taken_bytes - self.read_bytes;
            }
            (End::Client, What::Readable) => {
                self.read_bytes += net.read(notice.flow, End::Client, u64::MAX);
                while let Some(&(taken, end)) = self.under_way.front()
                    && end <= self.read_bytes
                {
                    self.under_way.pop_front();
                    self.delays.push(net.now - taken);
                }
            }
            _ => {}
        }
    }

    /// The flow, its last, and the delay of each frame; one that has not arrived by `now` counts with the time for which it has waited. `None`
    /// before its start time.
    pub fn measured(&self, now: Time) -> Option<(FlowId, Vec<Duration>)> {
        let waiting = self.under_way.iter().map(|(taken, _)| now - *taken);
        Some((self.flow?, self.delays.iter().copied().chain(waiting).collect()))
    }

    fn write(&mut self, net: &mut Network, flow: FlowId) {
        if self.unwritten_bytes > 0 {
            self.unwritten_bytes -= net.write(flow, End::Server, self.unwritten_bytes);
        }
    }

    fn rearm(&mut self, net: &mut Network) {
        let next = self.source.as_ref().map_or(Time::MAX, Model::poll_timeout);
        net.arm(self.owner, next.min(self.stop_at));
    }
}
