//! A web user behind one persistent connection: thinks, then fetches an object (model: `playpath_video::traffic`). The
//! request is sent as bytes of the client's end; the server writes the object when it has read the whole request.

use crate::apps::FlowSetup;
use crate::engine::Owner;
use crate::network::{AppId, End, FlowId, Network, Notice, OwnerKind, What};
use playpath_units::Time;
use playpath_units::random::Stream;
use playpath_video::traffic::{REQUEST_BYTES, WebModel, WebUser};
use std::collections::VecDeque;

/// One user, from `start_at` to `stop_at`.
pub struct WebSource {
    owner: Owner,
    start_at: Time,
    stop_at: Time,
    setup: Option<Box<FlowSetup>>,
    user: User,
    flow: FlowId,
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
            setup: Some(Box::new(setup)),
            user: User::Expected(model, stream),
            flow: 0,
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
        if let Some(setup) = self.setup.take() {
            self.flow = setup.open(net, false);
            return net.arm(self.owner, self.stop_at);
        }
        if net.now >= self.stop_at {
            net.abort(self.flow);
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
        match (notice.end, notice.what) {
            (End::Client, What::Connected) => {
                if let User::Expected(model, stream) = &self.user {
                    self.user = User::Here(WebUser::new(*model, net.now, stream.clone()));
                }
            }
            (End::Client, What::Writable) => self.send(net),
            (End::Server, What::Readable) => {
                self.request_bytes_read += net.read(self.flow, End::Server, u64::MAX);
                while self.request_bytes_read >= REQUEST_BYTES
                    && let Some(bytes) = self.requested.pop_front()
                {
                    self.request_bytes_read -= REQUEST_BYTES;
                    self.unwritten_bytes += bytes;
                }
                self.write(net);
            }
            (End::Server, What::Writable) => self.write(net),
            (End::Client, What::Readable) => {
                self.read_bytes += net.read(self.flow, End::Client, u64::MAX);
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

    fn send(&mut self, net: &mut Network) {
        if self.unsent_bytes > 0 {
            self.unsent_bytes -= net.write(self.flow, End::Client, self.unsent_bytes);
        }
    }

    fn write(&mut self, net: &mut Network) {
        if self.unwritten_bytes > 0 {
            self.unwritten_bytes -= net.write(self.flow, End::Server, self.unwritten_bytes);
        }
    }

    fn rearm(&mut self, net: &mut Network) {
        let next = if let User::Here(user) = &self.user { user.poll_timeout() } else { Time::MAX };
        net.arm(self.owner, next.min(self.stop_at));
    }
}
