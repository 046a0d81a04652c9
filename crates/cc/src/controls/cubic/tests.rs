use super::*;
use crate::testbed::{Script, assert_close, assert_near};

/// CUBIC at `cwnd` packets in congestion avoidance after a loss at `w_max` packets.
fn after_loss(w_max: f64) -> Script {
    let mut script = Script::new("cubic", 10.0);
    script.avoid_congestion_at(w_max);
    script.lose();
    script.exit_recovery();
    script
}

fn epoch(w_max: f64, cwnd: f64) -> Epoch {
    let mut growth = Growth { w_max: Some(w_max), cwnd_prior: Some(w_max), epoch: None };
    *growth.epoch_at(Time::ZERO, cwnd, 0.4)
}

#[test]
fn the_cubic_function_and_its_plateau() {
    // W_max 100, cwnd 70: K = cbrt(30 / 0.4) = cbrt(75) = 4.2172 s. W(0) = 0.4 (-4.2172)^3 + 100 = 70; W(K) = 100.
    let epoch = epoch(100.0, 70.0);
    assert_near(epoch.k, 4.217163, 1e-6);
    assert_close(epoch.w_cubic(0.4, 0.0), 70.0);
    assert_close(epoch.w_cubic(0.4, epoch.k), 100.0);
    // One second past the plateau: 100 + 0.4.
    assert_close(epoch.w_cubic(0.4, epoch.k + 1.0), 100.4);
}

#[test]
fn cuts_to_seven_tenths() {
    let script = after_loss(100.0);
    assert_close(script.cwnd(), 70.0);
    assert_close(script.cc.ssthresh(), 70.0);
}

#[test]
fn fast_convergence_gives_way() {
    let mut growth = Growth { w_max: Some(120.0), cwnd_prior: None, epoch: None };
    growth.remember_w_max(100.0, 0.7, true);
    // Lost at 100, below 120: W_max = 100 (1 + 0.7) / 2 = 85; K = cbrt((85 - 70) / 0.4) = cbrt(37.5) = 3.3472 s.
    assert_close(growth.w_max.unwrap_or(0.0), 85.0);
    assert_near(epoch(85.0, 70.0).k, 3.347165, 1e-6);
    // Above the last one: W_max is the window.
    growth.w_max = Some(90.0);
    growth.remember_w_max(100.0, 0.7, true);
    assert_close(growth.w_max.unwrap_or(0.0), 100.0);
}

#[test]
fn each_ack_goes_its_share_towards_the_target() {
    let mut script = after_loss(100.0);
    // First ACK of the epoch, t = 0: W_est = 70 + 0.5294/70 = 70.00756 is above W_cubic(0) = 70. Reno-friendly.
    script.ack(1);
    assert_near(script.cwnd(), 70.0 + 9.0 / 17.0 / 70.0, 1e-9);
    // 2 s later: W_cubic(2) = 100 - 0.4 * 2.217163^3 = 95.6404; target W_cubic(2.1) = 100 - 0.4 * 2.117163^3 = 96.2041.
    let before = script.cwnd();
    script.ack_after(Duration::from_secs(2), 1, false);
    assert_near(script.cwnd() - before, (96.2041 - before) / before, 1e-4);
}

#[test]
fn the_target_is_at_most_one_and_a_half_windows() {
    let mut script = after_loss(100.0);
    script.ack(1);
    let before = script.cwnd();
    // 60 s past the plateau W_cubic is thousands: an ACK adds no more than 0.5.
    script.ack_after(Duration::from_secs(60), 1, false);
    assert_close(script.cwnd(), before + 0.5);
}

#[test]
fn reno_friendly_with_short_rtts() {
    // RTT 10 ms, W_max 20: W_cubic needs K = cbrt(6/0.4) = 2.5 s; Reno's equivalent is back at 20 in (20 - 14) / 0.529 =
    // 11.3 rounds = 0.11 s and then goes up by a packet per round.
    let mut script = after_loss(20.0);
    script.rtt = Duration::from_millis(10);
    let mut rounds = 0;
    while script.cwnd() < 20.0 {
        script.round();
        rounds += 1;
    }
    assert!((11..=13).contains(&rounds), "{rounds} rounds");
    let before = script.cwnd();
    (0..10).for_each(|_| script.round());
    assert!((script.cwnd() - before - 10.0).abs() < 0.5, "alpha is 1 above cwnd_prior: {}", script.cwnd() - before);
}

#[test]
fn unused_time_does_not_count() {
    let (mut busy, mut idle) = (after_loss(100.0), after_loss(100.0));
    busy.ack(1);
    idle.ack(1);
    // 3 s in which the application sends too little.
    idle.may_grow = false;
    (0..30).for_each(|_| idle.ack_after(Duration::from_millis(100), 1, false));
    // And 10 s of silence.
    idle.view.now += Duration::from_secs(10);
    let pause = Duration::from_secs(10);
    idle.cc.on_idle_restart(&idle.view, &IdleRestart { idle: pause, silent: pause, is_app_limited: true });
    idle.may_grow = true;
    for script in [&mut busy, &mut idle] {
        (0..10).for_each(|_| script.ack_after(Duration::from_millis(10), 1, false));
    }
    assert_close(idle.cwnd(), busy.cwnd());
}

