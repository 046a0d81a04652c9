//! XLINK: lowest RTT; data in flight are also sent on other paths while the player has little left to play.
//!
//! Reference: Zheng et al., "XLINK: QoE-driven multi-path QUIC transport in large-scale video services" (SIGCOMM 2021), algorithm 1: two
//! thresholds on the play time left; between them, packets are injected again while the slowest path that holds any could deliver later
//! than the player needs them.
//!
//! Differences from the reference:
//! 1. Play time left is the player's last report (CMCD, or the client of a simulation): bytes of the buffer over the video's rate.
//!    Without reports nothing is reinjected.
//! 2. The paper gives the thresholds as quantiles of its users' play times; ours are in seconds.
//! 3. One stream: neither its priorities of streams nor of the first frame. Only data without new data behind them are reinjected.
//!
//! Tested here and by `tests/mptcp.rs`.

use super::dft::select_lowest_rtt;
use super::{Context, Decision, Entry, Scheduler};
use playpath_cc::{AppParameters, ParamSpec, Params};
use playpath_units::{Duration, Time};

pub(super) static ENTRY: Entry = Entry {
    name: "xlink",
    summary: "lowest RTT; sends again on other paths while the player has little left to play",
    reference: "Zheng et al. 2021, XLINK",
    params: &[
        ParamSpec::number(
            "low",
            1.0,
            (0.0, 3600.0),
            "s",
            "play time left below which data under way is always sent again",
        ),
        ParamSpec::number("high", 4.0, (0.0, 3600.0), "s", "play time left above which it never is"),
    ],
    build: |params| Box::new(Xlink::new(params)),
};

#[derive(Debug)]
struct Xlink {
    low: f64,
    high: f64,
    /// Seconds; `None` if the player has reported nothing.
    play_time_left: Option<f64>,
}

impl Xlink {
    fn new(params: &Params) -> Xlink {
        Xlink { low: params.number("low"), high: params.number("high"), play_time_left: None }
    }
}

impl Scheduler for Xlink {
    fn select(&mut self, context: &Context) -> Decision {
        select_lowest_rtt(context, false)
    }

    fn wants_copies(&self, longest_delivery: Duration) -> bool {
        let Some(left) = self.play_time_left else { return false };
        left <= self.high && (left < self.low || left < longest_delivery.as_secs_f64())
    }

    fn set_app_parameters(&mut self, _now: Time, parameters: AppParameters) {
        let held =
            parameters.playout_buffer_free_bytes.map(|free| parameters.playout_buffer_bytes.saturating_sub(free));
        let rate = parameters.video_rate.as_bits_per_sec() as f64;
        let left = held.filter(|_| rate > 0.0).map(|bytes| bytes as f64 * 8.0 / rate);
        self.play_time_left = if parameters.is_urgent { Some(0.0) } else { left.or(self.play_time_left) };
    }
}

#[cfg(test)]
mod tests;
