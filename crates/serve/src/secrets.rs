//! Unpredictable values: initial sequence numbers (RFC 6528), keys and nonces of MPTCP (RFC 8684 section 3.1).
//!
//! A test can supply its own source in order to start close to a wrap of sequence numbers: the first data sequence number follows from
//! the key (RFC 8684 section 3.1), so one source determines both. `crates/serve/tests/programs/against_kernel` does.

use rustix::io::Result;
use rustix::rand::{GetRandomFlags, getrandom};

/// Source of these values; by default the kernel. Errors: the source has none.
pub trait Secrets: Send {
    /// Sequence number of a SYN.
    fn isn(&mut self) -> Result<u32> {
        Ok(u32::from_ne_bytes(random()?))
    }

    fn key(&mut self) -> Result<u64> {
        Ok(u64::from_ne_bytes(random()?))
    }

    fn nonce(&mut self) -> Result<u32> {
        Ok(u32::from_ne_bytes(random()?))
    }
}

pub struct Random;

impl Secrets for Random {}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}
