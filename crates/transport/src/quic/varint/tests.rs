use super::*;

/// RFC 9000 appendix A.1: 151288809941952652 in eight bytes, 494878333 in four, 15293 in two, 37 in one.
#[test]
fn worked_sizes() {
    assert_eq!([size(151_288_809_941_952_652), size(494_878_333), size(15_293), size(37)], [8, 4, 2, 1]);
    assert_eq!([size(63), size(64), size(16_383), size(16_384), size(MAX)], [1, 2, 2, 4, 8]);
}

/// RFC 9000 appendix A.2: 0xabe8b3 acknowledged; 0xac5c02 needs 16 bits, 0xace8fe 18 and so three bytes.
#[test]
fn worked_packet_numbers() {
    assert_eq!(packet_number_size(0xac5c02, Some(0xabe8b3)), 2);
    assert_eq!(packet_number_size(0xace8fe, Some(0xabe8b3)), 3);
    assert_eq!((packet_number_size(0, None), packet_number_size(127, None), packet_number_size(128, None)), (1, 1, 2));
}
