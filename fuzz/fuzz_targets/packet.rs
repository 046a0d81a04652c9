//! No bytes make the packet codec panic; what is read can be written and read again, the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_transport::codec::{Packet, Payload, decode, ecn_bits, encode, flow_hash, set_ecn_bits};

fuzz_target!(|bytes: &[u8]| {
    let mut marked = bytes.to_vec();
    set_ecn_bits(&mut marked, 0b11);
    flow_hash(bytes);
    ecn_bits(bytes);
    let Ok(packet) = Packet::parse(bytes) else { return };
    assert!(packet.header_bytes + packet.payload.len() <= bytes.len());
    let Ok(segment) = packet.segment(7) else { return };
    let options: Vec<_> = packet.mptcp().filter(|option| *option != Default::default()).collect();
    let mut again = Vec::new();
    // Options that were padded oddly, or scattered, may take more room when laid out as Linux does.
    let written = segment.mptcp == options.first().copied().unwrap_or_default()
        && encode(&segment, options.get(1..).unwrap_or_default(), &packet.envelope(7), Payload::Zeros, &mut again)
            .is_ok();
    if written {
        let (mut read, packet) = decode(&again, 7).expect("what was written can be read");
        // Only a SYN carries these.
        read.syn_options = segment.syn_options;
        assert_eq!(read, segment);
        assert_eq!(packet.mptcp().collect::<Vec<_>>(), options);
    }
});
