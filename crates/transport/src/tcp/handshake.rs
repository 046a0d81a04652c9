//! Opening and closing.
//!
//! Reference: RFC 9293 §3.5, §3.6, §3.10; option negotiation RFC 7323 §1.3, RFC 2018 §2, RFC 3168 §6.1.1.
//! Differences from the reference:
//! 1. States after ESTABLISHED are told apart by "own FIN sent, acknowledged" and "peer's FIN received";
//!    [`rfc_state_name`](Connection::rfc_state_name) gives the RFC's names.
//! 2. `Handshake::Skip`: both ends start established with the features of their own configuration, like
//!    ns-2's agents; both must have the same ISN.
//! 3. After an orderly close a retransmitted FIN is acknowledged without end, not answered by RST once TIME-WAIT is over:
//!    the owner may keep the endpoint for its figures.
//! 4. No SYN cookies, no data on SYN, no TCP Fast Open.
//!
//! Tested by `handshake_*.pkt`, `close_*.pkt` and the stream property test.

use crate::segment::{Flags, Segment, SynOptions, Timestamps};
use crate::tcp::config::{Config, FlowControl, LossDetection, PartialAckTimer, Recovery};
use crate::tcp::sender::timers::Timer;
use crate::tcp::{Connection, Event};
use playpath_cc::{Sibling, WindowChange};
use playpath_units::{Duration, Time};

/// State of the connection.
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

/// What both ends agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    /// Payload bytes of a full segment.
    pub mss: u32,
    pub detection: LossDetection,
    pub recovery: Recovery,
}

impl Features {
    /// What the configuration offers.
    pub fn offered(config: &Config) -> Features {
        Features {
            sack: config.sack,
            timestamps: config.timestamps,
            ecn: config.ecn,
            mss: config.mss,
            detection: config.loss_detection,
            recovery: config.recovery,
        }
        .consistent()
    }

