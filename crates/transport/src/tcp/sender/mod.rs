//! The sending half: transmission, processing of acknowledgements, loss detection and repair.
//!
//! Each part has its own file: the state of the stream, the scoreboard, RTT, delivery rate, duplicate ACKs, loss detection, the phases
//! of recovery, the reduction of the window, window validation, pacing, timers. A part owns its fields and writes to no other;
//! [`Sender`] queries them and acts on the results: `ack.rs` for an acknowledgement, `reaction.rs` for losses and timers,
//! `transmit.rs` for sending, `tso.rs` for groups.
//!
//! Invariants: una ≤ nxt ≤ written + FIN; the scoreboard spans [una, nxt).

mod ack;
mod detection;
mod distance;
mod duplicates;
mod frto;
mod marks;
mod pacing;
mod prr;
mod rate_sample;
mod reaction;
mod recovery;
mod reduction;
mod rtt;
mod scoreboard;
mod stream;
mod tail_probe;
mod timers;
mod transmit;
mod tso;
mod undo;
mod usage;
mod validation;

use super::config::{self, Config, FlowControl};
use super::handshake::Features;
use super::moment::Moment;
use super::stats::{Counters, Stats, TcpInfo};
use crate::segment::AccEcn;
use crate::transports::PathInfo;
use detection::Detector;
use detection::reno::HeadChecks;
pub(super) use distance::LossDistance;
use duplicates::Duplicates;
use marks::{Echo, Marks};
use pacing::Pacer;
use playpath_cc::{AppParameters, CongestionControl, RecoveryWindow, Sibling, View, WindowChange};
use playpath_units::{Duration, Rate, Time};
use rate_sample::RateEstimator;
pub(crate) use recovery::Phase;
use recovery::Recovery;
use reduction::Reduction;
pub use rtt::RttEstimator;
use scoreboard::Scoreboard;
use std::sync::Arc;
use stream::Stream;
use tail_probe::{TailProbe, probe_timeout};
use timers::{Need, Timers};
pub(super) use transmit::Outgoing;
use transmit::Probe;
use tso::Group;
pub use usage::Usage;
use validation::Validator;
pub use validation::window_after_idle;

/// The sending half of a TCP endpoint.
pub(crate) struct Sender {
    /// Shared: a thousand flows of a group read the same lines of memory.
    config: Arc<Config>,
    control: Box<dyn CongestionControl>,
    /// The transport sets the window in recovery, and window validation may change it (Linux: controls without `cong_control`).
    is_window_ours: bool,
    features: Features,
    stream: Stream,
    scoreboard: Scoreboard,
    rtt: RttEstimator,
    rate: RateEstimator,
    duplicates: Duplicates,
    detector: Detector,
    head: HeadChecks,
    recovery: Recovery,
    /// Made when the window is first reduced.
    reduction: Option<Box<Reduction>>,
    tail_probe: TailProbe,
    validator: Validator,
    usage: Usage,
    pacer: Pacer,
    group: Group,
    timers: Timers,
    probe: Option<Probe>,
    /// Data packets sent since the last event.
    burst: u32,
    /// The window has room, but Linux waits for an ACK that allows a whole group to be sent.
    is_deferred: bool,
    /// A poll found nothing to send, and nothing has happened since that could change that, or what the poll noted.
    is_settled: bool,
    /// The timeout or a reordering window that ended is the last event.
    is_repair_due: bool,
    /// Set CWR on the next new data (RFC 3168 §6.1.2).
    send_cwr: bool,
    marks: Marks,
    is_write_cut: bool,
    /// The last write was cut short, so the sender does not wait for the application (Linux `SOCK_NOSPACE`).
    is_writer_waiting: bool,
    own_index: u32,
    /// Option bytes of each segment that are paced as if they were payload.
    paced_option_bytes: u32,
    counters: Counters,
}

impl Sender {
    pub fn new(config: Arc<Config>, control: Box<dyn CongestionControl>) -> Sender {
        let features = Features::offered(&config);
        Sender {
            is_window_ours: control.recovery_window() == RecoveryWindow::Transport,
            control,
            features,
            stream: Stream::new(),
            scoreboard: Scoreboard::default(),
            rtt: RttEstimator::new(&config.rto),
            rate: RateEstimator::default(),
            duplicates: Duplicates::default(),
            detector: Detector::new(features.detection),
            head: HeadChecks::default(),
            recovery: Recovery::default(),
            reduction: None,
            tail_probe: TailProbe::default(),
            validator: Validator::new(&config),
            usage: Usage::default(),
            pacer: Pacer::default(),
            group: Group::default(),
            timers: Timers::default(),
            probe: None,
            burst: 0,
            is_deferred: false,
            is_settled: false,
            is_repair_due: false,
            send_cwr: false,
            marks: Marks::default(),
            is_write_cut: false,
            is_writer_waiting: false,
            own_index: 0,
            paced_option_bytes: 0,
            counters: Counters::default(),
            config,
        }
    }

