//! The data level of a sender over several paths: which chunk of the stream goes to which path next. It owns the chunks, the
//! scheduler and its view of the paths, reinjection, copies, relief of a full window, the data-level timer, switches and counters.
//! The owner sends a chunk on a path ([`Paths`]): MPTCP's subflows.
//!
//! Usage: after any event, call [`schedule`](DataLevel::schedule) until `None`; then send the end of the stream if
//! [`fin_path`](DataLevel::fin_path) names a path; then wait, at most until [`timer`](DataLevel::timer).
//!
//! Order of transmission (out-of-tree kernel): copies (redundant schedulers), reinjections, new data, relief of a full window, the
//! end of the stream.
//!
//! Reference: RFC 8684 §3.3; `mptcp_sched.c` and `mptcp_output.c` of the out-of-tree kernel.
//! Differences from the reference:
//! 1. Data of a failed path that another usable path carries as well are not reinjected: TCP delivers them there.
//! 2. The scheduler is not called while no path has room by its own measure: it could only wait.
//!
//! Tested by `tests/level.rs` (the contract over a driver of its own) and `tests/mptcp.rs`.

mod arrivals;
mod chunks;
mod scheduling;

pub use arrivals::Arrivals;
pub use chunks::Chunk;

use super::scheduler::{self, Room, Run, Scheduler, SubflowView};
use chunks::Chunks;
use playpath_cc::AppParameters;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

/// The longest that the timer runs (Linux TCP_RTO_MAX).
const MAX_TIMEOUT: Duration = Duration::from_secs(120);

pub trait Paths {
    /// Paths of which [`view`](Self::view) may say something new since the last call of this, a bit each.
    fn take_changed(&mut self) -> u32;
    /// Fill in the scheduler's view of `path`; index and `has_segment` are set by the data level. `with_pacing`: the scheduler
    /// [reads](Scheduler::reads_pacing) the pacing rate.
    fn view(&self, path: usize, with_pacing: bool, view: &mut SubflowView);
    /// Give a chunk to `path`, and bring what this changes of its view up to date.
    fn put(&mut self, path: usize, chunk: &Chunk, view: &mut SubflowView);
    /// Most payload that one chunk may have on a path with full segments of `mss` bytes.
    fn chunk_bytes(&self, mss: u32) -> u32 {
        mss
    }
    /// Halve the window of a path that holds up the connection. `false`: the owner cannot.
    fn penalise(&mut self, now: Time, path: usize) -> bool;
    /// `path` would be given data if the peer's window took any.
    fn note_tried(&mut self, _now: Time, _path: usize) {}
    /// The longest retransmission timeout of the paths.
    fn longest_rto(&self) -> Duration;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Two chunks of new data in a row on different paths.
    pub path_switches: u64,
    /// Of these, from a path that still had room in its window and was not in recovery, so by the scheduler's own choice.
    pub switches_from_open_path: u64,
    /// Chunks of new data for which the windows of two paths or more had room: only there is anything to choose.
    pub path_choices: u64,
    /// Chunks given to a further path, for whatever reason.
    pub reinjections: u64,
    /// Of these, because the connection-level window was full, or the send buffer.
    pub opportunistic_retransmissions: u64,
    /// Windows halved because they held up the connection.
    pub penalisations: u64,
    /// Times that new data waited: no path had room, or the scheduler waited for a better one.
    pub waits: u64,
    /// Two segments with payload in a row on different paths, whatever they carried.
    pub wire_switches: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Chunks of new data given to it.
    pub scheduled_packets: u64,
    pub scheduled_bytes: u64,
    /// Chunks scheduled on it that another path carries as well.
    pub reinjected_packets: u64,
    pub reinjected_bytes: u64,
    /// Times that it was considered potentially failed, or was lost.
    pub failures: u64,
    /// Times that its window was halved for holding up the connection.
    pub penalties: u64,
}

/// Level of detail of the reported events, each including the previous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    #[default]
    Nothing,
    Switches,
    /// Reinjections, and timeouts of the data level.
    Reinjections,
    /// Every chunk, copies on all paths included.
    Chunks,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// New data changed path.
    Switch(Switch),
    /// New data was given to a path.
    Sent(Given),
    /// A path was given data that another path carries as well.
    Reinjected(Given),
    /// Nothing was acknowledged for a whole timeout.
    DataTimeout {
        at: Time,
        /// First offset not acknowledged.
        una: u64,
    },
}

/// A change of path for new data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    pub at: Time,
    pub from: SwitchSide,
    pub to: SwitchSide,
    /// Data offset of the first byte on the path entered.
    pub data_offset: u64,
    /// Payload bytes of a full segment there.
    pub mss: u32,
    pub reason: &'static str,
    /// The path left had no room in its window, or was in recovery.
    pub is_forced: bool,
    /// When the last segment before it was given out.
    pub last_before: Time,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchSide {
    pub path: usize,
    pub srtt: Duration,
    /// Congestion window in packets.
    pub cwnd: f64,
}

