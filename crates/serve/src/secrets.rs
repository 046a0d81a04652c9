//! What nobody may guess: initial sequence numbers (RFC 6528), keys and nonces of MPTCP (RFC 8684 section 3.1).
//!
//! A source of one's own lets a test begin where numbers wrap: the first data sequence number follows from the key (RFC 8684 section
//! 3.1), so both are chosen with it. `crates/serve/tests/programs/against_kernel` does.

use rustix::io::Result;
use rustix::rand::{GetRandomFlags, getrandom};

/// Where they come from; by default from the kernel. Errors: it has none.
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
