//! Random loss on the link of a [`Connection`]: what is lost, when it is noticed, what is sent again.

use super::{Connection, Sent, time};
use playpath_cc::{CongestionEvent, PacketLost, RecoveryExit};
use playpath_units::random::{RootSeed, Stream};

/// Packets lost at random, and what became of them.
pub(super) struct Losses {
    share: f64,
    draws: Stream,
    lost: u64,
    /// Noticed, and not sent again yet.
    due: u64,
    /// Packets delivered or lost that end the recovery under way, and retransmissions in it.
    recovery: Option<(u64, u32)>,
}

impl Losses {
    /// Whether the packet sent now is lost.
    pub(super) fn strike(&mut self) -> bool {
        self.draws.chance(self.share)
    }

    /// Something is to be sent again.
    pub(super) fn is_due(&self) -> bool {
        self.due > 0
    }

    /// What was out is not followed any more.
    pub(super) fn forget_recovery(&mut self) {
        self.recovery = None;
    }
}

impl<'a> Connection<'a> {
    /// The link loses this share of the packets at random; `seed` says which.
    pub fn losing(mut self, share: f64, seed: u64) -> Connection<'a> {
        let draws = RootSeed(seed).stream("losses");
        self.losses = (share > 0.0).then_some(Losses { share, draws, lost: 0, due: 0, recovery: None });
        self
    }

    /// Something that was lost has not arrived yet.
    pub(super) fn is_repairing(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.is_due() || self.out.iter().any(|sent| sent.is_lost))
    }

    /// Send a lost packet again, if there is one and the window has room.
    pub(super) fn repair(&mut self, now: f64, size: f64) -> bool {
        if !self.may_send(now) {
            return false;
        }
        let Some(losses) = self.losses.as_mut().filter(|losses| losses.due > 0) else { return false };
        losses.due -= 1;
        self.transmit(now, size, false);
        true
    }

    /// Packets found lost until now.
    pub(super) fn lost(&self) -> u64 {
        self.losses.as_ref().map_or(0, |losses| losses.lost)
    }

    /// A recovery is under way.
    pub(super) fn is_recovering(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.recovery.is_some())
    }

    /// A packet is found lost: once in a recovery the window shrinks.
    pub(super) fn notice(&mut self, sent: &Sent, prior_in_flight: u32) {
        let (mss, end) = (self.deployed.mss as u32, self.sent);
        let Some(losses) = self.losses.as_mut() else { return };
        losses.lost += 1;
        losses.due += 1;
        let begins = losses.recovery.is_none();
        let (_, again) = losses.recovery.get_or_insert((end, 0));
        *again += 1;
        let lost_since_sent = (losses.lost - sent.lost_until_then) as u32;
        let packet = PacketLost {
            offset: (self.delivered + losses.lost) * u64::from(mss),
            payload_bytes: mss,
            tx_in_flight: prior_in_flight,
            lost_since_sent,
            is_app_limited: sent.is_app_limited,
        };
        let view = self.view(sent.acked_at);
        self.control.on_packet_lost(&view, &packet);
        if begins {
            self.control.on_congestion(&view, &CongestionEvent::loss(prior_in_flight, time(sent.at)));
        }
    }

    /// The recovery ends when what was out at its beginning is through.
    pub(super) fn recover(&mut self, now: f64) {
        let (through, view) = (self.delivered + self.lost(), self.view(now));
        let Some(losses) = self.losses.as_mut() else { return };
        if let Some((end, retransmitted)) = losses.recovery
            && through >= end
        {
            losses.recovery = None;
            self.control.on_recovery_exit(&view, &RecoveryExit { retransmitted, after_rto: false });
        }
    }
}
