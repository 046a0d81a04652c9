//! One TCP endpoint: its parts, the verbs that drive it, and what it tells.
//!
//! Reference: RFC 9293. The parts have a file each; this one only routes. The model card `docs/models/tcp.md` lists the
//! differences from Linux and from the RFCs.
//!
//! Units: stream offsets count payload bytes from 0; the FIN counts one more. Offset 0 has sequence number ISN + 1.
//! Invariants: una ≤ nxt ≤ written + FIN; the scoreboard spans [una, nxt).
//! Tested by packet scripts (`tests/packets`), the stream property test, pair tests in virtual time.

pub mod config;
mod handshake;
mod profile;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod stats;

use crate::segment::{Flags, Segment};
use crate::tcp::config::{Config, Handshake, Recovery};
use crate::tcp::handshake::{Features, State};
use crate::tcp::receiver::{Receiver, unwrap_near};
use crate::tcp::sender::pacing::Pacer;
use crate::tcp::sender::rack::Rack;
use crate::tcp::sender::rate_sample::RateEstimator;
use crate::tcp::sender::recovery::{Phase, RecoveryState};
use crate::tcp::sender::rtt::RttEstimator;
use crate::tcp::sender::scoreboard::Scoreboard;
use crate::tcp::sender::timers::Timers;
use crate::tcp::sender::transmit::Transmit;
use crate::tcp::sender::undo::UndoState;
use crate::tcp::sender::validation::Validator;
use crate::tcp::stats::{Stats, TcpInfo};
use playpath_cc::{AppParameters, CongestionControl, RecoveryWindow, Sibling, View};
use playpath_units::{Duration, Rate, Time};
use std::sync::Arc;

/// What the owner should know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// New bytes can be read.
    Readable,
    /// The send buffer has room again after a write that it cut short.
    Writable,
    /// The peer will send no more; what was received can still be read.
    PeerClosed,
    /// Both sides are closed.
    Closed,
    /// The connection was reset, or given up.
    Reset,
}

const EVENTS: [Event; 6] =
    [Event::Connected, Event::Readable, Event::Writable, Event::PeerClosed, Event::Closed, Event::Reset];

/// Several events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub(crate) u8);

impl Events {
    /// No event.
    pub const NONE: Events = Events(0);

    /// `event` is among them.
    pub const fn contains(self, event: Event) -> bool {
        self.0 & 1 << event as u8 != 0
    }
    /// All but `event`.
    pub const fn without(self, event: Event) -> Events {
        Events(self.0 & !(1 << event as u8))
    }
    /// There is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One TCP endpoint, full duplex. Payload is virtual: lengths and stream offsets.
pub struct Connection {
    /// Shared: a thousand flows of a group read the same lines of memory.
    pub(crate) config: Arc<Config>,
    pub(crate) cc: Box<dyn CongestionControl>,
    pub(crate) state: State,
    pub(crate) features: Features,
    /// First offset not acknowledged.
    pub(crate) una: u64,
    /// Next offset to send.
    pub(crate) nxt: u64,
    /// End of what the application wrote.
    pub(crate) written: u64,
    /// Right edge of the peer's window, and its largest width so far.
    pub(crate) peer_edge: u64,
    pub(crate) peer_window_max: u32,
    pub(crate) scoreboard: Scoreboard,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) rate: RateEstimator,
    pub(crate) recovery: RecoveryState,
    pub(crate) undo: UndoState,
    pub(crate) pacer: Pacer,
    pub(crate) validator: Validator,
    pub(crate) transmit: Transmit,
    pub(crate) timers: Timers,
    pub(crate) receiver: Receiver,
    pub(crate) stats: Stats,
    pub(crate) own_index: usize,
    /// Of each segment, paced as if they were payload.
    paced_option_bytes: u32,
    events: u8,
    is_write_cut: bool,
    /// The last write was cut: not the application is what the sender waits for (Linux `SOCK_NOSPACE`).
    pub(crate) is_writer_waiting: bool,
}

