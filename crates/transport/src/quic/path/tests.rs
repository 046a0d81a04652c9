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

/// quinn-proto 0.11.19, `connection/pacing.rs`, `Pacer::delay`: while the bucket holds a datagram nothing flows into it. Ten at 10 per ms: of
/// four that left at 0 and what waits at 1 ms, six go by what is left and ten by the millisecond; a leaky bucket has room for ten.
#[test]
fn a_bucket_of_trains_fills_only_when_it_is_empty() {
    let at_once = |in_trains| {
        let (rate, mut pacer) = (Rate::from_bits_per_sec(10_000 * 8_000), Pacer::default());
        let mut leave = |now: Time, most: u32| {
            let goes = |_: &u32| {
                let goes = pacer.departs_at(now, 1000, rate, 10_000, in_trains) == now;
                if goes {
                    pacer.on_sent(1000);
                }
                goes
            };
            (0..most).take_while(goes).count()
        };
        assert_eq!(leave(Time::ZERO, 4), 4);
        leave(Time::from_millis(1), 100)
    };
    assert_eq!((at_once(true), at_once(false)), (16, 10));
}
