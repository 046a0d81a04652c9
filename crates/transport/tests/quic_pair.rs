//! Two QUIC endpoints in virtual time: handshakes, transfers, losses, streams, flow control.

mod quic_support;

use playpath_transport::Ecn;
use playpath_transport::quic::config::{Config, OwnRate, Resumption};
use playpath_transport::quic::packet::{Datagram, Frame, Kind};
use playpath_transport::quic::{Event, Priority};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};
use quic_support::{Pair, Wire, ends, ends_with};

fn wires() -> [Wire; 2] {
    [Wire::new(Some(10.0), 20), Wire::new(Some(10.0), 20)]
}

fn pair<F: FnMut(bool, u64, &mut Datagram) -> bool>(change: impl Fn(&mut Config), fate: F) -> Pair<F> {
    let [client, server] = ends(change);
    Pair::new(client, server, wires(), fate)
}

/// The client asks with 400 bytes as soon as it may, the server answers with `bytes`. When the client has read them all.
fn fetch<F: FnMut(bool, u64, &mut Datagram) -> bool>(pair: &mut Pair<F>, bytes: u64) -> Time {
    let mut id = None;
    let (mut left, mut is_asked) = (bytes, false);
    while pair.now < Time::from_secs(120) {
        pair.drain();
        if id.is_none() {
            id = pair.client.open();
            if let Some(id) = id {
                pair.client.write(id, 400);
                pair.client.finish(id);
            }
        }
        if let Some(id) = id {
            is_asked |= pair.server.stats().bytes_delivered >= 400;
            if is_asked && left > 0 {
                left -= pair.server.write(id, left);
                if left == 0 {
                    pair.server.finish(id);
                }
            }
            if pair.client.stats().bytes_delivered == bytes && pair.client.is_read_to_end(id) {
                return pair.now;
            }
        }
        if !pair.step() {
            break;
        }
    }
    panic!("{} of {bytes} at {}: {:?}", pair.client.stats().bytes_delivered, pair.now, pair.server.stats());
}

/// RTT 40 ms, 10 Mbit/s. The Initial of 1228 bytes takes 0.98 ms; it arrives at 20.98. The server's first three datagrams (3 × 1200 = 3600,
/// its limit) hold ServerHello and its flight of 2436 bytes; the last arrives at 20.98 + 3 × 0.98 + 20 = 43.9 ms.
#[test]
fn handshake_takes_one_round_trip() {
    let mut pair = pair(|_| {}, |_, _, _| true);
    pair.run_until(Time::from_millis(200));
    let at = pair.at(true, Event::Connected).unwrap().as_secs_f64() * 1e3;
    assert!((43.0..44.5).contains(&at), "{at}");
    let at = pair.at(false, Event::Connected).unwrap().as_secs_f64() * 1e3;
    assert!((62.5..65.0).contains(&at), "{at}");
    assert_eq!((pair.client.stats().packets_lost, pair.server.stats().packets_lost), (0, 0));
}

/// A chain of 6000 bytes does not fit three times the client's 1200: the server waits for the client's ACK, a round trip.
#[test]
fn a_long_chain_costs_a_round_trip() {
    let connected = |certificate| {
        let mut pair = pair(|config| config.tls.certificate = certificate, |_, _, _| true);
        pair.run_until(Time::from_millis(400));
        pair.at(true, Event::Connected).unwrap()
    };
    let extra = connected(6000).saturating_since(connected(2200)).as_millis_f64();
    assert!((38.0..48.0).contains(&extra), "{extra}");
}

/// 1-RTT: handshake 44 ms, then request and answer 41: about 86. With a ticket and early data the request rides with the ClientHello.
#[test]
fn early_data_saves_a_round_trip() {
    let time = |resumption| {
        let mut pair = pair(|config| config.tls.resumption = resumption, |_, _, _| true);
        fetch(&mut pair, 1000).as_secs_f64() * 1e3
    };
    let (full, early) = (time(Resumption::None), time(Resumption::EarlyData));
    assert!((82.0..92.0).contains(&full), "{full}");
    assert!((41.0..48.0).contains(&early), "{early}");
}

