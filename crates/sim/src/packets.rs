//! Sent and acknowledged packets of a flow, one by one, for the time–sequence diagram of a traced run.
//!
//! Everything is in bytes of a path's own stream, from the first data byte that the server sends on it. The kind of a packet follows from
//! its numbers: bytes that were sent on the same path before are a retransmission, data bytes that were sent on another path before are a
//! copy (reinjection, or the redundant scheduler), all others are new data. If a copy leaves before its original, the original counts as
//! the copy: the first to leave is the new one.
//!
//! The window's edge is the end of the sent bytes, plus the window, minus the bytes in flight by the transport's own estimate (RFC 6675's
//! pipe): nothing may be sent beyond it. Without loss this is the acknowledged byte plus the window.

use playpath_link::DropCause;
use playpath_record::Series;
use playpath_transport::SackBlocks;
use playpath_transport::transports::{Drawn, PathInfo};
use playpath_units::Time;

/// A log ends when one of its lists is so long: an hour at 6 Mbit/s, some 100 MB.
const MAX_ROWS: usize = 2_000_000;

/// Contents of a packet. The number is the value in the column `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    New = 0,
    Retransmission = 1,
    Copy = 2,
}

/// The packets of a flow, in the order of time (drops: in the order in which the links reported them).
#[derive(Debug, Default)]
pub struct PacketLog {
    sent: Vec<Sent>,
    answers: Vec<Answer>,
    sacks: Vec<Sacked>,
    drops: Vec<Lost>,
    /// Data sequence number of the first byte, under MPTCP.
    first_data_seq: Option<u64>,
    data_end: u64,
    streams: Vec<Stream>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// Number of the first data byte, as the transport counts; none while no data was sent.
    first_seq: Option<u32>,
    end: u64,
    /// Largest payload sent.
    mss: u32,
    /// SACK blocks of the previous ACK.
    blocks: SackBlocks,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    offset: u64,
    data_offset: u64,
    bytes: u32,
    path: u8,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Time,
    acked: u64,
    /// Edges of the congestion window and of the receiver's window.
    window: f64,
    receive_window: f64,
    path: u8,
}

#[derive(Clone, Copy, Debug)]
struct Sacked {
    at: Time,
    from: u64,
    until: u64,
    path: u8,
}

#[derive(Clone, Copy, Debug)]
struct Lost {
    at: Time,
    offset: u64,
    cause: DropCause,
    path: u8,
}

impl Stream {
    /// Place of a number in the stream, wherever 32 bits have wrapped; `None` before the first byte.
    fn offset(&self, seq: u32) -> Option<u64> {
        let end_seq = self.first_seq?.wrapping_add(self.end as u32);
        self.end.checked_add_signed(i64::from(seq.wrapping_sub(end_seq) as i32))
    }

    /// The part of a block that was not in the previous ACK: blocks grow at one end.
    fn fresh(&self, (left, right): (u32, u32)) -> Option<(u32, u32)> {
        let known = self.blocks.as_slice();
        if known.contains(&(left, right)) {
            return None;
        }
        let from = known.iter().find(|block| block.0 == left).map_or(left, |block| block.1);
        let until = known.iter().find(|block| block.1 == right).map_or(right, |block| block.0);
        Some((from, until))
    }
}

impl PacketLog {
    /// Record a packet that the server sends over `path`. Packets without data are not kept.
    pub fn record_sent(&mut self, at: Time, path: u8, packet: &Drawn) {
        if packet.bytes == 0 || self.sent.len() >= MAX_ROWS {
            return;
        }
        let stream = self.stream(path);
        stream.first_seq.get_or_insert(packet.place);
        stream.mss = stream.mss.max(packet.bytes);
        let Some(offset) = stream.offset(packet.place) else { return };
        let is_ahead = offset >= stream.end;
        stream.end = stream.end.max(offset + u64::from(packet.bytes));
        let data_offset = self.data_offset(packet).unwrap_or(offset);
        let kind = match (is_ahead, data_offset >= self.data_end) {
            (false, _) => Kind::Retransmission,
            (true, false) => Kind::Copy,
            (true, true) => Kind::New,
        };
        self.data_end = self.data_end.max(data_offset + u64::from(packet.bytes));
        self.sent.push(Sent { at, offset, data_offset, bytes: packet.bytes, path, kind });
    }

