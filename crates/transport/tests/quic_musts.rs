//! What RFC 9000 and RFC 9002 say that an endpoint MUST do, packet by packet, against a peer that the test plays: handshake, streams and
//! limits, addresses, ECN, timers. `quic_rules.rs` and `quic_frames.rs` have the others; docs/appendix/quic-rules.md lists all.

mod quic_support;

use playpath_transport::Ecn;
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Address, Datagram, EcnCounts, Frame, Kind, Packet, Space};
use playpath_transport::quic::{Event, Violation};
use playpath_units::{Duration, Time};
use quic_support::lone::{Lone, unpaced};
use quic_support::{Pair, Wire, ends};

fn data(id: u64, offset: u64, len: u32) -> Frame {
    Frame::Stream { id, offset, len, fin: false }
}

fn wires() -> [Wire; 2] {
    [Wire::new(None, 50), Wire::new(None, 50)]
}

/// RFC 9000 §2.2: the application gets the data in order, whatever the order of the packets, and only once.
#[test]
fn data_is_read_in_order_and_once() {
    let mut lone = Lone::new(|_| {});
    lone.frames(&[data(4, 10, 5)]);
    assert_eq!(lone.server.readable(4), 0, "bytes 0 to 9 are missing");
    lone.frames(&[data(4, 0, 10)]);
    lone.frames(&[data(4, 5, 10)]);
    assert_eq!(lone.server.read(lone.now, 4, u64::MAX), 15);
    lone.frames(&[data(4, 0, 15)]);
    assert_eq!(lone.server.readable(4), 0, "it was read");
}

/// RFC 9000 §2.1, §4.6: an endpoint's own streams have rising numbers, no more of them than the peer allows; a MAX_STREAMS lower than an
/// earlier one is ignored.
#[test]
fn own_streams_are_numbered_and_limited() {
    let mut lone = Lone::new(|config| config.max_streams = 2);
    assert_eq!([lone.server.open(), lone.server.open(), lone.server.open()], [Some(1), Some(5), None]);
    lone.frames(&[Frame::MaxStreams(1)]);
    assert_eq!(lone.server.open(), None);
    lone.frames(&[Frame::MaxStreams(3)]);
    assert_eq!([lone.server.open(), lone.server.open()], [Some(9), None]);
}

/// RFC 9000 §4.6: when a stream has ended another may be opened, and the peer is informed.
#[test]
fn an_ended_stream_makes_room_for_another() {
    let mut lone = Lone::new(|config| config.max_streams = 2);
    lone.server.finish(0);
    let last = *lone.poll_all().last().unwrap();
    lone.frames(&[Frame::Stream { id: 0, offset: 10, len: 0, fin: true }]);
    lone.server.read(lone.now, 0, u64::MAX);
    lone.ack(&[(0, last)]);
    assert!(lone.left().contains(&Frame::MaxStreams(3)));
}

/// RFC 9000 §4.1: the connection has a limit as well, over all streams: 8000 and 8000 bytes exceed 10 000.
#[test]
fn the_connection_s_limit_counts_all_streams() {
    let narrow = |config: &mut Config| {
        unpaced(config);
        (config.flow.connection, config.flow.max_connection) = (10_000, 10_000);
    };
    let mut lone = Lone::new(narrow);
    lone.frames(&[data(4, 0, 8000), data(8, 0, 8000)]);
    assert_eq!(lone.violation(), Some(Violation::FlowControl));
    // §4.5: of a stream that was reset all counts that it ever had.
    let mut lone = Lone::new(narrow);
    lone.frames(&[data(4, 0, 8000), Frame::ResetStream { id: 8, code: 0, final_size: 8000 }]);
    assert_eq!(lone.violation(), Some(Violation::FlowControl));
    // The sender's side: two streams, one limit, and lost bytes need no new one.
    let mut lone = Lone::new(narrow);
    let used = lone.server.stats().data_bytes_sent;
    let other = lone.server.open().unwrap();
    lone.server.write(lone.stream, 8000);
    lone.server.write(other, 8000);
    let sent = lone.poll_all();
    let allowed = 10_000 - used;
    assert_eq!(lone.server.stats().data_bytes_sent, used + allowed);
    lone.frames(&[Frame::MaxData(5000)]);
    assert!(
        !lone.left().iter().any(|frame| matches!(frame, Frame::Stream { .. })),
        "the limit does not fall, nor rise"
    );
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[3], *sent.last().unwrap())]);
    assert!(lone.left().iter().any(|frame| matches!(frame, Frame::Stream { .. })), "sent again within the limit");
    assert_eq!(lone.server.stats().data_bytes_sent - lone.server.stats().retransmitted_bytes, 10_000);
}