    /// Without SACK only Reno's and NewReno's rules work; PRR works with both.
    fn consistent(mut self) -> Features {
        if !self.sack {
            if !self.detection.counts_duplicates() {
                self.detection = LossDetection::NewReno(PartialAckTimer::Impatient);
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

impl Connection {
    /// Both ends begin established.
    pub(crate) fn skip_handshake(&mut self, now: Time) {
        self.receiver.start(self.config.isn);
        self.peer_edge = self.config.receive_buffer;
        self.peer_window_max = self.config.receive_buffer.min(u64::from(u32::MAX)) as u32;
        self.establish(now, &[]);
    }

    /// A segment before the connection is established, or in TIME-WAIT.
    pub(crate) fn handle_handshake(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        match self.state {
            State::Listen => self.handle_listen(now, segment),
            State::SynSent => self.handle_syn_sent(now, segment, siblings),
            State::SynReceived => self.handle_syn_received(now, segment, siblings),
            State::TimeWait | State::Closed => self.handle_time_wait(now, segment),
            State::Established => {}
        }
    }

    /// Options of our SYN.
    pub(crate) fn syn_options(&self) -> SynOptions {
        SynOptions {
            mss: (self.config.mss + if self.features.timestamps { 12 } else { 0 }).min(65535) as u16,
            window_scale: Some(window_scale(self.config.receive_buffer)),
            sack_permitted: self.features.sack,
        }
    }

    /// The SYN or SYN-ACK was not answered.
    pub(crate) fn expire_handshake(&mut self, now: Time) {
        self.transmit.control_retries += 1;
        self.stats.rto_count += 1;
        if self.transmit.control_retries > self.config.max_syn_retries {
            return self.finish(now, Event::Reset);
        }
        self.rtt.back_off();
        self.transmit.control = Some(self.syn_flags());
    }

    /// Both FINs are through: the side that closed first waits for stray segments.
    pub(crate) fn finish_if_closed(&mut self, now: Time) {
        if !self.transmit.is_fin_acked || !self.receiver.is_finished() {
            return;
        }
        self.timers = Default::default();
        if self.transmit.closed_first && !self.config.time_wait.is_zero() {
            self.state = State::TimeWait;
            self.timers.set(Timer::TimeWait, now + self.config.time_wait);
        } else {
            self.state = State::Closed;
        }
        self.raise(Event::Closed);
    }

    pub(crate) fn syn_flags(&self) -> Flags {
        // RFC 3168 §6.1.1: ECE and CWR on the SYN offer ECN, ECE alone on the SYN-ACK accepts it.
        match (self.state, self.features.ecn) {
            (State::SynReceived, true) => Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            (State::SynReceived, false) => Flags::SYN.with(Flags::ACK),
            (_, true) => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            (_, false) => Flags::SYN,
        }
    }

    pub(crate) fn rfc_state_name(&self) -> &'static str {
        match self.state {
            State::Listen => "LISTEN",
            State::SynSent => "SYN-SENT",
            State::SynReceived => "SYN-RECEIVED",
            State::TimeWait => "TIME-WAIT",
            State::Closed => "CLOSED",
            State::Established => {
                let (sent, acked) = (self.transmit.is_fin_sent, self.transmit.is_fin_acked);
                match (sent, acked, self.receiver.is_finished()) {
                    (false, _, false) => "ESTABLISHED",
                    (false, _, true) => "CLOSE-WAIT",
                    (true, false, false) => "FIN-WAIT-1",
                    (true, true, _) => "FIN-WAIT-2",
                    (true, false, true) if self.transmit.closed_first => "CLOSING",
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
        let offers_ecn = segment.flags.contains(Flags::ECE.with(Flags::CWR));
        self.features.ecn &= offers_ecn;
        self.state = State::SynReceived;
        self.transmit.opened_at = now;
        self.transmit.control = Some(self.syn_flags());
    }

    fn handle_syn_sent(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.config.isn.wrapping_add(1);
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.finish(now, Event::Reset);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) || (segment.flags.contains(Flags::ACK) && !acks_syn) {
            return;
        }
        self.take_syn(now, segment);
        if !acks_syn {
            // Simultaneous open (RFC 9293 §3.5, figure 7).
            self.state = State::SynReceived;
            self.transmit.control = Some(self.syn_flags());
            return;
        }
        self.features.ecn &= segment.flags.0 & (Flags::ECE.0 | Flags::CWR.0) == Flags::ECE.0;
        self.peer_edge = u64::from(segment.window);
        self.peer_window_max = segment.window;
        self.receiver.request_ack();
        self.complete_handshake(now, siblings);
    }

    fn handle_syn_received(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        if segment.flags.contains(Flags::RST) {
            return self.finish(now, Event::Reset);
        }
        if segment.flags.contains(Flags::SYN) {
            if !segment.flags.contains(Flags::ACK) {
                self.transmit.control = Some(self.syn_flags()); // our SYN-ACK was lost
                return;
            }
        } else if !self.receiver.is_acceptable(segment) {
            return;
        }
        if segment.flags.contains(Flags::ACK)
            && segment.ack == self.config.isn.wrapping_add(1).wrapping_add(self.nxt as u32)
        {
            self.peer_edge = u64::from(segment.window);
            self.peer_window_max = segment.window;
            self.complete_handshake(now, siblings);
            if segment.payload_len > 0 || segment.flags.contains(Flags::FIN) {
                self.handle_established(now, segment, siblings);
            } else {
                self.receiver.handle_data(now, segment, None); // its timestamp is the first to echo
            }
        }
    }

    fn handle_time_wait(&mut self, now: Time, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            self.state = State::Closed;
            self.timers = Default::default();
        } else if segment.sequence_len() > 0 && self.receiver.is_finished() {
            // The last ACK was lost (RFC 9293 §3.10.7.4).
            self.receiver.request_ack();
            if self.state == State::TimeWait {
                self.timers.set(Timer::TimeWait, now + self.config.time_wait);
            }
        }
    }

    /// Peer's sequence number and options.
    fn take_syn(&mut self, now: Time, segment: &Segment) {
        self.receiver.start(segment.seq);
        if let (Some(timestamps), true) = (segment.timestamps, self.config.timestamps) {
            self.receiver.start_timestamps(now, timestamps.value);
        }
        let peer_mss = if segment.syn_options.mss == 0 { 536 } else { u32::from(segment.syn_options.mss) };
        let timestamps = self.config.timestamps && segment.timestamps.is_some();
        let option_bytes = if timestamps { 12 } else { 0 };
        self.features = Features {
            sack: self.config.sack && segment.syn_options.sack_permitted,
            timestamps,
            mss: self.config.mss.min(peer_mss.saturating_sub(option_bytes).max(1)),
            detection: self.config.loss_detection,
            recovery: self.config.recovery,
            ..self.features
        }
        .consistent();
    }

    fn complete_handshake(&mut self, now: Time, siblings: &[Sibling]) {
        self.timers.clear(Timer::Retransmit);
        self.transmit.control = None;
        if self.transmit.control_retries == 0 {
            let sample = now.saturating_since(self.transmit.opened_at);
            self.take_rtt_sample(sample);
            self.rtt.observe_min(sample);
        } else {
            self.rtt.set_initial(RTO_AFTER_SYN_LOSS.max(self.config.rto.initial));
        }
        self.establish(now, siblings);
        if self.transmit.control_retries > 1 {
            // RFC 5681 §3.1; Linux waits for the second loss, too.
            let change = WindowChange { cwnd: 1.0, ssthresh: self.cc.ssthresh() };
            let view = self.view(now, siblings);
            self.cc.on_window_change(&view, &change);
        }
    }

    fn establish(&mut self, now: Time, siblings: &[Sibling]) {
        self.state = State::Established;
        if self.config.flow_control == FlowControl::Above {
            self.peer_edge = u64::MAX;
        }
        let view = self.view(now, siblings);
        self.cc.on_connection_start(&view);
        self.raise(Event::Connected);
    }
}

/// Smallest shift that lets 16 bits tell the whole buffer (RFC 7323 §2; at most 14).
fn window_scale(buffer: u64) -> u8 {
    (0..14).find(|shift| buffer >> shift <= 65535).unwrap_or(14)
}

/// Timestamp clock: microseconds since the start, plus one so that zero never shows (RFC 7323 §3 leaves the unit open).
pub(crate) fn timestamp(now: Time) -> u32 {
    ((now.as_nanos() / 1000) as u32).wrapping_add(1)
}

/// Our timestamps option; the receiver fills in the echo.
pub(crate) fn timestamps(now: Time) -> Timestamps {
    Timestamps { value: timestamp(now), echo: 0 }
}
