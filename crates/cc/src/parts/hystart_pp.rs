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

/// What an ACK means for the window in slow start.
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

/// State of HyStart++.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    /// [`Duration::MAX`], the RFC's infinity, before the first sample.
    last_round_min_rtt: Duration,
    current_round_min_rtt: Duration,
    rtt_sample_count: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start (CSS).
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline_min_rtt: Duration,
    rounds: u32,
}

impl HyStartPlusPlus {
    /// Before the first round.
    pub fn new() -> HyStartPlusPlus {
        HyStartPlusPlus {
            last_round_min_rtt: Duration::MAX,
            current_round_min_rtt: Duration::MAX,
            rtt_sample_count: 0,
            conservative: None,
        }
    }

    /// In conservative slow start.
    pub fn is_conservative(&self) -> bool {
        self.conservative.is_some()
    }

    /// Take an ACK.
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
        css.rounds >= CSS_ROUNDS
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
mod tests {
    use super::*;
    use crate::testbed::Script;

    fn script(initial_window: f64) -> Script {
        Script::with("newreno", initial_window, |params| params.set_word("slow_start", "hystart++"))
    }

    #[test]
    fn threshold_is_an_eighth_between_4_and_16_ms() {
        for (last, thresh_micros) in
            [(20, 4_000), (32, 4_000), (50, 6_250), (100, 12_500), (128, 16_000), (200, 16_000)]
        {
            assert_eq!(rtt_thresh(Duration::from_millis(last)), Duration::from_micros(thresh_micros), "{last} ms");
        }
    }

    #[test]
    fn enters_conservative_slow_start_at_the_eighth_sample() {
        let mut script = script(16.0);
        script.round(); // 100 ms, cwnd 32
        // 100 + 12.5 ms is the threshold. Seven samples do not decide.
        script.rtt = Duration::from_micros(112_500);
        script.ack_after(Duration::ZERO, 1, true);
        (0..6).for_each(|_| script.ack(1));
        assert_eq!((script.cwnd(), script.cc.phase()), (39.0, "slow_start"));
        // The eighth does, and grows by a quarter already.
        script.ack(1);
        assert_eq!((script.cwnd(), script.cc.phase()), (39.25, "conservative_slow_start"));
        // min(N, L) / 4 with L = 8: an ACK for 12 adds 2.
        script.ack(12);
        assert_eq!(script.cwnd(), 41.25);
    }

    #[test]
    fn one_nanosecond_below_the_threshold_is_not_enough() {
        let mut script = script(16.0);
        script.round();
        script.rtt = Duration::from_nanos(112_499_999);
        script.round();
        assert_eq!((script.cwnd(), script.cc.phase()), (64.0, "slow_start"));
    }

    #[test]
    fn five_conservative_rounds_end_slow_start() {
        let mut script = script(16.0);
        script.round();
        script.rtt = Duration::from_millis(120);
        script.round(); // enters in its eighth ACK: round 1 of 5
        (2..=5).for_each(|_| script.round());
        assert_eq!(script.cc.phase(), "conservative_slow_start");
        assert_eq!(script.cc.ssthresh(), f64::INFINITY);
        script.ack_after(Duration::ZERO, 1, true); // the fifth round is complete
        assert_eq!((script.cc.phase(), script.cc.ssthresh()), ("congestion_avoidance", script.cwnd()));
    }

    #[test]
    fn resumes_when_the_rtt_falls_below_the_baseline() {
        let mut script = script(16.0);
        script.round();
        script.rtt = Duration::from_millis(120);
        script.round();
        assert_eq!(script.cc.phase(), "conservative_slow_start");
        script.rtt = Duration::from_millis(119);
        script.ack_after(Duration::ZERO, 1, true);
        (0..6).for_each(|_| script.ack(1));
        assert_eq!(script.cc.phase(), "conservative_slow_start", "seven samples");
        script.ack(1);
        assert_eq!(script.cc.phase(), "slow_start");
    }

    #[test]
    fn serves_the_first_slow_start_only() {
        let mut script = script(64.0);
        script.time_out(200); // ssthresh 32 is finite now
        script.round();
        for _ in 0..4 {
            script.rtt += Duration::from_millis(50);
            script.round();
        }
        assert_eq!(script.cwnd(), 32.0);
    }
}
