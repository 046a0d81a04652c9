//! Addresses: anti-amplification, a client that moves or whose NAT gave it another port, and path validation.
//!
//! Reference: RFC 9000 §8.1 (three times what arrived, until the address is validated), §8.2 (path validation), §9.3 (a peer that
//! migrated), §9.4 (another host: estimates and window anew; another port alone: a NAT, they stay), §9.1 (probing frames).
//! Differences from the reference:
//! 1. Connection ids are not changed with the path (§9.5), since privacy does not matter in a simulator.
//! 2. The old path is not probed when a peer appears elsewhere (§9.3.3): no attacker forwards packets here.
//! 3. Packets that left on the old path are acknowledged and lost without word to the control, and count as in flight no more (§9.4).
//!
//! Tested by `tests/quic_rules.rs`.

use super::lane::Standing;
use super::packet::{Address, Datagram, Frame, Kind, Space};
use super::sending::Contents;
use super::{Connection, Event, Reason};
use crate::mptcp::keys::{first, hmac};
use playpath_cc::{AppParameters, CongestionControl};
use playpath_units::{Duration, Time};

/// Answers that are owed at most.
const MAX_RESPONSES: usize = 4;
/// PATH_CHALLENGE frames of one validation (§8.2.1).
const MAX_CHALLENGES: u32 = 3;
/// A smaller rest of the allowance is not used.
pub(crate) const MIN_DATAGRAM: u64 = 64;

/// A validation under way (§8.2).
#[derive(Clone, Copy, Debug)]
struct Validation {
    token: u64,
    /// Challenges sent; the next one is due then.
    sent: u32,
    sent_at: Time,
    next_at: Time,
    /// Time at which validation fails (§8.2.4).
    until: Time,
    previous: Option<Address>,
}

/// Field order: those that each packet needs first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Route {
    pub local: Address,
    pub remote: Address,
    /// How many paths it has been: packets carry it.
    pub number: u32,
    is_known: bool,
    is_validated: bool,
    owes_responses: bool,
    received: u64,
    sent: u64,
    validation: Option<Box<Validation>>,
    next_token: u64,
    /// Secret from which, with their number, the unpredictable tokens of challenges are derived (§8.2.1).
    secret: Option<u64>,
    /// Token, where to, and how many bytes may go there (§8.2.2).
    responses: [Option<(u64, Address, u64)>; MAX_RESPONSES],
}

impl Route {
    /// A client's: it chose the address itself.
    pub fn to_server() -> Route {
        Route::of_client(0)
    }
    /// The same as [`to_server`](Self::to_server), on an additional path.
    pub fn of_client(path: u8) -> Route {
        let local = Address { host: u16::from(path) + 1, port: 50_000 };
        let remote = Address { host: 0, port: 443 };
        Route { local, remote, is_known: true, is_validated: true, ..Route::unknown() }
    }
    /// A server's, before anything arrived.
    pub fn unknown() -> Route {
        Route {
            local: Address { host: 0, port: 443 },
            remote: Address::default(),
            number: 0,
            is_known: false,
            is_validated: false,
            received: 0,
            sent: 0,
            validation: None,
            next_token: 1,
            secret: None,
            responses: [None; MAX_RESPONSES],
            owes_responses: false,
        }
    }

    /// The same as a server's [`unknown`](Self::unknown), for an additional path with its own challenges.
    pub fn further(&self, path: u8) -> Route {
        Route { secret: self.secret, next_token: u64::from(path) << 32 | 1, ..Route::unknown() }
    }

