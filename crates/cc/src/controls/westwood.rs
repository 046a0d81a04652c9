//! Westwood+: after a loss the window becomes what the measured bandwidth fills, not half.
//!
//! Reference: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
//! control", ACM CCR 34 (2004); filter and constants as in Linux's `net/ipv4/tcp_westwood.c`.
//!
//! Differences from Linux:
//! 1. `ssthresh = bandwidth * rtt_min` is set when a loss is detected, as in the paper. Linux recovers with Reno's half and sets
//!    the window at the end of the recovery.
//! 2. The bandwidth counts packets delivered by ACK or SACK. Linux infers them from duplicate ACKs, one each.
//! 3. Before the first bandwidth sample a loss halves the window; Linux sets it to 2.
//! 4. A loss never raises the window; Linux's can, if the estimate has risen.
//!
//! Units: packets, seconds; bandwidth in packets/s. Tested here by worked examples, and by `tests/contract.rs`.

use playpath_units::{Duration, Time};

use crate::kernel::InKernel;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::{ABC_LIMIT, PACED, slow_start_spec};
use crate::parts::windows::REDUCE_FROM;
use crate::registry::{Behaviour, Entry};
use crate::{Ack, CongestionEvent, Params, Rto, View};

/// Registry entry.
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

/// State of Westwood+.
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
    const NAME: &'static str = ENTRY.name;

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
mod tests {
    use super::*;
    use crate::testbed::{Script, assert_close};

    #[test]
    fn the_filter_has_two_stages_of_an_eighth() {
        let mut bandwidth = Bandwidth { stages: None, sample_started_at: None, delivered: 0 };
        bandwidth.filter(1000.0);
        assert_eq!(bandwidth.stages, Some((1000.0, 1000.0)));
        // Then 1800: first 7000/8 + 225 = 1100, second 7000/8 + 137.5 = 1012.5. Again: 1187.5 and 1034.375.
        bandwidth.filter(1800.0);
        assert_eq!(bandwidth.stages, Some((1100.0, 1012.5)));
        bandwidth.filter(1800.0);
        assert_eq!(bandwidth.stages, Some((1187.5, 1034.375)));
    }

    #[test]
    fn one_sample_per_rtt_and_at_least_50_ms() {
        let samples = |rtt_millis: u64| {
            let mut bandwidth = Bandwidth { stages: None, sample_started_at: Some(Time::ZERO), delivered: 0 };
            let mut last = None;
            // A packet every millisecond for a second.
            (1..=1000)
                .filter(|millis| {
                    bandwidth.take(Time::from_millis(*millis), Duration::from_millis(rtt_millis), 1);
                    std::mem::replace(&mut last, bandwidth.sample_started_at) != bandwidth.sample_started_at
                })
                .count()
        };
        // Longer than 100 ms: every 101 ms, 9 in a second. 10 ms: every 51 ms, 19. The first ACK shows the start: one more.
        assert_eq!((samples(100), samples(10)), (10, 20));
    }

    #[test]
    fn a_loss_leaves_what_the_measured_bandwidth_fills() {
        // 40 packets per 120 ms while the smallest RTT was 100 ms: 333 packets/s * 0.1 s = 33.3 packets. Reno would have 20.
        let mut script = Script::new("westwood", 40.0);
        script.ack(0);
        script.avoid_congestion_at(40.0);
        script.may_grow = false;
        script.rtt = Duration::from_millis(120);
        (0..30).for_each(|_| script.round());
        script.lose();
        assert!((script.cwnd() - 33.33).abs() < 0.5, "{}", script.cwnd());
        assert_close(script.cc.ssthresh(), script.cwnd());
    }

    #[test]
    fn random_loss_costs_little() {
        // No queue: bandwidth times smallest RTT is the window itself.
        let mut script = Script::new("westwood", 40.0);
        script.avoid_congestion_at(40.0);
        script.may_grow = false;
        (0..30).for_each(|_| script.round());
        script.lose();
        assert!(script.cwnd() > 39.0, "{}", script.cwnd());
    }

    #[test]
    fn a_loss_never_raises_the_window() {
        let mut westwood = Westwood::new(&Params::defaults(ENTRY.params), 40.0);
        westwood.bandwidth.stages = Some((1000.0, 1000.0)); // 1000 packets/s * 0.1 s are 100 packets
        westwood.rtt_min = Some(Duration::from_millis(100));
        let mut script = Script::new("newreno", 40.0);
        script.cc = Box::new(westwood);
        script.lose();
        assert_eq!((script.cwnd(), script.cc.ssthresh()), (40.0, 40.0));
    }

    #[test]
    fn unmeasured_it_halves() {
        let mut script = Script::new("westwood", 40.0);
        script.lose();
        assert_eq!(script.cwnd(), 20.0);
    }

    #[test]
    fn a_timeout_forgets_the_smallest_rtt() {
        // 40 packets per 100 ms; then the path takes 200 ms: 200 packets/s * 0.2 s are 40 packets, not 20.
        let mut script = Script::new("westwood", 40.0);
        script.may_grow = false;
        (0..30).for_each(|_| script.round());
        script.time_out(40);
        script.avoid_congestion_at(40.0);
        script.rtt = Duration::from_millis(200);
        (0..60).for_each(|_| script.round());
        script.lose();
        assert!(script.cwnd() > 38.0, "{}", script.cwnd());
    }

    #[test]
    fn a_timeout_keeps_the_pipe_as_threshold() {
        let mut script = Script::new("westwood", 40.0);
        script.avoid_congestion_at(40.0);
        script.may_grow = false;
        (0..30).for_each(|_| script.round());
        script.time_out(40);
        assert_eq!(script.cwnd(), 1.0);
        assert!(script.cc.ssthresh() > 39.0, "{}", script.cc.ssthresh());
    }
}
