//! What leaves next, and on which path: subflows first, then the scheduler.
//!
//! Reference: RFC 8684 §3.3; order of the out-of-tree kernel: reinjections before new data, then relief of a full window.

use super::scheduler::{Context, Relief, Room, SubflowView};
use super::subflow::Subflow;
use super::{MptcpConnection, Switch, SwitchSide};
use crate::segment::Segment;
use crate::tcp::sender::recovery::Phase;
use playpath_cc::WindowChange;
use playpath_units::{Duration, Time};

impl MptcpConnection {
    /// Next segment to send, and its path. Call until `None` after every event.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(usize, Segment)> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|path| (path, segment))
    }

    /// As [`poll_transmit`](Self::poll_transmit), written to a place of the caller's; returns the path.
    pub fn poll_transmit_into(&mut self, now: Time, out: &mut Segment) -> Option<usize> {
        loop {
            while self.dirty != 0 {
                let path = self.dirty.trailing_zeros() as usize;
                if self.poll_subflow(now, path, out) {
                    return Some(path);
                }
                self.dirty &= !(1 << path);
            }
            let path = self.schedule(now)?;
            self.dirty |= 1 << path;
        }
    }

    /// Whether another poll after one that gave a segment could give a further one: cheaper than the poll, `true` when in doubt.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.dirty != 0 || self.sender.has_work() || self.is_redundant || self.is_fin_due || self.is_fallback
    }

    /// After a poll that gave nothing: a full segment waits for a subflow, and more behind it would change nothing. `false`
    /// when in doubt.
    #[inline]
    pub fn has_segment_waiting(&self) -> bool {
        // A window that the last poll halved may bring another decision.
        let is_settled = self.stale == 0 && !self.is_fallback && !self.reads_backlog;
        is_settled && self.sender.unscheduled() >= u64::from(self.receiver.mss())
    }

    /// The data-level timer runs from the last progress.
    pub(super) fn rearm_data_timer(&mut self, now: Time) {
        let is_fin_out = self.sender.is_closing && self.sender.unscheduled() == 0 && !self.sender.is_fin_acked;
        let needs = self.sender.has_outstanding() || self.is_window_blocked || is_fin_out;
        if !needs || self.is_fallback {
            self.data_timer = Time::MAX;
            return;
        }
        let rto = |s: &Subflow| s.tcp.as_ref().filter(|_| s.is_ready()).map(|tcp| tcp.rtt.rto(&tcp.config.rto));
        let longest = self.subflows.iter().filter_map(rto).max().unwrap_or(Duration::from_secs(1));
        self.data_timer = now + longest * (2 << self.data_backoff.min(6));
    }

    /// No progress at the data level: send the oldest data again elsewhere, the DATA_FIN, or ask for the window.
    #[cold]
    pub(super) fn expire_data_timer(&mut self, now: Time) {
        self.data_backoff += 1;
        self.stats.data_timeouts += 1;
        if let Some(head) = self.sender.head() {
            self.sender.queue_reinjection(head.start, 0);
        }
        if self.is_window_blocked {
            for (path, subflow) in self.subflows.iter_mut().enumerate() {
                if subflow.is_ready()
                    && let Some(tcp) = &mut subflow.tcp
                {
                    tcp.probe_window();
                    self.dirty |= 1 << path;
                }
            }
        }
        self.is_fin_due = self.sender.is_closing && !self.sender.is_fin_acked;
        self.rearm_data_timer(now);
    }

    fn poll_subflow(&mut self, now: Time, path: usize, out: &mut Segment) -> bool {
        let subflow = &mut self.subflows[path];
        let Some(tcp) = &mut subflow.tcp else { return false };
        self.stale |= 1 << path;
        if subflow.signals.is_empty() && tcp.is_exhausted() {
            tcp.note_pause(now, &self.siblings);
            self.dues[path] = subflow.due();
            return false;
        }
        let mut next_mapping = None;
        if tcp.unsent_bytes() > 0 {
            // A segment must lie within one mapping.
            next_mapping = subflow.sent.next(tcp.next_offset());
            let is_fed = self.sender.unscheduled() > 0;
            tcp.set_boundary(next_mapping.map_or(u64::MAX, |mapping| mapping.end()), is_fed);
        }
        if tcp.poll_transmit_into(now, &self.siblings, out) {
            // Mostly a poll gives a single segment: spare the one that would say so.
            if subflow.signals.is_empty() && tcp.is_exhausted() {
                if tcp.may_have_more() {
                    tcp.note_pause(now, &self.siblings);
                }
                self.dirty &= !(1 << path);
                self.dues[path] = subflow.due(); // otherwise the next poll asks
            }
            self.decorate(path, out, next_mapping);
            return true;
        }
        self.dues[path] = subflow.due();
        !subflow.signals.is_empty() && self.send_signal(now, path, out)
    }

    /// A signal needs an ACK of its own.
    #[cold]
    fn send_signal(&mut self, now: Time, path: usize, out: &mut Segment) -> bool {
        let subflow = &mut self.subflows[path];
        let (true, Some(tcp)) = (subflow.is_ready(), &mut subflow.tcp) else { return false };
        let Some(option) = subflow.signals.pop_front() else { return false };
        tcp.request_ack();
        let has_ack = tcp.poll_transmit_into(now, &self.siblings, out);
        self.dues[path] = subflow.due();
        if has_ack {
            self.decorate(path, out, None);
            out.mptcp = option;
            super::signalling::limit_sack(out);
        }
        has_ack
    }

    /// Give the next segment to a subflow. `None`: nothing to give, or nobody to take it.
    fn schedule(&mut self, now: Time) -> Option<usize> {
        if self.is_fallback {
            return self.feed_plain(now);
        }
        let wants = self.sender.unscheduled() > 0 || self.sender.next_reinjection().is_some();
        if self.is_redundant
            && let Some(path) = self.send_copies()
        {
            return Some(path);
        }
        if !wants {
            return if self.is_fin_due { self.send_data_fin(now) } else { None };
        }
        self.refresh_views();
        if self.sender.has_reinjections()
            && let Some(path) = self.reinject(now)
        {
            return Some(path);
        }
        self.give_new(now)
    }

    /// Reinjections come first.
    #[cold]
    fn reinject(&mut self, now: Time) -> Option<usize> {
        let chunk = self.sender.next_reinjection()?;
        self.mark_holders(chunk.paths);
        let path = self.ask(now, chunk.len, true)?.0;
        self.sender.finish_reinjection(path);
        self.give_again(path, chunk.start, chunk.len);
        Some(path)
    }

    fn give_new(&mut self, now: Time) -> Option<usize> {
        let mss = self.least_mss?;
        let (unscheduled, left) = (self.sender.unscheduled(), self.sender.window_left());
        if unscheduled == 0 {
            return None;
        }
        let len = unscheduled.min(mss.into()) as u32;
        // A window too small for the segment is used only when nothing else is under way (silly window avoidance).
        let fits = left >= u64::from(len) || (left > 0 && !self.sender.has_outstanding());
        if !fits {
            return self.relieve(now, len);
        }
        self.is_window_blocked = false;
        let len = len.min(left.min(u32::MAX.into()) as u32);
        self.mark_holders(0);
        let (path, reason) = self.ask(now, len, false)?;
        let had_outstanding = self.sender.has_outstanding();
        let chunk = self.sender.take_new(len, path);
        self.stale |= 1 << path;
        let subflow = &mut self.subflows[path];
        subflow.push(chunk.start, len);
        subflow.stats.scheduled_packets += 1;
        subflow.stats.scheduled_bytes += u64::from(len);
        if !had_outstanding {
            self.rearm_data_timer(now);
        }
        self.stats.choices += u64::from(self.eligible.count_ones() > 1);
        self.note_path(now, path, chunk.start, reason);
        Some(path)
    }

    /// The connection-level window is full: the scheduler may want to unblock it.
    #[cold]
    fn relieve(&mut self, now: Time, len: u32) -> Option<usize> {
        if !self.is_window_blocked {
            self.is_window_blocked = true;
            self.rearm_data_timer(now);
        }
        let head = self.sender.head()?;
        if self.open == 0 {
            return None;
        }
        self.mark_holders(head.paths);
        let context = context(now, self.views.as_slice(), &self.sender, len, true);
        let Relief { retransmit_on, penalised } = self.scheduler.relieve(&context)?;
        for path in (0..self.subflows.len()).filter(|path| penalised & 1 << path != 0) {
            self.penalise(now, path);
        }
        let path = retransmit_on.filter(|&path| head.paths & 1 << path == 0)?;
        self.sender.note_sent(head.start, path);
        self.stats.opportunistic_retransmissions += 1;
        self.give_again(path, head.start, head.len);
        Some(path)
    }

    /// Halve the window of a path that holds up the connection (mptcp_sched.c).
    #[cold]
    fn penalise(&mut self, now: Time, path: usize) {
        let subflow = &mut self.subflows[path];
        let Some(tcp) = &mut subflow.tcp else { return };
        let windows = tcp.windows();
        let is_slow_start = windows.cwnd < windows.ssthresh;
        let change = WindowChange {
            cwnd: (windows.cwnd / 2.0).max(1.0),
            ssthresh: if is_slow_start { windows.ssthresh } else { (windows.ssthresh / 2.0).max(2.0) },
        };
        tcp.change_windows(now, change, &self.siblings);
        self.dues[path] = subflow.due();
        self.stale |= 1 << path;
        subflow.stats.penalties += 1;
        self.stats.penalisations += 1;
    }

    /// Redundant schedulers: on the fastest path with room, the oldest data that it has not carried.
    #[cold]
    fn send_copies(&mut self) -> Option<usize> {
        if !self.sender.has_outstanding() {
            return None;
        }
        self.refresh_views();
        let open = self.views.iter().filter(|view| view.is_eligible() && !view.is_backup);
        let behind = open.filter_map(|view| {
            let chunk = self.sender.first_not_on(view.path, self.subflows[view.path].copied_to)?;
            Some((view.srtt, view.path, chunk))
        });
        let (_, path, chunk) = behind.min_by_key(|&(srtt, path, _)| (srtt, path))?;
        self.sender.note_sent(chunk.start, path);
        self.subflows[path].copied_to = chunk.end();
        self.give_again(path, chunk.start, chunk.len);
        Some(path)
    }

    /// All data has been given out: the DATA_FIN, on the usable path with the lowest RTT.
    #[cold]
    fn send_data_fin(&mut self, now: Time) -> Option<usize> {
        if !self.sender.is_closing || self.sender.unscheduled() > 0 {
            return None;
        }
        let srtt = |path: &usize| self.subflows[*path].tcp.as_ref().map_or(Duration::MAX, |tcp| tcp.info().rtt);
        let usable = (0..self.subflows.len()).filter(|&path| self.subflows[path].is_usable());
        let ready = (0..self.subflows.len()).filter(|&path| self.subflows[path].is_ready());
        let path = usable.min_by_key(srtt).or_else(|| ready.min_by_key(srtt))?;
        if self.is_client && !self.is_confirmed {
            return None; // the keys go first
        }
        self.is_fin_due = false;
        let fin = self.data_fin();
        self.signal(path, fin);
        self.rearm_data_timer(now);
        Some(path)
    }

    /// Plain TCP: everything goes to path 0 in order.
    #[cold]
    fn feed_plain(&mut self, now: Time) -> Option<usize> {
        let len = self.sender.unscheduled().min(self.sender.window_left());
        let tcp = self.subflows[0].tcp.as_mut()?;
        if self.sender.unscheduled() == 0 && self.is_fin_due {
            self.is_fin_due = false;
            tcp.close(now);
            return Some(0);
        }
        if len == 0 || tcp.unsent_bytes() > u64::from(tcp.config().mss) {
            return None;
        }
        tcp.write(len);
        self.sender.next += len;
        Some(0)
    }

    fn give_again(&mut self, path: usize, start: u64, len: u32) {
        self.stats.reinjections += 1;
        self.stale |= 1 << path;
        let subflow = &mut self.subflows[path];
        subflow.push(start, len);
        subflow.stats.reinjected_packets += 1;
        subflow.stats.reinjected_bytes += u64::from(len);
    }

    /// Ask the scheduler, unless it could only wait; it must not choose a path without room.
    fn ask(&mut self, now: Time, len: u32, is_reinjection: bool) -> Option<(usize, &'static str)> {
        if self.open == 0 {
            return None;
        }
        let context = context(now, self.views.as_slice(), &self.sender, len, is_reinjection);
        let decision = self.scheduler.select(&context);
        let path = decision.path?;
        debug_assert!(self.views.iter().any(|view| view.path == path && view.is_usable), "{path} is not usable");
        Some((path, decision.reason))
    }

    /// New data from `data_offset` on goes to `path`. The views are still those of the decision.
    fn note_path(&mut self, now: Time, path: usize, data_offset: u64, reason: &'static str) {
        let last = self.last_path.replace((path, now));
        let here = |wanted: usize| self.views.get(wanted).filter(|view| view.path == wanted);
        let side = |wanted: usize| here(wanted).or_else(|| self.views.iter().find(|view| view.path == wanted));
        if let Some((last, last_before)) = last
            && last != path
            && let (Some(left), Some(entered)) = (side(last), side(path))
        {
            self.stats.path_switches += 1;
            let is_forced = !left.is_eligible() || left.is_recovering;
            self.stats.switches_from_open_path += u64::from(!is_forced);
            let (from, to) = (switch_side(left), switch_side(entered));
            let mss = entered.mss;
            let switch = Switch { at: now, from, to, data_offset, mss, reason, is_forced, last_before };
            if let Some(log) = &mut self.switch_log {
                log.push_back(switch);
            }
        }
    }

    /// These paths hold the segment at hand.
    fn mark_holders(&mut self, paths: u32) {
        if self.holders == paths {
            return;
        }
        self.holders = paths;
        for view in &mut self.views {
            view.has_segment = paths & 1 << view.path != 0;
        }
    }

    /// Views of the subflows that have changed are brought up to date, and who has room.
    fn refresh_views(&mut self) {
        while self.stale != 0 {
            let path = self.stale.trailing_zeros() as usize;
            let bit = 1 << path;
            self.stale &= !bit;
            if self.subflows[path].tcp.is_none() {
                continue;
            }
            let index = self.view_index(path);
            let (view, subflow) = (&mut self.views[index], &self.subflows[path]);
            let before = (view.is_usable, view.mss);
            update(view, subflow, self.reads_pacing);
            let has_changed = before != (view.is_usable, view.mss);
            let is_eligible = view.is_eligible();
            let is_open = if self.room == Room::Window { is_eligible } else { view.has_buffer() };
            self.eligible = self.eligible & !bit | if is_eligible { bit } else { 0 };
            self.open = self.open & !bit | if is_open { bit } else { 0 };
            if has_changed {
                self.least_mss = self.views.iter().filter(|view| view.is_usable).map(|view| view.mss).min();
            }
        }
    }

    /// Place of the view of an opened path. Views are in the order of paths.
    #[inline]
    fn view_index(&mut self, path: usize) -> usize {
        if self.views.get(path).is_some_and(|view| view.path == path) {
            return path; // all paths before it are opened
        }
        match self.views.binary_search_by_key(&path, |view| view.path) {
            Ok(index) => index,
            Err(index) => {
                let has_segment = self.holders & 1 << path != 0;
                self.views.insert(index, SubflowView { path, has_segment, ..SubflowView::default() });
                index
            }
        }
    }
}

