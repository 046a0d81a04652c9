//! The readings (interpretations) of a session's losses and delays, and their prior probabilities.
//!
//! Retransmissions show how much was lost, but not why. One reading is a queue, short or long, that the sender itself overflows; another is
//! random loss ("noise") on the path; a third, if first bytes are late, is a neighbour's transfer in the same queue. A log that counts no
//! retransmissions leaves two readings with their prior probabilities: a path without losses, and a faster link whose losses limit the
//! window; the output says so.
//!
//! The priors are the same for all logs.

use crate::counts::Expected;
use crate::log::{Transfer, late_s};
use playpath_units::random::Stream;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Share of the packets that the path loses at random.
    pub loss: f64,
    /// Limit of the queue in packets; `None`: it never fills.
    pub queue: Option<u32>,
    /// A competing transfer without end is in the queue.
    pub has_neighbour: bool,
    /// Prior probability; those of all readings sum to 1.
    pub believed: f64,
}

impl Reading {
    /// No losses and no neighbour.
    pub const PLAIN: Reading = Reading { loss: 0.0, queue: None, has_neighbour: false, believed: 1.0 };

    pub(crate) fn believing(self, believed: f64) -> Reading {
        Reading { believed, ..self }
    }
}

/// Queue limits with their prior probabilities: bottlenecks hold from a few packets to many hundreds.
const QUEUES: [(u32, f64); 4] = [(15, 0.12), (45, 0.28), (130, 0.38), (400, 0.22)];
/// The same with a neighbour; without the queue of 15 packets, in which a neighbour causes no delay.
const SHARED_QUEUES: [(u32, f64); 3] = [(45, 0.3), (130, 0.45), (400, 0.25)];
/// Range of the random-loss share relative to the share estimated from the transfers; and its prior range, uniform in the logarithm.
const AROUND: (f64, f64) = (0.25, 4.0);
const LOSSES: (f64, f64) = (2e-4, 0.05);
/// The loss share may exceed the upper end of the prior range by at most this factor.
const BEYOND: f64 = 2.0;
const STEPS: usize = 24;
/// Steps of the grid for the loss share outside of bursts.
const STEPS_OF_ONE: usize = 96;
/// Queue limits with random losses; the second only if transfers lose more than random losses explain (the queue overflows as well).
const NOISY_QUEUES: [u32; 2] = [130, 45];
/// Prior probabilities of paths with random losses, and of paths with a neighbour.
const NOISY: f64 = 0.3;
const SHARED: f64 = 0.2;
/// More is lost than noise explains if the share of retransmissions is more than this many times the random-loss share.
const APART: f64 = 1.4;
/// Smaller loss shares cannot be distinguished from none.
const MIN_LOSS: f64 = 2e-4;
/// A neighbour is considered if at least this many first bytes are logged, and a quarter of them are this much later than the earliest.
const MIN_FIRST_BYTES: usize = 5;
const LATE_S: f64 = 0.003;
/// Bytes of a full packet.
const PAYLOAD: f64 = 1448.0;

/// Half of the distance between `QUEUES`, as a factor; and the longest limit that the last of them stands for.
const HALF_WAY: f64 = 1.732;
const LONGEST: f64 = 1600.0;

/// The shortest and the longest queue limit that one of `QUEUES` stands for. The first stands for none shorter: with eight packets a play
/// overflows earlier than over a queue of fifteen, and fewer intervals hold the capacity of such paths.
pub(crate) fn limits_around(queue: u32) -> (usize, usize) {
    let limit = f64::from(queue);
    let longest = if queue == QUEUES[QUEUES.len() - 1].0 { LONGEST } else { limit * HALF_WAY };
    let shortest = if queue == QUEUES[0].0 { limit } else { limit / HALF_WAY };
    (shortest as usize, longest as usize)
}

pub(crate) fn any_queue(draws: &mut Stream) -> u32 {
    let mut left = draws.uniform();
    let found = QUEUES.iter().find(|(_, belief)| {
        left -= belief;
        left < 0.0
    });
    found.unwrap_or(&QUEUES[1]).0
}

