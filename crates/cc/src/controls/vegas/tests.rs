use super::*;
use crate::testbed::{Script, assert_close};

/// Vegas with alpha = beta = 8, as in the streaming study, at `cwnd` packets in congestion avoidance, in a round that began
/// with packet 1000 and a base RTT of 100 ms.
fn streaming(cwnd: f64) -> Vegas {
    let mut params = Params::defaults(ENTRY.params);
    params.set_number("alpha", 8.0).expect("in range");
    params.set_number("beta", 8.0).expect("in range");
    let mut vegas = Vegas::new(&params, cwnd);
    vegas.windows.ssthresh = MIN_WINDOW;
    vegas.base_rtt = Duration::from_millis(100);
    vegas.round.sent_at_start = 1000;
    vegas
}

/// ns-2: a round of 2 ms without a sample becomes the base, and 30 packets of window are 30 - 30 * 2/100 = 29 too many: the
/// window shrinks by one, and so on down to beta. Guarded, the base stays and the backlog is 30 - 30 = 0: it grows.
#[test]
fn the_stock_base_rtt_collapses() {
    for (is_stock, base, grows) in [(true, 2, false), (false, 100, true)] {
        let mut vegas = Vegas { trusts_any_round: is_stock, ..streaming(30.0) };
        vegas.round.started_at = Time::from_millis(9_998);
        end_round(&mut vegas, 30, 30, 0);
        assert_eq!(vegas.base_rtt, Duration::from_millis(base));
        end_round(&mut vegas, 30, 30, 100);
        assert_eq!(vegas.windows.cwnd >= 30.0, grows, "{}", vegas.windows.cwnd);
    }
}

/// The ACK that ends a round, in which `sent` packets left and the mean RTT was `rtt_millis` (0: no clean
/// sample).
fn end_round(vegas: &mut Vegas, flight: u32, sent: u64, rtt_millis: u64) {
    let mut view = Script::new("vegas", 2.0).view;
    view.now = Time::from_secs(10);
    view.sent = vegas.round.sent_at_start + sent;
    view.flight_size = flight - 1;
    vegas.round.rtt_sum = Duration::from_millis(rtt_millis) * sent;
    vegas.round.rtt_count = if rtt_millis == 0 { 0 } else { sent };
    vegas.position.round_end = vegas.position.una;
    vegas.on_ack(&view, &Ack { prior_in_flight: flight, ..Ack::new(1, view.mss) });
}

#[test]
fn diff_of_eight_holds_seven_grows_nine_shrinks() {
    // Diff = flight - sent base/rtt. 20 packets at 125 ms: 20 - 16 = 4, below alpha: 1/20 per ACK.
    // 40 packets at 125 ms: 40 - 32 = 8, held. 35: 7, grows. 45: 9, shrinks by 1.
    for (window, increment, after) in
        [(20, 0.05, 20.05), (40, 0.0, 40.0), (35, 1.0 / 35.0, 35.0 + 1.0 / 35.0), (45, 0.0, 44.0)]
    {
        let mut vegas = streaming(f64::from(window));
        end_round(&mut vegas, window, u64::from(window), 125);
        assert_close(vegas.increment + 1.0, increment + 1.0);
        assert_close(vegas.windows.cwnd, after);
    }
}

#[test]
fn diff_is_rounded_to_the_nearest_packet() {
    // 42 packets at 125 ms: 42 - 33.6 = 8.4, which is 8: held. 43: 8.6, which is 9: shrinks.
    let (mut held, mut shrunk) = (streaming(42.0), streaming(43.0));
    end_round(&mut held, 42, 42, 125);
    end_round(&mut shrunk, 43, 43, 125);
    assert_eq!((held.windows.cwnd, shrunk.windows.cwnd), (42.0, 42.0));
}

#[test]
fn expected_rate_is_that_of_the_flight() {
    // 20 in flight, but only 12 left in the round at the base RTT: 20 - 12 = 8, held; the window is not looked at.
    let mut vegas = streaming(100.0);
    end_round(&mut vegas, 20, 12, 100);
    assert_eq!((vegas.windows.cwnd, vegas.increment), (100.0, 0.0));
}

/// All of a round's ACKs are for retransmissions: no clean sample. It began 1 ms ago, which is no round trip.
#[test]
fn a_round_without_samples_leaves_the_base_rtt() {
    let mut vegas = streaming(8.0);
    vegas.round.started_at = Time::from_secs(10) - Duration::from_millis(1);
    end_round(&mut vegas, 8, 8, 0);
    assert_eq!(vegas.base_rtt, Duration::from_millis(100));
}

