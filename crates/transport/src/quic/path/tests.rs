use super::super::ecn::Verdict;
use super::super::packet::EcnCounts;
use super::*;
use crate::segment::Ecn as Codepoint;
use playpath_cc::Undo;
use playpath_units::Time;
use std::sync::{Arc, Mutex};

/// Three packets leave; the second is found lost before the third, which left before that, is acknowledged: its sample tells of one loss. In
/// ngtcp2 it does where an ACK revealed it and all of that ACK was taken, not where a timer did.
#[test]
fn losses_may_count_late_or_not_at_all() {
    for (counts_at_once, by_ack, expected) in [(true, false, 1), (false, false, 0), (false, true, 1)] {
        let mut config = Config::default();
        config.loss.counts_at_once = counts_at_once;
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
        path.on_lost(Time::from_millis(150), &second, 0);
        path.finish_ack(Time::from_millis(150), &Delivery::default(), u32::from(by_ack));
        assert_eq!(acked(&mut path, 160, &third), expected);
        assert_eq!(path.lost(), 1);
    }
}

/// A window of 2400 bytes, datagrams of 1200: RFC 9002 §7 lets one go with 1200 in flight; quinn (`poll_transmit`: `>=`) waits until less is;
/// ngtcp2 (`conn_cwnd_is_zero`: `>=`) waits when the window is full.
#[test]
fn the_last_datagram_of_a_window() {
    let max_in_flight = [(WindowFit::Within, 1200), (WindowFit::Below, 1199), (WindowFit::Beyond, 2399)];
    for (window_fit, most) in max_in_flight {
        let config = Config { window_fit, ..Config::default() };
        for bytes in [most, most + 1] {
            let mut path = Path::new(&config, playpath_cc::build("newreno", 2.0).unwrap());
            path.on_sent(Time::ZERO, bytes, false, &config.pacing);
            assert_eq!(path.has_room(), bytes == most, "{window_fit:?}, {bytes}");
        }
    }
}

/// 45 datagrams of 1000 bytes that left before anybody asked owe 36 ms at 10 Mbit/s, and then the next may leave: once it never might.
#[test]
fn a_debt_from_before_the_first_pause_is_paid_in_the_end() {
    let (rate, mut pacer) = (Rate::from_bits_per_sec(10_000_000), Pacer::default());
    pacer.on_sent(Time::ZERO, 45_000);
    let mut departs = |now| pacer.departs_in_debt(now, 1000, rate, 10_000, Duration::from_millis(1));
    assert_eq!(departs(Time::ZERO), Time::from_millis(36));
    assert_eq!(departs(Time::from_millis(10)), Time::from_millis(36));
    assert_eq!(departs(Time::from_millis(36)), Time::from_millis(36));
}

/// quinn-proto 0.11.19, `connection/pacing.rs`, `Pacer::delay`: while the bucket holds a datagram nothing flows into it. Ten at 10 per ms: of
/// four that left at 0 and what waits at 1 ms, six go by what is left and ten by the millisecond; a leaky bucket has room for ten. With
/// ten datagrams to a call the seventh is asked for while the sixth lies in the bucket, so there is room for nine.
#[test]
fn a_bucket_of_trains_fills_only_when_it_is_empty() {
    let at_once = |segments| {
        let (rate, mut pacer) = (Rate::from_bits_per_sec(10_000 * 8_000), Pacer::default());
        let mut leave = |now: Time, most: u32| {
            let goes = |_: &u32| {
                let goes = pacer.departs_at(now, 1000, rate, 10_000, segments) == now;
                if goes {
                    pacer.on_sent(now, 1000);
                }
                goes
            };
            (0..most).take_while(goes).count()
        };
        assert_eq!(leave(Time::ZERO, 4), 4);
        leave(Time::from_millis(1), 100)
    };
    assert_eq!([0, 1, 10].map(at_once), [10, 16, 15]);
}

/// A window that grows by each packet that may let it, and that nothing lowers.
struct Growing(f64, RecoveryWindow);

