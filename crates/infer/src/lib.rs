//! Infers the path from a log: posterior draws of the capacity and the base RTT of a session, given the sender that served it.
//!
//! A log shows the throughput of the deployed sender, not of the path. So the sender is simulated: at each rate of a grid the engine's
//! congestion control serves the session's transfers ([`deployed`]), a hidden Markov chain describes how capacities change ([`chain`]), and
//! the logged times weight the rates ([`emission`]). The crate is pure, as are those below it.
//!
//! ```text
//! log ─ Transfer… ─► readings ─► plays (connection at each rate) ─► emission, counts ─► filter (forward, backward draws) ─► session ─► steps
//! ```

pub mod chain;
mod connection;
mod counts;
pub mod deployed;
mod draws;
pub mod emission;
mod explain;
mod filter;
pub mod log;
mod neighbour;
mod plays;
pub mod readings;
pub mod replay;
mod round_trips;
pub mod session;
pub mod steps;
mod waits;

pub use chain::Beliefs;
pub use deployed::Deployed;
pub use filter::Course;
pub use readings::Reading;
pub use session::infer;
