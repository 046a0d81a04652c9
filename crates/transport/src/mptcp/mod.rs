//! MPTCP over the TCP endpoints (RFC 8684): sans-IO, with the same verbs as [`Connection`], each segment with
//! the path that it takes.
//!
//! The data level is in `data.rs`, subflows in `subflow.rs`, handshakes and signals in `signalling.rs`, the choice of the next
//! segment in `sending.rs`, packet schedulers in `scheduler/`.
//!
//! Differences from RFC 8684 and from Linux:
//! 1. A path is a pair of addresses, known by the same index on both sides; address identifier and path index are equal.
//! 2. The client joins a path when the server has announced it by ADD_ADDR; the server announces every path that it has.
//! 3. No checksums, no MP_TCPRST, no MP_FASTCLOSE on `abort` (every subflow is reset).
//! 4. A subflow whose timer expires is taken for potentially failed (as the out-of-tree kernel does): what it holds is given to
//!    others, and it gets no data until it makes progress again.
//! 5. The DATA_FIN travels in a segment of its own.
//! 6. Congestion windows of subflows are moved by window validation and penalisation through `on_window_change` only.
//!
//! As Linux: no subflow is application-limited. What `tcp_sendmsg` checks (draft-cheng's test for an empty queue) neither Linux's
//! `mptcp_sendmsg` nor its pushes to subflows do, 6.18 included; the draft would mark them while the connection has nothing to send.
//! As Linux (profile `linux`): pacing rates count the DSS option as payload (`mss_cache` leaves it out), so a paced subflow sends 1.7 %
//! faster than its rate: `bbr` keeps a standing queue there, with the kernel as with us.
//!
//! Tested by `tests/mptcp.rs` and `tests/schedulers.rs`.

mod data;
pub(crate) mod keys;
mod lifecycle;
pub mod option;
pub mod scheduler;
mod sending;
mod signalling;
mod subflow;

pub use subflow::{PathConfig, SubflowStats};

use crate::segment::{Flags, Segment};
use crate::tcp::{Connection, Event, Events};
use data::{DataReceiver, DataSender};
use option::MptcpOption;
use playpath_cc::{AppParameters, Sibling};
use playpath_units::{Duration, Time};
use scheduler::{Room, Scheduler, SubflowView};
use std::collections::VecDeque;
use subflow::{Stage, Subflow};

/// Settings of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MptcpConfig {
    /// Own key (random).
    pub key: u64,
    /// Where the nonces of joins come from (random).
    pub nonce: u32,
    /// Bytes that `write` accepts beyond those acknowledged at the data level.
    pub send_buffer: u64,
    /// Bytes held for the reader, in order or not.
    pub receive_buffer: u64,
    /// The controls read their siblings.
    pub is_coupled: bool,
}

/// Counters of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MptcpStats {
    /// Two segments of new data in a row on different paths.
    pub path_switches: u64,
    /// Of these, from a path that still had room in its window and was not in recovery: the scheduler's own will.
    pub switches_from_open_path: u64,
    /// Segments of new data for which the windows of two paths or more had room: only there is anything to choose.
    pub choices: u64,
    /// Segments given to a further subflow, for whatever reason.
    pub reinjections: u64,
    /// Of these, because the connection-level window was full.
    pub opportunistic_retransmissions: u64,
    /// Windows halved because they held up the connection.
    pub penalisations: u64,
    /// Connection-level retransmission timeouts.
    pub data_timeouts: u64,
    /// Payload bytes acknowledged at the data level.
    pub bytes_acked: u64,
    /// Payload bytes handed to the reader.
    pub bytes_delivered: u64,
}

/// A change of path for new data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// When.
    pub at: Time,
    /// Path left.
    pub from: SwitchSide,
    /// Path entered.
    pub to: SwitchSide,
    /// Data offset of the first byte on the path entered.
    pub data_offset: u64,
    /// Payload bytes of a full segment there.
    pub mss: u32,
    /// The scheduler's reason.
    pub reason: &'static str,
    /// The path left had no room in its window, or was in recovery.
    pub is_forced: bool,
    /// When the last segment before it was given out.
    pub last_before: Time,
}

/// A path at the moment of a switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchSide {
    /// Index of the path.
    pub path: usize,
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Congestion window in packets.
    pub cwnd: f64,
}

impl SwitchSide {
    /// Window per smoothed RTT, in packets per second.
    pub fn window_rate(&self) -> f64 {
        scheduler::window_rate(self.cwnd, self.srtt)
    }
}

