//! What the path is like: its pipe, the queue in it, and how much of what is sent gets lost.

use crate::parts::estimators::{WindowedMax, packets_per_sec};
use crate::parts::round::RttRound;
use crate::{Ack, View};
use playpath_units::Duration;

/// Rounds that a delivery rate is remembered.
const RATE_ROUNDS: u64 = 10;
/// Packets over which the loss share is judged at least: 5 % are then five.
const JUDGED_PACKETS: u64 = 100;

/// Measurements of one path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    rate: WindowedMax<f64>,
    rounds: u64,
    round: RttRound,
    in_flight: u32,
    /// Smoothed over four samples: the queue that a packet lost now has met.
    queueing: f64,
    rtt: f64,
    judged: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    delivered: u64,
    lost: u64,
}

/// A round trip that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Packets of ours that stood in the queue throughout.
    pub backlog: f64,
    /// Share of packets lost since it was judged last, if there were enough.
    pub loss: Option<f64>,
}

impl Path {
    pub(super) fn new() -> Path {
        Path {
            rate: WindowedMax::new(),
            rounds: 0,
            round: RttRound::NEW,
            in_flight: 0,
            queueing: 0.0,
            rtt: 0.0,
            judged: Counts::default(),
        }
    }

    /// Take an ACK. A round, if it ends one.
    pub(super) fn take(&mut self, view: &View, event: &Ack) -> Option<Round> {
        let ended = if event.round_start { self.end_round(view) } else { None };
        if let Some(rtt) = event.rtt.filter(|rtt| !rtt.is_zero()) {
            self.round.take(rtt);
            let rtt = rtt.as_secs_f64();
            self.rtt += (rtt - self.rtt) / 4.0;
            self.queueing = (self.rtt - view.min_rtt.as_secs_f64()).max(0.0);
        }
        self.in_flight = self.in_flight.max(event.prior_in_flight);
        if let Some(sample) = &event.rate
            && let Some(rate) = packets_per_sec(sample)
            && (!sample.is_app_limited || Some(rate) > self.rate.get())
        {
            self.rate.update(self.rounds, rate, RATE_ROUNDS);
        }
        ended
    }

    fn end_round(&mut self, view: &View) -> Option<Round> {
        self.rounds += 1;
        let round = std::mem::replace(&mut self.round, RttRound::NEW);
        let in_flight = std::mem::take(&mut self.in_flight);
        if round.count == 0 || view.min_rtt == Duration::MAX {
            return None;
        }
        // Little's law: what is in flight divides itself between pipe and queue as the delay does.
        let queueing = round.min.saturating_sub(view.min_rtt).as_secs_f64();
        Some(Round { backlog: f64::from(in_flight) * queueing / round.min.as_secs_f64(), loss: self.judge(view) })
    }

    fn judge(&mut self, view: &View) -> Option<f64> {
        let delivered = view.delivered - self.judged.delivered;
        let lost = view.lost - self.judged.lost;
        if delivered + lost < JUDGED_PACKETS {
            return None;
        }
        self.judged = Counts { delivered: view.delivered, lost: view.lost };
        Some(lost as f64 / (delivered + lost) as f64)
    }

    /// Packets that fill the pipe at the rate that this flow gets, without a queue.
    pub(super) fn pipe(&self, view: &View) -> f64 {
        match self.rate.get() {
            Some(rate) if view.min_rtt != Duration::MAX => rate * view.min_rtt.as_secs_f64(),
            _ => 0.0,
        }
    }

    /// The share of the RTT that is queueing.
    pub(super) fn queue_share(&self) -> f64 {
        if self.rtt > 0.0 { self.queueing / self.rtt } else { 0.0 }
    }
}
