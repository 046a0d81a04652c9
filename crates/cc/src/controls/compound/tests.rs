use super::*;
use crate::testbed::{Script, assert_close, assert_near};
use crate::{CongestionControl, Undo, WindowChange};

const RULES: Rules =
    Rules { alpha: 0.125, beta: 0.5, k: 0.75, gamma: 30.0, zeta: 1.0, low_window: 38.0, is_literal: false };

#[test]
fn growth_of_the_delay_window() {
    // alpha win^k - 1: 100^0.75 / 8 = 31.6228/8 = 3.9528, less 1. 256: 64/8 - 1 = 7. 41: 16.2027/8 - 1 = 1.0253.
    for (window, increment) in [(100.0, 2.9528471), (256.0, 7.0), (41.0, 1.0253395)] {
        assert_near(RULES.after_round(window, 10.0, 0.0, true) - 10.0, increment, 1e-6);
    }
    // Zero at 16, never negative below: with the low window out of the way.
    let law = Rules { low_window: 0.0, ..RULES };
    assert_close(law.after_round(16.0, 10.0, 0.0, true), 10.0);
    assert_close(law.after_round(9.0, 10.0, 0.0, true), 10.0);
}

#[test]
fn reno_below_the_low_window_and_when_unused() {
    assert_eq!(RULES.after_round(37.9, 5.0, 0.0, true), 5.0);
    assert_eq!(RULES.after_round(100.0, 5.0, 0.0, false), 5.0);
}

#[test]
fn retreats_from_its_backlog() {
    // win 120, base 100 ms, RTT 150 ms: backlog 120 (1 - 100/150) = 40 >= 30: dwnd falls by 40, to 0 at the least.
    let backlog = 120.0 * (1.0 - 100.0 / 150.0);
    assert_close(RULES.after_round(120.0, 60.0, backlog, true), 20.0);
    assert_eq!(RULES.after_round(120.0, 30.0, backlog, true), 0.0);
    // Gamma itself is enough to retreat.
    assert_close(RULES.after_round(120.0, 60.0, 30.0, true), 30.0);
}

#[test]
fn a_loss_halves_the_sum() {
    // cwnd 60, dwnd 40: 30 and 100/2 - 30 = 20.
    assert_close(RULES.after_loss(100.0, 40.0), 20.0);
    let mut compound = Compound::new(&Params::defaults(ENTRY.params), 100.0);
    compound.reno.windows.ssthresh = 2.0;
    compound.delay_window = 40.0;
    let mut script = Script::new("newreno", 100.0);
    script.cc = Box::new(compound);
    script.lose();
    assert_close(script.cwnd(), 50.0);
}

#[test]
fn a_timeout_clears_the_delay_window_and_an_undo_brings_it_back() {
    let mut compound = Compound::new(&Params::defaults(ENTRY.params), 100.0);
    compound.delay_window = 40.0;
    let view = Script::new("newreno", 10.0).view;
    compound.on_rto(&view, &Rto { flight_size: 100, reduces: true });
    assert_eq!((compound.reno.windows.cwnd, compound.reno.windows.ssthresh, compound.delay_window), (1.0, 50.0, 0.0));
    compound.on_undo(&view, &Undo { was_rto: true });
    assert_eq!((compound.reno.windows.cwnd, compound.delay_window), (100.0, 40.0));
}

#[test]
fn slow_start_is_renos() {
    let mut script = Script::new("compound", 64.0);
    script.round();
    script.round();
    assert_eq!(script.cwnd(), 256.0);
}

#[test]
fn a_window_from_outside_has_no_delay_part() {
    let mut compound = Compound::new(&Params::defaults(ENTRY.params), 100.0);
    compound.delay_window = 40.0;
    let view = Script::new("newreno", 10.0).view;
    compound.on_window_change(&view, &WindowChange { cwnd: 30.0, ssthresh: 20.0 });
    assert_eq!((compound.reno.windows.cwnd, compound.delay_window), (30.0, 0.0));
}

#[test]
fn the_literal_form_never_starts() {
    // From 0 the increment is alpha 0^k - 1 = -1: the delay window stays at its floor and the window is Reno's.
    let literal = |name| {
        let mut script = Script::with(name, 100.0, |params| match name {
            "compound" => params.set_word("mode", "seed-literal"),
            _ => Ok(()),
        });
        script.avoid_congestion_at(100.0);
        (0..50).for_each(|_| script.round());
        script.cwnd()
    };
    assert_eq!(literal("compound"), literal("newreno"));
    let mut draft = Script::new("compound", 100.0);
    draft.avoid_congestion_at(100.0);
    (0..50).for_each(|_| draft.round());
    assert!(draft.cwnd() > 2.0 * literal("compound"), "{} against {}", draft.cwnd(), literal("compound"));
}
