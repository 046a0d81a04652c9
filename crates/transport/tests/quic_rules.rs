//! Rules of RFC 9000 and RFC 9002 that one end keeps, packet by packet, against a peer that the test plays: losses, windows, addresses,
//! life and death. `quic_frames.rs` has those of streams, frames, ACKs and round trips.

mod quic_support;

use playpath_transport::Ecn;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Address, Datagram, Frame};
use playpath_transport::quic::{Event, Reason, Violation};
use playpath_units::{Duration, Time};
use quic_support::lone::{Lone, unpaced};
use quic_support::{Pair, Wire, ends, ends_with};

/// RFC 9002 §6.1.1, §7.3.2: a packet is lost when three later packets are acknowledged; its bytes are sent again in a new packet, and the
/// window is halved once.
#[test]
fn packet_threshold() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(6);
    let base = sent[0];
    let cwnd = lone.server.info().path.cwnd;
    lone.now += Duration::from_millis(100);
    lone.ack(&[(base + 1, base + 2)]);
    assert_eq!(lone.server.stats().packets_lost, 0, "two after it are not enough");
    lone.ack(&[(base + 1, base + 3)]);
    assert_eq!((lone.server.stats().packets_lost, lone.server.stats().congestion_events), (1, 1));
    assert!(lone.server.info().path.cwnd < cwnd * 0.6);
    lone.ack(&[(base + 1, *sent.last().unwrap())]);
    let again = lone.poll().unwrap();
    assert_eq!(again.packet.number, sent.last().unwrap() + 1);
    assert!(again.packet.frames.as_slice().iter().any(|frame| matches!(frame, Frame::Stream { .. })));
    assert!(lone.server.stats().retransmitted_bytes > 1000);
}

/// RFC 9002 §6.1.1 allows a threshold above three packets: ngtcp2 waits until later packets amounting to half of what is in flight are
/// acknowledged. Of twelve packets, with eight left in flight, that is four.
#[test]
fn packet_threshold_by_flight() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        (config.loss.max_packet_threshold, config.initial_window) = (256, 20.0);
    });
    let base = lone.send(12)[0];
    lone.now += Duration::from_millis(100);
    lone.ack(&[(base + 1, base + 3)]);
    assert_eq!(lone.server.stats().packets_lost, 0);
    lone.ack(&[(base + 1, base + 4)]);
    assert_eq!(lone.server.stats().packets_lost, 1);
}

/// RFC 9000 §13.3: a lost packet whose bytes need two packets, because the first also carries an ACK, counts as one packet sent again, and
/// its bytes count once.
#[test]
fn a_lost_packet_split_in_two_counts_once() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(6);
    lone.now += Duration::from_millis(100);
    lone.frames(&[Frame::Ping]);
    lone.frames(&[Frame::Ping]); // two packets are to be acknowledged at once
    lone.server.write(lone.stream, 500);
    lone.ack(&[(sent[1], sent[5])]);
    let again: Vec<Datagram> = std::iter::from_fn(|| lone.poll()).collect();
    let stream = |datagram: &Datagram| datagram.packet.frames.as_slice().iter().map(Frame::stream_bytes).collect();
    let bytes: Vec<Vec<u32>> = again.iter().map(stream).collect();
    let [first, second] = bytes.as_slice() else { panic!("{bytes:?}") };
    let lost = first[0] + second[0];
    assert!(again[0].packet.has_ack && second[0] < 20 && second[1] == 500, "{bytes:?}");
    let stats = lone.server.stats();
    assert_eq!((stats.retransmitted_packets, stats.retransmitted_bytes), (1, u64::from(lost)));
}