impl SwitchSide {
    pub fn window_rate(&self) -> f64 {
        scheduler::window_rate(self.cwnd, self.srtt)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub at: Time,
    pub path: usize,
    /// Data offset of its first byte.
    pub offset: u64,
    pub bytes: u32,
    pub reason: &'static str,
}

/// The data level's state of a path.
#[derive(Debug, Default)]
struct PathState {
    /// Redundant schedulers: it carries all data before this offset, or that is acknowledged.
    copied_to: u64,
    stats: PathStats,
}

pub struct DataLevel {
    scheduler: Box<dyn Scheduler>,
    is_redundant: bool,
    room: Room,
    reads_pacing: bool,
    reads_progress: bool,
    chunks: Chunks,
    paths: Vec<PathState>,
    /// By path. Written only by [`refresh`](Self::refresh), together with the three fields derived from it.
    views: Vec<SubflowView>,
    /// Paths whose windows take one more packet, and those with room by the scheduler's own measure.
    eligible: u32,
    open: u32,
    /// Largest chunk that every usable path takes; `None`: there is none.
    chunk_bytes: Option<u32>,
    /// Paths that are marked in the views as holding the current chunk.
    holders: u32,
    run: Run,
    /// Path of the last new data, and when it was given out.
    last: Option<(usize, Time)>,
    /// Path of the last segment with payload.
    last_on_wire: Option<usize>,
    /// Bytes that the writer may have unacknowledged, and whether it waits for room among them.
    send_buffer: u64,
    is_writer_waiting: bool,
    is_window_blocked: bool,
    is_fin_due: bool,
    timer: Time,
    /// How long it runs, and whether it has expired since the last progress.
    timeout: Duration,
    has_expired: bool,
    watch: Watch,
    events: VecDeque<Event>,
    stats: LevelStats,
}

impl DataLevel {
    /// Over so many paths, at most 32.
    pub fn new(scheduler: Box<dyn Scheduler>, paths: usize, watch: Watch) -> DataLevel {
        let mut level = DataLevel {
            is_redundant: scheduler.is_redundant(),
            room: scheduler.room(),
            reads_pacing: scheduler.reads_pacing(),
            reads_progress: scheduler.reads_progress(),
            scheduler,
            chunks: Chunks::default(),
            paths: Vec::with_capacity(paths),
            views: Vec::with_capacity(paths),
            eligible: 0,
            open: 0,
            chunk_bytes: None,
            holders: 0,
            run: Run::default(),
            last: None,
            last_on_wire: None,
            send_buffer: u64::MAX,
            is_writer_waiting: false,
            is_window_blocked: false,
            is_fin_due: false,
            timer: Time::MAX,
            timeout: Duration::ZERO,
            has_expired: false,
            watch,
            events: VecDeque::new(),
            stats: LevelStats::default(),
        };
        level.grow_to(paths);
        level
    }

    /// Make room for so many paths, at most 32.
    pub fn grow_to(&mut self, paths: usize) {
        assert!(paths <= 32, "{paths} paths; at most 32 are possible");
        for path in self.paths.len()..paths {
            self.paths.push(PathState::default());
            self.views.push(SubflowView { path, ..SubflowView::default() });
        }
    }

    /// The application appends so many bytes.
    pub fn write(&mut self, bytes: u64) {
        self.chunks.written += bytes;
    }

    /// Set the number of bytes that may be written beyond those acknowledged; unlimited if never called.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.send_buffer = bytes;
    }

    pub fn room(&self) -> Room {
        self.room
    }

    /// Whether the last write was cut short.
    pub fn set_writer_waiting(&mut self, is_waiting: bool) {
        self.is_writer_waiting = is_waiting;
    }

    /// A segment with payload leaves on `path`.
    #[inline]
    pub fn note_wire(&mut self, path: usize) {
        self.stats.wire_switches += u64::from(self.last_on_wire.replace(path).is_some_and(|last| last != path));
    }

    pub fn close(&mut self) {
        self.is_fin_due |= !self.chunks.is_closing;
        self.chunks.is_closing = true;
    }

    /// The peer takes data up to `edge`. The right edge never moves back.
    #[inline]
    pub fn widen(&mut self, edge: u64) {
        self.chunks.edge = self.chunks.edge.max(edge);
    }

    /// Handle an acknowledgement: the peer has everything before `ack`, and accepts data up to `edge`. Returns whether that is progress,
    /// after which the owner [rearms](Self::rearm) the timer; `None` if it acknowledges data never sent.
    #[inline]
    pub fn handle_ack(&mut self, ack: u64, edge: u64) -> Option<bool> {
        let is_progress = self.chunks.acknowledge(ack, edge)?;
        if is_progress {
            self.has_expired = false;
        }
        Some(is_progress)
    }

