//! The choice of the next segment: retransmissions, new data, probes; and the cause of a pause.
//!
//! Reference: RFC 9293 §3.7.4 (Nagle), RFC 6675 §4 NextSeg, RFC 3042 (limited transmit), RFC 8985 §7.3 (tail loss probe), RFC 3168
//! §6.1.5 (no ECT on retransmissions), RFC 2861/5681 §4.1 (restart after idle).
//! Differences from the references:
//! 1. Packets keep their boundaries when retransmitted.
//! 2. Unless the profile limits it, each duplicate ACK lets one new packet out (Linux), not only the first two.
//! 3. Where packets leave in Linux's groups, so do small ones: Nagle's rule holds one back while another small one is outstanding
//!    (draft-minshall-nagle, `tcp_nagle_check`).
//! 4. A zero-window probe is an empty segment below SND.UNA, as in Linux; a window too small for a full segment is used when
//!    the persist timer expires.
//!
//! Tested by packet scripts.

use super::Sender;
use super::recovery::Phase;
use super::scoreboard::{EVER_RETRANS, FIN, SentPacket};
use super::stream::Piece;
use super::tso::Place;
use crate::segment::{Ecn, Flags};
use crate::tcp::config::{PacingBurst, Recovery};
use crate::tcp::handshake::timestamp;
use crate::tcp::moment::Moment;
use playpath_cc::{EcnUse, IdleRestart, PacketSent};
use playpath_units::{Duration, Time};

/// A segment that a timer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Tail loss probe: new data, else the last packet again.
    TailLoss,
    Window,
}

/// The sender's part of a segment. It is written in place: a copy right after writing it in pieces would have to wait for the store
/// buffer. The order of the fields avoids that fields which are written separately are read together.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Outgoing {
    /// Stream offset of the first byte.
    pub start: u64,
    /// FIN, PSH and CWR.
    pub flags: Flags,
    pub len: u32,
    pub ecn: Ecn,
}

/// The sender's next segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Retransmit(u64),
    New(Piece),
}

impl Sender {
    /// Write the next segment to `out`; returns `false` if there is none.
    pub fn poll(&mut self, at: Moment<'_>, out: &mut Outgoing) -> bool {
        if let Some(probe) = self.probe.take()
            && self.send_probe(at, probe, out)
        {
            return true;
        }
        let Some(choice) = self.choose(at.now) else {
            self.note_pause(at);
            self.is_settled = self.is_exhausted() && !self.stream.is_window_blocked();
            return false;
        };
        if self.is_paced_until_later(at.now, choice) {
            // Linux judges by the packets in flight, whatever the reason of the pause.
            if self.config.pacing_burst == PacingBurst::Linux {
                self.note_usage(at, self.is_window_full());
            }
            return false;
        }
        self.recovery.on_packet_sent();
        match choice {
            Choice::Retransmit(index) => self.send_again(at, index, false, out),
            Choice::New(piece) => self.send_new(at, piece, false, out),
        }
        true
    }