/// The server's first flight is lost, ServerHello and early answer: what the client's next Initial allows is the ServerHello again, and not new
/// data that the client cannot read (RFC 9002 appendix A.6).
#[test]
fn a_server_at_its_limit_repeats_its_hello_first() {
    for lost in 1..6 {
        let early = |config: &mut Config| config.tls.resumption = Resumption::EarlyData;
        let mut pair = pair(early, |from_client, number, _| from_client || number >= lost);
        let at = fetch(&mut pair, 100_000);
        assert!(at < Time::from_secs(8), "{lost}: {at}");
    }
}

#[test]
fn rejected_early_data_is_sent_again() {
    let [client, _] = ends(|config| config.tls.resumption = Resumption::EarlyData);
    let [_, server] = ends(|config| config.tls.resumption = Resumption::Ticket);
    let mut kinds = vec![];
    let fate = |from_client: bool, _, datagram: &mut Datagram| {
        let has_stream = |frame: &Frame| matches!(frame, Frame::Stream { .. });
        let stream = datagram.packets().filter(|packet| packet.frames.as_slice().iter().any(has_stream));
        kinds.extend(stream.filter(|_| from_client).map(|packet| packet.kind));
        true
    };
    let mut pair = Pair::new(client, server, wires(), fate);
    let at = fetch(&mut pair, 1000).as_secs_f64() * 1e3;
    assert!((82.0..95.0).contains(&at), "{at}");
    assert!(pair.at(true, Event::EarlyDataRejected).is_some());
    assert_eq!(pair.client.stats().congestion_events, 0);
    drop(pair);
    assert_eq!(kinds[..2], [Kind::ZeroRtt, Kind::OneRtt]);
}

#[test]
fn every_datagram_of_the_handshake_may_be_lost() {
    for lost in 1..=6 {
        for is_client in [true, false] {
            let mut pair = pair(|_| {}, |from_client, nth, _| !(from_client == is_client && nth == lost));
            let at = fetch(&mut pair, 100_000);
            assert!(at < Time::from_secs(4), "{lost} of {is_client}: {at}");
        }
    }
}

/// A third of all datagrams vanish, in both directions: everything arrives all the same.
#[test]
fn a_transfer_survives_heavy_loss() {
    for seed in 0..20 {
        let mut random = RootSeed(seed).stream("loss");
        let mut pair = pair(|_| {}, move |_, _, _| !random.chance(0.3));
        fetch(&mut pair, 300_000);
        let stats = pair.server.stats();
        assert!(stats.bytes_acked >= 300_000 - 50_000, "{stats:?}");
    }
}

/// 10 Mbit/s and a queue of 50 kB (one BDP): NewReno keeps the link busy. 10 MB need 8.0 s of payload; with 1150 of 1228 bytes 8.55 s.
#[test]
fn bulk_fills_the_link() {
    let [client, server] = ends(|config| config.send_buffer = 1 << 24);
    let [up, mut down] = wires();
    down.queue_bytes = 50_000;
    let mut pair = Pair::new(client, server, [up, down], |_, _, _| true);
    let at = fetch(&mut pair, 10_000_000).as_secs_f64();
    assert!((8.5..9.4).contains(&at), "{at}");
    let stats = pair.server.stats();
    assert_eq!(stats.packets_lost, pair.down.dropped, "every loss is one");
    assert!(stats.congestion_events >= 2 && stats.congestion_events < 40, "{stats:?}");
    assert_eq!((stats.spurious_losses, stats.pto_count), (0, 0));
}

/// A window of 30 kB for the stream at 40 ms: 6 Mbit/s at most, where it cannot grow; where it may, the link's rate.
#[test]
fn a_small_window_limits_and_tuning_lifts_it() {
    let time = |most| {
        let change = move |config: &mut Config| {
            config.flow.stream = 30_000;
            config.flow.max_stream = most;
        };
        fetch(&mut pair(change, |_, _, _| true), 3_000_000).as_secs_f64()
    };
    let (fixed, tuned) = (time(30_000), time(1 << 20));
    assert!(fixed > 3_000_000.0 * 8.0 / 6.2e6, "{fixed}");
    assert!(tuned < 3.2, "{tuned}");
}

