//! The interface of all transports: methods, packets, and transport-independent measurements.
//!
//! Usage: one mutating method (`handle_packet`, `handle_timeout`, `write`, `read`, `close`), then `poll_transmit` until `false`,
//! then `take_events`, then a timer for `poll_timeout`. A world asks for no more than is here.
//!
//! TCP, over several paths MPTCP, and QUIC have typed settings, which a scenario reads by tables of their own. Any other declares its
//! parameters, as a congestion control does: a file or folder here and its `mod` line below, of which the build script makes `ENTRIES`.
//! Recipe: `docs/recipes/transport.md`.

mod datagram;
mod endpoint;
mod mptcp;
mod opening;
mod path_info;
mod payload_pool;
pub mod quic;
mod segments;
pub mod tcp;
mod tls;

include!(concat!(env!("OUT_DIR"), "/transports.rs"));

#[cfg(test)]
#[path = "../../../../docs/recipes/stop_and_wait.rs"]
mod stop_and_wait; // the example of docs/recipes/transport.md

pub use crate::quic::Priority;
pub use datagram::DatagramEnd;
pub use endpoint::{Endpoint, Other};
pub use opening::{Opening, PathFacts};
pub use path_info::{PathInfo, Totals};
pub use payload_pool::PayloadPool;
pub use segments::Segments;

use crate::mptcp::Switch;
use crate::mptcp::level::{LevelStats, PathStats};
use crate::quic::qlog::Qlog;
use crate::segment::SackBlocks;
use crate::{Ecn, Events, Segment};
use playpath_cc::{AppParameters, ParamSpec, Params};
use playpath_units::{Duration, Time};

/// A transport that declares its parameters.
pub struct Entry {
    pub name: &'static str,
    pub summary: &'static str,
    pub params: &'static [ParamSpec],
    /// Bytes of the application in a full packet, about.
    pub packet_bytes: fn(&Params) -> u32,
    /// Each request has a stream of its own, on which HTTP is HTTP/3; without, HTTP/1.1 or HTTP/2 on the one ordered stream.
    pub has_streams: bool,
    /// Client and server of a new connection over one path.
    pub pair: fn(&Params, Opening) -> (Endpoint, Endpoint),
}

/// All that declare their parameters.
pub fn entries() -> &'static [&'static Entry] {
    ENTRIES
}

pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().copied().find(|entry| entry.name == name)
}

/// A packet in flight. Only its transport interprets its contents; links see its size and its ECN codepoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    pub payload: Payload,
    pub wire_bytes: u32,
    /// Bytes of the application in it, new or sent again.
    pub data_bytes: u32,
    /// Queues mark it by [`set_ecn`](Packet::set_ecn).
    pub ecn: Ecn,
    pub path: u8,
    /// Index of its binding at a NAT.
    pub binding: u16,
}

#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// A segment of TCP or MPTCP: in the packet itself, for its speed.
    Segment(Segment),
    /// Whatever lies at this place of the [`PayloadPool`].
    Pooled(u32),
    /// Application bytes only.
    Data,
}

impl Default for Payload {
    fn default() -> Payload {
        Payload::EMPTY
    }
}

impl Payload {
    const EMPTY: Payload = Payload::Segment(Segment::EMPTY);

    #[inline]
    pub fn segment_mut(&mut self) -> &mut Segment {
        if !matches!(self, Payload::Segment(_)) {
            *self = Payload::EMPTY;
        }
        match self {
            Payload::Segment(segment) => segment,
            Payload::Pooled(_) | Payload::Data => unreachable!("it has just been made one"),
        }
    }

    /// Its index in the [`PayloadPool`], if it has one.
    #[inline]
    pub fn pool_index(&self) -> Option<u32> {
        if let Payload::Pooled(place) = self { Some(*place) } else { None }
    }
}

