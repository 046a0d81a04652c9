use super::*;
use crate::abr::testing::{context, download, ladder};

fn rule() -> DashJs {
    DashJs::new(Strategy::Dynamic, Settings::default())
}

/// The time to the first byte is no part of it: 2000 kbit and 300 B of headers (2.4 kbit) in 2 s, after 0.5 or 0.1 s: 1001 kbit/s.
#[test]
fn the_estimate_leaves_the_latency_out() {
    for latency in [0.1, 0.5] {
        let mut rule = rule();
        rule.estimate.push(&download(2000, 2.0 + latency, latency));
        assert_eq!(rule.kbps(), Some(1001.0));
    }
}

/// 3998 kbit/s (with headers 4000.4: 4000) for 1 s, then 1000 kbit/s for 2 s. Weights 1.5 and 3 of half-lives 3 and 8:
/// fast: a = 2^-0.5 = 0.70711: 0.29289 · 4000 = 1171.57; a = 0.5: 0.5 · 1171.57 + 0.5 · 1001 = 1086.3; / (1 − 2^-1.5 = 0.64645)
/// = 1680.4. slow: a = 2^-0.1875 = 0.87813: 487.5; a = 2^-0.375 = 0.77111: 0.77111 · 487.5 + 0.22889 · 1001 = 605.0; /
/// (1 − 2^-0.5625 = 0.32287) = 1873.9. The smaller: 1680.
#[test]
fn the_averages_weigh_by_time() {
    let mut rule = rule();
    rule.estimate.push(&download(3998, 1.1, 0.1));
    rule.estimate.push(&download(2000, 2.1, 0.1));
    assert_eq!(rule.kbps(), Some(1680.0));
}

/// BOLA from 12 s on until below 6 s, also where the level was between two questions.
#[test]
fn bola_takes_over_at_12_s_and_leaves_at_6() {
    let mut rule = rule();
    let mut after = |level: f64| {
        rule.see_level(level);
        rule.uses_bola
    };
    assert_eq!([11.9, 12.0, 6.0, 5.9, 11.9].map(&mut after), [false, true, true, false, false]);
}

/// Eight questions at rung 2, one of which led down: 1 / 7 > 0.075, rung 1. Before the eighth nothing; with no drop nothing. A drop
/// from rung 1 and seven stays at rung 2: together 1 / 7 at rung 2, which itself never led down: rung 2.
#[test]
fn the_switch_history_limits() {
    let of = |pairs: &[(usize, usize)]| {
        let mut history = SwitchHistory::default();
        pairs.iter().for_each(|&(from, to)| history.push(from, to));
        history.limit(4)
    };
    let mut pairs = vec![(2, 2); 7];
    pairs.push((2, 1));
    assert_eq!((of(&pairs[1..]), of(&pairs)), (None, Some(1)));
    assert_eq!(of(&[(2, 2); 9]), None);
    pairs[0] = (1, 0);
    pairs[7] = (2, 2);
    assert_eq!(of(&pairs), Some(2));
    // A ninth pushes the oldest out.
    pairs.push((2, 2));
    assert_eq!(of(&pairs), None);
}

/// Segments of 2 s, 900 kbit/s: 1800 kbit. 400 kbit in 1 s: all in 4.5 s, more than 3.6 s; 400 kbit/s carries rung 200 of 900: 400
/// kbit, less than the 1400 left: given up, with no step up for 10 s. Not with five traces, not within 0.5 s, not with more than
/// 18 s of buffer, not twice.
#[test]
fn a_slow_download_is_given_up_once() {
    let ladder = ladder(&[200, 500, 600, 900]);
    let ask = |rule: &mut DashJs, level: f64, kbit: u64, seconds: f64, reports: u32| {
        let so_far = Download { representation: 3, ..download(kbit, seconds, 0.0) };
        let progress = Progress { so_far, total_bytes: ladder.bytes(49, 3), reports };
        rule.abandon(&context(&ladder, level, 30.0, Some(3)), &progress).map(|a| a.representation)
    };
    assert_eq!(ask(&mut rule(), 10.0, 400, 1.0, 4), None);
    assert_eq!(ask(&mut rule(), 10.0, 200, 0.5, 9), None);
    assert_eq!(ask(&mut rule(), 18.1, 400, 1.0, 9), None);
    let mut rule = rule();
    assert_eq!(ask(&mut rule, 18.0, 400, 1.0, 5), Some(0));
    assert_eq!(ask(&mut rule, 18.0, 400, 1.0, 6), None);
    assert!(!rule.may_step_up(Time::from_secs(109)) && rule.may_step_up(Time::from_secs(110)));
}