    /// Schedule bytes without a chunk: the lower level is plain TCP, which delivers them.
    pub fn pass(&mut self, bytes: u64) {
        self.chunks.next += bytes;
    }

    pub fn pass_fin(&mut self) {
        self.is_fin_due = false;
    }

    /// All that follows goes to plain TCP, its end too.
    pub fn pass_to_tcp(&mut self) {
        self.is_fin_due = self.chunks.is_closing;
        self.timer = Time::MAX;
    }

    /// Plain TCP has delivered everything.
    pub fn note_fin_acked(&mut self) {
        self.chunks.is_fin_acked = true;
    }

    /// Treat `path` as failed or lost: chunks that it `holds` (by their start) and none of the `usable` paths carries are queued for
    /// others.
    #[cold]
    pub fn reinject_held(&mut self, path: usize, usable: u32, holds: impl Fn(u64) -> bool) {
        self.chunks.queue_held(path, usable & !(1 << path), holds);
        self.is_fin_due |= self.chunks.fin_path == Some(path) && !self.chunks.is_fin_acked;
    }

    /// Reset `path`: chunks that it carried before no longer count.
    pub fn forget_path(&mut self, path: usize) {
        self.chunks.forget_path(path);
        self.paths[path].copied_to = 0;
    }

    pub fn note_failure(&mut self, path: usize) {
        self.paths[path].stats.failures += 1;
    }

    /// The timer runs from now on, if anything waits for an answer: twice the longest timeout of a path, and twice as long after each
    /// expiry, whatever the paths' own timeouts, which grow by themselves (`mptcp_set_rto`, `mptcp_meta_retransmit_timer`).
    pub fn rearm(&mut self, now: Time, longest_rto: Duration) {
        if !self.has_expired {
            self.timeout = (longest_rto * 2).min(MAX_TIMEOUT);
        }
        self.start_timer(now);
    }

    fn start_timer(&mut self, now: Time) {
        let is_fin_out = self.chunks.is_closing && self.unscheduled() == 0 && !self.chunks.is_fin_acked;
        let needs = self.has_outstanding() || self.is_window_blocked || is_fin_out;
        self.timer = if needs { now + self.timeout } else { Time::MAX };
    }

    pub fn disarm(&mut self) {
        self.timer = Time::MAX;
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[inline]
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// No progress for a whole timeout: the oldest data is to be sent again, and the end of the stream. Whether the window is full, so
    /// that the owner should ask for it.
    #[cold]
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        (self.timeout, self.has_expired) = ((self.timeout * 2).min(MAX_TIMEOUT), true);
        if self.watch >= Watch::Reinjections {
            self.events.push_back(Event::DataTimeout { at: now, una: self.chunks.una });
        }
        self.chunks.queue_head();
        self.is_fin_due = self.chunks.is_closing && !self.chunks.is_fin_acked;
        self.start_timer(now);
        self.is_window_blocked
    }

    /// The next event since the last call, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Set the level of detail of the events reported from now on.
    pub fn set_watch(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// A call of [`schedule`](Self::schedule) could give something, or tell the scheduler something: `true` when in doubt.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.chunks.has_work() || self.is_redundant || self.reads_progress || self.is_fin_due || self.may_send_spare()
    }
    pub fn written(&self) -> u64 {
        self.chunks.written
    }
    /// First unacknowledged offset; one beyond the written bytes once the end is acknowledged.
    pub fn una(&self) -> u64 {
        self.chunks.una
    }
    pub fn bytes_acked(&self) -> u64 {
        self.chunks.una.min(self.chunks.written)
    }
    /// Bytes written and given to no path.
    #[inline]
    pub fn unscheduled(&self) -> u64 {
        self.chunks.unscheduled()
    }
    /// Bytes that the peer's window takes beyond those given out.
    pub fn window_left(&self) -> u64 {
        self.chunks.window_left()
    }
    /// Something is sent and not acknowledged.
    pub fn has_outstanding(&self) -> bool {
        self.chunks.has_outstanding()
    }
    /// No more will be written.
    pub fn is_closing(&self) -> bool {
        self.chunks.is_closing
    }
    /// Whether the end of the stream has to be sent, now or once everything is scheduled.
    pub fn is_fin_due(&self) -> bool {
        self.is_fin_due
    }
    /// The peer has everything, the end included.
    pub fn is_fin_acked(&self) -> bool {
        self.chunks.is_fin_acked
    }
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.scheduler.set_app_parameters(now, parameters);
    }
    pub fn stats(&self) -> &LevelStats {
        &self.stats
    }
    pub fn path_stats(&self, path: usize) -> &PathStats {
        &self.paths[path].stats
    }
}
