//! Packet schedulers: which subflow takes the next segment. One file per scheduler. The `mod` line here registers it: the build script
//! generates `ENTRIES` from these lines, in the same order, which is also that of `playpath list scheduler`.
//!
//! Contract, checked over the registry by `tests/schedulers.rs`: never a subflow without room; some subflow is chosen when one
//! path works and nothing else holds; the same views give the same answers.

mod dft;
mod sticky;

mod largest;
mod linux;

mod roundrobin;

mod redundant;

mod blest;
mod ecf;
mod sttf;

mod slack;
mod xlink;

include!(concat!(env!("OUT_DIR"), "/schedulers.rs"));

#[cfg(test)]
#[path = "../../../../../docs/recipes/fastest.rs"]
mod fastest; // the example of docs/recipes/add-a-scheduler.md

use playpath_cc::{AppParameters, ParamSpec, Params};
use playpath_units::{Duration, Rate, Time};

/// State of a subflow at the time of the decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubflowView {
    /// Index of the path; views are in the order of paths.
    pub path: usize,
    /// Established, joined, and not potentially failed.
    pub is_usable: bool,
    /// To be used only if no other works (MP_PRIO).
    pub is_backup: bool,
    pub is_recovering: bool,
    /// After a timeout, until what was outstanding then is acknowledged (CA_Loss).
    pub is_loss: bool,
    /// No loss, reordering or ECN-Echo is being dealt with (CA_Open).
    pub is_ca_open: bool,
    pub srtt: Duration,
    pub rttvar: Duration,
    /// Smallest and largest smoothed RTT so far.
    pub srtt_range: (Duration, Duration),
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Slow start threshold in packets.
    pub ssthresh: f64,
    pub in_flight: u32,
    /// Packets handed to the subflow and never sent.
    pub queued: u32,
    /// Bytes handed to the subflow and not acknowledged.
    pub buffered_bytes: u64,
    /// Packets that Linux's send buffer of the subflow was sized for: the window in times when it had room (`tcp_sndbuf_expand`).
    pub sized_for: u32,
    /// Rate that its packets are paced at; left out unless the scheduler [reads it](Scheduler::reads_pacing).
    pub paced_at: Option<Rate>,
    pub delivery_rate: Rate,
    pub mss: u32,
    /// Whether the current segment was sent on this subflow before (reinjection, head of the window).
    pub has_segment: bool,
}

impl SubflowView {
    /// The window takes one more packet (algorithms of the old out-of-tree kernel, `mptcp_is_available`).
    pub fn is_eligible(&self) -> bool {
        self.is_usable && !self.is_loss && f64::from(self.in_flight + self.queued) + 1.0 <= self.cwnd
    }
    /// Carries data, if not now: no backup, and none that a timeout has stopped.
    fn is_working(&self) -> bool {
        self.is_usable && !self.is_backup && !self.is_loss
    }
    pub fn has_room(&self, room: Room) -> bool {
        match room {
            Room::Window => self.is_eligible(),
            Room::Buffer { per_packet } => {
                self.is_usable && self.buffered_memory() < buffer(self.sized_for, per_packet)
            }
        }
    }
    /// Kernel memory of what the subflow holds (`sk_wmem_queued`): its bytes, and the head of each buffer. Sent data were cut into
    /// pairs of segments; unsent data are in one piece.
    pub fn buffered_memory(&self) -> u64 {
        let heads = self.in_flight.div_ceil(2) + u32::from(self.queued > 0);
        self.buffered_bytes + u64::from(heads) * BUFFER_HEAD
    }
    /// Pacing rate, or what Linux reckons without pacing: 120 % (200 % in slow start) of the window per RTT.
    pub fn pacing_rate(&self) -> Rate {
        self.paced_at.unwrap_or_else(|| {
            let gain = if self.cwnd < self.ssthresh / 2.0 { 2.0 } else { 1.2 };
            Rate::from_bits_per_sec_f64(gain * self.window_rate() * f64::from(self.mss) * 8.0)
        })
    }
    /// Free places in the window.
    pub fn credits(&self) -> f64 {
        self.cwnd - f64::from(self.in_flight + self.queued)
    }
    pub fn window_rate(&self) -> f64 {
        window_rate(self.cwnd, self.srtt)
    }
}

