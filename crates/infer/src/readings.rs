//! The readings (interpretations) of a session's losses and delays, and their prior probabilities.
//!
//! Packets that were sent again tell how much was lost and not why. A queue that the sender itself overflows is one reading, with a
//! queue that may be short or long; noise on the path another; a neighbour's transfer in the same queue a third, where first bytes
//! come late. A log that counts no retransmissions leaves both, as they are believed: a path that loses none, and one whose losses hold
//! the window on a faster link; and whoever asks says so aloud.
//!
//! All beliefs are the same for all logs.

use crate::counts::Expected;
use crate::log::Transfer;
use playpath_units::random::Stream;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Share of the packets that the path loses at random.
    pub loss: f64,
    /// Limit of the queue in packets; `None`: it never fills.
    pub queue: Option<u32>,
    /// A competing transfer without end is in the queue.
    pub has_neighbour: bool,
    /// Before anything was seen; the readings' sum is 1.
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
/// The same with a neighbour; without the queue of 15 packets, in which a neighbour delays nobody.
const SHARED_QUEUES: [(u32, f64); 3] = [(45, 0.3), (130, 0.45), (400, 0.25)];
/// Where the share that noise takes is looked for, over the share that is read off the transfers, and what is believed of its order of
/// magnitude: any between these.
const AROUND: (f64, f64) = (0.25, 4.0);
const LOSSES: (f64, f64) = (2e-4, 0.05);
/// More than the largest of these, but for so many times, nobody believes of a path.
const BEYOND: f64 = 2.0;
const STEPS: usize = 24;
/// And what noise takes beside bursts, in so many.
const STEPS_OF_ONE: usize = 96;
/// The queue behind the noise; where transfers lose more than noise explains (a queue overflows, too), one of these.
const NOISY_QUEUES: [u32; 2] = [130, 45];
/// Paths that lose at random, and paths with a neighbour.
const NOISY: f64 = 0.3;
const SHARED: f64 = 0.2;
/// More is lost than noise explains if what is sent again is so many times what noise takes.
const APART: f64 = 1.4;
/// Smaller loss shares cannot be distinguished from none.
const LEAST_LOSS: f64 = 2e-4;
/// First bytes known from which on a neighbour is looked for, and how much later than the earliest a quarter of them is at least.
const FEWEST: usize = 5;
const LATE_S: f64 = 0.005;
/// Bytes of a full packet.
const PAYLOAD: f64 = 1448.0;

pub(crate) fn any_queue(draws: &mut Stream) -> u32 {
    let mut left = draws.uniform();
    let found = QUEUES.iter().find(|(_, belief)| {
        left -= belief;
        left < 0.0
    });
    found.unwrap_or(&QUEUES[1]).0
}

/// The readings of a session of whose packets this share was sent again; none: the log does not count them.
pub(crate) fn readings(transfers: &[Transfer], again: Option<f64>) -> Vec<Reading> {
    let share = again.unwrap_or(0.0);
    let shared = if are_first_bytes_late(transfers) { SHARED } else { 0.0 };
    let alone = Reading::PLAIN.believing(1.0 - shared);
    let mut found: Vec<Reading> = if share < LEAST_LOSS {
        vec![alone]
    } else {
        let own = QUEUES.iter().map(|&(queue, belief)| Reading {
            queue: Some(queue),
            believed: belief * alone.believed * (1.0 - NOISY),
            ..alone
        });
        let loss = beside_bursts(transfers).unwrap_or(share).clamp(LOSSES.0, LOSSES.1);
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

/// The reading of a session whose losses nobody counted: random losses that hold a window of so many packets, if there are such.
///
/// Mathis and others (1997): a window of sqrt(1.5 / p) packets; RFC 9438 §5.1: 1.054 (RTT / p)^(3/4) where that is more.
pub(crate) fn unseen_noise(window: f64, rtt_s: f64) -> Option<Reading> {
    let loss = (1.5 / (window * window)).max(rtt_s * libm::pow(1.054 / window, 4.0 / 3.0));
    (LOSSES.0..=LOSSES.1).contains(&loss).then_some(Reading {
        loss,
        queue: Some(NOISY_QUEUES[0]),
        believed: NOISY,
        ..Reading::PLAIN
    })
}

/// The share of packets that noise takes, if it does: in each transfer a Poisson number, unless the transfer met a burst. A sender that
/// overflows the queue in some transfers shows the noise in the others. None: no transfer has a count.
fn beside_bursts(transfers: &[Transfer]) -> Option<f64> {
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

/// Something waits in the queue that is not the session's own: after a pause a first byte takes a round trip and no more.
fn are_first_bytes_late(transfers: &[Transfer]) -> bool {
    let mut first_bytes: Vec<f64> = transfers.iter().filter_map(|transfer| transfer.first_byte_s).collect();
    first_bytes.sort_by(f64::total_cmp);
    first_bytes.len() >= FEWEST && first_bytes[first_bytes.len() * 3 / 4] - first_bytes[0] > LATE_S
}

/// Shares that noise may take under a reading, and the logarithm of how likely each is: `likely` says it of the packets sent again, of
/// which there is a share of `again` in all. What overflows a queue may hide some noise, too.
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
