//! Segments to bytes and back.

use playpath_transport::codec::{DecodeError, Envelope, Payload, decode, encode};
use playpath_transport::mptcp::option::{DSS_ACK, DSS_FIN, DSS_MAP};
use playpath_transport::{Ecn, Flags, MptcpOption, SackBlocks, Segment, SynOptions, Timestamps};
use proptest::prelude::*;

fn mptcp() -> impl Strategy<Value = MptcpOption> {
    let any_u64 = any::<u64>;
    prop_oneof![
        Just(MptcpOption::None),
        (0u8..3, any_u64(), any_u64(), any::<u16>()).prop_map(|(keys, a, b, data_len)| MptcpOption::Capable {
            keys,
            data_len: if keys == 2 { data_len } else { 0 },
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
        (0u8..8, any::<u32>(), any_u64(), any::<u32>(), any::<u16>()).prop_map(
            |(bits, ack, data_seq, subflow_seq, len)| {
                let has_map = bits & 2 != 0;
                MptcpOption::Dss {
                    flags: [0, DSS_ACK][usize::from(bits & 1)]
                        | [0, DSS_MAP][usize::from(has_map)]
                        | [0, DSS_FIN][usize::from(bits >> 2)],
                    data_ack: if bits & 1 != 0 { u64::from(ack) } else { 0 },
                    data_seq: if has_map { data_seq } else { 0 },
                    subflow_seq: if has_map { subflow_seq } else { 0 },
                    len: if has_map { len } else { 0 },
                }
            }
        ),
        (any::<u8>(), any::<bool>(), any::<u32>(), any_u64()).prop_map(|(address_id, is_echo, address, mac)| {
            MptcpOption::AddAddress { address_id, is_echo, address, mac: if is_echo { 0 } else { mac } }
        }),
        any::<u8>().prop_map(|address_id| MptcpOption::RemoveAddress { address_id }),
        any::<bool>().prop_map(|is_backup| MptcpOption::Priority { is_backup }),
        any_u64().prop_map(|data_seq| MptcpOption::Fail { data_seq }),
        any_u64().prop_map(|receiver_key| MptcpOption::FastClose { receiver_key }),
    ]
}

fn segments() -> impl Strategy<Value = Segment> {
    let fixed = (any::<u32>(), any::<u32>(), 0u32..9000, any::<u8>(), 0usize..4, any::<u16>());
    let options = (any::<bool>(), any::<(u32, u32)>(), 0usize..3, any::<[(u32, u32); 2]>(), mptcp());
    let syn = (any::<u16>(), prop::option::of(0u8..15), any::<bool>());
    (fixed, options, syn).prop_map(
        |((seq, ack, payload_len, flags, ecn, window), (ts, times, blocks, sack, mptcp), syn)| {
            let mut segment =
                Segment { seq, ack, payload_len, flags: Flags(flags), window: window.into(), ..Segment::default() };
            segment.ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn];
            segment.timestamps = ts.then_some(Timestamps { value: times.0, echo: times.1 });
            if segment.flags.contains(Flags::SYN) {
                segment.syn_options = SynOptions { mss: syn.0, window_scale: syn.1, sack_permitted: syn.2 };
            } else {
                let mut held = SackBlocks::EMPTY;
                sack[..blocks].iter().for_each(|&(l, r)| {
                    held.push(l, r);
                });
                segment.sack = held;
            }
            segment.mptcp = mptcp;
            segment
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(segment in segments(), source in any::<u32>(), ports in any::<(u16, u16)>()) {
        // 40 bytes of options are all that fits (RFC 9293 §3.1); no endpoint builds more.
        prop_assume!(segment.option_bytes() <= 40);
        let envelope = Envelope {
            source,
            destination: !source,
            source_port: ports.0,
            destination_port: ports.1,
            window_scale: 0,
            identification: 77,
        };
        let mut bytes = vec![];
        encode(&segment, &envelope, Payload::Zeros, &mut bytes);
        prop_assert_eq!(bytes.len() as u32, segment.wire_bytes());
        let (decoded, other, at) = decode(&bytes, 0).unwrap();
        prop_assert_eq!(decoded, segment);
        prop_assert_eq!(other, envelope);
        prop_assert_eq!(bytes.len() - at, segment.payload_len as usize);
        // One flipped bit is always noticed: by a checksum, or because the packet is no TCP any more.
        let bit = (source as usize) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes, 0).is_err());
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..120), scale in any::<u8>()) {
        let _ = decode(&bytes, scale);
    }

    /// Garbage in the options, with checksums that hold.
    #[test]
    fn no_options_panic(options in prop::collection::vec(any::<u8>(), 40)) {
        let mut packet = vec![];
        encode(&Segment::default(), &Envelope::default(), Payload::Zeros, &mut packet);
        packet[3] = 80;
        packet[32] = 0xf0;
        packet.extend_from_slice(&options);
        for (at, range, extra) in [(10, 0..20, 0u32), (36, 20..80, 6 + 60)] {
            packet[at] = 0;
            packet[at + 1] = 0;
            let mut sum: u32 = packet[range].chunks(2).map(|p| u32::from(p[0]) << 8 | u32::from(p[1])).sum::<u32>() + extra;
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            packet[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        let result = decode(&packet, 7);
        prop_assert!(!matches!(result, Err(DecodeError::BadChecksum | DecodeError::NotTcp)), "{:?}", result);
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
    let mut bytes = vec![];
    encode(&segment, &Envelope::default(), Payload::Zeros, &mut bytes);
    assert_eq!(bytes.len(), 60);
    assert_eq!(bytes[40..], [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
}

/// RFC 8684 figure 9: a DSS with a four-byte DATA_ACK and an eight-byte data sequence number has flags A, M, m.
#[test]
fn a_dss_on_the_wire() {
    let mptcp = MptcpOption::Dss {
        flags: DSS_ACK | DSS_MAP,
        data_ack: 0x1_0000_0005,
        data_seq: 0x0102030405060708,
        subflow_seq: 9,
        len: 1400,
    };
    let segment = Segment { flags: Flags::ACK, payload_len: 0, mptcp, ..Segment::default() };
    let mut bytes = vec![];
    encode(&segment, &Envelope::default(), Payload::Omitted, &mut bytes);
    let expected = [30, 22, 0x20, 0x0d, 0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9, 5, 120, 1, 1];
    assert_eq!(bytes[40..], expected);
}

/// A capture with an IPv4 packet for each option, and whether Wireshark reads each as what it is. Needs tshark; without it
/// nothing is shown, which the run says.
#[test]
fn wireshark_reads_every_option_of_mptcp() {
    let dss = |flags| MptcpOption::Dss { flags, data_ack: 7, data_seq: 9, subflow_seq: 11, len: 1 };
    let capable = MptcpOption::Capable { keys: 2, sender_key: 3, receiver_key: 5, data_len: 0 };
    let options = [
        (capable, "0", "mptcp", ""),
        (MptcpOption::JoinAck { mac: [1; 20] }, "1", "mptcp", ""),
        (dss(DSS_ACK | DSS_MAP), "2", "tcp.options.mptcp.datafin.flag", "0"),
        (dss(DSS_ACK | DSS_MAP | DSS_FIN), "2", "tcp.options.mptcp.datafin.flag", "1"),
        (
            MptcpOption::AddAddress { address_id: 4, is_echo: false, address: 0x0a02_0001, mac: 1 },
            "3",
            "tcp.options.mptcp.ipv4",
            "10.2.0.1",
        ),
        (
            MptcpOption::AddAddress { address_id: 4, is_echo: true, address: 0x0a02_0001, mac: 0 },
            "3",
            "tcp.options.mptcp.echo",
            "1",
        ),
        (MptcpOption::RemoveAddress { address_id: 6 }, "4", "tcp.options.mptcp.addrid", "6"),
        (MptcpOption::Priority { is_backup: true }, "5", "tcp.options.mptcp.backup.flag", "1"),
        (MptcpOption::Fail { data_seq: 12 }, "6", "tcp.options.mptcp.rawdataseqno", "12"),
        (MptcpOption::FastClose { receiver_key: 13 }, "7", "tcp.options.mptcp.recvkey", "13"),
    ];
    let file = std::env::temp_dir().join(format!("playpath-mptcp-{}.pcap", std::process::id()));
    std::fs::write(&file, capture(options.iter().map(|(option, ..)| *option))).expect("a writable temporary folder");
    for (number, (_, subtype, field, value)) in options.iter().enumerate() {
        let frame = format!("frame.number == {}", number + 1);
        let fields = ["tcp.options.mptcp.subtype", field, "_ws.malformed"];
        let mut command = std::process::Command::new("tshark");
        command.arg("-r").arg(&file).args(["-Y", &frame, "-T", "fields", "-E", "separator=;"]);
        let Ok(done) = command.args(fields.iter().flat_map(|name| ["-e", name])).output() else {
            println!("skipped: tshark is not installed");
            break;
        };
        let line = String::from_utf8_lossy(&done.stdout);
        let read: Vec<&str> = line.trim_end().split(';').collect();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!((read[0], read[2]), (*subtype, ""), "{field}: {line}");
        assert!(value.is_empty() || read[1] == *value, "{field}: {line}");
    }
    std::fs::remove_file(&file).expect("written above");
}

/// A classic pcap file (link type 101: IP) of one ACK for each option, with a byte of data where the option maps one.
fn capture(options: impl Iterator<Item = MptcpOption>) -> Vec<u8> {
    let mut file: Vec<u8> = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (number, mptcp) in options.enumerate() {
        let segment = Segment { seq: 1, ack: 1, flags: Flags::ACK, window: 1000, mptcp, ..Segment::default() };
        let envelope = Envelope {
            source: 0x0a01_0001,
            destination: 0x0a01_0101,
            source_port: 80,
            destination_port: 40_000,
            window_scale: 0,
            identification: number as u16,
        };
        let mut packet = Vec::new();
        encode(&segment, &envelope, Payload::Omitted, &mut packet);
        for word in [number as u32, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}
