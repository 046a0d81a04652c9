//! The scheduler of upstream Linux: least time to drain what a subflow has queued, in bursts of 64 kB.
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
//! 4. An idle subflow is given one segment again, upstream's `__mptcp_retrans` a data fragment of up to 32 kB; and upstream takes a
//!    subflow without progress for stale after four such timers and schedules all that it holds anew. After the death of a path this
//!    one is slower: 5.0 s against the kernel's 1.1 for a segment of 1 MB over 12 Mbit/s.
//!
//! Tested here.

use super::{Context, Decision, Entry, Room, Scheduler, SubflowView, pick};
use playpath_cc::{ParamSpec, Params};
use playpath_units::Rate;

/// MPTCP_SEND_BURST_SIZE: 64 kB less the largest header (MAX_TCP_HEADER is about 320 bytes).
const BURST_BYTES: u64 = 65_536 - 320;

pub(super) static ENTRY: Entry = Entry {
    name: "linux",
    summary: "upstream Linux: shortest time to drain the queue, bursts of 64 kB, no penalisation",
    reference: "torvalds/linux net/mptcp/protocol.c",
    params: &[ParamSpec::whole(
        "packet_memory",
        4352,
        (1500, 1 << 17),
        "bytes",
        "memory that the kernel reckons for a packet: 4352 in distributions' kernels, 2304 in one without tunnels and wireless",
    )],
    build: |params| Box::new(Linux::new(params)),
};

#[derive(Debug)]
struct Linux {
    per_packet: u32,
    /// Average pacing rate by path, weighted by what was queued.
    average: Vec<Option<Rate>>,
    /// Path of the burst, and what is left of it.
    burst: Option<(usize, u64)>,
}

impl Linux {
    fn new(params: &Params) -> Linux {
        Linux { per_packet: params.number("packet_memory") as u32, average: Vec::new(), burst: None }
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
}

impl Scheduler for Linux {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn select(&mut self, context: &Context) -> Decision {
        let bytes = u64::from(context.segment_bytes);
        if context.is_reinjection {
            // Only on a subflow with empty queues (mptcp_subflow_get_retrans).
            let idle = pick(
                context.subflows,
                |s| s.has_room(self.room()) && s.buffered_bytes == 0,
                |s| s.srtt.as_nanos() as f64,
            );
            return idle.map_or(Decision::wait("no idle subflow"), |s| Decision::send(s.path, "idle subflow"));
        }
        if let Some((path, left)) = self.burst
            && left > 0
            && let Some(subflow) = context.subflows.iter().find(|s| s.path == path)
            && subflow.has_room(self.room())
        {
            self.burst = Some((path, left.saturating_sub(bytes)));
            return Decision::send(path, "burst");
        }
        let linger = |s: &SubflowView| s.buffered_memory() as f64 / (self.average(s).as_bits_per_sec() as f64).max(1.0);
        // The smallest is chosen first; if its buffer is full, nothing is sent.
        let Some(subflow) = pick(context.subflows, |_| true, linger).copied() else {
            return Decision::wait("no usable subflow");
        };
        if !subflow.has_room(self.room()) {
            return Decision::wait("send buffer full");
        }
        self.begin_burst(&subflow, context.window_left);
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
mod tests {
    use super::super::testing::{choice, view};
    use super::*;

    fn linux() -> Linux {
        Linux::new(&Params::defaults(ENTRY.params))
    }

    #[test]
    fn least_linger_time_in_bursts() {
        // 28 000 bytes at 2 Mbit/s: 112 ms; 14 000 at 500 kbit/s: 224 ms.
        let mut views = [view(0, 50, 100.0), view(1, 20, 100.0)];
        (views[0].buffered_bytes, views[0].paced_at) = (28_000, Some(Rate::from_bits_per_sec(2_000_000)));
        (views[1].buffered_bytes, views[1].paced_at) = (14_000, Some(Rate::from_bits_per_sec(500_000)));
        let mut scheduler = linux();
        assert_eq!(choice(&mut scheduler, &views), Some(0));
        // The burst goes on although the other would be better now: 65 216 / 1400 = 46.6, so 47 segments in all.
        views[1].buffered_bytes = 0;
        for _ in 1..47 {
            assert_eq!(choice(&mut scheduler, &views), Some(0));
        }
        assert_eq!(choice(&mut scheduler, &views), Some(1));
    }

    #[test]
    fn a_full_buffer_stops_everything() {
        let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
        // Sized for ten packets: 2 · 10 · 4352 = 87 040. 83 456 bytes beside the heads of four buffers, 3584, fill it to the byte.
        (views[0].buffered_bytes, views[0].in_flight, views[0].queued) = (83_456, 6, 1);
        (views[1].buffered_bytes, views[1].paced_at) = (14_000, Some(Rate::from_bits_per_sec(1)));
        // Linger of the first is smaller, but its buffer is full.
        assert_eq!(choice(&mut linux(), &views), None);
        views[0].buffered_bytes -= 1;
        assert_eq!(choice(&mut linux(), &views), Some(0));
        // Once sized for more it stays so, whatever the window.
        (views[0].sized_for, views[0].cwnd, views[0].buffered_bytes) = (11, 2.0, 83_456);
        assert_eq!(choice(&mut linux(), &views), Some(0));
    }

    #[test]
    fn the_average_is_weighted_by_bytes() {
        let mut scheduler = linux();
        let mut subflow = view(0, 50, 100.0);
        scheduler.begin_burst(&subflow, 1000);
        (subflow.buffered_bytes, subflow.paced_at) = (3000, Some(Rate::from_bits_per_sec(5_000_000)));
        scheduler.begin_burst(&subflow, 1000);
        // (1 Mbit/s * 3000 + 5 Mbit/s * 1000) / 4000
        assert_eq!(scheduler.average(&subflow).as_bits_per_sec(), 2_000_000);
    }
}
