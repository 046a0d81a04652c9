//! Nothing that a peer sends makes an endpoint panic, spin, or send without end. Overflow checks are on in tests.

mod support;

use playpath_cc::EcnUse;
use playpath_transport::mptcp::option::{DSS_ACK, DSS_ACK8, DSS_FIN, DSS_MAP, DSS_SEQ8};
use playpath_transport::mptcp::{MptcpConfig, MptcpConnection, PathConfig, scheduler};
use playpath_transport::transports::Segments;
use playpath_transport::{
    AccEcn, Config, Connection, Ecn, Flags, MptcpOption, SackBlocks, Segment, SynOptions, Timestamps,
};
use playpath_units::{Duration, Time};
use proptest::prelude::*;
use support::Reno;

/// Numbers near what is in use, and anything.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0u32..20_000, 1 => any::<u32>(), 1 => (u32::MAX - 5000)..=u32::MAX]
}

fn option() -> impl Strategy<Value = MptcpOption> {
    let dss =
        (0u8..32, number(), number(), number(), any::<u16>()).prop_map(|(bits, ack, data_seq, subflow_seq, len)| {
            let flag = |bit: u8, flag: u8| if bits & bit != 0 { flag } else { 0 };
            MptcpOption::Dss {
                flags: flag(1, DSS_ACK) | flag(2, DSS_MAP) | flag(4, DSS_FIN) | flag(8, DSS_ACK8) | flag(16, DSS_SEQ8),
                data_ack: ack.into(),
                data_seq: data_seq.into(),
                subflow_seq,
                len,
                checksum: None,
            }
        });
    prop_oneof![
        2 => Just(MptcpOption::None),
        4 => dss,
        1 => (0u8..3, any::<u16>(), any::<u64>()).prop_map(|(keys, data_len, key)| MptcpOption::Capable {
            flags: 1, keys, data_len, checksum: None, sender_key: key, receiver_key: !key
        }),
        1 => (any::<u8>(), any::<u32>()).prop_map(|(address_id, n)| MptcpOption::JoinSyn {
            address_id, is_backup: n & 1 != 0, token: n, nonce: n
        }),
        1 => (any::<u8>(), any::<u64>()).prop_map(|(address_id, mac)| MptcpOption::JoinSynAck {
            address_id, is_backup: mac & 1 != 0, mac, nonce: 1
        }),
        1 => any::<[u8; 20]>().prop_map(|mac| MptcpOption::JoinAck { mac }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(address_id, is_echo)| MptcpOption::AddAddress {
            address_id, is_echo, address: [0, 0, 0, 1].into(), port: 0, mac: 2
        }),
        1 => any::<u8>().prop_map(|address_id| MptcpOption::RemoveAddress { address_id }),
        1 => any::<bool>().prop_map(|is_backup| MptcpOption::Priority { is_backup }),
    ]
}

fn segment() -> impl Strategy<Value = Segment> {
    let rarely = || prop::bool::weighted(0.05);
    let flags = (rarely(), rarely(), rarely(), prop::bool::weighted(0.95), any::<bool>(), any::<bool>());
    let options = (
        prop::option::of((number(), number())),
        prop::collection::vec((number(), number()), 0..5),
        any::<(u16, u8, bool)>(),
        0usize..4,
        option(),
        prop::option::of((any::<[u32; 3]>(), any::<bool>(), 0u8..5)),
    );
    let sizes = (number(), number(), prop_oneof![Just(0u32), Just(1000), 0u32..70_000], number());
    (sizes, flags, options).prop_map(|((seq, ack, payload_len, window), flags, (ts, sack, syn, ecn, mptcp, accecn))| {
        let bits = [flags.0, flags.1, flags.2, false, flags.3, false, flags.4, flags.5];
        let flags = bits.iter().enumerate().fold(0, |all, (i, set)| all | u16::from(*set) << i);
        let mut held = SackBlocks::EMPTY;
        sack.into_iter().for_each(|(left, right)| {
            held.push(left, right);
        });
        Segment {
            seq,
            ack,
            payload_len,
            window,
            flags: Flags(flags),
            ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn],
            fixed_header_bytes: 0,
            syn_options: SynOptions { mss: syn.0, window_scale: Some(syn.1), sack_permitted: syn.2 },
            timestamps: ts.map(|(value, echo)| Timestamps { value, echo }),
            sack: held,
            accecn: accecn.map(|(counters, is_reversed, count)| AccEcn::new(counters, is_reversed, count)),
            mptcp,
        }
    })
}

#[derive(Clone, Debug)]
enum Step {
    Arrive(usize, Segment),
    Wait(u32),
    Write(u32),
    Read(u32),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0usize..3, segment()).prop_map(|(path, segment)| Step::Arrive(path, segment)),
        2 => (0u32..3_000_000).prop_map(Step::Wait),
        2 => (0u32..50_000).prop_map(Step::Write),
        1 => (0u32..50_000).prop_map(Step::Read),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 1..80)
}

