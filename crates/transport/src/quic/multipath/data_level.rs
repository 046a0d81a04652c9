//! Calls of the scheduler, and the frames assigned to a path: those of the next packet, new or lost; copies of frames that other paths
//! carry.
//!
//! In the order of MPTCP's data level ([`crate::mptcp::level`]): copies of redundant schedulers, data that was lost or is new, relief of a
//! full window or buffer, copies when everything is assigned. "The oldest data" is that of the packet which has been in flight longest.
//!
//! Data assigned to a path waits there for its window and its pacing. A copy carries the frames of one packet in a packet of its own; if
//! one of the two is lost while the other is in flight, nothing is retransmitted.

use super::super::Connection;
use super::super::lane::{Lane, Standing};
use super::super::packet::{Frame, FrameList, Kind, Space};
use super::super::sending::MIN_ROOM;
use super::super::sent::Sent;
use crate::mptcp::level::{Switch, SwitchSide};
use crate::mptcp::scheduler::{Blockage, Context, Relief, Run, SubflowView};
use playpath_units::{Duration, Time};

/// Bytes of the type, id and offset of a STREAM frame in mid-stream.
const DATA_FRAME: u32 = 6;

/// Time during which data waited behind gaps.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    since: Option<Time>,
    time: Duration,
    most: u64,
}

impl Blocked {
    pub fn note(&mut self, now: Time, bytes: u64) {
        self.most = self.most.max(bytes);
        match (bytes, self.since) {
            (0, Some(since)) => {
                self.time += now.saturating_since(since);
                self.since = None;
            }
            (1.., None) => self.since = Some(now),
            _ => {}
        }
    }
    pub fn until(&self, now: Time) -> (Duration, u64) {
        (self.time + self.since.map_or(Duration::ZERO, |since| now.saturating_since(since)), self.most)
    }
}

impl Connection {
    /// Assign data to a path. Returns `false` if there are none, or no path accepts them.
    pub(super) fn allot(&mut self, now: Time) -> bool {
        if self.handshake.sends(Space::Data).is_none() {
            return false;
        }
        let acked = self.streams.acked_bytes();
        let Some(multi) = &mut self.multi else { return false };
        if multi.scheduler.reads_progress() {
            multi.scheduler.note_progress(now, acked);
        }
        let is_redundant = multi.scheduler.is_redundant();
        self.look_at_paths();
        if is_redundant && self.give_copy() {
            return true;
        }
        match self.streams.has_data() {
            true => self.give_data(now),
            false => self.give_control() || self.give_spare(now),
        }
    }

    /// Update the views of the scheduler.
    fn look_at_paths(&mut self) {
        let room = self.packet_room() - DATA_FRAME;
        let Some(multi) = &mut self.multi else { return };
        let with_pacing = multi.scheduler.reads_pacing();
        let lanes = multi.others.iter().map(|lane| &**lane).chain([&*self.lane]);
        for lane in lanes {
            let paced_at = with_pacing.then(|| lane.path.pacing_rate(&self.config.pacing)).flatten();
            multi.views[usize::from(lane.id)] = SubflowView { paced_at, ..view(lane, room) };
        }
    }

    /// Assign lost data, or else new data, to the path that the scheduler chooses for the next packet; it does not distinguish the two.
    fn give_data(&mut self, now: Time) -> bool {
        let (unsent, window_left) = (self.streams.unsent(), self.streams.window_left());
        let Some(multi) = &mut self.multi else { return false };
        let lost = if multi.scheduler.reads_backlog() { self.streams.lost() } else { 0 };
        let Some((path, reason)) = multi.path_for_new(now, (unsent + lost, window_left)) else { return false };
        let before = self.streams.unsent();
        let (is_again, has_any) = self.fill_queue(path as u8);
        let new_bytes = before - self.streams.unsent();
        let Some(multi) = &mut self.multi else { return false };
        multi.run.note_given(if is_again { self.config.datagram_bytes.into() } else { new_bytes });
        if is_again && multi.unassigned > 0 {
            multi.unassigned -= 1;
            multi.count_copy(path, u64::from(self.config.datagram_bytes));
        }
        if new_bytes > 0 {
            multi.note_new(now, path, (new_bytes, reason));
        }
        has_any
    }

    /// Assign the stream frames of one packet to a path. Returns whether they contain data sent before, and whether there were any.
    fn fill_queue(&mut self, path: u8) -> (bool, bool) {
        self.turn_to(path);
        let (mut room, mut is_again, mut count) = (self.packet_room(), false, 0);
        let may_tell = self.may_send_status();
        if let Some(frame) = self.multi.as_mut().filter(|_| may_tell).and_then(|multi| multi.status.pop_front()) {
            room -= frame.bytes(false);
            self.lane.queue.push(frame, false, 0);
            count = 1;
        }
        while count < FrameList::CAPACITY && room >= MIN_ROOM {
            let Some(next) = self.streams.next_frame(room) else { break };
            room -= next.bytes;
            self.lane.queue.push(next.frame, next.is_again, 0);
            (is_again, count) = (is_again | next.is_again, count + 1);
        }
        (is_again, count > 0)
    }

