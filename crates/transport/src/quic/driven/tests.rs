use super::*;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn driven() -> Driven {
    let mut driven = Driven::new(playpath_cc::build("newreno", 10.0).unwrap(), 1000, 10.0);
    (0..10).for_each(|number| driven.on_sent(ms(0), number, 1000));
    driven.on_pause(true);
    driven
}

/// Slow start: ten packets acknowledged, ten more allowed (RFC 5681 §3.1 with RFC 3465 by eight: 10 + 8).
#[test]
fn an_ack_grows_the_window() {
    let mut driven = driven();
    (0..10).for_each(|number| driven.on_acked(ms(50), ms(0), Some(number)));
    driven.end_acks(ms(50), 0);
    assert_eq!(driven.window(), 18_000);
    assert_eq!(driven.path.rtt.smoothed(), Duration::from_millis(50));
}

/// A loss that the ACK shows: half of ten in flight, before the ACK is counted, and one reduction for both lost packets.
#[test]
fn losses_come_before_the_ack_that_shows_them() {
    let mut driven = driven();
    (2..10).for_each(|_| driven.on_acked(ms(50), ms(0), None));
    driven.end_acks(ms(50), 2000);
    assert_eq!(driven.on_lost(ms(50), ms(0), None), Some(1000));
    driven.on_congestion(ms(50), ms(0), CongestionSignal::Loss, false);
    assert_eq!(driven.on_lost(ms(60), ms(0), None), Some(1000));
    driven.on_congestion(ms(60), ms(0), CongestionSignal::Loss, false);
    assert_eq!((driven.window(), driven.path.bytes_in_flight()), (5000, 0));
    assert_eq!(driven.on_lost(ms(60), ms(0), None), None);
    driven.on_spurious();
    assert!(driven.window() >= 10_000);
}

/// An ACK that went alone is never acknowledged, and does not stay in flight.
#[test]
fn what_the_stack_does_not_count_leaves() {
    let mut driven = driven();
    driven.on_sent(ms(1), 10, 40);
    (0..10).for_each(|_| driven.on_acked(ms(50), ms(0), None));
    assert_eq!(driven.path.bytes_in_flight(), 40);
    driven.end_acks(ms(50), 0);
    assert_eq!(driven.path.bytes_in_flight(), 0);
}
