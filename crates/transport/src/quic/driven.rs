//! A congestion control under another QUIC stack: its callbacks become the control's events.
//!
//! The same [`Path`] as in our own endpoint derives delivery rates, round trips, recovery periods and window validation from them, so
//! that a control gets the same input in quinn and noq as in the simulator. Packets, timers, pacing and ECN are the other stack's.
//!
//! Reference: as `path.rs`. Differences from our own endpoint:
//! 1. Round trips include the peer's ACK delay, which these stacks do not expose.
//! 2. CE is reported once for each congestion event, not counted.
//! 3. Retransmissions look like new packets, and a loss is known by its packet, not by its place in a stream.
//!
//! Tested by `crates/quic-peers` (the same control on the same link in three stacks) and here.

use super::config::{Config, Pacing};
use super::path::{Delivery, Path, Sign};
use super::sent::{Fate, Sent};
use playpath_cc::{AppParameters, CongestionControl, CongestionSignal};
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

struct Out {
    sent: Sent,
    offset: u64,
}

/// The losses that belong to the next congestion event.
#[derive(Default)]
struct Losses {
    count: u32,
    oldest: Time,
}

/// A congestion control driven by another transport.
pub struct Driven {
    config: Config,
    path: Path,
    packets: VecDeque<Out>,
    offset: u64,
    /// Delivery of the current ACK, reported to the control after the losses that it reveals.
    delivery: Option<Delivery>,
    now: Time,
    newest: Option<Time>,
    newest_before: Option<Time>,
    losses: Losses,
    newly_lost: u32,
    has_started: bool,
    /// Whether all packets of the current ACK have been reported.
    has_ended: bool,
}

impl Driven {
    /// A new path; `datagram_bytes` is its UDP payload.
    pub fn new(control: Box<dyn CongestionControl>, datagram_bytes: u32, initial_window: f64) -> Driven {
        let none = Config::default();
        // The stack paces, or not.
        let config = Config { datagram_bytes, initial_window, pacing: Pacing { gain: 0.0, ..none.pacing }, ..none };
        Driven {
            path: Path::new(&config, control),
            config,
            packets: VecDeque::new(),
            offset: 0,
            delivery: None,
            now: Time::ZERO,
            newest: None,
            newest_before: None,
            losses: Losses::default(),
            newly_lost: 0,
            has_started: false,
            has_ended: false,
        }
    }

    /// Another size of datagrams.
    pub fn set_datagram_bytes(&mut self, bytes: u32) {
        self.config.datagram_bytes = bytes;
        self.path.set_datagram_bytes(bytes);
    }

    pub fn window(&mut self) -> u64 {
        self.report_ack();
        self.path.window()
    }
    /// The control's rate, if it has a say.
    pub fn pacing_rate(&mut self) -> Option<Rate> {
        self.report_ack();
        self.path.control().pacing_rate()
    }
    pub fn control(&self) -> &dyn CongestionControl {
        self.path.control()
    }
    pub fn set_app_parameters(&mut self, parameters: AppParameters) {
        self.path.set_app_parameters(self.now, parameters);
    }

    /// An ack-eliciting packet left.
    pub fn on_sent(&mut self, now: Time, number: u64, bytes: u32) {
        self.report_ack();
        self.now = now;
        let stamp = self.path.on_sent(now, bytes, false, &self.config.pacing);
        let sent = Sent::eliciting(number, stamp, bytes, bytes);
        self.packets.push_back(Out { sent, offset: self.offset });
        self.offset += u64::from(bytes);
    }

    /// The next acknowledged packet is the first of its ACK.
    pub fn begins_ack(&mut self) -> bool {
        if self.has_ended {
            self.report_ack();
        }
        self.delivery.is_none()
    }

    /// The stack sends nothing more for now: by window or pacing (`is_limited`), or because there is nothing to send.
    pub fn on_pause(&mut self, is_limited: bool) {
        self.report_ack();
        self.path.note_pause(is_limited);
    }