#[test]
fn a_timeout_starts_a_plateau_of_its_own() {
    let mut script = after_loss(100.0); // cwnd 70
    script.time_out(70);
    assert_eq!(script.cwnd(), 1.0);
    assert_close(script.cc.ssthresh(), 49.0); // 0.7 * 70
    (0..48).for_each(|_| script.ack(1));
    assert_close(script.cwnd(), 49.0);
    // K = 0, W_max = 49 (RFC 9438 §4.8): 1 s on, the target is 49 + 0.4 * 1.1^3 = 49.5324, W_cubic(1) = 49.4.
    script.ack(1);
    let before = script.cwnd();
    script.ack_after(Duration::from_secs(1), 1, false);
    assert_near(script.cwnd() - before, (49.5324 - before) / before, 1e-4);
}

#[test]
fn the_first_slow_start_ends_on_a_plateau() {
    let mut script = Script::new("cubic", 10.0);
    script.avoid_congestion_at(50.0);
    script.ack(1);
    // cwnd_prior is the window: alpha is 1 from the start (RFC 9438 §4.10).
    assert_close(script.cwnd(), 50.0 + 1.0 / 50.0);
}

#[test]
fn undo_restores_the_epoch() {
    let (mut hit, mut spared) = (after_loss(100.0), after_loss(100.0));
    for script in [&mut hit, &mut spared] {
        (0..20).for_each(|_| script.round());
    }
    hit.lose();
    hit.undo();
    for script in [&mut hit, &mut spared] {
        (0..5).for_each(|_| script.round());
    }
    assert_close(hit.cwnd(), spared.cwnd());
    // An undo that comes after the window has outgrown its old value changes nothing.
    hit.lose();
    hit.view.in_recovery = false;
    let threshold = hit.cc.ssthresh();
    (0..200).for_each(|_| hit.round());
    let before = hit.cwnd();
    hit.undo();
    assert_eq!((hit.cwnd(), hit.cc.ssthresh()), (before, threshold));
}

#[test]
fn a_window_from_outside_starts_an_epoch() {
    let mut script = after_loss(100.0);
    (0..30).for_each(|_| script.round());
    script.avoid_congestion_at(60.0);
    // t = 0 again: the Reno-friendly step of 0.5294/60, not one towards the old epoch's target near 100.
    script.ack(1);
    assert_near(script.cwnd(), 60.0 + 9.0 / 17.0 / 60.0, 1e-9);
}

#[test]
fn ecn_may_go_down_to_one_packet() {
    let mut script = after_loss(100.0);
    script.avoid_congestion_at(1.2);
    script.congest_by_ecn(1);
    assert_eq!((script.cwnd(), script.cc.ssthresh()), (1.0, 2.0));
}

/// In a recovery nothing grows, whatever the law (RFC 9002 §7.3.2).
#[test]
fn no_law_grows_in_recovery() {
    for growth in ["rfc", "linux", "quinn", "noq", "ngtcp2"] {
        let mut script = crate::testbed::Script::with("cubic", 100.0, |params| params.set_word("growth", growth));
        script.lose();
        script.may_grow = false;
        let before = script.cwnd();
        (0..30).for_each(|_| script.ack_after(Duration::from_millis(10), 2, false));
        assert_eq!(script.cwnd(), before, "{growth}");
    }
}

/// Linux's `tcp_cwnd_restart` leaves the epoch as it is: 10 s after the cut from 100 to 70 (K = 4.2 s) the target is far above a window of
/// 90 from outside, which grows by a packet for two acknowledged ones. A new epoch would take 45 for the first.
#[test]
fn linux_keeps_the_epoch_of_a_window_from_outside() {
    let mut script = Script::with("cubic", 100.0, |params| params.set_word("growth", "linux"));
    script.avoid_congestion_at(100.0);
    script.lose();
    script.exit_recovery();
    script.ack(1);
    script.ack_after(Duration::from_secs(10), 1, false);
    script.avoid_congestion_at(90.0);
    (0..8).for_each(|_| script.ack(1));
    assert_eq!(script.cwnd(), 94.0);
}

/// After a loss at 100 packets half is left, whatever the law; with a c of 100 the window is back at 100 within a second (K is 0.8 s), with
/// 0.001 it is not (36.8 s). ngtcp2's K is a hundredth.
#[test]
fn beta_and_c_hold_in_every_law() {
    for growth in ["rfc", "linux", "quinn", "noq", "ngtcp2"] {
        let after_a_second = |c: f64| {
            let mut script = Script::with("cubic", 100.0, |params| {
                let set = params.set_word("growth", growth).and(params.set_number("beta", 0.5));
                set.and(params.set_number("c", c))
            });
            script.avoid_congestion_at(100.0);
            script.lose();
            script.exit_recovery();
            assert_eq!(script.cwnd(), 50.0, "{growth}");
            (0..200).for_each(|_| script.ack_after(Duration::from_millis(5), 1, true));
            script.cwnd()
        };
        assert!(after_a_second(100.0) > after_a_second(0.001) + 10.0, "{growth}");
    }
}
