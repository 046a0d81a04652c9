//! Segments to bytes and back.

use playpath_transport::codec::{
    DecodeError, EncodeError, Envelope, Packet, Payload, PcapNg, TCP, decode, ecn_bits, encode, flow_hash, set_ecn_bits,
};
use playpath_transport::mptcp::option::{CAPABLE_SHA256, DSS_ACK, DSS_ACK8, DSS_FIN, DSS_MAP, DSS_SEQ8};
use playpath_transport::{AccEcn, Ecn, Flags, MptcpOption, SackBlocks, Segment, SynOptions, Timestamps};
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

fn envelope(source: &str, destination: &str) -> Envelope {
    let end = |text: &str| text.parse::<SocketAddr>().expect("an address");
    Envelope { source: end(source), destination: end(destination), window_scale: 0, identification: 0 }
}

fn v4() -> Envelope {
    envelope("10.1.0.1:80", "10.1.1.1:40000")
}

fn v6() -> Envelope {
    envelope("[fd00::1]:80", "[fd00::2]:40000")
}

/// The bytes of a segment with zeros as payload.
fn bytes_of(segment: &Segment, more: &[MptcpOption], envelope: &Envelope) -> Vec<u8> {
    let mut bytes = vec![];
    encode(segment, more, envelope, Payload::Zeros, &mut bytes).expect("it fits");
    bytes
}

fn addresses() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn dss() -> impl Strategy<Value = MptcpOption> {
    let checksum = prop::option::of(any::<u16>());
    (0u8..32, any::<(u64, u64)>(), any::<u32>(), any::<u16>(), checksum).prop_map(
        |(flags, (ack, seq), subflow_seq, len, checksum)| {
            let (has_ack, has_map) = (flags & DSS_ACK != 0, flags & DSS_MAP != 0);
            // Absent numbers are zero, and their widths too; four bytes hold the low half.
            let flags = flags & !if has_ack { 0 } else { DSS_ACK8 } & !if has_map { 0 } else { DSS_SEQ8 };
            let number = |value: u64, present: bool, wide: u8| match (present, flags & wide != 0) {
                (false, _) => 0,
                (true, false) => value & 0xffff_ffff,
                (true, true) => value,
            };
            MptcpOption::Dss {
                flags,
                data_ack: number(ack, has_ack, DSS_ACK8),
                data_seq: number(seq, has_map, DSS_SEQ8),
                subflow_seq: if has_map { subflow_seq } else { 0 },
                len: if has_map { len } else { 0 },
                checksum: checksum.filter(|_| has_map),
            }
        },
    )
}

/// Every option, in every form.
fn option() -> impl Strategy<Value = MptcpOption> {
    let any_u64 = any::<u64>;
    let capable = (any::<u8>(), 0u8..3, any_u64(), any_u64(), any::<u16>(), prop::option::of(any::<u16>()));
    prop_oneof![
        capable.prop_map(|(flags, keys, a, b, data_len, checksum)| MptcpOption::Capable {
            flags,
            keys,
            data_len: if keys == 2 { data_len } else { 0 },
            checksum: checksum.filter(|_| keys == 2 && data_len > 0),
            sender_key: if keys > 0 { a } else { 0 },
            receiver_key: if keys > 1 { b } else { 0 },
        }),
        (any::<u8>(), any::<bool>(), any::<u32>(), any::<u32>()).prop_map(|(address_id, is_backup, token, nonce)| {
            MptcpOption::JoinSyn { address_id, is_backup, token, nonce }
        }),
        (any::<u8>(), any::<bool>(), any_u64(), any::<u32>()).prop_map(|(address_id, is_backup, mac, nonce)| {
            MptcpOption::JoinSynAck { address_id, is_backup, mac, nonce }
        }),
        any::<[u8; 20]>().prop_map(|mac| MptcpOption::JoinAck { mac }),
        dss(),
        (any::<u8>(), any::<bool>(), addresses(), any::<u16>(), any_u64()).prop_map(
            |(address_id, is_echo, address, port, mac)| {
                MptcpOption::AddAddress { address_id, is_echo, address, port, mac: if is_echo { 0 } else { mac } }
            }
        ),
        any::<u8>().prop_map(|address_id| MptcpOption::RemoveAddress { address_id }),
        any::<bool>().prop_map(|is_backup| MptcpOption::Priority { is_backup }),
        any_u64().prop_map(|data_seq| MptcpOption::Fail { data_seq }),
        any_u64().prop_map(|receiver_key| MptcpOption::FastClose { receiver_key }),
        (any::<bool>(), any::<u8>()).prop_map(|(is_transient, reason)| MptcpOption::Reset { is_transient, reason }),
    ]
}

