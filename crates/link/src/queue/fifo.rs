//! A first-in-first-out buffer that knows its bytes and when each packet came. A ring: no allocation once it has grown.

use crate::Packet;
use playpath_units::Time;
use std::collections::VecDeque;

pub(crate) struct Fifo<P> {
    entries: VecDeque<(Time, P)>,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    pub(crate) fn new() -> Fifo<P> {
        Fifo { entries: VecDeque::new(), bytes: 0 }
    }
    #[inline]
    pub(crate) fn push(&mut self, now: Time, packet: P) {
        self.bytes += u64::from(packet.wire_bytes());
        self.entries.push_back((now, packet));
    }
    /// The oldest packet and the time it came.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Time, P)> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.1.wire_bytes());
        Some(entry)
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
