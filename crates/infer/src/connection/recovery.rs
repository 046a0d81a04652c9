//! Losses: when they are detected, and how long the recovery lasts, which ends BBR's and BBRv3's start-up.

use super::flow::{Flow, Sent};
use super::time;
use playpath_cc::{CongestionEvent, PacketLost, RecoveryExit, RecoveryWindow};

/// A loss recovery, in which proportional rate reduction determines what may be sent (RFC 6937), unless the control does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// The recovery ends when all packets before this position are delivered, lost ones by retransmission, so that it lasts a round trip
    /// longer than the loss.
    pub end: u64,
    pub retransmitted: u32,
    /// Packets out at its beginning (RecoverFS), delivered in it and sent in it.
    pub flight: f64,
    pub delivered: f64,
    pub sent: f64,
    /// How much may be sent until the next ACK; `None`: as much as the window allows.
    pub allowed: Option<f64>,
}

impl Recovery {
    /// Packets were delivered; `pipe` are still out.
    pub fn deliver(&mut self, cwnd: f64, packets: f64, pipe: f64) {
        self.delivered += packets;
        if self.allowed.is_some() {
            let count = if pipe > cwnd {
                libm::ceil(self.delivered * cwnd / self.flight.max(1.0)) - self.sent
            } else {
                (self.delivered - self.sent).max(1.0).min(cwnd - pipe) + 1.0
            };
            self.allowed = Some(count.max(0.0));
        }
    }
}

impl Flow<'_> {
    /// Declare missing packets lost; the window shrinks once per recovery.
    pub(super) fn notice(&mut self, now: f64, prior_in_flight: u32) {
        let mss = self.deployed.mss as u32;
        let first_sent_at = self.undetected[0].at;
        self.newly_lost = self.undetected.len() as u32;
        while let Some(sent) = self.undetected.pop_front() {
            self.packets_out -= 1;
            self.lost_out -= 1;
            self.lost += 1;
            self.to_retransmit.push_back(sent.place);
            if !sent.is_retransmission {
                self.settled = self.settled.max(sent.place + 1);
                self.unrepaired.push_back(sent.place);
            }
            let packet = PacketLost {
                offset: sent.place * u64::from(mss),
                payload_bytes: mss,
                tx_in_flight: sent.in_flight,
                lost_since_sent: (self.lost - sent.lost_until_then) as u32,
                is_app_limited: sent.is_app_limited,
            };
            let view = self.view(now);
            self.control.on_packet_lost(&view, &packet);
        }
        let begins = self.recovery.is_none();
        let fresh = self.new_recovery(prior_in_flight);
        self.recovery.get_or_insert(fresh).retransmitted += self.newly_lost;
        if begins {
            let view = self.view(now);
            self.control.on_congestion(&view, &CongestionEvent::loss(prior_in_flight, time(first_sent_at)));
        }
    }

    fn new_recovery(&self, prior_in_flight: u32) -> Recovery {
        let is_transport = self.control.recovery_window() == RecoveryWindow::Transport;
        Recovery {
            end: self.places,
            retransmitted: 0,
            flight: f64::from(prior_in_flight),
            delivered: 0.0,
            sent: 0.0,
            allowed: is_transport.then_some(1.0),
        }
    }

    /// The recovery ends when what was out at its beginning is through, and what of it was lost. What was lost since then begins the next
    /// one with the same ACK.
    pub(super) fn recover(&mut self, now: f64, sent: &Sent, prior_in_flight: u32) {
        let Some(Recovery { end, retransmitted, .. }) = self.recovery else { return };
        let next = self.unrepaired.front().copied();
        if next.unwrap_or(end).min(self.settled) < end {
            return;
        }
        self.recovery = None;
        let view = self.view(now);
        self.control.on_recovery_exit(&view, &RecoveryExit { retransmitted, after_rto: false });
        if next.is_some() {
            self.recovery = Some(self.new_recovery(prior_in_flight));
            let view = self.view(now);
            self.control.on_congestion(&view, &CongestionEvent::loss(prior_in_flight, time(sent.at)));
        }
    }
}