/// One end of an MPTCP connection.
pub struct MptcpConnection {
    config: MptcpConfig,
    is_client: bool,
    peer_key: Option<u64>,
    /// Data sequence numbers of offset 0, own and peer's (RFC 8684 §3.1: the key counts one).
    own_zero: u64,
    peer_zero: u64,
    /// The peer speaks plain TCP: path 0 alone carries the stream.
    is_fallback: bool,
    /// The peer has shown that it knows both keys (RFC 8684 §3.1).
    is_confirmed: bool,
    scheduler: Box<dyn Scheduler>,
    subflows: Vec<Subflow>,
    siblings: Vec<Sibling>,
    /// Views of the opened subflows, in the order of paths; those with a bit in `stale` are out of date.
    views: Vec<SubflowView>,
    stale: u32,
    /// Paths that are marked in the views as holding the segment at hand.
    holders: u32,
    /// Paths whose windows take one more packet, and those with room by the scheduler's own measure.
    eligible: u32,
    open: u32,
    room: Room,
    reads_backlog: bool,
    reads_pacing: bool,
    /// Smallest full segment of the usable paths; `None`: there is none.
    least_mss: Option<u32>,
    is_redundant: bool,
    sender: DataSender,
    receiver: DataReceiver,
    /// Subflows that may have something to send, a bit each.
    dirty: u32,
    /// When each subflow's timers are due, after its last poll.
    dues: Vec<Time>,
    /// Peer's addresses not yet confirmed by an echo; when to repeat.
    unechoed: u32,
    announce_at: Time,
    /// Connection-level retransmission, or repetition of the DATA_FIN.
    data_timer: Time,
    data_backoff: u32,
    is_fin_due: bool,
    /// Path of the last new data, and when it was given out.
    last_path: Option<(usize, Time)>,
    /// Switches not yet taken by the owner; kept once [`log_switches`](Self::log_switches) was called.
    switch_log: Option<VecDeque<Switch>>,
    is_window_blocked: bool,
    is_write_cut: bool,
    events: u8,
    stats: MptcpStats,
}

impl MptcpConnection {
    /// Active open on path 0. At most 32 paths.
    pub fn connect(
        now: Time,
        config: MptcpConfig,
        scheduler: Box<dyn Scheduler>,
        paths: Vec<PathConfig>,
    ) -> MptcpConnection {
        let mut connection = MptcpConnection::new(config, scheduler, paths, true);
        connection.open_active(now, 0);
        connection
    }

    /// Passive open: answers on every path that a join comes in on.
    pub fn listen(config: MptcpConfig, scheduler: Box<dyn Scheduler>, paths: Vec<PathConfig>) -> MptcpConnection {
        let mut connection = MptcpConnection::new(config, scheduler, paths, false);
        connection.open_passive(0);
        connection
    }

