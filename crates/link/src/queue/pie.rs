//! PIE: drop on arrival with a probability that a proportional-integral controller steers by the queueing delay.
//!
//! Reference: RFC 8033 (R. Pan et al., 2017), sections 4 and 5.
//!
//! Differences from the reference
//! 1. Delay by timestamps (sojourn time of the packet sent last, zero once the queue is empty) as in Linux since 5.5;
//!    the departure-rate estimate of section 5.2 is a setting.
//! 2. The 15 ms timer is logical: updates that fell due since the last event are made before it, each with the state of its
//!    time. Nothing happens to the queue in between, so this equals a timer.
//! 3. In an update the burst allowance is reduced first and then, if congestion is over, reset to its maximum.
//! 4. Cap on the step (section 5.5) is always on; de-randomization (5.4) is a setting; switching PIE off at low load is not modelled.
//!
//! Units: delays in s, alpha and beta in 1/s. Invariants: 0 ≤ drop probability ≤ 1; one draw per packet that may be dropped.
//! Tested: hand-worked updates, burst allowance, standing delay near the target under overload.

use super::{Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::DropCause;
use crate::registry::About;
use crate::settings::{config, words};
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, QueueLimit, Ratio, Time};

words! {
    PieDelay, DELAYS {
        Timestamp = "timestamp", "From the time that the last packet waited.";
        DepartureRate = "departure_rate", "From the queue length and an estimate of the departure rate (RFC 8033, 5.2).";
    }
}

config! {
    PieConfig {
        limit: QueueLimit = text("1000 packets", Kind::Limit), "hard limit (Linux: 1000 packets)";
        target: Duration = text("15 ms", Kind::Time), "QDELAY_REF: the delay aimed at (RFC 8033: 15 ms)";
        update_interval: Duration = text("15 ms", Kind::PositiveTime), "T_UPDATE: time between updates (RFC 8033: 15 ms)";
        alpha: f64 = number(0.125, (0.0, f64::MAX), "1/s"), "weight of the distance from the target (RFC 8033: 1/8)";
        beta: f64 = number(1.25, (0.0, f64::MAX), "1/s"), "weight of the trend (RFC 8033: 1 1/4)";
        max_burst: Duration = text("150 ms", Kind::Time), "MAX_BURST: a burst this long passes without drops (RFC 8033: 150 ms)";
        delay: PieDelay = text("timestamp", DELAYS), "how the delay is learnt (Linux; RFC 8033, 5.2)";
        derandomize: bool = flag(false), "spread drops evenly (RFC 8033, 5.4)";
        ecn: bool = flag(false), "mark instead of dropping where the sender understands it";
        ecn_threshold: Ratio = text("10 %", Kind::Share), "drop probability above which marking ends (RFC 8033, 5.1)";
    }
}

/// Every update is made, and each costs as much as a packet does.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(10);

pub(crate) struct Pie {
    fifo: Fifo,
    limit: Limit,
    config: PieConfig,
    controller: Controller,
    next_update: Time,
    /// Sojourn time of the packet sent last; zero once the queue is empty.
    sojourn: Duration,
    departures: DepartureRate,
    stream: Stream,
}

/// The part of the state that an update changes (RFC 8033, 4.2 and 4.4).
#[derive(Clone, Copy, Debug)]
struct Controller {
    drop_probability: f64,
    old_delay: f64,
    burst_allowance: Duration,
    /// Sum of probabilities since the last drop (RFC 8033, 5.4).
    accumulated: f64,
}

enum Verdict {
    Accept,
    Mark,
    Drop,
}

impl Pie {
    /// All updates that fell due until `now`.
    fn update_until(&mut self, now: Time) {
        while self.next_update <= now {
            let delay = self.current_delay();
            if delay == 0.0 && self.controller.is_at_rest() {
                // Further updates change nothing: go to the first one after `now`.
                let steps = (now - self.next_update).as_nanos() / self.config.update_interval.as_nanos();
                self.next_update += self.config.update_interval * steps;
            }
            self.controller.update(&self.config, delay);
            self.next_update += self.config.update_interval;
        }
    }

    fn current_delay(&self) -> f64 {
        match self.config.delay {
            PieDelay::Timestamp => self.sojourn.as_secs_f64(),
            PieDelay::DepartureRate => self.departures.delay(self.fifo.bytes()),
        }
    }

    /// RFC 8033, 4.1.
    fn judge<P: Packet>(&mut self, packet: Queued, store: &Store<P>) -> Verdict {
        const MEAN_PACKET_BYTES: u64 = 1024;
        let controller = &self.controller;
        let probability = controller.drop_probability;
        let is_calm = controller.old_delay < self.config.target.as_secs_f64() / 2.0 && probability < 0.2;
        let is_short = self.fifo.bytes() <= 2 * MEAN_PACKET_BYTES;
        if !controller.burst_allowance.is_zero() || is_calm || is_short {
            return Verdict::Accept;
        }
        if !self.draw(probability) {
            return Verdict::Accept;
        }
        let may_mark =
            self.config.ecn && store.get(packet).is_ecn_capable() && probability <= self.config.ecn_threshold.get();
        if may_mark { Verdict::Mark } else { Verdict::Drop }
    }