    /// A poll would certainly find nothing to send: it would only call [`note_pause`](Self::note_pause).
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.stream.unsent() == 0
            && self.scoreboard.awaiting() == 0
            && !(self.recovery.phase() == Phase::Recovery && self.detector.has_last_resort())
            && !self.stream.is_fin_due()
            && self.probe.is_none()
    }

    /// A poll would find nothing to send and change no state.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// After a poll without a segment: new data waits for room in the window, not for its pacing time.
    #[inline]
    pub fn waits_for_room(&self) -> bool {
        self.stream.unsent() > 0 && self.pacer.next() == Time::ZERO
    }

    /// A poll may find something to send; `true` when in doubt.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.stream.unsent() > 0 || !self.scoreboard.is_empty() || self.stream.is_closing() || self.probe.is_some()
    }

    /// Nothing more is sent now: note whether the window or the application is the reason.
    #[inline(always)]
    pub fn note_pause(&mut self, at: Moment<'_>) {
        if self.stream.is_window_blocked() && self.scoreboard.is_empty() {
            if !self.timers.is_persisting() {
                self.restart_rto(at.now); // the window was closed before: the wait begins with the data (Linux `tcp_check_probe_timer`)
            }
            self.rearm();
        }
        let is_full = self.is_window_full();
        if self.stream.unsent() == 0 && self.scoreboard.awaiting() == 0 && !is_full {
            self.rate.mark_app_limited(self.in_flight());
        }
        // Also if nothing was sent because a full window held it back (Linux `tcp_write_xmit`: `sent_pkts || is_cwnd_limited`), unless a
        // timer only let repairs leave.
        if self.usage.has_sent() || (is_full && self.stream.unsent() > 0 && !self.is_repair_due) {
            self.note_usage(at, is_full);
        }
    }

    /// Retransmissions first, then new data, then the last rules of RFC 6675.
    fn choose(&mut self, now: Time) -> Option<Choice> {
        self.is_deferred = false;
        if self.config.max_burst.is_some_and(|most| self.burst >= most) {
            if self.pacer.next() > now {
                self.timers.pace_until(self.pacer.next()); // its event is the next chance to send, unless an ACK arrives first
            }
            return None;
        }
        let is_retransmitting = self.scoreboard.may_repair() && !self.recovery.is_new_data_only();
        let has_last_resort = self.recovery.phase() == Phase::Recovery && self.detector.has_last_resort();
        if !is_retransmitting && self.stream.unsent() == 0 && !has_last_resort && !self.stream.is_fin_due() {
            return None;
        }
        let window = self.send_window();
        let has_room = f64::from(self.counted_in_flight()) + 1.0 <= window;
        if is_retransmitting {
            let index = self.scoreboard.next_awaiting().filter(|_| has_room || self.recovery.is_forced())?;
            return Some(Choice::Retransmit(index));
        }
        if !has_room {
            return None;
        }
        if let Some(piece) = self.next_piece(now) {
            self.is_deferred = self.should_defer(now, window);
            return (!self.is_deferred).then_some(Choice::New(piece));
        }
        if !has_last_resort {
            return None;
        }
        let (una, nxt) = (self.stream.una(), self.stream.nxt());
        self.detector.last_resort(&self.scoreboard, una, nxt).map(Choice::Retransmit)
    }

    /// Packets counted against the window.
    pub(super) fn counted_in_flight(&self) -> u32 {
        match self.recovery.phase() {
            Phase::Open if !self.config.limited_transmit => self.scoreboard.packets_out(),
            Phase::Open if self.detector.counts_duplicates() => {
                self.scoreboard.packets_out().saturating_sub(self.duplicates.arrived().min(2)) // RFC 3042
            }
            // Inflation counts packets that duplicates reported as arrived as if they were still in flight.
            Phase::Recovery | Phase::Cwr if self.features.recovery == Recovery::NewReno && self.is_window_ours => {
                self.scoreboard.packets_out()
            }
            _ => self.in_flight(),
        }
    }

    fn next_piece(&mut self, now: Time) -> Option<Piece> {
        let is_linux = self.config.pacing_burst == PacingBurst::Linux;
        let waits = self.config.nagle && !self.scoreboard.is_empty() && (!is_linux || self.stream.has_small_out());
        let ends_at_edge = is_linux && self.group.takes(now, self.stream.nxt(), true);
        self.stream.next_piece(self.features.mss, waits, ends_at_edge)
    }

    /// Whether pacing holds the next packet back; if so, sets the timer. A packet of the group that is being sent is not held back.
    fn is_paced_until_later(&mut self, now: Time, choice: Choice) -> bool {
        if self.pacer.next() <= now {
            return false;
        }
        let (start, is_new) = match choice {
            Choice::New(_) => (self.stream.nxt(), true),
            Choice::Retransmit(index) => (self.scoreboard.get(index).map_or(u64::MAX, |packet| packet.start), false),
        };
        if self.config.pacing_burst == PacingBurst::Linux && self.group.takes(now, start, is_new) {
            return false;
        }
        self.timers.pace_until(self.pacer.next());
        true
    }

    #[inline(always)]
    fn send_new(&mut self, at: Moment<'_>, piece: Piece, is_probe: bool, out: &mut Outgoing) {
        let now = at.now;
        let was_empty = self.scoreboard.is_empty();
        if was_empty {
            self.restart_after_idle(at, is_probe);
        }
        let prior_in_flight = self.in_flight();
        let mut packet = SentPacket {
            start: self.stream.nxt(),
            sent_at: now,
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            tx_in_flight: 0,
            len: piece.len + u32::from(piece.is_fin),
            flags: if piece.is_fin { FIN } else { 0 },
        };
        self.rate.stamp(now, &mut packet, was_empty, prior_in_flight + 1);
        self.scoreboard.push(packet);
        self.stream.send(piece, self.features.mss);
        out.set(packet.start, piece);
        if self.features.ecn && piece.len > 0 {
            let is_l4s = self.features.counts_marks && self.config.ecn_use == EcnUse::LowLatency;
            out.ecn = if is_l4s { Ecn::Ect1 } else { Ecn::Ect0 };
            if std::mem::take(&mut self.send_cwr) {
                out.flags = out.flags.with(Flags::CWR);
            }
        }
        if was_empty {
            self.restart_rto(now); // RFC 6298 §5.1
        }
        self.schedule_probe(now, false);
        let place = self.join_group(now, packet.start, piece.len, true);
        self.count_in_reduction();
        self.note_sent(at, piece.len, place, prior_in_flight);
        self.mark_push(now, place, out);
    }

    #[inline(never)]
    fn send_again(&mut self, at: Moment<'_>, index: u64, is_probe: bool, out: &mut Outgoing) {
        let now = at.now;
        let prior_in_flight = self.in_flight();
        let is_head = self.scoreboard.first() == index;
        let is_first = self.scoreboard.get(index).is_some_and(|packet| !packet.is(EVER_RETRANS));
        let rate = &mut self.rate;
        let packet =
            *self.scoreboard.retransmit(index, is_probe, |packet| rate.stamp(now, packet, false, prior_in_flight + 1));
        let is_fin = packet.is(FIN);
        let len = packet.len - u32::from(is_fin);
        if !is_probe {
            self.recovery.on_retransmit(timestamp(now), is_first);
            self.count_in_reduction();
        }
        self.head.on_retransmit();
        let loss_stats = self.counters.note();
        loss_stats.retransmitted_packets += u64::from(len > 0); // a FIN alone does not count as data, as in its first transmission
        loss_stats.retransmitted_bytes += u64::from(len);
        // The fast retransmit restarts the timer; on Linux every repair of the head does, also after a timeout.
        let is_fast = self.recovery.phase() == Phase::Recovery && self.recovery.retransmitted() == 1;
        if is_head && (is_fast || (!is_probe && self.detector.restarts_timer_by_each_repair())) {
            self.restart_rto(now);
        }
        out.set(packet.start, Piece { len, is_fin });
        let place = self.join_group(now, packet.start, len, false);
        self.note_sent(at, len, place, prior_in_flight);
        self.mark_push(now, place, out);
    }

    /// A packet leaves in turn; a probe's repair does not (Linux `tcp_send_loss_probe`).
    #[inline(always)]
    fn count_in_reduction(&mut self) {
        if self.recovery.phase().is_reducing() {
            self.reduction().on_packet_sent();
        }
    }

    /// Update the state that every data packet changes.
    #[inline(always)]
    fn note_sent(&mut self, at: Moment<'_>, len: u32, place: Place, prior_in_flight: u32) {
        self.counters.data_segments_sent += u64::from(len > 0);
        self.counters.data_bytes_sent += u64::from(len);
        self.burst += 1;
        self.usage.on_packet_sent(at.now, place.is_new);
        if let Some(rate) = self.pacing_rate() {
            let number = self.counters.data_segments_sent;
            self.pacer.on_packet_sent(self.config.pacing_burst, at.now, len, rate, number, place.number == 1);
        }
        let sent = PacketSent { now: at.now, payload_bytes: len, is_retransmission: !place.is_new, prior_in_flight };
        self.control.on_packet_sent(&sent);
        self.rearm();
    }

    #[cold]
    #[inline(never)]
    fn send_probe(&mut self, at: Moment<'_>, probe: Probe, out: &mut Outgoing) -> bool {
        if probe == Probe::Window {
            let len = self.stream.unsent().min(self.stream.window_left()).min(u64::from(self.features.mss)) as u32;
            if len > 0 {
                self.send_new(at, Piece { len, is_fin: false }, true, out);
                self.usage.forget_sent();
            } else {
                self.rearm();
                *out = Outgoing::empty(self.stream.una().wrapping_sub(1));
            }
            return true;
        }
        if self.scoreboard.is_empty() {
            return false;
        }
        self.counters.note().tlp_probes += 1;
        let new_data = self.stream.next_piece(self.features.mss, false, false); // Nagle or not (RFC 8985 §7.3)
        match new_data {
            Some(piece) => self.send_new(at, piece, true, out),
            None => self.send_again(at, self.scoreboard.end() - 1, true, out),
        }
        self.tail_probe.on_sent(self.stream.nxt(), new_data.is_none());
        self.timers.probe_at(Time::MAX);
        self.rearm();
        true
    }

    /// The first packet after a pause (RFC 5681 §4.1, RFC 2861 §3). The probe of a window that is too small for a segment does not
    /// reduce the congestion window: Linux checks for a pause when data is written or the window opens, and how the window is used in
    /// `tcp_write_xmit` (`tcp_write_wakeup` does neither).
    fn restart_after_idle(&mut self, at: Moment<'_>, is_probe: bool) {
        let Some((idle, silent)) = self.usage.idle(at.now) else { return };
        if idle > Duration::ZERO {
            let view = self.view(at);
            let is_app_limited = self.rate.is_app_limited();
            self.control.on_idle_restart(&view, &IdleRestart { idle, silent, is_app_limited });
        }
        if !is_probe {
            self.validate_silence(at, silent);
        }
    }

    pub fn validate_after_idle(&mut self, at: Moment<'_>) {
        if let Some((_, silent)) = self.usage.idle(at.now) {
            self.validate_silence(at, silent);
        }
    }

    fn validate_silence(&mut self, at: Moment<'_>, silent: Duration) {
        if self.validator.watches_pauses() && self.is_window_ours {
            let seen = self.window_use(at.now);
            let change = self.validator.after_idle(&seen, silent);
            self.apply(at, change);
        }
    }

    #[inline(always)]
    fn is_window_full(&self) -> bool {
        let in_flight = self.in_flight();
        // A window has room for at least one packet.
        in_flight > 0 && (f64::from(in_flight) + 1.0 > self.send_window() || self.is_deferred_by_window())
    }

    /// Note how much of the window was used, and let window validation react.
    #[inline(always)]
    fn note_usage(&mut self, at: Moment<'_>, is_full: bool) {
        let packets_out = self.scoreboard.packets_out();
        let is_news = self.usage.on_pause((self.stream.una(), self.stream.nxt()), packets_out, is_full);
        if !is_news || !self.validator.watches_pauses() {
            return;
        }
        let is_limited = self.usage.is_full() || self.usage.is_limited(self.control.cwnd(), self.control.ssthresh());
        self.validator.on_send_pause(at.now, is_limited, packets_out);
        if !is_limited && !self.is_writer_waiting && self.recovery.phase() == Phase::Open && self.is_window_ours {
            let seen = self.window_use(at.now);
            let change = self.validator.on_starved(&seen);
            self.apply(at, change);
        }
    }
}

impl Outgoing {
    pub fn empty(start: u64) -> Outgoing {
        Outgoing { start, len: 0, flags: Flags::default(), ecn: Ecn::NotEct }
    }

    fn set(&mut self, start: u64, piece: Piece) {
        (self.start, self.len) = (start, piece.len);
        if piece.is_fin {
            self.flags = Flags::FIN;
        }
    }
}