    /// A segment arrived on `path`. Panics if there is no such path.
    pub fn handle_segment(&mut self, now: Time, path: usize, segment: &Segment) {
        if !self.take_options(now, path, segment) {
            return;
        }
        self.dirty |= 1 << path;
        let Some(tcp) = &mut self.subflows[path].tcp else { return };
        tcp.handle_segment(now, segment, &self.siblings);
        if tcp.readable() > 0 {
            self.take_data(now, path);
        }
        self.after_subflow_event(now, path);
        if self.is_fallback && segment.flags.contains(Flags::ACK) && path == 0 {
            self.take_plain_ack(now, segment);
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        for path in 0..self.subflows.len() {
            if let Some(tcp) = &mut self.subflows[path].tcp
                && tcp.poll_timeout() <= now
            {
                tcp.handle_timeout(now, &self.siblings);
                self.dirty |= 1 << path;
                self.after_subflow_event(now, path);
            }
        }
        self.expire_signals(now);
        if self.data_timer <= now {
            self.expire_data_timer(now);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never. Known once segments were polled for.
    pub fn poll_timeout(&self) -> Time {
        debug_assert!(
            (0..self.dues.len())
                .all(|path| self.dirty & 1 << path != 0 || self.dues[path] == self.subflows[path].due()),
            "timers of every subflow that was polled are known"
        );
        self.dues.iter().fold(self.announce_at.min(self.data_timer), |least, &due| least.min(due))
    }

    /// Next event for the owner.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = Event::from_bits(self.events)?;
        self.events &= self.events - 1;
        Some(event)
    }

    /// All events for the owner at once, instead of [`poll_event`](Self::poll_event).
    pub fn take_events(&mut self) -> Events {
        Events(std::mem::take(&mut self.events))
    }

    /// Append up to `bytes` to the stream; returns how many the send buffer took.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.send_space());
        self.sender.written += taken;
        self.is_write_cut |= taken < bytes;
        for tcp in self.subflows.iter_mut().filter_map(|s| s.tcp.as_mut()) {
            tcp.is_writer_waiting = taken < bytes; // Subflows share the socket of the connection (Linux `mptcp_sock_graft`).
        }
        taken
    }

    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self) -> u64 {
        if self.sender.is_closing || self.is_closed() {
            return 0;
        }
        self.config.send_buffer.saturating_sub(self.sender.written - self.sender.una.min(self.sender.written))
    }

    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.unscheduled()
            + self.subflows.iter().filter_map(|s| s.tcp.as_ref()).map(Connection::unsent_bytes).sum::<u64>()
    }

    /// Bytes in order and not read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Take up to `max` bytes in order. Poll for a segment after it: the window may have opened.
    pub fn read(&mut self, max: u64) -> u64 {
        let (taken, tell) = self.receiver.read(max);
        self.stats.bytes_delivered += taken;
        if tell {
            self.request_acks();
        }
        taken
    }

    /// No more data will be written; what was written is still delivered.
    pub fn close(&mut self, now: Time) {
        if !self.sender.is_closing {
            self.sender.is_closing = true;
            self.is_fin_due = true;
            self.rearm_data_timer(now);
        }
    }

    /// Reset every subflow.
    pub fn abort(&mut self, now: Time) {
        for (path, subflow) in self.subflows.iter_mut().enumerate() {
            if let Some(tcp) = &mut subflow.tcp {
                tcp.abort(now);
                self.dirty |= 1 << path;
            }
            subflow.stage = Stage::Dead;
        }
        self.stale = self.dirty;
        self.data_timer = Time::MAX;
        self.announce_at = Time::MAX;
        self.raise(Event::Reset);
    }

    /// The application tells what it knows of the video; every subflow's control hears it.
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        for tcp in self.subflows.iter_mut().filter_map(|s| s.tcp.as_mut()) {
            tcp.set_app_parameters(now, parameters);
        }
    }

    /// Ask both sides to use `path` only if no other works, or to use it again (MP_PRIO).
    pub fn set_backup(&mut self, path: usize, is_backup: bool) {
        self.subflows[path].is_backup = is_backup;
        self.stale |= 1 << path;
        self.signal(path, MptcpOption::Priority { is_backup });
    }

    /// Take `path` out of use on both sides (REMOVE_ADDR); what it held is sent elsewhere.
    pub fn remove_path(&mut self, now: Time, path: usize) {
        self.drop_path(now, path);
        if let Some(other) = self.subflows.iter().position(Subflow::is_ready) {
            self.signal(other, MptcpOption::RemoveAddress { address_id: path as u8 });
        }
    }

    /// The TCP endpoint of a path, once it is opened.
    pub fn subflow(&self, path: usize) -> Option<&Connection> {
        self.subflows[path].tcp.as_ref()
    }
    /// Counters of a path.
    pub fn subflow_stats(&self, path: usize) -> &SubflowStats {
        &self.subflows[path].stats
    }
    /// Data may flow on the path, and it is not taken for failed.
    pub fn is_path_usable(&self, path: usize) -> bool {
        self.subflows[path].is_usable()
    }
    /// Number of paths.
    pub fn path_count(&self) -> usize {
        self.subflows.len()
    }
    /// Counters of the connection.
    pub fn stats(&self) -> &MptcpStats {
        &self.stats
    }
    /// Keep every switch from now on until [`poll_switch`](Self::poll_switch) takes it.
    pub fn log_switches(&mut self) {
        self.switch_log.get_or_insert_default();
    }
    /// The oldest switch not yet taken.
    pub fn poll_switch(&mut self) -> Option<Switch> {
        self.switch_log.as_mut()?.pop_front()
    }
    /// Time that data has waited behind a gap at the data level, up to `now`.
    pub fn hol_blocking_time(&self, now: Time) -> Duration {
        self.receiver.blocked_time(now)
    }
    /// Bytes held behind a gap at the data level.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.receiver.out_of_order_bytes()
    }
    /// Most bytes held behind a gap so far.
    pub fn most_out_of_order_bytes(&self) -> u64 {
        self.receiver.most_out_of_order
    }
    /// The peer speaks plain TCP.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback
    }
    /// The first subflow is established.
    pub fn is_established(&self) -> bool {
        self.subflows.iter().any(Subflow::is_ready)
    }
    /// Both sides have sent everything and know it, or the connection is gone.
    pub fn is_closed(&self) -> bool {
        (self.sender.is_fin_acked && self.receiver.is_finished())
            || self.subflows.iter().all(|s| s.stage == Stage::Dead)
    }
    /// The packet scheduler.
    pub fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }
    /// Data offset of the first payload byte of a segment that this end sends on `path`; for owners of real bytes.
    pub fn transmit_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        let subflow = &self.subflows[path];
        if self.is_fallback {
            return Some(subflow.tcp.as_ref()?.transmit_offset(segment));
        }
        Some(subflow.place(segment, None)?.1)
    }
    /// Data offset of the first payload byte of a segment that arrived on `path`; ask before handling it.
    pub fn receive_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        match segment.mptcp {
            MptcpOption::Capable { data_len: 1.., .. } => Some(0),
            MptcpOption::Dss { flags, data_seq, .. } if flags & option::DSS_MAP != 0 => {
                self.peer_data_offset(flags, data_seq)
            }
            _ => self.subflows[path].tcp.as_ref().filter(|_| self.is_fallback).map(|tcp| tcp.receive_offset(segment)),
        }
    }
}
