//! The choice of the next segment and its path: the subflows' own segments first, then those of the data level.

use super::MptcpConnection;
use super::level::Paths;
use crate::segment::Segment;
use crate::tcp::Connection;
use playpath_units::{Duration, Time};

impl MptcpConnection {
    /// Next segment to send, and its path. Call until `None` after every event.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(usize, Segment)> {
        let mut segment = Segment::default();
        self.poll_transmit_into(now, &mut segment).map(|path| (path, segment))
    }

    /// The same as [`poll_transmit`](Self::poll_transmit), written into `out`; returns the path.
    #[inline(always)]
    pub fn poll_transmit_into(&mut self, now: Time, out: &mut Segment) -> Option<usize> {
        loop {
            while let Some(path) = self.subflows.first_unpolled() {
                if self.poll_subflow(now, path, out) {
                    if out.payload_len > 0 {
                        self.level.note_wire(path);
                    }
                    return Some(path);
                }
                self.subflows.settle(path);
            }
            let given = match self.is_fallback {
                true => self.feed_plain(),
                false if self.awaits_fallback() => return None,
                false => self.level.schedule(now, &mut self.subflows),
            };
            if given.is_none() && !(self.level.is_fin_due() && self.send_data_fin(now)) {
                return None;
            }
        }
    }

    /// Whether a poll could give a segment, or change anything: cheaper than the poll, `true` when in doubt.
    #[inline]
    pub fn may_have_more(&self) -> bool {
        self.subflows.first_unpolled().is_some() || self.level.may_have_more() || self.is_fallback
    }

    /// Spare the poll that would find nothing to send on `path`.
    #[inline(always)]
    pub(super) fn settle_exhausted(&mut self, now: Time, path: usize) {
        if self.subflows[path].is_exhausted() {
            let (subflow, at) = self.subflows.touch_at(now, path);
            subflow.tcp.iter_mut().for_each(|tcp| tcp.note_pause(at));
            self.subflows.settle(path);
        }
    }

    /// After a poll that gave nothing: a full segment waits for a subflow, and more behind it would change nothing. `false`
    /// when in doubt.
    #[inline]
    pub fn has_segment_waiting(&self) -> bool {
        // A window that the last poll halved may bring another decision.
        let is_settled = self.subflows.is_seen() && !self.is_fallback && !self.reads_backlog;
        is_settled && self.level.unscheduled() >= u64::from(self.receiver.mss())
    }

    /// The data-level timer runs from the last progress.
    #[inline(always)]
    pub(super) fn rearm_data_timer(&mut self, now: Time) {
        if self.is_fallback {
            self.level.disarm(); // TCP's own counts
        } else {
            self.level.rearm(now, self.subflows.longest_rto());
        }
    }

    /// No progress at the data level: the oldest data goes elsewhere, and perhaps the peer must be asked for its window.
    #[cold]
    pub(super) fn expire_data_timer(&mut self, now: Time) {
        if self.level.handle_timeout(now) {
            for tcp in self.subflows.touch_all().filter(|s| s.is_ready()).filter_map(|s| s.tcp.as_mut()) {
                tcp.probe_window();
            }
        }
    }

    #[inline(always)]
    fn poll_subflow(&mut self, now: Time, path: usize, out: &mut Segment) -> bool {
        let is_fed = self.level.unscheduled() > 0;
        let (subflow, at) = self.subflows.touch_at(now, path);
        let Some(tcp) = &mut subflow.tcp else { return false };
        if subflow.signals.is_empty() && tcp.is_exhausted() {
            tcp.note_pause(at);
            return false;
        }
        let mut next_mapping = None;
        if tcp.unsent_bytes() > 0 {
            // A segment must lie within one mapping.
            next_mapping = subflow.sent.next(tcp.next_offset());
            tcp.set_boundary(next_mapping.map_or(u64::MAX, |mapping| mapping.end()), is_fed);
        }
        if tcp.poll_transmit_into(at, out) {
            // Mostly a poll gives a single segment: spare the one that would say so.
            if subflow.signals.is_empty() && tcp.is_exhausted() {
                if tcp.may_have_more() {
                    tcp.note_pause(at);
                }
                self.subflows.settle(path);
            }
            self.decorate(path, out, next_mapping);
            return true;
        }
        !subflow.signals.is_empty() && self.send_signal(now, path, out)
    }

    #[cold]
    fn send_signal(&mut self, now: Time, path: usize, out: &mut Segment) -> bool {
        if self.owes_keys() {
            return false;
        }
        let (subflow, at) = self.subflows.touch_at(now, path);
        let (true, Some(tcp)) = (subflow.is_ready(), &mut subflow.tcp) else { return false };
        let Some(option) = subflow.signals.pop_front() else { return false };
        tcp.request_ack();
        let has_ack = tcp.poll_transmit_into(at, out);
        if has_ack {
            self.decorate(path, out, None);
            out.mptcp = option;
            super::signalling::limit_sack(out);
        }
        has_ack
    }

    /// A client whose keys may not have arrived: no other option goes before them (RFC 8684 §3.1).
    fn owes_keys(&self) -> bool {
        self.is_client && !self.is_confirmed && !self.is_fallback
    }

    /// All data has been given out: the DATA_FIN, where the data level says, or on any path that is not gone.
    #[cold]
    fn send_data_fin(&mut self, now: Time) -> bool {
        if self.is_fallback || self.owes_keys() {
            return false;
        }
        let Some(usable) = self.level.fin_path(&mut self.subflows) else { return false };
        let srtt = |path: &usize| self.subflows[*path].tcp.as_ref().map_or(Duration::MAX, |tcp| tcp.srtt());
        let ready = (0..self.subflows.len()).filter(|&path| self.subflows[path].is_ready());
        let Some(path) = usable.or_else(|| ready.min_by_key(srtt)) else { return false };
        let fin = self.data_fin();
        self.signal(path, fin);
        self.level.note_fin(now, path, &self.subflows);
        true
    }

    /// Plain TCP: everything goes to path 0 in order.
    #[cold]
    fn feed_plain(&mut self) -> Option<usize> {
        let (unscheduled, is_fin_due) = (self.level.unscheduled(), self.level.is_fin_due());
        let len = unscheduled.min(self.level.window_left());
        let has_room = |tcp: &Connection| tcp.unsent_bytes() <= u64::from(tcp.config().mss);
        let is_end = unscheduled == 0 && is_fin_due;
        if !is_end && (len == 0 || !self.subflows[0].tcp.as_ref().is_some_and(has_room)) {
            return None;
        }
        let tcp = self.subflows.touch(0).tcp.as_mut()?;
        if is_end {
            tcp.close();
            self.level.pass_fin();
        } else {
            tcp.write(len);
            self.level.pass(len);
        }
        Some(0)
    }
}
