use super::super::testing::view;
use super::*;
use playpath_units::Duration;

/// Windows of 10, backlog 10, delta 10 ms. 50/100 ms: 50·20 = 1000 < 10·110 = 1100, then 100·10 = 1000 < 10·110: use slow.
/// 50/200 ms: 1000 < 2100, then 200·10 = 2000 ≥ 1100: wait.
#[test]
fn worked_examples() {
    let mut ecf = Ecf::new(&Params::defaults(ENTRY.params));
    let with = |path, ms| SubflowView { rttvar: Duration::from_millis(10), ..view(path, ms, 10.0) };
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