/// RFC 9000 §4.1: a sender that is blocked by the peer's limit says so, once for each limit.
#[test]
fn a_blocked_sender_says_so_once() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        (config.flow.stream, config.flow.max_stream) = (2000, 2000);
    });
    lone.server.write(lone.stream, 50_000);
    let blocked = |frame: &&Frame| matches!(frame, Frame::StreamDataBlocked { limit: 2000, .. });
    assert_eq!(lone.left().iter().filter(blocked).count(), 1);
    lone.server.write(lone.stream, 10);
    assert_eq!(lone.left(), []);
    lone.frames(&[Frame::MaxStreamData { id: lone.stream, max: 3000 }]);
    assert!(lone.left().contains(&Frame::StreamDataBlocked { id: lone.stream, limit: 3000 }));
}

/// An end whose peer allows so much, of a stream or of the connection, and what it says when that holds it up.
fn held_up(of_stream: bool) -> (Lone, Frame) {
    let lone = Lone::new(|config| {
        unpaced(config);
        let flow = &mut config.flow;
        (flow.connection, flow.max_connection) = if of_stream { (9000, 9000) } else { (1000, 1000) };
        (flow.stream, flow.max_stream) = if of_stream { (1000, 1000) } else { (9000, 9000) };
    });
    let id = lone.stream;
    (lone, if of_stream { Frame::StreamDataBlocked { id, limit: 1000 } } else { Frame::DataBlocked(1000) })
}

/// RFC 9000 §4.1: a sender reports that it is blocked when it has more than it may send, not before; while the peer does not read, again
/// before the idle timeout would end the connection, 15 s after the last ACK.
#[test]
fn a_blocked_sender_says_so_again_before_the_idle_timeout() {
    for of_stream in [true, false] {
        let (mut lone, blocked) = held_up(of_stream);
        lone.server.write(lone.stream, 999);
        assert!(!lone.left().contains(&blocked), "all that was written left");
        lone.server.write(lone.stream, 1);
        let mut said = vec![];
        for second in 0..100 {
            lone.server.handle_timeout(lone.now);
            let sent: Vec<_> = std::iter::from_fn(|| lone.poll()).collect();
            lone.now += Duration::from_secs(1);
            let Some(last) = sent.last() else { continue };
            assert_eq!((last.packet.frames.as_slice(), sent.len()), (&[blocked][..], 1));
            said.push(second);
            lone.ack(&[(lone.base, last.packet.number)]);
        }
        assert_eq!(said, [0, 16, 32, 48, 64, 80, 96]);
        assert!(lone.server.is_established());
    }
}

/// RFC 9000 §13.3: a lost report of being blocked is sent again only while the limit still blocks; §3.1: none is sent for a stream that was
/// reset.
#[test]
fn an_unblocked_sender_no_longer_says_so() {
    for of_stream in [true, false] {
        let (mut lone, blocked) = held_up(of_stream);
        lone.server.write(lone.stream, 1010);
        assert!(lone.left().contains(&blocked));
        let probes = |lone: &mut Lone| {
            lone.now = lone.server.poll_timeout();
            lone.server.handle_timeout(lone.now);
            lone.left()
        };
        assert!(probes(&mut lone).contains(&blocked));
        lone.server.reset(lone.stream, 0x10e);
        let left = lone.left();
        assert!(matches!(left[..], [Frame::ResetStream { .. }]), "{left:?}");
        let left = probes(&mut lone);
        assert!(!left.is_empty() && !left.contains(&blocked), "{left:?}");
        // Nor where the limit comes first and the reset after it.
        let (mut lone, _) = held_up(of_stream);
        lone.server.write(lone.stream, 999);
        lone.left();
        lone.server.write(lone.stream, 10);
        lone.server.reset(lone.stream, 0x10e);
        let left = lone.left();
        assert!(!left.iter().any(|frame| matches!(frame, Frame::StreamDataBlocked { .. })), "{left:?}");
    }
}

