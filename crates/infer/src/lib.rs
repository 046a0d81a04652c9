//! From a log to the path behind it.
pub mod chain;
mod connection;
pub mod deployed;
pub mod emission;
mod filter;
pub mod log;
pub mod session;
pub mod steps;
pub use filter::Course;