/// RFC 9002 §6.1.2: with fewer than three later packets acknowledged, the packet is lost 9/8 of an RTT after it left: at 100 ms × 9/8 =
/// 112.5.
#[test]
fn time_threshold() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(2);
    lone.wait(100);
    lone.ack(&[(sent[1], sent[1])]);
    assert_eq!((lone.server.stats().packets_lost, lone.poll().is_none()), (0, true));
    let wait = lone.server.poll_timeout().saturating_since(lone.now).as_millis_f64();
    assert!((12.0..13.0).contains(&wait), "{wait}");
    lone.wait(13);
    assert_eq!((lone.server.stats().packets_lost, lone.server.stats().pto_count), (1, 0));
}

/// RFC 9002 §6.2.1, §6.2.4: two probes leave srtt + 4 var + 25 ms after the last ack-eliciting packet, the next after twice that time; the
/// window is not reduced (§7.5).
#[test]
fn probes_and_backoff() {
    let mut lone = Lone::new(unpaced);
    lone.send(1);
    let (cwnd, pto) = (lone.server.info().path.cwnd, lone.server.info().pto);
    let first = lone.server.poll_timeout().saturating_since(lone.now);
    assert_eq!(first, pto);
    lone.now = lone.server.poll_timeout();
    lone.server.handle_timeout(lone.now);
    assert_eq!(lone.poll_all().len(), 2);
    assert_eq!(lone.server.poll_timeout().saturating_since(lone.now), pto * 2);
    lone.now = lone.server.poll_timeout();
    lone.server.handle_timeout(lone.now);
    assert_eq!(lone.poll_all().len(), 2);
    assert_eq!(lone.server.poll_timeout().saturating_since(lone.now), pto * 4);
    assert_eq!((lone.server.info().path.cwnd, lone.server.stats().packets_lost), (cwnd, 0));
}

/// RFC 9002 §7.6: losses a second apart with nothing acknowledged in between (three PTO are 3 × about 300 ms) reduce the window to its
/// minimum.
#[test]
fn persistent_congestion() {
    for (is_long, expected) in [(true, 1), (false, 0)] {
        let mut lone = Lone::new(unpaced);
        lone.send(3);
        for _ in 0..if is_long { 4 } else { 1 } {
            lone.now = lone.server.poll_timeout().max(lone.now);
            lone.server.handle_timeout(lone.now);
            lone.poll_all();
        }
        lone.server.write(lone.stream, 6000);
        let last = *lone.poll_all().last().unwrap();
        lone.wait(50);
        lone.ack(&[(last, last)]);
        let stats = lone.server.stats();
        assert_eq!(stats.persistent_congestions, expected, "{stats:?}");
        assert_eq!(lone.server.info().path.cwnd <= 2.0, is_long, "{:?}", lone.server.info());
    }
}

/// A late ACK shows that the loss was none: the window is restored.
#[test]
fn spurious_loss_is_undone() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(6);
    lone.wait(100);
    let cwnd = lone.server.info().path.cwnd;
    lone.ack(&[(sent[3], sent[3])]);
    assert!(lone.server.info().path.cwnd < cwnd);
    assert_eq!(lone.server.stats().packets_lost, 1);
    lone.ack(&[(sent[0], sent[3])]);
    let stats = lone.server.stats();
    assert_eq!((stats.spurious_losses, stats.spurious_undos), (1, 1));
    assert!(lone.server.info().path.cwnd >= cwnd);
}

/// RFC 9002 §7.8: a sender that does not use its window does not raise it.
#[test]
fn an_unused_window_does_not_grow() {
    let mut lone = Lone::new(unpaced);
    let cwnd = lone.server.info().path.cwnd;
    for _ in 0..20 {
        let sent = lone.send(2);
        lone.wait(100);
        lone.ack(&[(sent[0], *sent.last().unwrap())]);
    }
    assert_eq!(lone.server.info().path.cwnd, cwnd);
}

