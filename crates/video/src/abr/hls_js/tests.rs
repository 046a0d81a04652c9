use super::super::testing::{context, download, ladder};
use super::*;
use playpath_units::Time;

fn rule() -> HlsJs {
    HlsJs::new(&Params::defaults(PARAMS))
}

/// Time to the first byte 100 ms: its average is 100 ms; 2000 kbit in 1.1 s less 0.1 s: 2 Mbit/s.
#[test]
fn the_usual_time_to_the_first_byte_is_left_out() {
    let ladder = ladder(&[500, 1000]);
    let mut rule = rule();
    rule.on_download(&context(&ladder, 10.0, 30.0, None), &download(2000, 1.1, 0.1));
    let estimator = rule.estimator.expect("a sample");
    assert!((estimator.ttfb_ms() - 100.0).abs() < 1e-9 && (estimator.bits_per_sec() - 2e6).abs() < 1e-3);
}

/// 2 Mbit/s: 0.7 of it for a step up (1400), 0.95 to stay (1900); with 10 s of buffer every segment is in time. With 1 s: rung 1300
/// would take 0.1 + 2600 / 1900 = 1.47 s, more than 1 s; 500 takes 0.1 + 1000 / 1900 = 0.63 s.
#[test]
fn a_step_up_needs_more_and_a_low_buffer_a_quick_segment() {
    let ladder = ladder(&[500, 1300, 1500]);
    let choose = |level: f64, previous: usize| {
        let mut rule = HlsJs { known: 0b111, ..rule() };
        let at = context(&ladder, level, 30.0, Some(previous));
        rule.on_download(&at, &Download { representation: previous, ..download(2000, 1.1, 0.1) });
        rule.choose(&at).representation()
    };
    assert_eq!([choose(10.0, 0), choose(10.0, 2), choose(1.0, 1)], [Some(1), Some(2), Some(0)]);
}

/// Without an estimate 500 kbit/s, or the lowest rung.
#[test]
fn the_first_segment() {
    for (rates, first) in [(&[200u64, 400, 600][..], 1), (&[700, 900], 0)] {
        let ladder = ladder(rates);
        assert_eq!(rule().choose(&context(&ladder, 0.0, 30.0, None)).representation(), Some(first));
    }
}

/// Segments of 2 s; 1.5 Mbit/s, 3 s of buffer, 200 kbit in 1.5 s after 0.1 s: 143 kbit/s, 2800 kbit left: 19.6 s. Rung 1 (200
/// kbit/s) takes 0.1 + 400 / 143 = 2.9 s, more than 2.1 s; no rung between it and the lowest: that is what is asked for.
#[test]
fn a_segment_that_would_stall_is_given_up() {
    let ladder = ladder(&[100, 200, 1500]);
    let ask = |level: f64, at_s: f64| {
        let mut rule = HlsJs { known: 0b111, loaded: Some(2), ..rule() };
        let so_far = Download { representation: 2, ..download(200, at_s, 0.1) };
        let at = Context { now: Time::from_secs(90), ..context(&ladder, level, 30.0, Some(2)) };
        let progress = Progress { so_far, total_bytes: 375_000, reports: 9 };
        rule.abandon(&at, &progress).map(|a| a.representation)
    };
    assert_eq!([ask(3.0, 1.5), ask(3.0, 0.9), ask(25.0, 1.5)], [Some(0), None, None]);
}

/// Live, 3 Mbit/s with 1 s of buffer: 0.7 of it carries 2000, whose segment takes 0.1 + 4000 / 2100 = 2 s. On demand that is too long.
#[test]
fn live_the_time_to_load_does_not_count() {
    let ladder = ladder(&[500, 1000, 2000]);
    let second = Duration::from_secs(1);
    let live = super::super::LiveState {
        latency: second * 4,
        available: second * 3,
        target: second * 4,
        speed: 1.0,
        is_low_latency: false,
    };
    let choose = |live| {
        let mut rule = HlsJs { known: 0b111, ..rule() };
        let at = Context { live, ..context(&ladder, 1.0, 30.0, Some(0)) };
        rule.on_download(&at, &download(3000, 1.1, 0.1));
        rule.choose(&at).representation()
    };
    assert_eq!([choose(None), choose(Some(live))], [Some(0), Some(2)]);
}
