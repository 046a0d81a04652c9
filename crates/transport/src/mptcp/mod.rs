//! MPTCP over the TCP endpoints (RFC 8684): sans-IO, with the same verbs as [`Connection`], each segment with
//! the path that it takes.
//!
//! The data level is in `level/` (what is sent) and `receiving.rs`, subflows in `subflows.rs` and `subflow.rs`, handshakes and
//! signals in `signalling.rs`, `dss.rs` and `joining.rs`, the next segment in `sending.rs`, checksums and MP_FAIL in `checksums.rs`, packet
//! schedulers in `scheduler/`.
//!
//! Differences from RFC 8684 and from Linux:
//! 1. A path is a pair of addresses. Paths made with the connection have the same index on both sides, which is also the identifier
//!    of both addresses; a listener [adds](MptcpConnection::add_path) others as joins come in, from any address to any.
//! 2. A client joins a path when the server has announced its address by ADD_ADDR; addresses beyond the paths that both sides know
//!    are only announced ([`announce_addresses`](MptcpConnection::announce_addresses)). No joins are made towards a client.
//! 3. Checksums are used only if either side requests them (`checksums.rs`).
//! 4. A subflow whose timer expires is considered potentially failed (as in the out-of-tree kernel): its data are given to others, and it
//!    gets no data until it makes progress again.
//! 5. The DATA_FIN is sent in a segment of its own.
//! 6. Congestion windows of subflows are moved by window validation and penalisation through `on_window_change` only.
//!
//! As Linux: no subflow is application-limited. What `tcp_sendmsg` checks (draft-cheng's test for an empty queue) neither Linux's
//! `mptcp_sendmsg` nor its pushes to subflows do, 6.18 included; the draft would mark them while the connection has nothing to send.
//! As Linux (profile `linux`): pacing rates count the DSS option as payload (`mss_cache` leaves it out), so a paced subflow sends 1.7 %
//! faster than its rate: `bbr` keeps a standing queue there, with the kernel as with us.
//!
//! Tested by `tests/mptcp.rs` and `tests/schedulers.rs`.

pub mod checksums;
mod dss;
mod joining;
pub(crate) mod keys;
pub mod level;
mod lifecycle;
pub mod option;
mod receiving;
pub mod scheduler;
mod sending;
mod signalling;
mod subflow;
mod subflows;

pub use level::{Switch, SwitchSide};
pub use subflow::PathConfig;

use crate::segment::{Flags, Segment};
use crate::tcp::{Connection, Event, Events, unwrap_near};
use checksums::Failure;
use level::{DataLevel, Event as LevelEvent, LevelStats, PathStats, Watch};
use option::MptcpOption;
use playpath_cc::AppParameters;
use playpath_units::{Duration, Time};
use receiving::DataReceiver;
use scheduler::{Room, Scheduler};
use std::net::{IpAddr, Ipv4Addr};
use subflow::{Stage, Subflow};
use subflows::Subflows;

/// tcp_wmem\[0\], the part of a connection's send buffer in addition to its subflows' (`__mptcp_sync_sndbuf`).
const MIN_BUFFER: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MptcpConfig {
    pub key: u64,
    /// Random seed of the joins' nonces.
    pub nonce: u32,
    /// Bytes that `write` accepts beyond those acknowledged at the data level.
    pub send_buffer: u64,
    /// Bytes held for the reader, in order or not.
    pub receive_buffer: u64,
    /// The controls read their siblings.
    pub is_coupled: bool,
    /// Data has checksums whether the peer asks for them or not; the owner of the bytes [makes](checksums) them.
    pub requires_checksums: bool,
}

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
    /// Whether the peer sends data sequence numbers in eight bytes.
    is_peer_wide: bool,
    subflows: Subflows,
    level: DataLevel,
    reads_backlog: bool,
    receiver: DataReceiver,
    /// Own addresses other than the first, by identifier.
    addresses: Vec<(u8, IpAddr)>,
    /// Bit set, by position, of those not yet confirmed by an echo; the time of the next repetition, and the number of repetitions.
    unechoed: u32,
    announce_at: Time,
    announced: u32,
    is_write_cut: bool,
    /// Agreed on: all that is mapped has a checksum.
    has_checksums: bool,
    /// Whether no path except the first has ever been ready.
    is_alone: bool,
    failure: Failure,
    /// Ended by [`abort`](Self::abort).
    is_aborted: bool,
    /// The application's last parameters, with their time; also passed to subflows that join later.
    app_parameters: Option<(Time, AppParameters)>,
    events: u8,
    bytes_delivered: u64,
}

