//! DualPI2: a low-latency queue and a classic one, coupled so that flows of both kinds get the same rate.
//!
//! Reference: RFC 9332 (K. De Schepper, B. Briscoe, G. White, 2023), section 2.4 and appendix A; Linux `sch_dualpi2`
//! (since 6.17) for the defaults and wherever the RFC leaves a choice.
//!
//! Packets with ECT(1) or CE go to the low-latency queue (RFC 9331, 5.1), all others to the classic one. Every update interval
//! p' ← p' + alpha (d − target) + beta (d − d_last), d the longer of the two queues' delays. Classic packets are dropped, or
//! marked with ECT(0), with p_C = p'²; low-latency ones are marked with p_CL = k p' and wherever they waited longer than the
//! step. So p_C = (p_CL / k)² (RFC 9332, 2.1), which is how the rates of TCP and of a scalable control compare.
//!
//! Differences from Linux, and from RFC 9332 where Linux differs from it
//! 1. The timer is logical: due updates are made before a packet leaves, each with the state of its time. It stops while the queues are
//!    empty and an update would change nothing.
//! 2. Probabilities are floating point, and p'² is one draw, not two draws of p'.
//! 3. Packets are those of the link: there are no GSO segments to split, and no memory limit other than `limit`.
//! 4. Drops are on dequeue only; no step in packets, no filters, no mask but ECT(1).
//! 5. As in Linux the low-latency queue has a step, where RFC 9332 has a ramp, and the step marks in addition to p_CL.
//! 6. As in Linux the scheduler is a weighted credit, where RFC 9332 also describes a time-shifted FIFO.
//!
//! Units: delays in s, alpha and beta in 1/s. Invariants: 0 ≤ p' ≤ 1; order within a queue; the low-latency queue goes first
//! unless the classic one has credit. Tested: hand-worked updates, the coupling law, the delay of each queue, classic protection,
//! overload, the response to a halved rate.

use super::{Classes, Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::{Count, DropCause};
use crate::registry::About;
use crate::settings::{config, words};
use crate::stats::ClassStats;
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, QueueLimit, Ratio, Time};
use std::collections::VecDeque;

words! {
    /// Behaviour once all low-latency packets would be marked.
    DualPi2Overload, OVERLOADS {
        Drop = "drop", "Packets of both queues are dropped with p'².";
        Overflow = "overflow", "Nothing but the limit drops low-latency packets; p' stops at 1 / coupling.";
    }
}

config! {
    /// Parameters of DualPI2: Linux's defaults.
    DualPi2Config {
        limit: QueueLimit = text("10000 packets", Kind::Limit), "hard limit of both queues together (Linux: 10 000 packets)" since "0.3";
        target: Duration = text("15 ms", Kind::Time), "delay of the classic queue that is aimed at (RFC 9332, A.1: 15 ms)" since "0.3";
        update_interval: Duration = text("16 ms", Kind::PositiveTime), "time between updates of the probability (Linux: 16 ms)" since "0.3";
        alpha: f64 = number(41.0 / 256.0, (0.0, f64::MAX), "1/s"), "weight of the distance from the target (Linux: 41/256)" since "0.3";
        beta: f64 = number(819.0 / 256.0, (0.0, f64::MAX), "1/s"), "weight of the trend (Linux: 819/256)" since "0.3";
        step: Duration = text("1 ms", Kind::Time), "low-latency packets that waited longer are marked (Linux: 1 ms)" since "0.3";
        min_qlen_step: u32 = whole(0, (0, u32::MAX as u64), "packets"), "the step spares a low-latency packet that found fewer than this in its queue (Linux: 0)" since "0.3";
        coupling: u32 = whole(2, (1, 255), ""), "k: marking of low-latency packets is k p' (RFC 9332, 2.1: 2)" since "0.3";
        classic_protection: Ratio = text("10 %", Kind::Share), "share of the rate that the classic queue keeps (Linux: 10 %)" since "0.3";
        overload: DualPi2Overload = text("drop", OVERLOADS), "what happens when k p' exceeds 1 (Linux: drop)" since "0.3";
    }
}

/// Every update is made, and each costs as much as a packet does.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(10);

/// Linux's `psched_mtu` on Ethernet.
const FULL_PACKET_BYTES: u64 = 1514;

