//! Sans-IO transport endpoints: TCP, and MPTCP over it.
//!
//! Drive an endpoint so: call one mutating verb (`handle_segment`, `handle_timeout`, `write`, `read`, `close`), then
//! `poll_transmit` until `None`, then `poll_event` until `None`, then set a timer for `poll_timeout`.

mod ack;
pub mod codec;
pub mod config;
mod connection;
mod detection;
mod handshake;
pub mod mptcp;
mod pacing;
mod profile;
mod prr;
mod rack;
mod rate_sample;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod segment;
mod stats;
mod timers;
mod transmit;
mod tso;
mod undo;
mod usage;
mod validation;

pub use config::{
    Config, ConfigError, DelayedAck, FlowControl, Growth, Handshake, HeaderSize, InitialWindow, LossDetection, Pacing,
    PartialAckTimer, Recovery, RtoConfig, RtoVariance, UndoConfig, Validation, WindowUpdate,
};
pub use connection::{Connection, Event, Events};
pub use mptcp::option::MptcpOption;
pub use playpath_cc::Sibling;
pub use segment::{Ecn, Flags, SackBlocks, Segment, SynOptions, Timestamps};
pub use stats::{Stats, TcpInfo};