/// The most paths of a connection: each is a bit of its sets of paths.
pub const MAX_PATHS: usize = 32;

impl MptcpConnection {
    /// Active open on path 0. At most [`MAX_PATHS`] paths.
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

    /// Passive open: answers on every path on which a join arrives.
    pub fn listen(config: MptcpConfig, scheduler: Box<dyn Scheduler>, paths: Vec<PathConfig>) -> MptcpConnection {
        let mut connection = MptcpConnection::new(config, scheduler, paths, false);
        let others = 1..connection.subflows.len() as u32;
        connection.addresses = others.map(|path| (path as u8, Ipv4Addr::from(path).into())).collect();
        connection.open_passive(0);
        connection
    }

    /// Announce these addresses, at most 32, by identifier, instead of those of the paths. Before the handshake is complete.
    pub fn announce_addresses(&mut self, mut addresses: Vec<(u8, IpAddr)>) {
        addresses.truncate(32);
        self.addresses = addresses;
    }

    /// Allocate a path for a join that arrived at the own address with this identifier; the caller handles its SYN next. Indices of closed
    /// paths are reused. `None` if all 32 are in use.
    pub fn add_path(&mut self, path: PathConfig, address_id: u8) -> Option<usize> {
        let free = (1..self.subflows.len()).find(|&index| self.subflows[index].stage == Stage::Dead);
        let index = match free {
            Some(index) => index,
            None if self.subflows.len() < MAX_PATHS => self.subflows.len(),
            None => return None,
        };
        let mut subflow = Subflow::new(path, index as u8);
        subflow.own_id = address_id;
        subflow.set_verifying(self.has_checksums);
        self.subflows.put(index, subflow);
        self.level.grow_to(self.subflows.len());
        self.level.forget_path(index);
        Some(index)
    }

    /// A segment arrived on `path`. Panics if there is no such path.
    pub fn handle_segment(&mut self, now: Time, path: usize, segment: &Segment) {
        // TCP checks the segment first: otherwise a forged segment could end a subflow by its options.
        let passes = self.subflow(path).is_some_and(|tcp| tcp.passes(now, segment));
        let is_accepted = passes || self.accepts(now, path, segment);
        if is_accepted && !self.take_options(now, path, segment) {
            return;
        }
        // Only the receiver of data uses it.
        let is_open =
            (segment.sequence_len() > 0).then(|| self.receiver.can_advertise_as_much(path, segment.payload_len));
        let (subflow, at) = self.subflows.touch_at(now, path);
        let Some(tcp) = &mut subflow.tcp else { return };
        if let Some(is_open) = is_open {
            tcp.set_window_above(self.receiver.advertised_window(path), is_open);
        }
        tcp.handle_checked(at, segment, passes);
        subflow.has_ack_arrived |= segment.flags.contains(Flags::ACK);
        if subflow.tcp.as_ref().is_some_and(|tcp| tcp.readable() > 0) {
            self.take_data(now, path);
            self.ask_for_ack(path);
        }
        if segment.payload_len > 0 {
            self.tune_window(now, path);
        }
        self.after_subflow_event(now, path);
        if segment.payload_len > 0 {
            self.settle_exhausted(now, path);
        }
        if is_accepted && self.is_fallback && segment.flags.contains(Flags::ACK) && path == 0 {
            self.take_plain_ack(now, segment);
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come. Too early is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        for path in 0..self.subflows.len() {
            if self.subflows[path].tcp.as_ref().is_some_and(|tcp| tcp.poll_timeout() <= now) {
                let (subflow, at) = self.subflows.touch_at(now, path);
                subflow.tcp.iter_mut().for_each(|tcp| tcp.handle_timeout(at));
                self.after_subflow_event(now, path);
            }
        }
        self.expire_signals(now);
        if self.level.timer() <= now {
            self.expire_data_timer(now);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.subflows.due().min(self.announce_at).min(self.fail_due()).min(self.level.timer())
    }

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
        self.level.write(taken);
        self.level.set_writer_waiting(taken < bytes);
        self.is_write_cut |= taken < bytes;
        self.subflows.set_writer_waiting(taken < bytes); // Subflows share the socket of the connection (Linux `mptcp_sock_graft`).
        taken
    }

    /// Bytes that [`write`](Self::write) would take.
    pub fn send_space(&self) -> u64 {
        if self.level.is_closing() || self.is_closed() {
            return 0;
        }
        self.send_buffer().saturating_sub(self.level.written() - self.level.bytes_acked())
    }

    /// A writer who waits is woken when a third of the buffer is free (Linux `sk_stream_is_writeable`).
    fn has_write_space(&self) -> bool {
        let (space, held) = (self.send_space(), self.level.written() - self.level.bytes_acked());
        space > 0 && space >= held / 2
    }

    /// Bytes that may be written beyond those acknowledged. With Linux's scheduler, the sum of the subflows' buffers and tcp_wmem\[0\]
    /// (`__mptcp_sync_sndbuf`), which grow with the windows while the writer waits.
    fn send_buffer(&self) -> u64 {
        let Room::Buffer { per_packet } = self.level.room() else { return self.config.send_buffer };
        let subflows = self.subflows.iter().filter(|subflow| subflow.tcp.is_some());
        let held: u64 = subflows.map(|subflow| scheduler::buffer(subflow.sized_for, per_packet)).sum();
        self.config.send_buffer.min(MIN_BUFFER + held)
    }

    /// Bytes written and never sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.level.unscheduled()
            + self.subflows.iter().filter_map(|s| s.tcp.as_ref()).map(Connection::unsent_bytes).sum::<u64>()
    }

    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Take up to `max` bytes in order. Poll for a segment after it: the window may have opened.
    pub fn read(&mut self, max: u64) -> u64 {
        let subflows = &mut self.subflows;
        let (taken, should_advertise) = self.receiver.read(max, |copied| {
            subflows
                .touch_all()
                .filter_map(|subflow| subflow.tcp.as_mut())
                .for_each(|tcp| tcp.grow_receive_buffer(copied));
        });
        self.bytes_delivered += taken;
        if should_advertise {
            self.request_acks();
        } else if taken > 0 {
            self.release_acks();
        }
        taken
    }

