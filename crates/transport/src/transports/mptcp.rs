//! MPTCP as one of the transports.

use super::{Drawn, Multipath, Packet, PathInfo, PayloadPool, Totals, Transport};
use crate::Events;
use crate::mptcp::level::{LevelStats, PathStats};
use crate::mptcp::{MptcpConnection, Switch};
use playpath_cc::AppParameters;
use playpath_units::{Duration, Time};

impl Transport for MptcpConnection {
    fn handle_packet(&mut self, now: Time, packet: &Packet, _: &mut PayloadPool) {
        if let Some(segment) = packet.segment() {
            self.handle_segment(now, usize::from(packet.path), segment);
        }
    }
    fn handle_timeout(&mut self, now: Time) {
        self.handle_timeout(now);
    }
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, _: &mut PayloadPool) -> bool {
        let path = self.poll_transmit_into(now, out.payload.segment_mut());
        path.is_some_and(|path| {
            let wire_bytes = out.payload.segment_mut().wire_bytes();
            out.of_segment(path, wire_bytes);
            true
        })
    }
    fn has_nothing(&self) -> bool {
        !self.may_have_more()
    }
    fn may_have_more(&self) -> bool {
        self.may_have_more()
    }
    fn poll_timeout(&self) -> Time {
        self.poll_timeout()
    }
    fn take_events(&mut self) -> Events {
        self.take_events()
    }
    fn write(&mut self, bytes: u64) -> u64 {
        self.write(bytes)
    }
    fn readable(&self) -> u64 {
        self.readable()
    }
    fn read(&mut self, _: Time, most: u64) -> u64 {
        self.read(most)
    }
    fn unsent_bytes(&self) -> u64 {
        self.unsent_bytes()
    }
    fn has_packet_waiting(&self) -> bool {
        self.has_segment_waiting()
    }
    fn close(&mut self, now: Time) {
        self.close(now);
    }
    fn abort(&mut self, _: Time) {
        self.abort();
    }
    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.set_app_parameters(now, parameters);
    }
    fn path_count(&self) -> usize {
        self.path_count()
    }
    fn path_info(&self, path: usize) -> Option<PathInfo> {
        self.subflow(path).map(|tcp| tcp.info().path)
    }
    fn path_totals(&self, path: usize) -> Totals {
        self.subflow(path).map(Totals::of).unwrap_or_default()
    }
    fn multipath(&self) -> Option<&dyn Multipath> {
        Some(self)
    }
    fn multipath_mut(&mut self) -> Option<&mut dyn Multipath> {
        Some(self)
    }
    fn is_drawn(&self) -> bool {
        true
    }
    fn drawn(&self, packet: &Packet) -> Option<Drawn> {
        packet.segment().map(Drawn::of)
    }
}

impl Multipath for MptcpConnection {
    fn log_switches(&mut self) {
        self.log_switches();
    }
    fn poll_switch(&mut self) -> Option<Switch> {
        self.poll_switch()
    }
    fn sent(&self) -> &LevelStats {
        self.stats()
    }
    fn sent_on(&self, path: usize) -> &PathStats {
        self.subflow_stats(path)
    }
    fn hol_blocking_time(&self, now: Time) -> Duration {
        self.hol_blocking_time(now)
    }
    fn max_out_of_order_bytes(&self) -> u64 {
        self.max_out_of_order_bytes()
    }
}
