//! Creation of a connection, handling of subflow events, failure of paths, and the end.
//!
//! Reference and differences: see `mod.rs`.

use super::checksums::Failure;
use super::level::{DataLevel, Watch};
use super::receiving::DataReceiver;
use super::scheduler::Scheduler;
use super::subflow::{PathConfig, SentMappings, Stage, Subflow};
use super::subflows::Subflows;
use super::{MAX_PATHS, MptcpConfig, MptcpConnection};
use crate::tcp::config::{Config, FlowControl, Handshake, HeaderSize};
use crate::tcp::{Connection, Event};
use playpath_cc::Sibling;
use playpath_units::{Duration, Time};

/// Bytes that a DSS option with DATA_ACK and mapping takes from a segment.
const DSS_RESERVE: u32 = 24;
/// Subflow streams have no window of their own: the connection's counts.
const UNLIMITED: u64 = 1 << 30;

impl MptcpConnection {
    pub(super) fn new(
        config: MptcpConfig,
        scheduler: Box<dyn Scheduler>,
        paths: Vec<PathConfig>,
        is_client: bool,
    ) -> MptcpConnection {
        assert!((1..=MAX_PATHS).contains(&paths.len()), "{} paths; 1 to {MAX_PATHS} are possible", paths.len());
        let mss = paths.iter().map(|p| p.tcp.mss).max().unwrap_or(0);
        let receiver = DataReceiver::new(config.receive_buffer, mss, paths[0].tcp.tunes_window);
        let subflows: Vec<_> = paths.into_iter().zip(0..).map(|(path, index)| Subflow::new(path, index)).collect();
        let idle = Sibling {
            cwnd: 1.0,
            ssthresh: f64::INFINITY,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            established: false,
            bytes_between_losses: 0,
            bytes_since_loss: 0,
            mss,
        };
        let siblings = if config.is_coupled { vec![idle; subflows.len()] } else { vec![] };
        let reads_backlog = scheduler.reads_backlog();
        let mut level = DataLevel::new(scheduler, subflows.len(), Watch::Nothing);
        level.set_send_buffer(config.send_buffer);
        MptcpConnection {
            is_client,
            peer_key: None,
            own_zero: 0,
            peer_zero: 0,
            is_fallback: false,
            is_confirmed: false,
            is_peer_wide: false,
            reads_backlog,
            level,
            subflows: Subflows::new(subflows, siblings),
            receiver,
            addresses: Vec::new(),
            unechoed: 0,
            announce_at: Time::MAX,
            announced: 0,
            is_write_cut: false,
            has_checksums: false,
            is_alone: true,
            failure: Failure::None,
            is_aborted: false,
            app_parameters: None,
            events: 0,
            bytes_delivered: 0,
            config,
        }
    }

    pub(super) fn raise(&mut self, event: Event) {
        self.events |= 1 << event as u8;
    }

    pub(super) fn subflow_config(&self, config: Config, path: usize) -> Config {
        Config {
            mss: config.mss.saturating_sub(option_bytes(&config)).max(1),
            send_buffer: u64::MAX / 4,
            receive_buffer: UNLIMITED,
            tunes_window: self.receiver.is_tuned(),
            flow_control: FlowControl::Above,
            handshake: Handshake::Full, // keys travel in it
            nagle: false,               // the scheduler decides when a segment leaves
            isn: config.isn.wrapping_add(path as u32),
            ..config
        }
    }

    /// Pass in-order bytes of a subflow to the data level.
    #[inline(always)]
    pub(super) fn take_data(&mut self, now: Time, path: usize) {
        let (before, was_finished) = (self.receiver.arrivals.next(), self.receiver.arrivals.is_finished());
        let subflow = self.subflows.touch(path);
        while subflow.tcp.as_ref().is_some_and(|tcp| tcp.readable() > 0)
            && let Some((start, end)) = subflow.take(self.is_fallback)
        {
            self.receiver.insert(now, start, end);
        }
        if self.receiver.arrivals.next() > before && self.receiver.readable() > 0 {
            self.raise(Event::Readable);
        }
        if self.receiver.arrivals.is_finished() && !was_finished {
            self.on_finished();
        }
    }

    /// Update the window after data arrived, in order on their subflow or not.
    #[inline(always)]
    pub(super) fn tune_window(&mut self, now: Time, path: usize) {
        if let Some(tcp) = &self.subflows[path].tcp {
            let subflows = || (self.subflows.receiver_rtt(), self.subflows.is_one_silent());
            self.receiver.tune(now, path, tcp.receive_threshold(), subflows);
        }
    }

