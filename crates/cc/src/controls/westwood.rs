//! Westwood+: after a loss the window becomes what the measured bandwidth fills, not half.
//!
//! Reference, differences from it, tests: docs/models/cc-westwood.md.
//!
//! Units: packets, seconds; bandwidth in packets/s.

use playpath_units::{Duration, Time};

use crate::kernel::InKernel;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, Params, Rto, View};

pub static ENTRY: Entry = Entry {
    name: "westwood",
    aliases: &["westwood+"],
    summary: "the classic wireless control: after a loss, the window is measured bandwidth times smallest RTT",
    reference: "Grieco and Mascolo 2004; Linux tcp_westwood.c",
    params: &[slow_start_spec("classic"), ABC_LIMIT, PACED, REDUCE_FROM],
    in_kernel: Some(InKernel::linux("westwood")),
    is_coupled: false,
    behaviour: Behaviour::LOSS_BASED,
    build: |params, initial_window| Box::new(Westwood::new(params, initial_window)),
};

/// Shortest interval of a bandwidth sample.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

pub struct Westwood {
    reno: Reno,
    bandwidth: Bandwidth,
    /// None before the first sample and after a timeout.
    rtt_min: Option<Duration>,
}

/// Bandwidth filter: two stages of `7/8 old + 1/8 new`, one sample per RTT and at least 50 ms.
#[derive(Clone, Copy, Debug)]
struct Bandwidth {
    /// Both stages, packets/s; none before the first sample.
    stages: Option<(f64, f64)>,
    sample_started_at: Option<Time>,
    delivered: u32,
}

impl Bandwidth {
    fn take(&mut self, now: Time, rtt: Duration, delivered: u32) {
        let started_at = *self.sample_started_at.get_or_insert(now);
        let interval = now.saturating_since(started_at);
        // As in Linux the ACK that closes an interval counts in the next one.
        if interval > rtt.max(MIN_INTERVAL) {
            self.filter(f64::from(self.delivered) / interval.as_secs_f64());
            self.sample_started_at = Some(now);
            self.delivered = 0;
        }
        self.delivered += delivered;
    }

    fn filter(&mut self, sample: f64) {
        self.stages = Some(self.stages.map_or((sample, sample), |(first, second)| {
            let first = (7.0 * first + sample) / 8.0;
            (first, (7.0 * second + first) / 8.0)
        }));
    }
}

impl Westwood {
    fn new(params: &Params, initial_window: f64) -> Westwood {
        Westwood {
            reno: Reno::new(params, initial_window),
            bandwidth: Bandwidth { stages: None, sample_started_at: None, delivered: 0 },
            rtt_min: None,
        }
    }

    /// Packets that fill the pipe, if it was measured.
    fn pipe(&self) -> Option<f64> {
        let (_, bandwidth) = self.bandwidth.stages?;
        Some(bandwidth * self.rtt_min?.as_secs_f64())
    }
}

impl RenoBased for Westwood {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn start(&mut self, view: &View) {
        self.bandwidth.sample_started_at = Some(view.now);
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        if let Some(rtt) = event.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        }
        self.bandwidth.take(view.now, event.rtt.unwrap_or(view.srtt), event.delivered);
        self.reno.grow(view, event);
    }

    fn reduce(&mut self, _view: &View, event: &CongestionEvent) {
        let half = 0.5 * self.reno.reducible(event);
        let window = self.pipe().unwrap_or(half).min(self.reno.windows.cwnd);
        self.reno.windows.reduce_to(window, event.signal);
    }

    /// Linux measures the smallest RTT anew after a timeout: the path may have changed.
    fn collapse(&mut self, _view: &View, event: &Rto) {
        let half = 0.5 * self.reno.reducible_at_rto(event);
        let window = self.pipe().unwrap_or(half);
        self.reno.collapse(window, event);
        self.rtt_min = None;
    }
}

#[cfg(test)]
mod tests;
