use super::*;

const RTO: Duration = Duration::from_millis(300);

fn seen(now: Time) -> Use {
    let windows = WindowChange { cwnd: 80.0, ssthresh: 20.0 };
    Use { now, srtt: RTO / 3, rto: RTO, initial_window: 10.0, windows }
}

/// cwnd 80, IW 10, idle 3.5 RTO: 80 → 40 → 20 → 10; ssthresh ≥ 3/4·80 = 60.
#[test]
fn idle_halves_per_rto() {
    let after = |idle_ms| Rfc2861::default().after_idle(&seen(Time::from_secs(9)), Duration::from_millis(idle_ms));
    let change = after(1050).unwrap();
    assert_eq!((change.cwnd, change.ssthresh), (10.0, 60.0));
    assert_eq!(after(650).unwrap().cwnd, 20.0); // 2.17 RTO: two halvings
    assert_eq!(after(60_000).unwrap().cwnd, 10.0);
    assert!(after(300).is_none());
}

/// cwnd 80, 20 used for an RTO: (80 + 20)/2 = 50. With 4 used and IW 10: (80 + 10)/2 = 45.
#[test]
fn application_limited_goes_halfway() {
    for (used, expected) in [(20, 50.0), (4, 45.0)] {
        let mut v = Rfc2861::default();
        v.on_send_pause(Time::from_secs(1), true, 80);
        v.on_send_pause(Time::from_millis(1100), false, used);
        assert!(v.on_starved(&seen(Time::from_millis(1299))).is_none());
        assert_eq!(v.on_starved(&seen(Time::from_millis(1300))).unwrap().cwnd, expected);
    }
}
