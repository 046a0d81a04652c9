//! DSS: received and sent DATA_ACKs, mappings and DATA_FINs.
//!
//! Reference: RFC 8684 §3.3. Differences from the reference are listed in `mod.rs`.
//! Units: data offsets; the DATA_FIN counts one. Tested by `tests/mptcp.rs` and `tests/mptcp_stock.rs`.

use super::MptcpConnection;
use super::checksums::mapped;
use super::option::{DSS_ACK, DSS_ACK8, DSS_FIN, DSS_MAP, DSS_SEQ8, MptcpOption};
use super::subflow::{Mapping, Received, Stage};
use crate::segment::Segment;
use crate::tcp::{Event, unwrap_near};
use playpath_units::Time;

impl MptcpConnection {
    /// `false`: the subflow is broken, and reset.
    #[inline(always)]
    pub(super) fn take_dss(&mut self, now: Time, path: usize, segment: &Segment) -> bool {
        let MptcpOption::Dss { flags, data_ack, data_seq, subflow_seq, len, checksum } = segment.mptcp else {
            return true;
        };
        self.confirm();
        if matches!(self.subflows[path].stage, Stage::Joining(_)) && self.is_client {
            self.subflows.touch(path).stage = Stage::Ready; // the fourth ACK
            self.is_alone = false;
        }
        if flags & DSS_ACK != 0 {
            // Four bytes are sent: take the value closest to the expected one.
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
        self.is_peer_wide = flags & DSS_SEQ8 != 0;
        if len == 0 {
            self.take_infinite_mapping(now, path);
            return true;
        }
        let Some(offset) = self.peer_data_offset(flags, data_seq) else { return true };
        let (payload, has_fin) = mapped(flags, len);
        if payload > 0 && segment.payload_len > 0 {
            // The field has 32 bits: the rest follows from the segment's own offset. It need not be the mapping's first segment.
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

    /// A connection that fell back: TCP's acknowledgement is the data level's.
    #[cold]
    pub(super) fn take_plain_ack(&mut self, now: Time, segment: &Segment) {
        if let Some(tcp) = &self.subflows[0].tcp {
            let ack = tcp.acknowledged_offset();
            self.on_data_ack(now, ack, segment.window);
        }
    }

    #[inline(always)]
    pub(super) fn on_data_ack(&mut self, now: Time, ack: u64, window: u32) {
        let was_acked = self.level.is_fin_acked();
        if self.level.handle_ack(ack, ack + u64::from(window)) == Some(true) {
            self.subflows.note_stream_acked(self.level.bytes_acked());
            self.rearm_data_timer(now);
            if self.is_write_cut && self.has_write_space() {
                self.is_write_cut = false;
                self.raise(Event::Writable);
            }
        }
        if self.level.is_fin_acked() && !was_acked && self.receiver.arrivals.is_finished() {
            self.close_subflows();
        }
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

    /// Data offset of a sequence number of the peer's. For one sent in four bytes, the value closest to the expected one.
    pub(super) fn peer_data_offset(&self, flags: u8, data_seq: u64) -> Option<u64> {
        self.peer_key?;
        let expected = self.data_ack_field();
        let distance = (data_seq as u32).wrapping_sub(expected as u32) as i32;
        let whole = if flags & DSS_SEQ8 != 0 { data_seq } else { expected.wrapping_add_signed(distance.into()) };
        let offset = whole.wrapping_sub(self.peer_zero);
        (offset < 1 << 62).then_some(offset)
    }

    /// DATA_ACK, and the mapping of `len` bytes whose offsets in the subflow and in the data are `place`.
    #[inline(always)]
    pub(super) fn dss(&self, len: u32, place: Option<(u64, u64)>) -> MptcpOption {
        let data_ack = self.data_ack_field();
        let Some((offset, data)) = place else {
            // Sequence numbers of eight bytes ask for as many, which leave room for one SACK block less (Linux `use_64bit_ack`).
            let flags = if self.is_peer_wide { DSS_ACK | DSS_ACK8 } else { DSS_ACK };
            return MptcpOption::Dss { flags, data_ack, data_seq: 0, subflow_seq: 0, len: 0, checksum: None };
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

    pub(super) fn data_ack_field(&self) -> u64 {
        self.peer_zero.wrapping_add(self.receiver.arrivals.next())
    }

    pub(super) fn own_data_seq(&self, offset: u64) -> u64 {
        self.own_zero.wrapping_add(offset)
    }
}
