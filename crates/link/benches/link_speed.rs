//! Prints the cost of a packet through a link, in nanoseconds: `cargo bench -p playpath-link`; with `-- dualpi2 200000` of one queue, and
//! of so many packets, as callgrind wants.
//!
//! The packet has 96 bytes. 64 of them are kept inside, as a window of TCP would: one in for one out.

use playpath_link::{
    CoDelConfig, DropTailConfig, DualPi2Config, EcnField, FqCoDelConfig, Link, LinkConfig, Packet, PieConfig,
    QueueConfig, RedConfig, ServerConfig,
};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use std::hint::black_box;

struct Segment {
    number: u64,
    _fields: [u64; 11],
}

impl Packet for Segment {
    fn wire_bytes(&self) -> u32 {
        1500
    }
    fn flow_hash(&self) -> u64 {
        self.number % 10
    }
    fn ecn(&self) -> EcnField {
        EcnField::NotEct
    }
    fn set_ecn(&mut self, _field: EcnField) {}
}

fn nanos_per_packet(config: LinkConfig, packets: u64) -> f64 {
    let mut link: Link<Segment> = Link::new(config, RootSeed(1)).expect("valid configuration");
    for number in 0..64 {
        link.handle_packet(Time::ZERO, Segment { number, _fields: [number; 11] });
    }
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures wall-clock time")]
    let start = std::time::Instant::now();
    let mut moved = 0;
    while moved < packets && link.poll_timeout() != Time::MAX {
        let now = link.poll_timeout();
        while let Some((_, packet)) = link.poll_output(now) {
            moved += 1;
            link.handle_packet(now, black_box(packet));
        }
    }
    start.elapsed().as_nanos() as f64 / moved as f64
}

fn main() {
    let constant = LinkConfig::new("speed", Rate::from_bits_per_sec(10_000_000), Duration::from_millis(10));
    let with_queue = |queue| LinkConfig { queue, ..constant.clone() };
    let cases = [
        (
            "droptail",
            with_queue(QueueConfig::DropTail(DropTailConfig { limit: playpath_units::QueueLimit::Packets(100) })),
        ),
        ("red", with_queue(QueueConfig::Red(RedConfig::default()))),
        ("dualpi2", with_queue(QueueConfig::DualPi2(DualPi2Config::default()))),
        ("codel", with_queue(QueueConfig::CoDel(CoDelConfig::default()))),
        ("fq_codel", with_queue(QueueConfig::FqCoDel(FqCoDelConfig::default()))),
        ("pie", with_queue(QueueConfig::Pie(PieConfig::default()))),
        ("unlimited", LinkConfig { server: ServerConfig::Unlimited, ..constant.clone() }),
    ];
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = arguments.first();
    let packets = arguments.get(1).map_or(20_000_000, |count| count.parse().expect("a number of packets"));
    for (name, config) in cases.into_iter().filter(|case| wanted.is_none_or(|name| name == case.0)) {
        println!("{name:10} {:6.1} ns per packet", nanos_per_packet(config, packets));
    }
}
