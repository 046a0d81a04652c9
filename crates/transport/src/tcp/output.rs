//! Composition of outgoing segments: a control segment, the sender's part with the receiver's, or a pure ACK. Tested by packet scripts.

use super::config::HeaderSize;
use super::handshake::{State, timestamps};
use super::receiver::Receiver;
use super::sender::Outgoing;
use super::{Connection, Moment};
use crate::segment::{Flags, Segment};
use playpath_units::Time;

impl Connection {
    pub(super) fn next_segment(&mut self, at: Moment<'_>) -> Option<Segment> {
        let mut segment = Segment::default();
        self.transmit_at(at, &mut segment).is_some().then_some(segment)
    }

    /// Write the next segment to `out`; returns its bytes on the wire.
    pub(crate) fn transmit_at(&mut self, at: Moment<'_>, out: &mut Segment) -> Option<u32> {
        if let Some(flags) = self.opening.take_segment() {
            return Some(self.control_segment(at.now, flags, out));
        }
        let mut outgoing = Outgoing::empty(self.sender.stream().nxt());
        let has_data = match self.state {
            State::Established => !self.sender.is_settled() && self.sender.poll(at, &mut outgoing),
            State::TimeWait | State::Closed => false,
            _ => return None,
        };
        (has_data || self.receiver.must_ack()).then(|| self.write_segment(at.now, &outgoing, out))
    }

    /// The sender's part of a segment, with the acknowledgement and options of this moment.
    fn write_segment(&mut self, now: Time, outgoing: &Outgoing, out: &mut Segment) -> u32 {
        let features = self.sender.features();
        *out = Segment {
            seq: self.config().isn.wrapping_add(1).wrapping_add(outgoing.start as u32),
            flags: Flags::ACK.with(outgoing.flags),
            ecn: outgoing.ecn,
            payload_len: outgoing.len,
            timestamps: features.timestamps.then(|| timestamps(now)),
            ..Segment::default()
        };
        if outgoing.flags.contains(Flags::FIN) {
            self.opening.note_fin(self.receiver.is_finished());
        }
        if outgoing.len > 0 {
            self.receiver.note_data_sent(now);
        }
        self.receiver.stamp(out, features.sack);
        if features.counts_marks {
            self.receiver.stamp_marks(out, features.mss);
            self.reflect_in(out);
        }
        self.finish_segment(out)
    }

    #[cold]
    fn control_segment(&mut self, now: Time, flags: Flags, out: &mut Segment) -> u32 {
        let is_syn = flags.contains(Flags::SYN);
        let next = self.config().isn.wrapping_add(1).wrapping_add(self.sender.stream().nxt() as u32);
        *out = Segment {
            seq: match flags {
                _ if is_syn => self.config().isn,
                Flags::RST => self.opening.refused(),
                _ => next,
            },
            flags,
            timestamps: self.sender.features().timestamps.then(|| timestamps(now)),
            window: self.receiver.first_window().min(u64::from(u32::MAX)) as u32,
            ..Segment::default()
        };
        if is_syn {
            out.syn_options = self.syn_options();
            self.opening.wait_until(now + self.sender.rto());
        }
        if flags.contains(Flags::ACK) {
            self.receiver.stamp(out, false);
            out.flags = flags;
        }
        // RFC 9768 §3.2.3.2.1, .2: not if the first one was lost, perhaps because of its option.
        let is_first_synack = flags.contains(Flags::SYN.with(Flags::ACK)) && self.opening.is_first_synack();
        if is_first_synack && self.sender.features().counts_marks {
            out.accecn = Some(Receiver::first_marks());
        }
        self.finish_segment(out)
    }

    #[inline(always)]
    fn finish_segment(&mut self, out: &mut Segment) -> u32 {
        if let HeaderSize::Fixed(bytes) = self.config().header {
            out.fixed_header_bytes = bytes;
        }
        let wire_bytes = out.wire_bytes();
        self.segments_sent += 1;
        self.wire_bytes_sent += u64::from(wire_bytes);
        wire_bytes
    }
}
