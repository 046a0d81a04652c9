//! One subflow: a TCP endpoint, its mappings in both directions, and its state in MPTCP's handshakes.

use super::option::MptcpOption;
use crate::segment::Segment;
use crate::tcp::Connection;
use crate::tcp::config::Config;
use playpath_cc::CongestionControl;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

pub struct PathConfig {
    /// TCP settings; `mss` is reduced by the size of the DSS option, buffers are those of the connection, and path 0 says for all whether
    /// the window is tuned.
    pub tcp: Config,
    pub cc: Box<dyn CongestionControl>,
    /// Use only if no other path works.
    pub is_backup: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Idle,
    /// TCP handshake under way.
    Opening,
    /// MP_JOIN: the third ACK left, the fourth is awaited; send the third again at this time.
    Joining(Time),
    Ready,
    Dead,
}

/// A piece of the subflow's stream and where it lies in the data stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub offset: u64,
    pub data: u64,
    pub len: u32,
}

impl Mapping {
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// A received mapping, and the other fields of its option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    pub mapping: Mapping,
    /// If checksums are agreed on.
    pub checksum: Option<u16>,
    /// Whether the stream ends after it; reported with the data once their checksum has been verified.
    pub has_fin: bool,
}

/// Mappings of what a subflow's TCP was given and its peer has not acknowledged, in order.
#[derive(Debug, Default)]
pub(crate) struct SentMappings {
    queue: VecDeque<Mapping>,
    /// Index of the mapping of the next new data; those before it have been sent.
    next: usize,
}

impl SentMappings {
    /// The mapping of the new data at `offset`: the last one where nothing waits for a window. The offset never goes back, so
    /// neither does the search.
    #[inline]
    pub fn next(&mut self, offset: u64) -> Option<Mapping> {
        let last = self.queue.back()?;
        if last.offset <= offset {
            return Some(*last).filter(|mapping| offset < mapping.end());
        }
        while let Some(mapping) = self.queue.get(self.next) {
            if offset < mapping.end() {
                return Some(*mapping).filter(|mapping| mapping.offset <= offset);
            }
            self.next += 1;
        }
        None
    }

    #[cold]
    fn find(&self, offset: u64) -> Option<Mapping> {
        let index = self.queue.partition_point(|mapping| mapping.end() <= offset);
        self.queue.get(index).copied().filter(|mapping| mapping.offset <= offset)
    }

    #[inline]
    pub fn forget_acknowledged(&mut self, una: u64) {
        while self.queue.front().is_some_and(|mapping| mapping.end() <= una) {
            self.queue.pop_front();
            self.next = self.next.saturating_sub(1);
        }
    }

    /// The lowest unacknowledged data offset.
    #[cold]
    pub fn first_data(&self) -> Option<u64> {
        self.queue.iter().map(|mapping| mapping.data).min()
    }

    /// Data offsets of the unacknowledged mappings, in order of the data.
    #[cold]
    pub fn held(&self) -> Vec<u64> {
        let mut starts: Vec<u64> = self.queue.iter().map(|mapping| mapping.data).collect();
        starts.sort_unstable();
        starts
    }
}

/// Linux sizes a send buffer for ten packets at least (`tcp_sndbuf_expand`).
const MIN_SIZED: u32 = 10;

/// Most mappings kept for unread data: more than the segments that fit into any window, so only an attacker reaches it.
const MAX_MAPPINGS: usize = 1 << 16;