    /// Frames without data are sent on the fastest working path, without the scheduler.
    fn give_control(&mut self) -> bool {
        let (has_frames, may_tell) = (self.streams.has_frames(), self.may_send_status());
        let Some(multi) = &mut self.multi else { return false };
        if !has_frames && (multi.status.is_empty() || !may_tell) {
            return false;
        }
        let usable = multi.views.iter().filter(|view| view.is_usable);
        let best = usable.min_by_key(|view| (view.is_backup, view.srtt, view.path)).map(|view| view.path as u8);
        best.is_some_and(|path| self.fill_queue(path).1)
    }

    /// Frames about paths wait for 1-RTT keys (draft-ietf-quic-multipath-21 §4).
    fn may_send_status(&self) -> bool {
        self.handshake.sends(Space::Data) == Some(Kind::OneRtt)
    }

    /// All data are assigned: copy data held by paths to others.
    fn give_spare(&mut self, now: Time) -> bool {
        let (unsent, window_left) = (self.streams.unsent(), self.streams.window_left());
        let blockage = match (unsent, self.streams.held_up(&self.config)) {
            (1.., _) => Some(Blockage::ReceiveWindow),
            (0, Some(is_full)) => Some(Blockage::SendBuffer { is_full }),
            _ => None,
        };
        if let Some(blockage) = blockage
            && self.relieve(now, blockage, (unsent, window_left))
        {
            return true;
        }
        let Some(multi) = &mut self.multi else { return false };
        if unsent > 0 || !multi.scheduler.wants_copies(Duration::MAX) {
            return false;
        }
        let holding = multi.views.iter().filter(|view| view.buffered_bytes > 0);
        let longest = holding.map(|view| view.srtt + view.rttvar).max();
        longest.is_some_and(|longest| multi.scheduler.wants_copies(longest)) && self.give_copy()
    }

    /// The scheduler may want the oldest data on a faster path as well, and a window halved.
    fn relieve(&mut self, now: Time, blockage: Blockage, waiting: (u64, u64)) -> bool {
        let held = |lane: &Lane| oldest(lane, 0).map(|sent| (sent.stamp.sent_at, lane.id, sent.carriers));
        let Some((_, holder, carriers)) = self.lanes().filter_map(held).min() else { return false };
        let carriers = carriers | 1 << holder;
        let Some(multi) = &mut self.multi else { return false };
        let room = multi.scheduler.room();
        if !multi.views.iter().any(|view| view.has_room(room)) {
            return false;
        }
        multi.views.iter_mut().for_each(|view| view.has_segment = carriers & 1 << view.path != 0);
        let context = context(now, multi.given, &multi.views, true, waiting);
        let Some(Relief { retransmit_on, penalised, .. }) = multi.scheduler.relieve(&context, blockage) else {
            return false;
        };
        for path in (0..multi.views.len()).filter(|path| penalised & 1 << path != 0) {
            multi.stats.penalisations += 1;
            multi.path_stats[path].penalties += 1;
            match multi.others.iter_mut().find(|lane| usize::from(lane.id) == path) {
                Some(lane) => lane.path.penalise(now),
                None => self.lane.path.penalise(now),
            }
        }
        let Some(path) = retransmit_on.filter(|path| carriers & 1 << path == 0) else { return false };
        multi.stats.opportunistic_retransmissions += 1;
        self.copy(holder, path as u8)
    }

    /// Copy to the fastest path with room the oldest data that it has not carried.
    fn give_copy(&mut self) -> bool {
        let Some(multi) = &self.multi else { return false };
        let open = multi.views.iter().filter(|view| view.is_eligible() && !view.is_backup);
        let behind = open.filter_map(|view| {
            let others = self.lanes().filter(|lane| usize::from(lane.id) != view.path);
            let held = others.filter_map(|lane| Some((oldest(lane, 1 << view.path)?.stamp.sent_at, lane.id)));
            Some((view.srtt, view.path, held.min()?.1))
        });
        let Some((_, path, holder)) = behind.min() else { return false };
        self.copy(holder, path as u8)
    }

    /// Copy the oldest data of `holder` that `path` has not carried to `path`.
    fn copy(&mut self, holder: u8, path: u8) -> bool {
        self.turn_to(holder);
        let board = &mut self.lane.spaces[Space::Data as usize].board;
        let Some(sent) = board.find_outstanding(|sent| is_original(sent, 1 << path)) else { return false };
        sent.carriers |= 1 << holder | 1 << path;
        let sent = *sent;
        let frames = board.list_of(&sent);
        self.turn_to(path);
        let data = frames.as_slice().iter().filter(|frame| matches!(frame, Frame::Stream { .. }));
        data.for_each(|frame| self.lane.queue.push(*frame, true, sent.carriers));
        if let Some(multi) = &mut self.multi {
            multi.count_copy(usize::from(path), u64::from(sent.stream_bytes()));
        }
        true
    }

