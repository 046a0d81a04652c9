//! Slow start: how a window below `ssthresh` grows, and when it has grown enough.
//!
//! Reference: RFC 5681 §3.1 with appropriate byte counting (RFC 3465); the ways out before the first loss are
//! [`HyStart`](crate::parts::hystart) and [`HyStart++`](crate::parts::hystart_pp). A control owns a [`SlowStart`] and hands it each ACK;
//! what comes back are the packets left for congestion avoidance.
//!
//! Differences from the reference:
//! 1. Counts packets, not bytes: `cwnd += min(counted, L)`. `L` is the parameter `abc_limit`. RFC 5681 has 1, RFC 3465 has 2,
//!    RFC 9406 has 8 for senders that do not pace and no limit for those that do (parameter `paced`); Linux has no limit.
//!    One default for all, 8: with an ACK per two segments every L of 2 or more is the same.
//! 2. The window stops at `ssthresh` exactly and the rest of the ACK counts in congestion avoidance, as Linux does.
//!
//! Units: packets. Tested here, in the files of the detectors, and through every control by `tests/contract.rs`.

use crate::parts::hystart::HyStart;
use crate::parts::hystart_pp::{Growth, HyStartPlusPlus};
use crate::parts::windows::Windows;
use crate::{Ack, ParamSpec, Params, Rto, View};

/// Parameter `slow_start` with the control's own default.
pub const fn slow_start_spec(default: &'static str) -> ParamSpec {
    ParamSpec::word(
        "slow_start",
        default,
        &["classic", "hystart", "hystart++"],
        "what ends the first slow start: loss only (RFC 5681), HyStart (Linux CUBIC), HyStart++ (RFC 9406)",
    )
}

pub const ABC_LIMIT: ParamSpec = ParamSpec::number(
    "abc_limit",
    8.0,
    (1.0, 65535.0),
    "packets",
    "most that one ACK adds in slow start: 1 in RFC 5681, 2 in RFC 3465, 8 in RFC 9406; 65535 is no limit (Linux)",
);

pub const PACED: ParamSpec = ParamSpec::flag(
    "paced",
    false,
    "the sender paces: no abc_limit (RFC 9406 §4.3), HyStart's ACK train lasts a whole RTT (Linux)",
);

#[derive(Clone, Debug)]
pub struct SlowStart {
    detector: Detector,
    limit: f64,
}

#[derive(Clone, Debug)]
enum Detector {
    Classic,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
}

impl SlowStart {
    /// Read `slow_start`, `abc_limit` and `paced`.
    pub fn from_params(params: &Params) -> SlowStart {
        let paced = params.flag("paced");
        let detector = match params.word("slow_start") {
            "hystart" => Detector::HyStart(HyStart::new(paced)),
            "hystart++" => Detector::HyStartPlusPlus(HyStartPlusPlus::new()),
            _ => Detector::Classic,
        };
        SlowStart { detector, limit: if paced { f64::INFINITY } else { params.number("abc_limit") } }
    }

    pub fn set_css_rounds(&mut self, css_rounds: u32) {
        if let Detector::HyStartPlusPlus(hystart) = &mut self.detector {
            hystart.set_css_rounds(css_rounds);
        }
    }

    /// Take an ACK: measure, grow `windows` while they are in slow start, end slow start if the detector says so. Returns
    /// the acknowledged packets that congestion avoidance may count; 0 when the window may not grow.
    pub fn on_ack(&mut self, windows: &mut Windows, view: &View, ack: &Ack) -> f64 {
        if let Detector::HyStart(hystart) = &mut self.detector {
            hystart.follow(ack);
        }
        if !windows.in_slow_start() {
            return if ack.may_grow { f64::from(ack.counted) } else { 0.0 };
        }
        let growth = self.measure(windows, view, ack);
        let mut left = 0.0;
        if ack.may_grow {
            let acked = f64::from(ack.counted).min(self.limit);
            let step = (acked / growth.divisor).min(windows.ssthresh - windows.cwnd);
            windows.cwnd += step;
            left = acked - step * growth.divisor;
        }
        if growth.is_over {
            windows.ssthresh = windows.cwnd;
        }
        left
    }

    /// A timeout restarts slow start; HyStart looks again, as in Linux. HyStart++ serves the first slow start only.
    pub fn on_rto(&mut self, event: &Rto) {
        if let Detector::HyStart(hystart) = &mut self.detector {
            hystart.restart(event.flight_size);
        }
    }

    pub fn phase(&self, windows: &Windows) -> &'static str {
        match &self.detector {
            _ if !windows.in_slow_start() => "congestion_avoidance",
            Detector::HyStartPlusPlus(hystart) if hystart.is_conservative() => "conservative_slow_start",
            _ => "slow_start",
        }
    }

    fn measure(&mut self, windows: &mut Windows, view: &View, ack: &Ack) -> Growth {
        match &mut self.detector {
            Detector::Classic => Growth::FULL,
            // Linux looks before the window grows, so the ACK that ends slow start counts in congestion avoidance.
            Detector::HyStart(hystart) => {
                if hystart.ends_slow_start(windows.cwnd, view, ack) {
                    windows.ssthresh = windows.cwnd;
                }
                Growth::FULL
            }
            // RFC 9406 §4.3: HyStart++ for the first slow start only, while ssthresh is at its initial value.
            Detector::HyStartPlusPlus(_) if windows.ssthresh.is_finite() => Growth::FULL,
            Detector::HyStartPlusPlus(hystart) => hystart.on_ack(ack),
        }
    }
}

#[cfg(test)]
mod tests;