/// RFC 9000 §13.4.2: an ACK without counts ends the marking; a path that clears marks is not capable.
#[test]
fn ecn_rules() {
    let with_ecn = |config: &mut Config| {
        unpaced(config);
        config.marking = Ecn::Ect0;
    };
    let mut lone = Lone::new(with_ecn);
    lone.server.write(lone.stream, 1000);
    assert_eq!(lone.poll().unwrap().ecn, Ecn::NotEct, "the helper's ACK had no counts");
    let [client, server] = ends(with_ecn);
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], |_, _, datagram| {
        datagram.ecn = Ecn::NotEct; // a router clears the marks
        true
    });
    pair.run_until(Time::from_secs(1));
    assert!(!pair.server.info().is_ecn_capable && !pair.client.info().is_ecn_capable);
}

/// RFC 9000 §8.1: until the client's address is validated, a server sends at most three times what it has received.
#[test]
fn anti_amplification() {
    let [client, server] = ends(|config| config.tls.certificate = 20_000);
    let (mut up, mut down) = (0, 0);
    let fate = |from_client: bool, nth: u64, datagram: &mut Datagram| {
        if from_client {
            up += if nth == 1 { datagram.payload_bytes() } else { 0 };
            nth == 1 // the server hears no more
        } else {
            down += datagram.payload_bytes();
            true
        }
    };
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], fate);
    pair.run_until(Time::from_secs(5));
    drop(pair);
    assert_eq!((up, down), (1200, 3600));
}

/// RFC 9002 §6.2.2.1: when the server sends nothing because of that limit, the client's probe timeout makes it send.
#[test]
fn no_deadlock_at_the_amplification_limit() {
    let [client, server] = ends(|config| config.tls.certificate = 9000);
    // The whole first flight of the server is lost.
    let fate = |from_client: bool, nth: u64, _: &mut Datagram| from_client || nth > 3;
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], fate);
    pair.run_until(Time::from_secs(8));
    assert!(pair.client.is_established() && pair.server.is_established());
}

/// RFC 9000 §10.1: both ends close silently after the smaller of the two timeouts.
#[test]
fn idle_timeout() {
    let [client, server] = ends(|config| config.idle_timeout = Duration::from_secs(5));
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], |_, _, _| true);
    pair.run_until(Time::from_secs(4));
    assert!(pair.client.is_established());
    pair.run_until(Time::from_secs(6));
    for is_client in [true, false] {
        let at = pair.at(is_client, Event::Closed(Reason::Idle)).unwrap().as_secs_f64();
        assert!((5.0..5.4).contains(&at), "{at}");
    }
}

/// RFC 9000 §10.2: the peer gets the error code; both ends forget the connection after three PTO.
#[test]
fn close() {
    let [client, server] = ends(|_| {});
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], |_, _, _| true);
    pair.run_until(Time::from_secs(1));
    pair.client.close(pair.now, 77);
    pair.run_until(Time::from_secs(3));
    assert!(pair.at(false, Event::Closed(Reason::Peer(77))).is_some());
    assert!(pair.client.is_closed() && pair.server.is_closed());
}

/// RFC 9000 §10.2.1: a server that closes before anything has arrived has nobody to inform; it answers the first datagram.
#[test]
fn close_before_anything_arrived() {
    let [client, mut server] = ends(|_| {});
    server.close(Time::ZERO, 77);
    assert!(server.poll_transmit(Time::ZERO).is_none());
    let mut pair = Pair::new(client, server, [Wire::new(None, 50), Wire::new(None, 50)], |_, _, _| true);
    pair.run_until(Time::from_millis(60));
    assert_eq!(pair.counts, [1, 1]);
}

