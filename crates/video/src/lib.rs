//! Media, players, adaptation rules, playback events, and the summary of an event log (`summary`).
//!
//! A player is sans-IO: it is fed with read body bytes and time, and answers with actions and a log of events. The simulator
//! drives it in virtual time; the same code driven by the wall clock is a real HTTP client. Quality figures are computed from
//! the events afterwards, never inside a player.

pub mod abr;
pub mod buffer;
pub mod cmcd;
pub mod cmsd;
pub mod events;
pub mod ideal;
pub mod ladder;
pub mod manifest;
pub mod media;
pub mod number;
pub mod origin;
pub mod p1203;
pub mod player;
pub mod players;
pub mod quality;
pub mod registry;
pub mod summary;
pub mod traffic;
pub mod viewer;

pub use cmcd::Cmcd;
pub use dash::{DashConfig, DashPlayer};
pub use events::{DiscardCause, EventKind, EventLog, FinishReason, PlaybackEvent, Totals};
pub use ladder::{Ladder, Presentation, Representation, SizeModel};
pub use origin::Origin;
use player::piece_end;
pub use player::{
    Action, AppReport, ConnectionId, Delivery, ObjectKind, ObjectRef, Player, Request, RequestId, ServerPolicy,
};
pub use players::{agent, dash, progressive};
pub use playpath_units::Priority;
pub use viewer::{Viewer, ViewerConfig};