/// RFC 9000 §4.5: the final size of a stream must not change.
#[test]
fn the_final_size_is_final() {
    let fin = |offset, len| Frame::Stream { id: 4, offset, len, fin: true };
    for (frames, is_wrong) in [
        ([fin(0, 10), fin(0, 10)], false),
        ([fin(0, 10), Frame::ResetStream { id: 4, code: 0, final_size: 10 }], false),
        ([fin(0, 10), fin(0, 9)], true),
        ([fin(0, 10), Frame::ResetStream { id: 4, code: 0, final_size: 11 }], true),
        ([data(4, 0, 10), fin(0, 5)], true),
    ] {
        let mut lone = Lone::new(|_| {});
        lone.frames(&frames);
        assert_eq!(lone.violation(), is_wrong.then_some(Violation::FinalSize), "{frames:?}");
    }
}

/// RFC 9000 §7.5: at least 4096 bytes of CRYPTO that arrive out of order are buffered.
#[test]
fn crypto_out_of_order_is_kept() {
    let mut lone = Lone::new(|_| {});
    lone.frames(&[Frame::Crypto { offset: 4000, len: 96, is_end: false }]);
    assert_eq!(lone.violation(), None);
}

/// RFC 9000 §8.1, §14.1: datagrams with an Initial have at least 1200 bytes: all of the client's, those of the server that elicit an ACK.
#[test]
fn initials_are_padded() {
    let [client, server] = ends(|_| {});
    let mut small = vec![];
    let fate = |from_client: bool, _: u64, datagram: &mut Datagram| {
        let is_initial = |packet: &Packet| packet.kind == Kind::Initial && (from_client || packet.is_ack_eliciting());
        if datagram.packets().any(is_initial) && datagram.payload_bytes() < 1200 {
            small.push(datagram.clone());
        }
        true
    };
    let mut pair = Pair::new(client, server, wires(), fate);
    pair.run_until(Time::from_millis(500));
    assert!(pair.client.is_established());
    drop(pair);
    assert!(small.is_empty(), "{small:?}");
}

/// RFC 9000 §13.2.1: ack-eliciting Initial and Handshake packets are acknowledged at once; §13.2.6, §12.3: in a packet of the same space.
#[test]
fn handshake_packets_are_acknowledged_at_once_and_in_their_space() {
    let [mut client, mut server] = ends(|_| {});
    let hello = client.poll_transmit(Time::ZERO).unwrap();
    server.handle_datagram(Time::from_millis(50), &hello);
    let answer = server.poll_transmit(Time::from_millis(50)).unwrap();
    let initial = answer.packets().find(|packet| packet.kind == Kind::Initial).unwrap();
    assert_eq!(initial.ack().unwrap().largest, hello.packet.number);
    assert!(answer.packets().all(|packet| packet.kind.space() == Space::Initial || !packet.has_ack));
}

/// RFC 9000 §13.3: HANDSHAKE_DONE is sent again until it is acknowledged; until it arrives the client keeps its Handshake keys and must not
/// migrate (§9).
#[test]
fn handshake_done_is_sent_again_and_precedes_migration() {
    let [client, server] = ends(|_| {});
    let mut lost = 0;
    let fate = |from_client: bool, _: u64, datagram: &mut Datagram| {
        let has_it = datagram.packets().any(|packet| packet.frames.as_slice().contains(&Frame::HandshakeDone));
        let is_dropped = !from_client && has_it && lost < 2;
        lost += u32::from(is_dropped);
        !is_dropped
    };
    let mut pair = Pair::new(client, server, wires(), fate);
    let elsewhere = Address { host: 2, port: 50_000 };
    pair.run_until(Time::from_millis(160));
    assert!(pair.client.is_established(), "it has the server's Finished");
    assert!(!pair.client.migrate(pair.now, elsewhere));
    pair.run_until(Time::from_secs(3));
    assert!(pair.client.migrate(pair.now, elsewhere));
    drop(pair);
    assert_eq!(lost, 2);
}

/// RFC 9000 §8.2.2: each PATH_CHALLENGE is answered once, with its own bytes, in a datagram of 1200 bytes as far as the address's limit
/// allows.
#[test]
fn a_challenge_is_answered_once() {
    let mut lone = Lone::new(unpaced);
    lone.frames(&[Frame::PathChallenge(7)]);
    let answer = lone.poll().unwrap();
    assert_eq!((answer.packet.frames.as_slice(), answer.payload_bytes()), (&[Frame::PathResponse(7)][..], 1200));
    // §13.3: it is not sent again, lost or not.
    let sent = lone.send(4);
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[0], *sent.last().unwrap())]);
    lone.wait(1000);
    assert!(!lone.left().iter().any(|frame| matches!(frame, Frame::PathResponse(_))));
}