/// RFC 9000 §9.3, §9.4: another port of the same host is taken for a NAT's rebinding: the address is validated, window and RTT are kept.
/// With another host they start afresh.
#[test]
fn rebinding_and_migration() {
    for is_nat in [true, false] {
        let [client, server] = ends(|config| config.send_buffer = 1 << 22);
        let wires = [Wire::new(Some(20.0), 25), Wire::new(Some(20.0), 25)];
        let mut pair = Pair::new(client, server, wires, |_, _, _| true);
        pair.run_until(Time::from_millis(200));
        let id = pair.client.open().unwrap();
        pair.client.write(id, 100);
        pair.run_until(Time::from_millis(300));
        pair.server.write(id, 3_000_000);
        pair.run_until(Time::from_millis(900));
        let before = pair.server.info();
        assert!(before.path.cwnd > 40.0);
        let moved = if is_nat { Address { host: 1, port: 61_000 } } else { Address { host: 2, port: 50_000 } };
        if is_nat {
            pair.nat = Some(moved);
        } else {
            pair.client.migrate(pair.now, moved);
        }
        // Half a round trip and the queue later the server sees it.
        while pair.at(false, Event::Migrated(moved)).is_none() {
            assert!(pair.step() && pair.now < Time::from_secs(3), "{is_nat}");
        }
        let after = pair.server.info();
        assert_eq!(after.path.cwnd > 40.0, is_nat, "{after:?}");
        pair.run_until(Time::from_secs(6));
        assert_eq!(pair.client.stats().bytes_delivered, 3_000_000);
    }
}

/// RFC 9000 §9.4, with a factory of controls: Vegas, which has measured 20 ms, moves to a path of 100 ms. If it kept the old base RTT, it
/// would take the difference for a queue and stay at its minimum window; a new control behaves as in a new connection.
#[test]
fn a_migration_resets_the_base_rtt() {
    let delivered_in_5_s = |is_renewed: bool| {
        let [client, server] = ends_with("vegas", |config| config.send_buffer = 1 << 22);
        let control = |_| playpath_cc::build("vegas", 10.0).unwrap();
        let server = if is_renewed { server.renewed_by(control) } else { server };
        let mut pair = Pair::new(client, server, [Wire::new(None, 10), Wire::new(Some(10.0), 10)], |_, _, _| true);
        pair.run_until(Time::from_millis(200));
        let id = pair.client.open().unwrap();
        pair.client.write(id, 100);
        pair.run_until(Time::from_millis(300));
        pair.server.write(id, 4_000_000);
        pair.run_until(Time::from_millis(1000));
        let before = pair.client.stats().bytes_delivered;
        (pair.up.delay, pair.down.delay) = (Duration::from_millis(50), Duration::from_millis(50));
        pair.client.migrate(pair.now, Address { host: 2, port: 50_000 });
        pair.run_until(Time::from_millis(6000));
        pair.client.stats().bytes_delivered - before
    };
    let [old, renewed] = [false, true].map(delivered_in_5_s);
    assert!(renewed > 4 * old, "{renewed} bytes, {old} with the old control");
}

/// RFC 9000 §9.3.2: if nobody answers at the new address, the server returns to the old one.
#[test]
fn a_false_address_is_not_kept() {
    let mut lone = Lone::new(unpaced);
    let mut datagram = lone.datagram(None, &[Frame::Ping]);
    datagram.from = Address { host: 9, port: 9 };
    lone.server.handle_datagram(lone.now, &datagram);
    let challenge = lone.poll().unwrap();
    assert_eq!(challenge.to, datagram.from);
    assert!(matches!(challenge.packet.frames.as_slice(), [Frame::PathChallenge(_)]));
    assert!(challenge.payload_bytes() <= 300, "three times 100");
    lone.wait(10_000);
    lone.server.write(lone.stream, 100);
    assert_eq!(lone.poll().unwrap().to, Address { host: 1, port: 50_000 });
}

/// RFC 9000 §8.2.2: a challenge from another address is answered there, with at most three times what came from it: for 100 bytes no
/// padding to 1200. The number of answers owed at a time is limited.
#[test]
fn an_answer_to_a_foreign_challenge_does_not_amplify() {
    let mut lone = Lone::new(unpaced);
    for token in 0..50 {
        let mut datagram = lone.datagram(None, &[Frame::PathChallenge(token)]);
        datagram.from = Address { host: 9, port: 9 };
        assert!(datagram.payload_bytes() <= 100);
        lone.server.handle_datagram(lone.now, &datagram);
    }
    let answers: Vec<_> = std::iter::from_fn(|| lone.poll()).filter(|answer| answer.to.host == 9).collect();
    assert_eq!(answers.len(), 4);
    for answer in &answers {
        assert!(matches!(answer.packet.frames.as_slice(), [Frame::PathResponse(_)]));
        assert!(answer.payload_bytes() <= 300, "{}", answer.payload_bytes());
    }
}