pub(crate) struct Subflow {
    /// Settings and control of a path that is not opened yet.
    pub idle: Option<(Config, Box<dyn CongestionControl>)>,
    pub tcp: Option<Connection>,
    pub stage: Stage,
    pub is_backup: bool,
    /// Considered failed: its timer expired when this offset was the first not acknowledged.
    pub failed_at: Option<u64>,
    /// Identifiers of both addresses.
    pub own_id: u8,
    pub peer_id: u8,
    pub own_nonce: u32,
    pub peer_nonce: u32,
    /// Code to send with the third ACK of MP_JOIN, or to expect in it.
    pub join_mac: [u8; 20],
    /// Options that wait for an ACK of their own.
    pub signals: VecDeque<MptcpOption>,
    pub sent: SentMappings,
    received: VecDeque<Received>,
    /// Subflow offset up to which the data level took data, and up to which it may.
    taken: u64,
    verified: u64,
    /// Data sequence number of a wrong checksum, for the reset.
    pub failed_seq: Option<u64>,
    pub rto_count: u64,
    /// Packets that Linux's send buffer was sized for, and whether an ACK has arrived since then.
    pub sized_for: u32,
    pub has_ack_arrived: bool,
    pub srtt_range: (Duration, Duration),
}

impl Subflow {
    /// A path with this index, which is also the identifier of its addresses until one is announced.
    pub fn new(path: PathConfig, index: u8) -> Subflow {
        Subflow {
            own_id: index,
            peer_id: index,
            is_backup: path.is_backup,
            idle: Some((path.tcp, path.cc)),
            tcp: None,
            stage: Stage::Idle,
            failed_at: None,
            own_nonce: 0,
            peer_nonce: 0,
            join_mac: [0; 20],
            signals: VecDeque::new(),
            sent: SentMappings::default(),
            received: VecDeque::new(),
            taken: 0,
            verified: u64::MAX,
            failed_seq: None,
            rto_count: 0,
            sized_for: MIN_SIZED,
            has_ack_arrived: false,
            srtt_range: (Duration::MAX, Duration::ZERO),
        }
    }

    pub fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// Ready, and not considered failed.
    pub fn is_usable(&self) -> bool {
        self.is_ready() && self.failed_at.is_none()
    }

    /// When its timers want to be called.
    pub fn due(&self) -> Time {
        let again = if let Stage::Joining(at) = self.stage { at } else { Time::MAX };
        self.tcp.as_ref().map_or(Time::MAX, Connection::poll_timeout).min(again)
    }

    /// A poll would find nothing to send.
    #[inline(always)]
    pub fn is_exhausted(&self) -> bool {
        self.signals.is_empty() && self.tcp.as_ref().is_some_and(Connection::is_exhausted)
    }

    /// Data waits for room in the subflow's window.
    pub fn is_window_full(&self) -> bool {
        self.tcp.as_ref().is_some_and(Connection::waits_for_room)
    }

    /// Hand `len` bytes at data offset `data` to the TCP endpoint.
    #[inline(always)]
    pub fn push(&mut self, data: u64, len: u32) {
        let Some(tcp) = &mut self.tcp else { return };
        let mapping = Mapping { offset: tcp.written_offset(), data, len };
        let taken = tcp.write(u64::from(len));
        debug_assert_eq!(taken, u64::from(len), "subflow buffers are unlimited");
        self.sent.queue.push_back(mapping);
    }

    /// Offsets of the payload of a segment that this end sends, in the subflow and in the data. `likely`: the mapping that probably
    /// contains it.
    #[inline(always)]
    pub fn place(&self, segment: &Segment, likely: Option<Mapping>) -> Option<(u64, u64)> {
        let offset = self.tcp.as_ref()?.transmit_offset(segment);
        let is_held = |mapping: &Mapping| mapping.offset <= offset && offset < mapping.end();
        let mapping = likely.filter(is_held).or_else(|| self.sent.find(offset))?;
        Some((offset, mapping.data + (offset - mapping.offset)))
    }

    #[inline]
    pub fn note_mapping(&mut self, received: Received) {
        let mapping = &received.mapping;
        if mapping.end() <= self.taken {
            return;
        }
        if self.received.back().is_none_or(|last| last.mapping.offset < mapping.offset) {
            self.received.push_back(received);
        } else {
            self.insert_mapping(received);
        }
    }

