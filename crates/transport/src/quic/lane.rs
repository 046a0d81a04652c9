//! State of one path of a connection: packet-number spaces, round trip, window, control, addresses, timers, counters; and, with several
//! paths, the data that the scheduler has assigned to it.
//!
//! Reference: draft-ietf-quic-multipath-21 §2 (path ids, a number space and RFC 9002 for each path), §3.1 (validation before data).

use super::Numbers;
use super::config::Config;
use super::migration::Route;
use super::packet::Frame;
use super::path::Path;
use super::stats::Stats;
use super::streams::Chosen;
use super::varint;
use playpath_cc::CongestionControl;
use playpath_units::{Duration, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Idle,
    /// Being validated; no data.
    Opening,
    Open,
    /// Taken for failed: data goes elsewhere until something is acknowledged here.
    Failed,
    /// The peer has abandoned it: nothing is sent on it any more.
    Abandoned,
}

/// See the module. Only the first path has more than one number space in use. In this order: what each packet needs lies together, from the
/// last space to the counters.
#[repr(C, align(64))]
pub(super) struct Lane {
    pub spaces: [Numbers; 3],
    pub path: Path,
    pub stats: Stats,
    pub loss_timer: Time,
    pub departs_at: Time,
    pub pto_count: u32,
    pub id: u8,
    pub standing: Standing,
    pub is_backup: bool,
    pub route: Route,
    pub queue: Queue,
    /// Sequence numbers of the last status frames of this path: ours, and the peer's (draft §4.3).
    pub status_sent: u64,
    pub status_received: u64,
    /// Smallest and largest smoothed RTT of ACKs.
    srtt_range: (Duration, Duration),
    /// Packets that Linux would have sized the send buffer for: the window in times when it had room.
    pub sized_for: u32,
}

impl Lane {
    pub fn new(config: &Config, control: Box<dyn CongestionControl>) -> Lane {
        Lane {
            id: 0,
            standing: Standing::Open,
            is_backup: false,
            status_sent: 0,
            status_received: 0,
            spaces: <[Numbers; 3]>::default(),
            path: Path::new(config, control),
            route: Route::unknown(),
            pto_count: 0,
            loss_timer: Time::MAX,
            departs_at: Time::MAX,
            stats: Stats::default(),
            queue: Queue::default(),
            srtt_range: (Duration::MAX, Duration::ZERO),
            sized_for: 10,
        }
    }

    pub fn further(id: u8, route: Route, config: &Config, control: Box<dyn CongestionControl>) -> Lane {
        let mut lane = Lane { id, standing: Standing::Idle, route, ..Lane::new(config, control) };
        lane.path.own_index = usize::from(id);
        lane
    }

    pub fn is_in_use(&self) -> bool {
        !matches!(self.standing, Standing::Idle | Standing::Abandoned)
    }

    /// When something of it is due; `sends`: a datagram may leave; `is_over`: the handshake.
    #[inline]
    pub fn deadline(&self, sends: bool, is_over: bool) -> Time {
        if !self.is_in_use() {
            return Time::MAX;
        }
        let acks = match &self.spaces {
            _ if !sends => Time::MAX,
            [.., data] if is_over => data.arrivals.deadline(),
            all => all.iter().fold(Time::MAX, |least, space| least.min(space.arrivals.deadline())),
        };
        self.loss_timer.min(self.departs_at).min(acks).min(self.route.deadline())
    }

    /// Smallest and largest smoothed RTT; before the first ACK both are what the path's validation took.
    pub fn srtt_range(&self) -> (Duration, Duration) {
        let srtt = self.path.rtt.smoothed();
        if self.srtt_range.1.is_zero() { (srtt, srtt) } else { self.srtt_range }
    }

    /// An ACK came. The send buffer that Linux's scheduler reckons with grows with the window: no socket is there whose writer waits.
    pub fn note_ack(&mut self) {
        let srtt = self.path.rtt.smoothed();
        self.srtt_range = (self.srtt_range.0.min(srtt), self.srtt_range.1.max(srtt));
        let cwnd = self.path.control().cwnd();
        if f64::from(self.path.packets_out()) < cwnd {
            self.sized_for = self.sized_for.max(cwnd as u32);
        }
    }
}

/// Frames that a path was given and has not sent: its window or its pacing lets them go later.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Given>,
    bytes: u64,
    /// Other paths that carry the frames of the packet being built.
    carriers: u32,
}

#[derive(Clone, Copy, Debug)]
struct Given {
    frame: Frame,
    is_again: bool,
    carriers: u32,
}

impl Queue {
    pub fn has_frames(&self) -> bool {
        !self.waiting.is_empty()
    }
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// `carriers`: paths that carry the same frame, this one included; 0: no other does. Lost frames precede new ones.
    pub fn push(&mut self, frame: Frame, is_again: bool, carriers: u32) {
        self.bytes += u64::from(frame.bytes(true));
        let given = Given { frame, is_again, carriers };
        let is_lost = |given: &Given| given.is_again && given.carriers == 0;
        if is_lost(&given) {
            let place = self.waiting.iter().position(|other| !is_lost(other)).unwrap_or(self.waiting.len());
            self.waiting.insert(place, given);
        } else {
            self.waiting.push_back(given);
        }
    }
    /// Everything that waits: the path is no longer used.
    pub fn clear(&mut self) -> impl Iterator<Item = Frame> + use<> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting).into_iter().filter(|given| given.carriers == 0).map(|given| given.frame)
    }
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.waiting.iter().map(|given| &given.frame)
    }

    /// The next frame of at most `room` bytes, of data perhaps its beginning. Copies share no packet with others.
    pub fn take(&mut self, room: u32) -> Option<Chosen> {
        let Given { frame, is_again, carriers } = *self.waiting.front()?;
        if self.carriers != carriers && self.carriers != UNDECIDED {
            return None;
        }
        let taken = match frame {
            Frame::Stream { id, offset, len, fin } => {
                let most = room.checked_sub(Frame::stream_overhead(id, offset, 0, true))?;
                if len <= most {
                    frame
                } else {
                    let rest = Frame::Stream { id, offset: offset + u64::from(most), len: len - most, fin };
                    self.bytes += u64::from(rest.bytes(true));
                    self.waiting[0].frame = rest;
                    self.waiting.push_front(Given { frame, is_again, carriers });
                    Frame::Stream { id, offset, len: most, fin: false }
                }
            }
            _ if frame.bytes(false) <= room => frame,
            _ => return None,
        };
        self.waiting.pop_front();
        self.bytes -= u64::from(frame.bytes(true));
        self.carriers = carriers;
        Some(Chosen { frame: taken, bytes: packed_bytes(&taken, room), is_again })
    }

    pub fn begin_packet(&mut self) {
        self.carriers = UNDECIDED;
    }
    pub fn carriers(&self) -> u32 {
        if self.carriers == UNDECIDED { 0 } else { self.carriers }
    }
}

/// No frame of the packet is chosen yet.
const UNDECIDED: u32 = u32::MAX;

/// Bytes that a frame takes of a packet that it may fill.
pub(super) fn packed_bytes(frame: &Frame, room: u32) -> u32 {
    match *frame {
        Frame::Stream { id, offset, len, .. } => {
            let full = Frame::stream_overhead(id, offset, len, false) + len;
            if full <= room { full } else { full - varint::size(u64::from(len)) }
        }
        _ => frame.bytes(false),
    }
}

#[cfg(test)]
mod tests;
