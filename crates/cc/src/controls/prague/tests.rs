use crate::testbed::{Script, assert_close};

/// At 40 packets in congestion avoidance, the reference of 25 ms in force from the start. The script's rounds take 100 ms.
fn prague(reference_rtt: f64) -> Script {
    let mut script = Script::with("prague", 40.0, |params| {
        params.set_number("transition", 0.0)?;
        params.set_number("reference_rtt", reference_rtt)
    });
    script.avoid_congestion_at(40.0);
    script
}

#[test]
fn the_first_mark_halves_and_later_ones_take_their_share() {
    // Alpha becomes 1 with the first mark: 40 / 2. A round with 4 of 20 marked: 15/16 + 1/16 × 0.2 = 0.95; the 16 others add
    // 16/20 to 20. The second reduction leaves 20.8 × (1 − 0.475).
    let mut script = prague(0.025);
    script.congest_by_ecn(40);
    assert_close(script.cwnd(), 20.0);
    script.ack_marked(20, 4, true);
    assert_close(script.cwnd(), 20.8);
    script.congest_by_ecn(100);
    assert_close(script.cwnd(), 20.8 * 0.525);
}

#[test]
fn a_short_round_trip_grows_by_the_square_of_its_ratio() {
    // R = 100 ms as a flow of 200 ms: 40 packets add (1/2)² instead of 1.
    let mut script = prague(0.2);
    script.ack_marked(40, 0, false);
    assert_close(script.cwnd(), 40.25);
}

#[test]
fn marks_reduce_once_in_a_virtual_round_trip() {
    // 200 ms must pass; the second mark comes at once.
    let mut script = prague(0.2);
    script.congest_by_ecn(40);
    script.congest_by_ecn(20);
    assert_close(script.cwnd(), 20.0);
}

#[test]
fn a_loss_halves_whatever_alpha_is() {
    let mut script = prague(0.025);
    script.lose();
    assert_close(script.cwnd(), 20.0);
}

#[test]
fn it_paces_at_a_window_in_a_round_trip() {
    // 40 packets of the script's MSS in 100 ms, and a packet more after a round.
    let mut script = prague(0.025);
    script.ack_marked(40, 0, false);
    let rate = script.cc.pacing_rate().expect("it paces").as_bits_per_sec() as f64;
    assert_close(rate / (f64::from(script.view.mss) * 8.0 * 41.0), 10.0);
}
