//! Components of the controls: detection of a classic queue, estimators, slow starts, windows, Reno, rounds, the bookkeeping of coupled
//! subflows, random draws.

pub mod classic_queue;
pub mod coupled;
pub mod draws;
pub mod estimators;
mod hystart;
mod hystart_pp;
pub mod marks;
pub mod reno;
pub mod round;
pub mod slow_start;
pub mod windows;
