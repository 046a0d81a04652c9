use super::*;
use playpath_units::Time;

/// Three packets leave; the second is found lost before the third, which left before that, is acknowledged: its sample tells of one loss, or
/// of none where what a timer finds does not count.
#[test]
fn what_a_timer_finds_may_not_count() {
    for (counts, expected) in [(true, 1), (false, 0)] {
        let config = Config::default();
        let mut path = Path::new(&config, playpath_cc::build("newreno", 10.0).unwrap());
        let mut send = |number| {
            let stamp = path.on_sent(Time::from_millis(number), 1200, false, &config.pacing);
            Sent::eliciting(number, stamp, 1200, 1170)
        };
        let [first, second, third] = [0, 1, 2].map(&mut send);
        let acked = |path: &mut Path, at, sent| {
            let mut delivery = path.begin_ack();
            path.on_acked(&mut delivery, sent);
            path.deliver(Time::from_millis(at), &mut delivery);
            delivery.rate.expect("a sample").lost
        };
        assert_eq!(acked(&mut path, 100, &first), 0);
        path.on_lost(Time::from_millis(150), &second, 0, counts);
        assert_eq!(acked(&mut path, 160, &third), expected);
        assert_eq!(path.lost(), 1);
    }
}

/// A window of two packets with one in flight: RFC 9002 §7 lets the second go; quinn (`poll_transmit`: `>=`) waits until less is in flight.
#[test]
fn the_window_may_have_to_stay_unfilled() {
    for stays_below_window in [false, true] {
        let config = Config { stays_below_window, ..Config::default() };
        let mut path = Path::new(&config, playpath_cc::build("newreno", 2.0).unwrap());
        path.on_sent(Time::ZERO, 1200, false, &config.pacing);
        assert_eq!(path.has_room(), !stays_below_window);
        let mut path = Path::new(&config, playpath_cc::build("newreno", 2.0).unwrap());
        path.on_sent(Time::ZERO, 1199, false, &config.pacing);
        assert!(path.has_room(), "a byte remains");
    }
}
