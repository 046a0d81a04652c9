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

/// `num_rtts = time / avg_rtt + 1` in integers: 99 ms of 50 are two rounds, cwnd·(2² − 1) in the first slow start; 49 ms one. Later three
/// rounds of 20, and half of the two further ones, rounded down.
#[test]
fn rounds_are_whole() {
    let fast = |cwnd| SubflowView { ssthresh: f64::INFINITY, ..view(0, 50, cwnd) };
    assert_eq!(fast_packets(&fast(10.0), &view(1, 99, 10.0)), 30.0);
    assert_eq!(fast_packets(&fast(10.0), &view(1, 49, 10.0)), 10.0);
    assert_eq!(fast_packets(&SubflowView { ssthresh: 10.0, ..fast(20.0) }, &view(1, 99, 10.0)), 40.0);
}

/// A full window raises lambda although nothing is sent again: 60 ms are no four times 20. A send buffer that still has some room does
/// not, nor does a window that no path could use.
#[test]
fn a_full_window_raises_lambda() {
    let mut views = [view(0, 20, 20.0), view(1, 60, 10.0)];
    views[1].has_segment = true;
    let mut ask = |blockage, in_flight: [u32; 2]| {
        (views[0].in_flight, views[1].in_flight) = (in_flight[0], in_flight[1]);
        let mut scheduler = Blest { adjusted_at: Time::from_secs(1), ..Blest::new(&Params::defaults(ENTRY.params)) };
        let relief = scheduler.relieve(&Context { send_window: 0, ..context(&views) }, blockage);
        assert!(relief.is_none_or(|relief| relief.retransmit_on.is_none()));
        scheduler.adjust_lambda(Time::from_secs(2), &views[1]);
        (scheduler.lambda * 100.0).round()
    };
    assert_eq!(ask(Blockage::ReceiveWindow, [0, 0]), 124.0);
    assert_eq!(ask(Blockage::SendBuffer { is_full: true }, [0, 0]), 124.0);
    assert_eq!(ask(Blockage::SendBuffer { is_full: false }, [0, 0]), 119.0);
    assert_eq!(ask(Blockage::ReceiveWindow, [20, 10]), 119.0);
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