/// 3 packets at a base RTT of 50 ms: a pair at 50 ms and a lone one, whose ACK the receiver holds for 40 ms. By the mean of both, 70 ms,
/// Diff = 3 - 3 * 50/70 = 0.86, which is 1: held. The pair alone has 0: grows. Where every packet is acknowledged, all count.
#[test]
fn a_delayed_ack_is_no_queue() {
    for (delivered, lone_comes_first, grows) in [(2, false, true), (2, true, true), (1, false, false)] {
        let mut vegas = Vegas { base_rtt: Duration::from_millis(50), ..streaming(3.0) };
        vegas.alpha = 1.0;
        vegas.position.round_end = 3;
        let mut view = Script::new("vegas", 2.0).view;
        let mut samples = [(delivered, 50), (1, 90)];
        if lone_comes_first {
            samples.reverse();
        }
        for (delivered, millis) in samples {
            let rtt = Some(Duration::from_millis(millis));
            vegas.on_ack(&view, &Ack { delivered, rtt, ..Ack::new(delivered, view.mss) });
        }
        view.now = Time::from_secs(10);
        (view.sent, view.flight_size) = (1003, 2);
        vegas.position.round_end = vegas.position.una;
        vegas.on_ack(&view, &Ack::new(1, view.mss));
        assert_eq!(vegas.increment > 0.0, grows, "{delivered} {lone_comes_first}");
    }
}

/// 20 packets out, the first one lost, RTT and base 100 ms. 19 SACKs: packets sent after the round began are delivered, but it
/// goes on. The ACK of the repair moves SND.UNA by 20 and delivers 1; 15 packets sent since are out. 20 + 1 + 15 = 36 left
/// in the round: Diff = (15 + 1) - 36 * 100/100 = -20, no queue, the window grows.
#[test]
fn a_round_outlasts_the_repair_of_its_loss() {
    let mut vegas = streaming(15.0);
    vegas.position = Position { una: 1000, round_end: 1001 };
    let rtt = Some(Duration::from_millis(100));
    let mut view = View { now: Time::from_secs(10), flight_size: 20, ..Script::new("vegas", 2.0).view };
    for i in 0..19 {
        view.sent = 1021 + i;
        vegas.on_ack(&view, &Ack { acked: 0, rtt, round_start: i == 10, ..Ack::new(1, view.mss) });
        assert_eq!((vegas.windows.cwnd, vegas.round.sent_at_start), (15.0, 1000));
    }
    (view.sent, view.flight_size) = (1036, 15);
    vegas.on_ack(&view, &Ack { acked: 20, ..Ack::new(1, view.mss) });
    assert_eq!((vegas.round.sent_at_start, vegas.position.round_end), (1036, 1035));
    assert_close(vegas.increment, 1.0 / 15.0);
}

#[test]
fn a_round_of_one_packet_renews_the_base_rtt() {
    let mut vegas = streaming(20.0);
    end_round(&mut vegas, 1, 1, 150);
    assert_eq!(vegas.base_rtt, Duration::from_millis(150));
}

#[test]
fn slow_start_grows_in_every_other_round() {
    let mut script = Script::new("vegas", 2.0);
    let windows: Vec<f64> = (0..8)
        .map(|_| {
            script.round();
            script.cwnd()
        })
        .collect();
    assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0, 16.0, 32.0]);
}

#[test]
fn slow_start_ends_with_an_eighth_less() {
    let mut vegas = streaming(32.0);
    vegas.windows.ssthresh = f64::INFINITY;
    // Diff = 32 - 32 * 100/110 = 2.9, above gamma; but this round holds, and the next one judges.
    end_round(&mut vegas, 32, 32, 110);
    assert_eq!(vegas.windows.cwnd, 32.0);
    end_round(&mut vegas, 32, 32, 110);
    assert_eq!((vegas.windows.cwnd, vegas.windows.ssthresh), (28.0, 2.0));
    // Diff of gamma itself: 32 - 32 * 100/103 = 0.93, which is 1. Slow start goes on.
    let mut vegas = streaming(32.0);
    vegas.windows.ssthresh = f64::INFINITY;
    end_round(&mut vegas, 32, 32, 103);
    end_round(&mut vegas, 32, 32, 103);
    assert_eq!((vegas.windows.cwnd, vegas.windows.ssthresh), (33.0, f64::INFINITY));
}

#[test]
fn shrinking_does_not_lead_back_to_slow_start() {
    let mut vegas = streaming(45.0);
    vegas.windows.ssthresh = 45.0; // as after a window set from outside
    end_round(&mut vegas, 45, 45, 125);
    assert_eq!((vegas.windows.cwnd, vegas.phase()), (44.0, "congestion_avoidance"));
}

