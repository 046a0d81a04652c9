use super::*;
use crate::testbed::{Script, assert_close, assert_near};

fn flow(base_ms: u64) -> Script {
    let mut script = Script::new("ledbatpp", 10.0);
    script.rtt = Duration::from_millis(base_ms);
    script.ack(1);
    script
}

/// GAIN = 1 / min(16, ceil(2 * 60 / base)): 1/16 at 5 ms (24), 1/4 at 30 ms, 1/2 at 100 ms (1.2), 1 at 120 ms and more. In slow
/// start a packet adds GAIN.
#[test]
fn gain_by_hand() {
    for (base, gain) in [(5, 1.0 / 16.0), (30, 0.25), (100, 0.5), (120, 1.0), (600, 1.0)] {
        assert_close(flow(base).cwnd(), 2.0 + gain);
    }
}

/// 45 ms of 60 do not end slow start, 46 do: 100 packets at 30 ms and then at 75 and 76 ms; four samples tell.
#[test]
fn the_delay_ends_the_first_slow_start() {
    for (rtt, is_over) in [(75, false), (76, true)] {
        let mut script = flow(30);
        script.rtt = Duration::from_millis(rtt);
        (0..4).for_each(|_| script.ack(1));
        assert_eq!(script.cc.ssthresh().is_finite(), is_over, "{rtt}");
    }
}

/// A window of 100 at a base of 100 ms, GAIN 1/2, a round trip in which all 100 are acknowledged at once. Below the target: 0.5 more.
/// At 72 ms, a fifth above it: 0.5 - 100 * 0.2 = -19.5. At 180 ms -199.5, of which half the window is taken.
#[test]
fn a_round_by_hand() {
    for (delay, change) in [(30, 0.5), (60, 0.5), (72, -19.5), (180, -50.0)] {
        let mut script = flow(100);
        script.avoid_congestion_at(100.0);
        script.rtt = Duration::from_millis(100 + delay);
        (0..3).for_each(|_| script.ack(0));
        script.ack(100);
        assert_near(script.cwnd() - 100.0, change, 1e-9);
    }
}

/// Two round trips after slow start, which here ends at 10 packets, the window is 2 for two more; GAIN is 1 at 200 ms, so that 10 are
/// back after 2, 4 and 8 packets. The slowdown took 2 + 3 round trips of 0.2 s, 1 s in all, and the next begins after nine times that.
#[test]
fn slowdowns_by_hand() {
    let mut script = flow(200);
    script.avoid_congestion_at(10.0);
    let step = |script: &mut Script| script.ack_after(Duration::from_millis(200), script.cwnd() as u32, true);
    let mut windows = vec![];
    for _ in 0..60 {
        step(&mut script);
        windows.push(script.cwnd());
    }
    // Due two round trips after the first ACK of congestion avoidance.
    assert_eq!(windows[2], 2.0);
    assert_eq!(windows[3], 2.0);
    assert_eq!(windows[4..6], [4.0, 8.0]);
    assert!((10.0..12.1).contains(&windows[6]), "{windows:?}");
    let again = windows.iter().skip(7).position(|w| *w == 2.0).expect("a second slowdown") + 7;
    assert!((45..=55).contains(&(again - 7)), "{again}: {windows:?}");
}

/// A loss halves the window, as in Reno (§4).
#[test]
fn a_loss_halves() {
    let mut script = flow(100);
    script.avoid_congestion_at(100.0);
    script.lose();
    assert_close(script.cwnd(), 50.0);
}