/// RFC 9000 §4, §13.1, §21.4 and others: what a peer must not do closes the connection with the right code.
#[test]
fn violations() {
    let stream = |id, offset, len| Frame::Stream { id, offset, len, fin: false };
    let cases = [
        (vec![stream(0, 1 << 40, 10)], Violation::FlowControl),
        (vec![stream(4000, 0, 10)], Violation::StreamLimit),
        (vec![stream(1, 0, 10)], Violation::StreamState),
        // §19.4, §19.5, §19.10, §19.13: none of the server's one-way stream 3, nor against the direction of the client's 2.
        (vec![Frame::ResetStream { id: 3, code: 0, final_size: 0 }], Violation::StreamState),
        (vec![Frame::StreamDataBlocked { id: 3, limit: 0 }], Violation::StreamState),
        (vec![Frame::StopSending { id: 2, code: 0 }], Violation::StreamState),
        (vec![Frame::MaxStreamData { id: 2, max: 9 }], Violation::StreamState),
        (vec![Frame::StreamDataBlocked { id: 1, limit: 0 }], Violation::StreamState),
        (vec![Frame::StreamDataBlocked { id: 4000, limit: 0 }], Violation::StreamLimit),
        (vec![Frame::ResetStream { id: 4000, code: 0, final_size: 0 }], Violation::StreamLimit),
        (vec![Frame::StreamDataBlocked { id: 2 + 4 * 8, limit: 0 }], Violation::StreamLimit),
        (vec![Frame::ResetStream { id: 0, code: 0, final_size: 3 }], Violation::FinalSize),
        (vec![Frame::Stream { id: 4, offset: 0, len: 5, fin: true }, stream(4, 5, 1)], Violation::FinalSize),
        (vec![Frame::Crypto { offset: 1 << 30, len: 10, is_end: false }], Violation::CryptoBuffer),
    ];
    for (frames, expected) in cases {
        let mut lone = Lone::new(|config| config.max_uni_streams = 8);
        assert_eq!(lone.server.open_uni(), 3);
        lone.frames(&frames);
        assert_eq!(lone.violation(), Some(expected), "{frames:?}");
        let close = lone.poll().unwrap();
        assert!(matches!(close.packet.frames.as_slice(), [Frame::Close { code }] if *code == expected.code()));
    }
    let mut lone = Lone::new(|_| {});
    lone.ack(&[(0, 1 << 30)]);
    assert_eq!(lone.violation(), Some(Violation::Protocol), "it was never sent");
}

/// RFC 9000 §13.2.1, §13.2.2: every second packet is acknowledged; §19.3: duplicates are not acknowledged again.
#[test]
fn acknowledgements() {
    let mut lone = Lone::new(|_| {});
    // The first has a gap before it, and is told at once (§13.2.1).
    lone.frames(&[Frame::Ping]);
    assert_eq!(lone.poll().unwrap().packet.ack().copied().unwrap().largest, lone.number);
    lone.frames(&[Frame::Ping]);
    assert!(lone.poll().is_none());
    lone.frames(&[Frame::Ping]);
    let ack = lone.poll().unwrap().packet.ack().copied().unwrap();
    assert_eq!(ack.largest, lone.number);
    let dropped = lone.server.stats().packets_dropped;
    lone.number -= 1;
    lone.frames(&[Frame::Ping]);
    assert_eq!((lone.server.stats().packets_dropped, lone.poll().is_none()), (dropped + 1, true));
}
