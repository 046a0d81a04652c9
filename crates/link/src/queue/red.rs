//! RED: drop early with a probability that follows the average queue.
//!
//! Reference: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1 (1993);
//! ns-2.35 `queue/red.cc` and `ns-default.tcl` for the modes and the automatic parameters; S. Floyd, R. Gummadi,
//! S. Shenker, "Adaptive RED" (2001) for adaptive mode; RFC 7567 and RFC 7141 for the choice of units today.
//!
//! avg ← (1 − w) avg + w q on each arrival; after an idle time as if ptc × idle small packets had met an empty queue.
//! p_b = max_p (avg − min) / (max − min) between the thresholds; gentle: from max_p at max to 1 at 2 max.
//! With c packets (or bytes / mean size) since the last drop: wait mode p_a = 0 while c p_b < 1, p_b / (2 − c p_b) while
//! < 2, then 1; otherwise (Floyd 1993) p_a = p_b / (1 − c p_b).
//!
//! Differences from ns-2
//! 1. `mean_packet_bytes` is 1000 by default, not 500: with 500, ns-2's limit of 50 packets means 25 kB.
//! 2. In adaptive mode the gentle slope follows the present max_p; ns-2 keeps the slope of the first one.
//! 3. On a trace the packet time constant ptc uses the mean rate; ns-2 has constant rates only.
//! 4. ECN: a packet is marked wherever it would be dropped at random; at averages that force a drop it is dropped
//!    (RFC 3168, 7). ns-2's `mark_p_` is not modelled. Nor are `cautious_`, Feng's adaptive mode, drop-front and drop-random.
//!
//! Units: the queue in bytes or packets, by `queue_unit`; thresholds in packets of the mean size. Invariant: one draw per packet
//! that may be dropped at random. Tested: worked numbers of the equations and of ns-2's automatic values, uniform spacing
//! of drops, long-run drop rate.

use super::{Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::DropCause;
use crate::registry::About;
use crate::settings::{config, words};
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, QueueLimit, Rate, Time};

words! {
    RedUnit, UNITS {
        Bytes = "bytes", "Bytes: large packets weigh more.";
        Packets = "packets", "Packets, whatever their size.";
    }
}

config! {
    /// Parameters of RED: ns-2's defaults with a mean size of 1000 bytes.
    RedConfig {
        limit: QueueLimit = text("50 packets", Kind::Limit), "hard limit, counted in queue_unit by the mean size (ns-2: 50 packets)";
        queue_unit: RedUnit = text("bytes", UNITS), "what the queue is measured in (ns-2 queue_in_bytes_)";
        drop_unit: RedUnit = text("bytes", UNITS), "bytes: large packets are dropped more often (ns-2 bytes_)";
        mean_packet_bytes: u32 = whole(1000, (1, u32::MAX as u64), "B"), "mean packet size (ns-2 mean_pktsize_, there 500)";
        min_threshold_packets: Option<f64> = number(0.0, (f64::MIN_POSITIVE, f64::MAX), "packets") or "auto", "lower threshold; auto: half of target_delay, 5 or more";
        max_threshold_packets: Option<f64> = number(0.0, (f64::MIN_POSITIVE, f64::MAX), "packets") or "auto", "upper threshold, above the lower one; auto: three times the lower one";
        queue_weight: Option<f64> = number(0.0, (f64::MIN_POSITIVE, 1.0), "") or "auto", "weight w of the newest sample; auto, as in ns-2: 1 − exp(−1 / (10 × rtt × ptc)) with rtt = max(0.1 s, 3 (delay + 1 / ptc))";
        max_p: f64 = number(0.1, (f64::MIN_POSITIVE, 1.0), ""), "drop probability at the upper threshold (ns-2 1/linterm_)";
        target_delay: Duration = text("5 ms", Kind::Time), "delay that the automatic thresholds aim at (ns-2 targetdelay_)";
        gentle: bool = flag(true), "rise to 1 above the upper threshold instead of jumping";
        wait: bool = flag(true), "keep drops apart";
        adaptive: bool = flag(false), "let max_p follow the average queue (2001)";
        ecn: bool = flag(false), "mark instead of dropping where the sender understands it";
    }
}

