use super::*;

const RTT: Duration = Duration::from_millis(100);

/// After a loss at 100 packets, an ACK for two packets every 50/70 of a round trip's packets for `seconds`.
fn window_after(stack: Stack, seconds: f64) -> f64 {
    let mut growth = StackGrowth::new(stack, 0.4, 0.7);
    let mut cwnd = growth.reduce(Time::ZERO, 100.0, true);
    assert_eq!(cwnd, 70.0);
    let mut now = 0.0;
    while now < seconds {
        cwnd = growth.on_ack(Time::ZERO + Duration::from_secs_f64(now), RTT, cwnd, 2.0);
        now += 0.1 * 2.0 / cwnd;
    }
    cwnd
}

/// K = cbrt(30 / 0.4) = 4.217 s. A second later: 0.4 (1 + 0.1 - 4.217)^3 + 100 = 87.9 by the cubic function. ngtcp2's K is 0.0415 s: its
/// aim is W_max = 100 at once, and each round trip of 35 to 50 ACKs takes two fifths of the way, which leaves 30 x 0.6^10 = 0.2.
#[test]
fn ngtcp2_is_back_at_w_max_after_a_second() {
    assert!((window_after(Stack::Noq, 1.0) - 87.9).abs() < 1.0);
    let ngtcp2 = window_after(Stack::Ngtcp2, 1.0);
    assert!((ngtcp2 - 100.0).abs() < 1.0, "{ngtcp2}");
}

/// W_cubic is 160, the window 100: a packet earns 0.6, two of them 1.2, of which one is added. The rest is noq's to keep.
#[test]
fn what_quinn_drops() {
    for (stack, rest) in [(Stack::Quinn, 0.0), (Stack::Noq, 0.2)] {
        let mut growth = StackGrowth { start: Some(Time::ZERO), w_max: 160.0, ..StackGrowth::new(stack, 0.4, 0.7) };
        assert_eq!(growth.on_ack(Time::ZERO, Duration::from_millis(1), 100.0, 2.0), 101.0);
        assert!((growth.rest - rest).abs() < 1e-6, "{}", growth.rest);
    }
}

/// Losses at 100 and at 80 packets: W_max is 0.85 x 80 = 68. K: cbrt(68 x 0.3 / 0.4) = 3.71 s in quinn, cbrt((68 - 56) / 0.4) = 3.107 s by
/// the RFC, of which ngtcp2 has a 101.6th.
#[test]
fn fast_convergence_and_k() {
    for (stack, k) in [(Stack::Quinn, 3.708), (Stack::Ngtcp2, 3.107 / 101.594)] {
        let mut growth = StackGrowth::new(stack, 0.4, 0.7);
        growth.reduce(Time::ZERO, 100.0, true);
        assert_eq!(growth.reduce(Time::ZERO, 80.0, true), 56.0);
        assert!((growth.k - k).abs() < 1e-3, "{}", growth.k);
    }
}

/// Before a loss: ngtcp2 a packet per window, quinn from the plateau on.
#[test]
fn before_the_first_loss() {
    let mut growth = StackGrowth::new(Stack::Ngtcp2, 0.4, 0.7);
    assert_eq!(growth.on_ack(Time::ZERO, RTT, 50.0, 5.0), 50.1);
    let mut growth = StackGrowth::new(Stack::Quinn, 0.4, 0.7);
    assert_eq!(growth.on_ack(Time::ZERO, RTT, 50.0, 2.0), 50.0);
    assert_eq!((growth.w_max, growth.k), (50.0, 0.0));
}
