//! Handshakes and signals: MP_CAPABLE, MP_JOIN, ADD_ADDR, REMOVE_ADDR, MP_PRIO, fallback, and which option a segment
//! carries; DSS is in `dss.rs`, MP_FAIL in `checksums.rs`.
//!
//! Reference: RFC 8684 §3.1 to §3.7.
//! Differences from the reference are listed in `mod.rs`.

use super::MptcpConnection;
use super::keys::{address_mac, first, initial_data_seq, join_mac, token};
use super::lifecycle::option_bytes;
use super::option::{CAPABLE_CHECKSUM, CAPABLE_SHA256, MptcpOption};
use super::subflow::{Mapping, Received, Stage};
use crate::segment::{Flags, Segment};
use crate::tcp::{Connection, Event};
use playpath_cc::CongestionControl;
use playpath_units::{Duration, Time};
use std::net::IpAddr;

/// An ADD_ADDR without echo is repeated after this time.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(1);
/// After so many the peer is taken for one that does not echo.
const MAX_ANNOUNCEMENTS: u32 = 20;

impl MptcpConnection {
    pub(super) fn open_active(&mut self, now: Time, path: usize) {
        self.open(path, 0x9e37_79b9, |config, cc| Connection::connect(now, config, cc));
    }

    pub(super) fn open_passive(&mut self, path: usize) {
        self.open(path, 0x85eb_ca6b, Connection::listen);
    }

    fn open(
        &mut self,
        path: usize,
        salt: u32,
        make: impl FnOnce(crate::Config, Box<dyn CongestionControl>) -> Connection,
    ) {
        let Some((config, cc)) = self.subflows.touch(path).idle.take() else { return };
        let mut tcp = make(self.subflow_config(config, path), cc);
        tcp.become_subflow(path, option_bytes(&config));
        if let Some((then, app_parameters)) = self.app_parameters {
            tcp.set_app_parameters(then, app_parameters);
        }
        let subflow = self.subflows.touch(path);
        subflow.own_nonce = self.config.nonce.wrapping_add(path as u32).wrapping_mul(salt);
        (subflow.tcp, subflow.stage) = (Some(tcp), Stage::Opening);
    }

    /// Act on a segment's options. `false`: the segment is not for a subflow of this connection.
    #[inline]
    pub(super) fn take_options(&mut self, now: Time, path: usize, segment: &Segment) -> bool {
        if self.peer_key.is_none() && !may_precede_keys(segment) {
            return false; // as if lost: TCP sends it again after them
        }
        if !matches!(segment.mptcp, MptcpOption::Dss { .. }) {
            return self.take_rare_option(now, path, segment);
        }
        self.take_dss(now, path, segment) && self.subflows[path].tcp.is_some()
    }

    /// The same as [`take_options`](Self::take_options), for all options except DSS.
    #[cold]
    fn take_rare_option(&mut self, now: Time, path: usize, segment: &Segment) -> bool {
        let is_syn = segment.flags.contains(Flags::SYN);
        match segment.mptcp {
            MptcpOption::JoinSyn { address_id, token: theirs, nonce, is_backup } if is_syn => {
                return self.take_join(path, address_id, theirs, (nonce, is_backup));
            }
            MptcpOption::JoinSynAck { address_id, mac, nonce, .. } if is_syn => {
                return self.take_join_answer(path, address_id, mac, nonce);
            }
            MptcpOption::JoinAck { mac } => self.take_join_proof(path, mac),
            MptcpOption::Capable { flags, keys, data_len, checksum, sender_key, receiver_key } if path == 0 => {
                if is_syn && self.peer_key.is_none() {
                    self.agree_on_checksums(flags & CAPABLE_CHECKSUM != 0);
                }
                self.take_capable(keys, (sender_key, receiver_key), is_syn);
                if self.level.una() == 0 {
                    self.level.widen(segment.window.into());
                }
                if data_len > 0 {
                    let mapping = Mapping { offset: 0, data: 0, len: data_len.into() };
                    return self.take_mapping(path, Received { mapping, checksum, has_fin: false });
                }
            }
            MptcpOption::AddAddress { address_id, is_echo, mac, address, port } => {
                self.take_address(now, path, address_id, is_echo, (mac, address, port));
            }
            MptcpOption::RemoveAddress { address_id } => {
                self.confirm();
                self.drop_peer_address(address_id);
            }
            MptcpOption::FastClose { receiver_key } if receiver_key == self.config.key => self.take_fast_close(),
            MptcpOption::Fail { data_seq } if !segment.flags.contains(Flags::RST) => {
                self.take_fail(now, path, data_seq)
            }
            MptcpOption::Priority { is_backup } => self.subflows.touch(path).is_backup = is_backup,
            MptcpOption::None => self.take_plain(now, path, segment),
            _ => {}
        }
        self.subflows[path].tcp.is_some()
    }

