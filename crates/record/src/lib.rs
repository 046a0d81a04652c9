//! Measurements in, record out: every metric of a run is computed here, whichever world measured it, and is declared
//! in one registry.

mod build;
mod fairness;
mod frames;
mod measurements;
mod p1203;
mod qoe;
mod record;
mod reference;
pub mod registry;
mod schema;

pub use build::{Packets, Transport, record_of_json};
pub use fairness::jain_index;
pub use measurements::{Flow, MeasuredSession, Measurements, PathCounts, Subflow, predicts_underflow};
pub use record::{
    ClassRecord, FlowRecord, FrameRecord, LinkRecord, Metrics, Record, Series, SessionRecord, SubflowRecord,
    SwitchEvent, WindowEvent,
};
pub use reference::page as reference_page;
pub use schema::{VERSION as SCHEMA_VERSION, measurements as measurements_schema, schema};
