use super::*;
use playpath_transport::codec::{self, Packet};
use playpath_transport::{Config, Flags, SynOptions};
use playpath_units::Rate;
use playpath_video::cmcd::parse;

/// A connection whose requests are of session "a", for 1 Mbit/s.
fn connection() -> HttpConnection {
    let syn = Segment { flags: Flags::SYN, syn_options: SynOptions::default(), ..Segment::default() };
    let ends = codec::Envelope {
        source: "10.0.0.2:1000".parse().unwrap(),
        destination: "10.0.0.1:80".parse().unwrap(),
        window_scale: 0,
        identification: 0,
    };
    let mut bytes = Vec::new();
    codec::encode(&syn, &[], &ends, codec::Payload::Bytes(b""), &mut bytes).unwrap();
    let pair = AddressPair::of_syn(&Packet::parse(&bytes).unwrap(), &syn.syn_options, 1500, 1 << 20);
    let control = playpath_cc::build("newreno", 10.0).unwrap();
    let transport = Box::new(Connection::listen(Config::linux(), control));
    let mut connection = HttpConnection::new(Time::ZERO, transport, pair);
    connection.client_data.handle_request(&parse("br=1000,ot=v,sid=\"a\"").cmcd, 1000);
    connection
}

fn known_rate(connection: &HttpConnection) -> Rate {
    connection.client_data.clone().handle_report(&Cmcd::default()).unwrap().video_rate
}

#[test]
fn a_report_concerns_the_connections_of_its_session() {
    for (report, is_of_it, mbps) in [
        ("br=(2000),e=ps,sid=\"a\",sta=p,v=2", true, 2),
        ("br=(2000),e=ps,sid=\"b\",sta=p,v=2", false, 1),
        ("br=(2000),e=ps,sta=p,v=2", false, 1),
    ] {
        let mut connection = connection();
        assert_eq!(connection.handle_report(Time::ZERO, &parse(report).cmcd), is_of_it, "{report}");
        assert_eq!(known_rate(&connection), Rate::from_bits_per_sec(mbps * 1_000_000), "{report}");
    }
    // Whoever tells no session has none: a report without one is not about it.
    let mut silent = connection();
    silent.client_data.handle_request(&parse("br=1000,ot=v").cmcd, 1000);
    assert!(!silent.handle_report(Time::ZERO, &parse("br=(2000),e=ps,v=2").cmcd));
}

/// RFC 9293 §3.10.7.4: of a segment only what lies beyond RCV.NXT counts. A request that is not read yet stays the one acknowledged.
#[test]
fn data_sent_again_does_not_change_what_was_accepted() {
    let mut connection = connection();
    let mut arrive = |flags, seq, payload: &[u8]| {
        let ack = u32::from(seq > 0);
        let payload_len = payload.len() as u32;
        let segment = Segment { flags, seq, ack, payload_len, window: 65_535, ..Segment::default() };
        connection.handle_segment(Time::ZERO, 0, (&segment, &[]), payload);
        while connection.transport.poll_segment(Time::ZERO, &mut Segment::default()).is_some() {}
    };
    arrive(Flags::SYN, 0, b"");
    arrive(Flags::ACK, 1, b"GET /a");
    arrive(Flags::ACK, 6, b"bc HTTP");
    assert_eq!(connection.incoming.peek(12), b"GET /ac HTTP");
}