/// RFC 9000 §8.2.3: an answer with other bytes than the challenge's validates nothing; §8.2.1: a challenge is sent in a datagram of 1200
/// bytes where three times what arrived allows it.
#[test]
fn a_wrong_answer_validates_nothing() {
    let mut lone = Lone::new(unpaced);
    let elsewhere = Address { host: 1, port: 60_000 };
    let from_there = |lone: &mut Lone, frames: &[Frame]| {
        let mut datagram = lone.datagram(None, frames);
        (datagram.from, datagram.packet.bytes) = (elsewhere, 500);
        lone.server.handle_datagram(lone.now, &datagram);
    };
    from_there(&mut lone, &[Frame::Ping]);
    let challenge = lone.poll().unwrap();
    let [Frame::PathChallenge(token)] = *challenge.packet.frames.as_slice() else { panic!("{challenge:?}") };
    assert_eq!((challenge.to, challenge.payload_bytes()), (elsewhere, 1200));
    let migrated = |lone: &mut Lone| {
        std::iter::from_fn(|| lone.server.poll_event()).any(|event| event == Event::Migrated(elsewhere))
    };
    from_there(&mut lone, &[Frame::PathResponse(token ^ 1)]);
    assert!(!migrated(&mut lone));
    from_there(&mut lone, &[Frame::PathResponse(token)]);
    assert!(migrated(&mut lone));
}

/// RFC 9000 §10.1: the idle timer restarts with each packet that arrives and with the first ack-eliciting packet sent since; it is never
/// under three PTO.
#[test]
fn traffic_keeps_the_connection_open() {
    let mut lone = Lone::new(|config| config.idle_timeout = Duration::from_secs(5));
    lone.wait(3000);
    lone.frames(&[Frame::Ping]);
    lone.poll_all();
    lone.wait(4900);
    assert!(lone.server.is_established());
    lone.server.write(lone.stream, 10);
    lone.poll_all();
    lone.wait(4900);
    assert!(lone.server.is_established(), "it began anew when that left");
    lone.wait(200);
    assert!(lone.server.is_closed());
    let mut lone = Lone::new(|config| config.idle_timeout = Duration::from_millis(900));
    let pto = lone.server.info().pto;
    assert!(pto * 3 < Duration::from_millis(900));
    lone.wait(899);
    assert!(lone.server.is_established());
    lone.wait(2);
    assert!(lone.server.is_closed());
}

/// RFC 9000 §12.3: a packet that arrives twice counts once, whatever it contains.
#[test]
fn a_duplicate_packet_counts_once() {
    let mut lone = Lone::new(|_| {});
    let datagram = lone.datagram(None, &[data(4, 0, 100), Frame::PathChallenge(9)]);
    lone.server.handle_datagram(lone.now, &datagram);
    lone.server.handle_datagram(lone.now, &datagram);
    assert_eq!(lone.server.stats().data_bytes_received, 110, "ten were there before");
    assert_eq!(lone.left().iter().filter(|frame| matches!(frame, Frame::PathResponse(_))).count(), 1);
}

/// RFC 9000 §13.2.3, §19.3: an ACK lists what has arrived and nothing else, from the largest down; ranges whose acknowledgement the peer
/// has confirmed may be omitted.
#[test]
fn an_ack_lists_what_arrived() {
    let mut lone = Lone::new(|_| {});
    for number in [1011, 1012, 1015, 1016, 1020] {
        lone.number = number - 1;
        lone.frames(&[Frame::Ping]);
        lone.poll_all();
    }
    lone.number = 1021;
    lone.frames(&[Frame::Ping]);
    let ack = lone.poll().unwrap().packet.ack().copied().unwrap();
    let ranges: Vec<_> = ack.ranges().take(4).collect();
    assert_eq!(ranges, [(1022, 1022), (1020, 1020), (1015, 1016), (1011, 1012)]);
}

