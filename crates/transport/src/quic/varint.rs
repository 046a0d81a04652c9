//! Sizes of variable-length integers and of packet numbers.
//!
//! Reference: RFC 9000 §16 (integers), §17.1 and appendix A.2 (packet numbers). Tested here by the RFC's examples.

/// Largest integer that can be written (§16): 2^62 - 1.
pub const MAX: u64 = (1 << 62) - 1;

/// Bytes of `value` (§16, table 4).
pub const fn size(value: u64) -> u32 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Bytes of packet number `number` when `largest_acked` is the largest that the peer acknowledged in this space (§17.1): twice the
/// distance must fit.
pub const fn packet_number_size(number: u64, largest_acked: Option<u64>) -> u32 {
    let distance = match largest_acked {
        Some(largest) => number.saturating_sub(largest),
        None => number + 1,
    };
    match distance {
        0..=0x80 => 1,
        0x81..=0x8000 => 2,
        0x8001..=0x80_0000 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(
            (packet_number_size(0, None), packet_number_size(127, None), packet_number_size(128, None)),
            (1, 1, 2)
        );
    }
}