/// Two answers of 400 kB: one after the other without `incremental`, side by side with it.
#[test]
fn priorities_order_streams() {
    let ends_of = |incremental, urgencies: [u8; 2]| {
        let mut pair = pair(|_| {}, |_, _, _| true);
        pair.run_until(Time::from_millis(100));
        let ids = [pair.client.open().unwrap(), pair.client.open().unwrap()];
        for id in ids {
            pair.client.write(id, 100);
            pair.client.finish(id);
        }
        pair.run_until(Time::from_millis(150));
        for (id, urgency) in ids.into_iter().zip(urgencies) {
            pair.server.set_priority(id, Priority { urgency, incremental });
            assert_eq!(pair.server.write(id, 400_000), 400_000);
            pair.server.finish(id);
        }
        ids.map(|id| {
            pair.run_while(Time::from_secs(9), |pair| !pair.client.is_read_to_end(id));
            pair.now.as_secs_f64()
        })
    };
    let [first, second] = ends_of(false, [3, 3]);
    assert!(second - first > 0.25, "{first} {second}");
    let [first, second] = ends_of(true, [3, 3]);
    assert!((second - first).abs() < 0.02, "{first} {second}");
    let [first, second] = ends_of(false, [5, 1]);
    assert!(first >= second, "the second is more urgent: {first} {second}");
}

/// A lost packet of one stream holds up no other.
#[test]
fn loss_blocks_its_own_stream_only() {
    let mut has_dropped = false;
    let fate = move |from_client: bool, _, datagram: &mut Datagram| {
        let is_first = |frame: &Frame| matches!(frame, Frame::Stream { id: 0, offset: 0, .. });
        let hit = !from_client && !has_dropped && datagram.packet.frames.as_slice().iter().any(is_first);
        has_dropped |= hit;
        !hit
    };
    let mut pair = pair(|_| {}, fate);
    pair.reads = false;
    pair.run_until(Time::from_millis(100));
    let ids = [pair.client.open().unwrap(), pair.client.open().unwrap()];
    let _ = ids.map(|id| pair.client.write(id, 100));
    pair.run_until(Time::from_millis(150));
    let _ = ids.map(|id| pair.server.write(id, 3000));
    pair.run_until(Time::from_millis(185));
    assert_eq!(ids.map(|id| pair.client.readable(id)), [0, 3000]);
    pair.run_until(Time::from_millis(400));
    assert_eq!(ids.map(|id| pair.client.readable(id)), [3000, 3000]);
}

/// Marks instead of drops: the window is reduced, nothing is lost, and the counts validate the path.
#[test]
fn ecn_reduces_without_loss() {
    let [client, server] = ends(|config| config.marking = Ecn::Ect0);
    let [up, mut down] = wires();
    down.marks_above = 20_000;
    let mut pair = Pair::new(client, server, [up, down], |_, _, _| true);
    let at = fetch(&mut pair, 5_000_000).as_secs_f64();
    let (stats, info) = (pair.server.stats(), pair.server.info());
    assert!(at < 4.8 && info.is_ecn_capable, "{at} {info:?}");
    assert!(stats.congestion_events > 2 && stats.packets_lost == 0, "{stats:?}");
}

/// A lost ticket travels again beside new data: none of the streams' bytes were sent again.
#[test]
fn a_ticket_sent_again_is_no_data() {
    let is_ticket = |frame: &Frame| matches!(frame, Frame::Crypto { .. });
    let mut lost = 0;
    let mut pair = pair(
        |_| {},
        |_, _, datagram| {
            let carries =
                datagram.packet.kind == Kind::OneRtt && datagram.packet.frames.as_slice().iter().any(is_ticket);
            lost += u32::from(carries);
            !carries || lost > 1
        },
    );
    fetch(&mut pair, 200_000);
    let stats = pair.server.stats();
    assert!(lost >= 2, "it is sent again");
    assert_eq!((stats.retransmitted_bytes, stats.retransmitted_packets), (0, 0), "{stats:?}");
}

