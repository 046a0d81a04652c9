//! The subflows of a connection, and cached state of each. Every change goes through [`Subflows::touch`], which marks the subflow as
//! possibly having something to send, and its timers and the scheduler's view of it as stale. Nothing else keeps the caches consistent.

use super::level::{Chunk, Paths};
use super::scheduler::SubflowView;
use super::subflow::Subflow;
use crate::tcp::{Connection, Moment, Phase};
use playpath_cc::{Sibling, WindowChange};
use playpath_units::{Duration, Time};
use std::ops::Deref;

pub(super) struct Subflows {
    list: Vec<Subflow>,
    /// State that coupled controls read of each other; empty if they are not coupled.
    siblings: Vec<Sibling>,
    /// Bytes of the stream that the receiver has; none before it says so, as after a fallback to plain TCP.
    stream_acked: Option<u64>,
    /// Subflows touched since the last poll without a segment, a bit each.
    unpolled: u32,
    /// Subflows touched since the scheduler last read their state.
    unseen: u32,
    /// Whether the last write to the connection was cut short.
    is_writer_waiting: bool,
    /// When each wants to be called, if none is touched.
    deadlines: Vec<Time>,
}

impl Subflows {
    pub fn new(list: Vec<Subflow>, siblings: Vec<Sibling>) -> Subflows {
        let deadlines = vec![Time::MAX; list.len()];
        Subflows { siblings, stream_acked: None, unpolled: 0, unseen: 0, is_writer_waiting: false, deadlines, list }
    }

    #[inline]
    pub fn touch(&mut self, path: usize) -> &mut Subflow {
        self.unpolled |= 1 << path;
        self.unseen |= 1 << path;
        &mut self.list[path]
    }

    /// A subflow to change, and the moment with what its control reads of the others.
    #[inline]
    pub fn touch_at(&mut self, now: Time, path: usize) -> (&mut Subflow, Moment<'_>) {
        self.touch(path);
        (&mut self.list[path], Moment { now, siblings: &self.siblings, stream_acked: self.stream_acked })
    }

    #[inline]
    pub fn note_stream_acked(&mut self, bytes: u64) {
        self.stream_acked = Some(bytes);
    }

    /// Add a path, at the end or in place of a closed one, with the state that its control exposes to coupled ones, if needed.
    pub fn put(&mut self, path: usize, subflow: Subflow) {
        if path == self.list.len() {
            self.siblings.extend(self.siblings.last().map(|last| Sibling { established: false, ..*last }));
            self.deadlines.push(Time::MAX);
            self.list.push(subflow);
        } else {
            self.list[path] = subflow;
        }
        self.touch(path);
    }

    pub fn touch_all(&mut self) -> impl Iterator<Item = &mut Subflow> {
        let all = ((1u64 << self.list.len()) - 1) as u32;
        self.unpolled |= all;
        self.unseen |= all;
        self.list.iter_mut()
    }

    /// The writer waits for room, or does not: nothing that a poll or the scheduler asks for depends on it.
    pub fn set_writer_waiting(&mut self, is_waiting: bool) {
        self.is_writer_waiting = is_waiting;
        for tcp in self.list.iter_mut().filter_map(|subflow| subflow.tcp.as_mut()) {
            tcp.set_writer_waiting(is_waiting);
        }
    }

    /// Update the state that the control of `path` exposes to the others.
    #[inline]
    pub fn note_sibling(&mut self, path: usize) {
        if let (Some(sibling), Some(tcp)) = (self.siblings.get_mut(path), &self.list[path].tcp) {
            *sibling = Sibling { established: self.list[path].is_usable(), ..tcp.sibling() };
        }
    }

    /// The first that may have something to send.
    #[inline]
    pub fn first_unpolled(&self) -> Option<usize> {
        (self.unpolled != 0).then(|| self.unpolled.trailing_zeros() as usize)
    }

    /// A poll of `path` has given everything.
    #[inline(always)]
    pub fn settle(&mut self, path: usize) {
        self.unpolled &= !(1 << path);
        if self.list[path].has_ack_arrived {
            self.list[path].size_buffer(self.is_writer_waiting);
            self.unseen |= 1 << path;
        }
        self.deadlines[path] = self.list[path].due();
    }

    #[inline]
    pub fn is_seen(&self) -> bool {
        self.unseen == 0
    }

    /// When the first wants to be called.
    #[inline]
    pub fn due(&self) -> Time {
        let settled = self.deadlines.iter().fold(Time::MAX, |least, &due| least.min(due));
        if self.unpolled == 0 { settled } else { self.iter().map(Subflow::due).min().unwrap_or(Time::MAX) }
    }