    #[cold]
    pub(super) fn take_tcp_events(&mut self, now: Time, path: usize) {
        while let Some(event) = self.subflows.touch(path).tcp.as_mut().and_then(Connection::poll_event) {
            match event {
                Event::Connected => self.on_connected(now, path),
                Event::Reset => self.retire_subflow(path),
                Event::PeerClosed if self.is_fallback => self.end_plain_stream(now),
                Event::Closed => {
                    self.subflows.touch(path).stage = Stage::Dead;
                    if self.is_fallback {
                        self.level.note_fin_acked();
                        self.raise(Event::Closed);
                    }
                }
                _ => {}
            }
        }
    }

    /// The option of an outgoing segment of `path`; `likely` is the mapping that probably holds its payload.
    #[inline(always)]
    pub(super) fn decorate(&mut self, path: usize, segment: &mut Segment, likely: Option<Mapping>) {
        segment.window = self.receiver.window(path);
        let subflow = &self.subflows[path];
        let is_control = segment.flags.intersects(Flags::SYN.with(Flags::RST));
        let is_settled = self.is_confirmed || !self.is_client;
        if is_control || self.is_fallback || !subflow.is_ready() || !is_settled {
            return self.decorate_rarely(path, segment);
        }
        let place = if segment.payload_len > 0 { subflow.place(segment, likely) } else { None };
        segment.mptcp = self.dss(segment.payload_len, place);
        limit_sack(segment);
    }

    /// The same as [`decorate`](Self::decorate), for a subflow that is not ready, keys that may not have arrived, and connections without
    /// MPTCP.
    #[cold]
    fn decorate_rarely(&mut self, path: usize, segment: &mut Segment) {
        let subflow = &self.subflows[path];
        if segment.flags.contains(Flags::SYN) {
            segment.mptcp = self.syn_option(path, segment);
            return;
        }
        if segment.flags.contains(Flags::RST) || self.is_fallback {
            segment.mptcp = self.last_option(path, segment);
            return limit_sack(segment);
        }
        if matches!(subflow.stage, Stage::Joining(_)) && self.is_client {
            segment.mptcp = MptcpOption::JoinAck { mac: subflow.join_mac };
            return;
        }
        let place = if segment.payload_len > 0 { subflow.place(segment, None) } else { None };
        if self.is_client && !self.is_confirmed && path == 0 && place.is_none_or(|(_, data)| data == 0) {
            segment.mptcp = self.capable(2, segment.payload_len as u16);
        } else {
            segment.mptcp = self.dss(segment.payload_len, place);
        }
        limit_sack(segment);
    }

    /// Queue an option for an ACK of its own on `path`.
    pub(super) fn signal(&mut self, path: usize, option: MptcpOption) {
        self.subflows.touch(path).signals.push_back(option);
    }

    /// Repeat unanswered signals.
    pub(super) fn expire_signals(&mut self, now: Time) {
        if self.announce_at <= now {
            self.announce(now, self.addresses.len());
        }
        if self.fail_due() <= now {
            self.repeat_fail(now);
        }
        for path in 0..self.subflows.len() {
            if matches!(self.subflows[path].stage, Stage::Joining(at) if at <= now) {
                self.await_fourth_ack(now, path);
            }
        }
    }

    /// MP_CAPABLE with this number of keys, joins to this address allowed. Flag A: the own preference on the first SYN, the negotiated
    /// value after that.
    fn capable(&self, keys: u8, data_len: u16) -> MptcpOption {
        let asks = self.has_checksums || self.config.requires_checksums;
        MptcpOption::Capable {
            flags: CAPABLE_SHA256 | if asks { CAPABLE_CHECKSUM } else { 0 },
            keys,
            data_len,
            checksum: (data_len > 0 && self.has_checksums).then_some(0),
            sender_key: if keys >= 1 { self.config.key } else { 0 },
            receiver_key: self.peer_key.filter(|_| keys == 2).unwrap_or(0),
        }
    }