/// Paced at 1.25 of the window's rate a round's packets spread over 4/5 of it; no more than a burst back to back. A control that wants
/// packets to leave one by one, as Slack does, gets no burst: 2 x 72 kB / 100 ms, as it paces slow start, are 46 ms. A stack may have
/// smaller bursts for a control's own rate, as ngtcp2 for BBR's, or not ask for it, as quinn. In debt six bursts of ten leave, a pause of
/// 10 x 1.2 kB x 115 ms (smoothed, with the ACK's delay) / (1.25 x 72 kB) = 15.3 ms after each of the first five: 77 ms,
/// in whole milliseconds each.
#[test]
fn pacing_spreads_a_window() {
    // 66 kB, the first 12 kB at once, the rest at 1.25 × 72 kB / 100 ms: 60 ms.
    let bucket = OwnRate::Bucket { interval: Duration::from_millis(1), least: 2 };
    for (control, own_rate, in_debt, most, expected) in [
        ("newreno", OwnRate::Taken, None, 11, 50.0..70.0),
        ("newreno", OwnRate::Taken, Some(Duration::from_millis(1)), 10, 76.0..78.0),
        ("slack", OwnRate::Taken, None, 1, 40.0..60.0),
        ("bbr", bucket, None, 3, 40.0..60.0),
        ("bbr", OwnRate::Ignored, None, 11, 50.0..70.0),
    ] {
        let [client, server] = ends_with(control, |config| {
            config.initial_window = 60.0;
            config.pacing.max_burst = 10;
            (config.pacing.own_rate, config.pacing.in_debt) = (own_rate, in_debt);
        });
        let mut times = vec![];
        let start = Time::from_millis(100);
        let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], |_, _, _| true);
        pair.run_until(start);
        let id = pair.client.open();
        pair.run_until(Time::from_millis(250));
        let id = id.or_else(|| pair.client.open()).unwrap();
        pair.client.write(id, 100);
        pair.run_until(Time::from_millis(400));
        pair.server.write(id, 60 * 1100);
        let begin = pair.now;
        while pair.server.stats().data_bytes_sent < 60 * 1100 {
            let before = pair.server.stats().data_packets_sent;
            pair.step();
            let sent = pair.server.stats().data_packets_sent - before;
            assert!(sent <= most, "{control}: {sent} at once");
            times.push(pair.now);
        }
        let spread = times.last().unwrap().saturating_since(begin).as_millis_f64();
        assert!(expected.contains(&spread), "{control}: {spread}");
    }
}

/// Slow start loses one packet. The next is acknowledged at once, the two after it by the ACK that reveals the loss: quinn's window grows by
/// two before it is halved, RFC 9002's does not.
#[test]
fn acks_may_count_before_losses() {
    let entry = playpath_cc::find("newreno").unwrap();
    let control = || (entry.build)(&entry.params_of(playpath_cc::Stack::Quinn), 10.0);
    let threshold = |acks_first| {
        let config = Config { acks_first, ..Config::default() };
        let client = playpath_transport::quic::Connection::connect(Time::ZERO, config, control());
        let server = playpath_transport::quic::Connection::listen(config, control());
        let mut pair = Pair::new(client, server, wires(), |from_client, nth, _| from_client || nth != 20);
        fetch(&mut pair, 100_000);
        pair.server.control().ssthresh()
    };
    assert_eq!(threshold(true) - threshold(false), 1.0);
}

#[test]
fn the_same_events_give_the_same_run() {
    let run = |seed| {
        let mut random = RootSeed(seed).stream("loss");
        let mut pair = pair(|_| {}, move |_, _, _| !random.chance(0.02));
        (fetch(&mut pair, 2_000_000), pair.server.stats(), pair.client.stats())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

/// Every control of the registry carries a transfer over a lossy link.
#[test]
fn all_controls_work() {
    for entry in playpath_cc::entries() {
        let config = Config { send_buffer: 1 << 24, ..Config::default() };
        let control = || playpath_cc::build(entry.name, 10.0).unwrap();
        let client = playpath_transport::quic::Connection::connect(Time::ZERO, config, control());
        let server = playpath_transport::quic::Connection::listen(config, control());
        let mut random = RootSeed(7).stream("loss");
        let [up, mut down] = wires();
        down.queue_bytes = 60_000;
        let mut pair = Pair::new(client, server, [up, down], move |_, _, _| !random.chance(0.002));
        let at = fetch(&mut pair, 2_000_000);
        assert!(at < Time::ZERO + Duration::from_secs(12), "{}: {at}", entry.name);
    }
}