fn segments() -> impl Strategy<Value = Segment> {
    let fixed = (any::<u32>(), any::<u32>(), 0u32..9000, 0u16..0x200, 0usize..4, any::<u16>());
    let options = (any::<bool>(), any::<(u32, u32)>(), 0usize..3, any::<[(u32, u32); 2]>());
    let syn = (any::<u16>(), prop::option::of(0u8..15), any::<bool>());
    let accecn = prop::option::of((any::<[u32; 3]>(), any::<bool>(), 0u8..4));
    (fixed, options, syn, accecn).prop_map(|(fixed, (ts, times, blocks, sack), syn, accecn)| {
        let (seq, ack, payload_len, flags, ecn, window) = fixed;
        let mut segment =
            Segment { seq, ack, payload_len, flags: Flags(flags), window: window.into(), ..Segment::default() };
        segment.ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn];
        segment.timestamps = ts.then_some(Timestamps { value: times.0, echo: times.1 });
        segment.accecn = accecn.map(|(counters, is_reversed, count)| AccEcn::new(counters, is_reversed, count));
        if segment.flags.contains(Flags::SYN) {
            segment.syn_options = SynOptions { mss: syn.0, window_scale: syn.1, sack_permitted: syn.2 };
        } else {
            let mut held = SackBlocks::EMPTY;
            sack[..blocks].iter().for_each(|&(l, r)| {
                held.push(l, r);
            });
            segment.sack = held;
        }
        segment
    })
}

