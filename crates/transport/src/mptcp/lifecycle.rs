//! Making a connection, what follows each event of a subflow, failure of paths, and the end.
//!
//! Reference and differences: see `mod.rs`.

use super::data::{DataReceiver, DataSender};
use super::scheduler::Scheduler;
use super::subflow::{PathConfig, SentMappings, Stage, Subflow};
use super::{MptcpConfig, MptcpConnection, MptcpStats};
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
        assert!((1..=32).contains(&paths.len()), "{} paths; 1 to 32 are possible", paths.len());
        let mss = paths.iter().map(|p| p.tcp.mss).max().unwrap_or(0);
        let subflows: Vec<_> = paths.into_iter().map(Subflow::new).collect();
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
        MptcpConnection {
            is_client,
            peer_key: None,
            own_zero: 0,
            peer_zero: 0,
            is_fallback: false,
            is_confirmed: false,
            is_redundant: scheduler.is_redundant(),
            room: scheduler.room(),
            reads_backlog: scheduler.reads_backlog(),
            reads_pacing: scheduler.reads_pacing(),
            least_mss: None,
            scheduler,
            siblings: if config.is_coupled { vec![idle; subflows.len()] } else { vec![] },
            views: Vec::with_capacity(subflows.len()),
            stale: 0,
            holders: 0,
            eligible: 0,
            open: 0,
            dues: vec![Time::MAX; subflows.len()],
            subflows,
            sender: DataSender::default(),
            receiver: DataReceiver::new(config.receive_buffer, mss),
            dirty: 0,
            unechoed: 0,
            announce_at: Time::MAX,
            data_timer: Time::MAX,
            data_backoff: 0,
            is_fin_due: false,
            last_path: None,
            switch_log: None,
            is_window_blocked: false,
            is_write_cut: false,
            events: 0,
            stats: MptcpStats::default(),
            config,
        }
    }

    pub(super) fn raise(&mut self, event: Event) {
        self.events |= 1 << event as u8;
    }

    /// TCP settings of a subflow.
    pub(super) fn subflow_config(&self, config: Config, path: usize) -> Config {
        Config {
            mss: config.mss.saturating_sub(option_bytes(&config)).max(1),
            send_buffer: u64::MAX / 4,
            receive_buffer: UNLIMITED,
            flow_control: FlowControl::Above,
            handshake: Handshake::Full, // keys travel in it
            nagle: false,               // the scheduler decides when a segment leaves
            isn: config.isn.wrapping_add(path as u32),
            ..config
        }
    }

    /// In-order bytes of a subflow go to the data level.
    pub(super) fn take_data(&mut self, now: Time, path: usize) {
        let (before, was_finished) = (self.receiver.next(), self.receiver.is_finished());
        let subflow = &mut self.subflows[path];
        while subflow.tcp.as_ref().is_some_and(|tcp| tcp.readable() > 0)
            && let Some((start, end)) = subflow.take(self.is_fallback)
        {
            self.receiver.insert(now, start, end);
        }
        if self.receiver.next() > before && self.receiver.readable() > 0 {
            self.raise(Event::Readable);
        }
        if self.receiver.is_finished() && !was_finished {
            self.on_finished(now);
        }
    }

    /// A subflow's TCP may have changed its state, lost a timer or made progress.
    pub(super) fn after_subflow_event(&mut self, now: Time, path: usize) {
        let subflow = &mut self.subflows[path];
        if subflow.tcp.as_ref().is_some_and(Connection::has_news) {
            self.take_tcp_events(now, path);
        }
        let subflow = &mut self.subflows[path];
        let Some(tcp) = &subflow.tcp else { return };
        let (rto_count, una, srtt) = (tcp.stats().rto_count, tcp.acknowledged_offset(), tcp.rtt.srtt);
        self.stale |= 1 << path;
        if self.config.is_coupled {
            self.siblings[path] = Sibling { established: subflow.is_usable(), ..tcp.sibling() };
        }
        subflow.note_srtt(srtt);
        if subflow.failed_at.is_some_and(|at| una > at) {
            subflow.failed_at = None;
        }
        if rto_count > subflow.rto_count {
            subflow.rto_count = rto_count;
            self.suspect(path, una);
        }
        self.subflows[path].sent.forget_acknowledged(una);
    }

    /// The timer of `path` expired while `una` was the first offset not acknowledged: taken for failed until that moves.
    #[cold]
    fn suspect(&mut self, path: usize, una: u64) {
        let subflow = &mut self.subflows[path];
        if subflow.is_ready() {
            subflow.stats.failures += 1;
            subflow.failed_at = Some(una);
            self.reinject_all(path);
        }
    }

    /// Reset the subflow of `path`, if there is one.
    #[cold]
    pub(super) fn drop_path(&mut self, now: Time, path: usize) {
        let Some(subflow) = self.subflows.get_mut(path) else { return };
        if let Some(tcp) = &mut subflow.tcp {
            tcp.abort(now);
            while tcp.poll_event().is_some() {}
            self.dirty |= 1 << path;
            self.bury(path);
        }
    }

    /// Everything that the path holds unacknowledged, and no usable path, goes to others.
    #[cold]
    pub(super) fn reinject_all(&mut self, path: usize) {
        let usable = |(index, subflow): (usize, &Subflow)| u32::from(subflow.is_usable()) << index;
        let others = self.subflows.iter().enumerate().map(usable).sum::<u32>() & !(1 << path);
        for mapping in self.subflows[path].sent.iter() {
            if mapping.data + u64::from(mapping.len) > self.sender.una {
                self.sender.queue_reinjection(mapping.data.max(self.sender.una), others);
            }
        }
    }

    /// The path is gone for good.
    #[cold]
    pub(super) fn bury(&mut self, path: usize) {
        self.subflows[path].stage = Stage::Dead;
        self.dues[path] = self.subflows[path].due();
        self.stale |= 1 << path;
        self.reinject_all(path);
        self.subflows[path].sent = SentMappings::default();
        if self.config.is_coupled {
            self.siblings[path].established = false;
        }
        if self.subflows.iter().all(|s| matches!(s.stage, Stage::Dead | Stage::Idle)) && !self.is_closed_in_order() {
            self.data_timer = Time::MAX;
            self.raise(Event::Reset);
        }
    }

    pub(super) fn is_closed_in_order(&self) -> bool {
        self.sender.is_fin_acked && self.receiver.is_finished()
    }

    /// Both DATA_FINs are through: close the subflows.
    #[cold]
    pub(super) fn close_subflows(&mut self, now: Time) {
        for (path, subflow) in self.subflows.iter_mut().enumerate() {
            if let Some(tcp) = &mut subflow.tcp {
                tcp.close(now);
                self.dirty |= 1 << path;
            }
        }
        self.data_timer = Time::MAX;
        self.announce_at = Time::MAX;
        self.raise(Event::Closed);
    }

    /// Have every ready subflow send an ACK: the window has opened.
    #[cold]
    pub(super) fn request_acks(&mut self) {
        for (path, subflow) in self.subflows.iter_mut().enumerate() {
            if subflow.is_ready()
                && let Some(tcp) = &mut subflow.tcp
            {
                tcp.request_ack();
                self.dirty |= 1 << path;
            }
        }
    }
}

/// Bytes of a segment of these settings that MPTCP takes.
pub(super) fn option_bytes(config: &Config) -> u32 {
    if config.header == HeaderSize::Computed { DSS_RESERVE } else { 0 }
}
