//! What sets the pace of a link: when does a packet that starts now leave?

mod opportunities;
mod rate_trace;

use crate::config::ServerConfig;
use opportunities::OpportunityServer;
use playpath_units::{Duration, Rate, Time};
use rate_trace::RateTraceServer;

pub(crate) enum Server {
    Constant(ConstantServer),
    Opportunities(OpportunityServer),
    RateTrace(RateTraceServer),
    Unlimited,
}

impl Server {
    pub(crate) fn new(config: &ServerConfig) -> Server {
        match config {
            ServerConfig::Constant { rate } => Server::Constant(ConstantServer::new(*rate)),
            ServerConfig::Opportunities { trace } => Server::Opportunities(OpportunityServer::new(trace.clone())),
            ServerConfig::RateTrace { trace } => Server::RateTrace(RateTraceServer::new(trace.clone())),
            ServerConfig::Unlimited => Server::Unlimited,
        }
    }

    /// When the last bit of a packet leaves that starts at `start`. Starts never go back in time.
    #[inline]
    pub(crate) fn departure(&mut self, start: Time, wire_bytes: u32) -> Time {
        match self {
            Server::Constant(server) => start + server.service_time(wire_bytes),
            Server::Opportunities(server) => server.departure(start, wire_bytes),
            Server::RateTrace(server) => server.departure(start, wire_bytes),
            Server::Unlimited => start,
        }
    }

    /// Nothing to send: what is left of the present opportunity is lost.
    #[inline]
    pub(crate) fn go_idle(&mut self) {
        if let Server::Opportunities(server) = self {
            server.go_idle();
        }
    }

    /// Bytes that could have been sent until `now`; `None` where utilisation follows from busy time or has no meaning.
    pub(crate) fn capacity_bytes(&self, now: Time) -> Option<f64> {
        match self {
            Server::Opportunities(server) => Some(server.capacity_bytes(now)),
            Server::RateTrace(server) => Some(server.capacity_bytes(now)),
            Server::Constant(_) | Server::Unlimited => None,
        }
    }
}

/// A constant rate. Remembers the service time of the last size: most packets are as long as the one before, and the
/// division costs more than the rest.
pub(crate) struct ConstantServer {
    rate: Rate,
    last_bytes: u32,
    last_time: Duration,
}

impl ConstantServer {
    fn new(rate: Rate) -> ConstantServer {
        ConstantServer { rate, last_bytes: 0, last_time: Duration::ZERO }
    }

    #[inline]
    fn service_time(&mut self, wire_bytes: u32) -> Duration {
        if wire_bytes != self.last_bytes {
            self.last_bytes = wire_bytes;
            self.last_time = self.rate.time_to_send(u64::from(wire_bytes));
        }
        self.last_time
    }
}