fn envelopes() -> impl Strategy<Value = Envelope> {
    let ports = any::<(u16, u16)>();
    (any::<bool>(), any::<[u8; 16]>(), any::<[u8; 16]>(), ports, any::<u16>()).prop_map(
        |(is_v6, a, b, ports, number)| {
            let end = |bytes: [u8; 16], port| match is_v6 {
                true => SocketAddr::from((bytes, port)),
                false => SocketAddr::from(([bytes[0], bytes[1], bytes[2], bytes[3]], port)),
            };
            let identification = if is_v6 { 0 } else { number };
            Envelope { source: end(a, ports.0), destination: end(b, ports.1), window_scale: 0, identification }
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        mut segment in segments(), options in prop::collection::vec(option(), 0..4), envelope in envelopes(), place in any::<u32>()
    ) {
        segment.mptcp = options.first().copied().unwrap_or_default();
        let more = options.get(1..).unwrap_or_default();
        let mut bytes = vec![];
        match encode(&segment, more, &envelope, Payload::Zeros, &mut bytes) {
            Err(EncodeError::OptionsTooLong(41..)) => return Ok(()),
            other => prop_assert_eq!(other, Ok(())),
        }
        if more.is_empty() && envelope.source.is_ipv4() {
            prop_assert_eq!(bytes.len() as u32, segment.wire_bytes());
        }
        let (decoded, packet) = decode(&bytes, 0).unwrap();
        prop_assert_eq!(decoded, segment);
        prop_assert_eq!(packet.mptcp().collect::<Vec<_>>(), options);
        prop_assert_eq!((packet.envelope(0), packet.protocol), (envelope, TCP));
        prop_assert_eq!(packet.payload.len(), segment.payload_len as usize);
        prop_assert_eq!(packet.header_bytes + packet.payload.len(), bytes.len());
        let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        prop_assert_eq!(fields[usize::from(ecn_bits(&bytes))], segment.ecn);
        // A mark by a queue, or a hop that writes another field, keeps the packet right, and in its flow.
        let flow = flow_hash(&bytes);
        for (bits, ecn) in (0..).zip(fields) {
            set_ecn_bits(&mut bytes, bits);
            prop_assert_eq!(decode(&bytes, 0).unwrap().0, Segment { ecn, ..segment });
            prop_assert_eq!(flow_hash(&bytes), flow);
        }
        // One flipped bit is always noticed: by a checksum, or because the packet is no TCP any more. IPv6 guards only addresses,
        // length and what it carries.
        let guarded = if envelope.source.is_ipv4() { 0 } else { 8 };
        let bit = guarded * 8 + (place as usize) % ((bytes.len() - guarded) * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes, 0).is_err());
    }

    #[test]
    fn no_input_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..120), scale in any::<u8>()) {
        let _ = decode(&bytes, scale);
        flow_hash(&bytes);
        ecn_bits(&bytes);
        set_ecn_bits(&mut bytes, 0b11);
    }

    /// Valid headers around anything.
    #[test]
    fn no_options_panic(options in prop::collection::vec(any::<u8>(), 40), is_v6 in any::<bool>(), scale in any::<u8>()) {
        let mut packet = bytes_of(&Segment::default(), &[], &if is_v6 { v6() } else { v4() });
        let (tcp, length_at) = if is_v6 { (40, 5) } else { (20, 3) };
        packet[length_at] += 40;
        packet[tcp + 12] = 0xf0;
        packet.extend_from_slice(&options);
        let parsed = Packet::parse(&packet).expect("the headers hold");
        prop_assert_eq!(parsed.header_bytes, packet.len());
        prop_assert!(parsed.options().count() <= 40);
        parsed.mptcp().for_each(drop);
        prop_assert!(matches!(parsed.segment(scale), Ok(_) | Err(DecodeError::BadHeader)));
    }

    /// A right packet with some bytes changed, or cut short.
    #[test]
    fn no_damage_panics(
        mut segment in segments(), option in option(), envelope in envelopes(), length in 0usize..140,
        damage in prop::collection::vec(any::<(usize, u8)>(), 0..6),
    ) {
        segment.mptcp = option;
        segment.payload_len %= 20;
        prop_assume!(segment.option_bytes() <= 40);
        let mut bytes = bytes_of(&segment, &[], &envelope);
        for (at, value) in damage {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(length);
        let _ = decode(&bytes, 7);
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert!(packet.header_bytes + packet.payload.len() <= bytes.len());
            packet.mptcp().for_each(drop);
        }
        flow_hash(&bytes);
        set_ecn_bits(&mut bytes, 0b11);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut out = vec![];
    let mut refused = |segment: &Segment, more: &[MptcpOption], envelope: &Envelope| {
        let error = encode(segment, more, envelope, Payload::Omitted, &mut out).unwrap_err();
        assert!(out.is_empty());
        error
    };
    let close = MptcpOption::FastClose { receiver_key: 1 };
    assert_eq!(refused(&Segment::default(), &[close; 4], &v4()), EncodeError::OptionsTooLong(48));
    let long = Segment { payload_len: 65_496, ..Segment::default() };
    assert_eq!(refused(&long, &[], &v4()), EncodeError::TooLong(65_536));
    assert_eq!(
        refused(&Segment::default(), &[], &Envelope { source: v6().source, ..v4() }),
        EncodeError::MixedFamilies
    );
}

