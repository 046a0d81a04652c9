//! What leaves next: control segments, retransmissions, new data, probes, ACKs.
//!
//! Reference: RFC 9293 §3.7.4 (Nagle), §3.8.6.2.1 (silly window), RFC 6675 §4 NextSeg, RFC 3042 (limited transmit), RFC 8985 §7.3
//! (tail loss probe), RFC 3168 §6.1.5 (no ECT on retransmissions), RFC 2861/5681 §4.1 (restart after idle).
//! Differences from the references:
//! 1. Packets keep their boundaries when retransmitted.
//! 2. Without limits of the profile, duplicate ACKs let one new packet out each (Linux), not only the first two.
//! 3. A zero-window probe is an empty segment below SND.UNA, as in Linux; a window too small for a full segment is used when
//!    the persist timer expires.
//!
//! 4. The rescue retransmission of RFC 6675 (rule 4) is not spent on a segment whose retransmission is in flight.
//!
//! Tested by packet scripts.

use crate::segment::{Ecn, Flags, Segment};
use crate::tcp::Connection;
use crate::tcp::config::{HeaderSize, LossDetection, PacingBurst, Recovery};
use crate::tcp::handshake::{State, timestamp, timestamps};
use crate::tcp::sender::recovery::Phase;
use crate::tcp::sender::scoreboard::{FIN, RETRANS, SACKED, SentPacket};
use crate::tcp::sender::timers::Timer;
use crate::tcp::sender::tso::{Group, Place};
use crate::tcp::sender::usage::Usage;
use playpath_cc::{PacketSent, RecoveryWindow, Sibling};
use playpath_units::Time;

/// The rescue retransmission looks at so many packets from the end: it is for a lost tail.
const RESCUE_SEARCH: usize = 64;

/// A segment that a timer wants out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// Tail loss probe: new data, else the last packet again.
    TailLoss,
    /// Zero-window probe.
    Window,
}

#[derive(Debug)]
pub(crate) struct Transmit {
    /// A SYN, SYN-ACK or RST to send.
    pub control: Option<Flags>,
    pub control_retries: u32,
    pub opened_at: Time,
    pub is_closing: bool,
    pub is_fin_sent: bool,
    pub is_fin_acked: bool,
    /// Our FIN left before the peer's arrived.
    pub closed_first: bool,
    /// Data packets sent since the last event.
    pub burst: u32,
    /// What Linux hands down as one.
    pub group: Group,
    /// The window has room, but Linux waits for an ACK that lets a whole group leave.
    pub is_deferred: bool,
    pub usage: Usage,
    pub has_sent: bool,
    pub last_sent_at: Option<Time>,
    /// Nothing is in flight since.
    pub emptied_at: Time,
    /// Set CWR on the next new data (RFC 3168 §6.1.2).
    pub send_cwr: bool,
    pub probe: Option<Probe>,
    pub is_window_blocked: bool,
    pub persist_backoff: u32,
    /// New data stops here (MPTCP: the mapping ends).
    pub boundary: u64,
    /// What is written here is not the end of what the application wrote (MPTCP: the scheduler has more).
    pub is_fed: bool,
    /// `delivered` when the round began.
    round_end: u64,
}

impl Default for Transmit {
    fn default() -> Transmit {
        Transmit {
            control: None,
            control_retries: 0,
            opened_at: Time::ZERO,
            is_closing: false,
            is_fin_sent: false,
            is_fin_acked: false,
            closed_first: false,
            burst: 0,
            group: Group::default(),
            is_deferred: false,
            usage: Usage::default(),
            has_sent: false,
            last_sent_at: None,
            emptied_at: Time::ZERO,
            send_cwr: false,
            probe: None,
            is_window_blocked: false,
            persist_backoff: 0,
            boundary: u64::MAX,
            is_fed: false,
            round_end: 0,
        }
    }
}

impl Transmit {
    /// A packet was delivered that left when `prior_delivered` were. First of a new round trip?
    pub fn note_round(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        let is_start = prior_delivered >= self.round_end;
        if is_start {
            self.round_end = delivered;
        }
        is_start
    }
}

/// What the sender would send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Retransmit(u64),
    New { len: u32, is_fin: bool },
}