    /// End the stream; data already written are still delivered.
    pub fn close(&mut self, now: Time) {
        if !self.level.is_closing() {
            self.level.close();
            self.rearm_data_timer(now);
        }
    }

    /// A further MPTCP option of a segment (`segment.mptcp` is that option); before the segment itself is handled.
    pub fn handle_option(&mut self, now: Time, path: usize, segment: &Segment) {
        if self.accepts(now, path, segment) {
            self.take_options(now, path, segment);
        }
    }

    #[inline(never)]
    fn accepts(&self, now: Time, path: usize, segment: &Segment) -> bool {
        self.subflow(path).is_none_or(|tcp| tcp.accepts(now, segment))
    }

    /// Reset every subflow, and say that the connection ends with them (MP_FASTCLOSE).
    pub fn abort(&mut self) {
        for subflow in self.subflows.touch_all() {
            subflow.tcp.iter_mut().for_each(|tcp| tcp.abort());
            subflow.stage = Stage::Dead;
        }
        self.is_aborted = true;
        self.level.disarm();
        self.announce_at = Time::MAX;
        self.raise(Event::Reset);
    }

    /// Pass the application's parameters of the video to the scheduler and to every subflow's control, now or when it joins.
    pub fn set_app_parameters(&mut self, now: Time, parameters: AppParameters) {
        self.app_parameters = Some((now, parameters));
        self.level.set_app_parameters(now, parameters);
        for tcp in self.subflows.touch_all().filter_map(|s| s.tcp.as_mut()) {
            tcp.set_app_parameters(now, parameters);
        }
    }

    /// Ask both sides to use `path` only if no other works, or to use it again (MP_PRIO).
    pub fn set_backup(&mut self, path: usize, is_backup: bool) {
        self.subflows.touch(path).is_backup = is_backup;
        self.signal(path, MptcpOption::Priority { is_backup });
    }

    /// Take `path` out of use on both sides (REMOVE_ADDR); its data are sent over others.
    pub fn remove_path(&mut self, path: usize) {
        self.drop_path(path);
        if let Some(other) = self.subflows.iter().position(Subflow::is_ready) {
            self.signal(other, MptcpOption::RemoveAddress { address_id: path as u8 });
        }
    }

