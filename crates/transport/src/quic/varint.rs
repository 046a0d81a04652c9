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
mod tests;