impl Connection {
    /// Active open. Connections with the same settings may share them.
    pub fn connect(now: Time, config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>) -> Connection {
        let mut connection = Connection::new(config.into(), cc, State::SynSent);
        if connection.config.handshake == Handshake::Skip {
            connection.skip_handshake(now);
        } else {
            connection.transmit.control = Some(connection.syn_flags());
            connection.transmit.opened_at = now;
        }
        connection
    }

    /// Passive open.
    pub fn listen(config: impl Into<Arc<Config>>, cc: Box<dyn CongestionControl>) -> Connection {
        let mut connection = Connection::new(config.into(), cc, State::Listen);
        if connection.config.handshake == Handshake::Skip {
            connection.skip_handshake(Time::ZERO);
        }
        connection
    }

    /// A segment arrived.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, siblings: &[Sibling]) {
        self.stats.segments_received += 1;
        self.transmit.burst = 0;
        match self.state {
            State::Established => self.handle_established(now, segment, siblings),
            _ => self.handle_handshake(now, segment, siblings),
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time, siblings: &[Sibling]) {
        self.transmit.burst = 0;
        self.receiver.handle_timeout(now);
        self.expire_timers(now, siblings);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.timers.earliest().min(self.receiver.ack_deadline())
    }

    /// Next event for the owner, in the order of [`Event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = Event::from_bits(self.events)?;
        self.events &= self.events - 1;
        Some(event)
    }

    /// All events for the owner at once, instead of [`poll_event`](Self::poll_event).
    #[inline]
    pub fn take_events(&mut self) -> Events {
        Events(std::mem::take(&mut self.events))
    }

    /// Append up to `bytes` to the stream; returns how many the send buffer took. Takes nothing after `close`.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.send_space());
        self.written += taken;
        self.is_write_cut |= taken < bytes;
        self.is_writer_waiting = taken < bytes;
        taken
    }

    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self) -> u64 {
        if self.transmit.is_closing || self.state == State::Closed {
            return 0;
        }
        self.config.send_buffer.saturating_sub(self.written - self.una)
    }

    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.written.saturating_sub(self.nxt)
    }

    /// Bytes in order and not read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Take up to `max` bytes in order; returns how many. Poll for a segment after it: the window may have opened.
    pub fn read(&mut self, max: u64) -> u64 {
        let taken = self.receiver.read(max);
        self.stats.bytes_delivered += taken;
        taken
    }

    /// No more data will be written; what was written is still delivered.
    pub fn close(&mut self, now: Time) {
        match self.state {
            State::Listen | State::SynSent => self.finish(now, Event::Closed),
            _ => self.transmit.is_closing = true,
        }
    }

    /// Reset the connection: the peer gets an RST, nothing more is delivered.
    pub fn abort(&mut self, now: Time) {
        if matches!(self.state, State::SynReceived | State::Established) {
            self.finish(now, Event::Reset);
            self.transmit.control = Some(Flags::RST.with(Flags::ACK));
        } else {
            self.finish(now, Event::Reset);
        }
    }

    /// The application tells what it knows of the video.
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        let view = self.view(now, &[]);
        self.cc.on_app_parameters(&view, &parameters);
    }

    /// State at this moment.
    pub fn info(&self) -> TcpInfo {
        let sampled = self.rtt.min_rtt < Duration::MAX;
        TcpInfo {
            snd_cwnd: self.send_window(),
            snd_ssthresh: self.cc.ssthresh(),
            rtt: self.rtt.srtt,
            rttvar: self.rtt.rttvar,
            min_rtt: sampled.then_some(self.rtt.min_rtt),
            rto: self.rtt.rto(&self.config.rto),
            delivery_rate: self.rate.latest,
            pacing_rate: self.pacing_rate(),
            unacked: self.scoreboard.packets_out(),
            sacked: self.sacked_out(),
            lost: self.scoreboard.lost_out(),
            retrans: self.scoreboard.retrans_out(),
            total_retrans: self.stats.retransmitted_packets,
            in_flight: self.in_flight(),
            notsent_bytes: self.unsent_bytes(),
            snd_wnd: self.peer_edge.saturating_sub(self.una),
            rcv_wnd: self.receiver.window(),
            rcv_ooo_bytes: self.receiver.out_of_order_bytes(),
            ca_state: self.recovery.phase.name(),
            phase: self.cc.phase(),
            app_limited: self.rate.is_app_limited(),
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The settings that the endpoint was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The congestion control.
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.cc
    }

    /// The handshake is complete and the connection is not closed.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Nothing more will be sent or received.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }

    /// RFC 9293 §3.3.2 name of the state.
    pub fn state_name(&self) -> &'static str {
        self.rfc_state_name()
    }

    /// What a coupled controller of a sibling subflow may know of this one.
    pub fn sibling(&self) -> Sibling {
        let in_recovery = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss);
        let ssthresh = self.cc.ssthresh();
        Sibling {
            // Linux OLIA takes ssthresh as the window during recovery.
            cwnd: if in_recovery && ssthresh.is_finite() { ssthresh } else { self.cc.cwnd() },
            ssthresh,
            srtt: self.rtt.srtt,
            min_rtt: self.rtt.min_rtt,
            established: self.state == State::Established,
            bytes_between_losses: self.recovery.bytes_between_losses,
            bytes_since_loss: self.stats.bytes_acked - self.recovery.acked_at_loss,
            mss: self.config.mss,
        }
    }

    /// Stream offset of the first payload byte of a segment that this endpoint sent.
    pub fn transmit_offset(&self, segment: &Segment) -> u64 {
        unwrap_near(segment.seq, self.config.isn.wrapping_add(1), self.nxt)
    }

    /// Stream offset of the first payload byte of a segment that arrived here; ask before or after handling it.
    pub fn receive_offset(&self, segment: &Segment) -> u64 {
        self.receiver.offset(segment.seq)
    }

    /// Offset after everything written.
    pub fn written_offset(&self) -> u64 {
        self.written
    }

    /// Next offset to be sent for the first time.
    pub(crate) fn next_offset(&self) -> u64 {
        self.nxt
    }

    /// Offset up to which everything written has been acknowledged.
    pub fn acknowledged_offset(&self) -> u64 {
        self.una.min(self.written)
    }
}