/// Fragments and other protocols are told apart from what is broken.
#[test]
fn what_is_no_segment_says_why() {
    let bytes = bytes_of(&Segment::default(), &[], &v4());
    let refused = |place: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[place] = value;
        decode(&bytes, 0).unwrap_err()
    };
    assert_eq!(refused(0, 0x25), DecodeError::BadIp);
    assert_eq!(refused(7, 1), DecodeError::Fragment);
    assert_eq!(refused(9, 1), DecodeError::OtherProtocol);
    assert_eq!(refused(32, 0x40), DecodeError::BadHeader);
    assert_eq!(refused(8, 1), DecodeError::BadChecksum);
}

/// A hop-by-hop header of IPv6 before TCP is passed over.
#[test]
fn extension_headers_are_read() {
    let segment = Segment { seq: 9, payload_len: 3, ..Segment::default() };
    let plain = bytes_of(&segment, &[], &v6());
    let mut bytes = plain[..40].to_vec();
    bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(&plain[40..]);
    (bytes[5], bytes[6]) = (plain[5] + 8, 0);
    let (decoded, packet) = decode(&bytes, 0).unwrap();
    assert_eq!((decoded, packet.header_bytes), (segment, 68));
}

/// UDP: 4 bytes from port 9 to 10, with its checksum, without one, with a wrong one.
#[test]
fn a_datagram_has_ends_and_no_segment() {
    let mut bytes = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0x66, 0xcb, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0, 9, 0, 10, 0, 12, 0, 0, 1, 2, 3, 4]);
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!((packet.source.port(), packet.destination.port(), packet.payload), (9, 10, &[1u8, 2, 3, 4][..]));
    assert_eq!(packet.segment(0), Err(DecodeError::OtherProtocol));
    assert!(packet.has_right_checksums());
    bytes[26..28].copy_from_slice(&[0, 1]);
    assert!(!Packet::parse(&bytes).unwrap().has_right_checksums());
    // 0a00+0001+0a00+0002+0011+000c + 0009+000a+000c + 0102+0304 = 1845; its complement is e7ba.
    bytes[26..28].copy_from_slice(&[0xe7, 0xba]);
    assert!(Packet::parse(&bytes).unwrap().has_right_checksums());
}

/// Flows are told apart by addresses, protocol and ports, and by nothing else.
#[test]
fn a_flow_has_its_hash() {
    let segment = Segment { payload_len: 10, ..Segment::default() };
    for (envelope, places, same) in [(v4(), [12, 19, 20, 23], 24), (v6(), [8, 39, 40, 43], 44)] {
        let bytes = bytes_of(&segment, &[], &envelope);
        let changed = |place: usize| {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1;
            flow_hash(&bytes)
        };
        places.iter().for_each(|place| assert_ne!(changed(*place), flow_hash(&bytes), "byte {place}"));
        assert_eq!(changed(same), flow_hash(&bytes));
    }
}

