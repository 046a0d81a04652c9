//! A pair of relays carries one stream over several ordinary TCP connections, one per path: striping over TCP, not MPTCP.
//!
//! `core` is one end of a session without IO: records (`record`), bytes kept until acknowledged (`send_buffer`), reassembly
//! (`incoming`) and the data level of `playpath-transport`. The rest of the crate drives it over real sockets.

#![forbid(unsafe_code)]

pub mod core;
pub mod incoming;
pub mod record;
pub mod send_buffer;
