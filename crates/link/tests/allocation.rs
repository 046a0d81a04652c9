//! Marks allocate nothing. A binary of its own: it counts every allocation of the process.

use playpath_link::{DualPi2Config, EcnField, Link, LinkConfig, Packet, QueueConfig};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};

struct Segment(EcnField);

impl Packet for Segment {
    fn wire_bytes(&self) -> u32 {
        1500
    }
    fn flow_hash(&self) -> u64 {
        0
    }
    fn ecn(&self) -> EcnField {
        self.0
    }
    fn set_ecn(&mut self, field: EcnField) {
        self.0 = field;
    }
}

/// Twenty packets of ECT(1) go round 10 Mbit/s, one in for one out: each waits for 24 ms, longer than the step, and is marked.
#[test]
fn marks_of_dualpi2_allocate_nothing() {
    let config = LinkConfig {
        queue: QueueConfig::DualPi2(DualPi2Config::default()),
        ..LinkConfig::new("marks", Rate::from_bits_per_sec(10_000_000), Duration::from_millis(10))
    };
    let mut link: Link<Segment> = Link::new(config, RootSeed(1)).expect("valid configuration");
    for _ in 0..20 {
        link.handle_packet(Time::ZERO, Segment(EcnField::Ect1));
    }
    let mut marked = 0;
    let mut run = |until| {
        while link.poll_timeout() < Time::from_secs(until) {
            let now = link.poll_timeout();
            while let Some((_, packet)) = link.poll_output(now) {
                marked += u32::from(packet.ecn() == EcnField::Ce);
                link.handle_packet(now, Segment(EcnField::Ect1));
            }
        }
    };
    run(2);
    let count = allocation_counter::measure(|| run(12));
    assert_eq!(count.count_total, 0);
    assert!(marked > 5000, "{marked}");
}