    /// Bytes that may be sent (§8.1).
    #[inline(always)]
    pub fn allowance(&self) -> u64 {
        if self.is_validated { u64::MAX } else { (3 * self.received).saturating_sub(self.sent) }
    }
    /// Address of the peer, once a packet has arrived.
    pub fn known_remote(&self) -> Option<Address> {
        self.is_known.then_some(self.remote)
    }
    /// The peer proved that it receives at its address.
    pub fn validate(&mut self) {
        self.is_validated = true;
    }
    #[inline(always)]
    pub fn on_datagram(&mut self, from: Address, bytes: u32) {
        if !self.is_known {
            (self.remote, self.is_known) = (from, true);
        }
        if from == self.remote {
            self.received += u64::from(bytes);
        }
    }
    pub fn on_sent(&mut self, bytes: u32) {
        self.sent += u64::from(bytes);
    }
    /// Queue the response to a challenge from `to`, which arrived in a datagram of this size.
    pub fn owe_response(&mut self, token: u64, to: Address, bytes: u32) {
        if let Some(slot) = self.responses.iter_mut().find(|slot| slot.is_none()) {
            *slot = Some((token, to, 3 * u64::from(bytes)));
            self.owes_responses = true;
        }
    }
    fn next_response(&mut self) -> Option<(u64, Address, u64)> {
        let next = self.responses.iter_mut().find_map(Option::take);
        self.owes_responses = next.is_some();
        next
    }
    /// A challenge or a response may have to leave.
    pub fn owes_frames(&self) -> bool {
        self.owes_responses || self.validation.is_some()
    }
    /// Set the secret for the tokens of challenges.
    pub fn keep_secret(&mut self, secret: u64) {
        self.secret = Some(secret);
    }
    /// A challenge or the end of a validation is due then.
    #[inline(always)]
    pub fn deadline(&self) -> Time {
        self.validation.as_ref().map_or(Time::MAX, |validation| self.deadline_of(validation))
    }
    #[cold]
    fn deadline_of(&self, validation: &Validation) -> Time {
        let may_challenge = validation.sent < MAX_CHALLENGES && self.allowance() >= MIN_DATAGRAM;
        if may_challenge { validation.next_at.min(validation.until) } else { validation.until }
    }

    pub fn begin(&mut self, now: Time, timeout: Duration, previous: Option<Address>) {
        let token = self.secret.map_or(self.next_token, |secret| keyed_token(secret, self.next_token));
        self.next_token += 1;
        (self.received, self.sent) = (0, 0);
        self.validation =
            Some(Box::new(Validation { token, sent: 0, sent_at: now, next_at: now, until: now + timeout, previous }));
    }
}

/// What a path begins anew with.
pub(super) struct Renewal {
    /// The control of the path of this number.
    make: Box<dyn Fn(u8) -> Box<dyn CongestionControl> + Send>,
    /// What the application told last: a new control is told it, too.
    pub app_parameters: Option<AppParameters>,
}

impl Connection {
    /// Who makes another control when the peer is reached by another path. Without, the control stays and its window is set.
    pub fn renewed_by(mut self, make: impl Fn(u8) -> Box<dyn CongestionControl> + Send + 'static) -> Connection {
        self.renewal = Some(Box::new(Renewal { make: Box::new(make), app_parameters: None }));
        self
    }

    /// The client's address changes, and it knows: it goes on from `local` at once. `false`: it may not (RFC 9000 §9: not before the
    /// handshake is confirmed).
    pub fn migrate(&mut self, now: Time, local: Address) -> bool {
        if !self.is_client || !self.handshake.is_confirmed() || local == self.lane.route.local {
            return false;
        }
        self.lane.route.local = local;
        let timeout = self.validation_time();
        self.start_path_anew(now);
        self.lane.route.begin(now, timeout, None);
        // A challenge alone would not make the server follow (§9.1).
        self.numbers(Space::Data).probes = 1;
        true
    }

    /// Reset the estimates of the path, which packets take from now on (§9.4).
    fn start_path_anew(&mut self, now: Time) {
        let path = &mut self.lane.path;
        match &self.renewal {
            Some(renewal) => {
                path.start_anew(now, &self.config, (renewal.make)(self.lane.id));
                renewal
                    .app_parameters
                    .into_iter()
                    .for_each(|app_parameters| path.set_app_parameters(now, app_parameters));
            }
            None => path.keep_control(now, &self.config),
        }
        self.lane.route.number += 1;
        self.lane.pto_count = 0;
        self.lane.loss_timer = Time::MAX;
    }

