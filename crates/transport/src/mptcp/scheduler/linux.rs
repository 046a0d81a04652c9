//! The scheduler of upstream Linux: the subflow with the shortest time to drain its queue, in bursts of 64 kB.
//!
//! Reference: torvalds/linux net/mptcp/protocol.c, `mptcp_subflow_get_send`.
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

use super::{Context, Decision, Entry, Room, Scheduler, SubflowView};
use playpath_cc::{ParamSpec, Params};
use playpath_units::Rate;

/// MPTCP_SEND_BURST_SIZE: 64 kB less the largest header (MAX_TCP_HEADER is about 320 bytes).
const BURST_BYTES: u64 = 65_536 - 320;
/// Bytes that an idle subflow is given again at once: a data fragment (`__mptcp_retrans`), at most a page fragment of 32 kB.
const FRAGMENT_BYTES: u64 = 32_768;

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
    /// Path of the burst, and its remaining bytes.
    burst: Option<(usize, u64)>,
    /// Path of the data fragment that is retransmitted, and its remaining bytes.
    fragment: Option<(usize, u64)>,
}

impl Linux {
    fn new(params: &Params) -> Linux {
        Linux { per_packet: params.number("packet_memory") as u32, average: Vec::new(), burst: None, fragment: None }
    }

    fn average(&self, subflow: &SubflowView) -> Rate {
        self.average.get(subflow.path).copied().flatten().unwrap_or_else(|| subflow.pacing_rate())
    }

    fn begin_burst(&mut self, subflow: &SubflowView, window_left: u64) {
        let burst = BURST_BYTES.min(window_left).max(1);
        let (queued, old) = (subflow.buffered_memory() as f64, self.average(subflow).as_bits_per_sec() as f64);
        let new = subflow.pacing_rate().as_bits_per_sec() as f64;
        let mixed = (old * queued + new * burst as f64) / (queued + burst as f64);
        if self.average.len() <= subflow.path {
            self.average.resize(subflow.path + 1, None);
        }
        self.average[subflow.path] = Some(Rate::from_bits_per_sec_f64(mixed));
        self.burst = Some((subflow.path, burst));
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
        let bytes = u64::from(context.segment_bytes);
        if context.is_reinjection {
            return self.select_again(context);
        }
        if let Some((path, left)) = self.burst
            && left > 0
            && let Some(subflow) = context.subflows.get(path)
            && subflow.has_room(self.room())
        {
            self.burst = Some((path, left.saturating_sub(bytes)));
            return Decision::send(path, "burst");
        }
        let linger = |s: &SubflowView| s.buffered_memory() as f64 / (self.average(s).as_bits_per_sec() as f64).max(1.0);
        // The smallest is chosen first, of equal ones, as where all are idle, the first; if its buffer is full, nothing is sent.
        let Some(subflow) = in_use(context.subflows).min_by(|a, b| linger(a).total_cmp(&linger(b))) else {
            return Decision::wait("no usable subflow");
        };
        if !subflow.has_room(self.room()) {
            return Decision::wait("send buffer full");
        }
        self.begin_burst(subflow, context.window_left);
        self.burst = self.burst.map(|(path, left)| (path, left.saturating_sub(bytes)));
        Decision::send(subflow.path, "shortest linger time")
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
