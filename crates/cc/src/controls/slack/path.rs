//! Path estimates: the pipe, the queue, and the loss rate.

use crate::parts::estimators::WindowedMax;
use crate::parts::round::RttRound;
use crate::{Ack, RateSample, View};
use playpath_units::Duration;

/// Rounds that a delivery rate is remembered.
const RATE_ROUNDS: u64 = 10;
/// Milliseconds that the largest queue is remembered: longer than CUBIC takes from one full queue to the next.
const QUEUE_MEMORY_MS: u64 = 10_000;
/// RTT samples that a jittery path needs to show its queue (RFC 9406: N_RTT_SAMPLE).
const SAMPLES: usize = 8;
/// A rise that ends slow start: an eighth of the RTT, and no less than RFC 9406's MIN_RTT_THRESH.
const MIN_RISE: Duration = Duration::from_millis(4);
/// A loss counts as one with a queue if this share of the RTT is queueing delay. Veno requires three packets, which the queue of a short
/// pipe does not hold.
const QUEUE_SHARE: f64 = 0.125;
pub(super) const MEAN_ROUNDS: f64 = 4.0;
/// Packets over which the loss share is judged at least: 5 % are then five.
const JUDGED_PACKETS: u64 = 100;

#[derive(Clone, Debug)]
pub(super) struct Path {
    rate: WindowedMax<f64>,
    rounds: u64,
    round: RttRound,
    in_flight: u32,
    /// Smoothed over four samples: the queue that a packet lost now has met.
    queueing: f64,
    rtt: f64,
    largest_queueing: WindowedMax<f64>,
    last_rtts: [Duration; SAMPLES],
    samples: usize,
    /// Smallest RTT of the round before this one.
    last_round_min: Option<Duration>,
    suspicion: Option<Suspicion>,
    /// The round's last delivery rate.
    sampled: Option<f64>,
    /// Packets a second that this flow gets: a mean over rounds, where `rate` is the most.
    mean_rate: f64,
    judged: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    delivered: u64,
    lost: u64,
}

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
            largest_queueing: WindowedMax::new(),
            last_rtts: [Duration::ZERO; SAMPLES],
            samples: 0,
            last_round_min: None,
            suspicion: None,
            sampled: None,
            mean_rate: 0.0,
            judged: Counts::default(),
        }
    }

    pub(super) fn take(&mut self, view: &View, event: &Ack) -> Option<Round> {
        let ended = if event.round_start { self.end_round(view) } else { None };
        if let Some(rtt) = event.rtt.filter(|rtt| !rtt.is_zero()) {
            self.round.take(rtt);
            self.last_rtts[self.samples % SAMPLES] = rtt;
            self.samples += 1;
            let rtt = rtt.as_secs_f64();
            self.rtt += (rtt - self.rtt) / 4.0;
            self.queueing = (self.rtt - view.min_rtt.as_secs_f64()).max(0.0);
            self.largest_queueing.update(view.now.as_nanos() / 1_000_000, self.queueing, QUEUE_MEMORY_MS);
        }
        self.in_flight = self.in_flight.max(event.prior_in_flight);
        if let Some(sample) = &event.rate
            && let Some(rate) = rate_of(sample)
            && (!sample.is_app_limited || Some(rate) > self.rate.get())
        {
            self.rate.update(self.rounds, rate, RATE_ROUNDS);
            self.sampled = Some(rate);
        }
        ended
    }

    fn end_round(&mut self, view: &View) -> Option<Round> {
        self.rounds += 1;
        if let Some(rate) = self.sampled.take() {
            self.mean_rate += (rate - self.mean_rate) / MEAN_ROUNDS;
        }
        let round = std::mem::replace(&mut self.round, RttRound::NEW);
        let in_flight = std::mem::take(&mut self.in_flight);
        self.last_round_min = Some(round.min).filter(|_| round.count > 0);
        if round.count == 0 || view.min_rtt == Duration::MAX {
            return None;
        }
        // Little's law: the packets in flight are divided between pipe and queue in proportion to the delays.
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

    /// Whether a packet lost now met a queue: an eighth of the RTT, or half of the largest recent queue, if that held a packet of ours.
    /// Short queues, and those that an AQM keeps short, are full at less than an eighth.
    pub(super) fn has_queue(&self) -> bool {
        let largest = self.largest_queueing.get().unwrap_or(0.0);
        let is_full = self.queueing >= largest / 2.0 && largest * self.rate.get().unwrap_or(0.0) >= 1.0;
        self.rtt > 0.0 && (self.queueing >= QUEUE_SHARE * self.rtt || is_full)
    }

    pub(super) fn mean_rate(&self) -> f64 {
        self.mean_rate
    }

    /// How the first slow start goes on. A rise of any eight samples in a row may be jitter: the window waits for a round that has
    /// begun since, and a rise that is still there in all of it is a queue. (RFC 9406 §4.2 asks a whole round first and grows on by a
    /// quarter for five: a paced slow start shows its queue as soon as the pipe is full, and an RTT later has twice as much out.)
    pub(super) fn judge_start(&mut self, view: &View, event: &Ack) -> Start {
        let base = self.last_round_min.unwrap_or(view.min_rtt);
        let Some(suspicion) = &mut self.suspicion else {
            let least = self.last_rtts.iter().min().copied().unwrap_or(Duration::ZERO);
            if self.samples >= SAMPLES && has_risen(least, base) {
                self.suspicion = Some(Suspicion { base, has_round: false });
            }
            return Start::Grows;
        };
        if !event.round_start || !std::mem::replace(&mut suspicion.has_round, true) {
            return Start::Waits;
        }
        let is_queue = has_risen(base, suspicion.base);
        self.suspicion = None;
        if is_queue { Start::Ends } else { Start::Grows }
    }
}

fn has_risen(rtt: Duration, base: Duration) -> bool {
    rtt.saturating_sub(base) >= MIN_RISE.max(rtt.mul_f64(QUEUE_SHARE))
}

/// Packets a second, rounded once: equal ratios are equal rates, as in the kernel's whole numbers, and the older one is forgotten.
fn rate_of(sample: &RateSample) -> Option<f64> {
    let nanos = sample.interval.as_nanos();
    (sample.delivered > 0 && nanos > 0).then(|| f64::from(sample.delivered) * 1e9 / nanos as f64)
}

/// The first slow start at an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Grows,
    Waits,
    Ends,
}

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    /// Smallest RTT of the round before.
    base: Duration,
    /// A round has begun since.
    has_round: bool,
}
