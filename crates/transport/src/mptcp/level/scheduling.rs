//! The choice of the next chunk and its path. See `mod.rs`.

use super::chunks::{Chunk, Chunks};
use super::{DataLevel, Event, Given, Paths, Switch, SwitchSide, Watch};
use crate::mptcp::scheduler::{Blockage, Context, Decision, Relief, Run, SubflowView};
use playpath_units::{Duration, Time};

impl DataLevel {
    /// Give the next chunk to a path. `None` if there is no chunk, or no path with room.
    #[inline(always)]
    pub fn schedule(&mut self, now: Time, paths: &mut impl Paths) -> Option<usize> {
        if self.reads_progress {
            self.scheduler.note_progress(now, self.bytes_acked());
        }
        if self.is_redundant
            && let Some(path) = self.send_copy(now, "copy on every path", paths)
        {
            return Some(path);
        }
        if !self.chunks.has_work() {
            return self.send_spare(now, paths);
        }
        self.refresh(paths);
        if self.chunks.has_reinjections()
            && let Some(path) = self.reinject(now, paths)
        {
            return Some(path);
        }
        self.give_new(now, paths)
    }

    /// The path for the end of the stream, if that is due and everything is given out: the usable one with the lowest RTT.
    /// `Some(None)`: no path is usable.
    #[cold]
    pub fn fin_path(&mut self, paths: &mut impl Paths) -> Option<Option<usize>> {
        if !self.is_fin_due || self.unscheduled() > 0 || self.chunks.next_reinjection().is_some() {
            return None;
        }
        self.refresh(paths);
        let usable = self.views.iter().filter(|view| view.is_usable);
        Some(usable.min_by_key(|view| view.srtt).map(|view| view.path))
    }

    /// The end of the stream was given to `path`.
    pub fn note_fin(&mut self, now: Time, path: usize, paths: &impl Paths) {
        self.is_fin_due = false;
        self.chunks.fin_path = Some(path);
        self.rearm(now, paths.longest_rto());
    }

    /// Whether chunks held by paths may have to be copied to others, once all written data are scheduled.
    #[inline]
    pub(super) fn may_send_spare(&self) -> bool {
        let is_held_up = || self.is_writer_waiting && self.is_writer_held_up().is_some();
        self.has_outstanding() && (is_held_up() || self.scheduler.wants_copies(Duration::MAX))
    }

    /// All written data are scheduled: copy chunks held by paths to others.
    fn send_spare(&mut self, now: Time, paths: &mut impl Paths) -> Option<usize> {
        if !self.may_send_spare() {
            return None;
        }
        if let Some(is_full) = self.is_writer_held_up() {
            self.refresh(paths);
            let len = self.chunk_bytes?;
            if let Some(path) = self.relieve(now, len, Blockage::SendBuffer { is_full }, paths) {
                return Some(path);
            }
        }
        if !self.scheduler.wants_copies(Duration::MAX) {
            return None;
        }
        self.refresh(paths);
        let holding = self.views.iter().filter(|view| view.buffered_bytes > 0);
        let longest = holding.map(|view| view.srtt + view.rttvar).max()?;
        if !self.scheduler.wants_copies(longest) {
            return None;
        }
        self.send_copy(now, "the player has little left", paths)
    }

    /// The writer waits, and less than a third of the send buffer is free (`sk_stream_min_wspace`): whether it has no room at all.
    fn is_writer_held_up(&self) -> Option<bool> {
        let held = self.written() - self.bytes_acked();
        let space = self.send_buffer.saturating_sub(held);
        (self.is_writer_waiting && space < held / 2).then_some(space == 0)
    }

    /// On the fastest path with room, the oldest data that it has not carried.
    #[cold]
    fn send_copy(&mut self, now: Time, reason: &'static str, paths: &mut impl Paths) -> Option<usize> {
        if !self.has_outstanding() {
            return None;
        }
        self.refresh(paths);
        let open = self.views.iter().filter(|view| view.is_eligible() && !view.is_backup);
        let behind = open.filter_map(|view| {
            let chunk = self.chunks.first_not_on(view.path, self.paths[view.path].copied_to)?;
            Some((view.srtt, view.path, chunk))
        });
        let (_, path, chunk) = behind.min_by_key(|&(srtt, path, _)| (srtt, path))?;
        self.paths[path].copied_to = chunk.end();
        self.give_again(now, path, &chunk, reason, paths);
        Some(path)
    }

