//! A web user behind one persistent connection: thinks, then fetches an object (model: `playpath_video::traffic`). The
//! request is sent as bytes of the client's end; the server writes the object when it has read the whole request. When the connection
//! breaks, what is missing is requested over another.

use crate::apps::FlowSetup;
use crate::engine::Owner;
use crate::network::{AppId, End, FlowId, Network, Notice, OwnerKind, What};
use playpath_units::Time;
use playpath_units::random::Stream;
use playpath_video::traffic::{REQUEST_BYTES, WebModel, WebUser};
use std::collections::VecDeque;

pub struct WebSource {
    owner: Owner,
    start_at: Time,
    stop_at: Time,
    setup: Box<FlowSetup>,
    user: User,
    /// `None` before it is open, and after it broke until there is something to ask for.
    flow: Option<FlowId>,
    /// Request bytes not yet accepted by the client's socket.
    unsent_bytes: u64,
    /// Sizes of the objects whose requests the server has not read.
    requested: VecDeque<u64>,
    /// Bytes of the first of these requests that the server has read.
    request_bytes_read: u64,
    /// Object bytes not yet accepted by the server's socket.
    unwritten_bytes: u64,
    asked_bytes: u64,
    read_bytes: u64,
}

/// The user and what becomes one, in the same place: a crowd is large.
enum User {
    /// The flow is not open yet.
    Expected(WebModel, Stream),
    Here(WebUser),
    Gone,
}

impl WebSource {
    pub fn new(
        net: &mut Network,
        id: AppId,
        start_at: Time,
        stop_at: Option<Time>,
        model: WebModel,
        stream: Stream,
        setup: FlowSetup,
    ) -> WebSource {
        WebSource {
            owner: net.add_owner(OwnerKind::App(id)),
            start_at,
            stop_at: stop_at.unwrap_or(Time::MAX),
            setup: Box::new(setup),
            user: User::Expected(model, stream),
            flow: None,
            unsent_bytes: 0,
            requested: VecDeque::new(),
            request_bytes_read: 0,
            unwritten_bytes: 0,
            asked_bytes: 0,
            read_bytes: 0,
        }
    }

    pub fn start(&mut self, net: &mut Network) {
        net.arm(self.owner, self.start_at);
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        if let User::Expected(..) = self.user
            && self.flow.is_none()
        {
            self.flow = Some(self.setup.open(net, false));
            return net.arm(self.owner, self.stop_at);
        }
        if net.now >= self.stop_at {
            if let Some(flow) = self.flow {
                net.abort(flow);
            }
            self.user = User::Gone;
            return net.arm(self.owner, Time::MAX);
        }
        if let User::Here(user) = &mut self.user
            && let Some(bytes) = user.handle_timeout(net.now)
        {
            self.asked_bytes += bytes;
            self.requested.push_back(bytes);
            self.unsent_bytes += REQUEST_BYTES;
            self.send(net);
        }
        self.rearm(net);
    }

    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        let Some(flow) = self.flow.filter(|flow| *flow == notice.flow) else { return };
        match (notice.end, notice.what) {
            (End::Client, What::Connected) => {
                if let User::Expected(model, stream) = &self.user {
                    self.user = User::Here(WebUser::new(*model, net.now, stream.clone()));
                }
                self.send(net);
            }
            (End::Client, What::Closed) if net.now < self.stop_at => self.ask_again(net, flow),
            (End::Client, What::Writable) => self.send(net),
            (End::Server, What::Readable) => {
                self.request_bytes_read += net.read(flow, End::Server, u64::MAX);
                while self.request_bytes_read >= REQUEST_BYTES
                    && let Some(bytes) = self.requested.pop_front()
                {
                    self.request_bytes_read -= REQUEST_BYTES;
                    self.unwritten_bytes += bytes;
                }
                self.write(net, flow);
            }
            (End::Server, What::Writable) => self.write(net, flow),
            (End::Client, What::Readable) => {
                self.read_bytes += net.read(flow, End::Client, u64::MAX);
                if self.read_bytes == self.asked_bytes
                    && let User::Here(user) = &mut self.user
                {
                    user.handle_transfer_done(net.now);
                }
            }
            _ => return,
        }
        self.rearm(net);
    }

    /// The connection broke: one request for all that is missing goes over another; where nothing is missing, the next request opens it.
    fn ask_again(&mut self, net: &mut Network, broken: FlowId) {
        let missing = self.asked_bytes - self.read_bytes;
        self.requested = VecDeque::from_iter((missing > 0).then_some(missing));
        self.unsent_bytes = self.requested.len() as u64 * REQUEST_BYTES;
        (self.request_bytes_read, self.unwritten_bytes) = (0, 0);
        let is_needed = missing > 0 || matches!(self.user, User::Expected(..));
        if is_needed {
            net.note_broken(broken);
        }
        net.reset(broken, End::Client);
        self.flow = is_needed.then(|| self.setup.open(net, false));
    }

    fn send(&mut self, net: &mut Network) {
        if self.unsent_bytes > 0 {
            let flow = *self.flow.get_or_insert_with(|| self.setup.open(net, false));
            self.unsent_bytes -= net.write(flow, End::Client, self.unsent_bytes);
        }
    }

    fn write(&mut self, net: &mut Network, flow: FlowId) {
        if self.unwritten_bytes > 0 {
            self.unwritten_bytes -= net.write(flow, End::Server, self.unwritten_bytes);
        }
    }

    fn rearm(&mut self, net: &mut Network) {
        let next = if let User::Here(user) = &self.user { user.poll_timeout() } else { Time::MAX };
        net.arm(self.owner, next.min(self.stop_at));
    }
}