/// Linux's send buffer (`tcp_sndbuf_expand`): twice the packets that it was sized for, each of so many bytes of memory.
pub(super) fn buffer(sized_for: u32, per_packet: u32) -> u64 {
    2 * u64::from(sized_for.max(10)) * u64::from(per_packet)
}

/// `truesize` of a socket buffer without payload, on a 64-bit kernel.
const BUFFER_HEAD: u64 = 896;

/// Window per smoothed RTT, in packets per second.
pub(super) fn window_rate(cwnd: f64, srtt: Duration) -> f64 {
    cwnd / srtt.as_secs_f64().max(1e-9)
}

#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub now: Time,
    pub subflows: &'a [SubflowView],
    /// Data offset of the current segment.
    pub offset: u64,
    pub segment_bytes: u32,
    /// Whether it was sent on another subflow before.
    pub is_reinjection: bool,
    /// Bytes written and not yet given to any subflow, including the current segment.
    pub unscheduled_bytes: u64,
    /// Bytes that the peer's connection-level window still takes.
    pub window_left: u64,
    /// The whole of that window, from the first unacknowledged byte.
    pub send_window: u64,
}

/// A scheduler's answer: a path, or wait; and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub path: Option<usize>,
    /// New data that follow at the same time go there as well, up to so many bytes in all, whatever room it has.
    pub bytes: u64,
    /// Why, in few words; traces show it at each switch.
    pub reason: &'static str,
}

impl Decision {
    pub const fn send(path: usize, reason: &'static str) -> Decision {
        Decision { path: Some(path), bytes: 0, reason }
    }
    /// Send nothing now.
    pub const fn wait(reason: &'static str) -> Decision {
        Decision { path: None, bytes: 0, reason }
    }
}

/// A path for new data, for as long as it holds: at one time, for so many bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    path: usize,
    left: u64,
    at: Time,
}

impl Run {
    pub fn begin(now: Time, decision: Decision) -> Run {
        Run { path: decision.path.unwrap_or_default(), left: decision.bytes, at: now }
    }
    /// The path of new data, without another question.
    #[inline(always)]
    pub fn path(&self, now: Time, views: &[SubflowView]) -> Option<usize> {
        (self.left > 0 && self.at == now && views[self.path].is_usable).then_some(self.path)
    }
    #[inline(always)]
    pub fn note_given(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// What blocks new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blockage {
    ReceiveWindow,
    /// Everything written is given out, and the writer waits for room in the send buffer.
    SendBuffer {
        is_full: bool,
    },
}

/// What to do while the connection-level window is full, or the send buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relief {
    /// Also send the oldest unacknowledged segment on this path.
    pub retransmit_on: Option<usize>,
    /// Paths whose windows are halved, a bit each.
    pub penalised: u32,
    /// Path to which new data would go: its window is reduced as if it began to send, if it is idle.
    pub tried: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// [`SubflowView::is_eligible`].
    Window,
    /// Linux's send buffer: twice the packets that it was sized for are not yet in it, each counted as `per_packet` bytes of memory.
    Buffer {
        /// Memory that Linux reckons for a packet.
        per_packet: u32,
    },
}

pub trait Scheduler: Send {
    /// Choose a subflow for the current segment.
    fn select(&mut self, context: &Context) -> Decision;

    /// Called when no new data may be sent; `has_segment` of the views marks the holders of the oldest unacknowledged segment.
    fn relieve(&mut self, _context: &Context, _blockage: Blockage) -> Option<Relief> {
        None
    }

    /// All written data are scheduled: whether unacknowledged data are to be copied to other paths. `longest_delivery`: RTT plus its
    /// deviation on the slowest path that holds any.
    fn wants_copies(&self, _longest_delivery: Duration) -> bool {
        false
    }

