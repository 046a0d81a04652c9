//! A first-in-first-out buffer that knows its bytes. A ring: no allocation once it has grown.

use crate::store::Queued;
use playpath_units::Time;
use std::collections::VecDeque;

pub(crate) struct Fifo {
    entries: VecDeque<Queued>,
    bytes: u64,
}

impl Fifo {
    pub(crate) fn new() -> Fifo {
        Fifo { entries: VecDeque::new(), bytes: 0 }
    }
    #[inline]
    pub(crate) fn push(&mut self, packet: Queued) {
        self.bytes += u64::from(packet.wire_bytes);
        self.entries.push_back(packet);
    }
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Queued> {
        let packet = self.entries.pop_front()?;
        self.bytes -= u64::from(packet.wire_bytes);
        Some(packet)
    }
    /// Arrival time of the oldest packet.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<Time> {
        self.entries.front().map(|packet| packet.arrival)
    }
    #[inline]
    pub(crate) fn packets(&self) -> u32 {
        self.entries.len() as u32
    }
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}
