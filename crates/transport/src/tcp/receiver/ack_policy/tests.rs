use super::*;

const MSS: u32 = 1448;
const NOW: Time = Time::from_millis(1);

/// Data in order at [`NOW`].
fn arrive(policy: &mut AckPolicy, bytes: u32, is_push: bool, is_open: bool) {
    policy.on_in_order(bytes, is_push);
    policy.schedule(NOW, policy.asks_for_window() && is_open);
}

/// After a full segment that was acknowledged: no quick ACKs are left.
fn policy(rule: DelayedAck) -> AckPolicy {
    let mut policy = AckPolicy::new(&Config { delayed_ack: rule, ..Config::linux() });
    arrive(&mut policy, MSS, false, true);
    policy.on_ack_sent();
    policy
}

#[test]
fn what_was_pushed_and_read_is_acknowledged_at_once() {
    for (bytes, is_push, is_due) in [(MSS, false, false), (MSS, true, true), (100, false, true)] {
        let mut policy = policy(DelayedAck::Linux);
        arrive(&mut policy, bytes, is_push, true);
        assert!(!policy.is_due, "not before the reader has it");
        policy.on_read(true);
        assert_eq!(policy.is_due, is_due, "{bytes} {is_push}");
        policy.on_ack_sent();
        policy.on_read(true);
        assert!(!policy.is_due, "told once");
    }
}

/// Two segments that a full buffer took wait for the reader, who need not take all of them.
#[test]
fn a_reader_that_is_ahead_acknowledges_by_reading() {
    let mut policy = policy(DelayedAck::Linux);
    arrive(&mut policy, MSS, false, false);
    policy.on_read(false);
    assert!(!policy.is_due);
    arrive(&mut policy, MSS, false, false);
    assert!(!policy.is_due);
    policy.on_read(false);
    assert!(policy.is_due);
}

#[test]
fn a_crowded_buffer_ends_quick_acks() {
    let mut policy = policy(DelayedAck::Linux);
    for is_quick in [true, false] {
        if is_quick {
            policy.note_arrival(NOW, Duration::from_millis(200));
        }
        policy.on_in_order(MSS, false);
        policy.schedule(NOW, false);
        assert_eq!(policy.is_due, is_quick);
        policy.on_crowded_buffer();
        policy.on_ack_sent();
    }
}

/// A full buffer is told to nobody, so its segments wait for 40 ms: up to 30, and what comes then brings the ACK.
#[test]
fn a_segment_in_the_last_quarter_of_the_delay_is_acknowledged() {
    for (kind, is_due) in [(DelayedAck::Linux, true), (DelayedAck::Rfc(Duration::from_millis(40)), false)] {
        let mut policy = policy(kind);
        for micros in [0, 29_999] {
            policy.on_in_order(MSS / 4, false);
            policy.schedule(NOW + Duration::from_micros(micros), false);
            assert_eq!((policy.is_due, policy.deadline()), (false, NOW + Duration::from_millis(40)));
        }
        policy.on_in_order(MSS / 4, false);
        policy.schedule(NOW + Duration::from_millis(30), false);
        assert_eq!(policy.is_due, is_due);
    }
}

/// A round trip of 10 ms: a twentieth is 0.5 ms, and 0.1 ms of slack. Three ACKs behind a gap leave at once, the fourth and fifth
/// segment wait for 0.6 ms together; a third block does not wait; another gap begins anew; a peer without SACK gets all at once.
#[test]
fn sacks_behind_the_third_are_compressed() {
    let rtt = Some(Duration::from_millis(10));
    let mut policy = policy(DelayedAck::Linux);
    let gap = |policy: &mut AckPolicy, next, rtt, is_crowded| {
        policy.on_gap(NOW, next, rtt, is_crowded);
        let is_due = policy.is_due;
        if is_due {
            policy.on_ack_sent();
        }
        (is_due, policy.deadline())
    };
    for _ in 0..3 {
        assert_eq!(gap(&mut policy, 5, rtt, false), (true, Time::MAX));
    }
    let deadline = NOW + Duration::from_micros(600);
    assert_eq!(gap(&mut policy, 5, rtt, false), (false, deadline));
    assert_eq!(gap(&mut policy, 5, rtt, false), (false, deadline));
    policy.handle_timeout(deadline);
    assert!(policy.is_due);
    policy.on_ack_sent();
    assert_eq!(gap(&mut policy, 5, rtt, false), (false, deadline));
    assert_eq!(gap(&mut policy, 5, rtt, true), (true, Time::MAX));
    assert_eq!(gap(&mut policy, 6, rtt, false), (true, Time::MAX));
    assert_eq!(gap(&mut policy, 6, None, false), (true, Time::MAX));
    for _ in 0..2 {
        assert_eq!(gap(&mut policy, 6, rtt, false), (true, Time::MAX));
    }
    // At most 1 ms, and the slack.
    let far = Some(Duration::from_secs(1));
    assert_eq!(gap(&mut policy, 6, far, false), (false, NOW + Duration::from_micros(1100)));
}

#[test]
fn the_rfcs_receiver_waits_all_the_same() {
    let mut policy = policy(DelayedAck::Rfc(Duration::from_millis(200)));
    arrive(&mut policy, MSS, true, true);
    policy.on_read(true);
    assert!(!policy.is_due);
}
