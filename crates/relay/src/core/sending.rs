//! What leaves a session, in the order that `core.rs` states, and on which path.

use super::{Core, Event, Given, MIN_RTO, Side};
use crate::outgoing::{Outgoing, Piece};
use crate::record::{HEADER, MAX_PAYLOAD, Record};
use playpath_transport::mptcp::scheduler::{Context, Relief, SubflowView};
use playpath_units::{Rate, Time};

impl Core {
    /// The next record to send, appended to `out`; returns its path. `views`: of all paths, by index.
    pub fn poll_transmit(&mut self, now: Time, views: &mut [SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        debug_assert!(views.iter().enumerate().all(|(index, view)| view.path == index));
        for (view, path) in views.iter_mut().zip(&self.paths) {
            view.is_usable &= path.is_up && !path.is_stalled;
        }
        let rto = |view: &SubflowView| (view.srtt + view.rttvar * 4).max(MIN_RTO);
        self.rto = views.iter().filter(|view| view.is_usable).map(rto).max().unwrap_or(self.rto);
        self.acknowledge(now, views, out)
            .or_else(|| self.copy_redundantly(now, views, out))
            .or_else(|| self.reinject(now, views, out))
            .or_else(|| self.give_new(now, views, out))
            .or_else(|| self.send_fin(now, views, out))
    }

    fn acknowledge(&mut self, now: Time, views: &[SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        self.ack_at.filter(|&at| at <= now)?;
        let arrived = self.arrived_on.filter(|&path| views[path].is_usable);
        let path = arrived.or_else(|| lowest_rtt(views))?;
        let (next, edge) = (self.incoming.next(), self.incoming.edge());
        Record::Ack { next, edge, wants_answer: self.wants_answer }.encode(out);
        self.incoming.note_advertised();
        self.acked_next = next;
        self.wants_answer = false;
        self.ack_at = None;
        Some(path)
    }

    /// Redundant schedulers: on the fastest path with room, the oldest data that it has not carried.
    fn copy_redundantly(&mut self, now: Time, views: &[SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        if !self.is_redundant || !self.outgoing.has_outstanding() {
            return None;
        }
        let open = views.iter().filter(|view| view.is_eligible() && !view.is_backup);
        let behind = open.filter_map(|view| {
            let piece = self.outgoing.first_not_on(view.path, self.paths[view.path].copied_to)?;
            Some((view.srtt, view.path, piece))
        });
        let (_, path, piece) = behind.min_by_key(|&(srtt, path, _)| (srtt, path))?;
        self.paths[path].copied_to = piece.start + 1;
        self.give_again(now, path, piece, "copy on every path", out);
        Some(path)
    }

    fn reinject(&mut self, now: Time, views: &mut [SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        let usable = views.iter().filter(|view| view.is_usable).fold(0u32, |bits, view| bits | 1 << view.path);
        loop {
            let piece = self.outgoing.next_reinjection()?;
            let carriers = piece.paths & usable;
            if usable != 0 && carriers == usable {
                self.outgoing.note_sent(piece.start, carriers.trailing_zeros() as usize);
                continue; // every usable path carries it: TCP delivers it
            }
            mark_holders(views, piece.paths);
            let (path, reason) = self.ask(now, views, piece.len, true)?;
            self.give_again(now, path, piece, reason, out);
            return Some(path);
        }
    }

    fn give_new(&mut self, now: Time, views: &mut [SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        let mss = views.iter().filter(|view| view.is_usable).map(|view| view.mss).min()?;
        let largest = (mss as usize).saturating_sub(HEADER).clamp(1, MAX_PAYLOAD) as u64;
        let (unscheduled, left) = (self.outgoing.unscheduled(), self.outgoing.window_left());
        if unscheduled == 0 {
            return None;
        }
        let len = unscheduled.min(largest);
        // A window too small for the record is used only when nothing else is under way (silly window avoidance).
        if left < len && (left == 0 || self.outgoing.has_outstanding()) {
            return self.relieve(now, views, len as u32, out);
        }
        self.is_window_blocked = false;
        let len = len.min(left) as u32;
        mark_holders(views, 0);
        let Some((path, reason)) = self.ask(now, views, len, false) else {
            self.stats.waits += 1;
            return None;
        };
        let piece = self.outgoing.take_new(len, path);
        self.put(&piece, out);
        let stats = &mut self.paths[path].stats;
        stats.scheduled_packets += 1;
        stats.scheduled_bytes += u64::from(len);
        if self.data_timer.is_none() {
            self.rearm(now);
        }
        self.stats.path_choices += u64::from(views.iter().filter(|view| view.is_eligible()).count() > 1);
        self.note_path(now, views, path, &piece, reason);
        Some(path)
    }

    /// The connection-level window is full: the scheduler may want to unblock it.
    fn relieve(&mut self, now: Time, views: &mut [SubflowView], len: u32, out: &mut Vec<u8>) -> Option<usize> {
        self.is_window_blocked = true;
        let head = self.outgoing.head()?;
        mark_holders(views, head.paths);
        let context = context(now, views, &self.outgoing, len, true);
        let Relief { retransmit_on, penalised } = self.scheduler.relieve(&context)?;
        self.stats.penalties_refused += u64::from(penalised.count_ones());
        let path = retransmit_on.filter(|&path| head.paths & 1 << path == 0)?;
        self.stats.opportunistic_retransmissions += 1;
        self.give_again(now, path, head, "window full, oldest data on a faster path", out);
        Some(path)
    }

    /// The end of the stream, on the usable path with the lowest RTT.
    fn send_fin(&mut self, now: Time, views: &[SubflowView], out: &mut Vec<u8>) -> Option<usize> {
        if !self.outgoing.is_fin_due() {
            return None;
        }
        let path = lowest_rtt(views)?;
        let piece = self.outgoing.take_new(0, path);
        self.put(&piece, out);
        if self.data_timer.is_none() {
            self.rearm(now);
        }
        Some(path)
    }

    fn give_again(&mut self, now: Time, path: usize, piece: Piece, reason: &'static str, out: &mut Vec<u8>) {
        self.outgoing.note_sent(piece.start, path);
        self.put(&piece, out);
        self.stats.reinjections += 1;
        let stats = &mut self.paths[path].stats;
        stats.reinjected_packets += 1;
        stats.reinjected_bytes += u64::from(piece.len);
        if !self.is_redundant || self.settings.logs_records {
            self.events.push_back(Event::Reinjected(Given {
                at: now,
                path,
                offset: piece.start,
                bytes: piece.len,
                reason,
            }));
        }
    }

    fn put(&self, piece: &Piece, out: &mut Vec<u8>) {
        if piece.is_fin() {
            Record::Fin { end: piece.start }.encode(out);
            return;
        }
        let header = out.len();
        Record::Data { offset: 0, payload: &[] }.encode(out);
        let start = self.outgoing.copy(piece, out);
        let length = (out.len() - header - HEADER) as u16;
        out[header + 2..header + 4].copy_from_slice(&length.to_be_bytes());
        out[header + 4..header + HEADER].copy_from_slice(&start.to_be_bytes());
    }

    /// Ask the scheduler; it must not choose a path that is not usable.
    fn ask(&mut self, now: Time, views: &[SubflowView], len: u32, again: bool) -> Option<(usize, &'static str)> {
        let decision = self.scheduler.select(&context(now, views, &self.outgoing, len, again));
        let path = decision.path?;
        debug_assert!(views[path].is_usable, "{path} is not usable");
        Some((path, decision.reason))
    }

    fn note_path(&mut self, now: Time, views: &[SubflowView], path: usize, piece: &Piece, reason: &'static str) {
        let (at, offset) = (now, piece.start);
        if self.settings.logs_records {
            self.events.push_back(Event::Sent(Given { at, path, offset, bytes: piece.len, reason }));
        }
        if let Some(from) = self.last_path.replace(path)
            && from != path
        {
            self.stats.path_switches += 1;
            self.stats.switches_from_open_path += u64::from(views[from].is_eligible() && !views[from].is_recovering);
            let (from, to) = (side(&views[from]), side(&views[path]));
            self.events.push_back(Event::Switch { at, from, to, offset, reason });
        }
    }
}

fn side(view: &SubflowView) -> Side {
    let window_rate = Rate::from_bits_per_sec_f64(view.window_rate() * f64::from(view.mss) * 8.0);
    Side { path: view.path, srtt: view.srtt, window_rate }
}

fn lowest_rtt(views: &[SubflowView]) -> Option<usize> {
    views.iter().filter(|view| view.is_usable).min_by_key(|view| (view.srtt, view.path)).map(|view| view.path)
}

fn mark_holders(views: &mut [SubflowView], paths: u32) {
    for view in views {
        view.has_segment = paths & 1 << view.path != 0;
    }
}

fn context<'a>(
    now: Time,
    subflows: &'a [SubflowView],
    outgoing: &Outgoing,
    segment_bytes: u32,
    is_reinjection: bool,
) -> Context<'a> {
    Context {
        now,
        subflows,
        segment_bytes,
        is_reinjection,
        unscheduled_bytes: outgoing.unscheduled(),
        window_left: outgoing.window_left(),
        send_window: outgoing.window(),
    }
}