    /// Become subflow `index` of an MPTCP connection; its options take `option_bytes` of each segment.
    pub fn become_subflow(&mut self, index: usize, option_bytes: u32) {
        self.is_settled = false;
        self.own_index = index as u32;
        self.paced_option_bytes = if self.config.paces_options { option_bytes } else { 0 };
        self.rate.set_fed();
    }

    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn agree(&mut self, features: Features) {
        self.is_settled = false;
        self.features = features;
        self.detector = Detector::new(features.detection);
        self.reduction = None;
    }
    pub fn features(&self) -> Features {
        self.features
    }
    /// From now on data is sent as Not-ECT, and the peer's reports of marks are ignored (RFC 9768 §3.2.2.3, §3.2.2.4); marks of the peer's
    /// packets are still reported.
    pub fn send_without_ect(&mut self) {
        self.features.ecn = false;
    }
    /// The accurate-ECN option of the peer's first segment, if it has one.
    pub fn check_first_accecn(&mut self, option: Option<AccEcn>) {
        self.marks.check_first(option);
    }
    pub fn open_window(&mut self, window: u64) {
        self.is_settled = false;
        self.stream.open_window(window);
    }
    /// The SYN was not answered in time. `is_linear`: the next timeout has the same length (`tcp_syn_linear_timeouts`).
    pub fn note_syn_timeout(&mut self, is_linear: bool) {
        self.counters.note().rto_count += 1;
        if !is_linear {
            self.rtt.back_off();
        }
    }
    pub fn take_handshake_rtt(&mut self, sample: Duration) {
        self.estimate_rtt(sample);
        self.rtt.observe_min(sample);
    }
    /// The handshake needed retransmissions: data starts from this timeout.
    pub fn set_initial_rto(&mut self, rto: Duration) {
        self.rtt.set_initial(rto);
    }
    /// The connection is established. `window`: initial congestion window, if losses of the handshake reduce it.
    pub fn start(&mut self, at: Moment<'_>, window: Option<f64>) {
        self.is_settled = false;
        if self.config.flow_control == FlowControl::Above {
            self.stream.ignore_window();
        }
        self.restart_rto(at.now); // a window that is closed from the start is probed after one RTO (RFC 9293 §3.8.6.1)
        let view = self.view(at);
        self.control.on_connection_start(&view);
        let change = window.map(|cwnd| WindowChange { cwnd, ssthresh: self.control.ssthresh() });
        self.apply(at, change);
    }
    pub fn stop(&mut self) {
        self.is_settled = false;
        self.timers = Timers::default();
        self.probe = None;
    }
    pub fn forget_outstanding(&mut self) {
        self.is_settled = false;
        self.scoreboard = Scoreboard::default();
    }
    pub fn on_event(&mut self) {
        self.burst = 0;
        self.is_repair_due = false;
    }