impl RedConfig {
    fn resolve(&self, link: LinkFacts) -> Result<RedRule, LinkError> {
        let mean = f64::from(self.mean_packet_bytes);
        // An unlimited server never queues: there any rate does.
        let rate = link.rate.unwrap_or(Rate::from_bits_per_sec(1_000_000_000)).as_bits_per_sec() as f64;
        let ptc = rate / (8.0 * mean);
        let min = self.min_threshold_packets.unwrap_or((self.target_delay.as_secs_f64() * ptc / 2.0).max(5.0));
        let max = self.max_threshold_packets.unwrap_or(3.0 * min);
        let rtt = (3.0 * (link.one_way_delay.as_secs_f64() + 1.0 / ptc)).max(0.1);
        let weight = self.queue_weight.unwrap_or(1.0 - libm::exp(-1.0 / (10.0 * rtt * ptc)));
        if !(max > min && max.is_finite()) {
            return Err(LinkError::new("red.max_threshold_packets", max, format!("above the lower threshold, {min}")));
        }
        let scale = if self.queue_unit == RedUnit::Bytes { mean } else { 1.0 };
        Ok(RedRule {
            min: min * scale,
            max: max * scale,
            weight,
            ptc,
            limit: self.limit_in_queue_unit(link)?,
            // 1/W for a W of 100 ms of 1000-byte packets, at most 0.01 (ns-2 `initialize_params`).
            min_max_p: (80_000.0 / rate).min(0.01),
        })
    }

    fn limit_in_queue_unit(&self, link: LinkFacts) -> Result<u64, LinkError> {
        let Limit { packets, bytes } = Limit::resolve_for_aqm(self.limit, link)?;
        let mean = u64::from(self.mean_packet_bytes);
        Ok(match self.queue_unit {
            RedUnit::Bytes => bytes.min(packets.saturating_mul(mean)),
            RedUnit::Packets => packets.min((bytes / mean).max(1)),
        })
    }
}

/// A configuration resolved for a given link, in the queue's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RedRule {
    min: f64,
    max: f64,
    weight: f64,
    /// Mean-sized packets per second at the link's rate.
    ptc: f64,
    limit: u64,
    min_max_p: f64,
}

pub(crate) struct Red {
    fifo: Fifo,
    config: RedConfig,
    rule: RedRule,
    average: f64,
    max_p: f64,
    max_p_set_at: Time,
    /// Packets and bytes since the last drop or mark.
    count_packets: u64,
    count_bytes: u64,
    /// The average was above the lower threshold at the last arrival.
    was_above_min: bool,
    idle_since: Option<Time>,
    stream: Stream,
}

enum Verdict {
    Accept,
    Mark,
    Drop(DropCause),
}

impl Red {
    fn queue_length(&self) -> u64 {
        match self.config.queue_unit {
            RedUnit::Bytes => self.fifo.bytes(),
            RedUnit::Packets => u64::from(self.fifo.packets()),
        }
    }

    fn judge<P: Packet>(&mut self, now: Time, packet: Queued, store: &Store<P>) -> Verdict {
        let length = self.queue_length();
        self.update_average(now, length);
        self.count_packets += 1;
        self.count_bytes += u64::from(packet.wire_bytes);

        let mut verdict = Verdict::Accept;
        // "With one packet or less": compared in the queue's own unit, as ns-2 does.
        if self.average >= self.rule.min && length > 1 {
            let forced_at = if self.config.gentle { 2.0 * self.rule.max } else { self.rule.max };
            if self.average >= forced_at {
                verdict = Verdict::Drop(DropCause::Aqm);
            } else if !self.was_above_min {
                // The first packet above the threshold only starts the count.
                self.was_above_min = true;
                self.restart_count(1, packet);
            } else if self.drops_at_random(packet) {
                self.restart_count(0, packet);
                let may_mark = self.config.ecn && store.get(packet).is_ecn_capable();
                verdict = if may_mark { Verdict::Mark } else { Verdict::Drop(DropCause::Aqm) };
            }
        } else {
            self.was_above_min = false;
        }
        if length >= self.rule.limit {
            verdict = Verdict::Drop(DropCause::QueueFull);
        }
        if matches!(verdict, Verdict::Drop(_)) {
            self.restart_count(0, packet);
        }
        verdict
    }

