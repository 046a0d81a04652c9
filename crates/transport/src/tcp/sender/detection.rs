//! Which packets are lost: by time (RACK), by the scoreboard, or by duplicate ACKs, as the profile says.
//!
//! Reference: RFC 8985 §6.2 (the rule itself is in `rack.rs`), RFC 6675 §4 IsLost, RFC 6582 §3.2.
//! Differences from the references: see `rack.rs`; otherwise none.
//!
//! Tested by packet scripts and `tests/pair.rs`.

use crate::tcp::Connection;
use crate::tcp::config::LossDetection;
use crate::tcp::sender::ack::AckContext;
use crate::tcp::sender::rack::RackContext;
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::{APP_LIMITED, SACKED};
use playpath_cc::{PacketLost, Sibling};
use playpath_units::Time;

/// DupThresh (RFC 5681 §3.2, RFC 6675 §2).
const DUP_THRESH: u32 = 3;

impl Connection {
    /// Mark packets lost by the rules of the profile. Returns how many.
    pub(crate) fn detect_losses(&mut self, ctx: &AckContext) -> u32 {
        let lost = match self.features.detection {
            LossDetection::RackTlp => self.detect_by_rack(ctx.now),
            LossDetection::Rfc6675 => self.detect_by_sack(),
            LossDetection::NewReno(_) | LossDetection::Reno => self.detect_by_duplicates(),
        };
        self.count_lost(lost);
        lost
    }

    fn detect_by_rack(&mut self, now: Time) -> u32 {
        self.rack.update_reordering_window(RackContext {
            min_rtt: self.rtt.min_rtt,
            srtt: self.rtt.srtt,
            in_recovery: matches!(self.recovery.phase, Phase::Recovery | Phase::Loss),
            sacked_out: self.scoreboard.sacked_out(),
        });
        let rack = &self.rack;
        let (lost, wake) = self.scoreboard.judge(|packet| rack.verdict(now, packet));
        self.timers.reorder_at = wake;
        lost
    }

    fn detect_by_sack(&mut self) -> u32 {
        let end = self.lost_below(self.features.mss);
        let mut lost = self.scoreboard.mark_originals_lost_below(end);
        // RFC 6675 §5 step 2: the third duplicate ACK marks the head even if few bytes were SACKed.
        if self.recovery.phase == Phase::Open && self.recovery.dup_acks >= DUP_THRESH && self.scoreboard.lost_out() == 0
        {
            lost += u32::from(self.scoreboard.mark_lost(self.scoreboard.first()));
        }
        lost
    }

    /// RFC 6675 IsLost: absolute index below which DupThresh SACKed ranges, or more than (DupThresh − 1)·MSS SACKed bytes, lie
    /// above every packet.
    fn lost_below(&self, mss: u32) -> u64 {
        let (mut bytes, mut ranges, mut in_range) = (0, 0, false);
        let mut index = self.scoreboard.sacked_end();
        while index > self.scoreboard.first() {
            let Some(packet) = self.scoreboard.get(index - 1) else { break };
            if packet.is(SACKED) {
                bytes += packet.len;
                ranges += u32::from(!in_range);
                in_range = true;
                if ranges >= DUP_THRESH || bytes > (DUP_THRESH - 1) * mss {
                    return index - 1;
                }
            } else {
                in_range = false;
            }
            index -= 1;
        }
        self.scoreboard.first()
    }

    fn detect_by_duplicates(&mut self) -> u32 {
        let is_new_episode = self.recovery.recover.is_none_or(|recover| self.una > recover);
        if matches!(self.recovery.phase, Phase::Open | Phase::Cwr)
            && self.recovery.dup_acks >= DUP_THRESH
            && is_new_episode
            && !self.scoreboard.is_empty()
        {
            return u32::from(self.scoreboard.mark_lost(self.scoreboard.first()));
        }
        0
    }

    pub(crate) fn count_lost(&mut self, packets: u32) {
        self.rate.lost += u64::from(packets);
        self.stats.packets_lost += u64::from(packets);
    }

    /// Tell the controller of the packets marked lost, before the episode, timeout or ACK that found them.
    pub(crate) fn report_losses(&mut self, now: Time, siblings: &[Sibling]) {
        while let Some((packet, remaining)) = self.scoreboard.next_unreported() {
            let lost = (self.rate.lost as u32).wrapping_sub(remaining);
            let event = PacketLost {
                offset: packet.start,
                payload_bytes: packet.len,
                tx_in_flight: packet.tx_in_flight,
                lost_since_sent: lost.wrapping_sub(packet.lost),
                is_app_limited: packet.is(APP_LIMITED),
            };
            let view = self.view(now, siblings);
            self.cc.on_packet_lost(&view, &event);
        }
    }
}
