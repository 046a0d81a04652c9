//! Handshakes and signals: MP_CAPABLE, MP_JOIN, ADD_ADDR, REMOVE_ADDR, MP_PRIO, fallback, DATA_ACK and DATA_FIN; MP_FAIL is in
//! `checksums.rs`.
//!
//! Reference: RFC 8684 §3.1 to §3.7.
//! Differences from the reference are listed in `mod.rs`.

use super::MptcpConnection;
use super::checksums::mapped;
use super::keys::{address_mac, first, initial_data_seq, join_mac, token};
use super::lifecycle::option_bytes;
use super::option::{CAPABLE_CHECKSUM, CAPABLE_SHA256, DSS_ACK, DSS_FIN, DSS_MAP, DSS_SEQ8, MptcpOption};
use super::subflow::{Mapping, Received, Stage};
use crate::segment::{Flags, Segment};
use crate::tcp::{Connection, Event, unwrap_near};
use playpath_units::{Duration, Time};
use std::net::IpAddr;

/// An ADD_ADDR without echo is repeated after this time.
const ANNOUNCE_AGAIN: Duration = Duration::from_secs(1);
/// After so many the peer is taken for one that does not echo.
const MOST_ANNOUNCEMENTS: u32 = 20;

impl MptcpConnection {
    /// Open the subflow of `path` as a client.
    pub(super) fn open_active(&mut self, now: Time, path: usize) {
        let Some((config, cc)) = self.subflows.touch(path).idle.take() else { return };
        let mut tcp = Connection::connect(now, self.subflow_config(config, path), cc);
        tcp.become_subflow(path, option_bytes(&config));
        let subflow = self.subflows.touch(path);
        subflow.own_nonce = self.config.nonce.wrapping_add(path as u32).wrapping_mul(0x9e37_79b9);
        (subflow.tcp, subflow.stage) = (Some(tcp), Stage::Opening);
    }

    /// Be ready for the SYN of `path`.
    pub(super) fn open_passive(&mut self, path: usize) {
        let Some((config, cc)) = self.subflows.touch(path).idle.take() else { return };
        let mut tcp = Connection::listen(self.subflow_config(config, path), cc);
        tcp.become_subflow(path, option_bytes(&config));
        let subflow = self.subflows.touch(path);
        subflow.own_nonce = self.config.nonce.wrapping_add(path as u32).wrapping_mul(0x85eb_ca6b);
        (subflow.tcp, subflow.stage) = (Some(tcp), Stage::Opening);
    }

    /// Act on a segment's options. `false`: the segment is not for a subflow of this connection.
    #[inline]
    pub(super) fn take_options(&mut self, now: Time, path: usize, segment: &Segment) -> bool {
        if !matches!(segment.mptcp, MptcpOption::Dss { .. }) {
            return self.take_rare_option(now, path, segment);
        }
        if self.peer_key.is_none() {
            return false; // the keys have not arrived: as if lost, TCP sends it again after them
        }
        self.take_dss(now, path, segment) && self.subflows[path].tcp.is_some()
    }