    /// A packet that left at `sent_at` was acknowledged; without a number any that left then.
    pub fn on_acked(&mut self, now: Time, sent_at: Time, number: Option<u64>) {
        let first = self.packets.partition_point(|out| out.sent.stamp.sent_at < sent_at);
        let is_it =
            |out: &Out| out.sent.fate == Fate::Outstanding && number.is_none_or(|number| number == out.sent.number);
        let of_then = self.packets.range(first..).take_while(|out| out.sent.stamp.sent_at == sent_at);
        let Some(index) = of_then.enumerate().find_map(|(index, out)| is_it(out).then_some(first + index)) else {
            return; // a probe of the stack's
        };
        self.now = now;
        self.begins_ack();
        let mut delivery = self.delivery.take().unwrap_or_else(|| self.path.begin_ack());
        let out = &mut self.packets[index];
        out.sent.fate = Fate::Settled;
        self.path.on_acked(&mut delivery, &out.sent);
        self.newest = self.newest.max(Some(sent_at));
        self.delivery = Some(delivery);
        self.trim();
    }

    /// End of the packets of an ACK; `in_flight` bytes remain by the stack's count. Losses and CE that it reveals may follow.
    pub fn end_acks(&mut self, now: Time, in_flight: u64) {
        self.leave_uncounted(in_flight);
        let Some(mut delivery) = self.delivery.take() else { return };
        // §5.1: of the largest, if it is new.
        if self.newest > self.newest_before {
            self.newest_before = self.newest;
            let sample = now.saturating_since(self.newest.unwrap_or(now));
            self.path.rtt.add_sample(now, sample, Duration::ZERO);
            delivery.rtt = Some(sample);
        }
        if !self.has_started {
            self.has_started = true;
            self.path.start(now);
        }
        self.path.deliver(now, &mut delivery);
        (self.delivery, self.has_ended) = (Some(delivery), true);
    }

    /// Mark as lost the oldest packet sent by `sent_at`, with this number if one is given; returns its bytes, if there is one.
    pub fn on_lost(&mut self, now: Time, sent_at: Time, number: Option<u64>) -> Option<u32> {
        let out =
            self.packets.iter_mut().take_while(|out| out.sent.stamp.sent_at <= sent_at).find(|out| {
                out.sent.fate == Fate::Outstanding && number.is_none_or(|number| number == out.sent.number)
            })?;
        out.sent.fate = Fate::Lost;
        self.now = now;
        if self.losses.count == 0 {
            self.losses.oldest = out.sent.stamp.sent_at;
        }
        self.losses.count += 1;
        let bytes = out.sent.bytes();
        self.path.on_lost(now, &out.sent, out.offset);
        self.trim();
        Some(bytes)
    }

    /// Report a congestion event by the preceding losses, or by CE; the newest packet that indicates it was sent at `sent_at`.
    pub fn on_congestion(&mut self, now: Time, sent_at: Time, signal: CongestionSignal, is_persistent: bool) {
        self.now = now;
        let losses = std::mem::take(&mut self.losses);
        let prior = self.delivery.map(|delivery| delivery.prior_in_flight());
        let sign = Sign {
            signal,
            newest_sent_at: sent_at,
            oldest_sent_at: if losses.count > 0 { losses.oldest } else { sent_at },
            newly_lost: losses.count,
            prior_packets_out: prior.unwrap_or(self.path.packets_out() + losses.count),
        };
        if let (CongestionSignal::Ecn, Some(delivery)) = (signal, &mut self.delivery) {
            delivery.ce_marked = 1;
        }
        self.newly_lost += losses.count;
        self.path.on_congestion(now, sign);
        if is_persistent {
            self.path.on_persistent_congestion(now);
        }
    }

    /// The losses of the last recovery were none.
    pub fn on_spurious(&mut self) {
        self.report_ack();
        self.path.undo(self.now);
    }

    fn report_ack(&mut self) {
        self.has_ended = false;
        let newly_lost = std::mem::take(&mut self.newly_lost);
        if let Some(delivery) = self.delivery.take() {
            self.path.finish_ack(self.now, &delivery, newly_lost);
        }
    }

    /// Drop packets that the stack no longer counts and did not report: those of discarded keys, and packets with ACKs only.
    fn leave_uncounted(&mut self, in_flight: u64) {
        let mut extra = self.path.bytes_in_flight().saturating_sub(in_flight);
        for out in &mut self.packets {
            if extra == 0 {
                break;
            }
            if out.sent.fate == Fate::Outstanding && u64::from(out.sent.bytes()) <= extra {
                extra -= u64::from(out.sent.bytes());
                out.sent.fate = Fate::Settled;
                self.path.leave(out.sent.bytes());
            }
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|front| front.sent.fate != Fate::Outstanding) {
            self.packets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
