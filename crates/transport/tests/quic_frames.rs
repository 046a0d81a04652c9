//! Rules of RFC 9000 and RFC 9002 that one end keeps, packet by packet, against a peer that the test plays: streams, frames, ACKs, round
//! trips, pacing. `quic_rules.rs` has the others.

mod quic_support;

use playpath_transport::Ecn;
use playpath_transport::quic::packet::{Ack, Address, Datagram, Frame, FrameList, Kind, Packet};
use playpath_transport::quic::{Connection, Event, Reason, Violation};
use playpath_units::{Duration, Time};
use quic_support::ends;
use quic_support::lone::{Lone, unpaced};

fn data(id: u64, offset: u64, len: u32) -> Frame {
    Frame::Stream { id, offset, len, fin: false }
}

/// RFC 9000 §3.2: a stream opens all lower-numbered streams of its type.
#[test]
fn a_stream_opens_those_below_it() {
    let mut lone = Lone::new(|_| {});
    assert!(!lone.server.is_writable(8));
    lone.frames(&[data(12, 0, 5)]);
    assert!([4, 8, 12].into_iter().all(|id| lone.server.is_writable(id)));
    assert!(!lone.server.is_writable(16));
}

/// RFC 9000 §3.5: STOP_SENDING is answered with a reset of the stream that carries the same code and says how much was sent.
#[test]
fn stop_sending_is_answered_by_a_reset() {
    let mut lone = Lone::new(unpaced);
    lone.send(3);
    let sent = lone.server.stats().data_bytes_sent;
    lone.frames(&[Frame::StopSending { id: lone.stream, code: 0x10c }]);
    let reset = Frame::ResetStream { id: lone.stream, code: 0x10c, final_size: sent };
    assert!(lone.left().contains(&reset), "{reset:?}");
    lone.server.write(lone.stream, 1000);
    assert!(!lone.left().iter().any(|frame| matches!(frame, Frame::Stream { .. })));
}

/// RFC 9000 §13.3: a lost RESET_STREAM is sent again; the stream's data is not.
#[test]
fn only_the_reset_of_a_reset_stream_is_sent_again() {
    let mut lone = Lone::new(unpaced);
    let sent = lone.send(3);
    lone.server.reset(lone.stream, 0x10e);
    let is_reset = |frame: &Frame| matches!(frame, Frame::ResetStream { code: 0x10e, .. });
    assert!(lone.left().iter().any(is_reset));
    lone.frames(&[data(4, 0, 5)]);
    lone.server.write(4, 5 * 1150);
    let later = lone.poll_all();
    lone.now += Duration::from_millis(100);
    lone.ack(&[(later[0], *later.last().unwrap())]);
    assert_eq!(lone.server.stats().packets_lost, sent.len() as u64 + 1);
    let again = lone.left();
    assert!(again.iter().any(is_reset), "{again:?}");
    assert!(!again.iter().any(|frame| matches!(frame, Frame::Stream { id: 0, .. })), "{again:?}");
}

/// RFC 9000 §4.1: nothing is sent beyond the peer's limit, and a limit lower than an earlier one is ignored.
#[test]
fn the_peers_limits_are_kept_and_never_fall() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        (config.flow.stream, config.flow.max_stream) = (10_000, 10_000);
    });
    lone.server.write(lone.stream, 50_000);
    let sent = lone.poll_all();
    assert_eq!(lone.server.stats().data_bytes_sent, 10_000);
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[0], *sent.last().unwrap())]);
    lone.frames(&[Frame::MaxStreamData { id: lone.stream, max: 5000 }]);
    lone.poll_all();
    assert_eq!(lone.server.stats().data_bytes_sent, 10_000);
    lone.frames(&[Frame::MaxStreamData { id: lone.stream, max: 12_000 }]);
    lone.poll_all();
    assert_eq!(lone.server.stats().data_bytes_sent, 12_000);
}

/// RFC 9000 §4.1, at the receiving end: the limit is raised by what the application has read, before the sender has to wait; §13.3: the
/// frame is sent again if it is lost.
#[test]
fn reading_raises_the_limit() {
    let mut lone = Lone::new(|config| {
        unpaced(config);
        (config.flow.stream, config.flow.max_stream) = (10_000, 10_000);
    });
    lone.frames(&[data(4, 0, 9000)]);
    let allows = |frame: &Frame| matches!(frame, Frame::MaxStreamData { id: 4, max: 19_000 });
    assert!(!lone.left().iter().any(allows), "nobody has read");
    assert_eq!(lone.server.read(lone.now, 4, 9000), 9000);
    assert!(lone.left().iter().any(allows));
    let sent = lone.send(4);
    lone.now += Duration::from_millis(100);
    lone.ack(&[(sent[0], *sent.last().unwrap())]);
    assert!(lone.left().iter().any(allows), "it is lost");
}