    /// §8.2.4: three times the larger of the PTO and that of a new path.
    pub(super) fn validation_time(&self) -> Duration {
        (self.pto() * 3).max(self.config.loss.initial_rtt * 9)
    }

    /// A packet with the highest number so far and more than probing frames came from elsewhere (§9.3).
    pub(super) fn follow_peer(&mut self, now: Time, from: Address, bytes: u32) {
        let previous = match &self.lane.route.validation {
            Some(validation) => validation.previous,
            None => Some(self.lane.route.remote),
        };
        let is_nat = from.host == self.lane.route.remote.host;
        let timeout = self.validation_time();
        if !is_nat {
            self.start_path_anew(now);
        }
        self.lane.route.remote = from;
        self.lane.route.is_validated = false;
        self.lane.route.begin(now, timeout, previous);
        self.lane.route.received = u64::from(bytes);
    }

    pub(super) fn on_path_response(&mut self, now: Time, token: u64) {
        if let Some(validation) = self.lane.route.validation.take_if(|validation| validation.token == token) {
            self.lane.route.is_validated = true;
            if self.lane.standing == Standing::Opening {
                return self.path_is_valid(now, now.saturating_since(validation.sent_at));
            }
            let remote = self.lane.route.remote;
            if !self.is_client {
                self.raise(Event::Migrated(remote));
            }
        }
    }

    /// The validation may have failed (§9.3.2): back to the address before, or the end.
    pub(super) fn expire_validation(&mut self, now: Time) {
        let Some(validation) = self.lane.route.validation.take_if(|validation| validation.until <= now) else { return };
        match validation.previous {
            Some(previous) => {
                (self.lane.route.remote, self.lane.route.is_validated) = (previous, true);
                self.start_path_anew(now);
            }
            None if self.lane.standing == Standing::Opening => self.path_is_invalid(now),
            None => self.close_silently(Reason::Path),
        }
    }

    /// PATH_CHALLENGE and PATH_RESPONSE, in datagrams of their own, padded as far as the address may be sent (§8.2.1, §8.2.2).
    pub(super) fn poll_path_frames(&mut self, now: Time, out: &mut Datagram) -> bool {
        let Some(kind @ Kind::OneRtt) = self.handshake.sends(Space::Data) else { return false };
        if let Some((token, to, most)) = self.lane.route.next_response() {
            let allowed = if to == self.lane.route.remote { self.lane.route.allowance() } else { most };
            self.path_datagram(now, (kind, Frame::PathResponse(token)), (to, allowed), out);
            return true;
        }
        let may_challenge = self.lane.route.allowance() >= MIN_DATAGRAM;
        let wait = self.pto();
        let Some(validation) = self.lane.route.validation.as_mut().filter(|_| may_challenge) else { return false };
        if validation.sent >= MAX_CHALLENGES || validation.next_at > now {
            return false;
        }
        validation.sent += 1;
        validation.sent_at = now;
        validation.next_at = now + wait;
        let token = validation.token;
        let to = (self.lane.route.remote, self.lane.route.allowance());
        self.path_datagram(now, (kind, Frame::PathChallenge(token)), to, out);
        true
    }

    /// `to`: the address, and how many bytes may go there.
    fn path_datagram(
        &mut self,
        now: Time,
        (kind, frame): (Kind, Frame),
        (to, allowed): (Address, u64),
        out: &mut Datagram,
    ) {
        out.coalesced.clear();
        let packet = &mut out.packet;
        self.start_packet(kind, packet);
        packet.frames.push(frame);
        packet.bytes += frame.bytes(false);
        let padded = u64::from(self.config.initial_bytes).min(allowed) as u32;
        packet.padding = padded.saturating_sub(packet.bytes);
        packet.bytes += packet.padding;
        self.record(now, packet, Contents::of(packet), false);
        self.address(out);
        out.to = to;
    }
}

fn keyed_token(secret: u64, number: u64) -> u64 {
    u64::from_be_bytes(first(&hmac(&secret.to_be_bytes(), &number.to_be_bytes())))
}

#[cfg(test)]
mod tests;
