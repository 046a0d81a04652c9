//! CCPLCA: CCP with limited congestion avoidance. The window never falls below what the video's rate needs at the present RTT.
//!
//! Reference: the paper of `ccp.rs`, section V, "LimitedCongestionAvoidance": `cwnd = max(cwnd_ccp, cwnd_vr)`.
//!
//! Differences from the reference:
//! 1. `cwnd_vr = ceil(VR rtt / (8 MSS))`. The paper prints `VR / rtt`, which is no window (dimension); its text ("results on a
//!    throughput matching the video rendering rate") says what is meant. `bound = "printed"` takes it literally: VR in
//!    packets per second over rtt in seconds, 4487 packets for 5.24 Mbit/s at 100 ms and 33 times that at 3 ms.
//! 2. rtt is the smoothed RTT; VR is the application's value, at most 1 Gbit/s. Without it this is CCP.
//! 3. `kd` adds CCPD's derivative: the paper's changes "can be equally applied to CCPD".
//! 4. Everything in `ccp.rs`.
//!
//! cwnd_vr grows with the RTT that it causes. On a path slower than the video the window grows until the queue is full. The
//! paper measured this control as its worst; that is kept.
//!
//! Units: packets. Tested by `ccp/tests.rs`.

use crate::controls::ccp::law::{CCPS_MODE, COMMON, VIDEO, law};
use crate::controls::ccp::{self, Ccp, PathState, Variation, family_params};
use crate::controls::ccpd::{Base, KD_OF_VARIANTS};
use crate::kernel::{InKernel, Law, Slot};
use crate::registry::Entry;
use crate::{AppParameters, ParamSpec, Params};

pub static ENTRY: Entry = Entry {
    name: "ccplca",
    aliases: &[],
    summary: "CCP, but never less than the video's rate needs at the present RTT",
    reference: "Cavendish et al., INTERNET 2015, section V",
    params: family_params![ccp::KP, KD_OF_VARIANTS, BOUND, ccp::MODE],
    in_kernel: Some(InKernel::ours(&LAW)),
    is_coupled: false,
    behaviour: ccp::BEHAVIOUR,
    build: |params, initial_window| Box::new(Ccp::new(params, initial_window, VideoRate::new(params))),
};

static LAW: Law = law("ccplca", ENTRY.summary, &[COMMON, CCPS_MODE, &[VIDEO, Slot::new(18, 1, BOUND)]]);

const BOUND: ParamSpec = ParamSpec::word(
    "bound",
    "rate_x_rtt",
    &["rate_x_rtt", "printed"],
    "lower bound of the window: what the video's rate needs in a round trip, or the printed VR / rtt",
);

pub(crate) struct VideoRate {
    base: Base,
    bits_per_sec: f64,
    is_printed: bool,
}

impl VideoRate {
    pub(crate) fn new(params: &Params) -> VideoRate {
        VideoRate { base: Base::new(params), bits_per_sec: 0.0, is_printed: params.word("bound") == "printed" }
    }
}

impl Variation for VideoRate {
    fn window(&mut self, path: &PathState) -> f64 {
        let packets_per_s = self.bits_per_sec / (8.0 * f64::from(path.mss));
        let rtt = path.rtt.as_secs_f64();
        let video = if self.is_printed { packets_per_s / rtt } else { packets_per_s * rtt };
        self.base.window(path).max(video.ceil())
    }
    fn on_app_parameters(&mut self, parameters: &AppParameters) {
        self.bits_per_sec = (parameters.video_rate.as_bits_per_sec() as f64).min(ccp::MAX_VIDEO_BITS_PER_SEC);
    }
}
