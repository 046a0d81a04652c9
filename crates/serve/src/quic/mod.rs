//! The simulator's QUIC endpoint on UDP sockets: real keys, real bytes, HTTP/3 above.
//!
//! `identity` (certificate), `keys` (packet protection), `session` (one client), its `addresses` and `ids`, and `streams` (HTTP/3 above it),
//! `server` (which datagram belongs to whom), `tokens` (Retry and stateless reset), `run` (the loop).

mod addresses;
pub mod identity;
mod ids;
pub mod keys;
pub mod run;
pub mod server;
pub mod session;
pub mod streams;
pub mod tokens;