    fn set_app_parameters(&mut self, _now: Time, _parameters: AppParameters) {}

    /// The time, and how much of the stream the receiver has; before each question, if the scheduler
    /// [reads it](Scheduler::reads_progress).
    fn note_progress(&mut self, _now: Time, _acknowledged_bytes: u64) {}

    /// Decisions depend on [`note_progress`](Scheduler::note_progress).
    fn reads_progress(&self) -> bool {
        false
    }

    /// Every segment goes to every subflow.
    fn is_redundant(&self) -> bool {
        false
    }

    /// Definition of room. While no subflow has any, `select` returns "wait", and `relieve` does nothing.
    fn room(&self) -> Room {
        Room::Window
    }

    /// Whether decisions depend on [`Context::unscheduled_bytes`]. If not, more bytes behind a full segment change none.
    fn reads_backlog(&self) -> bool {
        false
    }

    /// Whether decisions depend on [`SubflowView::paced_at`]. If not, the views may omit it.
    fn reads_pacing(&self) -> bool {
        false
    }
}

pub struct Entry {
    pub name: &'static str,
    /// One line for `playpath list scheduler`.
    pub summary: &'static str,
    /// Paper, RFC or file.
    pub reference: &'static str,
    pub params: &'static [ParamSpec],
    pub build: fn(&Params) -> Box<dyn Scheduler>,
}

/// All schedulers, in the order of `playpath list scheduler`.
pub fn entries() -> &'static [&'static Entry] {
    ENTRIES
}

pub fn find(name: &str) -> Option<&'static Entry> {
    entries().iter().copied().find(|entry| entry.name == name)
}

pub fn build(name: &str) -> Option<Box<dyn Scheduler>> {
    find(name).map(|entry| (entry.build)(&Params::defaults(entry.params)))
}

/// The best eligible subflow by `cost` (smallest wins; ties: lower SRTT, lower index) of the first of these groups that has a
/// usable member: active and without the segment, backup and without it, active, backup. A group whose windows are all
/// full makes the caller wait, as the old kernel does: a backup is not used because the others are busy.
fn pick(
    subflows: &[SubflowView],
    is_open: impl Fn(&SubflowView) -> bool,
    cost: impl Fn(&SubflowView) -> f64,
) -> Option<&SubflowView> {
    for (is_backup, may_hold) in [(false, false), (true, false), (false, true), (true, true)] {
        let is_member = |s: &&SubflowView| s.is_usable && s.is_backup == is_backup && (may_hold || !s.has_segment);
        let mut group = subflows.iter().filter(is_member).peekable();
        if group.peek().is_some() {
            let priced = group.filter(|s| is_open(s)).map(|s| (cost(s), s));
            let best =
                priced.min_by(|(a, s), (b, t)| a.total_cmp(b).then(s.srtt.cmp(&t.srtt)).then(s.path.cmp(&t.path)));
            return best.map(|(_, subflow)| subflow);
        }
    }
    None
}

/// Eligible, and under `state_driven` not in fast recovery while another one that is no backup is eligible outside it.
fn is_open(subflows: &[SubflowView], state_driven: bool) -> impl Fn(&SubflowView) -> bool + use<> {
    let avoid = state_driven && subflows.iter().any(|s| s.is_eligible() && !s.is_recovering && !s.is_backup);
    move |s| s.is_eligible() && !(avoid && s.is_recovering)
}

const WHEN_FULL: ParamSpec = ParamSpec::word(
    "when_full",
    "next",
    &["next", "wait"],
    "if the window of the wanted path is full: take the next path, or wait for it (for study)",
);

const STATE_DRIVEN: ParamSpec = ParamSpec::flag(
    "state_driven",
    false,
    "skip subflows in fast recovery while another is eligible (the authors' TCP-state-driven forms)",
);

#[cfg(test)]
#[path = "tests/support.rs"]
pub(crate) mod testing;
