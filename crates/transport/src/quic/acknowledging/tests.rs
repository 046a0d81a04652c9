use super::super::config::{Config, LaterAcks};
use super::*;

fn frame(arrivals: &Arrivals, now: Time) -> Ack {
    let mut ack = Ack::default();
    assert!(arrivals.put_frame(now, 3, &mut ack));
    ack
}

fn arrive(arrivals: &mut Arrivals, now: Time, number: u64, ecn: Ecn, policy: &AckPolicy) -> bool {
    assert!(arrivals.take(now, number, ecn));
    arrivals.on_eliciting(now, number, ecn, Duration::from_millis(40), (Space::Data, policy));
    arrivals.is_due(now)
}

#[test]
fn every_second_packet_or_after_the_delay() {
    let (policy, mut arrivals, now) = (Config::default().ack, Arrivals::default(), Time::from_secs(1));
    assert!(!arrive(&mut arrivals, now, 0, Ecn::NotEct, &policy));
    assert_eq!(arrivals.deadline(), now + Duration::from_millis(25));
    assert!(arrive(&mut arrivals, now, 1, Ecn::NotEct, &policy));
    arrivals.on_ack_sent();
    assert!(!arrive(&mut arrivals, now, 2, Ecn::NotEct, &policy));
    assert!(arrivals.is_due(now + Duration::from_millis(25)));
    // 8 ms later, in units of 8 us: 1000.
    assert_eq!(frame(&arrivals, now + Duration::from_millis(8)).delay, 1000);
}

#[test]
fn reordering_and_ce_are_told_at_once() {
    let (policy, now) = (Config::default().ack, Time::ZERO);
    for (numbers, ecn) in [(&[0, 2][..], Ecn::NotEct), (&[0], Ecn::Ce)] {
        let mut arrivals = Arrivals::default();
        let (last, first) = numbers.split_last().unwrap();
        for &number in first {
            arrive(&mut arrivals, now, number, Ecn::NotEct, &AckPolicy { every: 10, ..policy });
        }
        assert!(arrive(&mut arrivals, now, *last, ecn, &AckPolicy { every: 10, ..policy }), "{numbers:?}");
    }
}

/// Chromium: every second packet for a hundred, then every tenth or after a quarter of the smallest RTT: 40/4 = 10 ms.
#[test]
fn acks_become_sparse() {
    let later = Some(LaterAcks { from: 100, every: 10, rtt_eighths: 2 });
    let policy = AckPolicy { later, ..Config::default().ack };
    let (mut arrivals, mut acks) = (Arrivals::default(), vec![]);
    for number in 0..130 {
        if arrive(&mut arrivals, Time::ZERO, number, Ecn::NotEct, &policy) {
            acks.push(number);
            arrivals.on_ack_sent();
        }
    }
    assert_eq!((&acks[..3], &acks[48..]), (&[1, 3, 5][..], &[97, 107, 117, 127][..]));
    assert_eq!(arrivals.deadline(), Time::ZERO + Duration::from_millis(10));
}

#[test]
fn an_acknowledged_ack_lets_its_ranges_go() {
    let (policy, mut arrivals) = (Config::default().ack, Arrivals::default());
    for number in [0, 1, 5, 6, 9] {
        arrive(&mut arrivals, Time::ZERO, number, Ecn::NotEct, &policy);
    }
    assert_eq!(frame(&arrivals, Time::ZERO).ranges().count(), 3);
    arrivals.on_ack_acked(6);
    assert_eq!(frame(&arrivals, Time::ZERO).ranges().collect::<Vec<_>>(), [(9, 9), (6, 6)]);
    assert!(!arrivals.take(Time::ZERO, 4, Ecn::NotEct), "below the floor nobody knows");
}

#[test]
fn memory_is_bounded() {
    let mut arrivals = Arrivals::default();
    (0..10_000).for_each(|i| assert!(arrivals.take(Time::ZERO, 2 * i, Ecn::NotEct)));
    assert_eq!(arrivals.received.len(), MAX_TRACKED);
}
