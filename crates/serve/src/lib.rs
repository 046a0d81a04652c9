//! The simulator's TCP and MPTCP as a web server for stock clients, on a TUN device (Linux).

mod client_data;
pub mod clients;
pub mod device;
pub mod h2;
pub mod h3;
pub mod http;
pub mod http_connection;
pub mod incoming;
pub mod options;
pub mod outgoing;
mod paced;
pub mod pair;
pub mod quic;
pub mod record;
pub mod run;
pub mod secrets;
pub mod secure;
pub mod server;
pub mod settings;
pub mod store;
