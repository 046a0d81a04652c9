use super::super::config::Config;
use super::*;

/// Window 100, updates at half. 49 read: nothing. 50 read after 3 round trips: 150. 60 more within a round trip: window 200, limit
/// 110 + 200 = 310; again: 400 is above the bound of 300, so 300.
#[test]
fn worked_tuning() {
    let (flow, srtt) = (Config::default().flow, || Duration::from_millis(10));
    let mut grant = Grant::new(100, 300);
    grant.on_read(Time::from_millis(30), 49, srtt, &flow);
    assert!(!grant.is_pending());
    grant.on_read(Time::from_millis(30), 1, srtt, &flow);
    assert_eq!((grant.is_pending(), grant.advertise()), (true, 150));
    grant.on_read(Time::from_millis(40), 60, srtt, &flow);
    assert_eq!(grant.advertise(), 310);
    grant.on_read(Time::from_millis(50), 190, srtt, &flow);
    assert_eq!((grant.advertise(), grant.limit()), (300 + 300, 600));
}

/// The first update has none before it from which round trips could be counted, however early it comes.
#[test]
fn the_first_update_keeps_the_window() {
    let mut grant = Grant::new(100, 300);
    grant.on_read(Time::from_millis(1), 50, || Duration::from_millis(10), &Config::default().flow);
    assert_eq!(grant.advertise(), 150);
}