/// The bytes of a SYN as a Linux host sends it: MSS 1460, SACK permitted, timestamps 1 and 0, window scale 7.
#[test]
fn a_syn_as_linux_sends_it() {
    let segment = Segment {
        seq: 0x01020304,
        window: 64240,
        flags: Flags::SYN,
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        syn_options: SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true },
        ..Segment::default()
    };
    let bytes = bytes_of(&segment, &[], &v4());
    assert_eq!(bytes.len(), 60);
    assert_eq!(bytes[40..], [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
}

/// RFC 8684 figure 9: a DSS with a four-byte DATA_ACK and an eight-byte data sequence number has flags A, M, m.
#[test]
fn a_dss_on_the_wire() {
    let mptcp = MptcpOption::Dss {
        flags: DSS_ACK | DSS_MAP | DSS_SEQ8,
        data_ack: 0x1_0000_0005,
        data_seq: 0x0102030405060708,
        subflow_seq: 9,
        len: 1400,
        checksum: None,
    };
    let segment = Segment { flags: Flags::ACK, payload_len: 0, mptcp, ..Segment::default() };
    let bytes = bytes_of(&segment, &[], &v4());
    let expected = [30, 22, 0x20, 0x0d, 0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9, 5, 120, 1, 1];
    assert_eq!(bytes[40..], expected);
}

/// MP_CAPABLE of the third ACK with data and checksum (24 bytes), and REMOVE_ADDR of three addresses in one option.
#[test]
fn rare_forms_on_the_wire() {
    let capable = MptcpOption::Capable {
        flags: CAPABLE_SHA256,
        keys: 2,
        data_len: 1400,
        checksum: Some(0xabcd),
        sender_key: 1,
        receiver_key: 2,
    };
    let segment = Segment { flags: Flags::ACK, mptcp: capable, ..Segment::default() };
    let expected = [30, 24, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 5, 120, 0xab, 0xcd];
    assert_eq!(bytes_of(&segment, &[], &v4())[40..], expected);
    let removed = [7, 8, 9].map(|address_id| MptcpOption::RemoveAddress { address_id });
    let segment = Segment { flags: Flags::ACK, mptcp: removed[0], ..Segment::default() };
    assert_eq!(bytes_of(&segment, &removed[1..], &v4())[40..], [30, 6, 0x40, 7, 8, 9, 1, 1]);
}

/// tshark reads each option as what it is, over IPv4 and IPv6, and has no complaint. Skipped, with a word, where it is missing.
#[test]
fn wireshark_reads_every_option_of_mptcp() {
    let dss = |flags| MptcpOption::Dss { flags, data_ack: 7, data_seq: 9, subflow_seq: 11, len: 1, checksum: None };
    let wide = DSS_ACK | DSS_MAP | DSS_SEQ8;
    let capable = MptcpOption::Capable {
        flags: CAPABLE_SHA256,
        keys: 2,
        sender_key: 3,
        receiver_key: 5,
        data_len: 0,
        checksum: None,
    };
    let add = |is_echo, address: &str, port, mac| {
        let address = address.parse().expect("an address");
        MptcpOption::AddAddress { address_id: 4, is_echo, address, port, mac }
    };
    let remove = |address_id| MptcpOption::RemoveAddress { address_id };
    let cases: [(&[MptcpOption], &str, &str, &str); 17] = [
        (&[capable], "0", "mptcp", ""),
        (&[MptcpOption::JoinAck { mac: [1; 20] }], "1", "mptcp", ""),
        (&[dss(wide)], "2", "tcp.options.mptcp.datafin.flag", "0"),
        (&[dss(wide | DSS_FIN)], "2", "tcp.options.mptcp.datafin.flag", "1"),
        (&[dss(wide | DSS_ACK8)], "2", "tcp.options.mptcp.rawdataack", "7"),
        (&[dss(DSS_ACK | DSS_MAP)], "2", "tcp.options.mptcp.rawdataseqno", "9"),
        (&[add(false, "10.2.0.1", 0, 1)], "3", "tcp.options.mptcp.ipv4", "10.2.0.1"),
        (&[add(true, "10.2.0.1", 0, 0)], "3", "tcp.options.mptcp.echo", "1"),
        (&[add(false, "fd00::3", 0, 1)], "3", "tcp.options.mptcp.ipv6", "fd00::3"),
        (&[add(false, "10.2.0.1", 443, 1)], "3", "tcp.options.mptcp.port", "443"),
        (&[remove(6)], "4", "tcp.options.mptcp.addrid", "6"),
        (&[remove(6), remove(9)], "4", "tcp.options.mptcp.addrid", "6,9"),
        (&[MptcpOption::Priority { is_backup: true }], "5", "tcp.options.mptcp.backup.flag", "1"),
        (&[MptcpOption::Fail { data_seq: 12 }], "6", "tcp.options.mptcp.rawdataseqno", "12"),
        (&[MptcpOption::FastClose { receiver_key: 13 }], "7", "tcp.options.mptcp.recvkey", "13"),
        (&[MptcpOption::Reset { is_transient: true, reason: 2 }], "8", "tcp.options.mptcp.rst_reason", "0x02"),
        (&[dss(wide), MptcpOption::Priority { is_backup: false }, remove(3)], "2,5,4", "mptcp", ""),
    ];
    let mut packets = vec![];
    for envelope in [v4(), v6()] {
        for (options, ..) in &cases {
            let flags = if matches!(options[0], MptcpOption::Reset { .. }) { Flags::RST } else { Flags::ACK };
            let (seq, ack, window, mptcp) = (1, 1, 1000, options[0]);
            let segment = Segment { seq, ack, window, flags, mptcp, ..Segment::default() };
            packets.push(bytes_of(&segment, &options[1..], &envelope));
        }
    }
    let file = std::env::temp_dir().join(format!("playpath-mptcp-{}.pcapng", std::process::id()));
    std::fs::write(&file, capture(&packets)).expect("a writable temporary folder");
    let mut command = std::process::Command::new("tshark");
    command.arg("-r").arg(&file).args(["-o", "tcp.check_checksum:TRUE", "-T", "fields", "-E", "separator=;"]);
    let general = [
        "tcp.options.mptcp.subtype",
        "_ws.malformed",
        "tcp.checksum.status",
        "frame.interface_name",
        "frame.time_epoch",
    ];
    for name in general {
        command.args(["-e", name]);
    }
    let values: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.2).collect();
    for name in &values {
        command.args(["-e", name]);
    }
    let done = command.output();
    std::fs::remove_file(&file).expect("written above");
    let Ok(done) = done else { return println!("skipped: tshark is not installed") };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), packets.len());
    for (number, (line, (_, subtype, field, value))) in lines.iter().zip(cases.iter().cycle()).enumerate() {
        let read: Vec<&str> = line.split(';').collect();
        assert_eq!((read[0], read[1], read[2]), (*subtype, "", "1"), "{field}: {line}");
        let nanos = LATE + number as u64;
        let time = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        assert_eq!((read[3], read[4]), (["wifi", "lte"][number % 2], time.as_str()));
        let at = general.len() + values.iter().position(|name| name == field).expect("asked for");
        assert!(value.is_empty() || read[at] == *value, "{field}: {line}");
    }
}

