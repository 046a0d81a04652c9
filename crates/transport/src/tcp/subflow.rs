//! MPTCP's interface to a connection that is its subflow.

use super::{Connection, Event, Moment, Phase, State};
use crate::segment::{Flags, Segment};
use playpath_cc::WindowChange;
use playpath_units::{Duration, Rate, Time};

impl Connection {
    /// Become subflow `index` of an MPTCP connection; its options take `option_bytes` of each segment.
    pub(crate) fn become_subflow(&mut self, index: usize, option_bytes: u32) {
        self.sender.become_subflow(index, option_bytes);
        self.receiver.become_subflow(option_bytes);
    }
    /// No new data is sent beyond `offset`; `is_fed`: more will be written later.
    pub(crate) fn set_boundary(&mut self, offset: u64, is_fed: bool) {
        self.sender.set_boundary(offset, is_fed);
    }
    /// Whether TCP accepts the segment by sequence number, timestamp and ACK: only then are its options processed. Changes nothing.
    pub(crate) fn accepts(&self, now: Time, segment: &Segment) -> bool {
        let [is_syn, is_rst, is_ack] = [Flags::SYN, Flags::RST, Flags::ACK].map(|flag| segment.flags.contains(flag));
        let acks_syn = || is_ack && segment.ack == self.config().isn.wrapping_add(1);
        let is_in_place = || self.receiver.is_acceptable(segment) || self.receiver.is_last_again(segment);
        match self.state {
            State::Listen => true,
            State::SynSent => acks_syn() || !is_ack,
            _ if is_rst => self.receiver.is_next(segment),
            State::SynReceived => is_syn || acks_syn(), // regardless of its sequence number: a probe of a closed window has the keys as well
            State::TimeWait | State::Closed => is_in_place(),
            State::Established => {
                let is_plausible = !is_syn && is_ack && self.sender.is_plausible_ack(segment.ack);
                is_plausible && is_in_place() && self.is_timely(now, segment)
            }
        }
    }
    /// PAWS (RFC 7323 §5.3).
    #[inline(always)]
    pub(super) fn is_timely(&self, now: Time, segment: &Segment) -> bool {
        let is_old = |timestamps| self.receiver.is_old_timestamp(now, timestamps);
        !self.sender.features().timestamps || segment.timestamps.is_some_and(|timestamps| !is_old(timestamps))
    }
    pub(crate) fn set_writer_waiting(&mut self, is_waiting: bool) {
        self.sender.set_writer_waiting(is_waiting);
    }
    /// There are events that the owner has not polled yet, other than readable bytes.
    pub(crate) fn has_pending_events(&self) -> bool {
        self.events & !(1 << Event::Readable as u8) != 0
    }
    /// The peer's FIN and everything before it arrived.
    pub(crate) fn has_peer_closed(&self) -> bool {
        self.receiver.is_finished()
    }
    pub(crate) fn request_ack(&mut self) {
        self.receiver.request_ack();
    }
    /// Set the connection's window: as advertised with this subflow's last ACK, and whether one as wide can be advertised again; if not,
    /// Linux waits for the reader.
    pub(crate) fn set_window_above(&mut self, advertised_window: u32, is_open: bool) {
        self.receiver.set_window_above(advertised_window, is_open);
    }
    pub(crate) fn waits_for_reader(&self, all: bool) -> bool {
        self.receiver.waits_for_reader(all)
    }
    pub(crate) fn probe_window(&mut self) {
        self.sender.probe_window();
    }
    /// A poll would certainly find nothing to send: it would only call [`note_pause`](Self::note_pause).
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        self.state == State::Established
            && self.sender.is_exhausted()
            && !self.receiver.must_ack()
            && !self.opening.has_segment()
    }
    /// Nothing more is sent now.
    #[inline(always)]
    pub(crate) fn note_pause(&mut self, at: Moment<'_>) {
        self.sender.note_pause(at);
    }
    /// After a poll without a segment: only an event can allow new data, neither time nor more data.
    #[inline]
    pub(crate) fn waits_for_room(&self) -> bool {
        self.sender.waits_for_room()
    }
    /// Next offset to be sent for the first time.
    pub(crate) fn next_offset(&self) -> u64 {
        self.sender.stream().nxt()
    }
    pub(crate) fn windows(&self) -> WindowChange {
        self.sender.windows()
    }
    /// The controller's slow start threshold, in packets.
    pub(crate) fn ssthresh(&self) -> f64 {
        self.sender.control().ssthresh()
    }
    pub(crate) fn change_windows(&mut self, at: Moment<'_>, change: WindowChange) {
        self.sender.change_windows(at, change);
    }
    /// What a pause leaves of the window, before anything is sent.
    pub(crate) fn validate_after_idle(&mut self, at: Moment<'_>) {
        self.sender.validate_after_idle(at);
    }
    pub(crate) fn send_window(&self) -> f64 {
        self.sender.send_window()
    }
    pub(crate) fn in_flight(&self) -> u32 {
        self.sender.in_flight()
    }
    /// Linux's TCP_CA_Open.
    pub(crate) fn is_ca_open(&self) -> bool {
        self.sender.is_ca_open()
    }
    /// Round-trip time as the receiver measures it; zero before the first sample.
    pub(crate) fn receiver_rtt(&self) -> Duration {
        self.receiver.rtt()
    }
    /// Threshold of the receive window to which the segments of this subflow have raised it.
    pub(crate) fn receive_threshold(&self) -> u64 {
        self.receiver.threshold()
    }
    /// `copied` bytes of the connection were read in a round trip, and its receive buffer grew.
    pub(crate) fn grow_receive_buffer(&mut self, copied: u64) {
        self.receiver.follow(copied);
    }
    pub(crate) fn has_brought_data(&self) -> bool {
        self.receiver.data_segments() > 0
    }
    pub(crate) fn phase(&self) -> Phase {
        self.sender.phase()
    }
    /// Payload bytes of a full segment.
    pub(crate) fn mss(&self) -> u32 {
        self.sender.features().mss
    }
    pub(crate) fn srtt(&self) -> Duration {
        self.sender.rtt().srtt()
    }
    pub(crate) fn rttvar(&self) -> Duration {
        self.sender.rtt().rttvar()
    }
    pub(crate) fn rto(&self) -> Duration {
        self.sender.rto()
    }
    pub(crate) fn rto_count(&self) -> u64 {
        self.sender.rto_count()
    }
    pub(crate) fn delivery_rate(&self) -> Rate {
        self.sender.delivery_rate()
    }
    #[inline(always)]
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacing_rate()
    }
}
