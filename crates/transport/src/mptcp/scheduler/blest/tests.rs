use super::super::testing::{context, view};
use super::*;

/// srtt_f 50 ms, linger 100 ms, cwnd_f 20, ssthresh 10: rounds 3, (20 + 1)·3 = 63 packets; 63·1400·1.2 = 105 840 bytes.
#[test]
fn worked_example() {
    let mut views = [view(0, 50, 20.0), view(1, 100, 10.0)];
    views[0].ssthresh = 10.0;
    views[0].in_flight = 20;
    assert_eq!(fast_packets(&views[0], &views[1]), 63.0);
    let ask = |send_window| {
        let mut scheduler = Blest { adjusted_at: Time::from_secs(1), ..Blest::new(&Params::defaults(ENTRY.params)) };
        scheduler.select(&Context { send_window, ..context(&views) }).path
    };
    // Beside the estimate the segment itself must fit.
    assert_eq!(ask(105_840 + 1400), Some(1));
    assert_eq!(ask(105_840 + 1399), None);
}

#[test]
fn lambda_moves_within_its_range() {
    let slow = view(1, 100, 10.0);
    let mut scheduler = Blest::new(&Params::defaults(ENTRY.params));
    for i in 1..100 {
        scheduler.was_blocked = true;
        scheduler.adjust_lambda(Time::from_millis(100 * i), &slow);
    }
    assert_eq!(scheduler.lambda, 1.3);
    scheduler.adjust_lambda(Time::from_secs(11), &slow);
    assert!((scheduler.lambda - 1.29).abs() < 1e-9);
    scheduler.adjust_lambda(Time::from_millis(11_050), &slow); // within an SRTT: nothing
    assert!((scheduler.lambda - 1.29).abs() < 1e-9);
}