    /// Record a packet that the server has received and processed, if it is an ACK; `info` is that of the server's end of the path.
    pub fn record_ack(&mut self, at: Time, path: u8, packet: &Drawn, info: Option<PathInfo>) {
        let (Some(answer), Some(info), true) = (packet.answer, info, self.has_room()) else { return };
        let stream = self.stream(path);
        let Some(acked) = stream.offset(answer.acked) else { return };
        let open = info.cwnd - f64::from(info.in_flight);
        let receive_window = answer.window.map_or(f64::NAN, |window| (acked + u64::from(window)) as f64);
        let window = stream.end as f64 + open * f64::from(stream.mss);
        let fresh = answer.blocks.as_slice().iter().filter_map(|block| stream.fresh(*block));
        let sacked =
            |(left, right)| Some(Sacked { at, from: stream.offset(left)?, until: stream.offset(right)?, path });
        let sacks: Vec<Sacked> = fresh.filter_map(sacked).collect();
        stream.blocks = answer.blocks;
        self.sacks.extend(sacks);
        self.answers.push(Answer { at, acked, window, receive_window, path });
    }

    /// Record a packet that a link towards the client has dropped, and that arrived there at `at`.
    pub fn record_drop(&mut self, at: Time, path: u8, packet: &Drawn, cause: DropCause) {
        if packet.bytes > 0
            && self.drops.len() < MAX_ROWS
            && let Some(offset) = self.stream(path).offset(packet.place)
        {
            self.drops.push(Lost { at, offset, cause, path });
        }
    }

    fn has_room(&self) -> bool {
        self.answers.len() < MAX_ROWS && self.sacks.len() < MAX_ROWS
    }

    fn stream(&mut self, path: u8) -> &mut Stream {
        if self.streams.len() <= path as usize {
            self.streams.resize(path as usize + 1, Stream::default());
        }
        &mut self.streams[path as usize]
    }

    /// Place in the data of all paths, where the packet says it; over one path it is that in the stream.
    fn data_offset(&mut self, packet: &Drawn) -> Option<u64> {
        let place = packet.data_place?;
        Some(place.wrapping_sub(*self.first_data_seq.get_or_insert(place)))
    }

    /// Four series, each with `time_s` and `path` (number of the path in the flow, from 0); places are bytes of the path's stream.
    ///
    /// - `packets.FLOW`: `offset`, `bytes`, `data_offset` (in the data of all paths), `kind` (0 new, 1 retransmission, 2 copy);
    /// - `acks.FLOW`: `acked`, and up to where the server may send: `window` by congestion control, `receive_window` by the
    ///   client (NaN under MPTCP);
    /// - `sacks.FLOW`: `from`, `until`: what an ACK says has arrived, as far as the one before did not;
    /// - `drops.FLOW`: `offset`, `cause` (0 loss, 1 queue full, 2 AQM, 3 outage, 4 too big, 5 corrupted, 6 for an earlier binding of a NAT).
    pub fn into_series(self, flow: &str) -> [Series; 4] {
        [
            series(
                "packets",
                flow,
                &self.sent,
                &[
                    ("time_s", |p| p.at.as_secs_f64()),
                    ("path", |p| f64::from(p.path)),
                    ("offset", |p| p.offset as f64),
                    ("bytes", |p| f64::from(p.bytes)),
                    ("data_offset", |p| p.data_offset as f64),
                    ("kind", |p| f64::from(p.kind as u8)),
                ],
            ),
            series(
                "acks",
                flow,
                &self.answers,
                &[
                    ("time_s", |a| a.at.as_secs_f64()),
                    ("path", |a| f64::from(a.path)),
                    ("acked", |a| a.acked as f64),
                    ("window", |a| a.window),
                    ("receive_window", |a| a.receive_window),
                ],
            ),
            series(
                "sacks",
                flow,
                &self.sacks,
                &[
                    ("time_s", |s| s.at.as_secs_f64()),
                    ("path", |s| f64::from(s.path)),
                    ("from", |s| s.from as f64),
                    ("until", |s| s.until as f64),
                ],
            ),
            series(
                "drops",
                flow,
                &self.drops,
                &[
                    ("time_s", |d| d.at.as_secs_f64()),
                    ("path", |d| f64::from(d.path)),
                    ("offset", |d| d.offset as f64),
                    ("cause", |d| cause_number(d.cause)),
                ],
            ),
        ]
    }
}

type Column<T> = (&'static str, fn(&T) -> f64);

fn series<T>(what: &str, flow: &str, rows: &[T], columns: &[Column<T>]) -> Series {
    let columns = columns.iter().map(|(name, value)| (*name, rows.iter().map(value).collect()));
    Series { name: format!("{what}.{flow}"), columns: columns.collect() }
}

fn cause_number(cause: DropCause) -> f64 {
    match cause {
        DropCause::Loss => 0.0,
        DropCause::QueueFull => 1.0,
        DropCause::Aqm => 2.0,
        DropCause::Outage => 3.0,
        DropCause::TooBig => 4.0,
        DropCause::Corrupted => 5.0,
        DropCause::Rebound => 6.0,
    }
}

#[cfg(test)]
mod tests;
