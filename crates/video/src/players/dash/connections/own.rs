//! Separate connections of one kind of media: opened when first needed, used in turn, closed after a number of requests.

use super::{Connections, Io};
use crate::{Action, ConnectionId, EventKind, Request, RequestId};
use playpath_units::Time;

#[derive(Debug)]
struct Slot {
    connection: Option<ConnectionId>,
    is_ready: bool,
    /// Requests so far on this connection, and those not answered yet.
    requests: u32,
    in_flight: u32,
    last_used: Time,
    waiting: Vec<Request>,
}

#[derive(Debug)]
pub struct Pool {
    config: Connections,
    slots: Vec<Slot>,
    turn: usize,
}

impl Pool {
    pub fn new(config: Connections) -> Pool {
        let empty = |_| Slot {
            connection: None,
            is_ready: false,
            requests: 0,
            in_flight: 0,
            last_used: Time::ZERO,
            waiting: Vec::new(),
        };
        Pool { config, slots: (0..config.parallel).map(empty).collect(), turn: 0 }
    }

    pub fn idle_slot(&self) -> Option<usize> {
        let count = self.slots.len();
        (0..count).map(|i| (self.turn + i) % count).find(|&i| self.slots[i].in_flight == 0)
    }

    pub fn can_pipeline(&self, slot: usize) -> bool {
        let slot = &self.slots[slot];
        slot.in_flight == 1 && self.config.requests_each.is_none_or(|most| slot.requests < most)
    }

    /// Send on `slot`, opening a connection first if there is none or the server has closed it.
    pub fn send(&mut self, now: Time, slot: usize, mut request: Request, io: &mut Io) {
        self.turn = (slot + 1) % self.slots.len();
        let idle_timeout = self.config.idle_timeout;
        let slot = &mut self.slots[slot];
        let timed_out = idle_timeout.is_some_and(|limit| now.saturating_since(slot.last_used) > limit);
        if slot.in_flight == 0 && timed_out {
            slot.close(io);
        }
        let connection = *slot.connection.get_or_insert_with(|| io.open());
        request.connection = connection;
        slot.requests += 1;
        slot.in_flight += 1;
        slot.last_used = now;
        if slot.is_ready { io.send(now, request) } else { slot.waiting.push(request) }
    }

    pub fn handle_connected(&mut self, now: Time, connection: ConnectionId, io: &mut Io) -> bool {
        let Some(slot) = self.slots.iter_mut().find(|slot| slot.connection == Some(connection)) else { return false };
        slot.is_ready = true;
        slot.last_used = now;
        io.log.push(now, EventKind::Connected { connection });
        for request in slot.waiting.drain(..) {
            io.send(now, request);
        }
        true
    }

    /// A response is complete; the connection is closed if it has served its number of requests.
    pub fn finish_request(&mut self, now: Time, slot: usize, io: &mut Io) {
        let slot = &mut self.slots[slot];
        slot.in_flight -= 1;
        slot.last_used = now;
        if slot.in_flight == 0 && self.config.requests_each.is_some_and(|most| slot.requests >= most) {
            slot.close(io);
        }
    }

    /// Give up the only request of `slot`. HTTP/1.1 can only do so by closing the connection.
    pub fn abandon(&mut self, slot: usize, request: RequestId, io: &mut Io) {
        io.actions.push_back(Action::Abandon(request));
        self.slots[slot].in_flight = 0;
        self.slots[slot].waiting.clear();
        self.slots[slot].close(io);
    }

    /// Give up all requests: their connections are closed, the others are kept.
    pub fn abandon_all(&mut self, requests: impl Iterator<Item = RequestId>, io: &mut Io) {
        io.actions.extend(requests.map(Action::Abandon));
        for slot in self.slots.iter_mut().filter(|slot| slot.in_flight > 0) {
            slot.in_flight = 0;
            slot.waiting.clear();
            slot.close(io);
        }
    }

    pub fn ready(&self) -> Option<ConnectionId> {
        self.slots.iter().filter(|slot| slot.is_ready).find_map(|slot| slot.connection)
    }

    pub fn has_one_request(&self, slot: usize) -> bool {
        self.slots[slot].in_flight == 1
    }

    pub fn close_all(&mut self, io: &mut Io) {
        for slot in &mut self.slots {
            slot.close(io);
        }
    }
}

impl Slot {
    fn close(&mut self, io: &mut Io) {
        if let Some(connection) = self.connection.take() {
            io.actions.push_back(Action::Close(connection));
        }
        (self.is_ready, self.requests) = (false, 0);
    }
}
