//! Opening and closing.
//!
//! Reference: RFC 9293 §3.5, §3.6, §3.10; option negotiation RFC 7323 §1.3, RFC 2018 §2, RFC 3168 §6.1.1.
//! Differences from the reference:
//! 1. States after ESTABLISHED are distinguished by "own FIN sent, acknowledged" and "peer's FIN received";
//!    [`rfc_state_name`](Connection::rfc_state_name) gives the RFC's names.
//! 2. `Handshake::Skip`: both ends start established with the features of their own configuration, like
//!    ns-2's agents; both must have the same ISN.
//! 3. After an orderly close a retransmitted FIN is acknowledged without end, not answered by RST once TIME-WAIT is over:
//!    the owner may keep the endpoint for its figures.
//! 4. No SYN cookies, no data on SYN, no TCP Fast Open.
//!
//! Tested by `handshake_*.pkt`, `close_*.pkt` and the stream property test.

use super::config::{Config, LossDetection, PartialAckTimer, Recovery};
use super::{Connection, Event, Moment};
use crate::segment::{Ecn, Flags, Segment, SynOptions, Timestamps};
use playpath_cc::EcnUse;
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Listen,
    SynSent,
    SynReceived,
    /// From the end of the handshake until both FINs are acknowledged.
    Established,
    TimeWait,
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// Accurate ECN: the peers count marks (RFC 9768).
    pub counts_marks: bool,
    pub mss: u32,
    pub detection: LossDetection,
    pub recovery: Recovery,
}

impl Features {
    pub fn offered(config: &Config) -> Features {
        Features {
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: config.ecn || config.ecn_use != EcnUse::Echo,
            counts_marks: config.ecn_use != EcnUse::Echo,
            mss: config.mss,
            detection: config.loss_detection,
            recovery: config.recovery,
        }
        .consistent()
    }

    /// Without SACK only Reno's and NewReno's rules work; PRR works with both. Linux restarts its timer with every ACK of new data.
    fn consistent(mut self) -> Features {
        if !self.sack {
            match self.detection {
                LossDetection::RackTlp => {
                    self.detection = LossDetection::NewReno(PartialAckTimer::SlowButSteady);
                }
                LossDetection::Rfc6675 => self.detection = LossDetection::NewReno(PartialAckTimer::Impatient),
                _ => {}
            }
            if self.recovery == Recovery::Rfc6675 {
                self.recovery = Recovery::NewReno;
            }
        } else if self.recovery == Recovery::NewReno && !self.detection.counts_duplicates() {
            self.recovery = Recovery::Rfc6675;
        }
        self
    }
}

/// Timeout of data after a handshake that needed retransmissions (RFC 6298 §5.7).
const RTO_AFTER_SYN_LOSS: Duration = Duration::from_secs(3);

/// A peer's MSS counts as this at least, options included (Linux `TCP_MIN_SND_MSS`): a full set of options and eight bytes. A smaller
/// one would have us send a packet for each byte.
const MIN_MSS: u32 = 48;

/// Opening and closing: the segments and the timer that belong to neither half.
#[derive(Debug)]
pub(crate) struct Opening {
    /// A SYN, SYN-ACK or RST to send.
    segment: Option<Flags>,
    /// Sequence number of a reset that refuses an acknowledgement.
    refused: u32,
    retries: u32,
    opened_at: Time,
    /// The SYN is repeated, or TIME-WAIT ends.
    deadline: Time,
    /// Whether our FIN left before the peer's arrived.
    closed_first: Option<bool>,
    has_checked_ace: bool,
    has_sent_synack: bool,
    /// ECN codepoint of the peer's received SYN or SYN-ACK, until we have reported it.
    pub peer_syn_arrived: Option<Ecn>,
}

impl Default for Opening {
    fn default() -> Opening {
        Opening {
            segment: None,
            refused: 0,
            retries: 0,
            opened_at: Time::ZERO,
            deadline: Time::MAX,
            closed_first: None,
            has_checked_ace: false,
            has_sent_synack: false,
            peer_syn_arrived: None,
        }
    }
}