    /// The TCP endpoint of a path, once it is opened.
    pub fn subflow(&self, path: usize) -> Option<&Connection> {
        self.subflows[path].tcp.as_ref()
    }
    pub fn subflow_stats(&self, path: usize) -> &PathStats {
        self.level.path_stats(path)
    }
    /// Data may be sent on the path, and it is not considered failed.
    pub fn is_path_usable(&self, path: usize) -> bool {
        self.subflows[path].is_usable()
    }
    pub fn path_count(&self) -> usize {
        self.subflows.len()
    }
    pub fn stats(&self) -> &LevelStats {
        self.level.stats()
    }
    /// Payload bytes acknowledged at the data level.
    pub fn bytes_acked(&self) -> u64 {
        self.level.bytes_acked()
    }
    /// Payload bytes handed to the reader.
    pub fn bytes_delivered(&self) -> u64 {
        self.bytes_delivered
    }
    /// Keep every switch from now on until [`poll_switch`](Self::poll_switch) takes it.
    pub fn log_switches(&mut self) {
        self.level.set_watch(Watch::Switches);
    }
    pub fn poll_switch(&mut self) -> Option<Switch> {
        self.level
            .poll_event()
            .and_then(|event| if let LevelEvent::Switch(switch) = event { Some(switch) } else { None })
    }
    pub fn hol_blocking_time(&self, now: Time) -> Duration {
        self.receiver.arrivals.blocked_time(now)
    }
    pub fn out_of_order_bytes(&self) -> u64 {
        self.receiver.arrivals.out_of_order_bytes()
    }
    pub fn window_end(&self) -> u64 {
        self.receiver.edge()
    }
    pub fn max_out_of_order_bytes(&self) -> u64 {
        self.receiver.arrivals.max_out_of_order()
    }
    /// Token that a client must send to join: a hash of the own key.
    pub fn token(&self) -> u32 {
        keys::token(self.config.key)
    }
    pub fn needed_from(&self) -> u64 {
        let held = self.subflows.iter().filter_map(|subflow| subflow.sent.first_data());
        held.fold(self.level.bytes_acked(), u64::min)
    }
    /// The peer speaks plain TCP.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback
    }
    pub fn is_established(&self) -> bool {
        self.subflows.iter().any(Subflow::is_ready)
    }
    /// Both sides have sent everything and know it, or the connection is gone.
    pub fn is_closed(&self) -> bool {
        (self.level.is_fin_acked() && self.receiver.arrivals.is_finished())
            || self.subflows.iter().all(|s| s.stage == Stage::Dead)
    }
    /// Data offset of the first payload byte of a segment that this end sends on `path`; for owners of real bytes.
    pub fn transmit_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        let subflow = &self.subflows[path];
        if self.is_fallback {
            return Some(subflow.tcp.as_ref()?.transmit_offset(segment));
        }
        Some(subflow.place(segment, None)?.1)
    }
    /// Data offset of the first payload byte of a segment that arrived on `path`; ask before handling it. `None`: no mapping of it
    /// has come, or nothing beyond the window can have; an owner of real bytes does not handle such a segment, as if it were lost.
    /// While the connection [checks](Self::checks), the bytes are kept by their offset in the subflow until they are accepted.
    pub fn receive_offset(&self, path: usize, segment: &Segment) -> Option<u64> {
        let subflow = &self.subflows[path];
        let tcp = subflow.tcp.as_ref()?;
        let within = tcp.receive_offset(segment);
        if self.is_fallback {
            return Some(within);
        }
        if self.has_checksums && within > subflow.taken() + self.config.receive_buffer {
            return None; // the owner keeps what waits for its checksum
        }
        let data = match segment.mptcp {
            MptcpOption::Dss { flags, len: 0, .. } if flags & option::DSS_MAP != 0 && self.is_contiguous(path) => {
                within
            }
            MptcpOption::Capable { data_len: 1.., .. } if path == 0 => within,
            MptcpOption::Dss { flags, data_seq, subflow_seq, len: 1.., .. }
                if flags & option::DSS_MAP != 0 && subflow_seq != 0 =>
            {
                let mapping = unwrap_near(subflow_seq.wrapping_sub(1), 0, within);
                (self.peer_data_offset(flags, data_seq)? + within).checked_sub(mapping)?
            }
            MptcpOption::None if self.is_contiguous(path) && self.shows_plain_tcp(path, segment) => within,
            _ => subflow.received_place(within)?,
        };
        (data <= self.receiver.edge()).then_some(data)
    }
}