/// RFC 9000 §12.4, §19: frames in packets where they are not allowed, or for streams that do not exist.
#[test]
fn frames_out_of_place() {
    for (frame, expected) in [
        (Frame::HandshakeDone, Violation::Protocol), // §19.20: a server gets none
        (Frame::MaxStreamData { id: 1, max: 10 }, Violation::StreamState), // §19.10: we have not opened it
        (Frame::StopSending { id: 1, code: 0 }, Violation::StreamState), // §19.5
        (Frame::ResetStream { id: 1, code: 0, final_size: 0 }, Violation::StreamState), // §19.4
    ] {
        let mut lone = Lone::new(|_| {});
        lone.frames(&[frame]);
        assert_eq!(lone.violation(), Some(expected), "{frame:?}");
    }
    let mut server = opened(&[data(0, 0, 10)], 1200);
    let events = std::iter::from_fn(|| server.poll_event()).collect::<Vec<_>>();
    assert_eq!(events, [Event::Closed(Reason::Violation(Violation::Protocol))], "a stream in an Initial");
}

/// A server that got one Initial of this size.
fn opened(frames: &[Frame], bytes: u32) -> Connection {
    let [_, mut server] = ends(|_| {});
    let mut list = FrameList::default();
    frames.iter().for_each(|&frame| list.push(frame));
    let packet = Packet { kind: Kind::Initial, frames: list, bytes, padding: bytes - 100, ..Packet::default() };
    let (from, to) = (Address { host: 1, port: 50_000 }, Address { host: 0, port: 443 });
    server.handle_datagram(Time::ZERO, &Datagram { from, to, packet, ..Datagram::default() });
    server
}

/// RFC 9000 §14.1: an Initial in a datagram under 1200 bytes is dropped without an answer.
#[test]
fn a_small_initial_is_dropped() {
    let hello = Frame::Crypto { offset: 0, len: 10, is_end: false };
    let mut small = opened(&[hello], 1199);
    assert_eq!((small.stats().packets_dropped, small.poll_transmit(Time::ZERO).is_none()), (1, true));
    let mut full = opened(&[hello], 1200);
    assert_eq!((full.stats().packets_dropped, full.poll_transmit(Time::ZERO).is_some()), (0, true));
}

/// RFC 9000 §9.1: probing frames cause no migration; §9.3: nor does a packet older than one that has arrived.
#[test]
fn probes_and_old_packets_cause_no_migration() {
    let mut lone = Lone::new(unpaced);
    let (home, other) = (Address { host: 1, port: 50_000 }, Address { host: 1, port: 60_000 });
    let mut probe = lone.datagram(None, &[Frame::PathChallenge(7)]);
    probe.from = other;
    lone.server.handle_datagram(lone.now, &probe);
    let mut old = lone.datagram(None, &[Frame::Ping]);
    (old.from, old.packet.number) = (other, 500);
    lone.server.handle_datagram(lone.now, &old);
    while let Some(datagram) = lone.poll() {
        let is_answer = datagram.packet.frames.as_slice().iter().any(|frame| matches!(frame, Frame::PathResponse(7)));
        assert_eq!(datagram.to, if is_answer { other } else { home });
    }
    lone.server.write(lone.stream, 100);
    assert_eq!(lone.poll().unwrap().to, home);
    let mut new = lone.datagram(None, &[Frame::Ping]);
    new.from = other;
    lone.server.handle_datagram(lone.now, &new);
    assert_eq!(lone.poll().unwrap().to, other);
}

/// RFC 9000 §10.2.1: the end that closed answers ever fewer packets, here the first, second and fourth; §10.2.2: the other end sends
/// nothing more.
#[test]
fn closing_answers_ever_less_and_draining_nothing() {
    let mut lone = Lone::new(|_| {});
    lone.server.close(lone.now, 5);
    assert_eq!(lone.left(), [Frame::Close { code: 5 }]);
    let answers: Vec<usize> = (0..4)
        .map(|_| {
            lone.frames(&[Frame::Ping]);
            lone.left().len()
        })
        .collect();
    assert_eq!(answers, [1, 1, 0, 1]);
    let mut lone = Lone::new(|_| {});
    lone.server.write(lone.stream, 1000);
    lone.frames(&[Frame::Close { code: 1 }]);
    lone.frames(&[Frame::Ping]);
    assert!(lone.poll().is_none());
    lone.wait(5000);
    assert!(lone.server.is_closed() && lone.poll().is_none());
}

