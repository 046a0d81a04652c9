//! One connection over several paths: opening and validating them, which are usable, failover, and the calls of the scheduler, which is
//! one of MPTCP's ([`crate::mptcp::scheduler`]).
//!
//! Reference: draft-ietf-quic-multipath-21 §2.1 (path ids), §3.1 (the client opens paths once the handshake is confirmed; a path is
//! validated before it carries data), §4.1 (PATH_ACK), §4.3 (status), §5 (RFC 9002 for each path separately). Schedulers and redundant
//! transmission are left to implementations (§5.5); ours are those of MPTCP with QUIC's own data level: frames, which may be retransmitted
//! on any path, whereas MPTCP has chunks that are bound to a subflow's stream.
//! Differences from the reference:
//! 1. The simulator's endpoints issue no connection ids (PATH_NEW_CONNECTION_ID, MAX_PATH_ID): there are as many as there are paths; on
//!    real sockets `crates/serve` does. They never abandon a path, and keep trying one that cannot be validated.
//! 2. What was received on a path is acknowledged on it; the draft allows any.
//! 3. A path is considered failed after two probe timeouts without an answer while another works; the draft leaves that to
//!    implementations. Then all that is outstanding there is retransmitted on other paths, until something is acknowledged on it.
//! 4. 0-RTT data and the handshake are sent on the first path.
//!
//! Tested by `tests/quic_multipath.rs`, in the simulator by `tests/quic_paths.rs`.

mod data_level;

use super::lane::{Lane, Standing};
use super::migration::Route;
use super::packet::{Datagram, Frame, Kind, Space};
use super::{Connection, Info, Stats};
use crate::mptcp::MAX_PATHS;
use crate::mptcp::level::{LevelStats, PathStats};
use crate::mptcp::scheduler::{Run, Scheduler, SubflowView};
use crate::mptcp::{Switch, level};
use data_level::Blocked;
use playpath_cc::{AppParameters, CongestionControl, Sibling};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

/// Probe timeouts after which a path is considered failed while another works.
const FAILED_AFTER: u32 = 2;

/// State of a connection over several paths other than the current path.
pub(super) struct Multi {
    scheduler: Box<dyn Scheduler>,
    /// All paths except the current one, in no particular order.
    #[expect(clippy::vec_box, reason = "they change places with the one at hand")]
    others: Vec<Box<Lane>>,
    is_coupled: bool,
    /// The scheduler's view of each path, as of the last decision.
    views: Vec<SubflowView>,
    status: VecDeque<Frame>,
    /// Packets of a failed path that are not yet assigned to others.
    unassigned: u64,
    /// Bytes of new data assigned to paths.
    given: u64,
    run: Run,
    last: Option<(usize, Time)>,
    last_on_wire: Option<usize>,
    stats: LevelStats,
    path_stats: Vec<PathStats>,
    switches: Option<VecDeque<Switch>>,
    blocked: Blocked,
}

impl Multi {
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.scheduler.set_app_parameters(now, parameters);
        self.others.iter_mut().for_each(|lane| lane.path.set_app_parameters(now, parameters));
    }
}

impl Connection {
    /// Allow the connection to use further paths, with a control for each; a client opens them when the handshake is confirmed.
    /// Must be called before anything else. `is_coupled`: the controls use one another's state.
    pub fn with_paths(
        mut self,
        controls: Vec<Box<dyn CongestionControl>>,
        scheduler: Box<dyn Scheduler>,
        is_coupled: bool,
    ) -> Connection {
        self.add_paths(controls, scheduler, is_coupled);
        self
    }

