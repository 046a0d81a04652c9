//! CoDel: drop from the head when every packet of the last interval waited longer than the target.
//!
//! Reference: RFC 8289 (K. Nichols, V. Jacobson et al., 2018), section 5 for the rules.
//!
//! Differences from the reference
//! 1. Sojourn times are logical: the end of a packet's wait is the moment the server became free.
//! 2. ECN (RFC 8289 leaves it open): where a packet would be dropped, an ECN-capable one is marked and sent, and the
//!    state moves on as if it had been dropped, as in Linux `codel.h`.
//! 3. interval / sqrt(count) is computed, not approximated by Newton steps in fixed point as in Linux.
//! 4. `ce_threshold` is Linux's, in addition to the control law; RFC 8289 has none.
//! 5. `drop_next` is checked with "now ≥ drop_next" and the "16 intervals" rule of RFC 8289, 5.5 decides whether an old
//!    count is resumed, as written there.
//!
//! Units: ns. Invariants: a packet never waits in vain when the queue holds at most one full-sized packet; the order is kept.
//! Tested: hand-worked drop times, the square-root spacing, sojourn envelope under overload.

use super::{Fifo, Limit, QueueDiscipline};
use crate::Packet;
use crate::config::LinkFacts;
use crate::error::LinkError;
use crate::ledger::DropCause;
use crate::registry::About;
use crate::settings::{Setting, config};
use crate::store::{Queued, Store};
use playpath_units::random::Stream;
use playpath_units::{Duration, Kind, QueueLimit, Time};

config! {
    CoDelConfig {
        limit: QueueLimit = text("1000 packets", Kind::Limit), "hard limit (Linux: 1000 packets)";
        target: Duration = text("5 ms", Kind::Time), "acceptable standing delay (RFC 8289, 4.3: 5 % to 10 % of the interval)";
        interval: Duration = text("100 ms", Kind::PositiveTime), "a worst-case round-trip time (RFC 8289, 4.2)";
        max_packet_bytes: u32 = whole(1514, (0, u32::MAX as u64), "B"), "with this much or less waiting nothing is dropped";
        ecn: bool = flag(false), "mark instead of dropping where the sender understands it";
        ce_threshold: CeThreshold = text("off", Kind::Time) or "off", "mark every packet that understands it and waited longer, with or without `ecn` (Linux: off)" since "0.3";
        ce_threshold_ect1: bool = flag(false), "that threshold is for ECT(1) only (Linux: ce_threshold_selector 1, mask 3)" since "0.3";
    }
}

/// A delay above which packets are marked beside the control law, as Linux's `ce_threshold`; `None` is typed "off".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeThreshold(pub Option<Duration>);

impl Setting for CeThreshold {
    fn read(text: &str) -> Result<CeThreshold, String> {
        if text == "off" { Ok(CeThreshold(None)) } else { Duration::read(text).map(|delay| CeThreshold(Some(delay))) }
    }
    fn text(&self) -> String {
        self.0.map_or("off".into(), |delay| delay.text())
    }
}

impl CeThreshold {
    /// Errors: a queue of `limit`, `typed` in the settings of `model`, does not reach it.
    pub(super) fn checked(
        self,
        model: &str,
        limit: &Limit,
        typed: QueueLimit,
        link: LinkFacts,
    ) -> Result<CeThreshold, LinkError> {
        if let Some(threshold) = self.0 {
            limit.refuse_out_of_reach(typed, link, &format!("{model}.ce_threshold"), threshold)?;
        }
        Ok(self)
    }
}

/// The parameters of the control law, shared by CoDel and FQ-CoDel.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoDelRule {
    pub target: Duration,
    pub interval: Duration,
    pub max_packet_bytes: u64,
    pub ecn: bool,
    pub ce_threshold: CeThreshold,
    pub ce_threshold_ect1: bool,
}

impl CoDelRule {
    pub(super) fn checked(self) -> Result<CoDelRule, LinkError> {
        if self.target > self.interval {
            return Err(LinkError::new(
                "codel.target",
                self.target,
                format!("at most the interval, {}", self.interval),
            ));
        }
        Ok(self)
    }

    /// Linux `codel_dequeue`: a packet that leaves and was not marked by the control law.
    fn is_above_ce_threshold<P: Packet>(&self, now: Time, packet: Queued, store: &Store<P>) -> bool {
        let is_above = self.ce_threshold.0.is_some_and(|threshold| now.saturating_since(packet.arrival) > threshold);
        let may_mark = || {
            if self.ce_threshold_ect1 { store.get(packet).is_low_latency() } else { store.get(packet).is_ecn_capable() }
        };
        is_above && may_mark()
    }

    /// RFC 8289, 5.5: the next drop follows after interval / sqrt(count).
    fn control_law(&self, after: Time, count: u32) -> Time {
        after + self.interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
    }
}

