//! The sending half: what leaves, what an acknowledgement tells, and how losses are found and repaired.

pub(crate) mod ack;
pub(crate) mod detection;
pub(crate) mod frto;
pub(crate) mod pacing;
pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod rate_sample;
pub(crate) mod recovery;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod timers;
pub(crate) mod transmit;
pub(crate) mod tso;
pub(crate) mod undo;
pub(crate) mod usage;
pub(crate) mod validation;