impl Connection {
    /// Next segment to send. Call until `None` after every event.
    pub fn poll_transmit(&mut self, now: Time, siblings: &[Sibling]) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, siblings, &mut segment).then_some(segment)
    }

    /// As [`poll_transmit`](Self::poll_transmit), written to a place of the caller's; `false`: nothing to send, `out` holds
    /// no segment.
    pub fn poll_transmit_into(&mut self, now: Time, siblings: &[Sibling], out: &mut Segment) -> bool {
        if let Some(flags) = self.transmit.control.take() {
            self.control_segment(now, flags, out);
            return true;
        }
        match self.state {
            State::Established => {
                if self.poll_data(now, siblings, out) {
                    return true;
                }
            }
            State::TimeWait | State::Closed => {}
            _ => return false,
        }
        let must_ack = self.receiver.must_ack();
        if must_ack {
            self.empty_segment(now, self.nxt, out);
        }
        must_ack
    }

    /// Whether another poll after one that gave a segment could give a further one: cheaper than the poll, `true` when in doubt.
    /// A receiver that has just acknowledged has nothing more.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.nxt < self.written
            || !self.scoreboard.is_empty()
            || self.receiver.must_ack()
            || self.transmit.is_closing
            || self.transmit.control.is_some()
            || self.transmit.probe.is_some()
    }

    /// A poll would find nothing to send, and that is plain to see: [`note_pause`](Self::note_pause) is all that it would do.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.state == State::Established
            && self.nxt >= self.written
            && self.scoreboard.awaiting() == 0
            && self.recovery.phase != Phase::Recovery // its last resorts look further
            && !self.receiver.must_ack()
            && !self.is_fin_due()
            && self.transmit.control.is_none()
            && self.transmit.probe.is_none()
    }

    fn poll_data(&mut self, now: Time, siblings: &[Sibling], out: &mut Segment) -> bool {
        if let Some(probe) = self.transmit.probe.take()
            && self.send_probe(now, probe, siblings, out)
        {
            return true;
        }
        let Some(choice) = self.choose(now) else {
            self.note_pause(now, siblings);
            return false;
        };
        if self.is_paced_until_later(now, choice) {
            self.note_paced(now, siblings);
            return false;
        }
        self.recovery.force = false;
        match choice {
            Choice::Retransmit(index) => self.send_again(now, index, siblings, out),
            Choice::New { len, is_fin } => self.send_new(now, len, is_fin, siblings, out),
        }
        true
    }

    /// Retransmissions first, then new data, then the last rules of RFC 6675.
    fn choose(&mut self, now: Time) -> Option<Choice> {
        self.transmit.is_deferred = false;
        if self.config.max_burst.is_some_and(|most| self.transmit.burst >= most) {
            return None;
        }
        let is_retransmitting = self.scoreboard.awaiting() > 0 && !self.recovery.new_data_only;
        let has_last_resort = self.recovery.phase == Phase::Recovery && !self.scoreboard.is_empty();
        if !is_retransmitting && self.nxt >= self.written && !has_last_resort && !self.is_fin_due() {
            return None;
        }
        let has_room = f64::from(self.counted_in_flight()) + 1.0 <= self.send_window();
        if is_retransmitting {
            let index = self.scoreboard.next_awaiting().filter(|_| has_room || self.recovery.force)?;
            return Some(Choice::Retransmit(index));
        }
        if !has_room {
            return None;
        }
        if let Some((len, is_fin)) = self.next_new_data() {
            self.transmit.is_deferred = self.should_defer(now);
            return (!self.transmit.is_deferred).then_some(Choice::New { len, is_fin });
        }
        self.last_resort()
    }

    /// RFC 6675 NextSeg rules 3 and 4: holes not judged lost, then one rescue retransmission.
    fn last_resort(&mut self) -> Option<Choice> {
        if self.recovery.phase != Phase::Recovery || self.features.detection != LossDetection::Rfc6675 {
            return None;
        }
        if let Some(hole) = self.scoreboard.next_hole() {
            return Some(Choice::Retransmit(hole));
        }
        if self.recovery.rescue_end.is_some_and(|end| self.una <= end) {
            return None;
        }
        let last = (self.scoreboard.first()..self.scoreboard.end()).rev();
        // A segment that was just sent again needs no rescue.
        let unsacked =
            last.take(RESCUE_SEARCH).find(|&i| self.scoreboard.get(i).is_some_and(|p| !p.any(SACKED | RETRANS)))?;
        self.recovery.rescue_end = Some(self.nxt);
        Some(Choice::Retransmit(unsacked))
    }

    /// Packets counted against the window.
    pub(crate) fn counted_in_flight(&self) -> u32 {
        match self.recovery.phase {
            Phase::Open if !self.config.limited_transmit => self.scoreboard.packets_out(),
            Phase::Open if self.is_newreno() => self.scoreboard.packets_out() - self.recovery.reno_sacked.min(2), // RFC 3042
            // Inflation counts what duplicates took out as if it were still there.
            Phase::Recovery | Phase::Cwr
                if self.features.recovery == Recovery::NewReno
                    && self.cc.recovery_window() == RecoveryWindow::Transport =>
            {
                self.scoreboard.packets_out()
            }
            _ => self.in_flight(),
        }
    }

    fn is_fin_due(&self) -> bool {
        self.transmit.is_closing && !self.transmit.is_fin_sent
    }

    /// Length of the next new segment, and whether it carries the FIN.
    fn next_new_data(&mut self) -> Option<(u32, bool)> {
        let unsent = self.written.min(self.transmit.boundary).saturating_sub(self.nxt);
        if unsent == 0 {
            return self.is_fin_due().then_some((0, true));
        }
        let mss = u64::from(self.features.mss);
        let window = self.peer_edge.saturating_sub(self.nxt);
        let len = unsent.min(mss).min(window);
        if len < mss {
            if len < unsent && (len == 0 || len < u64::from(self.peer_window_max) / 2) {
                self.transmit.is_window_blocked = true; // silly window avoidance
                return None;
            }
            if self.config.nagle && !self.scoreboard.is_empty() && !self.transmit.is_closing {
                return None;
            }
        }
        Some((len as u32, self.is_fin_due() && self.nxt + len == self.written))
    }

    /// Pacing holds the next packet back; sets the timer. What belongs to the group that is leaving leaves with it.
    fn is_paced_until_later(&mut self, now: Time, choice: Choice) -> bool {
        if self.pacer.next() <= now {
            return false;
        }
        let (start, is_new) = match choice {
            Choice::New { .. } => (self.nxt, true),
            Choice::Retransmit(index) => (self.scoreboard.get(index).map_or(u64::MAX, |packet| packet.start), false),
        };
        if self.config.pacing_burst == PacingBurst::Linux && self.transmit.group.takes(now, start, is_new) {
            return false;
        }
        self.timers.set(Timer::Pace, self.pacer.next());
        true
    }

    fn send_new(&mut self, now: Time, len: u32, is_fin: bool, siblings: &[Sibling], out: &mut Segment) {
        let was_empty = self.scoreboard.is_empty();
        if was_empty {
            self.restart_after_idle(now, siblings);
        }
        let prior_in_flight = self.in_flight();
        let mut packet = SentPacket {
            start: self.nxt,
            sent_at: now,
            delivered: 0,
            delivered_at: now,
            first_sent_at: now,
            lost: 0,
            tx_in_flight: 0,
            len: len + u32::from(is_fin),
            flags: if is_fin { FIN } else { 0 },
        };
        self.rate.stamp(now, &mut packet, prior_in_flight == 0, prior_in_flight + 1);
        self.scoreboard.push(packet);
        if is_fin {
            self.transmit.is_fin_sent = true;
            self.transmit.closed_first = !self.receiver.is_finished();
        }
        self.data_segment(now, packet.start, len, is_fin, out);
        if self.features.ecn && len > 0 {
            out.ecn = Ecn::Ect0;
            if std::mem::take(&mut self.transmit.send_cwr) {
                out.flags = out.flags.with(Flags::CWR);
            }
        }
        self.nxt = packet.end();
        if was_empty {
            self.restart_rto(now); // RFC 6298 §5.1
        }
        self.timers.probe_base = now;
        let place = self.join_group(now, packet.start, len, true);
        self.note_sent(now, len, place, prior_in_flight, siblings);
        self.mark_push(now, place, out);
    }

    fn send_again(&mut self, now: Time, index: u64, siblings: &[Sibling], out: &mut Segment) {
        let prior_in_flight = self.in_flight();
        let is_first = self.scoreboard.first() == index;
        let rate = &mut self.rate;
        let packet = *self
            .scoreboard
            .retransmit(index, |packet| rate.stamp(now, packet, prior_in_flight == 0, prior_in_flight + 1));
        let is_fin = packet.is(FIN);
        let len = packet.len - u32::from(is_fin);
        self.undo.on_retransmit(timestamp(now));
        self.recovery.retransmitted += 1;
        self.recovery.checks_left = 2; // Brakmo: the next two new ACKs check the head again
        self.stats.retransmitted_packets += 1;
        self.stats.retransmitted_bytes += u64::from(len);
        // The fast retransmit restarts the timer; in Linux so does every repair of the head (`tcp_xmit_retransmit_queue`).
        let is_each = self.features.detection == LossDetection::RackTlp;
        if is_first && self.recovery.phase == Phase::Recovery && (is_each || self.recovery.retransmitted == 1) {
            self.restart_rto(now);
        }
        self.data_segment(now, packet.start, len, is_fin, out);
        let place = self.join_group(now, packet.start, len, false);
        self.note_sent(now, len, place, prior_in_flight, siblings);
        self.mark_push(now, place, out);
    }

    /// Books that every data packet changes.
    fn note_sent(&mut self, now: Time, len: u32, place: Place, prior_in_flight: u32, siblings: &[Sibling]) {
        self.stats.data_segments_sent += u64::from(len > 0);
        self.stats.data_bytes_sent += u64::from(len);
        self.transmit.burst += 1;
        self.transmit.has_sent = true;
        self.transmit.last_sent_at = Some(now);
        if matches!(self.recovery.phase, Phase::Recovery | Phase::Cwr) {
            self.recovery.prr.on_packet_sent();
        }
        if let Some(rate) = self.pacing_rate() {
            self.pacer.on_packet_sent(
                self.config.pacing_burst,
                now,
                len,
                rate,
                self.stats.data_segments_sent,
                place.number == 1,
            );
        }
        let view = self.view(now, siblings);
        let sent = PacketSent { payload_bytes: len, is_retransmission: !place.is_new, prior_in_flight };
        self.cc.on_packet_sent(&view, &sent);
        self.rearm();
    }

    fn send_probe(&mut self, now: Time, probe: Probe, siblings: &[Sibling], out: &mut Segment) -> bool {
        match probe {
            Probe::Window => {
                self.stats.window_probes += 1;
                let unsent = self.unsent_bytes().min(self.peer_edge.saturating_sub(self.nxt));
                if unsent > 0 {
                    self.send_new(now, unsent.min(u64::from(self.features.mss)) as u32, false, siblings, out);
                } else {
                    self.rearm();
                    self.empty_segment(now, self.una.wrapping_sub(1), out);
                }
            }
            Probe::TailLoss => {
                if self.scoreboard.is_empty() {
                    return false;
                }
                self.stats.tlp_probes += 1;
                let new_data = self.next_new_data();
                self.recovery.probe_is_retransmission = new_data.is_none();
                match new_data {
                    Some((len, is_fin)) => self.send_new(now, len, is_fin, siblings, out),
                    None => self.send_again(now, self.scoreboard.end() - 1, siblings, out),
                }
                self.recovery.probe_end = Some(self.nxt);
                self.rearm();
            }
        }
        true
    }

    fn data_segment(&mut self, now: Time, start: u64, len: u32, is_fin: bool, out: &mut Segment) {
        self.empty_segment(now, start, out);
        out.payload_len = len;
        if is_fin {
            out.flags = out.flags.with(Flags::FIN);
        }
        self.stats.wire_bytes_sent += u64::from(len);
    }

    /// A segment at stream offset `offset` with the acknowledgement and options of this moment.
    fn empty_segment(&mut self, now: Time, offset: u64, out: &mut Segment) {
        *out = Segment {
            seq: self.config.isn.wrapping_add(1).wrapping_add(offset as u32),
            flags: Flags::ACK,
            timestamps: self.features.timestamps.then(|| timestamps(now)),
            ..Segment::default()
        };
        self.receiver.stamp(out, self.features.sack);
        self.finish_segment(out);
    }

    fn control_segment(&mut self, now: Time, flags: Flags, out: &mut Segment) {
        let is_syn = flags.contains(Flags::SYN);
        *out = Segment {
            seq: if is_syn { self.config.isn } else { self.config.isn.wrapping_add(1).wrapping_add(self.nxt as u32) },
            flags,
            timestamps: self.features.timestamps.then(|| timestamps(now)),
            window: self.receiver.first_window().min(u64::from(u32::MAX)) as u32,
            ..Segment::default()
        };
        if is_syn {
            out.syn_options = self.syn_options();
            self.arm_handshake(now);
        }
        if flags.contains(Flags::ACK) {
            self.receiver.stamp(out, false);
            out.flags = flags;
        }
        self.finish_segment(out);
    }

    fn finish_segment(&mut self, out: &mut Segment) {
        if let HeaderSize::Fixed(bytes) = self.config.header {
            out.fixed_header_bytes = bytes;
        }
        self.stats.segments_sent += 1;
        self.stats.wire_bytes_sent += u64::from(out.header_bytes());
    }
}