    #[cold]
    fn reinject(&mut self, now: Time, paths: &mut impl Paths) -> Option<usize> {
        let chunk = self.chunks.next_reinjection()?;
        self.mark_holders(chunk.paths);
        let Decision { path, reason, .. } = self.ask(now, chunk.len, true)?;
        let path = path?;
        self.give_again(now, path, &chunk, reason, paths);
        Some(path)
    }

    #[inline(always)]
    fn give_new(&mut self, now: Time, paths: &mut impl Paths) -> Option<usize> {
        let (unscheduled, left) = (self.unscheduled(), self.window_left());
        let most = self.chunk_bytes.filter(|_| unscheduled > 0)?;
        let len = unscheduled.min(most.into()) as u32;
        let had_outstanding = self.has_outstanding();
        // A window too small for the chunk is used only when nothing else is under way (silly window avoidance).
        if left < u64::from(len) && (left == 0 || had_outstanding) {
            if !self.is_window_blocked {
                self.is_window_blocked = true;
                self.rearm(now, paths.longest_rto());
            }
            return self.relieve(now, len, Blockage::ReceiveWindow, paths);
        }
        self.is_window_blocked = false;
        let len = len.min(left.min(u32::MAX.into()) as u32);
        self.mark_holders(0);
        let Some((path, reason)) = self.path_for_new(now, len) else {
            self.stats.waits += 1;
            return None;
        };
        self.run.note_given(len.into());
        let chunk = self.chunks.take_new(len, path);
        let stats = &mut self.paths[path].stats;
        stats.scheduled_packets += 1;
        stats.scheduled_bytes += u64::from(len);
        if !had_outstanding {
            self.rearm(now, paths.longest_rto());
        }
        self.stats.path_choices += u64::from(self.eligible.count_ones() > 1);
        self.note_path(now, path, &chunk, reason);
        self.put(path, &chunk, paths);
        Some(path)
    }

    /// No new data may be sent: let the scheduler relieve the blocked window.
    #[cold]
    fn relieve(&mut self, now: Time, len: u32, blockage: Blockage, paths: &mut impl Paths) -> Option<usize> {
        if self.open == 0 {
            return None;
        }
        let head = self.chunks.head();
        self.mark_holders(head.map_or(0, |head| head.paths));
        let context = context(now, &self.views, &self.chunks, len, true);
        let Relief { retransmit_on, penalised, tried } = self.scheduler.relieve(&context, blockage)?;
        if let Some(path) = tried {
            paths.note_tried(now, path);
        }
        for path in (0..self.paths.len()).filter(|path| penalised & 1 << path != 0) {
            if paths.penalise(now, path) {
                self.stats.penalisations += 1;
                self.paths[path].stats.penalties += 1;
            }
        }
        let (head, path) = head.zip(retransmit_on).filter(|(head, path)| head.paths & 1 << path == 0)?;
        self.stats.opportunistic_retransmissions += 1;
        let reason = match blockage {
            Blockage::ReceiveWindow => "window full, oldest data on a faster path",
            Blockage::SendBuffer { .. } => "send buffer full, oldest data on a faster path",
        };
        self.give_again(now, path, &head, reason, paths);
        Some(path)
    }

    #[inline(never)]
    fn give_again(&mut self, now: Time, path: usize, chunk: &Chunk, reason: &'static str, paths: &mut impl Paths) {
        self.chunks.note_sent(chunk.start, path);
        self.put(path, chunk, paths);
        self.stats.reinjections += 1;
        let stats = &mut self.paths[path].stats;
        stats.reinjected_packets += 1;
        stats.reinjected_bytes += u64::from(chunk.len);
        if self.watch >= if self.is_redundant { Watch::Chunks } else { Watch::Reinjections } {
            self.events.push_back(Event::Reinjected(given(now, path, chunk, reason)));
        }
    }