    fn draw(&mut self, probability: f64) -> bool {
        let mut hit = self.stream.chance(probability);
        if self.config.derandomize {
            // RFC 8033, 5.4: no drop too soon after the last one, and none too late.
            self.controller.accumulated += probability;
            hit = (hit && self.controller.accumulated >= 0.85) || self.controller.accumulated >= 8.5;
            if hit {
                self.controller.accumulated = 0.0;
            }
        }
        hit
    }
}

impl Controller {
    /// No further update with a delay of zero would change anything.
    fn is_at_rest(&self) -> bool {
        self.drop_probability == 0.0 && self.old_delay == 0.0
    }

    /// RFC 8033, 4.2: the drop probability; 4.4: the burst allowance.
    fn update(&mut self, config: &PieConfig, delay: f64) {
        let mut step = config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - self.old_delay);
        step *= scale(self.drop_probability);
        if self.drop_probability >= 0.1 {
            step = step.min(0.02); // RFC 8033, 5.5
        }
        self.drop_probability += step;
        if delay == 0.0 && self.old_delay == 0.0 {
            self.drop_probability *= 0.98;
        }
        self.drop_probability = self.drop_probability.clamp(0.0, 1.0);
        if self.drop_probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update_interval);
        let half = config.target.as_secs_f64() / 2.0;
        if self.drop_probability == 0.0 && delay < half && self.old_delay < half {
            self.burst_allowance = config.max_burst;
        }
        self.old_delay = delay;
    }
}

/// RFC 8033, 4.2: small probabilities move in small steps.
fn scale(drop_probability: f64) -> f64 {
    match drop_probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

/// RFC 8033, 5.2: the time in which DQ_THRESHOLD bytes leave, averaged over measurement cycles.
#[derive(Clone, Copy, Debug, Default)]
struct DepartureRate {
    cycle: Option<(Time, u64)>,
    average_cycle_s: f64,
}

impl DepartureRate {
    const THRESHOLD_BYTES: u64 = 1 << 14;
    const WEIGHT: f64 = 0.25; // DQ_THRESHOLD / 2^16

    /// A packet leaves a queue that held `queue_bytes` with it.
    fn note_departure(&mut self, now: Time, wire_bytes: u32, queue_bytes: u64) {
        if self.cycle.is_none() && queue_bytes >= Self::THRESHOLD_BYTES {
            self.cycle = Some((now, 0));
        }
        let Some((start, bytes)) = &mut self.cycle else { return };
        *bytes += u64::from(wire_bytes);
        if *bytes >= Self::THRESHOLD_BYTES {
            let length = (now - *start).as_secs_f64();
            self.average_cycle_s = match self.average_cycle_s {
                0.0 => length,
                average => Self::WEIGHT * length + (1.0 - Self::WEIGHT) * average,
            };
            self.cycle = None;
        }
    }

    /// Time to drain `queue_bytes`; zero before the first measurement.
    fn delay(&self, queue_bytes: u64) -> f64 {
        queue_bytes as f64 / Self::THRESHOLD_BYTES as f64 * self.average_cycle_s
    }
}

impl QueueDiscipline for Pie {
    type Config = PieConfig;
    const ABOUT: About = About {
        name: "pie",
        summary: "drops on arrival with a probability steered by the queueing delay",
        reference: "RFC 8033",
    };

    fn new(config: &PieConfig, link: LinkFacts, stream: Stream) -> Result<Pie, LinkError> {
        if config.update_interval < SHORTEST_INTERVAL {
            let allowed = format!("{SHORTEST_INTERVAL} or longer");
            return Err(LinkError::new("pie.update_interval", config.update_interval, allowed));
        }
        let controller =
            Controller { drop_probability: 0.0, old_delay: 0.0, burst_allowance: config.max_burst, accumulated: 0.0 };
        Ok(Pie {
            fifo: Fifo::new(),
            limit: Limit::resolve_for_aqm(config.limit, link)?,
            config: config.clone(),
            controller,
            next_update: Time::ZERO + config.update_interval,
            sojourn: Duration::ZERO,
            departures: DepartureRate::default(),
            stream,
        })
    }

    fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) {
        self.update_until(now);
        if !self.limit.admits(self.fifo.packets(), self.fifo.bytes(), packet.wire_bytes) {
            return store.drop_packet(DropCause::QueueFull, packet);
        }
        match self.judge(packet, store) {
            Verdict::Drop => return store.drop_packet(DropCause::Aqm, packet),
            Verdict::Mark => store.mark_packet(packet),
            Verdict::Accept => {}
        }
        self.fifo.push(packet);
    }

    fn dequeue<P: Packet>(&mut self, now: Time, _store: &mut Store<P>) -> Option<Queued> {
        self.update_until(now);
        let queue_bytes = self.fifo.bytes();
        let packet = self.fifo.pop()?;
        self.sojourn = if self.fifo.packets() == 0 { Duration::ZERO } else { now.saturating_since(packet.arrival) };
        self.departures.note_departure(now, packet.wire_bytes, queue_bytes);
        Some(packet)
    }

    fn packets(&self) -> u32 {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests;