    /// The longest round-trip time that a subflow's receiver has seen; zero before any has.
    pub fn receiver_rtt(&self) -> Duration {
        let rtts = self.list.iter().filter_map(|subflow| subflow.tcp.as_ref()).map(Connection::receiver_rtt);
        rtts.max().unwrap_or(Duration::ZERO)
    }

    /// One that is open, or being opened, has not brought data yet.
    pub fn is_one_silent(&self) -> bool {
        self.list.iter().filter_map(|subflow| subflow.tcp.as_ref()).any(|tcp| !tcp.has_brought_data())
    }

    /// Paths that are usable, a bit each.
    pub fn usable(&self) -> u32 {
        self.list.iter().enumerate().map(|(path, subflow)| u32::from(subflow.is_usable()) << path).sum()
    }
}

impl Deref for Subflows {
    type Target = [Subflow];
    #[inline]
    fn deref(&self) -> &[Subflow] {
        &self.list
    }
}

impl Paths for Subflows {
    #[inline]
    fn take_changed(&mut self) -> u32 {
        std::mem::take(&mut self.unseen)
    }

    /// In place, since it is called for every ACK and every segment.
    #[inline]
    fn view(&self, path: usize, with_pacing: bool, view: &mut SubflowView) {
        let subflow = &self.list[path];
        let Some(tcp) = &subflow.tcp else { return };
        let (phase, mss) = (tcp.phase(), tcp.mss());
        view.is_usable = subflow.is_usable();
        view.is_backup = subflow.is_backup;
        view.is_recovering = phase == Phase::Recovery;
        view.is_loss = phase == Phase::Loss;
        view.is_ca_open = tcp.is_ca_open();
        view.srtt = tcp.srtt();
        view.rttvar = tcp.rttvar();
        view.srtt_range = subflow.srtt_range;
        view.cwnd = tcp.send_window();
        view.ssthresh = tcp.ssthresh();
        view.in_flight = tcp.in_flight();
        view.sized_for = subflow.sized_for;
        if with_pacing {
            view.paced_at = tcp.pacing_rate();
        }
        view.delivery_rate = tcp.delivery_rate();
        view.mss = mss;
        view_queue(tcp, view);
    }

    /// Behind what waits for room in the window more lets nothing leave.
    #[inline(always)]
    fn put(&mut self, path: usize, chunk: &Chunk, view: &mut SubflowView) {
        let subflow = &mut self.list[path];
        self.unpolled |= u32::from(!subflow.is_window_full()) << path;
        subflow.push(chunk.start, chunk.len);
        subflow.tcp.iter().for_each(|tcp| view_queue(tcp, view));
    }

    /// As in `mptcp_sched.c`.
    #[cold]
    fn penalise(&mut self, now: Time, path: usize) -> bool {
        let (subflow, at) = self.touch_at(now, path);
        let Some(tcp) = &mut subflow.tcp else { return false };
        let windows = tcp.windows();
        let is_slow_start = windows.cwnd < windows.ssthresh;
        let change = WindowChange {
            cwnd: (windows.cwnd / 2.0).max(1.0),
            ssthresh: if is_slow_start { windows.ssthresh } else { (windows.ssthresh / 2.0).max(2.0) },
        };
        tcp.change_windows(at, change);
        true
    }

    /// Linux restarts the window of an idle subflow when a buffer is prepared (`tcp_skb_entail`), whether that can be sent or not.
    #[cold]
    fn note_tried(&mut self, now: Time, path: usize) {
        let is_idle = |tcp: &Connection| tcp.written_offset() == tcp.acknowledged_offset();
        if self.list[path].tcp.as_ref().is_some_and(is_idle) {
            let (subflow, at) = self.touch_at(now, path);
            subflow.tcp.iter_mut().for_each(|tcp| tcp.validate_after_idle(at));
        }
    }

    fn longest_rto(&self) -> Duration {
        let rto = |s: &Subflow| s.tcp.as_ref().filter(|_| s.is_ready()).map(Connection::rto);
        self.list.iter().filter_map(rto).max().unwrap_or(Duration::from_secs(1))
    }
}

/// What the scheduler sees of the data that a subflow was given.
#[inline(always)]
fn view_queue(tcp: &Connection, view: &mut SubflowView) {
    let mss = u64::from(view.mss);
    view.queued = match tcp.unsent_bytes() {
        unsent if unsent <= mss => u32::from(unsent > 0), // mostly, and a division takes long
        unsent => unsent.div_ceil(mss) as u32,
    };
    view.buffered_bytes = tcp.written_offset() - tcp.acknowledged_offset();
}
