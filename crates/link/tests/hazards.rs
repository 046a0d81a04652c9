//! MTU, corruption and rebinding: what they drop, the balance of the link, and that they leave other draws alone.

mod support;

use playpath_link::{BernoulliConfig, Link, LinkConfig, LossConfig, Mtu, Packet, Rebinding};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Ratio, Time};
use support::{TestPacket, config, link, run_out};

fn share(of: f64) -> Ratio {
    Ratio::new(of).unwrap()
}

/// 1500 bytes do not fit into 1280, 1280 do.
#[test]
fn what_is_too_big_is_dropped() {
    let mut link = link(LinkConfig { mtu: Some(Mtu { bytes: 1280, is_reported: false }), ..config(10, 5) });
    for (number, bytes) in [1500, 1280, 1281, 40].into_iter().enumerate() {
        link.handle_packet(Time::ZERO, TestPacket::new(number as u64, bytes));
    }
    let numbers: Vec<u64> = run_out(&mut link).iter().map(|(_, packet)| packet.number).collect();
    assert_eq!(numbers, [1, 3]);
    let dropped = link.stats(Time::from_secs(1)).dropped;
    assert_eq!(dropped.too_big.map(|count| (count.packets, count.bytes)), Some((2, 2781)));
    link.ledger().check().unwrap();
}

/// 20 000 packets at 5 %: 1000, and three standard deviations are 3 * sqrt(20000 * 0.05 * 0.95) = 92. Each took its time on the link: with
/// all dropped or none it is as busy. The loss model strikes the same packets as without.
#[test]
fn corruption_takes_its_share_and_nothing_else() {
    let lost = |corruption: f64| {
        let loss = LossConfig::Bernoulli(BernoulliConfig { loss: share(0.1) });
        let mut link: Link<TestPacket> =
            Link::new(LinkConfig { corruption: share(corruption), loss, ..config(100, 1) }, RootSeed(7)).unwrap();
        for number in 0..20_000 {
            link.handle_packet(Time::from_millis(number), TestPacket::new(number, 1000));
            while link.poll_output(Time::from_millis(number)).is_some() {}
        }
        let stats = link.stats(Time::from_secs(30));
        link.ledger().check().unwrap();
        (stats.dropped.corrupted.map_or(0, |count| count.packets), stats.dropped.loss.packets, stats.busy_time)
    };
    let (none, five, all) = (lost(0.0), lost(0.05), lost(1.0));
    assert!(none.0 == 0 && five.0.abs_diff(20_000 * 9 / 10 / 20) < 92, "{five:?}");
    assert_eq!(all.0 + all.1, 20_000);
    assert_eq!((none.1, none.2), (five.1, five.2));
    assert_eq!((none.1, none.2), (all.1, all.2));
}

/// Out by the NAT from 10 ms on packets have binding 1; what comes in for binding 0 passes before, and is dropped after.
#[test]
fn a_nat_forgets() {
    #[derive(Clone, Copy)]
    struct Bound(TestPacket, u16);
    impl Packet for Bound {
        fn wire_bytes(&self) -> u32 {
            self.0.bytes
        }
        fn flow_hash(&self) -> u64 {
            0
        }
        fn ecn(&self) -> playpath_link::EcnField {
            playpath_link::EcnField::NotEct
        }
        fn set_ecn(&mut self, _: playpath_link::EcnField) {}
        fn binding(&self) -> u16 {
            self.1
        }
        fn set_binding(&mut self, binding: u16) {
            self.1 = binding;
        }
    }
    for is_outbound in [true, false] {
        let nat = Rebinding { at: Time::from_millis(10), every: None, spread: Duration::ZERO, is_outbound };
        let mut link = Link::new(LinkConfig { rebinding: Some(nat), ..config(100, 1) }, RootSeed(1)).unwrap();
        for (at, binding) in [(5, 0), (15, 0), (16, 1)] {
            link.handle_packet(Time::from_millis(at), Bound(TestPacket::new(at, 1000), binding));
        }
        let mut out = vec![];
        while let Some((_, packet)) = link.poll_output(Time::from_secs(1)) {
            out.push((packet.0.number, packet.1));
        }
        let rebound = link.stats(Time::from_secs(1)).dropped.rebound.map(|count| count.packets);
        match is_outbound {
            true => assert_eq!((out, rebound), (vec![(5, 0), (15, 1), (16, 1)], None)),
            false => assert_eq!((out, rebound), (vec![(5, 0), (16, 1)], Some(1))),
        }
        link.ledger().check().unwrap();
    }
}

#[test]
fn an_mtu_of_nothing_is_refused() {
    let error = Link::<TestPacket>::new(
        LinkConfig { mtu: Some(Mtu { bytes: 0, is_reported: false }), ..config(1, 1) },
        RootSeed(1),
    )
    .err()
    .unwrap();
    assert!(error.to_string().contains("mtu"), "{error}");
}