    /// Handle a mapping that arrives after a later one, or again.
    #[cold]
    fn insert_mapping(&mut self, received: Received) {
        let mapping = &received.mapping;
        let index = self.received.partition_point(|known| known.mapping.offset < mapping.offset);
        let is_full = self.received.len() >= MAX_MAPPINGS;
        match self.received.get_mut(index) {
            // Linux repeats a mapping with each of the segments that it covers.
            Some(known) if known.mapping.offset == mapping.offset => {
                if mapping.len > known.mapping.len {
                    known.mapping.len = mapping.len;
                    (known.checksum, known.has_fin) = (received.checksum, received.has_fin);
                }
            }
            _ if is_full => {}
            _ => self.received.insert(index, received),
        }
    }

    /// The first mapping of data not yet taken, also if there is a gap before it.
    pub fn next_received(&self) -> Option<&Received> {
        self.received.iter().find(|received| received.mapping.end() > self.taken)
    }

    /// No mapping has arrived.
    pub fn is_unmapped(&self) -> bool {
        self.taken == 0 && self.received.is_empty()
    }

    /// Whether the next mapping begins before data already taken.
    pub fn is_cut_across(&self) -> bool {
        self.next_received().is_some_and(|received| received.mapping.offset < self.taken)
    }

    /// How far the data level took data.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Set whether received data wait for the verification of their checksum.
    pub fn set_verifying(&mut self, is_verifying: bool) {
        self.verified = if is_verifying { self.taken } else { u64::MAX };
    }

    /// The data level may take what lies before `end`.
    pub fn verify_to(&mut self, end: u64) {
        self.verified = end;
    }

    /// Data offset of the peer's byte at subflow offset `offset`, if a mapping for it has arrived.
    pub fn received_place(&self, offset: u64) -> Option<u64> {
        let index = self.received.partition_point(|received| received.mapping.end() <= offset);
        let mapping = self.received.get(index).map(|received| received.mapping).filter(|m| m.offset <= offset)?;
        Some(mapping.data + (offset - mapping.offset))
    }

    /// Take in-order bytes from TCP: the next piece that one mapping covers, as a range of data offsets. `is_fallback`: the
    /// streams are the same.
    #[inline(always)]
    pub fn take(&mut self, is_fallback: bool) -> Option<(u64, u64)> {
        let tcp = self.tcp.as_mut()?;
        let readable = tcp.readable().min(self.verified - self.taken);
        if is_fallback {
            let start = self.taken;
            self.taken += tcp.read(readable);
            return Some((start, self.taken));
        }
        while self.received.front().is_some_and(|received| received.mapping.end() <= self.taken) {
            self.received.pop_front();
        }
        let mapping = self.received.front().map(|r| r.mapping).filter(|mapping| mapping.offset <= self.taken)?;
        if readable == 0 {
            return None; // it waits for its checksum
        }
        let start = mapping.data + (self.taken - mapping.offset);
        let len = tcp.read(readable.min(mapping.end() - self.taken));
        self.taken += len;
        Some((start, start + len))
    }

    /// Called when everything that may be sent has been sent. Linux resizes the send buffer if that follows an ACK, the writer waits, and
    /// the window
    /// has room (`tcp_check_space`, `tcp_should_expand_sndbuf`); it never shrinks.
    #[inline(always)]
    pub fn size_buffer(&mut self, is_writer_waiting: bool) {
        if std::mem::take(&mut self.has_ack_arrived)
            && is_writer_waiting
            && let Some(tcp) = &self.tcp
            && let window = tcp.send_window()
            && f64::from(tcp.in_flight()) < window
        {
            self.sized_for = self.sized_for.max(window as u32);
        }
    }

    /// Keep the range of the smoothed RTT (BLEST).
    pub fn note_srtt(&mut self, srtt: Duration) {
        if !srtt.is_zero() {
            self.srtt_range = (self.srtt_range.0.min(srtt), self.srtt_range.1.max(srtt));
        }
    }
}

#[cfg(test)]
mod tests;