    /// A packet is lost. Returns whether other working paths still carry its data.
    pub(in super::super) fn is_carried_elsewhere(&self, sent: &Sent, frame: &Frame) -> bool {
        let Frame::Stream { id, offset, len, .. } = *frame else { return false };
        if sent.carriers == 0 {
            return false;
        }
        let is_it = |other: &Frame| match *other {
            Frame::Stream { id: of, offset: start, len: bytes, .. } => {
                of == id && start <= offset && offset + u64::from(len) <= start + u64::from(bytes)
            }
            _ => false,
        };
        let is_carrier = |lane: &&Lane| {
            lane.id != self.lane.id && sent.carriers & 1 << lane.id != 0 && lane.standing == Standing::Open
        };
        self.lanes().filter(is_carrier).any(|lane| {
            let board = &lane.spaces[Space::Data as usize].board;
            lane.queue.frames().any(is_it)
                || board
                    .outstanding()
                    .filter(|other| other.carriers != 0)
                    .any(|other| board.frames_of(other).any(is_it))
        })
    }
}

impl super::Multi {
    /// The path of the next new or lost data, and why.
    fn path_for_new(&mut self, now: Time, waiting: (u64, u64)) -> Option<(usize, &'static str)> {
        if let Some(path) = self.run.path(now, &self.views) {
            return Some((path, "as decided before"));
        }
        let room = self.scheduler.room();
        if !self.views.iter().any(|view| view.has_room(room)) {
            return None;
        }
        let decision = self.scheduler.select(&context(now, self.given, &self.views, false, waiting));
        self.run = Run::begin(now, decision);
        self.stats.waits += u64::from(decision.path.is_none());
        decision.path.map(|path| (path, decision.reason))
    }

    fn count_copy(&mut self, path: usize, bytes: u64) {
        self.stats.reinjections += 1;
        self.path_stats[path].reinjected_packets += 1;
        self.path_stats[path].reinjected_bytes += bytes;
    }

    /// New data was assigned to `path`. The views are still those of the decision.
    fn note_new(&mut self, now: Time, path: usize, (bytes, reason): (u64, &'static str)) {
        self.path_stats[path].scheduled_packets += 1;
        self.path_stats[path].scheduled_bytes += bytes;
        let eligible = self.views.iter().filter(|view| view.is_eligible()).count();
        self.stats.path_choices += u64::from(eligible > 1);
        let data_offset = self.given;
        self.given += bytes;
        let Some((last, last_before)) = self.last.replace((path, now)).filter(|(last, _)| *last != path) else {
            return;
        };
        let (left, entered) = (&self.views[last], &self.views[path]);
        let is_forced = !left.is_eligible() || left.is_recovering;
        self.stats.path_switches += 1;
        self.stats.switches_from_open_path += u64::from(!is_forced);
        let side = |view: &SubflowView| SwitchSide { path: view.path, srtt: view.srtt, cwnd: view.cwnd };
        let (from, to, mss) = (side(left), side(entered), entered.mss);
        if let Some(switches) = &mut self.switches {
            switches.push_back(Switch { at: now, from, to, data_offset, mss, reason, is_forced, last_before });
        }
    }
}

/// The oldest outstanding packet with data that is no copy and that none of the paths `but` carries.
fn oldest(lane: &Lane, but: u32) -> Option<&Sent> {
    lane.spaces[Space::Data as usize].board.outstanding().find(|sent| is_original(sent, but))
}

fn is_original(sent: &Sent, but: u32) -> bool {
    sent.stream_bytes() > 0 && sent.carriers & but == 0
}

fn context(
    now: Time,
    offset: u64,
    subflows: &[SubflowView],
    is_reinjection: bool,
    (unscheduled_bytes, window_left): (u64, u64),
) -> Context<'_> {
    let segment_bytes = subflows.iter().map(|view| view.mss).max().unwrap_or(0);
    let held: u64 = subflows.iter().map(|view| view.buffered_bytes).sum();
    Context {
        now,
        subflows,
        offset,
        segment_bytes: u64::from(segment_bytes).min(unscheduled_bytes.max(1)) as u32,
        is_reinjection,
        unscheduled_bytes,
        window_left,
        send_window: window_left + held,
    }
}

/// The scheduler's view of a path whose full packets have `mss` bytes of data.
fn view(lane: &Lane, mss: u32) -> SubflowView {
    let (path, control) = (&lane.path, lane.path.control());
    SubflowView {
        path: usize::from(lane.id),
        is_usable: lane.standing == Standing::Open,
        is_backup: lane.is_backup,
        is_recovering: path.is_in_recovery(),
        is_loss: false,
        is_ca_open: !path.is_in_recovery(),
        srtt: path.rtt.smoothed(),
        rttvar: path.rtt.variation(),
        srtt_range: lane.srtt_range(),
        cwnd: control.cwnd(),
        ssthresh: control.ssthresh(),
        in_flight: path.packets_out(),
        queued: lane.queue.bytes().div_ceil(u64::from(mss)) as u32,
        buffered_bytes: path.bytes_in_flight() + lane.queue.bytes(),
        sized_for: lane.sized_for,
        paced_at: None,
        delivery_rate: path.latest_rate(),
        mss,
        has_segment: false,
    }
}