/// A server that marks, whose peer has told it of every mark, from then on played by the test; and a stream of its own.
fn marking() -> Lone {
    let marks = |config: &mut Config| {
        unpaced(config);
        config.marking = Ecn::Ect0;
    };
    let [client, server] = ends(marks);
    let mut pair = Pair::new(client, server, wires(), |_, _, _| true);
    pair.run_until(Time::from_millis(500));
    assert!(pair.server.info().is_ecn_capable, "an honest peer");
    let stream = pair.server.open().unwrap();
    Lone { server: pair.server, now: pair.now, number: 1000, base: 0, stream }
}

/// RFC 9000 §13.4.2.1: counts that do not cover the newly acknowledged packets, that report a mark never set, or that exceed what was sent
/// end the marking. All packets of the space were marked, so the last one's number plus one is how many.
#[test]
fn wrong_counts_end_the_marking() {
    let stays = |reported: fn(u64, u64) -> (u64, u64)| {
        let mut lone = marking();
        let sent = lone.send(2);
        let (before, now) = (sent[0], sent.last().unwrap() + 1);
        lone.now += Duration::from_millis(100);
        let (ect0, ect1) = reported(before, now);
        lone.ack_with(&[(before, now - 1)], Some(EcnCounts { ect0, ect1, ce: 0 }));
        lone.server.write(lone.stream, 10);
        lone.poll().unwrap().ecn == Ecn::Ect0
    };
    assert!(stays(|_, now| (now, 0)), "honest");
    assert!(!stays(|before, _| (before, 0)), "the new ones are not counted");
    assert!(!stays(|_, now| (now, 1)), "ECT(1) was never set");
    assert!(!stays(|_, now| (now + 1, 0)), "more than were sent");
}

/// RFC 9002 §7.1, §7.3.2: an increase of CE is congestion, once for what was sent before it was seen.
#[test]
fn ce_reduces_the_window_once_a_round_trip() {
    let mut lone = marking();
    let cwnd = lone.server.info().path.cwnd;
    let sent = lone.send(6);
    lone.now += Duration::from_millis(100);
    let acked = |lone: &mut Lone, last: u64, ce: u64| {
        lone.ack_with(&[(sent[0], last)], Some(EcnCounts { ect0: last + 1 - ce, ect1: 0, ce }));
        (lone.server.stats().congestion_events, lone.server.info().path.cwnd)
    };
    let (events, reduced) = acked(&mut lone, sent[1], 1);
    assert!(events == 1 && reduced <= cwnd * 0.6, "{events} {reduced}");
    assert_eq!(acked(&mut lone, sent[4], 3), (1, reduced));
}

/// RFC 9002 §7.3.2: losses of packets sent before a recovery began belong to that recovery.
#[test]
fn losses_of_one_flight_reduce_the_window_once() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(12);
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[5], sent[5])]);
    let cwnd = lone.server.info().path.cwnd;
    lone.ack(&[(sent[11], sent[11]), (sent[5], sent[5])]);
    let stats = lone.server.stats();
    assert_eq!((stats.packets_lost, stats.congestion_events), (8, 1), "0 to 2, then 3, 4 and 6 to 8");
    assert_eq!(lone.server.info().path.cwnd, cwnd);
}

/// RFC 9002 §7: a full window does not hold back a packet that contains only an ACK.
#[test]
fn a_full_window_does_not_hold_back_an_ack() {
    let mut lone = Lone::new(unpaced);
    lone.server.write(lone.stream, 100 * 1150);
    lone.poll_all();
    assert_eq!(lone.server.info().path.in_flight, 20);
    lone.frames(&[Frame::Ping]); // behind a gap: at once
    let alone = lone.poll().unwrap().packet;
    assert!(alone.has_ack && alone.frames.is_empty() && alone.padding == 0);
    assert_eq!(lone.server.info().path.in_flight, 20);
}

/// RFC 9002 §6.2.4: a probe without new data carries the data of the oldest packet; §6.2.1: an ACK ends the backoff.
#[test]
fn a_probe_carries_the_oldest_data_and_its_ack_ends_the_backoff() {
    let mut lone = Lone::new(unpaced);
    lone.server.write(lone.stream, 500);
    let first = lone.poll().unwrap();
    for _ in 0..2 {
        lone.now = lone.server.poll_timeout();
        lone.server.handle_timeout(lone.now);
        let probe = lone.poll().unwrap();
        assert_eq!(probe.packet.frames.as_slice(), first.packet.frames.as_slice());
        lone.poll_all();
    }
    lone.now += Duration::from_millis(10);
    lone.ack(&[(first.packet.number, first.packet.number)]);
    lone.poll_all();
    let sent = lone.send(1);
    assert_eq!(lone.server.poll_timeout(), lone.now + lone.server.info().pto);
    assert!(!sent.is_empty());
}

