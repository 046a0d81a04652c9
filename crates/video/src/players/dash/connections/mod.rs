//! The client's connections: separate for each kind of media, or shared by all requests to a host, as in browsers.

mod config;
mod own;
mod shared;

use super::config::DashConfig;
use crate::events::EventLog;
use crate::{Action, ConnectionId, EventKind, Request, RequestId};
pub use config::{Connections, Protocol};
use own::Pool;
use playpath_units::Time;
use shared::Shared;
use std::collections::VecDeque;

/// The client's pending actions, its request and connection numbers, and the connections that its kinds of media share.
#[derive(Debug, Default)]
pub(super) struct Io {
    pub actions: VecDeque<Action>,
    pub log: EventLog,
    next_request: u32,
    next_connection: u32,
    shared: Shared,
}

impl Io {
    pub fn new(config: &DashConfig) -> Io {
        Io { shared: Shared::new(config), ..Io::default() }
    }

    pub fn next_request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request - 1)
    }

    fn open(&mut self) -> ConnectionId {
        self.next_connection += 1;
        let id = ConnectionId(self.next_connection - 1);
        self.actions.push_back(Action::Open(id));
        id
    }

    fn send(&mut self, now: Time, request: Request) {
        let (object, body_bytes) = (request.object, request.body_bytes);
        self.log.push(now, EventKind::RequestSent { request: request.id, object, body_bytes });
        self.actions.push_back(Action::Request(request));
    }
}

/// How one kind of media sends its requests. Its places are numbered; of shared connections it has one.
#[derive(Debug)]
pub(super) enum Lines {
    Own(Pool),
    /// On the shared connections, one request at a time.
    Shared {
        host: u8,
        request: Option<RequestId>,
    },
}

impl Lines {
    pub fn new(config: &DashConfig) -> Lines {
        match config.protocol {
            Protocol::Apart => Lines::Own(Pool::new(config.connections)),
            Protocol::Http1 { .. } | Protocol::Http2 { .. } => Lines::Shared { host: 0, request: None },
        }
    }

    /// A place with nothing under way.
    pub fn idle_slot(&self) -> Option<usize> {
        match self {
            Lines::Own(pool) => pool.idle_slot(),
            Lines::Shared { request, .. } => request.is_none().then_some(0),
        }
    }

    /// An established connection of its own.
    pub fn ready(&self) -> Option<ConnectionId> {
        match self {
            Lines::Own(pool) => pool.ready(),
            Lines::Shared { .. } => None,
        }
    }

    /// Another request may follow the one under way on this connection.
    pub fn can_pipeline(&self, slot: usize) -> bool {
        matches!(self, Lines::Own(pool) if pool.can_pipeline(slot))
    }

    pub fn has_one_request(&self, slot: usize) -> bool {
        match self {
            Lines::Own(pool) => pool.has_one_request(slot),
            Lines::Shared { request, .. } => request.is_some(),
        }
    }

    pub fn send(&mut self, now: Time, slot: usize, sent: Request, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.send(now, slot, sent, io),
            Lines::Shared { host, request } => {
                *request = Some(sent.id);
                io.send_shared(now, *host, sent);
            }
        }
    }

    /// The handshake is complete. `false` if the connection is not one of its own.
    pub fn handle_connected(&mut self, now: Time, connection: ConnectionId, io: &mut Io) -> bool {
        match self {
            Lines::Own(pool) => pool.handle_connected(now, connection, io),
            Lines::Shared { .. } => false,
        }
    }

    pub fn finish_request(&mut self, now: Time, slot: usize, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.finish_request(now, slot, io),
            Lines::Shared { request, .. } => request.take().into_iter().for_each(|id| io.finish_shared(now, id)),
        }
    }

    /// Give up the only request of `slot`.
    pub fn abandon(&mut self, slot: usize, abandoned: RequestId, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.abandon(slot, abandoned, io),
            Lines::Shared { request, .. } => {
                *request = None;
                io.abandon_shared(abandoned);
            }
        }
    }

    pub fn abandon_all(&mut self, abandoned: impl Iterator<Item = RequestId>, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.abandon_all(abandoned, io),
            Lines::Shared { request, .. } => {
                *request = None;
                abandoned.for_each(|id| io.abandon_shared(id));
            }
        }
    }

    /// Switch to another host; connections to the previous one are closed if no other media use them.
    pub fn turn_to(&mut self, next: u8, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.close_all(io),
            Lines::Shared { host, .. } => *host = next,
        }
    }

    pub fn close_all(&mut self, io: &mut Io) {
        match self {
            Lines::Own(pool) => pool.close_all(io),
            Lines::Shared { .. } => io.close_shared(),
        }
    }
}