    /// Append up to `bytes` to the stream; returns how many the buffer took.
    pub fn write(&mut self, bytes: u64) -> u64 {
        self.is_settled = false;
        self.is_repair_due = false;
        let taken = bytes.min(self.send_space());
        self.stream.write(taken);
        self.is_write_cut |= taken < bytes;
        self.is_writer_waiting = taken < bytes;
        taken
    }
    /// Whether the last write to the buffer of the layer above was cut short.
    pub fn set_writer_waiting(&mut self, is_waiting: bool) {
        self.is_settled = false;
        self.is_writer_waiting = is_waiting;
    }
    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self) -> u64 {
        if self.stream.is_closing() {
            return 0;
        }
        self.config.send_buffer.saturating_sub(self.stream.written() - self.stream.una())
    }
    /// A write was cut short, and the buffer has room again; `true` only once.
    #[inline]
    pub fn take_room_again(&mut self) -> bool {
        let has_room = self.is_write_cut && self.send_space() > 0;
        self.is_write_cut &= !has_room;
        has_room
    }
    pub fn close(&mut self) {
        self.is_settled = false;
        self.stream.close();
    }
    /// No new data is sent beyond `offset`; `is_fed`: more will be written later.
    pub fn set_boundary(&mut self, offset: u64, is_fed: bool) {
        self.is_settled = false;
        self.stream.set_boundary(offset, is_fed);
    }
    /// Send a segment that the peer must acknowledge.
    pub fn probe_window(&mut self) {
        self.is_settled = false;
        self.probe = Some(Probe::Window);
    }
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.is_settled = false;
        let view = self.view(now.into());
        self.control.on_app_parameters(&view, &parameters);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }
    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    pub fn rto(&self) -> Duration {
        self.rtt.rto(&self.config.rto)
    }
    pub fn phase(&self) -> Phase {
        self.recovery.phase()
    }
    pub fn delivery_rate(&self) -> Rate {
        self.rate.latest()
    }
    pub fn control(&self) -> &dyn CongestionControl {
        &*self.control
    }
    pub fn stats(&self) -> Stats {
        self.counters.stats(self.rate.lost())
    }
    pub fn rto_count(&self) -> u64 {
        self.counters.loss_stats().rto_count
    }

    pub fn info(&self) -> TcpInfo {
        let min_rtt = self.rtt.min_rtt();
        TcpInfo {
            path: PathInfo {
                cwnd: self.send_window(),
                ssthresh: self.control.ssthresh(),
                rtt: self.rtt.srtt(),
                min_rtt: (min_rtt < Duration::MAX).then_some(min_rtt),
                delivery_rate: self.rate.latest(),
                pacing_rate: self.pacing_rate(),
                unacked: self.scoreboard.packets_out(),
                in_flight: self.in_flight(),
                sacked: self.sacked_out(),
                lost: self.scoreboard.lost_out(),
                retrans: self.scoreboard.retrans_out(),
                total_retrans: self.counters.loss_stats().retransmitted_packets,
                bytes_acked: self.counters.bytes_acked,
            },
            rttvar: self.rtt.rttvar(),
            rto: self.rto(),
            notsent_bytes: self.stream.unsent(),
            rcv_wnd: 0,
            rcv_ooo_bytes: 0,
            ca_state: self.recovery.phase().name(),
            phase: self.control.phase(),
            app_limited: self.rate.is_app_limited(),
        }
    }

    /// State of this subflow for the coupled controllers of its siblings, once it is established.
    pub fn sibling(&self) -> Sibling {
        let (ssthresh, distance) = (self.control.ssthresh(), self.counters.distance());
        let is_reduced = self.recovery.phase().is_repairing() && ssthresh.is_finite();
        Sibling {
            // Linux OLIA takes ssthresh as the window during recovery.
            cwnd: if is_reduced { ssthresh } else { self.control.cwnd() },
            ssthresh,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            established: true,
            bytes_between_losses: distance.between_losses(),
            bytes_since_loss: distance.since_loss(self.counters.bytes_acked),
            mss: self.config.mss,
        }
    }

    pub fn windows(&self) -> WindowChange {
        WindowChange { cwnd: self.control.cwnd(), ssthresh: self.control.ssthresh() }
    }
    pub fn change_windows(&mut self, at: Moment<'_>, change: WindowChange) {
        self.is_settled = false;
        let view = self.view(at);
        self.control.on_window_change(&view, &change);
    }

    /// Estimated number of packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.scoreboard.in_flight().saturating_sub(self.duplicates.arrived())
    }
    /// Congestion window in force, in packets.
    pub fn send_window(&self) -> f64 {
        let cwnd = self.control.cwnd();
        match &self.reduction {
            Some(reduction) if self.recovery.phase().is_reducing() && self.is_window_ours => reduction.window(cwnd),
            _ => cwnd,
        }
    }
    /// Pacing rate in force: the controller's, or the transport's rule.
    #[inline(always)]
    pub fn pacing_rate(&self) -> Option<Rate> {
        let rate = self.control.pacing_rate().or_else(|| {
            if self.config.pacing.is_off() {
                return None;
            }
            let (cwnd, ssthresh) = (self.send_window(), self.control.ssthresh());
            self.config.pacing.rate(cwnd, ssthresh, self.scoreboard.packets_out(), self.config.mss, self.rtt.srtt())
        });
        if self.paced_option_bytes == 0 { rate } else { rate.map(|rate| self.with_options(rate)) }
    }

    fn with_options(&self, rate: Rate) -> Rate {
        let mss = f64::from(self.features.mss);
        Rate::from_bits_per_sec_f64(rate.as_bits_per_sec() as f64 * (mss + f64::from(self.paced_option_bytes)) / mss)
    }

    fn reduction(&mut self) -> &mut Reduction {
        self.reduction.get_or_insert_with(|| Box::new(Reduction::new(self.features.recovery)))
    }

    /// No loss, reordering or ECN-Echo is being handled.
    pub fn is_ca_open(&self) -> bool {
        self.recovery.phase() == Phase::Open && self.sacked_out() == 0
    }

    /// Reductions for ECN-Echo are Linux's. Its scalable controls count marks, and no kernel to compare with does.
    fn reduces_as_linux(&self) -> bool {
        self.features.recovery == config::Recovery::Prr && !self.features.counts_marks
    }

    /// Duplicate ACKs stand for SACK, as in Linux (`tcp_is_reno`).
    fn emulates_sack(&self) -> bool {
        !self.features.sack && self.features.recovery == config::Recovery::Prr
    }

    /// Packets known to have arrived out of order: SACKed, or counted by duplicate ACKs if the peer does not use SACK.
    fn sacked_out(&self) -> u32 {
        self.scoreboard.sacked_out() + self.duplicates.arrived()
    }

    /// Read-only state for the controller.
    fn view<'a>(&self, at: Moment<'a>) -> View<'a> {
        View {
            now: at.now,
            departs_at: self.pacer.next().max(at.now),
            mss: self.config.mss,
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            in_flight: self.in_flight(),
            flight_size: self.scoreboard.packets_out(),
            delivered: self.rate.delivered(),
            lost: self.rate.lost(),
            sent: self.counters.data_segments_sent,
            in_recovery: self.recovery.phase().is_repairing(),
            own_index: self.own_index as usize,
            siblings: at.siblings,
            stream_acked: at.stream_acked,
        }
    }

    fn restart_rto(&mut self, now: Time) {
        self.timers.restart_rto(now, self.rto());
    }

    /// SND.UNA moved (RFC 6298 §5.3). Where the timer ran for a probe or a reordering window, the RTO counts from when the head was sent
    /// (Linux `tcp_rearm_rto`).
    fn restart_rto_by_progress(&mut self, now: Time) {
        let head = self.scoreboard.front().filter(|_| self.timers.is_early());
        let from = head.map_or(now, |head| head.sent_at);
        self.timers.restart_rto(from, self.rto());
    }

    /// Set the retransmission timer by what is outstanding now.
    #[inline(always)]
    fn rearm(&mut self) {
        let need = if !self.scoreboard.is_empty() {
            Need::Outstanding { may_probe: self.may_probe() || self.keeps_probe() }
        } else if self.stream.is_window_blocked() {
            let backoff = self.stream.persist_backoff().min(16);
            Need::Window((self.rtt.base_rto() * (1 << backoff)).min(self.config.rto.max))
        } else {
            Need::Nothing
        };
        self.timers.rearm(need);
    }

    /// The time to a tail loss probe begins: new data was sent, or SND.UNA moved (`is_advance`). It is no longer than the RTO, which runs
    /// from this ACK, or from when the head was sent (Linux `tcp_schedule_loss_probe`, `tcp_rto_delta_us`). Linux has one timer for all,
    /// so the end of a reordering window is no longer waited for.
    fn schedule_probe(&mut self, now: Time, is_advance: bool) {
        let Some(head) = self.scoreboard.front().filter(|_| self.may_probe()) else {
            return self.timers.probe_at(Time::MAX);
        };
        let rto = self.rto();
        let left = if is_advance { rto } else { (head.sent_at + rto).saturating_since(now) };
        let timeout = probe_timeout(self.rtt.srtt(), self.scoreboard.packets_out());
        self.timers.probe_at(now + if left.is_zero() { timeout } else { timeout.min(left) });
        self.timers.look_again(Time::MAX);
    }

    /// A tail loss probe is allowed (RFC 8985 §7.2): nothing SACKed, nothing lost. Linux asks for neither while it reduces for ECN-Echo.
    fn may_probe(&self) -> bool {
        self.detector.sends_tail_probes()
            && match self.recovery.phase() {
                Phase::Open => self.scoreboard.sacked_out() == 0 && self.scoreboard.lost_out() == 0,
                Phase::Cwr => true,
                Phase::Recovery | Phase::Loss => false,
            }
    }

    /// A probe that was due when the recovery began is sent nevertheless unless a repair leaves before (Linux has one timer for all, and
    /// only the head's repair sets it to the timeout).
    fn keeps_probe(&self) -> bool {
        self.recovery.phase() == Phase::Recovery && self.recovery.retransmitted() == 0
    }
}