/// Just below a carry of the low half of a timestamp.
const LATE: u64 = 0x1800_0000_ffff_fff0;

/// A pcapng file: a packet at each nanosecond, over two interfaces in turn.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut capture = PcapNg::new(&mut file, &["wifi", "lte"]).expect("a vector takes all");
    for (number, packet) in packets.iter().enumerate() {
        let number = number as u32;
        capture.write(number % 2, LATE + u64::from(number), packet, packet.len() as u32).expect("a vector takes all");
    }
    capture.finish().expect("a vector takes all");
    file
}

/// RFC 9768 §3.2.3, figure 4: kind 174, ECT(1), CE, ECT(0), 24 bits each. A length that is none of table 5 counts for the counters that
/// are whole: of 7 one.
#[test]
fn accurate_ecn_is_laid_out_as_in_the_rfc() {
    let segment =
        Segment { flags: Flags::ACK, accecn: Some(AccEcn::new([3, 2, 0x0101_0203], true, 3)), ..Segment::default() };
    let mut bytes = bytes_of(&segment, &[], &v4());
    assert_eq!(bytes[40..], [174, 11, 1, 2, 3, 0, 0, 2, 0, 0, 3, 1]);
    assert_eq!(bytes.len() as u32, segment.wire_bytes());
    assert_eq!(segment.accecn.map(|option| option.counters()), Some([Some(3), Some(2), Some(0x0001_0203)]));
    bytes[41] = 7;
    bytes[47..].fill(1);
    let read = Packet::parse(&bytes).expect("headers").segment(0).expect("options");
    assert_eq!(read.accecn.map(|option| option.counters()), Some([None, None, Some(0x0001_0203)]));
}
