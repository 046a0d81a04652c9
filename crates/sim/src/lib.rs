//! The simulator: virtual time, one event queue, topology, applications, probes; scenario in, record out.

mod apps;
mod budget;
mod capture;
mod engine;
mod ideal;
mod measure;
mod multipath;
mod network;
mod packets;
mod probe;
mod run;
mod simulation;
mod tracing;
mod window_log;

pub use budget::{Progress, Watch};
pub use capture::CapturedPacket;
pub use run::{Options, capture, log_connections, run, run_with};
pub use tracing::{Recording, Tracing};
