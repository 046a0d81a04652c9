//! Loss detection: one rule for each choice, each in its own file, behind one interface.
//!
//! A rule marks packets on the scoreboard and returns how many and when to check again; the reaction to a loss is elsewhere. Tested by
//! packet scripts and `tests/pair.rs`.

mod newreno;
mod rack;
pub(super) mod reno;
mod rfc6675;

use super::recovery::Phase;
use super::scoreboard::{Scoreboard, SentPacket};
use crate::tcp::config::LossDetection;
use newreno::NewReno;
use playpath_units::{Duration, Time};
use rack::Rack;
use reno::Reno;
use rfc6675::Rfc6675;

/// DupThresh (RFC 5681 §3.2, RFC 6675 §2, RFC 8985 §6.2 step 4).
const DUP_THRESH: u32 = 3;

#[derive(Debug)]
pub(crate) enum Detector {
    Rack(Rack),
    Rfc6675(Rfc6675),
    NewReno(NewReno),
    Reno(Reno),
}

/// Input of a rule in addition to the scoreboard and its own state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    pub now: Time,
    pub min_rtt: Duration,
    pub srtt: Duration,
    pub phase: Phase,
    pub una: u64,
    pub mss: u32,
    pub duplicates: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Packets newly marked lost.
    pub lost: u32,
    pub look_again: Time,
}

impl Detector {
    pub fn new(rule: LossDetection) -> Detector {
        match rule {
            LossDetection::RackTlp => Detector::Rack(Rack::default()),
            LossDetection::Rfc6675 => Detector::Rfc6675(Rfc6675::default()),
            LossDetection::NewReno(timer) => Detector::NewReno(NewReno::new(timer)),
            LossDetection::Reno => Detector::Reno(Reno::default()),
            LossDetection::Ns2Vegas => Detector::Reno(Reno::of_ns2_vegas()),
        }
    }

    /// Mark packets lost.
    pub fn detect(&mut self, board: &mut Scoreboard, at: &Situation) -> Found {
        let lost = match self {
            Detector::Rack(rule) => return rule.detect(board, at),
            Detector::Rfc6675(rule) => rule.detect(board, at),
            Detector::NewReno(rule) => rule.detect(board, at),
            Detector::Reno(rule) => rule.detect(board, at),
        };
        Found { lost, look_again: Time::MAX }
    }

    /// Whether this rule includes tail loss probes.
    pub fn sends_tail_probes(&self) -> bool {
        matches!(self, Detector::Rack(_))
    }
    /// Every repair of the head restarts the retransmission timer, not only the first (Linux `tcp_xmit_retransmit_queue`).
    pub fn restarts_timer_by_each_repair(&self) -> bool {
        matches!(self, Detector::Rack(_))
    }
    /// Duplicate ACKs are counted, SACK is ignored.
    pub fn counts_duplicates(&self) -> bool {
        matches!(self, Detector::NewReno(_) | Detector::Reno(_))
    }
    /// Duplicates have shown that `packets` were overtaken.
    pub fn learn_reordering(&mut self, packets: u32) {
        if let Detector::NewReno(rule) = self {
            rule.learn_reordering(packets);
        }
    }
    /// The first ACK of new data ends a fast recovery, and the controller is asked about the head during it.
    pub fn knows_no_partial_ack(&self) -> bool {
        matches!(self, Detector::Reno(_))
    }
    /// Duplicate ACKs caused a retransmission of the head. Returns whether the timer backs off for it.
    pub fn backs_off(&mut self, nxt: u64) -> bool {
        if let Detector::Reno(rule) = self { rule.backs_off(nxt) } else { false }
    }
    /// An ACK's RTT is that of the last packet it acknowledges, even if packets below it were retransmitted.
    pub fn times_last_packet(&self) -> bool {
        matches!(self, Detector::Reno(rule) if rule.is_ns2_vegas())
    }
    /// Whether the RTT of an ACK up to `una` may be used for the retransmission timeout.
    pub fn may_time(&self, una: u64) -> bool {
        !matches!(self, Detector::Reno(rule) if !rule.may_time(una))
    }
    /// In fast recovery, more than the packets judged lost may be retransmitted.
    pub fn has_last_resort(&self) -> bool {
        matches!(self, Detector::Rfc6675(_))
    }