    /// The same, but may be called until anything is sent in 1-RTT packets.
    pub fn add_paths(
        &mut self,
        controls: Vec<Box<dyn CongestionControl>>,
        scheduler: Box<dyn Scheduler>,
        is_coupled: bool,
    ) {
        let count = 1 + controls.len();
        assert!(count <= MAX_PATHS, "{count} paths; at most {MAX_PATHS} are possible");
        let route = |id: u8| if self.is_client { Route::of_client(id) } else { self.lane.route.further(id) };
        let further = |(control, id): (_, u8)| Box::new(Lane::further(id, route(id), &self.config, control));
        let others: Vec<_> = controls.into_iter().zip(1..).map(further).collect();
        self.multi = Some(Box::new(Multi {
            scheduler,
            others,
            is_coupled,
            views: (0..count).map(|path| SubflowView { path, ..SubflowView::default() }).collect(),
            status: VecDeque::new(),
            unassigned: 0,
            given: 0,
            run: Run::default(),
            last: None,
            last_on_wire: None,
            stats: LevelStats::default(),
            path_stats: vec![PathStats::default(); count],
            switches: None,
            blocked: Blocked::default(),
        }));
        self.show_siblings();
    }

    /// Whether it may use several paths.
    pub fn is_multipath(&self) -> bool {
        self.multi.is_some()
    }
    pub fn path_count(&self) -> usize {
        self.lanes().count()
    }
    /// The path carries data and is not considered failed.
    pub fn is_path_usable(&self, path: usize) -> bool {
        self.lane(path).is_some_and(|lane| lane.standing == Standing::Open)
    }
    /// Snapshot of a path; `None`: it was not opened.
    pub fn path_info(&self, path: usize) -> Option<Info> {
        let opened = |lane: &&Lane| matches!(lane.standing, Standing::Open | Standing::Failed);
        self.lane(path).filter(opened).map(|lane| self.info_of(lane))
    }
    /// Counters of a path; with a single path those of the connection.
    pub fn path_stats(&self, path: usize) -> Stats {
        match self.multi {
            None => self.stats(),
            Some(_) => self.lane(path).map(Self::stats_of).unwrap_or_default(),
        }
    }
    pub fn path_control(&self, path: usize) -> Option<&dyn CongestionControl> {
        self.lane(path).map(|lane| lane.path.control())
    }
    /// Ask both sides to use `path` only if no other works, or to use it again (draft §4.3).
    pub fn set_backup(&mut self, path: usize, is_backup: bool) {
        let Some(lane) = self.lane_mut(path) else { return };
        lane.is_backup = is_backup;
        lane.status_sent += 1;
        let frame = Frame::PathStatus { path_id: path as u8, sequence: lane.status_sent, is_backup };
        self.multi.iter_mut().for_each(|multi| multi.status.push_back(frame));
    }
    /// Record changes of path for [`poll_switch`](Self::poll_switch).
    pub fn log_switches(&mut self) {
        self.multi.iter_mut().for_each(|multi| multi.switches = Some(VecDeque::new()));
    }
    pub fn poll_switch(&mut self) -> Option<Switch> {
        self.multi.as_mut()?.switches.as_mut()?.pop_front()
    }
    /// Counters of the data assigned to paths; `None` with a single path.
    pub fn level_stats(&self) -> Option<&LevelStats> {
        self.multi.as_ref().map(|multi| &multi.stats)
    }
    pub fn level_stats_of(&self, path: usize) -> Option<&level::PathStats> {
        self.multi.as_ref()?.path_stats.get(path)
    }
    /// Time that data of any stream has waited behind a gap, up to `now`, and the maximum of bytes that did.
    pub fn blocked_behind_gaps(&self, now: Time) -> (Duration, u64) {
        self.multi.as_ref().map_or((Duration::ZERO, 0), |multi| multi.blocked.until(now))
    }