    /// A subflow's TCP may have changed its state, lost a timer or made progress.
    #[inline(always)]
    pub(super) fn after_subflow_event(&mut self, now: Time, path: usize) {
        if self.subflows[path].tcp.as_ref().is_some_and(Connection::has_pending_events) {
            self.take_tcp_events(now, path);
        }
        self.subflows.note_sibling(path);
        let subflow = self.subflows.touch(path);
        let Some(tcp) = &subflow.tcp else { return };
        let (rto_count, una, srtt) = (tcp.rto_count(), tcp.acknowledged_offset(), tcp.srtt());
        subflow.note_srtt(srtt);
        if subflow.failed_at.is_some_and(|at| una > at) {
            subflow.failed_at = None;
        }
        subflow.sent.forget_acknowledged(una);
        if rto_count > subflow.rto_count {
            subflow.rto_count = rto_count;
            self.suspect(path, una);
        }
    }

    /// The timer of `path` expired while `una` was the first offset not acknowledged: considered failed until that moves.
    #[cold]
    fn suspect(&mut self, path: usize, una: u64) {
        if self.subflows[path].is_ready() {
            self.level.note_failure(path);
            self.subflows.touch(path).failed_at = Some(una);
            self.reinject_held(path);
        }
    }

    /// Reset the subflow of `path`, if there is one.
    #[cold]
    pub(super) fn drop_path(&mut self, path: usize) {
        if self.subflows.get(path).is_some_and(|subflow| subflow.tcp.is_some() && subflow.stage != Stage::Dead) {
            if let Some(tcp) = &mut self.subflows.touch(path).tcp {
                tcp.abort();
                while tcp.poll_event().is_some() {}
            }
            self.retire_subflow(path);
        }
    }

    /// Queue for other paths everything that the path holds unacknowledged and that no usable path carries.
    #[cold]
    fn reinject_held(&mut self, path: usize) {
        let held = self.subflows[path].sent.held();
        self.level.reinject_held(path, self.subflows.usable(), |start| held.binary_search(&start).is_ok());
    }

    #[cold]
    pub(super) fn retire_subflow(&mut self, path: usize) {
        self.subflows.touch(path).stage = Stage::Dead;
        self.reinject_held(path);
        self.subflows.touch(path).sent = SentMappings::default();
        self.subflows.note_sibling(path);
        if self.subflows.iter().all(|s| matches!(s.stage, Stage::Dead | Stage::Idle)) && !self.is_closed_in_order() {
            self.level.disarm();
            self.raise(Event::Reset);
        }
    }

    pub(super) fn is_closed_in_order(&self) -> bool {
        self.level.is_fin_acked() && self.receiver.arrivals.is_finished()
    }

    /// Both DATA_FINs are through: close the subflows.
    #[cold]
    pub(super) fn close_subflows(&mut self) {
        for tcp in self.subflows.touch_all().filter_map(|subflow| subflow.tcp.as_mut()) {
            tcp.close();
        }
        self.level.disarm();
        self.announce_at = Time::MAX;
        self.raise(Event::Closed);
    }

    /// Data arrived that the reader cannot read yet: Linux does not delay an ACK of more than a segment for the reader
    /// (`subflow_data_ready`).
    #[inline(always)]
    pub(super) fn ask_for_ack(&mut self, path: usize) {
        if self.receiver.readable() == 0
            && let Some(tcp) = self.subflows.touch(path).tcp.as_mut().filter(|tcp| tcp.waits_for_reader(false))
        {
            tcp.request_ack();
        }
    }

    /// The reader read something: Linux sends the ACKs that waited for it (`mptcp_cleanup_rbuf`).
    #[inline]
    pub(super) fn release_acks(&mut self) {
        let all = self.receiver.is_empty();
        for path in 0..self.subflows.len() {
            if self.subflows[path].tcp.as_ref().is_some_and(|tcp| tcp.waits_for_reader(all)) {
                self.subflows.touch(path).tcp.iter_mut().for_each(Connection::request_ack);
            }
        }
    }

    /// Have every ready subflow send an ACK: the window has opened.
    #[cold]
    pub(super) fn request_acks(&mut self) {
        for subflow in self.subflows.touch_all().filter(|subflow| subflow.is_ready()) {
            subflow.tcp.iter_mut().for_each(Connection::request_ack);
        }
    }
}

/// Bytes of a segment of these settings that MPTCP takes.
pub(super) fn option_bytes(config: &Config) -> u32 {
    if config.header == HeaderSize::Computed { DSS_RESERVE } else { 0 }
}
