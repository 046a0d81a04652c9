use super::super::testing::view;
use super::*;
use playpath_units::Duration;

/// Windows of 10, backlog 10, delta 10 ms. 50/100 ms: 50·20 = 1000 < 10·110 = 1100, then 100·10 = 1000 < 10·110: use slow.
/// 50/200 ms: 1000 < 2100, then 200·10 = 2000 ≥ 1100: wait.
#[test]
fn worked_examples() {
    let mut ecf = Ecf::new(&Params::defaults(ENTRY.params));
    let with = |path, ms| SubflowView { rttvar: Duration::from_millis(5), ..view(path, ms, 10.0) };
    assert!(!ecf.waits(&with(0, 50), &with(1, 100), 10.0));
    assert!(!ecf.is_waiting);
    assert!(ecf.waits(&with(0, 50), &with(1, 200), 10.0));
    assert!(ecf.is_waiting);
    // Backlog 35: 50·45 = 2250 ≥ 2100, but with hysteresis 2250 < 2625: it goes on waiting.
    assert!(ecf.waits(&with(0, 50), &with(1, 200), 35.0));
    // Backlog 50: 3000 ≥ 2625: the slow path helps.
    assert!(!ecf.waits(&with(0, 50), &with(1, 200), 50.0));
    assert!(!ecf.is_waiting);
}

/// Calm paths under Linux's rules: `rttvar_us` is at its floor of 200 ms, a quarter of it in the view, and delta 100 ms. 20/100 ms, all
/// else 10: 20·20 = 400 < 10·200, then 100·10 = 1000 < 10·(40 + 100): use slow. From 140 ms on it waits.
#[test]
fn the_timer_s_floor_counts_as_in_the_kernel() {
    let mut ecf = Ecf::new(&Params::defaults(ENTRY.params));
    let with = |path, ms| SubflowView { rttvar: Duration::from_millis(50), ..view(path, ms, 10.0) };
    assert!(!ecf.waits(&with(0, 20), &with(1, 100), 10.0));
    assert!(!ecf.waits(&with(0, 20), &with(1, 139), 10.0));
    assert!(ecf.waits(&with(0, 20), &with(1, 140), 10.0));
}
