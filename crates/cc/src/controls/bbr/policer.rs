//! Long-term bandwidth sampling: finding a token-bucket policer.
//!
//! Reference: `lt_bw` of Linux `tcp_bbr.c`. A policer lets a burst pass and then drops what exceeds its rate, so the largest
//! delivery rate of ten rounds is the burst's. Two consecutive intervals (of 4 to 16 round trips, bounded by losses) with 20 %
//! loss or more and about the same delivery rate are taken for a policer; its rate then applies for 48 round trips.

use crate::View;
use playpath_units::{Duration, Time};

pub(super) struct Policer {
    rate: Option<f64>,
    in_use: bool,
    is_sampling: bool,
    rounds: u32,
    interval: Interval,
}

#[derive(Clone, Copy)]
struct Interval {
    start: Time,
    delivered: u64,
    lost: u64,
}

/// Input of the sampler from an ACK.
#[derive(Clone, Copy)]
pub(super) struct Round {
    pub has_losses: bool,
    pub is_app_limited: bool,
    pub is_start: bool,
    /// Whether a round trip under the policer's rate counts towards its end.
    pub counts_rounds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unchanged,
    /// The policer's rate has ruled for long enough: probe again.
    Expired,
}

impl Policer {
    const MIN_ROUNDS: u32 = 4;
    const MAX_ROUNDS: u32 = 16;
    const USE_ROUNDS: u32 = 48;
    /// 50/256 in Linux.
    const LOSS: f64 = 50.0 / 256.0;
    /// Two rates are the same if they differ by this part, or by 4 kbit/s.
    const SAME: f64 = 0.125;
    const SAME_BITS_PER_SEC: f64 = 4000.0;

    pub(super) fn new() -> Policer {
        let interval = Interval { start: Time::ZERO, delivered: 0, lost: 0 };
        Policer { rate: None, in_use: false, is_sampling: false, rounds: 0, interval }
    }

    /// The policer's rate in packets/s, while it rules.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.in_use)
    }

    pub(super) fn reset(&mut self, view: &View) {
        self.rate = None;
        self.in_use = false;
        self.is_sampling = false;
        self.start_interval(view);
    }

    pub(super) fn on_sample(&mut self, view: &View, round: Round) -> Verdict {
        if self.in_use {
            return self.serve(view, round);
        }
        // Sampling starts at the first loss, when the policer has used up its tokens.
        if !self.is_sampling {
            if round.has_losses {
                self.start_interval(view);
                self.is_sampling = true;
            }
            return Verdict::Unchanged;
        }
        if round.is_app_limited {
            self.reset(view);
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(round.is_start);
        if self.rounds < Self::MIN_ROUNDS {
            return Verdict::Unchanged;
        }
        if self.rounds > Self::MAX_ROUNDS {
            self.reset(view);
        } else if round.has_losses {
            // A loss again: the tokens are used up, the interval may end.
            self.end_interval(view);
        }
        Verdict::Unchanged
    }

    fn serve(&mut self, view: &View, round: Round) -> Verdict {
        if round.counts_rounds && round.is_start {
            self.rounds += 1;
            if self.rounds >= Self::USE_ROUNDS {
                self.reset(view);
                return Verdict::Expired;
            }
        }
        Verdict::Unchanged
    }

    fn end_interval(&mut self, view: &View) {
        let Interval { start, delivered, lost } = self.interval;
        let lost = view.lost.saturating_sub(lost) as f64;
        let delivered = view.delivered.saturating_sub(delivered) as f64;
        let length = view.now.saturating_since(start);
        if delivered == 0.0 || lost < Self::LOSS * delivered || length < Duration::from_millis(1) {
            return;
        }
        let rate = delivered / length.as_secs_f64();
        match self.rate {
            Some(before) if is_same(before, rate, view.mss) => {
                self.rate = Some((before + rate) / 2.0);
                self.in_use = true;
                self.rounds = 0;
            }
            _ => {
                self.rate = Some(rate);
                self.start_interval(view);
            }
        }
    }

    fn start_interval(&mut self, view: &View) {
        self.interval = Interval { start: view.now, delivered: view.delivered, lost: view.lost };
        self.rounds = 0;
    }
}

fn is_same(before: f64, rate: f64, mss: u32) -> bool {
    let difference = (rate - before).abs();
    difference <= Policer::SAME * before || difference * f64::from(mss) * 8.0 <= Policer::SAME_BITS_PER_SEC
}
