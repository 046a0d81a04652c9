use super::*;
use crate::testbed::view;
use crate::{Ack, RateSample};

fn millis(n: u64) -> Time {
    Time::from_millis(n)
}

/// An ACK at `now`, of packets that left when `prior` were delivered.
fn take(control: &mut QuinnBbr, now: Time, prior: u64, acked: u32, newly_lost: u32, in_flight: u32) {
    let rate = RateSample { prior_delivered: prior, ..RateSample::new(acked, Duration::from_millis(100), 1452) };
    let event = Ack { delivered: acked, newly_lost, rate: Some(rate), ..Ack::new(acked, 1452) };
    let view =
        View { now, delivered: prior + 100, in_flight, min_rtt: Duration::from_millis(100), ..view(prior + 100) };
    control.on_ack(&view, &event);
}

/// So many packets leave at `now`.
fn send(control: &mut QuinnBbr, now: Time, packets: u32) {
    let event = PacketSent { now, payload_bytes: 1452, is_retransmission: false, prior_in_flight: 0 };
    (0..packets).for_each(|_| control.on_packet_sent(&event));
}

/// A packet for the gap between two ACKs, 10 ms: 100/s. For 2 ms it would be 500/s, but the last train, of two, left 10 ms after the one
/// before: 200/s. Of eleven ten are one train and the last a train of the same moment, which bounds nothing: 500/s, of which nothing is
/// forgotten. What comes within 0.1 ms says nothing.
#[test]
fn the_bandwidth_is_a_packet_for_the_smallest_gap() {
    let mut control = QuinnBbr::new();
    for (now, packets, bw) in
        [(0, 2, 0.0), (10_000, 2, 0.0), (20_000, 0, 100.0), (22_000, 0, 200.0), (22_050, 0, 200.0), (60_000, 11, 200.0)]
    {
        take(&mut control, Time::from_micros(now), 0, 2, 0, 20);
        send(&mut control, Time::from_micros(now), packets);
        assert!((control.max_bw - bw).abs() < 1e-9, "{now}: {}", control.max_bw);
    }
    take(&mut control, millis(62), 0, 2, 0, 20);
    take(&mut control, millis(110_000), 0, 2, 0, 20);
    assert!((control.max_bw - 500.0).abs() < 1e-9, "{}", control.max_bw);
}

/// A window that a recovery keeps from growing teaches the bandwidth: 2 ms apart, 500/s. A sender without data does not.
#[test]
fn only_the_application_limits_what_is_learnt() {
    for (is_app_limited, bw) in [(false, 500.0), (true, 0.0)] {
        let mut control = QuinnBbr::new();
        send(&mut control, millis(0), 11);
        for now in [100, 102] {
            let rate = RateSample { is_app_limited, ..RateSample::new(1, Duration::from_millis(100), 1452) };
            let event = Ack { may_grow: false, rate: Some(rate), ..Ack::new(1, 1452) };
            control.on_ack(&view(now), &event);
        }
        assert!((control.max_bw - bw).abs() < 1e-9, "{}", control.max_bw);
    }
}

/// Two packets every 10 ms from a sender of 100/s: the second ACK of the epoch brings 2 + 2 where 1 is due, so 3 are room.
#[test]
fn what_acks_bring_beyond_the_bandwidth_is_room() {
    let mut aggregation = Aggregation::new();
    for now in [0, 10] {
        aggregation.on_ack(millis(now), 2.0, 100.0, 0);
    }
    assert_eq!(aggregation.height.get(), Some(3.0));
}

/// 240 kB, and PROBE_RTT from the first ACK on: three quarters of 1000/s x 100 ms, for 200 ms and until a round trip ends.
#[test]
fn begins_with_a_probe_of_the_round_trip() {
    let mut control = QuinnBbr::new();
    assert_eq!(control.cwnd(), 165.0);
    send(&mut control, millis(0), 11);
    take(&mut control, millis(100), 0, 1, 0, 10);
    take(&mut control, millis(101), 0, 1, 0, 10);
    assert_eq!((control.mode, control.cwnd()), (Mode::ProbeRtt, 75.0));
    take(&mut control, millis(290), 100, 1, 0, 10);
    assert_eq!(control.mode, Mode::ProbeRtt, "199 ms");
    take(&mut control, millis(310), 200, 1, 0, 10);
    assert_eq!(control.mode, Mode::Startup);
}

/// Of 100 in flight two are acknowledged and three lost: the window stays what was in flight before, so five may leave. The model hears of
/// the three with the next ACK, and 100 - 3 would be below what was in flight before that. A round trip later each ACK adds what it
/// acknowledged: 100 - 1 + 4. It ends with an ACK for what left after the last loss.
#[test]
fn what_is_lost_is_replaced_at_once() {
    let mut control = QuinnBbr { mode: Mode::ProbeBw, is_at_full_bw: true, cwnd: 400.0, ..QuinnBbr::new() };
    (control.max_bw, control.probe_rtt_began) = (1e6, Some(millis(1000)));
    take(&mut control, millis(1000), 0, 1, 1, 100);
    take(&mut control, millis(1001), 0, 2, 3, 95);
    assert_eq!((control.recovery, control.cwnd()), (Recovery::Conservation, 100.0));
    take(&mut control, millis(1002), 0, 1, 1, 98);
    assert_eq!(control.cwnd(), 100.0);
    take(&mut control, millis(1100), 101, 4, 1, 95);
    assert_eq!((control.recovery, control.cwnd()), (Recovery::Growth, 103.0));
    take(&mut control, millis(1200), 205, 1, 0, 99);
    take(&mut control, millis(1300), 310, 1, 0, 99);
    assert_eq!((control.recovery, control.cwnd()), (Recovery::Open, control.cwnd));
}
