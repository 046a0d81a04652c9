//! A session in a log: the transfers that one viewer requested over one connection, in order.

use serde::Deserialize;

/// A transfer: asked for, and complete. Times in seconds since the session's first request.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub at_s: f64,
    /// Time from the request to the last byte.
    pub took_s: f64,
    pub bytes: f64,
    /// Time from the request to the first byte, if logged.
    #[serde(default)]
    pub first_byte_s: Option<f64>,
    /// Packets sent again in it, where the log counts them.
    #[serde(default)]
    pub again: Option<f64>,
    /// The server's TCP_INFO at the request, if logged.
    #[serde(default)]
    pub socket: Option<Socket>,
}

/// TCP_INFO of the server when the transfer was asked for; what a log does not have is none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Socket {
    /// Congestion window in packets.
    pub cwnd: Option<f64>,
    /// Slow start threshold in packets; none: no congestion yet, or not logged.
    pub ssthresh: Option<f64>,
    /// Smoothed RTT, seconds.
    pub rtt_s: Option<f64>,
    /// Retransmission timeout, seconds.
    pub rto_s: Option<f64>,
    /// Smallest RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Since the last data was sent, seconds.
    pub idle_s: Option<f64>,
}

impl Transfer {
    pub fn end_s(&self) -> f64 {
        self.at_s + self.took_s
    }
}
