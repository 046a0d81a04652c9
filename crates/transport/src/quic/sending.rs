//! Sending: packets from frames, datagrams from packets.
//!
//! Reference: RFC 9000 §12.2 (coalescing), §13.2.1 (ACKs alone are not limited by the window), §14.1 (padding), RFC 9001 §5.4.2 (four
//! bytes at least), RFC 9002 §7.5 (probes leave whatever the window says), §7.7, §7.8.
//! Differences from the reference:
//! 1. An ACK frame joins other frames only if an ACK is owed; some implementations send it with every packet.
//!
//! Tested by `tests/quic_rules.rs` and `tests/quic_pair.rs`.

use super::closing::State;
use super::lane::{Lane, packed_bytes};
use super::migration::MIN_DATAGRAM;
use super::packet::{Datagram, Frame, Kind, Packet, Space};
use super::path::Stamp;
use super::sent::Sent;
use super::streams::Chosen;
use super::{Connection, varint};
use playpath_units::Time;

/// Room that is not worth a frame.
pub(super) const MIN_ROOM: u32 = 32;

/// Whether window and pacing permit a full datagram.
#[derive(Clone, Copy)]
enum May {
    Wait,
    /// It may go; `has_data`: as [`Connection::has_data`] says.
    Send {
        has_data: bool,
    },
}

#[derive(Clone, Copy, Default)]
pub(super) struct Contents {
    is_eliciting: bool,
    stream_bytes: u32,
    /// Bytes of streams, or of the handshake in packets of its own, that were sent before.
    resent: u32,
}

impl Contents {
    pub fn of(packet: &Packet) -> Contents {
        Contents { is_eliciting: packet.is_ack_eliciting(), stream_bytes: packet.stream_bytes(), resent: 0 }
    }
}

/// A packet being built in place; unused parts are not written.
struct Draft<'p> {
    packet: &'p mut Packet,
    room: u32,
    contents: Contents,
}

impl Draft<'_> {
    fn push(&mut self, frame: Frame) {
        self.put(Chosen { frame, bytes: packed_bytes(&frame, self.room), is_again: false });
    }
    #[inline]
    fn put(&mut self, Chosen { frame, bytes, is_again }: Chosen) {
        self.room -= bytes;
        self.packet.bytes += bytes;
        self.packet.frames.push(frame);
        self.contents.is_eliciting |= frame.is_ack_eliciting();
        let stream_bytes = frame.stream_bytes();
        self.contents.stream_bytes += stream_bytes;
        if is_again {
            self.contents.resent += stream_bytes;
        }
    }
    fn fits(&self, frame: Frame) -> bool {
        !self.packet.frames.is_full() && frame.bytes(false) <= self.room
    }
}

