use super::*;

fn after_loss(cwnd: u32) -> (LinuxGrowth, u32) {
    let mut growth = LinuxGrowth::new(0.4, 0.7);
    let cwnd = growth.reduce(cwnd, true);
    (growth, cwnd)
}

/// 100 · 717 / 1024 = 70.02; 10 · 717 / 1024 = 7.002; 9 · 717 / 1024 = 6.3.
#[test]
fn cuts_round_down() {
    for (cwnd, after) in [(100, 70), (10, 7), (9, 6)] {
        assert_eq!(after_loss(cwnd).1, after);
    }
}

/// W_max 100, cwnd 70: K = cbrt(2^40 / 410 · 30) = 4316.98, a whole 4316 of 1/1024 s = 4.215 s (RFC 9438: 4.217). At t = K the target is
/// 100; a second later 100 + 410 · 1024^3 / 2^40 = 100.4, a whole 100; after two 103.2. At t = 0 it is
/// 410 · 4316^3 / 2^40 = 29.98 below, a whole 29: the first packet comes early.
#[test]
fn the_plateau_is_where_the_loss_was() {
    let (mut growth, cwnd) = after_loss(100);
    growth.update(Time::from_secs(1), cwnd, 1);
    assert_eq!((growth.k, growth.origin), (4316, 100));
    let targets = [0, 4316, 4316 + 1024, 4316 + 2048].map(|t| growth.target(t));
    assert_eq!(targets, [71, 100, 100, 103]);
}

/// RTT 10 ms, cut from 10 to 7, 7 acknowledged per round. The first target is 8 (K = 2003; 410 · 1993^3 / 2^40 = 2.95): 8 after
/// the first round. Then the target stays at 8 for 0.6 s, and W_est is looked at when 31 ms are over, at 50 ms: it gains a
/// packet for each 8 · 15 / 8 = 15 acknowledged, so with 36 it is 7 + 2, one ahead: cnt 8, and the credit of the rounds
/// between makes one packet at once.
#[test]
fn small_windows_follow_w_est_in_steps() {
    let (mut growth, mut cwnd) = after_loss(10);
    let (mut seen, rtt) = (vec![], Duration::from_millis(10));
    growth.on_rtt(Time::ZERO, rtt);
    for round in 0..6 {
        for _ in 0..7 {
            cwnd = growth.on_ack(Time::from_secs(1) + rtt * round, cwnd, 1);
        }
        seen.push(cwnd);
    }
    assert_eq!(seen, [8, 8, 8, 8, 8, 9]);
}

/// Before the first loss one packet for 20 at the slowest: a window of 100 grows by 5 per round trip.
#[test]
fn a_first_epoch_grows_by_a_twentieth() {
    let (mut growth, mut cwnd) = (LinuxGrowth::new(0.4, 0.7), 100);
    for _ in 0..100 {
        cwnd = growth.on_ack(Time::from_secs(1), cwnd, 1);
    }
    assert_eq!(cwnd, 105);
}

/// The round trips of data alone count; for a second of each epoch not even these, and after a timeout all are measured anew.
#[test]
fn the_least_round_trip_is_of_data_after_the_first_second() {
    let (mut growth, ms) = (after_loss(10).0, Duration::from_millis);
    growth.on_rtt(Time::ZERO, ms(100));
    growth.on_ack(Time::from_secs(1), 7, 1);
    growth.on_rtt(Time::from_millis(1999), ms(90));
    assert_eq!(growth.delay_min, ms(100));
    growth.on_rtt(Time::from_secs(2), ms(90));
    assert_eq!(growth.delay_min, ms(90));
    growth.reset();
    growth.on_rtt(Time::from_secs(3), ms(95));
    assert_eq!(growth.delay_min, ms(95));
}

/// A packet for two acknowledged ones is the most, however far the target is.
#[test]
fn the_target_is_at_most_one_and_a_half_windows() {
    let (mut growth, cwnd) = after_loss(100);
    growth.on_ack(Time::from_secs(1), cwnd, 1);
    growth.update(Time::from_secs(60), cwnd, 1);
    assert_eq!(growth.cnt, 2);
}

#[test]
fn idle_time_does_not_count() {
    let (mut growth, cwnd) = after_loss(100);
    growth.update(Time::from_secs(1), cwnd, 1);
    growth.on_idle(Time::from_secs(9), Duration::from_secs(7));
    assert_eq!(growth.epoch_start, Some(Time::from_secs(8)));
    growth.on_idle(Time::from_secs(9), Duration::from_secs(7));
    assert_eq!(growth.epoch_start, Some(Time::from_secs(9)), "never in the future");
}

/// The module's defaults, and what else a scenario may say: 0.5 is 512/1024, after which Reno's slope is 8 · 1536 / 3 / 512 = 8 eighths of
/// a packet a window; C = 0.8 is `bic_scale` 82.
#[test]
fn beta_and_c_are_the_modules_parameters() {
    let of = |c, beta| {
        let found = Constants::of(c, beta);
        (found.beta, found.beta_scale, found.cube_rtt_scale)
    };
    assert_eq!(of(0.4, 0.7), (717, 15, 410));
    assert_eq!(of(0.8, 0.5), (512, 8, 820));
    assert_eq!(LinuxGrowth::new(0.4, 0.5).reduce(100, true), 50);
}
