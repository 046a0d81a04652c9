use super::*;

const RTT: Duration = Duration::from_millis(100);

/// A validator whose pipeACK is `packets` at `now`.
fn with_pipe_ack(packets: u32, now: Time) -> NewCwv {
    with_pipe_ack_of(NewCwv::default(), packets, now)
}

fn with_pipe_ack_of(mut v: NewCwv, packets: u32, now: Time) -> NewCwv {
    v.on_ack(now, RTT, 1, 0, 10);
    v.on_ack(now, RTT, packets - 1, 10, 20);
    assert_eq!(v.pipe_ack(now, RTT), Some(packets));
    v
}

/// An initial window of 10, acknowledged by twos: the first ACK's two packets count, and pipeACK is 10.
#[test]
fn the_first_flight_counts_whole() {
    let now = Time::from_secs(1);
    let mut v = NewCwv::default();
    (1..=5).for_each(|pair| v.on_ack(now, RTT, 2, 2 * pair, 10));
    assert_eq!(v.pipe_ack(now, RTT), Some(10));
}

#[test]
fn sampling_period() {
    assert_eq!(NewCwv::period(RTT), Duration::from_secs(1)); // 3*100 ms < 1 s
    assert_eq!(NewCwv::period(RTT * 5), Duration::from_millis(1500)); // 3*500 ms
}

/// cwnd 60: valid iff pipeACK ≥ 30; undefined is valid.
#[test]
fn phases() {
    let now = Time::from_secs(10);
    assert!(NewCwv::default().is_validated(now, RTT, 60.0));
    assert!(with_pipe_ack(30, now).is_validated(now, RTT, 60.0));
    assert!(!with_pipe_ack(29, now).is_validated(now, RTT, 60.0));
    // A silent sender's sample expires to zero, not to "undefined".
    let later = Time::from_secs(20);
    let v = with_pipe_ack(60, now);
    assert_eq!(v.pipe_ack(later, RTT), Some(0));
    assert!(!v.is_validated(later, RTT, 60.0));
}

/// cwnd 60, pipeACK 20: non-validated. Silent for a second it is still so by the RFC; the module of 2013 forgets the sample,
/// and a loss has the ordinary response.
#[test]
fn the_module_of_2013_forgets_what_expired() {
    let now = Time::from_secs(10);
    let later = Time::from_secs(11);
    for (rule, forgets) in [(NewCwv::default(), false), (NewCwv::of_2013(), true)] {
        let mut v = with_pipe_ack_of(rule, 20, now);
        assert!(!v.is_validated(now, RTT, 60.0));
        assert_eq!(v.is_validated(later, RTT, 60.0), forgets);
        assert_eq!(v.on_congestion(later, RTT, 24, 60.0).is_none(), forgets);
    }
}

/// cwnd 60, pipeACK 20, flight 24, R 2: max(20,24)/2 = 12 in recovery, (24 − 2)/2 = 11 after it.
#[test]
fn loss_in_the_non_validated_phase() {
    let now = Time::from_secs(10);
    let mut v = with_pipe_ack(20, now);
    assert_eq!(v.on_congestion(now, RTT, 24, 60.0).unwrap().cwnd, 12.0);
    let exit = v.on_recovery_exit(now, 2).unwrap();
    assert_eq!((exit.cwnd, exit.ssthresh), (11.0, 11.0));
    assert_eq!(v.pipe_ack(now, RTT), None);
    // In the validated phase the ordinary response stands.
    assert!(with_pipe_ack(40, now).on_congestion(now, RTT, 50, 60.0).is_none());
}

/// cwnd 60, ssthresh 30, IW 10, five minutes non-validated: ssthresh 45, cwnd 30.
#[test]
fn end_of_the_non_validated_period() {
    let start = Time::from_secs(10);
    let mut v = with_pipe_ack(20, start);
    v.validated_at = start;
    let mut check = |seconds| {
        let (rto, windows) = (RTT * 3, WindowChange { cwnd: 60.0, ssthresh: 30.0 });
        v.check(&Use { now: start + Duration::from_secs(seconds), srtt: RTT, rto, initial_window: 10.0, windows })
    };
    let (change, deadline) = check(299);
    assert!(change.is_none() && deadline == start + Duration::from_secs(300));
    let change = check(300).0.unwrap();
    assert_eq!((change.cwnd, change.ssthresh), (30.0, 45.0));
    assert!(check(301).0.is_none());
}
