use crate::testbed::{Script, assert_close};

/// At 40 packets in congestion avoidance.
fn dctcp() -> Script {
    let mut script = Script::new("dctcp", 40.0);
    script.avoid_congestion_at(40.0);
    script
}

#[test]
fn the_first_mark_halves() {
    // alpha is 1: 40 × (1 − 1/2).
    let mut script = dctcp();
    script.congest_by_ecn(40);
    assert_close(script.cwnd(), 20.0);
}

#[test]
fn alpha_follows_the_share_of_marks() {
    // Two rounds, 40 packets without a mark, then 10 of 40 marked: alpha 15/16, then 15/16 × 15/16 + 1/16 × 1/4 = 229/256.
    // The window grew by a packet a round and loses half of alpha.
    let mut script = dctcp();
    script.ack_marked(40, 0, true);
    script.ack_marked(40, 10, true);
    let before = script.cwnd();
    script.congest_by_ecn(100);
    assert_close(script.cwnd(), before * (1.0 - 229.0 / 512.0));
}

#[test]
fn a_loss_halves_whatever_alpha_is() {
    let mut script = dctcp();
    for _ in 0..100 {
        script.ack_marked(40, 0, true);
    }
    let before = script.cwnd();
    script.lose_of(1_000);
    assert_close(script.cwnd(), before / 2.0);
}
