//! Servers: they set the rate of a link, that is, when a packet that starts now leaves.

mod opportunities;
mod rate_trace;
mod token_bucket;
pub(crate) mod wifi;

use crate::config::{LinkConfig, ServerConfig};
use crate::queue::Queue;
use opportunities::OpportunityServer;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use rate_trace::RateTraceServer;
use token_bucket::TokenBucketServer;
use wifi::{Waiting, WifiServer};

pub(crate) enum Server {
    Constant(ConstantServer),
    Unlimited,
    TokenBucket(Box<TokenBucketServer>),
    Wifi(Box<WifiServer>),
    Traced(Box<Traced>),
}

/// A recorded channel that began `offset` into its trace.
pub(crate) struct Traced {
    offset: Duration,
    channel: Channel,
}

enum Channel {
    Opportunities(OpportunityServer),
    Rate(RateTraceServer),
}

impl Server {
    pub(crate) fn new(config: &LinkConfig, seed: RootSeed) -> Server {
        let (channel, period) = match &config.server {
            ServerConfig::Constant { rate } => return Server::Constant(ConstantServer::new(*rate)),
            ServerConfig::Unlimited => return Server::Unlimited,
            ServerConfig::TokenBucket { rate, depth } => {
                return Server::TokenBucket(Box::new(TokenBucketServer::new(*rate, *depth)));
            }
            ServerConfig::Wifi(wifi) => {
                let stream = seed.stream(&format!("link.{}/wifi", config.name));
                return Server::Wifi(Box::new(WifiServer::new(wifi, stream)));
            }
            ServerConfig::Opportunities { trace } => {
                (Channel::Opportunities(OpportunityServer::new(trace.clone())), trace.period())
            }
            ServerConfig::RateTrace { trace } => (Channel::Rate(RateTraceServer::new(trace.clone())), trace.period()),
        };
        let offset = config.trace_start.offset(period, &config.name, seed);
        Server::Traced(Box::new(Traced { offset, channel }))
    }

    /// When the last bit of a packet leaves that starts at `start`, and whether the server itself loses it. Starts never go back
    /// in time. `queue` is what waits behind the packet.
    #[inline(always)]
    pub(crate) fn serve(&mut self, start: Time, wire_bytes: u32, queue: &Queue) -> (Time, bool) {
        let departure = match self {
            Server::Constant(server) => start + server.service_time(wire_bytes),
            Server::Unlimited => start,
            Server::TokenBucket(server) => server.departure(start, wire_bytes),
            Server::Traced(traced) => traced.departure(start, wire_bytes),
            Server::Wifi(server) => {
                let waiting = || Waiting { packets: queue.packets(), bytes: queue.bytes() };
                return server.serve(start, wire_bytes, waiting);
            }
        };
        (departure, false)
    }

    /// When the next packet leaves the queue if the server is free at `at`: earlier where it is part of an aggregate under way.
    #[inline]
    pub(crate) fn taken_at(&self, at: Time) -> Time {
        if let Server::Wifi(server) = self { server.taken_at(at) } else { at }
    }

    /// The queue is empty: the rest of the current opportunity is lost.
    #[inline]
    pub(crate) fn go_idle(&mut self) {
        match self {
            Server::Traced(traced) => {
                if let Channel::Opportunities(server) = &mut traced.channel {
                    server.go_idle();
                }
            }
            Server::Wifi(server) => server.go_idle(),
            _ => {}
        }
    }

    /// Bytes that could have been sent until `now`; `None` where utilisation follows from busy time or has no meaning.
    pub(crate) fn capacity_bytes(&self, now: Time) -> Option<f64> {
        match self {
            Server::Constant(_) | Server::Unlimited | Server::Wifi(_) => None,
            Server::TokenBucket(server) => Some(server.capacity_bytes(now)),
            Server::Traced(traced) => Some(traced.capacity_bytes(now)),
        }
    }
}

impl Traced {
    #[inline]
    fn departure(&mut self, start: Time, wire_bytes: u32) -> Time {
        let start = start + self.offset;
        let departure = match &mut self.channel {
            Channel::Opportunities(server) => server.departure(start, wire_bytes),
            Channel::Rate(server) => server.departure(start, wire_bytes),
        };
        Time::from_nanos(departure.as_nanos() - self.offset.as_nanos())
    }

    fn capacity_bytes(&self, now: Time) -> f64 {
        let until = |at: Time| match &self.channel {
            Channel::Opportunities(server) => server.capacity_bytes(at),
            Channel::Rate(server) => server.capacity_bytes(at),
        };
        let before = if self.offset.is_zero() { 0.0 } else { until(Time::ZERO + self.offset) };
        until(now + self.offset) - before
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
