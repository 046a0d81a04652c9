//! Inputs for the creation of a pair of ends, in addition to their transport's settings.

use crate::mptcp::scheduler::Scheduler;
use playpath_cc::CongestionControl;
use playpath_units::Time;
use playpath_units::random::Stream;
use std::sync::Arc;

/// Hosts' knowledge of a path before anything is sent on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFacts {
    /// To be used only while no other works.
    pub is_backup: bool,
    /// Most bytes of a packet, headers included, where a router tells who sends more.
    pub mtu: Option<u32>,
}

pub struct Opening<'a> {
    pub now: Time,
    pub paths: &'a [PathFacts],
    pub random: &'a mut Stream,
    /// The server's control with this initial window in packets, for the path of this number.
    pub control: Arc<dyn Fn(f64, u8) -> Box<dyn CongestionControl> + Send + Sync>,
    /// The controls of its paths want to know of each other.
    pub is_coupled: bool,
    pub scheduler: &'a dyn Fn() -> Box<dyn Scheduler>,
}

impl Opening<'_> {
    /// The control of a client: it sends requests only, under NewReno.
    pub fn client_control(initial_window: f64) -> Box<dyn CongestionControl> {
        playpath_cc::build("newreno", initial_window).expect("newreno is registered")
    }
}