    /// Options of a reset, or of a segment of a connection that fell back.
    #[cold]
    fn last_option(&self, path: usize, segment: &Segment) -> MptcpOption {
        let peer_key = self.peer_key.filter(|_| self.is_aborted && !self.is_fallback);
        match (self.subflows[path].failed_seq, peer_key) {
            (Some(data_seq), _) if segment.flags.contains(Flags::RST) => MptcpOption::Fail { data_seq },
            (_, Some(receiver_key)) => MptcpOption::FastClose { receiver_key },
            _ if segment.payload_len > 0 => self.infinite_mapping(),
            _ => MptcpOption::None,
        }
    }

    fn syn_option(&self, path: usize, segment: &Segment) -> MptcpOption {
        let subflow = &self.subflows[path];
        let is_answer = segment.flags.contains(Flags::ACK);
        match (path, is_answer) {
            _ if self.is_fallback => MptcpOption::None,
            (0, false) => self.capable(0, 0),
            (0, true) => self.capable(1, 0),
            (_, false) => MptcpOption::JoinSyn {
                address_id: subflow.own_id,
                is_backup: subflow.is_backup,
                token: self.peer_key.map_or(0, token),
                nonce: subflow.own_nonce,
            },
            (_, true) => {
                let own = (self.config.key, subflow.own_nonce);
                let mac = join_mac(own, (self.peer_key.unwrap_or(0), subflow.peer_nonce));
                MptcpOption::JoinSynAck {
                    address_id: subflow.own_id,
                    is_backup: subflow.is_backup,
                    mac: u64::from_be_bytes(first(&mac)),
                    nonce: subflow.own_nonce,
                }
            }
        }
    }

    #[cold]
    fn on_connected(&mut self, now: Time, path: usize) {
        if path > 0 {
            // The client shows its code and waits for the fourth ACK; the server waits for the code.
            if self.is_client {
                self.await_fourth_ack(now, path);
            } else {
                self.subflows.touch(path).stage = Stage::Joining(Time::MAX);
                self.admit(path);
            }
            return;
        }
        self.subflows.touch(0).stage = Stage::Ready;
        self.raise(Event::Connected);
        if !self.is_client && !self.is_fallback {
            self.unechoed = ((1u64 << self.addresses.len()) - 1) as u32;
            self.announce(now, 1);
        }
    }

    /// Announce up to `most` addresses that the client has not confirmed. One by one, each after the echo of the one before, as Linux's
    /// server does (`mptcp_pm_add_addr_echoed`): its client takes one at a time, and forgets one that comes while another is at work.
    #[cold]
    fn announce(&mut self, now: Time, most: usize) {
        self.announce_at = Time::MAX;
        if self.unechoed != 0 && self.announced < MAX_ANNOUNCEMENTS * self.addresses.len() as u32 {
            self.announced += 1;
            self.announce_at = now + ANNOUNCE_AGAIN;
        }
        let places = (0..self.addresses.len()).filter(|place| self.unechoed & 1 << place != 0);
        for place in places.take(most).collect::<Vec<_>>() {
            let (address_id, address) = self.addresses[place];
            let mac = address_mac(self.config.key, self.peer_key.unwrap_or(0), address_id, address, 0);
            self.signal(0, MptcpOption::AddAddress { address_id, is_echo: false, address, port: 0, mac });
        }
        // An ACK with a DATA_ACK tells the client that both keys have arrived.
        if let Some(tcp) = &mut self.subflows.touch(0).tcp {
            tcp.request_ack();
        }
    }

    /// The peer's key, and behind a client's own the one that it got from us.
    fn take_capable(&mut self, keys: u8, (peers, own): (u64, u64), is_syn: bool) {
        let is_right = self.is_client || own == self.config.key;
        if keys >= 1 && self.peer_key.is_none() && is_syn == self.is_client && is_right {
            self.set_peer_key(peers);
        }
    }

    /// The peer ends the connection with all its subflows (RFC 8684 section 3.5).
    #[cold]
    fn take_fast_close(&mut self) {
        self.abort();
        self.is_aborted = false; // it knows
    }