/// The readings of a session; `again`: share of its packets that were retransmitted, `None` if the log does not count them.
pub(crate) fn readings(transfers: &[Transfer], again: Option<f64>) -> Vec<Reading> {
    let share = again.unwrap_or(0.0);
    let shared = if are_first_bytes_late(transfers) { SHARED } else { 0.0 };
    let alone = Reading::PLAIN.believing(1.0 - shared);
    let mut found: Vec<Reading> = if share < MIN_LOSS {
        vec![alone]
    } else {
        let own = QUEUES.iter().map(|&(queue, belief)| Reading {
            queue: Some(queue),
            believed: belief * alone.believed * (1.0 - NOISY),
            ..alone
        });
        let loss = loss_outside_bursts(transfers).unwrap_or(share).clamp(LOSSES.0, LOSSES.1);
        let queues = &NOISY_QUEUES[..if share > APART * loss { 2 } else { 1 }];
        let believed = NOISY * alone.believed / queues.len() as f64;
        let noise = queues.iter().map(|&queue| Reading { loss, queue: Some(queue), believed, ..alone });
        own.chain(noise).collect()
    };
    if shared > 0.0 {
        found.extend(SHARED_QUEUES.iter().map(|&(queue, belief)| Reading {
            loss: 0.0,
            queue: Some(queue),
            has_neighbour: true,
            believed: belief * shared,
        }));
    }
    found
}

/// The reading of a session whose log counts no losses: random losses that keep the window at this many packets, if the prior allows them.
///
/// Mathis et al. (1997): a window of sqrt(1.5 / p) packets; RFC 9438 §5.1: 1.054 (RTT / p)^(3/4) where that is more.
pub(crate) fn unseen_noise(window: f64, rtt_s: f64) -> Option<Reading> {
    let loss = (1.5 / (window * window)).max(rtt_s * libm::pow(1.054 / window, 4.0 / 3.0));
    (LOSSES.0..=LOSSES.1).contains(&loss).then_some(Reading {
        loss,
        queue: Some(NOISY_QUEUES[0]),
        believed: NOISY,
        ..Reading::PLAIN
    })
}

/// The likeliest random-loss share: the count of each transfer is Poisson distributed unless there was a burst. A sender that overflows the
/// queue in some transfers shows the random losses in the others. `None`: no transfer has a count.
fn loss_outside_bursts(transfers: &[Transfer]) -> Option<f64> {
    let counted: Vec<(f64, f64)> =
        transfers.iter().filter_map(|t| t.again.map(|again| (again, libm::ceil(t.bytes / PAYLOAD)))).collect();
    let likely = |loss: f64| -> f64 {
        let one = |&(seen, packets): &(f64, f64)| {
            libm::log(Expected { packets, noise: loss * packets, overflow: 0.0, spread: 0.0 }.likely(seen))
        };
        counted.iter().map(one).sum()
    };
    let width = libm::log(LOSSES.1 / LOSSES.0) / STEPS_OF_ONE as f64;
    let all = (0..=STEPS_OF_ONE).map(|step| LOSSES.0 * libm::exp(width * step as f64));
    let likeliest = all.map(|loss| (loss, likely(loss))).max_by(|a, b| a.1.total_cmp(&b.1));
    likeliest.filter(|_| !counted.is_empty()).map(|one| one.0)
}

/// Whether packets of other flows are in the queue: without them, a first byte after a pause takes one round trip.
fn are_first_bytes_late(transfers: &[Transfer]) -> bool {
    let is_logged = |one: &(&Transfer, f64)| one.0.first_byte_s.is_some();
    let mut late: Vec<f64> = transfers.iter().zip(late_s(transfers)).filter(is_logged).map(|one| one.1).collect();
    late.sort_by(f64::total_cmp);
    late.len() >= MIN_FIRST_BYTES && late[late.len() * 3 / 4] > LATE_S
}

/// Random-loss shares under a reading with their log posterior. `likely`: log likelihood of the retransmission counts at a share; `again`:
/// the total share of retransmissions. Queue overflows may hide some random losses.
pub(crate) fn losses(reading: &Reading, again: f64, likely: &dyn Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let magnitude = libm::log(LOSSES.1 / LOSSES.0);
    let over = |low: f64, high: f64, belief: f64| -> Vec<(f64, f64)> {
        let width = libm::log(high / low) / STEPS as f64;
        let each = libm::log(belief * width / magnitude);
        let at = |step: usize| low * libm::exp(width * (step as f64 + 0.5));
        (0..STEPS).map(|step| (at(step), each + likely(at(step)))).collect()
    };
    if reading.loss > 0.0 {
        return over(AROUND.0 * reading.loss, (AROUND.1 * reading.loss).min(BEYOND * LOSSES.1), 1.0);
    }
    let most = if reading.queue.is_some() { AROUND.0 * again } else { LOSSES.1 };
    let mut found = if most > LOSSES.0 { over(LOSSES.0, most, NOISY) } else { vec![] };
    found.push((0.0, libm::log(1.0 - NOISY) + likely(0.0)));
    found
}

#[cfg(test)]
mod tests;