    /// As [`take_options`](Self::take_options), for all but DSS.
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
            MptcpOption::None => self.take_plain(path, segment),
            _ => {}
        }
        self.subflows[path].tcp.is_some()
    }

    /// Events of a subflow's TCP.
    #[cold]
    pub(super) fn take_tcp_events(&mut self, now: Time, path: usize) {
        while let Some(event) = self.subflows.touch(path).tcp.as_mut().and_then(Connection::poll_event) {
            match event {
                Event::Connected => self.on_connected(now, path),
                Event::Reset => self.bury(path),
                Event::PeerClosed if self.is_fallback => {
                    let end = self.receiver.arrivals.next();
                    self.receiver.arrivals.insert_fin(now, end);
                    self.raise(Event::PeerClosed);
                }
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
        segment.window = self.receiver.window();
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

    /// As [`decorate`](Self::decorate), for a subflow that is not ready, keys that may not have arrived, and where there is no MPTCP.
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

    /// Repeat what was not answered.
    pub(super) fn expire_signals(&mut self, now: Time) {
        if self.announce_at <= now {
            self.announce(now);
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

    /// The DATA_FIN, in a segment without payload.
    pub(super) fn data_fin(&self) -> MptcpOption {
        MptcpOption::Dss {
            flags: DSS_ACK | DSS_MAP | DSS_SEQ8 | DSS_FIN,
            data_ack: self.data_ack_field(),
            data_seq: self.own_data_seq(self.level.written()),
            subflow_seq: 0,
            len: 1,
            checksum: self.has_checksums.then_some(0),
        }
    }

    /// Data offset of a sequence number of the peer's. Of one that travelled in four bytes the value nearest to what is expected.
    pub(super) fn peer_data_offset(&self, flags: u8, data_seq: u64) -> Option<u64> {
        self.peer_key?;
        let expected = self.data_ack_field();
        let distance = (data_seq as u32).wrapping_sub(expected as u32) as i32;
        let whole = if flags & DSS_SEQ8 != 0 { data_seq } else { expected.wrapping_add_signed(distance.into()) };
        let offset = whole.wrapping_sub(self.peer_zero);
        (offset < 1 << 62).then_some(offset)
    }

    /// A connection that fell back: TCP's acknowledgement is the data level's.
    #[cold]
    pub(super) fn take_plain_ack(&mut self, now: Time, segment: &Segment) {
        if let Some(tcp) = &self.subflows[0].tcp {
            let ack = tcp.acknowledged_offset();
            self.on_data_ack(now, ack, segment.window);
        }
    }

    /// DATA_ACK, and the mapping of `len` bytes whose offsets in the subflow and in the data are `place`.
    #[inline(always)]
    fn dss(&self, len: u32, place: Option<(u64, u64)>) -> MptcpOption {
        let data_ack = self.data_ack_field();
        let Some((offset, data)) = place else {
            return MptcpOption::Dss { flags: DSS_ACK, data_ack, data_seq: 0, subflow_seq: 0, len: 0, checksum: None };
        };
        MptcpOption::Dss {
            flags: DSS_ACK | DSS_MAP | DSS_SEQ8,
            data_ack,
            data_seq: self.own_data_seq(data),
            subflow_seq: offset as u32 + 1,
            len: len as u16,
            checksum: self.has_checksums.then_some(0),
        }
    }

    fn own_data_seq(&self, offset: u64) -> u64 {
        self.own_zero.wrapping_add(offset)
    }

    pub(super) fn data_ack_field(&self) -> u64 {
        self.peer_zero.wrapping_add(self.receiver.arrivals.next())
    }

    /// MP_CAPABLE with so many keys, joins to this address allowed. Flag A: as the own side wants it on the first SYN, as it was agreed
    /// on after that.
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

    /// What a reset says, or a segment of a connection that fell back.
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
            self.announce(now);
        }
    }

    /// Announce every address that the client has not confirmed, or confirm the connection if there is none.
    #[cold]
    fn announce(&mut self, now: Time) {
        if self.announce_at == Time::MAX {
            self.unechoed = ((1u64 << self.addresses.len()) - 1) as u32;
        }
        self.announce_at = Time::MAX;
        self.announced += 1;
        for place in 0..self.addresses.len() {
            if self.unechoed & 1 << place == 0 {
                continue;
            }
            let (address_id, address) = self.addresses[place];
            let mac = address_mac(self.config.key, self.peer_key.unwrap_or(0), address_id, address, 0);
            self.signal(0, MptcpOption::AddAddress { address_id, is_echo: false, address, port: 0, mac });
            if self.announced < MOST_ANNOUNCEMENTS {
                self.announce_at = now + ANNOUNCE_AGAIN;
            }
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

    /// The peer has lost an address.
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

    /// A segment without option where one must be: the peer, or something between, knows no MPTCP (RFC 8684 §3.7).
    fn take_plain(&mut self, path: usize, segment: &Segment) {
        let is_syn = segment.flags.contains(Flags::SYN);
        let is_alone = path == 0 && self.subflows[1..].iter().all(|s| matches!(s.stage, Stage::Idle | Stage::Dead));
        let is_handshake =
            is_syn || self.peer_key.is_none() || (!self.is_confirmed && segment.flags.contains(Flags::ACK));
        if is_alone && is_handshake && !self.is_fallback && !segment.flags.contains(Flags::RST) {
            self.is_fallback = true;
            self.announce_at = Time::MAX;
            self.level.widen(segment.window.into());
        }
    }

    /// `false`: the subflow is broken, and reset.
    #[inline(always)]
    fn take_dss(&mut self, now: Time, path: usize, segment: &Segment) -> bool {
        let MptcpOption::Dss { flags, data_ack, data_seq, subflow_seq, len, checksum } = segment.mptcp else {
            return true;
        };
        self.confirm();
        if matches!(self.subflows[path].stage, Stage::Joining(_)) && self.is_client {
            self.subflows.touch(path).stage = Stage::Ready; // the fourth ACK
            self.is_alone = false;
        }
        if flags & DSS_ACK != 0 {
            // Four bytes travel: take the value nearest to what is expected.
            let low = data_ack as u32;
            let una = self.level.una();
            let distance = low.wrapping_sub(self.own_zero.wrapping_add(una) as u32) as i32;
            if distance == 0 {
                self.level.widen(una + u64::from(segment.window)); // nothing more is acknowledged
            } else {
                self.on_data_ack(now, una.saturating_add_signed(distance.into()), segment.window);
            }
        }
        if flags & DSS_MAP == 0 || self.is_fallback {
            return true;
        }
        if len == 0 {
            self.take_infinite_mapping(now, path);
            return true;
        }
        let Some(offset) = self.peer_data_offset(flags, data_seq) else { return true };
        let (payload, has_fin) = mapped(flags, len);
        if payload > 0 && segment.payload_len > 0 {
            // The field has 32 bits: the segment's own place tells the rest. It need not be the mapping's first segment.
            let start = subflow_seq.wrapping_sub(1);
            let near = self.subflows[path].tcp.as_ref().map_or(start.into(), |tcp| tcp.receive_offset(segment));
            let offset_in_subflow = unwrap_near(start, 0, near);
            let mapping = Mapping { offset: offset_in_subflow, data: offset, len: payload };
            if !self.take_mapping(path, Received { mapping, checksum, has_fin }) {
                return false;
            }
        }
        if has_fin && self.has_checksums {
            return payload > 0 || self.take_checked_fin(now, path, offset, checksum);
        }
        if has_fin {
            self.take_data_fin(now, path, offset + u64::from(payload));
        }
        true
    }

    #[cold]
    pub(super) fn take_data_fin(&mut self, now: Time, path: usize, at: u64) {
        let was_finished = self.receiver.arrivals.is_finished();
        self.receiver.arrivals.insert_fin(now, at);
        if let Some(tcp) = &mut self.subflows.touch(path).tcp {
            tcp.request_ack();
        }
        if self.receiver.arrivals.is_finished() && !was_finished {
            self.on_finished();
        }
    }

    /// The peer's stream is complete.
    #[cold]
    pub(super) fn on_finished(&mut self) {
        self.raise(Event::PeerClosed);
        if self.level.is_fin_acked() {
            self.close_subflows();
        }
    }

    #[inline(always)]
    pub(super) fn on_data_ack(&mut self, now: Time, ack: u64, window: u32) {
        let was_acked = self.level.is_fin_acked();
        if self.level.handle_ack(ack, ack + u64::from(window)) == Some(true) {
            self.subflows.note_stream_acked(self.level.bytes_acked());
            self.rearm_data_timer(now);
            if self.is_write_cut && self.send_space() > 0 {
                self.is_write_cut = false;
                self.raise(Event::Writable);
            }
        }
        if self.level.is_fin_acked() && !was_acked && self.receiver.arrivals.is_finished() {
            self.close_subflows();
        }
    }

    /// The client knows that the server has both keys.
    fn confirm(&mut self) {
        self.is_confirmed = true;
    }

    #[cold]
    fn take_address(&mut self, now: Time, path: usize, address_id: u8, is_echo: bool, proof: (u64, IpAddr, u16)) {
        self.confirm();
        let index = usize::from(address_id);
        if is_echo {
            let place = self.addresses.iter().position(|(own, _)| *own == address_id);
            self.unechoed &= !place.map_or(0, |place| 1 << place);
            if self.unechoed == 0 {
                self.announce_at = Time::MAX;
            }
            return;
        }
        let (mac, address, port) = proof;
        let expected = address_mac(self.peer_key.unwrap_or(0), self.config.key, address_id, address, port);
        if mac != expected || index >= self.subflows.len() {
            return;
        }
        self.signal(path, MptcpOption::AddAddress { address_id, is_echo: true, address, port, mac: 0 });
        if self.is_client && !self.is_fallback && self.subflows[index].stage == Stage::Idle {
            self.open_active(now, index);
        }
    }
}

/// Forty bytes of options: SACK blocks give way to MPTCP's.
#[inline]
pub(super) fn limit_sack(segment: &mut Segment) {
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
