//! The simulator: virtual time, one event queue, topology, applications, probes; scenario in, record out.

mod apps;
mod capture;
mod endpoint;
mod engine;
mod ideal;
mod metrics;
mod multipath;
mod network;
mod packets;
mod playback_log;
mod probe;
mod record;
mod simulation;

pub use capture::CapturedPacket;
pub use metrics::viewer_metrics;
pub use playback_log::to_json as event_to_json;
pub use record::{FlowRecord, LinkRecord, Record, Series, SessionRecord, SubflowRecord, metrics_json};
pub use simulation::{Tracing, capture, run, run_prototype};