impl Event {
    /// The first event of a set of bits.
    pub(crate) fn from_bits(events: u8) -> Option<Event> {
        EVENTS.get(events.trailing_zeros() as usize).copied()
    }
}

impl Connection {
    /// A subflow, with its place among its siblings, whose segments `option_bytes` of MPTCP make smaller.
    pub(crate) fn become_subflow(&mut self, index: usize, option_bytes: u32) {
        self.own_index = index;
        self.paced_option_bytes = if self.config.paces_options { option_bytes } else { 0 };
        self.rate.set_fed();
    }
    /// New data stops here; `is_fed`: more will be written, only not yet.
    pub(crate) fn set_boundary(&mut self, offset: u64, is_fed: bool) {
        self.transmit.boundary = offset;
        self.transmit.is_fed = is_fed;
    }
    /// The owner has not heard of something yet, but for bytes that it can read.
    pub(crate) fn has_news(&self) -> bool {
        self.events & !(1 << Event::Readable as u8) != 0
    }
    /// Send an ACK with the next poll.
    pub(crate) fn request_ack(&mut self) {
        self.receiver.request_ack();
    }
    /// Send a segment that the peer must acknowledge.
    pub(crate) fn probe_window(&mut self) {
        self.transmit.probe = Some(crate::tcp::sender::transmit::Probe::Window);
    }