#[test]
fn cuts_of_a_quarter_and_of_a_half() {
    // 20 - 20/4 = 15; 20/2 = 10 if it had been retransmitted; at most 3 become 2. Whole packets: 21 - 5 = 16.
    assert_eq!(streaming(20.0).cut(false), 15.0);
    assert_eq!(streaming(20.0).cut(true), 10.0);
    assert_eq!(streaming(3.9).cut(false), 2.0);
    assert_eq!(streaming(21.7).cut(false), 16.0);
}

#[test]
fn one_cut_per_window_of_losses() {
    let mut script = Script::new("vegas", 20.0);
    script.avoid_congestion_at(20.0);
    let lost = |script: &mut Script, sent_millis_ago: u64| {
        let lost_sent_at = script.view.now - Duration::from_millis(sent_millis_ago);
        script.congest(CongestionEvent::loss(20, lost_sent_at));
        script.exit_recovery();
    };
    lost(&mut script, 100);
    assert_eq!(script.cwnd(), 15.0);
    script.view.now += Duration::from_millis(50);
    lost(&mut script, 60); // sent before the cut
    assert_eq!(script.cwnd(), 15.0);
    lost(&mut script, 40); // sent after it
    assert_eq!(script.cwnd(), 12.0); // 15 - 3
    assert_eq!(script.cc.ssthresh(), 2.0, "congestion avoidance goes on after the recovery");
}

#[test]
fn fine_timeout() {
    let mut timeout = FineTimeout::NEW;
    // First sample 100 ms: srtt 100, dev 25, then the same sample filters in: error 0, dev 25 * 3/4 = 18.75.
    // (100 + 37.5) 17/16 = 146.09 ms.
    timeout.take(0.1);
    assert_close(timeout.timeout, 0.14609375);
    // 180 ms: error 80, srtt 110, dev 18.75 + (80 - 18.75)/4 = 34.0625: (110 + 68.125) 17/16 = 189.258 ms.
    timeout.take(0.18);
    assert_close(timeout.timeout, 0.1892578125);
    timeout.back_off(false); // an eighth more
    assert_close(timeout.timeout, 0.1892578125 * 1.125);
    timeout.back_off(true);
    assert_close(timeout.timeout, 0.1892578125 * 2.25);
    assert!(!timeout.has_expired(Duration::from_millis(425)) && timeout.has_expired(Duration::from_millis(426)));
}

#[test]
fn early_retransmission_on_the_first_duplicate_ack() {
    let mut script = Script::new("vegas", 20.0);
    script.round(); // 100 ms throughout: dev decays from 25 ms by 3/4 per ACK
    let now = script.view.now;
    let mut duplicate = |age_millis: u64, count: u32| {
        let head_sent_at = now - Duration::from_millis(age_millis);
        script.cc.on_tcp_dup_ack(&script.view, &TcpDupAck { count, head_sent_at, head_is_retransmitted: false })
    };
    // 20 samples: dev 25 * 0.75^20 = 0.079 ms; timeout (100 + 0.159) 17/16 = 106.4 ms.
    assert!(!duplicate(106, 1));
    assert!(duplicate(107, 1));
    assert!(!duplicate(107, 0), "new ACKs are checked after a retransmission only");
}

#[test]
fn worried_about_two_new_acks() {
    let mut script = Script::new("vegas", 20.0);
    script.round();
    script.avoid_congestion_at(20.0);
    script.lose(); // worried about 2; 15 packets
    let check = |script: &mut Script, age_millis: u64| {
        let head_sent_at = script.view.now - Duration::from_millis(age_millis);
        let event = TcpDupAck { count: 0, head_sent_at, head_is_retransmitted: false };
        script.cc.on_tcp_dup_ack(&script.view, &event)
    };
    // The timeout has grown by an eighth: 106.4 * 1.125 = 119.7 ms.
    assert!(check(&mut script, 120));
    // Its retransmission is no new cut, though the transport reports it.
    let signal = CongestionSignal::EarlyRetransmit;
    script.congest(CongestionEvent { signal, ..CongestionEvent::loss(15, script.view.now) });
    assert_eq!(script.cwnd(), 15.0);
    assert!(check(&mut script, 120), "the second");
    assert!(!check(&mut script, 120), "and no third");
}

#[test]
fn not_expired_ends_the_worry() {
    let mut script = Script::new("vegas", 20.0);
    script.round();
    script.lose();
    let now = script.view.now;
    let mut check = |age_millis: u64| {
        let head_sent_at = now - Duration::from_millis(age_millis);
        script.cc.on_tcp_dup_ack(&script.view, &TcpDupAck { count: 0, head_sent_at, head_is_retransmitted: false })
    };
    assert!(!check(50));
    assert!(!check(500));
}

#[test]
fn a_timeout_leaves_two_packets() {
    let mut script = Script::new("vegas", 20.0);
    script.time_out(20);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (2.0, 10.0));
}
