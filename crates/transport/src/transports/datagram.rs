//! Datagrams without a connection (UDP): each write is one, nothing is retransmitted, and arrivals are counted.

use super::{Packet, PathInfo, Payload, PayloadPool, Totals, Transport};
use crate::{Ecn, Events};
use playpath_units::Time;
use std::collections::VecDeque;

/// IPv4 and UDP headers.
const HEADER_BYTES: u32 = 28;

#[derive(Default)]
pub struct DatagramEnd {
    ecn: Ecn,
    waiting: VecDeque<u32>,
    sent_packets: u64,
    received_bytes: u64,
}

impl DatagramEnd {
    /// An end whose datagrams have this codepoint.
    pub fn new(ecn: Ecn) -> DatagramEnd {
        DatagramEnd { ecn, ..DatagramEnd::default() }
    }
}

impl Transport for DatagramEnd {
    fn handle_packet(&mut self, _: Time, packet: &Packet, _: &mut PayloadPool) {
        self.received_bytes += u64::from(packet.data_bytes);
    }
    fn handle_timeout(&mut self, _: Time) {}
    fn poll_transmit(&mut self, _: Time, out: &mut Packet, _: &mut PayloadPool) -> bool {
        let Some(data_bytes) = self.waiting.pop_front() else { return false };
        self.sent_packets += 1;
        let wire_bytes = data_bytes + HEADER_BYTES;
        *out = Packet { payload: Payload::Data, wire_bytes, data_bytes, ecn: self.ecn, path: 0, binding: 0 };
        true
    }
    fn may_have_more(&self) -> bool {
        !self.waiting.is_empty()
    }
    fn poll_timeout(&self) -> Time {
        Time::MAX
    }
    fn take_events(&mut self) -> Events {
        Events::NONE
    }
    fn write(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.min(u64::from(u16::MAX - HEADER_BYTES as u16));
        self.waiting.push_back(bytes as u32);
        bytes
    }
    fn readable(&self) -> u64 {
        self.received_bytes
    }
    fn read(&mut self, _: Time, most: u64) -> u64 {
        let bytes = self.received_bytes.min(most);
        self.received_bytes -= bytes;
        bytes
    }
    fn unsent_bytes(&self) -> u64 {
        self.waiting.iter().map(|&bytes| u64::from(bytes)).sum()
    }
    fn may_answer_read(&self) -> bool {
        false
    }
    fn survives_rebinding(&self) -> bool {
        true
    }
    fn close(&mut self, _: Time) {}
    fn abort(&mut self, _: Time) {}
    fn path_info(&self, _: usize) -> Option<PathInfo> {
        None
    }
    fn path_totals(&self, _: usize) -> Totals {
        Totals { sent_packets: self.sent_packets, ..Totals::default() }
    }
}