/// RFC 9002 §6.4: when a space's keys are discarded, its packets in flight are forgotten without counting as lost. The client's ACKs of
/// Initials never arrive.
#[test]
fn discarded_keys_take_packets_in_flight_along() {
    let [client, server] = ends(|_| {});
    let fate = |from_client: bool, nth: u64, datagram: &mut Datagram| {
        while from_client && nth > 1 && datagram.packet.kind == Kind::Initial && !datagram.coalesced.is_empty() {
            datagram.packet = datagram.coalesced.remove(0);
        }
        !(from_client && nth > 1 && datagram.packet.kind == Kind::Initial)
    };
    let mut pair = Pair::new(client, server, wires(), fate);
    pair.run_until(Time::from_secs(1));
    assert!(pair.server.is_established());
    let (info, stats) = (pair.server.info(), pair.server.stats());
    assert_eq!((info.path.in_flight, info.bytes_in_flight, stats.packets_lost), (0, 0, 0));
}

/// RFC 9000 §13.3: a lost frame that raises a limit is sent again with the newest value.
#[test]
fn a_lost_limit_is_sent_again_with_the_newest_value() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        (config.flow.connection, config.flow.max_connection) = (10_000, 10_000);
    });
    let reported = |lone: &mut Lone| -> Vec<u64> {
        let limit = |frame: Frame| if let Frame::MaxData(max) = frame { Some(max) } else { None };
        lone.left().into_iter().filter_map(limit).collect()
    };
    lone.frames(&[data(4, 0, 6000)]);
    lone.server.read(lone.now, 4, u64::MAX);
    let read = 10 + 6000;
    assert_eq!(reported(&mut lone), [read + 10_000]);
    lone.frames(&[data(4, 6000, 1000)]);
    lone.server.read(lone.now, 4, u64::MAX);
    assert_eq!(reported(&mut lone), [0; 0], "too little for a new one");
    let sent = lone.send(4);
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[0], *sent.last().unwrap())]);
    assert_eq!(reported(&mut lone), [read + 1000 + 10_000]);
}

/// RFC 9000 §14.2.1: a sender that is notified that a datagram was too big sends smaller ones, with the same content, and believes no MTU
/// below 1200 bytes. No queue was full: the window stays.
#[test]
fn a_too_big_notification_leads_to_smaller_datagrams() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        config.datagram_bytes = 1452;
    });
    lone.server.write(lone.stream, 3000);
    let sent: Vec<_> = std::iter::from_fn(|| lone.poll()).collect();
    let window = lone.server.control().cwnd();
    lone.server.handle_too_big(&sent[1], 1199);
    assert!(lone.poll().is_none());
    lone.server.handle_too_big(&sent[1], 1300);
    let again: Vec<_> = std::iter::from_fn(|| lone.poll()).collect();
    let bytes = |all: &[Datagram]| all.iter().map(|datagram| datagram.packet.stream_bytes()).sum::<u32>();
    assert_eq!((bytes(&again), again.iter().map(Datagram::payload_bytes).max()), (bytes(&sent[1..2]), Some(1300)));
    assert_eq!((lone.server.control().cwnd(), lone.server.stats().packets_lost), (window, 0));
    lone.server.handle_too_big(&sent[1], 1300);
    assert!(lone.poll().is_none(), "it is told twice, and goes once");
}

/// RFC 9000 §4.1: no bytes are kept beyond the limit, nor for a stream that has ended.
#[test]
fn bytes_beyond_the_limit_or_of_an_ended_stream_are_not_kept() {
    let mut lone = Lone::new(|config| config.flow.stream = 16 << 10);
    lone.frames(&[Frame::Stream { id: 4, offset: 0, len: 5, fin: true }]);
    assert!(lone.server.may_receive(4, 16 << 10) && !lone.server.may_receive(4, (16 << 10) + 1));
    assert!(!lone.server.may_receive(8, 1), "nobody has opened it");
    lone.server.read(lone.now, 4, 5);
    lone.server.finish(4);
    let number = lone.poll().unwrap().packet.number;
    lone.ack(&[(number, number)]);
    assert!(!lone.server.may_receive(4, 5), "it is over");
}