pub(crate) struct DualPi2 {
    low_latency: Fifo,
    classic: Fifo,
    limit: Limit,
    config: DualPi2Config,
    controller: Controller,
    next_update: Time,
    /// Bytes that the classic queue may send before the other; negative: the other's turn.
    classic_credit: f64,
    /// For each waiting low-latency packet, in order, whether it is exempt from the step. Empty without `min_qlen_step`.
    spared: VecDeque<bool>,
    low_latency_stats: ClassStats,
    classic_stats: ClassStats,
    stream: Stream,
}

/// The part of the state that an update changes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    probability: f64,
    last_delay: f64,
}

impl Controller {
    /// RFC 9332, A.1, figure 6.
    fn updated(self, config: &DualPi2Config, delay: f64) -> Controller {
        let distance = config.alpha * (delay - config.target.as_secs_f64());
        let trend = config.beta * (delay - self.last_delay);
        let most = match config.overload {
            DualPi2Overload::Drop => 1.0,
            DualPi2Overload::Overflow => 1.0 / f64::from(config.coupling),
        };
        Controller { probability: (self.probability + distance + trend).clamp(0.0, most), last_delay: delay }
    }
}

impl DualPi2 {
    /// All updates that fell due until `now`.
    #[inline]
    fn update_until(&mut self, now: Time) {
        if self.next_update <= now {
            self.catch_up(now);
        }
    }

    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let delay = self.delay_at(self.next_update).as_secs_f64();
            let updated = self.controller.updated(&self.config, delay);
            if updated == self.controller && self.delay_at(now).is_zero() {
                // The queues were empty until `now`, and further updates change nothing: skip to the first one after it.
                let steps = (now - self.next_update).as_nanos() / self.config.update_interval.as_nanos();
                self.next_update += self.config.update_interval * steps;
            }
            self.controller = updated;
            self.next_update += self.config.update_interval;
        }
    }

    /// How long the older of the two oldest packets has waited.
    fn delay_at(&self, now: Time) -> Duration {
        let waited = |fifo: &Fifo| fifo.oldest().map_or(Duration::ZERO, |arrival| now.saturating_since(arrival));
        waited(&self.low_latency).max(waited(&self.classic))
    }

    /// Which queue sends next (Linux `dequeue_packet`).
    #[inline]
    fn is_low_latency_next(&self) -> bool {
        self.low_latency.packets() > 0 && (self.classic.packets() == 0 || self.classic_credit <= 0.0)
    }

    /// p', which spares a queue of less than two full packets.
    #[inline]
    fn base(&self) -> f64 {
        if self.bytes() < 2 * FULL_PACKET_BYTES { 0.0 } else { self.controller.probability }
    }

    /// The oldest low-latency packet leaves; `None` if it is dropped. The queue that waits earns: the classic one.
    #[inline]
    fn send_low_latency<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        let packet = self.low_latency.pop()?;
        let is_spared = self.spared.pop_front() == Some(true);
        let (base, waited) = (self.base(), now.saturating_since(packet.arrival));
        let coupled = base * f64::from(self.config.coupling);
        // RFC 9332, 4.2.2: once marking says no more, the queues are dropped from alike.
        if coupled > 1.0 && self.stream.chance(base * base) {
            self.low_latency_stats.dropped.add_packet(packet.wire_bytes);
            store.drop_packet(DropCause::Aqm, packet);
            return None;
        }
        let is_marked = coupled > 1.0 || self.stream.chance(coupled) || (waited > self.config.step && !is_spared);
        if is_marked {
            store.mark_packet(packet);
        }
        self.low_latency_stats.note_sent(packet.wire_bytes, waited, is_marked);
        if self.classic.packets() > 0 {
            self.classic_credit += self.config.classic_protection.get() * f64::from(packet.wire_bytes);
        }
        Some(packet)
    }

    /// Take the oldest classic packet; `None` if it is dropped. Its bytes are charged to the credit while low-latency packets wait.
    #[inline]
    fn send_classic<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
        // Mostly there is nothing to draw for.
        let is_congested = self.controller.probability > 0.0 && {
            let base = self.base();
            base > 0.0 && self.stream.chance(base * base)
        };
        if is_congested {
            let is_overloaded = self.controller.probability * f64::from(self.config.coupling) > 1.0;
            if is_overloaded || !store.get(packet).is_ecn_capable() {
                self.classic_stats.dropped.add_packet(packet.wire_bytes);
                store.drop_packet(DropCause::Aqm, packet);
                return None;
            }
            store.mark_packet(packet);
        }
        self.classic_stats.note_sent(packet.wire_bytes, now.saturating_since(packet.arrival), is_congested);
        if self.low_latency.packets() > 0 {
            self.classic_credit -= (1.0 - self.config.classic_protection.get()) * f64::from(packet.wire_bytes);
        }
        Some(packet)
    }
}

