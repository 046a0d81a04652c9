//! HyStart++: leaves the first slow start when the RTT rises, after a trial of slower growth.
//!
//! Reference: RFC 9406 §4.2 and §4.3, constants included.
//!
//! Differences from the reference:
//! 1. Rounds are the transport's ([`Ack::round_start`]): a round ends when a packet sent after its start is delivered. RFC
//!    9406 ends it when SND.NXT of its start is acknowledged; the two differ by at most one ACK.
//!
//! Units: growth in packets, RTT in nanoseconds. Used through [`SlowStart`](crate::parts::slow_start::SlowStart), which applies L and
//! stops using this part once `ssthresh` is finite. Tested here by the RFC's arithmetic.

use playpath_units::Duration;

use crate::Ack;

const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// Effect of an ACK on the window in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Acknowledged packets are divided by this.
    pub divisor: f64,
    /// Slow start is over: `ssthresh = cwnd`.
    pub is_over: bool,
}

impl Growth {
    /// The window grows by what was acknowledged.
    pub const FULL: Growth = Growth { divisor: 1.0, is_over: false };
}

#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    /// [`Duration::MAX`], the RFC's infinity, before the first sample.
    last_round_min_rtt: Duration,
    current_round_min_rtt: Duration,
    rtt_sample_count: u32,
    conservative: Option<Conservative>,
    css_rounds: u32,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline_min_rtt: Duration,
    rounds: u32,
}

impl HyStartPlusPlus {
    pub fn new() -> HyStartPlusPlus {
        HyStartPlusPlus {
            last_round_min_rtt: Duration::MAX,
            current_round_min_rtt: Duration::MAX,
            rtt_sample_count: 0,
            conservative: None,
            css_rounds: CSS_ROUNDS,
        }
    }

    pub fn set_css_rounds(&mut self, css_rounds: u32) {
        self.css_rounds = css_rounds;
    }

    pub fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    pub fn on_ack(&mut self, ack: &Ack) -> Growth {
        if ack.round_start && self.start_round() {
            return Growth { divisor: CSS_GROWTH_DIVISOR, is_over: true };
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        self.judge();
        Growth { divisor: if self.is_conservative() { CSS_GROWTH_DIVISOR } else { 1.0 }, is_over: false }
    }

    /// A round ends and the next begins. `true` when the last round of CSS is complete. The round in which CSS began counts
    /// (RFC 9406 §4.2).
    fn start_round(&mut self) -> bool {
        self.last_round_min_rtt = std::mem::replace(&mut self.current_round_min_rtt, Duration::MAX);
        self.rtt_sample_count = 0;
        let Some(css) = &mut self.conservative else { return false };
        css.rounds += 1;
        css.rounds >= self.css_rounds
    }

    fn judge(&mut self) {
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        let (last, current) = (self.last_round_min_rtt, self.current_round_min_rtt);
        match self.conservative {
            None if last < Duration::MAX && current >= last + rtt_thresh(last) => {
                self.conservative = Some(Conservative { baseline_min_rtt: current, rounds: 0 });
            }
            // The exit was spurious: resume slow start.
            Some(css) if current < css.baseline_min_rtt => self.conservative = None,
            _ => {}
        }
    }
}

/// RFC 9406 §4.2: RttThresh.
fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    MIN_RTT_THRESH.max((last_round_min_rtt / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH))
}

#[cfg(test)]
mod tests;
