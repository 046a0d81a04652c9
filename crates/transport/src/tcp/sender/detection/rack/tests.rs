use super::*;

fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

fn open(min_rtt: u64) -> Situation {
    let (now, phase) = (Time::ZERO, Phase::Open);
    Situation { now, min_rtt: ms(min_rtt), srtt: ms(100), phase, una: 0, mss: 1000, duplicates: 0 }
}

#[test]
fn window_is_a_quarter_of_min_rtt_and_grows_by_dsack() {
    let mut rack = Rack::default();
    let window = |rack: &Rack| rack.reordering_window(&open(40), 1);
    assert_eq!(window(&rack), ms(10)); // 40/4
    rack.on_dsack(0, 1000);
    assert_eq!(window(&rack), ms(10)); // nothing was reordered (Linux `tcp_dsack_seen`)
    rack.reordering_seen = true;
    rack.on_dsack(0, 1000);
    assert_eq!(window(&rack), ms(20)); // 2*40/4
    rack.on_dsack(500, 2000); // same round: once
    assert_eq!(window(&rack), ms(20));
    for i in 1..=20 {
        rack.on_dsack(i * 2000, (i + 1) * 2000);
    }
    assert_eq!(window(&rack), ms(100)); // never above SRTT
    for _ in 0..16 {
        rack.on_recovery_exit();
    }
    assert_eq!(window(&rack), ms(10));
}

#[test]
fn window_is_zero_in_recovery_until_reordering_is_seen() {
    let mut rack = Rack::default();
    let recovering = Situation { phase: Phase::Recovery, ..open(40) };
    assert_eq!(rack.reordering_window(&recovering, 1), Duration::ZERO);
    assert_eq!(rack.reordering_window(&open(40), 3), Duration::ZERO);
    rack.reordering_seen = true;
    assert_eq!(rack.reordering_window(&recovering, 1), ms(10));
}
