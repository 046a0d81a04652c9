use super::*;
use crate::abr::testing::{context, download, ladder};
use playpath_units::Duration;

const KBPS: [u64; 4] = [500, 1000, 2000, 4000];

fn with_placeholder(placeholder: f64) -> Enhanced {
    Enhanced { is_started: true, placeholder, ..Enhanced::new() }
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-3, "{got}, expected {expected}");
}

/// 10 + 3 s idle = 13. A second later, of which the rule asked for 0.4 s: 13 + 1 − 0.4 = 13.6.
#[test]
fn the_placeholder_grows_by_idle_time() {
    let ladder = ladder(&KBPS);
    let idle =
        |seconds: u64| crate::abr::Context { idle: Duration::from_secs(seconds), ..context(&ladder, 5.0, 30.0, None) };
    let mut enhanced = with_placeholder(10.0);
    enhanced.credit_idle(&idle(3));
    near(enhanced.placeholder, 13.0);
    enhanced.own_wait = 0.4;
    enhanced.credit_idle(&idle(4));
    near(enhanced.placeholder, 13.6);
}

/// Target 18 s, four rungs: V = 10 · 0.8 / ln 8 = 3.8472, gp = 2.5993 + 1. Rung 1: needed from 11.180 s, at most V · (0.6931 + 3.5993)
/// = 16.514 s; rung 3 from 16.514 s. After a download of 1 s the level is 9 s: 10 s at the request. Placeholder for rung 1: between
/// 1.180 and 6.514 s; for rung 3 at least 6.514 s.
#[test]
fn after_a_download_the_placeholder_fits_its_rate() {
    let ladder = ladder(&KBPS);
    let law = Law::enhanced(&ladder, 18.0);
    let after = |placeholder: f64, representation: usize| {
        let mut enhanced = with_placeholder(placeholder);
        let at = context(&ladder, 9.0, 30.0, None);
        enhanced.on_download(&at, &law, &Download { representation, ..download(2000, 1.0, 0.1) });
        enhanced.placeholder
    };
    near(after(20.0, 1), 6.514);
    near(after(2.0, 1), 2.0);
    near(after(0.0, 1), 1.180);
    near(after(0.0, 3), 6.514);
}

/// Given up for rung 1, which needs 11.180 s, with 5 s in the buffer: at most 6.180 s; for rung 0: 10 − 5 = 5 s.
#[test]
fn after_an_abandonment_the_placeholder_is_cautious() {
    let ladder = ladder(&KBPS);
    let law = Law::enhanced(&ladder, 18.0);
    for (representation, expected) in [(1, 6.180), (0, 5.0)] {
        let mut enhanced = with_placeholder(20.0);
        enhanced.on_abandonment(&context(&ladder, 5.0, 30.0, None), &law, representation);
        near(enhanced.placeholder, expected);
    }
}