    /// A packet was delivered; `is_ambiguous`: judging by the RTT, the ACK may be for an earlier transmission. Returns whether RACK finds
    /// that others overtook it.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, packet: &SentPacket, is_ambiguous: bool) -> bool {
        if let Detector::Rack(rack) = self { rack.on_delivered(now, packet, is_ambiguous) } else { false }
    }
    /// RTT that RACK judges by.
    pub fn rtt(&self) -> Duration {
        if let Detector::Rack(rack) = self { rack.rtt() } else { Duration::ZERO }
    }
    pub fn set_rtt(&mut self, rtt: Duration) {
        if let Detector::Rack(rack) = self {
            rack.set_rtt(rtt);
        }
    }
    /// The original from `start` arrived after its repair had left: the path reorders.
    pub fn on_late_original(&mut self, start: u64) {
        if let Detector::Rack(rack) = self {
            rack.note_reordering(start);
        }
    }
    /// Packets are overtaken by more than duplicate ACKs are waited for.
    pub fn is_reordering(&self, mss: u32) -> bool {
        matches!(self, Detector::Rack(rack) if rack.is_reordering(mss))
    }
    pub fn on_dsack(&mut self, una: u64, nxt: u64) {
        if let Detector::Rack(rack) = self {
            rack.on_dsack(una, nxt);
        }
    }

    pub fn on_recovery(&mut self, nxt: u64) {
        match self {
            Detector::Rfc6675(rule) => rule.on_episode(),
            Detector::NewReno(rule) => rule.on_episode(nxt),
            Detector::Rack(_) | Detector::Reno(_) => {}
        }
    }
    /// A timeout does not prove this packet lost (Linux); RFC 6298 and RFC 6675 consider all packets lost.
    pub fn is_recent(&self, now: Time, packet: &SentPacket) -> bool {
        matches!(self, Detector::Rack(rack) if rack.is_recent(now, packet))
    }
    /// The retransmission timer expired.
    pub fn on_rto(&mut self, nxt: u64) {
        match self {
            Detector::Reno(rule) => rule.on_rto(nxt),
            _ => self.on_recovery(nxt),
        }
    }
    pub fn on_recovery_exit(&mut self) {
        if let Detector::Rack(rack) = self {
            rack.on_recovery_exit();
        }
    }
    pub fn on_undo(&mut self) {
        match self {
            Detector::NewReno(rule) => rule.on_undo(),
            Detector::Reno(rule) => rule.on_undo(),
            Detector::Rack(_) | Detector::Rfc6675(_) => {}
        }
    }

    /// A partial ACK in fast recovery. Returns the packets that it shows lost.
    pub fn on_partial_ack(&mut self, board: &mut Scoreboard) -> Option<u32> {
        match self {
            Detector::NewReno(_) if !board.is_empty() => Some(board.mark_head_lost()),
            _ => None,
        }
    }
    /// Whether a partial ACK in fast recovery may restart the retransmission timer.
    pub fn restarts_timer_by_partial_ack(&mut self) -> bool {
        match self {
            Detector::NewReno(rule) => rule.restarts_timer(),
            _ => true,
        }
    }
    /// Whether a SACK of data older than the head's last transmission restarts it (Linux `tcp_clean_rtx_queue`). RFC 6298 §5.3 and RFC
    /// 6675 mention only the cumulative ACK; ns-2's agents have no SACK.
    pub fn restarts_timer_by_sack(&self) -> bool {
        matches!(self, Detector::Rack(_))
    }
    /// In fast recovery, with nothing else to send: a further packet to retransmit.
    pub fn last_resort(&mut self, board: &Scoreboard, una: u64, nxt: u64) -> Option<u64> {
        match self {
            Detector::Rfc6675(rule) => rule.last_resort(board, una, nxt),
            _ => None,
        }
    }
}