/// The queue that the control law acts on: a whole queue, or one flow of FQ-CoDel.
pub(super) trait PacketSource {
    fn pop(&mut self) -> Option<Queued>;
    fn bytes(&self) -> u64;
}

impl PacketSource for Fifo {
    fn pop(&mut self) -> Option<Queued> {
        Fifo::pop(self)
    }
    fn bytes(&self) -> u64 {
        Fifo::bytes(self)
    }
}

/// State of the control law (RFC 8289, 5.3). Names as there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CoDelState {
    /// When the sojourn time will have been above the target for an interval; `None`: it is below.
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDelState {
    /// The next packet to send (RFC 8289, 5.5).
    pub(super) fn dequeue<P: Packet>(
        &mut self,
        rule: &CoDelRule,
        now: Time,
        source: &mut impl PacketSource,
        store: &mut Store<P>,
    ) -> Option<Queued> {
        let (mut packet, mut ok_to_drop) = self.take(rule, now, source);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let sent = self.drop_or_mark(rule, packet, store);
                if sent.is_some() {
                    self.drop_next = rule.control_law(self.drop_next, self.count);
                    return sent;
                }
                (packet, ok_to_drop) = self.take(rule, now, source);
                self.dropping = ok_to_drop;
                if self.dropping {
                    self.drop_next = rule.control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            let sent = self.drop_or_mark(rule, packet, store);
            self.enter_dropping(rule, now);
            if sent.is_some() {
                return sent;
            }
            packet = self.take(rule, now, source).0;
        }
        if let Some(packet) = packet
            && rule.is_above_ce_threshold(now, packet, store)
        {
            store.mark_packet(packet);
        }
        packet
    }

    /// The oldest packet, and whether the queue has been too slow for an interval (RFC 8289, 5.6).
    fn take(&mut self, rule: &CoDelRule, now: Time, source: &mut impl PacketSource) -> (Option<Queued>, bool) {
        let Some(packet) = source.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now.saturating_since(packet.arrival) < rule.target || source.bytes() <= rule.max_packet_bytes {
            self.first_above_time = None;
        } else if let Some(first_above_time) = self.first_above_time {
            ok_to_drop = now >= first_above_time;
        } else {
            self.first_above_time = Some(now + rule.interval);
        }
        (Some(packet), ok_to_drop)
    }

    /// The packet itself if it was marked; nothing if it was dropped.
    fn drop_or_mark<P: Packet>(
        &self,
        rule: &CoDelRule,
        packet: Option<Queued>,
        store: &mut Store<P>,
    ) -> Option<Queued> {
        let packet = packet.expect("only a packet can be ok to drop");
        if rule.ecn && store.get(packet).is_ecn_capable() {
            store.mark_packet(packet);
            return Some(packet);
        }
        store.drop_packet(DropCause::Aqm, packet);
        None
    }

    /// RFC 8289, 5.5: if the last episode ended less than 16 intervals ago, go on near its drop rate.
    fn enter_dropping(&mut self, rule: &CoDelRule, now: Time) {
        let drops_in_last_episode = self.count.wrapping_sub(self.last_count);
        let is_recent = now.saturating_since(self.drop_next) < rule.interval * 16;
        self.dropping = true;
        self.count = if drops_in_last_episode > 1 && is_recent { drops_in_last_episode } else { 1 };
        self.drop_next = rule.control_law(now, self.count);
        self.last_count = self.count;
    }
}

pub(crate) struct CoDel {
    fifo: Fifo,
    limit: Limit,
    rule: CoDelRule,
    state: CoDelState,
}

impl QueueDiscipline for CoDel {
    type Config = CoDelConfig;
    const ABOUT: About = About {
        name: "codel",
        summary: "controlled delay: drops from the head while packets wait too long",
        reference: "RFC 8289",
    };

    fn new(config: &CoDelConfig, link: LinkFacts, _stream: Stream) -> Result<CoDel, LinkError> {
        let CoDelConfig { limit, target, interval, max_packet_bytes, ecn, ce_threshold, ce_threshold_ect1 } = *config;
        let max_packet_bytes = max_packet_bytes.into();
        let rule = CoDelRule { target, interval, max_packet_bytes, ecn, ce_threshold, ce_threshold_ect1 }.checked()?;
        let limit = Limit::resolve_for_aqm(limit, link)?;
        ce_threshold.checked("codel", &limit, config.limit, link)?;
        Ok(CoDel { fifo: Fifo::new(), limit, rule, state: CoDelState::default() })
    }
    fn enqueue<P: Packet>(&mut self, _now: Time, packet: Queued, store: &mut Store<P>) {
        if self.limit.admits(self.fifo.packets(), self.fifo.bytes(), packet.wire_bytes) {
            self.fifo.push(packet);
        } else {
            store.drop_packet(DropCause::QueueFull, packet);
        }
    }
    fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued> {
        self.state.dequeue(&self.rule, now, &mut self.fifo, store)
    }
    fn packets(&self) -> u32 {
        self.fifo.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}