/// RFC 9000 §13.2.1: no ACK for packets that do not elicit one; CE is reported at once, a single packet after 25 ms; §13.2.5: with that
/// delay, in units of 8 µs.
#[test]
fn when_acks_are_sent() {
    let mut lone = Lone::new(|_| {});
    let before = lone.server.stats().acks_sent;
    (0..5).for_each(|_| lone.ack(&[(0, 0)]));
    assert!(lone.poll().is_none());
    lone.wait(200);
    assert_eq!(lone.server.stats().acks_sent, before);
    lone.frames(&[Frame::Ping]); // there are gaps before it: at once
    assert!(lone.poll().unwrap().packet.has_ack);
    let mut marked = lone.datagram(None, &[Frame::Ping]);
    marked.ecn = Ecn::Ce;
    lone.server.handle_datagram(lone.now, &marked);
    assert_eq!(lone.poll().unwrap().packet.ack().copied().unwrap().ecn.unwrap().ce, 1);
    lone.frames(&[Frame::Ping]);
    assert!(lone.poll().is_none());
    assert_eq!(lone.server.poll_timeout(), lone.now + Duration::from_millis(25));
    lone.now += Duration::from_millis(25);
    lone.server.handle_timeout(lone.now);
    assert_eq!(lone.poll().unwrap().packet.ack().copied().unwrap().delay, 25_000 / 8);
}

/// RFC 9002 §5.1: the largest acknowledged packet gives a sample if it is new; §5.3: the reported delay is subtracted, at most 25 ms and
/// not below the least RTT of 100 ms. Worked: of 150 ms 20 are subtracted: srtt becomes 7/8 + 130/8; of 60 reported 25; of 110 ms none,
/// since 85 are less than 100.
#[test]
fn round_trips_are_sampled_and_corrected() {
    let mut lone = Lone::new(unpaced);
    for (waited, reported, corrected) in [(150, 20, 130.0), (150, 60, 125.0), (110, 25, 110.0)] {
        let sent = lone.send(2);
        let (before, samples) = (lone.server.info().path.rtt.as_millis_f64(), lone.server.stats().rtt_samples);
        lone.now += Duration::from_millis(waited);
        let mut acknowledge = |first: u64| {
            let ack = Ack::new(std::iter::once(&(first..sent[1] + 1)), reported * 1000 / 8, None);
            let datagram = lone.datagram(ack, &[]);
            lone.server.handle_datagram(lone.now, &datagram);
            lone.server.info().path.rtt.as_millis_f64()
        };
        let (one, both) = (acknowledge(sent[1]), acknowledge(sent[0]));
        assert!((one - (before * 7.0 / 8.0 + corrected / 8.0)).abs() < 0.01, "{waited} {reported}: {before} {one}");
        assert_eq!((one, lone.server.stats().rtt_samples), (both, samples + 1), "the second ACK has no new largest");
        lone.poll_all();
        lone.wait(300);
    }
}

/// RFC 9002 §6.2.1: the probe timer runs from the last ack-eliciting packet that was sent.
#[test]
fn the_probe_timer_restarts_with_each_packet() {
    let mut lone = Lone::new(unpaced);
    lone.send(1);
    lone.now += Duration::from_millis(50);
    lone.send(1);
    assert_eq!(lone.server.poll_timeout(), lone.now + lone.server.info().pto);
}

/// RFC 9002 §7.7: ten packets leave at once, the others are spread over the round trip: a window of 40 packets and 100 ms at 1.25 give one
/// packet in 2 ms, so ten more in 20 ms.
#[test]
fn packets_are_spread_over_the_round_trip() {
    let mut lone = Lone::new(|config| config.initial_window = 40.0);
    lone.server.write(lone.stream, 100 * 1400);
    assert_eq!(lone.poll_all().len(), 10);
    let before = lone.server.stats().datagrams_sent;
    lone.wait(20);
    let more = lone.server.stats().datagrams_sent - before;
    assert!((9..=11).contains(&more), "{more}");
}