impl CongestionControl for Growing {
    fn cwnd(&self) -> f64 {
        self.0
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn recovery_window(&self) -> RecoveryWindow {
        self.1
    }
    fn on_ack(&mut self, _view: &View, event: &Ack) {
        self.0 += f64::from(if event.may_grow { event.acked } else { 0 });
    }
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {}
    fn on_rto(&mut self, _view: &View, _event: &Rto) {}
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
}

/// Ten packets fill the window, the first is lost, the second is acknowledged in the recovery that it left before, one sent in the recovery
/// ends it, and the third comes late. RFC 9002 §B.5 lets its own window grow by the one that ends it alone; a control that rules its own
/// window may grow it by all three ([`RecoveryWindow::Controller`]), as over TCP.
#[test]
fn a_recovery_forbids_growth_only_to_the_window_of_rfc_9002() {
    for (rules, grown) in [(RecoveryWindow::Transport, 1.0), (RecoveryWindow::Controller, 3.0)] {
        let config = Config::default();
        let mut path = Path::new(&config, Box::new(Growing(10.0, rules)));
        let send = |path: &mut Path, at| {
            let stamp = path.on_sent(Time::from_millis(at), 1200, false, &config.pacing);
            Sent::eliciting(at, stamp, 1200, 1170)
        };
        let flight: Vec<Sent> = (0..10).map(|at| send(&mut path, at)).collect();
        path.note_pause(true);
        path.on_lost(Time::from_millis(100), &flight[0], 0);
        let sign = Sign {
            signal: CongestionSignal::Loss,
            newest_sent_at: Time::ZERO,
            oldest_sent_at: Time::ZERO,
            newly_lost: 1,
            prior_packets_out: 10,
        };
        path.on_congestion(Time::from_millis(100), sign);
        let in_recovery = send(&mut path, 101);
        for (at, sent) in [(102, &flight[1]), (202, &in_recovery), (203, &flight[2])] {
            let mut delivery = path.begin_ack();
            path.on_acked(&mut delivery, sent);
            path.deliver(Time::from_millis(at), &mut delivery);
            path.finish_ack(Time::from_millis(at), &delivery, 0);
        }
        assert_eq!(path.control.cwnd(), 10.0 + grown, "{rules:?}");
    }
}

/// Window, rate and phase of a control that sends what it may for so many round trips of `rtt` ms from `start` on.
fn drive(path: &mut Path, config: &Config, start: u64, rtt: u64) -> Vec<(u64, Option<Rate>, &'static str)> {
    let round = |number: u64| {
        let at = Time::from_millis(start + number * rtt);
        let mut flight = Vec::new();
        while path.has_room() {
            let stamp = path.on_sent(at, 1200, false, &config.pacing);
            flight.push(Sent::eliciting(number, stamp, 1200, 1170));
        }
        path.note_pause(true);
        let (now, mut delivery) = (at + Duration::from_millis(rtt), path.begin_ack());
        path.rtt.add_sample(now, Duration::from_millis(rtt), Duration::ZERO);
        delivery.rtt = Some(Duration::from_millis(rtt));
        flight.iter().for_each(|sent| path.on_acked(&mut delivery, sent));
        path.deliver(now, &mut delivery);
        path.finish_ack(now, &delivery, 0);
        (path.window(), path.control().pacing_rate(), path.control().phase())
    };
    (0..8).map(round).collect()
}

/// RFC 9000 §9.4: after round trips of 20 ms the peer is reached by a path of 100 ms. What the control makes of that path is what it makes of
/// it as the first one, whatever it remembers: a base RTT, a model, a slow start that is over.
#[test]
fn another_path_has_another_control() {
    let config = Config::default();
    for entry in playpath_cc::entries() {
        let control = || playpath_cc::build(entry.name, config.initial_window).expect("registered");
        let mut moved = Path::new(&config, control());
        moved.start(Time::ZERO);
        drive(&mut moved, &config, 0, 20);
        let in_flight = moved.on_sent(Time::from_millis(200), 1200, false, &config.pacing);
        moved.on_lost(Time::from_millis(300), &Sent::eliciting(9, in_flight, 1200, 1170), 0);
        moved.start_anew(Time::from_secs(1), &config, control());
        let mut fresh = Path::new(&config, control());
        fresh.start(Time::from_secs(1));
        assert_eq!((moved.lost(), moved.latest_rate(), moved.rtt.min()), (1, fresh.latest_rate(), Duration::MAX));
        let [moved, fresh] = [&mut moved, &mut fresh].map(|path| drive(path, &config, 1000, 100));
        assert_eq!(moved, fresh, "{}", entry.name);
    }
}

/// Notes the pauses that it is told of.
struct Listener(Arc<Mutex<Vec<Duration>>>);

impl CongestionControl for Listener {
    fn cwnd(&self) -> f64 {
        10.0
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn on_ack(&mut self, _view: &View, _event: &Ack) {}
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {}
    fn on_rto(&mut self, _view: &View, _event: &Rto) {}
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
    fn on_idle_restart(&mut self, _view: &View, event: &IdleRestart) {
        self.0.lock().unwrap().push(event.idle);
    }
}

/// All is acknowledged at 100 ms, and the next packet leaves at 5 s: a pause of 4.9 s. A timer finds that one lost at 5.2 s, and its data goes
/// again at once: no pause, though nothing was in flight; once it was one of 5.1 s, and Vegas forgot its base RTT.
#[test]
fn what_was_lost_is_no_pause() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let config = Config::default();
    let mut path = Path::new(&config, Box::new(Listener(Arc::clone(&heard))));
    let send = |path: &mut Path, at, number| {
        let stamp = path.on_sent(Time::from_millis(at), 1200, false, &config.pacing);
        Sent::eliciting(number, stamp, 1200, 1170)
    };
    let first = send(&mut path, 0, 0);
    let mut delivery = path.begin_ack();
    path.on_acked(&mut delivery, &first);
    path.deliver(Time::from_millis(100), &mut delivery);
    path.finish_ack(Time::from_millis(100), &delivery, 0);
    let second = send(&mut path, 5000, 1);
    path.on_lost(Time::from_millis(5200), &second, 0);
    send(&mut path, 5200, 2);
    assert_eq!(*heard.lock().unwrap(), [Duration::from_millis(4900), Duration::ZERO]);
}

/// Three marks on one path; on the next, with a new control or the old one, the same three in the first ACK are no congestion.
#[test]
fn marks_of_the_path_before_are_none_of_this_one() {
    let config = Config { marking: Codepoint::Ect0, ..Config::default() };
    let control = || playpath_cc::build("newreno", 10.0).unwrap();
    let counts = |ect0| Some(EcnCounts { ect0, ect1: 0, ce: 3 });
    type Move = fn(&mut Path, &Config, Box<dyn CongestionControl>);
    let moves: [Move; 2] = [
        |path, config, control| path.start_anew(Time::ZERO, config, control),
        |path, config, _| path.keep_control(Time::ZERO, config),
    ];
    for moves in moves {
        let mut path = Path::new(&config, control());
        assert_eq!(path.ecn.on_ack(2, counts(7), 10, 20), Verdict::Congestion(3));
        moves(&mut path, &config, control());
        assert!(path.ecn.marks() && !path.ecn.is_capable());
        assert_eq!(path.ecn.on_ack(2, counts(12), 5, 20), Verdict::Nothing);
        assert!(path.ecn.is_capable());
    }
}
