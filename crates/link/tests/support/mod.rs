//! A packet for tests, and a link driven to its end.
#![allow(dead_code, reason = "each test file uses a part")]

use playpath_link::{DropTailConfig, EcnField, Link, LinkConfig, Packet, QueueConfig, RedConfig, RedUnit};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestPacket {
    pub number: u64,
    pub bytes: u32,
    pub flow: u64,
    pub is_ecn_capable: bool,
    pub is_low_latency: bool,
    pub is_ce: bool,
}

impl TestPacket {
    pub fn new(number: u64, bytes: u32) -> TestPacket {
        TestPacket { number, bytes, flow: 0, is_ecn_capable: false, is_low_latency: false, is_ce: false }
    }
    /// As a scalable sender sends it: ECT(1).
    pub fn scalable(number: u64, bytes: u32) -> TestPacket {
        TestPacket { is_ecn_capable: true, is_low_latency: true, flow: 1, ..TestPacket::new(number, bytes) }
    }
    pub fn of_flow(number: u64, bytes: u32, flow: u64) -> TestPacket {
        TestPacket { flow, ..TestPacket::new(number, bytes) }
    }
}

impl Packet for TestPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn flow_hash(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> EcnField {
        match (self.is_ce, self.is_low_latency, self.is_ecn_capable) {
            (true, ..) => EcnField::Ce,
            (_, true, _) => EcnField::Ect1,
            (_, _, true) => EcnField::Ect0,
            _ => EcnField::NotEct,
        }
    }
    fn set_ecn(&mut self, field: EcnField) {
        assert!(self.is_ecn_capable || field != EcnField::Ce, "only ECN-capable packets may be marked");
        self.is_ce = field == EcnField::Ce;
        // Where a marked packet came from is kept, for tests that tell classes apart.
        if field != EcnField::Ce {
            self.is_low_latency = field == EcnField::Ect1;
            self.is_ecn_capable = field != EcnField::NotEct;
        }
    }
}

pub fn link(config: LinkConfig) -> Link<TestPacket> {
    Link::new(config, RootSeed(1)).expect("valid configuration")
}

/// A constant-rate link of `mbps` with `delay_ms` of delay and a queue of 1000 packets.
pub fn config(mbps: u64, delay_ms: u64) -> LinkConfig {
    let rate = Rate::from_bits_per_sec(mbps * 1_000_000);
    let queue = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1000) });
    LinkConfig { queue, ..LinkConfig::new("test/down", rate, Duration::from_millis(delay_ms)) }
}

/// Everything delivered until `now`.
pub fn drain(link: &mut Link<TestPacket>, now: Time) -> Vec<(Time, TestPacket)> {
    std::iter::from_fn(|| link.poll_output(now)).collect()
}

/// Follow the link's own timeouts until it is empty; everything delivered, with the times of the calls checked.
pub fn run_out(link: &mut Link<TestPacket>) -> Vec<(Time, TestPacket)> {
    let mut delivered = Vec::new();
    while link.poll_timeout() != Time::MAX {
        let now = link.poll_timeout();
        let output = drain(link, now);
        assert!(output.iter().all(|(at, _)| *at == now), "a timer at each delivery time is enough");
        delivered.extend(output);
        link.ledger().check().expect("balance");
        assert!(link.poll_timeout() > now, "the timeout moves on");
    }
    delivered
}

/// The configuration of the 1993 paper: counted in packets, thresholds 5 and 15, w 0.002, max_p 0.02, neither gentle nor wait.
pub fn floyd_1993(limit: QueueLimit) -> RedConfig {
    RedConfig {
        limit,
        queue_unit: RedUnit::Packets,
        drop_unit: RedUnit::Packets,
        min_threshold_packets: Some(5.0),
        max_threshold_packets: Some(15.0),
        queue_weight: Some(0.002),
        max_p: 0.02,
        gentle: false,
        wait: false,
        ..RedConfig::default()
    }
}
