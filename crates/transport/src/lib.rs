//! Sans-IO transport endpoints: TCP, MPTCP over it, and QUIC.
//!
//! A world drives all of them by the methods of [`Transport`]; [`Endpoint`] is an end of any of them. Owners of real bytes drive TCP, MPTCP
//! and QUIC
//! directly: one mutating verb (`handle_segment`, `handle_timeout`, `write`, `read`, `close`), then `poll_transmit` until `None`, then
//! `poll_event` until `None`, then a timer for `poll_timeout`.

pub mod codec;
pub mod mptcp;
pub mod quic;
mod segment;
mod tcp;
pub mod tls;
pub mod transports;

pub use mptcp::option::MptcpOption;
pub use playpath_cc::Sibling;
pub use segment::{AccEcn, Ecn, Flags, SackBlocks, Segment, SynOptions, Timestamps};
pub use tcp::config::{
    self, Config, ConfigError, DelayedAck, FlowControl, Growth, Handshake, HeaderSize, InitialWindow, LossDetection,
    Pacing, PartialAckTimer, Recovery, RtoConfig, RtoVariance, UndoConfig, Validation, WindowUpdate,
};
pub use tcp::{Connection, Event, Events, Moment, RttEstimator, Stats, TcpInfo, Usage, window_after_idle};
pub use transports::{Endpoint, Transport};

/// The most that a scalable sender lets go at once, as time at its rate (RFC 9331 §4.3 asks for a bound; 2^-12 s as Prague on Linux).
pub(crate) const SCALABLE_BURST: playpath_units::Duration = playpath_units::Duration::from_micros(244);
