//! MPTCP over the TCP endpoints (RFC 8684).

pub(crate) mod keys;
pub mod option;
pub mod scheduler;
