//! Links: loss, a queue with active queue management, a server, propagation. One [`Link`] is one
//! direction of a path. No I/O and no clock: time is an argument, randomness a named stream.

mod config;
mod delay;
mod ecn;
mod error;
mod hazards;
mod ledger;
mod link;
pub mod loss;
mod outage;
mod packet;
mod passage;
mod queue;
pub mod registry;
mod server;
mod settings;
mod stats;
mod store;
pub mod trace;

pub use config::{JitterConfig, JitterDistribution, LinkConfig, LossPlace, ReorderConfig, ServerConfig, TraceStart};
pub use ecn::{EcnField, EcnRewrite};
pub use error::LinkError;
pub use hazards::{Mtu, Rebinding};
pub use ledger::{Count, DropCause, Drops, Ledger, LedgerError};
pub use link::{Link, Place};
pub use loss::{BernoulliConfig, BurstsConfig, GilbertElliottConfig, LossConfig, LossPattern, PatternConfig};
pub use outage::Outage;
pub use packet::Packet;
pub use queue::*;
pub use server::wifi::{RateControl, WifiConfig, WifiStandard};
pub use settings::Config;
pub use stats::{ClassStats, LinkStats};
pub use store::Dropped;