fn switch_side(view: &SubflowView) -> SwitchSide {
    SwitchSide { path: view.path, srtt: view.srtt, cwnd: view.cwnd }
}

fn context<'a>(
    now: Time,
    subflows: &'a [SubflowView],
    sender: &super::data::DataSender,
    segment_bytes: u32,
    is_reinjection: bool,
) -> Context<'a> {
    Context {
        now,
        subflows,
        segment_bytes,
        is_reinjection,
        unscheduled_bytes: sender.unscheduled(),
        window_left: sender.window_left(),
        send_window: sender.edge.saturating_sub(sender.una),
    }
}

/// Everything but the path and who holds the segment at hand. In place: it is done for every ACK and every segment.
#[inline]
fn update(view: &mut SubflowView, subflow: &Subflow, with_pacing: bool) {
    let Some(tcp) = &subflow.tcp else { return };
    let (phase, mss) = (tcp.recovery.phase, tcp.features.mss);
    view.is_usable = subflow.is_usable();
    view.is_backup = subflow.is_backup;
    view.is_recovering = phase == Phase::Recovery;
    view.is_loss = phase == Phase::Loss;
    view.srtt = tcp.rtt.srtt;
    view.rttvar = tcp.rtt.rttvar;
    view.srtt_range = subflow.srtt_range;
    view.cwnd = tcp.send_window();
    view.ssthresh = tcp.cc.ssthresh();
    view.in_flight = tcp.in_flight();
    let unsent = tcp.unsent_bytes();
    view.queued = if unsent == 0 { 0 } else { unsent.div_ceil(u64::from(mss)) as u32 };
    view.buffered_bytes = tcp.written_offset() - tcp.acknowledged_offset();
    if with_pacing {
        view.paced_at = tcp.pacing_rate();
    }
    view.delivery_rate = tcp.rate.latest;
    view.mss = mss;
}