    fn new(config: Arc<Config>, cc: Box<dyn CongestionControl>, state: State) -> Connection {
        debug_assert_eq!(config.validate(), Ok(()));
        Connection {
            cc,
            state,
            features: Features::offered(&config),
            una: 0,
            nxt: 0,
            written: 0,
            peer_edge: 0,
            peer_window_max: 0,
            scoreboard: Scoreboard::default(),
            rtt: RttEstimator::new(&config.rto),
            rack: Rack::default(),
            rate: RateEstimator::default(),
            recovery: RecoveryState::default(),
            undo: UndoState::default(),
            pacer: Pacer::default(),
            validator: Validator::new(&config),
            transmit: Transmit::default(),
            timers: Timers::default(),
            receiver: Receiver::new(&config),
            stats: Stats::default(),
            own_index: 0,
            paced_option_bytes: 0,
            events: 0,
            is_write_cut: false,
            is_writer_waiting: false,
            config,
        }
    }

    pub(crate) fn raise(&mut self, event: Event) {
        self.events |= 1 << event as u8;
    }

    /// The send buffer may have room again.
    pub(crate) fn raise_writable(&mut self) {
        if self.is_write_cut && self.send_space() > 0 {
            self.is_write_cut = false;
            self.raise(Event::Writable);
        }
    }

    /// Read-only state for the controller.
    pub(crate) fn view<'a>(&self, now: Time, siblings: &'a [Sibling]) -> View<'a> {
        View {
            now,
            departs_at: self.pacer.next().max(now),
            mss: self.config.mss,
            srtt: self.rtt.srtt,
            rttvar: self.rtt.rttvar,
            min_rtt: self.rtt.min_rtt,
            in_flight: self.in_flight(),
            flight_size: self.scoreboard.packets_out(),
            delivered: self.rate.delivered,
            lost: self.rate.lost,
            sent: self.stats.data_segments_sent,
            in_recovery: matches!(self.recovery.phase, Phase::Recovery | Phase::Loss),
            own_index: self.own_index,
            siblings,
        }
    }

    /// Packets that left the network: SACKed, or counted by duplicate ACKs where the peer has no SACK.
    pub(crate) fn sacked_out(&self) -> u32 {
        self.scoreboard.sacked_out() + self.recovery.reno_sacked
    }

    /// Packets in the network by estimate.
    pub(crate) fn in_flight(&self) -> u32 {
        self.scoreboard.in_flight().saturating_sub(self.recovery.reno_sacked)
    }

    /// Congestion window in force, in packets.
    pub(crate) fn send_window(&self) -> f64 {
        if matches!(self.recovery.phase, Phase::Open | Phase::Loss)
            || self.cc.recovery_window() == RecoveryWindow::Controller
        {
            return self.cc.cwnd();
        }
        match self.features.recovery {
            Recovery::Prr => f64::from(self.recovery.prr.cwnd()),
            Recovery::Rfc6675 => self.cc.cwnd(),
            Recovery::NewReno => self.recovery.inflated,
        }
    }

    /// Pacing rate in force: the controller's, or the transport's rule.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.cc.pacing_rate().or_else(|| {
            if self.config.pacing.is_off() {
                return None;
            }
            let (cwnd, ssthresh) = (self.send_window(), self.cc.ssthresh());
            self.config.pacing.rate(cwnd, ssthresh, self.scoreboard.packets_out(), self.config.mss, self.rtt.srtt)
        });
        if self.paced_option_bytes == 0 { rate } else { rate.map(|rate| self.with_options(rate)) }
    }

    fn with_options(&self, rate: Rate) -> Rate {
        let mss = f64::from(self.features.mss);
        Rate::from_bits_per_sec_f64(rate.as_bits_per_sec() as f64 * (mss + f64::from(self.paced_option_bytes)) / mss)
    }

    /// The end, by whatever way.
    pub(crate) fn finish(&mut self, _now: Time, event: Event) {
        self.state = State::Closed;
        self.timers = Timers::default();
        self.transmit.control = None;
        self.receiver.drop_ack();
        self.scoreboard = Scoreboard::default();
        self.raise(event);
    }
}