    pub(super) fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let others = self.multi.iter().flat_map(|multi| multi.others.iter());
        std::iter::once(&*self.lane).chain(others.map(|lane| &**lane))
    }
    pub(super) fn lane(&self, path: usize) -> Option<&Lane> {
        self.lanes().find(|lane| usize::from(lane.id) == path)
    }
    /// The longest smoothed RTT of all paths.
    pub(super) fn longest_rtt(lane: &Lane, multi: Option<&Multi>) -> Duration {
        let others = multi.iter().flat_map(|multi| &multi.others);
        others.map(|lane| lane.path.rtt.smoothed()).fold(lane.path.rtt.smoothed(), Duration::max)
    }

    /// Make a path the current one. Returns `false` if there is no such path.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, id: u8) -> bool {
        if self.lane.id == id {
            return true;
        }
        let Some(multi) = &mut self.multi else { return false };
        let Some(place) = multi.others.iter().position(|lane| lane.id == id) else { return false };
        std::mem::swap(&mut self.lane, &mut multi.others[place]);
        true
    }

    pub(super) fn on_each_path(&mut self, mut act: impl FnMut(&mut Connection)) {
        for id in 0..self.path_count() as u8 {
            self.turn_to(id);
            act(self);
        }
    }

    /// A datagram arrived on the current path.
    #[inline(always)]
    pub(super) fn meet_path(&mut self, now: Time) {
        if self.lane.standing == Standing::Idle && !self.is_client {
            self.open_path(now);
        }
    }

    /// The handshake is confirmed: the client opens its further paths (draft §3.1).
    pub(super) fn open_paths(&mut self, now: Time) {
        let at_hand = self.lane.id;
        self.on_each_path(|connection| {
            if connection.lane.standing == Standing::Idle {
                connection.open_path(now);
            }
        });
        self.turn_to(at_hand);
    }

    fn open_path(&mut self, now: Time) {
        self.lane.standing = Standing::Opening;
        let timeout = self.validation_time();
        self.lane.route.begin(now, timeout, None);
    }

    /// The current path is validated: `round_trip` is the initial estimate of its RTT (RFC 9002 §6.2.2), not a sample.
    pub(super) fn path_is_valid(&mut self, now: Time, round_trip: Duration) {
        self.lane.standing = Standing::Open;
        self.lane.path.rtt.expect(round_trip);
        self.lane.path.start(now);
        self.show_siblings();
        self.suspect_others();
    }

    /// The current path could not be validated: the client tries again, the server waits for it.
    pub(super) fn path_is_invalid(&mut self, now: Time) {
        self.lane.standing = Standing::Idle;
        if self.is_client {
            self.open_path(now);
        }
    }

    /// The current path had a probe timeout.
    pub(super) fn suspect_path(&mut self) {
        let at_hand = self.lane.id;
        let works = |lane: &Lane| lane.id != at_hand && lane.standing == Standing::Open;
        if self.lane.standing != Standing::Open || self.lane.pto_count < FAILED_AFTER || !self.lanes().any(works) {
            return;
        }
        self.lane.standing = Standing::Failed;
        self.pass_on();
    }

    /// The current path works: another whose probe timeouts passed while none did may pass on what it holds.
    #[cold]
    fn suspect_others(&mut self) {
        let at_hand = self.lane.id;
        self.on_each_path(|connection| {
            if connection.lane.id != at_hand {
                connection.suspect_path();
            }
        });
        self.turn_to(at_hand);
    }

    /// The peer abandons a path (draft §3.4): outstanding data move to others, and the path is abandoned in turn.
    pub(super) fn on_path_abandon(&mut self, path_id: u8) {
        let at_hand = self.lane.id;
        if self.turn_to(path_id) && self.lane.standing != Standing::Abandoned {
            self.lane.standing = Standing::Abandoned;
            self.pass_on();
            self.multi.iter_mut().for_each(|multi| multi.status.push_back(Frame::PathAbandon { path_id }));
        }
        self.turn_to(at_hand);
    }

    /// Retransmit the current path's outstanding data on others.
    fn pass_on(&mut self) {
        for frame in self.lane.queue.clear() {
            self.streams.on_frame_lost(&frame);
        }
        let held: Vec<_> = self.lane.spaces[Space::Data as usize].board.outstanding().copied().collect();
        for sent in &held {
            self.requeue(Space::Data, sent);
        }
        self.show_siblings();
        if let Some(multi) = &mut self.multi {
            multi.unassigned += held.iter().filter(|sent| sent.stream_bytes() > 0).count() as u64;
            multi.path_stats[usize::from(self.lane.id)].failures += 1;
        }
    }

    /// Data were acknowledged on the current path.
    pub(super) fn trust_path(&mut self) {
        if self.lane.standing == Standing::Failed {
            self.lane.standing = Standing::Open;
            self.suspect_others();
        }
        self.lane.note_ack();
        self.show_siblings();
    }

    /// Update the state that coupled controls share.
    fn show_siblings(&mut self) {
        let acked = self.streams.acked_bytes();
        let Some(multi) = &mut self.multi else { return };
        self.lane.path.stream_acked = Some(acked);
        if !multi.is_coupled {
            return;
        }
        let own = self.lane.path.sibling(self.lane.standing == Standing::Open);
        let (id, count) = (usize::from(self.lane.id), 1 + multi.others.len());
        let idle = Sibling { established: false, ..own };
        let lanes = multi.others.iter_mut().map(|lane| &mut **lane).chain([&mut *self.lane]);
        for lane in lanes {
            lane.path.siblings.resize(count, idle);
            lane.path.siblings[id] = own;
        }
    }

    /// The peer's status of a path: the latest one counts, and a frame that was overtaken is ignored.
    pub(super) fn on_path_status(&mut self, path_id: u8, sequence: u64, is_backup: bool) {
        if let Some(lane) = self.lane_mut(path_id.into())
            && sequence > lane.status_received
        {
            (lane.status_received, lane.is_backup) = (sequence, is_backup);
        }
    }

    fn lane_mut(&mut self, path: usize) -> Option<&mut Lane> {
        let multi = self.multi.as_mut()?;
        let mut lanes = std::iter::once(&mut self.lane).chain(&mut multi.others);
        lanes.find(|lane| usize::from(lane.id) == path).map(|lane| &mut **lane)
    }

    /// A status frame was lost: the latest one of its path is sent again.
    pub(super) fn resend_status(&mut self, frame: Frame) {
        let is_latest = match frame {
            Frame::PathStatus { path_id, sequence, .. } => {
                self.lane_mut(path_id.into()).is_some_and(|lane| lane.status_sent == sequence)
            }
            _ => true,
        };
        if is_latest {
            self.multi.iter_mut().for_each(|multi| multi.status.push_back(frame));
        }
    }

    /// The next datagram and its path: first what each path has to send by itself, then what the scheduler assigns.
    pub(super) fn poll_paths(&mut self, now: Time, out: &mut Datagram) -> bool {
        loop {
            for step in 0..self.path_count() as u8 {
                let id = (self.lane.id + u8::from(step > 0)) % self.path_count() as u8;
                self.turn_to(id);
                if self.lane.is_in_use() && self.poll_lane(now, out) {
                    self.note_wire(out);
                    return true;
                }
            }
            if !self.allot(now) {
                break;
            }
        }
        self.on_each_path(|connection| {
            if connection.lane.path.has_room() && !connection.lane.queue.has_frames() {
                connection.lane.path.note_pause(false);
            }
            connection.set_loss_timer(now);
        });
        false
    }

    fn note_wire(&mut self, out: &Datagram) {
        let Some(multi) = &mut self.multi else { return };
        if out.packet.stream_bytes() > 0 {
            let path = usize::from(out.path_id);
            let last = multi.last_on_wire.replace(path);
            multi.stats.wire_switches += u64::from(last.is_some_and(|last| last != path));
        }
    }

    /// Stream payload of a packet on the current path without other frames, bytes.
    fn packet_room(&self) -> u32 {
        self.config.datagram_bytes - Kind::OneRtt.overhead(self.cids(), 2)
    }

    /// Update the amount of stream data that waits behind gaps.
    pub(super) fn note_gaps(&mut self, now: Time) {
        if let Some(multi) = &mut self.multi {
            multi.blocked.note(now, self.streams.out_of_order());
        }
    }
}
