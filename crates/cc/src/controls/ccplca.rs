//! CCPLCA: CCP with limited congestion avoidance. The window never falls below what the video's rate needs at the present RTT.
//!
//! Reference: the paper of `ccp.rs`, section V, "LimitedCongestionAvoidance": `cwnd = max(cwnd_ccp, cwnd_vr)`.
//!
//! Differences from the reference:
//! 1. `cwnd_vr = ceil(VR rtt / (8 MSS))`. The paper prints `VR / rtt`, which is no window (dimension); its text ("results on a
//!    throughput matching the video rendering rate") says what is meant.
//! 2. rtt is the smoothed RTT; VR is what the application told, at most 1 Gbit/s. Without it this is CCP.
//! 3. Everything in `ccp.rs`.
//!
//! cwnd_vr grows with the RTT that it causes. On a path slower than the video the window grows until the queue is full. The
//! paper measured this control as its worst; that is kept.
//!
//! Units: packets. Tested by `ccp/tests.rs`.

use crate::AppParameters;
use crate::controls::ccp::law::{COMMON, VIDEO, law};
use crate::controls::ccp::{self, Control, PathState, Variation};
use crate::kernel::{InKernel, Law};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::registry::Entry;

/// Registry entry.
pub static ENTRY: Entry = Entry {
    name: "ccplca",
    aliases: &[],
    summary: "CCP, but never less than the video's rate needs at the present RTT",
    reference: "Cavendish et al., INTERNET 2015, section V",
    params: &[
        ccp::KP,
        ccp::MODE,
        ccp::ESTIMATOR,
        ccp::CAPACITY,
        ccp::RTT,
        ccp::RTT_MIN_WINDOW,
        ccp::RTT_MAX_WINDOW,
        ccp::FLOOR_GAIN,
        ccp::RECOVERY,
        ccp::LOSS_GUARD,
        ccp::MAX_CWND,
        slow_start_spec("classic"),
        ABC_LIMIT,
        PACED,
    ],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: ccp::BEHAVIOUR,
    build: |params, initial_window| Box::new(Control::new(params, initial_window, VideoRate::new())),
};

static LAW: Law = law("ccplca", ENTRY.summary, &[COMMON, &[VIDEO]]);

/// The video's rate as a lower bound.
pub(crate) struct VideoRate {
    bits_per_sec: f64,
}

impl VideoRate {
    pub(crate) fn new() -> VideoRate {
        VideoRate { bits_per_sec: 0.0 }
    }
}

impl Variation for VideoRate {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
    fn window(&mut self, path: &PathState) -> f64 {
        let video = (self.bits_per_sec * path.rtt.as_secs_f64() / (8.0 * f64::from(path.mss))).ceil();
        path.law().max(video)
    }
    fn on_app_parameters(&mut self, parameters: &AppParameters) {
        self.bits_per_sec = (parameters.video_rate.as_bits_per_sec() as f64).min(ccp::MAX_VIDEO_BITS_PER_SEC);
    }
}
