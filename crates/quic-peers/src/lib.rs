//! Every congestion control of playpath as a congestion controller of quinn and of noq.
//!
//! ```
//! use playpath_quic_peers::{Choice, quinn};
//! use std::sync::Arc;
//!
//! let control = quinn::Factory::new(Choice::new("westwood")?)?;
//! let mut transport = quinn_proto::TransportConfig::default();
//! transport.congestion_controller_factory(Arc::new(control));
//! # Ok::<(), String>(())
//! ```
//!
//! What the stack's interface cannot say is refused at start ([`QuicStack::refuses`](playpath_cc::QuicStack::refuses)). What the
//! application knows of a viewer's buffer goes by [`ViewerInfo`].
//!
//! `tests/` holds our endpoint to quinn-proto and noq-proto. A crate of its own, since these bring crates that nobody else should have
//! to build.

mod choice;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
mod state;

pub use choice::Choice;
pub use playpath_cc::AppParameters;
pub use playpath_units::{Duration, Rate};
pub use state::ViewerInfo;