    /// The count so far: nothing, or this packet.
    fn restart_count(&mut self, packets: u64, packet: Queued) {
        self.count_packets = packets;
        self.count_bytes = packets * u64::from(packet.wire_bytes);
    }

    fn update_average(&mut self, now: Time, length: u64) {
        let mut keep = 1.0 - self.rule.weight;
        if let Some(since) = self.idle_since.take() {
            let missed = (self.rule.ptc * (now - since).as_secs_f64()) as u64;
            keep = libm::pow(keep, (missed + 1) as f64);
        }
        self.average = keep * self.average + self.rule.weight * length as f64;
        if self.config.adaptive {
            self.adapt_max_p(now);
        }
    }

    /// Adaptive RED (2001), section 4: every half second, at most one step towards the middle of the thresholds.
    fn adapt_max_p(&mut self, now: Time) {
        const INTERVAL: Duration = Duration::from_millis(500);
        const STEP_UP: f64 = 0.01;
        const FACTOR_DOWN: f64 = 0.9;
        const MAX: f64 = 0.5;
        if now <= self.max_p_set_at + INTERVAL {
            return;
        }
        let margin = 0.4 * (self.rule.max - self.rule.min);
        if self.average < self.rule.min + margin && self.max_p > self.rule.min_max_p {
            self.max_p *= FACTOR_DOWN;
        } else if self.average > self.rule.max - margin && self.max_p < MAX {
            self.max_p += STEP_UP.min(0.25 * self.max_p);
        } else {
            return;
        }
        self.max_p_set_at = now;
    }

    fn drops_at_random(&mut self, packet: Queued) -> bool {
        let base = base_probability(self.average, &self.rule, self.max_p);
        let mean = u64::from(self.config.mean_packet_bytes);
        let (count, size_ratio) = match self.config.drop_unit {
            RedUnit::Packets => (self.count_packets, 1.0),
            RedUnit::Bytes => (self.count_bytes / mean, f64::from(packet.wire_bytes) / mean as f64),
        };
        let mut probability = spaced_probability(base, count as f64, self.config.wait);
        if probability < 1.0 {
            probability *= size_ratio;
        }
        self.stream.chance(probability)
    }
}

/// p_b: the probability that follows from the average alone. Only asked where drops are not forced.
fn base_probability(average: f64, rule: &RedRule, max_p: f64) -> f64 {
    if average >= rule.max {
        (max_p + (1.0 - max_p) * (average - rule.max) / rule.max).min(1.0)
    } else {
        max_p * (average - rule.min) / (rule.max - rule.min)
    }
}

/// p_a: p_b stretched so that the gaps between drops are uniform instead of geometric.
fn spaced_probability(base: f64, count: f64, wait: bool) -> f64 {
    let product = count * base;
    match wait {
        true if product < 1.0 => 0.0,
        true if product < 2.0 => base / (2.0 - product),
        false if product < 1.0 => base / (1.0 - product),
        _ => 1.0,
    }
}

impl QueueDiscipline for Red {
    type Config = RedConfig;
    const ABOUT: About = About {
        name: "red",
        summary: "random early detection: drops early as the average queue grows",
        reference: "Floyd, Jacobson 1993; ns-2.35 queue/red.cc",
    };

    fn new(config: &RedConfig, link: LinkFacts, stream: Stream) -> Result<Red, LinkError> {
        Ok(Red {
            fifo: Fifo::new(),
            config: config.clone(),
            rule: config.resolve(link)?,
            average: 0.0,
            max_p: config.max_p,
            max_p_set_at: Time::ZERO,
            count_packets: 0,
            count_bytes: 0,
            was_above_min: false,
            idle_since: Some(Time::ZERO),
            stream,
        })
    }

    fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) {
        match self.judge(now, packet, store) {
            Verdict::Drop(cause) => return store.drop_packet(cause, packet),
            Verdict::Mark => store.mark_packet(packet),
            Verdict::Accept => {}
        }
        self.fifo.push(packet);
    }

    fn dequeue<P: Packet>(&mut self, now: Time, _store: &mut Store<P>) -> Option<Queued> {
        let next = self.fifo.pop();
        if next.is_none() {
            self.idle_since = Some(now);
        }
        next
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
