//! Each data packet that an MPTCP server sends, for the packet timeline of a traced run.
//!
//! What a packet is follows from the numbers on it: bytes that the subflow has sent before are a retransmission, bytes that
//! another subflow was given before a copy (reinjection, or the redundant scheduler), others new data. A chunk that a copy
//! overtakes on the wire counts as the copy: the first to leave is the new one.

use playpath_record::Series;
use playpath_transport::mptcp::option::DSS_MAP;
use playpath_transport::{MptcpOption, Segment};
use playpath_units::Time;

/// What a packet carries. The number stands in the column `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    New = 0,
    Retransmission = 1,
    Copy = 2,
}

/// The data packets of a flow in the order of sending.
#[derive(Debug, Default)]
pub struct PacketLog {
    packets: Vec<SentPacket>,
    /// Data sequence number of the first byte.
    first_data_seq: Option<u64>,
    /// End of the data sent.
    data_end: u64,
    /// End of the sequence numbers sent on each path.
    sequence_ends: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    at: Time,
    data_offset: u64,
    path: u8,
    kind: Kind,
}

impl PacketLog {
    /// A segment leaves over `path`. Those without data or mapping (after a fallback) are not kept.
    pub fn record(&mut self, at: Time, path: u8, segment: &Segment) {
        let MptcpOption::Dss { flags, data_seq, .. } = segment.mptcp else { return };
        if flags & DSS_MAP == 0 || segment.payload_len == 0 {
            return;
        }
        let data_offset = data_seq.wrapping_sub(*self.first_data_seq.get_or_insert(data_seq));
        if self.sequence_ends.len() <= path as usize {
            self.sequence_ends.resize(path as usize + 1, None);
        }
        let sent = &mut self.sequence_ends[path as usize];
        let is_ahead = sent.is_none_or(|end| segment.seq.wrapping_sub(end) < 1 << 31);
        let kind = match (is_ahead, data_offset >= self.data_end) {
            (false, _) => Kind::Retransmission,
            (true, false) => Kind::Copy,
            (true, true) => Kind::New,
        };
        if is_ahead {
            *sent = Some(segment.seq.wrapping_add(segment.payload_len));
        }
        self.data_end = self.data_end.max(data_offset + u64::from(segment.payload_len));
        self.packets.push(SentPacket { at, data_offset, path, kind });
    }

    /// Columns `time_s`, `path` (number of the path in the flow, from 0), `data_offset`, `kind` (0 new, 1 retransmission, 2 copy).
    pub fn into_series(self, flow: &str) -> Series {
        let column = |value: fn(&SentPacket) -> f64| self.packets.iter().map(value).collect();
        Series {
            name: format!("packets.{flow}"),
            columns: vec![
                ("time_s", column(|p| p.at.as_secs_f64())),
                ("path", column(|p| f64::from(p.path))),
                ("data_offset", column(|p| p.data_offset as f64)),
                ("kind", column(|p| f64::from(p.kind as u8))),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bytes a packet; sequence numbers of the two subflows begin elsewhere, one close to the wrap.
    #[test]
    fn kinds_by_hand() {
        let mut log = PacketLog::default();
        let mut send = |path: u8, seq: u32, data_seq: u64| {
            let mptcp =
                MptcpOption::Dss { flags: DSS_MAP, data_ack: 0, data_seq, subflow_seq: 0, len: 10, checksum: None };
            log.record(Time::from_millis(1), path, &Segment { seq, payload_len: 10, mptcp, ..Segment::default() });
        };
        send(0, u32::MAX - 9, 1000);
        send(1, 500, 1010);
        send(0, 0, 1020);
        send(0, u32::MAX - 9, 1000);
        send(1, 510, 1000);
        send(1, 520, 1030);
        let series = log.into_series("video");
        assert_eq!(series.name, "packets.video");
        assert_eq!(series.columns[2].1, [0.0, 10.0, 20.0, 0.0, 0.0, 30.0]);
        // New, new, new, again on the same subflow, a copy on the other, new.
        assert_eq!(series.columns[3].1, [0.0, 0.0, 0.0, 1.0, 2.0, 0.0]);
    }
}