    #[inline(always)]
    fn put(&mut self, path: usize, chunk: &Chunk, paths: &mut impl Paths) {
        paths.put(path, chunk, &mut self.views[path]);
        self.note_room(path);
    }

    /// The view of `path` has changed.
    #[inline(always)]
    fn note_room(&mut self, path: usize) {
        let (view, bit) = (&self.views[path], 1 << path);
        self.eligible = self.eligible & !bit | if view.is_eligible() { bit } else { 0 };
        self.open = self.open & !bit | if view.has_room(self.room) { bit } else { 0 };
    }

    #[inline(always)]
    fn path_for_new(&mut self, now: Time, len: u32) -> Option<(usize, &'static str)> {
        if let Some(path) = self.run.path(now, &self.views) {
            return Some((path, "as decided before"));
        }
        let decision = self.ask(now, len, false)?;
        self.run = Run::begin(now, decision);
        Some((decision.path?, decision.reason))
    }

    /// Ask the scheduler, unless it could only wait; it must not choose a path without room.
    #[inline(always)]
    fn ask(&mut self, now: Time, len: u32, is_reinjection: bool) -> Option<Decision> {
        if self.open == 0 {
            return None;
        }
        let context = context(now, &self.views, &self.chunks, len, is_reinjection);
        let decision = self.scheduler.select(&context);
        debug_assert!(decision.path.is_none_or(|path| self.views[path].is_usable), "{decision:?}: not usable");
        Some(decision)
    }

    /// New data goes to `path`. The views are still those of the decision.
    #[inline(always)]
    fn note_path(&mut self, now: Time, path: usize, chunk: &Chunk, reason: &'static str) {
        if self.watch >= Watch::Chunks {
            self.events.push_back(Event::Sent(given(now, path, chunk, reason)));
        }
        if let Some((last, last_before)) = self.last.replace((path, now))
            && last != path
        {
            let (left, entered) = (&self.views[last], &self.views[path]);
            let is_forced = !left.is_eligible() || left.is_recovering;
            self.stats.path_switches += 1;
            self.stats.switches_from_open_path += u64::from(!is_forced);
            if self.watch >= Watch::Switches {
                let (from, to) = (switch_side(left), switch_side(entered));
                let (mss, data_offset) = (entered.mss, chunk.start);
                let switch = Switch { at: now, from, to, data_offset, mss, reason, is_forced, last_before };
                self.events.push_back(Event::Switch(switch));
            }
        }
    }

    /// Mark the paths that hold the current chunk.
    fn mark_holders(&mut self, paths: u32) {
        if self.holders == paths {
            return;
        }
        self.holders = paths;
        for view in &mut self.views {
            view.has_segment = paths & 1 << view.path != 0;
        }
    }

    /// Views of the paths that have changed are brought up to date, and what follows from them.
    #[inline(always)]
    fn refresh(&mut self, paths: &mut impl Paths) {
        let mut changed = paths.take_changed();
        while changed != 0 {
            let path = changed.trailing_zeros() as usize;
            changed &= changed - 1;
            let view = &mut self.views[path];
            let before = (view.is_usable, view.mss);
            paths.view(path, self.reads_pacing, view);
            let has_changed = before != (view.is_usable, view.mss);
            self.note_room(path);
            if has_changed {
                let usable = self.views.iter().filter(|view| view.is_usable);
                self.chunk_bytes = usable.map(|view| paths.chunk_bytes(view.mss)).min();
            }
        }
    }
}

fn given(at: Time, path: usize, chunk: &Chunk, reason: &'static str) -> Given {
    Given { at, path, offset: chunk.start, bytes: chunk.len, reason }
}

fn switch_side(view: &SubflowView) -> SwitchSide {
    SwitchSide { path: view.path, srtt: view.srtt, cwnd: view.cwnd }
}

fn context<'a>(
    now: Time,
    subflows: &'a [SubflowView],
    chunks: &Chunks,
    segment_bytes: u32,
    is_reinjection: bool,
) -> Context<'a> {
    Context {
        now,
        subflows,
        offset: chunks.next,
        segment_bytes,
        is_reinjection,
        unscheduled_bytes: chunks.unscheduled(),
        window_left: chunks.window_left(),
        send_window: chunks.edge.saturating_sub(chunks.una),
    }
}
