//! The scheduler of upstream Linux: the subflow with the shortest time to drain its queue, in bursts of 64 kB.
//!
//! Reference: torvalds/linux net/mptcp/protocol.c, `mptcp_subflow_get_send`, `__subflow_push_pending`: a subflow is given whole data
//! fragments; whether the burst is over and its send buffer full counts after each of them, and every push begins a burst.
//!
//! Differences from the reference:
//! 1. Memory of a subflow's send buffer follows `tcp_sndbuf_expand`: twice max(10, cwnd, reordering + 1) packets, sized when the
//!    writer waits, an ACK has come and the window is not full; it never shrinks. Reordering stays at its default of 3, BBR's factor of 3
//!    in place of 2 (`bbr_sndbuf_expand`) and the bound by `tcp_wmem` are left out.
//! 2. Subflows without pacing take Linux's own estimate (120 or 200 % of window per RTT).
//! 3. What a subflow holds is reinjected when its own timer expires, as under every scheduler here; upstream waits for the timer
//!    of the connection.
//! 4. Upstream takes a subflow without progress for stale after four such timers and schedules all that it holds anew
//!    (`mptcp_pm_subflow_chk_stale`); here an idle subflow goes on being given a data fragment at a time.
//!
//! Tested here.

use super::{Blockage, Context, Decision, Entry, Relief, Room, Run, Scheduler, SubflowView};
use playpath_cc::{ParamSpec, Params};
use playpath_units::{Rate, Time};

/// MPTCP_SEND_BURST_SIZE: 64 kB less headers of TCP, its options and IPv6, and a fragment header.
const BURST_BYTES: u64 = 65_536 - 20 - 40 - 40 - 8;
/// Bytes of the stream that a data fragment holds: a page fragment of 32 kB less its `struct mptcp_data_frag`.
const FRAGMENT_BYTES: u64 = 32_768 - 40;

pub(super) static ENTRY: Entry = Entry {
    name: "linux",
    summary: "upstream Linux: shortest time to drain the queue, bursts of 64 kB, no penalisation",
    reference: "torvalds/linux net/mptcp/protocol.c",
    params: &[ParamSpec::whole(
        "packet_memory",
        4352,
        (1500, 1 << 17),
        "bytes",
        "memory that the kernel accounts for a packet: 4352 in distributions' kernels, 2304 in one without tunnels and wireless",
    )],
    build: |params| Box::new(Linux::new(params)),
};

#[derive(Debug)]
struct Linux {
    per_packet: u32,
    /// Average pacing rate by path, weighted by what was queued.
    average: Vec<Option<Rate>>,
    /// `snd_burst` of the push at this time.
    burst: Run,
    /// Where the stream and the peer's window ended when new data were last tried in vain.
    tried: (u64, u64),
    /// Path of the data fragment that is retransmitted, and its remaining bytes.
    fragment: Option<(usize, u64)>,
}

impl Linux {
    fn new(params: &Params) -> Linux {
        Linux {
            per_packet: params.number("packet_memory") as u32,
            average: Vec::new(),
            burst: Run::default(),
            tried: (0, 0),
            fragment: None,
        }
    }

    fn average(&self, subflow: &SubflowView) -> Rate {
        self.average.get(subflow.path).copied().flatten().unwrap_or_else(|| subflow.pacing_rate())
    }

    fn begin_burst(&mut self, subflow: &SubflowView, window_left: u64, at: Time) {
        let burst = BURST_BYTES.min(window_left).max(1);
        let (queued, old) = (subflow.buffered_memory() as f64, self.average(subflow).as_bits_per_sec() as f64);
        let new = subflow.pacing_rate().as_bits_per_sec() as f64;
        let mixed = (old * queued + new * burst as f64) / (queued + burst as f64);
        if self.average.len() <= subflow.path {
            self.average.resize(subflow.path + 1, None);
        }
        self.average[subflow.path] = Some(Rate::from_bits_per_sec_f64(mixed));
        self.burst = Run { path: subflow.path, left: burst, at };
    }

    /// The subflow with the shortest linger time, of equal ones, as where all are idle, the first.
    fn first_to_drain<'a>(&self, subflows: &'a [SubflowView]) -> Option<&'a SubflowView> {
        let linger = |s: &SubflowView| s.buffered_memory() as f64 / (self.average(s).as_bits_per_sec() as f64).max(1.0);
        in_use(subflows).min_by(|a, b| linger(a).total_cmp(&linger(b)))
    }

    /// The burst of this push goes on with another fragment.
    fn goes_on(&self, context: &Context) -> bool {
        let path = self.burst.path(context.now, context.subflows);
        path.is_some_and(|path| context.subflows[path].has_room(self.room()))
    }

    /// Choose a retransmission: the rest of a data fragment, or the next one on a subflow with empty queues (`mptcp_subflow_get_retrans`).
    fn select_again(&mut self, context: &Context) -> Decision {
        let bytes = u64::from(context.segment_bytes);
        if let Some((path, left)) = self.fragment
            && left >= bytes
            && context.subflows.iter().any(|s| s.path == path && s.has_room(self.room()))
        {
            self.fragment = Some((path, left - bytes));
            return Decision::send(path, "data fragment");
        }
        let idle = |s: &&SubflowView| s.has_room(self.room()) && s.buffered_bytes == 0;
        let Some(subflow) = in_use(context.subflows).find(idle) else { return Decision::wait("no idle subflow") };
        self.fragment = Some((subflow.path, FRAGMENT_BYTES.saturating_sub(bytes)));
        Decision::send(subflow.path, "idle subflow")
    }
}

/// The usable subflows: backups only if there are no others.
fn in_use(subflows: &[SubflowView]) -> impl Iterator<Item = &SubflowView> {
    let are_backups = !subflows.iter().any(|s| s.is_usable && !s.is_backup);
    subflows.iter().filter(move |s| s.is_usable && s.is_backup == are_backups)
}

impl Scheduler for Linux {
    fn select(&mut self, context: &Context) -> Decision {
        if context.is_reinjection {
            return self.select_again(context);
        }
        if !self.goes_on(context) {
            let Some(subflow) = self.first_to_drain(context.subflows) else {
                return Decision::wait("no usable subflow");
            };
            if !subflow.has_room(self.room()) {
                return Decision::wait("send buffer full");
            }
            self.begin_burst(subflow, context.window_left, context.now);
        }
        let fragment = FRAGMENT_BYTES - context.offset % FRAGMENT_BYTES;
        self.burst.note_given(fragment);
        Decision { bytes: fragment, ..Decision::send(self.burst.path, "shortest linger time") }
    }

    /// Linux chooses a subflow before it looks at the window, and prepares a buffer there (`mptcp_sendmsg_frag`), whenever more has been
    /// written or the window has moved.
    fn relieve(&mut self, context: &Context, blockage: Blockage) -> Option<Relief> {
        let ends = (context.offset + context.unscheduled_bytes, context.offset + context.window_left);
        if blockage != Blockage::ReceiveWindow || std::mem::replace(&mut self.tried, ends) == ends {
            return None;
        }
        let subflow = self.first_to_drain(context.subflows).filter(|subflow| subflow.has_room(self.room()))?;
        Some(Relief { tried: Some(subflow.path), ..Relief::default() })
    }

    fn reads_pacing(&self) -> bool {
        true
    }

    fn room(&self) -> Room {
        Room::Buffer { per_packet: self.per_packet }
    }
}

#[cfg(test)]
mod tests;