impl Opening {
    pub fn deadline(&self) -> Time {
        self.deadline
    }
    pub fn has_segment(&self) -> bool {
        self.segment.is_some()
    }
    pub fn take_segment(&mut self) -> Option<Flags> {
        self.segment.take()
    }
    pub fn send(&mut self, flags: Flags) {
        self.segment = Some(flags);
    }
    /// The peer acknowledges something other than our SYN, so it refers to another connection (RFC 9293 §3.10.7.3, §3.10.7.4), or one that
    /// we do not have.
    pub fn refuse(&mut self, ack: u32) {
        (self.segment, self.refused) = (Some(Flags::RST), ack);
    }
    /// A SYN-ACK leaves: the first one?
    pub fn is_first_synack(&mut self) -> bool {
        !std::mem::replace(&mut self.has_sent_synack, true)
    }
    pub fn has_sent_synack(&self) -> bool {
        self.has_sent_synack
    }
    /// The peer's first segment after its SYN?
    pub fn is_first_ace(&mut self) -> bool {
        !std::mem::replace(&mut self.has_checked_ace, true)
    }
    pub fn retries(&self) -> u32 {
        self.retries
    }
    pub fn refused(&self) -> u32 {
        self.refused
    }
    pub fn wait_until(&mut self, deadline: Time) {
        self.deadline = deadline;
    }
    pub fn stop(&mut self) {
        (self.segment, self.deadline) = (None, Time::MAX);
    }
    /// Our FIN leaves, maybe again.
    pub fn note_fin(&mut self, has_peers: bool) {
        self.closed_first.get_or_insert(!has_peers);
    }
}

impl Connection {
    /// Both ends begin established.
    pub(super) fn skip_handshake(&mut self, now: Time) {
        self.receiver.start(self.config().isn);
        self.sender.open_window(self.config().receive_buffer);
        self.establish(now.into(), None);
    }

    /// The SYN is the first segment to leave.
    pub(super) fn begin_opening(&mut self, now: Time) {
        self.opening.opened_at = now;
        self.opening.send(self.syn_flags());
    }

    /// A segment before the connection is established, or in TIME-WAIT.
    pub(super) fn handle_handshake(&mut self, at: Moment<'_>, segment: &Segment) {
        match self.state {
            State::Listen => self.handle_listen(at.now, segment),
            State::SynSent => self.handle_syn_sent(at, segment),
            State::SynReceived => self.handle_syn_received(at, segment),
            State::TimeWait | State::Closed => self.handle_time_wait(at.now, segment),
            State::Established => {}
        }
    }

    pub(super) fn syn_options(&self) -> SynOptions {
        let features = self.sender.features();
        SynOptions {
            mss: (self.config().mss + if features.timestamps { 12 } else { 0 }).min(65535) as u16,
            window_scale: Some(window_scale(self.config().receive_buffer, self.config().tunes_window)),
            sack_permitted: features.sack,
        }
    }

    /// The SYN or SYN-ACK was not answered, or TIME-WAIT is over.
    pub(super) fn expire_opening(&mut self, now: Time) {
        if self.opening.deadline > now {
            return;
        }
        self.opening.deadline = Time::MAX;
        if !matches!(self.state, State::SynSent | State::SynReceived) {
            self.state = State::Closed;
            return;
        }
        self.opening.retries += 1;
        let linear = if self.state == State::SynSent { self.config().syn_linear_timeouts } else { 0 };
        self.sender.note_syn_timeout(self.opening.retries <= linear);
        if self.opening.retries > self.config().max_syn_retries.saturating_add(linear) {
            return self.finish(Event::Reset);
        }
        self.opening.send(self.syn_flags());
    }