/// The peer's half of a proper handshake, so that what follows meets an established endpoint.
fn syn(mptcp: MptcpOption) -> Segment {
    Segment {
        window: 50_000,
        flags: Flags::SYN,
        syn_options: SynOptions { mss: 1460, window_scale: Some(7), sack_permitted: true },
        timestamps: Some(Timestamps { value: 1, echo: 0 }),
        mptcp,
        ..Segment::default()
    }
}

fn third(mptcp: MptcpOption) -> Segment {
    Segment { seq: 1, ack: 1, flags: Flags::ACK, syn_options: SynOptions::default(), ..syn(mptcp) }
}

/// What came is acknowledged and stays as it came: a copy, with an ACK or without, is not for the owner of the bytes to store
/// (RFC 9293 §3.10.7.4); what follows it is.
#[test]
fn a_copy_of_what_was_acknowledged_is_not_taken() {
    let now = Time::from_millis(1);
    let mut connection = Connection::listen(Config::linux(), Reno::growing(10.0));
    let data = |seq, payload_len, flags| Segment { seq, payload_len, flags, ..third(MptcpOption::None) };
    for (segment, taken) in [
        (syn(MptcpOption::None), None),
        (third(MptcpOption::None), None),
        (data(1, 30, Flags::ACK), Some(0)),
        (data(1, 15, Flags::default()), None),
        (data(1, 15, Flags::ACK), None),
        (data(1, 30, Flags::ACK), None),
        (data(1 << 30, 30, Flags::ACK), None),
        (data(31, 10, Flags::ACK), Some(30)),
    ] {
        assert_eq!(connection.take_segment(now, 0, &segment, &[]), taken, "{segment:?}");
        while connection.poll_transmit(now).is_some() {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn tcp_survives(steps in steps(), profile in prop::sample::select(Config::PROFILES.iter().map(|p| p.0).collect::<Vec<_>>()), ecn in any::<bool>(), accurate in any::<bool>()) {
        let ecn_use = if accurate { EcnUse::Counts } else { EcnUse::Echo };
        let config = Config { ecn, ecn_use, ..Config::profile(profile).unwrap() };
        let mut connection = Connection::listen(config, Reno::growing(10.0));
        let mut now = Time::from_millis(1);
        for segment in [syn(MptcpOption::None), third(MptcpOption::None)] {
            connection.handle_segment(now, &segment);
            while connection.poll_transmit(now).is_some() {}
        }
        for step in steps {
            match step {
                Step::Arrive(_, segment) => connection.handle_segment(now, &segment),
                Step::Wait(micros) => now += Duration::from_micros(micros.into()),
                Step::Write(bytes) => { connection.write(bytes.into()); }
                Step::Read(bytes) => { connection.read(bytes.into()); }
                Step::Close => connection.close(),
            }
            if connection.poll_timeout() <= now {
                connection.handle_timeout(now);
            }
            let mut sent = 0;
            while connection.poll_transmit(now).is_some() {
                sent += 1;
                prop_assert!(sent < 20_000, "sends without end");
            }
            while connection.poll_event().is_some() {}
            connection.info();
        }
    }

    #[test]
    fn mptcp_survives(steps in steps(), name in prop::sample::select(scheduler::entries().iter().map(|e| e.name).collect::<Vec<_>>())) {
        let config = MptcpConfig { key: 5, nonce: 6, send_buffer: 200_000, receive_buffer: 50_000, is_coupled: true, requires_checksums: false };
        let tcp = Config { tunes_window: false, ..Config::linux() };
        let path = |_| PathConfig { tcp, cc: Reno::growing(10.0), is_backup: false };
        let mut connection = MptcpConnection::listen(config, scheduler::build(name).unwrap(), (0..3).map(path).collect());
        let mut now = Time::from_millis(1);
        let key = |keys| MptcpOption::Capable {
            flags: 1,
            keys,
            data_len: 0,
            checksum: None,
            sender_key: 77,
            receiver_key: 5,
        };
        for segment in [syn(key(0)), third(key(2))] {
            connection.handle_segment(now, 0, &segment);
            while connection.poll_transmit(now).is_some() {}
        }
        for step in steps {
            match step {
                Step::Arrive(path, segment) => connection.handle_segment(now, path, &segment),
                Step::Wait(micros) => now += Duration::from_micros(micros.into()),
                Step::Write(bytes) => { connection.write(bytes.into()); }
                Step::Read(bytes) => { connection.read(bytes.into()); }
                Step::Close => connection.close(now),
            }
            if connection.poll_timeout() <= now {
                connection.handle_timeout(now);
            }
            let mut sent = 0;
            while connection.poll_transmit(now).is_some() {
                sent += 1;
                prop_assert!(sent < 20_000, "sends without end");
            }
            while connection.poll_event().is_some() {}
        }
    }
}
