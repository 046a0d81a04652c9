//! Quantities as types: time in integer nanoseconds, rates in bit/s, sizes in bytes, ratios, and their parsing
//! ("10 Mbit/s", "50 ms", "30 kB", "0.5 %"). Also the named random streams of a run, and the parameters of the video that a sender knows.

mod app_parameters;
mod kind;
pub mod names;
mod params;
mod parse;
mod priority;
mod quantity;
pub mod random;
mod tables;
mod time;

pub use app_parameters::AppParameters;
pub use kind::Kind;
pub use params::{ParamSpec, ParamValue, Params};
pub use parse::ParseError;
pub use priority::Priority;
pub use quantity::{Bytes, QueueLimit, Rate, Ratio};
pub use tables::{Choice, TableSpec, Variant};
pub use time::{Duration, Time};