/// One end of a connection. Its application's bytes are one ordered stream, beside those of [`streams`](Transport::streams).
pub trait Transport {
    /// A packet arrived. The caller frees its place in the pool afterwards, if it has one.
    fn handle_packet(&mut self, now: Time, packet: &Packet, payload_pool: &mut PayloadPool);
    /// A router refused a packet of this end, which needs more than `mtu` bytes.
    fn handle_too_big(&mut self, _now: Time, _packet: &Packet, _mtu: u32, _parcels: &mut PayloadPool) {}
    /// The time of [`poll_timeout`](Transport::poll_timeout) has come. Too early is harmless.
    fn handle_timeout(&mut self, now: Time);
    /// The next packet to send is in `out`; `false`: there is none, and `out` holds nothing. One place of the pool is free.
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, payload_pool: &mut PayloadPool) -> bool;
    /// A poll would find nothing, and change nothing; `false` when in doubt.
    fn has_nothing(&self) -> bool {
        false
    }
    /// Whether another poll could give a packet; `true` when in doubt.
    fn may_have_more(&self) -> bool {
        true
    }
    /// When [`handle_timeout`](Transport::handle_timeout) wants to be called; [`Time::MAX`]: never.
    fn poll_timeout(&self) -> Time;
    /// Start logging, if it is QUIC.
    fn log(&mut self, _log: Qlog) {}
    fn take_events(&mut self) -> Events;

    /// Append up to `bytes` to the stream; returns how many the send buffer took. If not all, there is an event when it has room.
    fn write(&mut self, bytes: u64) -> u64;
    /// Bytes in order and not read.
    fn readable(&self) -> u64;
    /// Take up to `most` bytes in order.
    fn read(&mut self, now: Time, most: u64) -> u64;
    /// Bytes written and never sent.
    fn unsent_bytes(&self) -> u64;
    /// A full packet was written and not sent yet, and more behind it changes nothing; where the transport cannot say, `false`.
    fn has_packet_waiting(&self) -> bool {
        false
    }
    /// As [`has_packet_waiting`](Transport::has_packet_waiting), and whether the sender waits for a larger group cannot depend on more
    /// bytes either.
    fn has_more_than_a_packet_waiting(&self) -> bool {
        self.has_packet_waiting()
    }
    /// After a read a poll could find something; `true` when in doubt.
    fn may_answer_read(&self) -> bool {
        true
    }
    /// End the stream; data already written are still delivered.
    fn close(&mut self, now: Time);
    /// The client's end goes on over another path; `false`: it cannot, or not yet.
    fn migrate(&mut self, _now: Time, _path: usize) -> bool {
        false
    }
    /// Its ends go on when a NAT shows the client under another port.
    fn survives_rebinding(&self) -> bool {
        false
    }
    /// A packet came from a port at which this end, which does not survive that, has no connection.
    fn refuse(&mut self, now: Time, _packet: &Packet) {
        self.abort(now);
    }
    fn abort(&mut self, now: Time);
    /// Why the connection is over, where the transport says more than that it is.
    fn failure(&self) -> Option<&'static str> {
        None
    }
    fn set_app_parameters(&mut self, _now: Time, _parameters: AppParameters) {}

    fn path_count(&self) -> usize {
        1
    }
    /// Measurements of a path; `None` if the path is not open, or nothing is measured.
    fn path_info(&self, path: usize) -> Option<PathInfo>;
    fn path_totals(&self, path: usize) -> Totals;
    fn totals(&self) -> Totals {
        (0..self.path_count()).map(|path| self.path_totals(path)).fold(Totals::default(), Totals::plus)
    }

    /// Its streams, if it has more than the one.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }
    /// What it tells of its paths together, if it uses several.
    fn multipath(&self) -> Option<&dyn Multipath> {
        None
    }
    /// The same, to be asked for changes of path.
    fn multipath_mut(&mut self) -> Option<&mut dyn Multipath> {
        None
    }

    fn is_drawn(&self) -> bool {
        false
    }
    /// What a time-sequence diagram shows of a packet, which may have been dropped: its pooled payload is gone.
    fn drawn(&self, _packet: &Packet) -> Option<Drawn> {
        None
    }
}

/// What a packet is in a time-sequence diagram. Places in a path's own stream are modulo 2^32 and count from anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn {
    pub place: u32,
    pub bytes: u32,
    /// Where they begin in the data of all paths, if it says so.
    pub data_place: Option<u64>,
    /// The acknowledgement in it, if any.
    pub answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The next byte that is expected in order.
    pub acked: u32,
    /// The receiver's window beyond it, if it counts bytes of this path.
    pub window: Option<u32>,
    pub blocks: SackBlocks,
}

/// Streams of a connection side by side.
pub trait Streams {
    /// Open one; `None`: the peer allows no more, or is not known yet.
    fn open(&mut self) -> Option<u64>;
    /// Append up to `bytes`; returns how many its buffer took. If not all, there is an event when it has room.
    fn write(&mut self, stream: u64, bytes: u64) -> u64;
    /// No more will be written to it.
    fn finish(&mut self, stream: u64);
    /// Ask the peer to give its half up.
    fn stop(&mut self, stream: u64);
    /// When its data goes among others'.
    fn set_priority(&mut self, stream: u64, priority: Priority);
    /// It takes bytes, or will when its buffer has room.
    fn is_writable(&self, stream: u64) -> bool;
    /// Take up to `most` bytes in order.
    fn read(&mut self, now: Time, stream: u64, most: u64) -> u64;
    fn is_read_to_end(&self, stream: u64) -> bool;
    /// Bytes written and never sent, of all streams.
    fn unsent_bytes(&self) -> u64;
}

/// A connection over several paths.
pub trait Multipath {
    /// Keep every change of path from now on until [`poll_switch`](Multipath::poll_switch) takes it.
    fn log_switches(&mut self);
    /// The oldest not yet taken.
    fn poll_switch(&mut self) -> Option<Switch>;
    fn sent(&self) -> &LevelStats;
    fn sent_on(&self, path: usize) -> &PathStats;
    /// Time that data has waited behind a gap, up to `now`.
    fn hol_blocking_time(&self, now: Time) -> Duration;
    /// Most bytes held behind a gap so far.
    fn max_out_of_order_bytes(&self) -> u64;
}