/// Linux `dualpi2_reset_c_protection`: a full packet times the difference of the weights.
fn initial_credit(classic_share: f64) -> f64 {
    FULL_PACKET_BYTES as f64 * (classic_share - (1.0 - classic_share))
}

impl QueueDiscipline for DualPi2 {
    type Config = DualPi2Config;
    const ABOUT: About = About {
        name: "dualpi2",
        summary: "L4S: a low-latency queue for ECT(1) beside a classic one, coupled",
        reference: "RFC 9332; Linux sch_dualpi2",
    };

    fn new(config: &DualPi2Config, link: LinkFacts, stream: Stream) -> Result<DualPi2, LinkError> {
        if config.update_interval < SHORTEST_INTERVAL {
            let allowed = format!("{SHORTEST_INTERVAL} or longer");
            return Err(LinkError::new("dualpi2.update_interval", config.update_interval, allowed));
        }
        let limit = Limit::resolve_for_aqm(config.limit, link)?;
        limit.refuse_out_of_reach(config.limit, link, "dualpi2.target", config.target)?;
        limit.refuse_out_of_reach(config.limit, link, "dualpi2.step", config.step)?;
        Ok(DualPi2 {
            low_latency: Fifo::new(),
            classic: Fifo::new(),
            limit,
            config: config.clone(),
            controller: Controller { probability: 0.0, last_delay: 0.0 },
            next_update: Time::ZERO + config.update_interval,
            classic_credit: initial_credit(config.classic_protection.get()),
            spared: VecDeque::new(),
            low_latency_stats: ClassStats::default(),
            classic_stats: ClassStats::default(),
            stream,
        })
    }

    #[inline]
    fn enqueue<P: Packet>(&mut self, _now: Time, packet: Queued, store: &mut Store<P>) {
        // No update: it looks at who waits, which no arrival at its time or later changes.
        let is_low_latency = store.get(packet).is_low_latency();
        if !self.limit.admits(self.packets(), self.bytes(), packet.wire_bytes) {
            let counts = if is_low_latency { &mut self.low_latency_stats } else { &mut self.classic_stats };
            counts.dropped.add_packet(packet.wire_bytes);
            return store.drop_packet(DropCause::QueueFull, packet);
        }
        if !is_low_latency {
            return self.classic.push(packet);
        }
        if self.config.min_qlen_step > 0 {
            self.spared.push_back(self.low_latency.packets() < self.config.min_qlen_step);
        }
        self.low_latency.push(packet);
    }

    #[inline]
    fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        self.update_until(now);
        loop {
            let sent = if self.is_low_latency_next() {
                self.send_low_latency(now, store)
            } else if let Some(packet) = self.classic.pop() {
                self.send_classic(now, packet, store)
            } else {
                self.classic_credit = initial_credit(self.config.classic_protection.get());
                return None;
            };
            if sent.is_some() {
                return sent;
            }
        }
    }

    #[inline]
    fn packets(&self) -> u32 {
        self.low_latency.packets() + self.classic.packets()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.low_latency.bytes() + self.classic.bytes()
    }
    fn classes(&self) -> Classes {
        // What arrived is not counted for itself: it left, was dropped, or waits.
        let with_arrived = |counts: ClassStats, queue: &Fifo| {
            let waiting = Count { packets: u64::from(queue.packets()), bytes: queue.bytes() };
            ClassStats { arrived: counts.sent + counts.dropped + waiting, ..counts }
        };
        let low_latency = with_arrived(self.low_latency_stats, &self.low_latency);
        [Some(("low_latency", low_latency)), Some(("classic", with_arrived(self.classic_stats, &self.classic)))]
    }
}

#[cfg(test)]
mod tests;