impl Connection {
    /// The next datagram to send now; `None` if there is none.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let mut out = Datagram::default();
        self.poll_transmit_into(now, &mut out).then_some(out)
    }

    /// The same in a place that is there; `false`: nothing leaves, what is in the place has no meaning, and the timers are set.
    #[inline(always)]
    pub fn poll_transmit_into(&mut self, now: Time, out: &mut Datagram) -> bool {
        let is_sent = match self.state {
            State::Open if self.multi.is_some() => self.poll_paths(now, out),
            State::Open => self.poll_at_hand(now, out),
            State::Closing { .. } => self.poll_close(now, out),
            State::Draining { .. } | State::Closed => false,
        };
        self.is_spent = !is_sent || self.finds_itself_spent(now);
        if self.is_spent {
            self.set_loss_timer(now);
            self.is_settled = self.settles();
        }
        is_sent
    }

    /// The last poll has shown that a further one gives nothing; `false` when in doubt.
    pub fn is_spent(&self) -> bool {
        self.is_spent
    }
    /// A poll would find nothing, and change nothing.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }
    pub(crate) fn unsettle(&mut self) {
        self.is_settled = false;
    }

    /// After a poll that found nothing, or has shown that the next one does: nothing waits, not for time either.
    #[inline(always)]
    fn settles(&self) -> bool {
        self.is_plain() && self.lane.spaces[Space::Data as usize].probes == 0 && !self.has_data()
    }

    /// One path, on which nothing but data is on.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.state == State::Open
            && self.multi.is_none()
            && self.handshake.is_over()
            && !self.lane.route.owes_frames()
            && self.allowed_by(&self.lane).is_some()
    }

    /// After a datagram: what a poll that gives nothing would find and note, in the two commonest cases.
    #[inline(always)]
    fn finds_itself_spent(&mut self, now: Time) -> bool {
        let data = &self.lane.spaces[Space::Data as usize];
        if !self.is_plain() || data.probes > 0 || data.arrivals.is_due(now) {
            return false;
        }
        let has_room = self.lane.path.has_room();
        if has_room && self.has_data() {
            return false;
        }
        self.lane.departs_at = Time::MAX;
        self.lane.path.note_pause(!has_room);
        true
    }

    /// The next datagram on the current path, one of several.
    pub(super) fn poll_lane(&mut self, now: Time, out: &mut Datagram) -> bool {
        self.poll_at_hand(now, out)
    }

    // From here to the packet's frames all is inlined: it runs for each packet, and each call costs as much as what it does.

    #[inline(always)]
    fn poll_at_hand(&mut self, now: Time, out: &mut Datagram) -> bool {
        (self.lane.route.owes_frames() && self.poll_path_frames(now, out))
            || self.allowed_by(&self.lane).is_some_and(|size| self.assemble(now, size, out))
    }

    /// Bytes of the next datagram at most; `None`: RFC 9000 §8.1 allows none. An Initial must be padded, or wait.
    #[inline(always)]
    pub(super) fn allowed_by(&self, lane: &Lane) -> Option<u32> {
        let allowance = lane.route.allowance();
        if allowance == u64::MAX {
            return Some(self.config.datagram_bytes);
        }
        let least =
            if self.handshake.has(Space::Initial) { u64::from(self.config.initial_bytes) } else { MIN_DATAGRAM };
        (allowance >= least).then(|| allowance.min(u64::from(self.config.datagram_bytes)) as u32)
    }

    #[inline(always)]
    fn assemble(&mut self, now: Time, size: u32, out: &mut Datagram) -> bool {
        self.lane.departs_at = Time::MAX;
        let may_send = self.may_send(now);
        if !self.handshake.is_over() {
            return self.coalesce(now, size, may_send, out);
        }
        let contents = self.draft(now, Kind::OneRtt, size, may_send, &mut out.packet);
        let Some(contents) = contents else { return false };
        out.coalesced.clear();
        if contents.stream_bytes < 4 {
            self.widen(&mut out.packet);
        }
        self.note_sent(now, (Space::Data, &out.packet), contents, true);
        self.address(out);
        true
    }

    /// RFC 9001 §5.4.2: four bytes of packet number and payload at least.
    #[inline(always)]
    fn widen(&self, packet: &mut Packet) {
        packet.bytes = packet.bytes.max(packet.kind.overhead(self.cids(), 4));
    }

    /// While the handshake lasts: a packet of each space.
    #[cold]
    fn coalesce(&mut self, now: Time, size: u32, may_send: May, out: &mut Datagram) -> bool {
        out.coalesced.clear();
        let (mut contents, mut count, mut room) = ([Contents::default(); 3], 0, size);
        let mut needs_padding = false;
        for space in Space::ALL {
            let Some(kind) = self.handshake.sends(space) else { continue };
            let draft = match count {
                0 => self.draft_one(now, kind, room, may_send, &mut out.packet),
                _ => self.draft_further(now, kind, room, may_send, &mut out.coalesced),
            };
            let Some(drafted) = draft else { continue };
            let packet = out.coalesced.last().unwrap_or(&out.packet);
            room -= packet.bytes;
            needs_padding |= space == Space::Initial && (self.is_client || packet.is_ack_eliciting());
            let is_last = space == Space::Data || room < MIN_ROOM + Kind::OneRtt.overhead(self.cids(), 4);
            contents[count] = drafted;
            count += 1;
            if is_last {
                break;
            }
        }
        if count > 0 {
            self.seal(now, out, contents, needs_padding.then_some(size));
        }
        count > 0
    }

    /// As [`draft`](Self::draft), while the handshake lasts.
    #[cold]
    fn draft_one(&mut self, now: Time, kind: Kind, room: u32, may_send: May, packet: &mut Packet) -> Option<Contents> {
        self.draft(now, kind, room, may_send, packet)
    }
    /// A packet behind others, as only the handshake has them.
    #[cold]
    fn draft_further(
        &mut self,
        now: Time,
        kind: Kind,
        room: u32,
        may_send: May,
        packets: &mut Vec<Packet>,
    ) -> Option<Contents> {
        let mut packet = Packet::default();
        let contents = self.draft_one(now, kind, room, may_send, &mut packet)?;
        packets.push(packet);
        Some(contents)
    }

    /// Do window and pacing let a full datagram go?
    #[inline(always)]
    fn may_send(&mut self, now: Time) -> May {
        if !self.lane.path.has_room() {
            self.lane.path.note_pause(true);
            return May::Wait;
        }
        let has_data = self.has_data();
        // Without room in the peer's flow control the window is not used either (RFC 9002 §7.8).
        if !has_data && !self.has_crypto(Space::Initial) && !self.has_crypto(Space::Handshake) {
            if self.multi.is_none() {
                self.lane.path.note_pause(false); // over several paths it may yet be given some
            }
            return May::Send { has_data };
        }
        let at = self.lane.path.departs_at(now, &self.config.pacing);
        if at > now {
            self.lane.departs_at = at;
            self.lane.path.note_pause(true);
            return May::Wait;
        }
        May::Send { has_data }
    }

    /// Something waits for a packet of the data's space.
    #[inline(always)]
    fn has_data(&self) -> bool {
        let has_frames = if self.multi.is_some() { self.lane.queue.has_frames() } else { self.streams.has_frames() };
        has_frames || self.has_connection_frames() || self.has_crypto(Space::Data)
    }

    /// Of the handshake or of connection ids.
    #[inline(always)]
    fn has_connection_frames(&self) -> bool {
        self.handshake.done_due || self.announcements.is_due()
    }

    #[inline(always)]
    fn has_crypto(&self, space: Space) -> bool {
        self.handshake.has_crypto(space)
    }

    pub(super) fn cids(&self) -> (u32, u32) {
        (self.config.peer_cid_bytes, self.config.cid_bytes)
    }

    /// The packet in this place becomes an empty one with the next number of its space.
    #[inline(always)]
    pub(super) fn start_packet(&mut self, kind: Kind, packet: &mut Packet) {
        if self.multi.is_some() {
            self.lane.queue.begin_packet();
        }
        let board = &self.lane.spaces[kind.space() as usize].board;
        (packet.kind, packet.number) = (kind, board.next_number());
        let number_bytes = varint::packet_number_size(packet.number, board.largest_acked());
        packet.bytes = kind.overhead(self.cids(), number_bytes);
        packet.frames.clear();
        (packet.has_ack, packet.padding, packet.parameters) = (false, 0, None);
    }

    /// Fills `packet` with what a space has to send in `room` bytes. `None`: nothing; `true`: something that was sent before.
    #[inline(always)]
    fn draft(&mut self, now: Time, kind: Kind, room: u32, may_send: May, packet: &mut Packet) -> Option<Contents> {
        let space = kind.space();
        let arrivals = &self.lane.spaces[space as usize].arrivals;
        let is_ack_due = arrivals.is_due(now) && kind != Kind::ZeroRtt;
        let probes = self.lane.spaces[space as usize].probes > 0;
        let has_data = match (may_send, space) {
            (May::Wait, _) if !probes => false,
            (May::Send { has_data }, Space::Data) => has_data,
            (May::Wait, Space::Data) => self.has_data(),
            (_, Space::Initial | Space::Handshake) => self.has_crypto(space),
        };
        if !is_ack_due && !probes && !has_data {
            return None;
        }
        self.fill(now, kind, room, (probes, has_data), packet)
    }

    /// As [`draft`](Self::draft), where something is due: probes, data, or an ACK alone.
    #[inline(always)]
    fn fill(
        &mut self,
        now: Time,
        kind: Kind,
        room: u32,
        (probes, has_data): (bool, bool),
        packet: &mut Packet,
    ) -> Option<Contents> {
        let space = kind.space();
        self.start_packet(kind, packet);
        let room = room.checked_sub(packet.bytes + MIN_ROOM)? + MIN_ROOM;
        let mut draft = Draft { packet, room, contents: Contents::default() };
        if kind != Kind::ZeroRtt && self.lane.spaces[space as usize].arrivals.is_pending() {
            self.add_ack(now, space, &mut draft);
        }
        if probes || has_data {
            if probes && !has_data {
                self.queue_probe(space);
            }
            self.add_frames(space, &mut draft);
            if probes && !draft.contents.is_eliciting && draft.fits(Frame::Ping) {
                draft.push(Frame::Ping);
            }
        }
        let is_empty = !draft.packet.has_ack && draft.packet.frames.is_empty();
        (!is_empty).then_some(draft.contents)
    }

    fn add_ack(&mut self, now: Time, space: Space, draft: &mut Draft<'_>) {
        let exponent = self.config.ack.exponent;
        let packet = &mut *draft.packet;
        // Written where it stays: it is the largest part of a packet.
        packet.has_ack = self.lane.spaces[space as usize].arrivals.put_frame(now, exponent, &mut packet.ack);
        // PATH_ACK says of which path (draft-ietf-quic-multipath-21 §4.1).
        let path_id = u32::from(self.multi.is_some() && space == Space::Data);
        let bytes = packet.ack().map_or(0, |ack| ack.bytes() + path_id);
        if bytes > draft.room {
            packet.has_ack = false;
        } else if bytes > 0 {
            draft.room -= bytes;
            draft.packet.bytes += bytes;
            self.numbers(space).arrivals.on_ack_sent();
            self.lane.stats.acks_sent += 1;
        }
    }

    #[inline(always)]
    fn add_frames(&mut self, space: Space, draft: &mut Draft<'_>) {
        if self.has_crypto(space) {
            self.add_crypto(space, draft);
        }
        if space != Space::Data {
            return;
        }
        if self.has_connection_frames() {
            self.add_connection_frames(draft);
        }
        while !draft.packet.frames.is_full() && draft.room >= MIN_ROOM {
            let next = match self.multi {
                Some(_) => self.lane.queue.take(draft.room),
                None => self.streams.next_frame(draft.room),
            };
            let Some(next) = next else { break };
            draft.put(next);
        }
    }

    #[cold]
    fn add_connection_frames(&mut self, draft: &mut Draft<'_>) {
        if self.handshake.done_due && draft.fits(Frame::HandshakeDone) {
            self.handshake.done_due = false;
            draft.push(Frame::HandshakeDone);
        }
        while let Some(frame) = self.announcements.next().filter(|frame| draft.fits(*frame)) {
            self.announcements.on_sent();
            draft.push(frame);
        }
    }

    #[cold]
    fn add_crypto(&mut self, space: Space, draft: &mut Draft<'_>) {
        while !draft.packet.frames.is_full() {
            let room = draft.room;
            let taken = self.handshake.on_out(space, |out| {
                let range = out.peek(u64::MAX)?;
                let overhead = 1 + varint::size(range.start) + 2;
                let most = room.checked_sub(overhead).filter(|most| *most >= MIN_ROOM)?;
                let end = range.end.min(range.start + u64::from(most));
                let is_end = end == out.written() && space != Space::Data;
                Some((range.start, (end - range.start) as u32, is_end, out.on_sent(range.start..end)))
            });
            let Some((offset, len, is_end, is_again)) = taken else { break };
            // With stream data, which are what counts as sent again, only tickets travel.
            draft.contents.resent += if is_again && space != Space::Data { len } else { 0 };
            if is_end && (self.is_client == (space == Space::Initial)) {
                draft.packet.parameters = Some(Box::new(self.config.parameters()));
            }
            draft.push(Frame::Crypto { offset, len, is_end });
        }
    }

    fn seal(&mut self, now: Time, out: &mut Datagram, contents: [Contents; 3], padded_to: Option<u32>) {
        if let Some(size) = padded_to {
            let bytes = out.payload_bytes();
            let last = out.coalesced.last_mut().unwrap_or(&mut out.packet);
            let padding = self.config.initial_bytes.min(size).saturating_sub(bytes);
            last.padding += padding;
            last.bytes += padding;
        } else {
            self.widen(&mut out.packet);
        }
        self.record(now, &out.packet, contents[0], true);
        for (packet, &contents) in out.coalesced.iter().zip(&contents[1..]) {
            self.record(now, packet, contents, true);
        }
        self.address(out);
    }

    /// As [`note_sent`](Self::note_sent), of a packet that is not the only one or no data.
    pub(super) fn record(&mut self, now: Time, packet: &Packet, contents: Contents, counts: bool) {
        self.note_sent(now, (packet.kind.space(), packet), contents, counts);
    }

    /// A packet leaves: what must be known of it later. `counts`: the control hears of it.
    #[inline(always)]
    fn note_sent(&mut self, now: Time, (space, packet): (Space, &Packet), contents: Contents, counts: bool) {
        let Contents { is_eliciting, stream_bytes, resent } = contents;
        let is_in_flight = counts && (is_eliciting || packet.padding > 0);
        let stamp = if is_in_flight {
            self.lane.path.on_sent(now, packet.bytes, resent > 0, &self.config.pacing)
        } else {
            Stamp::at(now)
        };
        let is_ect = self.lane.path.ecn.marks();
        if is_ect {
            self.lane.path.ecn.on_sent();
            self.numbers(space).marked += 1;
        }
        if stream_bytes > 0 {
            self.lane.stats.data_packets_sent += 1;
            self.lane.stats.data_bytes_sent += u64::from(stream_bytes);
        }
        if resent > 0 && stream_bytes > 0 {
            // With a longer header the last bytes of a lost packet follow in another one: it counts as one sent again all the same.
            let is_retransmission = resent >= MIN_ROOM && 2 * resent > stream_bytes;
            self.lane.stats.retransmitted_packets += u64::from(is_retransmission);
            self.lane.stats.retransmitted_bytes += u64::from(resent);
        }
        let path = self.lane.route.number;
        let carriers = if self.multi.is_some() { self.lane.queue.carriers() } else { 0 };
        let numbers = &mut self.lane.spaces[space as usize];
        if is_eliciting {
            numbers.probes = numbers.probes.saturating_sub(1);
        }
        let mut sent = Sent::eliciting(packet.number, stamp, packet.bytes, stream_bytes);
        (sent.is_eliciting, sent.is_in_flight, sent.is_ect) = (is_eliciting && counts, is_in_flight, is_ect);
        (sent.path, sent.carriers) = (path, carriers);
        if let Some(ack) = packet.ack() {
            sent.carry_ack(ack.largest);
        }
        numbers.board.push(sent, packet.frames.as_slice());
        if is_eliciting && !std::mem::replace(&mut self.has_sent_since_arrival, true) {
            self.restart_idle(now); // §10.1
        }
        // RFC 9001 §4.9.1: a client is done with Initial keys when it sends its first Handshake packet.
        if self.is_client && space == Space::Handshake {
            self.discard(Space::Initial);
        }
    }

    /// A datagram gets its addresses and mark, and leaves.
    #[inline(always)]
    pub(super) fn address(&mut self, out: &mut Datagram) {
        out.ecn = self.lane.path.ecn.codepoint();
        (out.from, out.to, out.path_id) = (self.lane.route.local, self.lane.route.remote, self.lane.id);
        self.lane.route.on_sent(out.payload_bytes());
        self.lane.stats.datagrams_sent += 1;
        self.lane.stats.wire_bytes_sent += u64::from(out.wire_bytes());
    }
}
