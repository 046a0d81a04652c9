//! The simulator's TCP and MPTCP as a web server for stock clients, on a TUN device (Linux). See docs/wire.md.

pub mod connection;
pub mod device;
pub mod http;
pub mod incoming;
pub mod options;
pub mod outgoing;
pub mod path;
pub mod run;
pub mod server;
pub mod settings;
pub mod store;
pub mod transport;
