use super::*;
use crate::ObjectKind;
use playpath_units::{Duration, Rate, random::RootSeed};

fn mpc() -> Mpc {
    Mpc::new(&Params::defaults(PARAMS))
}

/// Samples 1, 2, 4 Mbit/s: 3 / (1 + 0.5 + 0.25) = 1.7143. Largest error 0.5: 1.7143 / 1.5 = 1.1429.
#[test]
fn worked_prediction() {
    let mut rule = mpc();
    rule.errors = [0.0, 0.1, 0.5, 0.2, 0.0];
    let harmonic = 3.0 / (1.0 + 0.5 + 0.25);
    assert!((rule.discounted(harmonic * 1e6) - 1_142_857.14).abs() < 0.01);
}

/// Predictions are the undivided means: after 1 the mean is 1; sample 2: |1 − 2| / 2 = 0.5; the mean of 1 and 2 is
/// 1.3333; sample 4: |1.3333 − 4| / 4 = 0.6667.
#[test]
fn errors_are_of_the_undivided_means() {
    let mut rule = mpc();
    rule.predicted = Some(1e6);
    rule.learn(2e6);
    rule.predicted = Some(1e6 * 4.0 / 3.0);
    rule.learn(4e6);
    assert_eq!(rule.errors[..3], [0.0; 3]);
    assert!((rule.errors[3] - 0.5).abs() < 1e-12 && (rule.errors[4] - 2.0 / 3.0).abs() < 1e-12);
}

/// Every sequence in counting order; the last of equals wins, as `reward >= max_reward` does.
fn enumerate(plan: &Planner, ladder: &Ladder, start: Step, bits_per_sec: f64) -> (f64, usize) {
    let (count, mut best) = (ladder.count(), (f64::NEG_INFINITY, 0));
    for number in 0..count.pow(start.left as u32) {
        let mut step = start;
        let mut first = 0;
        for place in (0..start.left).rev() {
            let digit = number / count.pow(place as u32) % count;
            step = plan.take(ladder, step, digit, bits_per_sec);
            first = if place == start.left - 1 { digit } else { first };
        }
        if step.reward >= best.0 {
            best = (step.reward, first);
        }
    }
    best
}

#[test]
fn pruned_search_equals_enumeration() {
    let rates: Vec<_> = [300, 750, 1200, 1850, 2850].map(|k| Rate::from_bits_per_sec(k * 1000)).to_vec();
    let mut stream = RootSeed(7).stream("mpc");
    let ladder = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(4), Duration::from_secs(80))
        .unwrap()
        .with_drawn_sizes(Default::default(), &mut stream);
    let plan = mpc().plan;
    for case in 0..60 {
        let segment = (stream.uniform() * 20.0) as usize;
        let (previous, level) = ((stream.uniform() * 5.0) as usize, stream.uniform_in(0.0, 30.0));
        let bits_per_sec = stream.uniform_in(0.1e6, 5e6);
        let left = plan.horizon.min(ladder.segments() - segment);
        let start = Step { segment, left, rate: mbps(&ladder, previous), level, reward: 0.0 };
        let (_, expected) = enumerate(&plan, &ladder, start, bits_per_sec);
        let got = plan.best_first(&ladder, segment, previous, level, bits_per_sec);
        assert_eq!(got, expected, "case {case}: segment {segment}, level {level}, {bits_per_sec} bit/s");
    }
}