    /// Both FINs are through: the side that closed first waits for stray segments.
    pub(super) fn finish_if_closed(&mut self, now: Time) {
        if !self.sender.stream().is_fin_acked() || !self.receiver.is_finished() {
            return;
        }
        self.sender.stop();
        self.state = State::Closed;
        if self.opening.closed_first == Some(true) && !self.config().time_wait.is_zero() {
            self.state = State::TimeWait;
            self.opening.wait_until(now + self.config().time_wait);
        }
        self.raise(Event::Closed);
    }

    fn syn_flags(&self) -> Flags {
        // RFC 3168 §6.1.1: ECE and CWR on the SYN offer ECN, ECE alone on the SYN-ACK accepts it.
        let features = self.sender.features();
        match (self.state, features.ecn) {
            _ if features.counts_marks => self.accurate_syn_flags(),
            (State::SynReceived, true) => Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            (State::SynReceived, false) => Flags::SYN.with(Flags::ACK),
            (_, true) => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            (_, false) => Flags::SYN,
        }
    }

    pub(super) fn rfc_state_name(&self) -> &'static str {
        match self.state {
            State::Listen => "LISTEN",
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
            State::Established => {
                let stream = self.sender.stream();
                match (stream.is_fin_sent(), stream.is_fin_acked(), self.receiver.is_finished()) {
                    (false, _, false) => "ESTABLISHED",
                    (false, _, true) => "CLOSE-WAIT",
                    (true, false, false) => "FIN-WAIT-1",
                    (true, true, _) => "FIN-WAIT-2",
                    (true, false, true) if self.opening.closed_first == Some(true) => "CLOSING",
                    (true, false, true) => "LAST-ACK",
                }
            }
        }
    }

    fn handle_listen(&mut self, now: Time, segment: &Segment) {
        if !segment.flags.contains(Flags::SYN) || segment.flags.intersects(Flags::ACK.with(Flags::RST)) {
            return;
        }
        self.take_syn(now, segment);
        self.take_offer(segment);
        self.state = State::SynReceived;
        self.begin_opening(now);
    }

    fn handle_syn_sent(&mut self, at: Moment<'_>, segment: &Segment) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.config().isn.wrapping_add(1);
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.finish(Event::Reset);
            }
            return;
        }
        if segment.flags.contains(Flags::ACK) && !acks_syn {
            return self.opening.refuse(segment.ack);
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.take_syn(at.now, segment);
        if !acks_syn {
            // Simultaneous open (RFC 9293 §3.5, figure 7).
            self.state = State::SynReceived;
            self.opening.send(self.syn_flags());
            return;
        }
        self.take_answer(segment);
        self.receiver.request_ack();
        self.complete_handshake(at, segment);
        self.receiver.note_synack(segment);
    }

    fn handle_syn_received(&mut self, at: Moment<'_>, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            if self.receiver.is_next(segment) {
                self.finish(Event::Reset);
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            if !segment.flags.contains(Flags::ACK) {
                self.take_repeated_offer(segment);
                self.opening.send(self.syn_flags()); // our SYN-ACK was lost
                return;
            }
        } else if !self.receiver.is_acceptable(segment) {
            return self.opening.send(Flags::ACK); // RFC 9293 §3.10.7.4, first step
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        if segment.ack == self.config().isn.wrapping_add(1) {
            self.complete_handshake(at, segment);
            self.check_first_ace(segment);
            if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
                self.handle_established(at, segment, self.passes(at.now, segment));
            } else {
                self.receiver.handle_header(at.now, segment); // its timestamp is the first to echo
            }
        } else {
            self.opening.refuse(segment.ack);
        }
    }

    fn handle_time_wait(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            if self.receiver.is_next(segment) {
                self.state = State::Closed;
                self.opening.stop();
            }
        } else if segment.sequence_len() > 0 && self.receiver.is_finished() {
            // The last ACK was lost (RFC 9293 §3.10.7.4).
            self.receiver.request_ack();
            if self.state == State::TimeWait {
                self.opening.wait_until(now + self.config().time_wait);
            }
        }
    }

    /// Peer's sequence number and options.
    fn take_syn(&mut self, now: Time, segment: &Segment) {
        self.receiver.start(segment.seq);
        if let (Some(timestamps), true) = (segment.timestamps, self.config().timestamps) {
            self.receiver.start_timestamps(now, timestamps.value);
        }
        let peer_mss = match segment.syn_options.mss {
            0 => 536, // RFC 9293 §3.7.1
            mss => MIN_MSS.max(mss.into()),
        };
        let timestamps = self.config().timestamps && segment.timestamps.is_some();
        let option_bytes = if timestamps { 12 } else { 0 };
        let agreed = Features {
            sack: self.config().sack && segment.syn_options.sack_permitted,
            timestamps,
            ecn: self.sender.features().ecn,
            counts_marks: self.sender.features().counts_marks,
            mss: self.config().mss.min(peer_mss - option_bytes),
            detection: self.config().loss_detection,
            recovery: self.config().recovery,
        };
        self.sender.agree(agreed.consistent());
    }

    /// Restrict ECN to what the peer takes part in.
    pub(super) fn limit_ecn(&mut self, takes_part: bool, counts_marks: bool) {
        let features = self.sender.features();
        let counts_marks = features.counts_marks && counts_marks;
        self.sender.agree(Features { ecn: features.ecn && takes_part, counts_marks, ..features });
    }

    fn complete_handshake(&mut self, at: Moment<'_>, segment: &Segment) {
        self.opening.stop();
        self.sender.open_window(u64::from(segment.window));
        match self.handshake_rtt(at.now, segment) {
            Some(rtt) => self.sender.take_handshake_rtt(rtt),
            None => self.sender.set_initial_rto(RTO_AFTER_SYN_LOSS.max(self.config().rto.initial)),
        }
        // RFC 5681 §3.1; Linux waits for the second loss, too.
        self.establish(at, (self.opening.retries > 1).then_some(1.0));
    }

    /// Of a repeated SYN only the echoed timestamp tells which one was answered (Karn's rule); one older than the first SYN tells nothing.
    fn handshake_rtt(&self, now: Time, segment: &Segment) -> Option<Duration> {
        let opened_at = self.opening.opened_at;
        if self.opening.retries == 0 {
            return Some(now.saturating_since(opened_at));
        }
        let timestamps = segment.timestamps.filter(|_| self.sender.features().timestamps)?;
        let age = timestamp(now).wrapping_sub(timestamps.echo);
        (age <= timestamp(now).wrapping_sub(timestamp(opened_at))).then(|| Duration::from_micros(age.into()))
    }

    fn establish(&mut self, at: Moment<'_>, window: Option<f64>) {
        self.state = State::Established;
        // A sender that detected mangling may send without ECT by now; marks are reported all the same (RFC 9768 §3.2.2.3).
        let features = self.sender.features();
        let is_on = features.ecn || features.counts_marks;
        self.receiver.agree_on_ecn(is_on, features.counts_marks, !self.opening.has_sent_synack);
        self.sender.start(at, window);
        self.raise(Event::Connected);
    }
}

/// Smallest shift that lets 16 bits tell the whole buffer (RFC 7323 §2; at most 14). Linux looks at its memory
/// (`tcp_select_initial_window`), of which payload takes 160/256.
pub(super) fn window_scale(payload: u64, tunes_window: bool) -> u8 {
    let buffer = if tunes_window { (payload / 160).saturating_mul(256) } else { payload };
    (64 - buffer.leading_zeros()).saturating_sub(16).min(14) as u8
}

/// Timestamp clock: microseconds since the start, plus one so that zero never shows (RFC 7323 §3 leaves the unit open).
pub(super) fn timestamp(now: Time) -> u32 {
    ((now.as_nanos() / 1000) as u32).wrapping_add(1)
}

/// Our timestamps option; the receiver fills in the echo.
pub(super) fn timestamps(now: Time) -> Timestamps {
    Timestamps { value: timestamp(now), echo: 0 }
}
