//! Settings of a server: the transport, the addresses, the limits.

use playpath_scenario::{Scenario, SenderSpec, TransportSpec};
use playpath_transport::tls::Resumption;
use playpath_transport::{Config, quic};
use playpath_units::Duration;
use rustls::ServerConfig;
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::Arc;

pub struct Settings {
    /// Congestion control and scheduler.
    pub sender: SenderSpec,
    pub tcp: Arc<Config>,
    /// Own addresses; packets for others are not answered.
    pub addresses: Vec<IpAddr>,
    pub port: u16,
    pub mtu: u32,
    pub limits: Limits,
    pub mptcp: bool,
    /// TLS, if it is spoken.
    pub tls: Option<Arc<ServerConfig>>,
    /// Told with every answer: where else it is served (RFC 7838).
    pub alt_svc: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; beyond them idle ones go first, then new ones are refused.
    pub connections: usize,
    /// Most connections whose handshake is incomplete; above it the oldest is dropped.
    pub half_open: usize,
    /// QUIC: so many half-open ones are let in without a proof of their address; from then on strangers get a Retry first.
    pub half_open_unproven: usize,
    pub open_timeout: Duration,
    /// Most time from the first byte of a request to the last byte of its head.
    pub request_timeout: Duration,
    /// Most time without a byte sent or received.
    pub idle_timeout: Duration,
    /// Bytes of requests and uploads held for one connection.
    pub receive_buffer: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            half_open: 256,
            half_open_unproven: 128,
            open_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(60),
            receive_buffer: 1 << 20,
        }
    }
}

/// Build a sender from a scenario's `[[sender]]` table (as JSON), with the congestion control and scheduler of the command line.
/// Errors: one line, with the closest known name.
pub fn sender(entry: &Value, cc: Option<&str>, scheduler: Option<&str>) -> Result<SenderSpec, String> {
    let scenario = json!({
        "path": [{"rate": "1 Gbit/s", "rtt": "1 ms"}],
        "traffic": [{"kind": "bulk"}],
        "sender": [entry],
    });
    let no_files = |name: &str| Err(format!("{name}: a sender names no files"));
    let scenario = Scenario::parse(&scenario.to_string(), &json!({}), &no_files).map_err(|error| error.to_string())?;
    let mut sender = scenario.senders[0].clone();
    if let Some(name) = cc {
        sender = SenderSpec::by_cc(name, &sender)?;
    }
    if let Some(name) = scheduler {
        sender = sender.with_scheduler(name)?;
    }
    match sender.unresolved_code() {
        None => Ok(sender),
        Some(_) => Err(format!("{}: your own control in Python runs only in the simulator", sender.name)),
    }
}

/// Settings of a sender's TCP, and whether it speaks TLS, which real clients then speak with it in place of the simulator's. Errors: one
/// line.
pub fn of_tcp(sender: &SenderSpec) -> Result<(Arc<Config>, bool), String> {
    let tcp = sender.transport.tcp().cloned();
    let tcp = tcp.ok_or_else(|| format!("{}: QUIC is served by --transport quic", sender.name))?;
    match tcp.tls {
        None => Ok((tcp, false)),
        Some(tls) if tls.resumption == Resumption::None => Ok((Arc::new(Config { tls: None, ..*tcp }), true)),
        Some(_) => Err(format!(
            "{}: with real clients it is the client that decides whether to resume a session; allowed: tls = \"full\"",
            sender.name
        )),
    }
}

/// Settings of a sender's QUIC. Errors: one line.
pub fn of_quic(sender: &SenderSpec) -> Result<quic::config::Config, String> {
    match &sender.transport {
        TransportSpec::Quic(quic) => Ok(*quic.config),
        other => {
            let spoken = other.other_than_tcp().unwrap_or("TCP");
            Err(format!("{}: it uses {spoken}; give it transport = \"quic\"", sender.name))
        }
    }
}