    #[cold]
    fn drop_peer_address(&mut self, address_id: u8) {
        for path in 0..self.subflows.len() {
            if self.subflows[path].peer_id == address_id && self.subflows[path].stage != Stage::Dead {
                self.drop_path(path);
            }
        }
    }

    fn set_peer_key(&mut self, key: u64) {
        self.peer_key = Some(key);
        self.peer_zero = initial_data_seq(key).wrapping_add(1);
        self.own_zero = initial_data_seq(self.config.key).wrapping_add(1);
    }

    fn take_plain(&mut self, now: Time, path: usize, segment: &Segment) {
        if self.shows_plain_tcp(path, segment) {
            self.fall_back_without_options(now);
            self.level.widen(segment.window.into());
        }
    }

    /// A segment without option where one must be: the peer, or something between, knows no MPTCP (RFC 8684 §3.7). One must be in the
    /// handshake, with the first data that comes, and where the first that was sent is acknowledged.
    pub(super) fn shows_plain_tcp(&self, path: usize, segment: &Segment) -> bool {
        // A path that is about to join has carried nothing.
        let has_others = || self.subflows[1..].iter().any(|s| !matches!(s.stage, Stage::Idle | Stage::Dead));
        let is_alone = path == 0 && (self.is_alone || !has_others());
        let is_syn = segment.flags.contains(Flags::SYN);
        let is_handshake =
            is_syn || self.peer_key.is_none() || (!self.is_confirmed && segment.flags.contains(Flags::ACK));
        let acknowledged = || self.subflow(0).map_or(0, |tcp| tcp.offset_acknowledged_by(segment));
        let lacks_first_dss = || {
            (segment.payload_len > 0 && self.subflows[0].is_unmapped()) || (self.level.una() == 0 && acknowledged() > 0)
        };
        is_alone && !self.is_fallback && !segment.flags.contains(Flags::RST) && (is_handshake || lacks_first_dss())
    }

    /// Plain TCP's FIN arrived, and all before it.
    #[cold]
    pub(super) fn end_plain_stream(&mut self, now: Time) {
        let end = self.receiver.arrivals.next();
        if self.receiver.arrivals.insert_fin(now, end) {
            self.raise(Event::PeerClosed);
        }
    }

    /// The client knows that the server has both keys.
    pub(super) fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    #[cold]
    fn take_address(&mut self, now: Time, path: usize, address_id: u8, is_echo: bool, proof: (u64, IpAddr, u16)) {
        self.confirm();
        let index = usize::from(address_id);
        if is_echo {
            let place = self.addresses.iter().position(|(own, _)| *own == address_id);
            let left = self.unechoed & !place.map_or(0, |place| 1 << place);
            let is_new_value = left != std::mem::replace(&mut self.unechoed, left);
            if left == 0 {
                self.announce_at = Time::MAX;
            } else if is_new_value {
                self.announce(now, 1);
            }
            return;
        }
        let (mac, address, port) = proof;
        let expected = address_mac(self.peer_key.unwrap_or(0), self.config.key, address_id, address, port);
        if mac != expected || index >= self.subflows.len() {
            return;
        }
        self.signal(path, MptcpOption::AddAddress { address_id, is_echo: true, address, port, mac: 0 });
        if self.is_client && self.may_join() && self.subflows[index].stage == Stage::Idle {
            self.open_active(now, index);
        }
    }
}

/// Whether a segment is for a subflow that does not know the peer's key yet.
#[cold]
fn may_precede_keys(segment: &Segment) -> bool {
    let is_for_tcp = segment.flags.intersects(Flags::SYN.with(Flags::RST));
    is_for_tcp || matches!(segment.mptcp, MptcpOption::Capable { .. } | MptcpOption::None)
}

/// Forty bytes of options: SACK blocks give way to MPTCP's, and accurate ECN's to these.
#[inline]
pub(super) fn limit_sack(segment: &mut Segment) {
    if segment.accecn.is_some() && segment.option_bytes() > 40 {
        segment.accecn = None;
    }
    if !segment.sack.is_empty() {
        drop_blocks(segment);
    }
    debug_assert!(segment.option_bytes() <= 40);
}

#[cold]
fn drop_blocks(segment: &mut Segment) {
    while !segment.sack.is_empty() && segment.option_bytes() > 40 {
        segment.sack.pop();
    }
}
