//! LEDBAT++: less than best effort. Keeps at most 60 ms of queueing delay, yields to flows that fill the queue, and periodically leaves the
//! link idle to
//! measure the base delay.
//!
//! Reference: Balasubramanian, Ertugay, Havey, "LEDBAT++: Congestion Control for Background Traffic",
//! draft-irtf-iccrg-ledbat-plus-plus, sections 4.1 to 4.4; base delays after RFC 6817 §3.4.2.
//!
//! Differences from the reference:
//! 1. The base delay is the smallest RTT of ten minutes in a sliding window, where RFC 6817 keeps the minima of ten minutes each.
//! 2. The change of a round trip, `max(GAIN - W (delay / target - 1), -W / 2)`, is spread over its ACKs.
//! 3. The time of a slowdown ends when the window is back at its threshold, or a loss has lowered both.
//! 4. The threshold falls with the window: slow start does not restore reductions due to delay.
//! 5. While the application limits the sender, the window may fall and does not grow; slowdowns continue.
//!
//! Units: packets, seconds. Invariant: `cwnd >= 2` but for timeouts. Tested here by worked examples, and in `tests/comparisons.rs`
//! against a fluid queue.

use crate::parts::estimators::WindowedMin;
use crate::parts::reno::{Reno, RenoBased};
use crate::parts::slow_start::ABC_LIMIT;
use crate::parts::windows::{REDUCE_FROM, Windows};
use crate::registry::{Behaviour, Entry};
use crate::{Ack, ParamSpec, Params, View, WindowChange};
use playpath_units::{Duration, Time};

pub static ENTRY: Entry = Entry {
    name: "ledbatpp",
    aliases: &["ledbat++"],
    summary: "less than best effort: at most 60 ms of queue, and it gives way to everyone",
    reference: "draft-irtf-iccrg-ledbat-plus-plus; RFC 6817",
    params: &[TARGET, DECREASE, PERIOD, SLOW_START, ABC_LIMIT, crate::parts::slow_start::PACED, REDUCE_FROM],
    in_kernel: None,
    is_coupled: false,
    behaviour: Behaviour::DELAY_BASED,
    build: |params, initial_window| Box::new(LedbatPp::new(params, initial_window)),
};

const TARGET: ParamSpec =
    ParamSpec::number("target", 60.0, (1.0, 1000.0), "ms", "largest queueing delay that it keeps (draft §4.2: 60)")
        .since("0.3");
const DECREASE: ParamSpec = ParamSpec::number(
    "decrease",
    1.0,
    (0.0, 100.0),
    "",
    "windows given back per round trip and target of excess delay (draft §4.2: 1)",
)
.since("0.3");
const PERIOD: ParamSpec = ParamSpec::number(
    "period",
    9.0,
    (0.0, 1e6),
    "",
    "time between slowdowns, in durations of the last one (draft §4.4: 9); 0: no slowdowns",
)
.since("0.3");
const SLOW_START: ParamSpec = crate::parts::slow_start::slow_start_spec("classic");

/// RFC 6817 §3.4.2.
const BASE_MEMORY_MS: u64 = 600_000;
/// Samples of which the smallest is the delay now (RFC 6817 §3.4.2: CURRENT_FILTER).
const FILTER: usize = 4;
/// §4.3: share of the target that ends the first slow start.
const START_SHARE: f64 = 0.75;
/// §4.4: round trips between the first slow start and the first slowdown, and with the smallest window in each.
const PAUSE_ROUNDS: u64 = 2;
const MIN_CWND: f64 = 2.0;
/// §4.1: most of it, whatever the transport has: ten packets at once are 1.2 s of a link of 100 kbit/s.
const INITIAL_WINDOW: f64 = 2.0;
const MAX_GAIN_DIVISOR: f64 = 16.0;

pub struct LedbatPp {
    reno: Reno,
    base: WindowedMin<Duration>,
    last_rtts: [Duration; FILTER],
    samples: usize,
    slowdown: Slowdown,
    target: f64,
    decrease: f64,
    period: f64,
}

/// §4.4.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// The first slow start has not ended.
    Starting,
    Due(Time),
    /// The smallest window, since the first time until the second.
    Paused(Time, Time),
    /// Slow start back, of a slowdown since then.
    Returning(Time),
}

impl LedbatPp {
    fn new(params: &Params, initial_window: f64) -> LedbatPp {
        LedbatPp {
            reno: Reno::new(params, initial_window.min(INITIAL_WINDOW)),
            base: WindowedMin::new(),
            last_rtts: [Duration::MAX; FILTER],
            samples: 0,
            slowdown: Slowdown::Starting,
            target: params.number("target") / 1e3,
            decrease: params.number("decrease"),
            period: params.number("period"),
        }
    }

    fn measure(&mut self, view: &View, event: &Ack) {
        if let Some(rtt) = event.rtt.filter(|rtt| !rtt.is_zero()) {
            self.base.update(view.now.as_nanos() / 1_000_000, rtt, BASE_MEMORY_MS);
            self.last_rtts[self.samples % FILTER] = rtt;
            self.samples += 1;
        }
    }

    /// Queueing delay in seconds; none before the first sample.
    fn delay(&self) -> Option<f64> {
        let now = self.last_rtts.iter().min()?;
        Some(now.saturating_sub(self.base.get()?).as_secs_f64())
    }

    /// §4.2: a short path grows as slowly as a long one.
    fn gain(&self) -> f64 {
        let base = self.base.get().map_or(f64::INFINITY, |base| base.as_secs_f64());
        1.0 / libm::ceil(2.0 * self.target / base).clamp(1.0, MAX_GAIN_DIVISOR)
    }

    /// §4.4, the steps that time takes.
    fn slow_down(&mut self, view: &View) {
        let windows = &mut self.reno.windows;
        match self.slowdown {
            Slowdown::Due(at) if view.now >= at && self.period > 0.0 => {
                windows.set(&WindowChange { cwnd: MIN_CWND.min(windows.cwnd), ssthresh: windows.cwnd.max(MIN_CWND) });
                self.slowdown = Slowdown::Paused(view.now, view.now + view.srtt * PAUSE_ROUNDS);
            }
            Slowdown::Paused(since, until) if view.now >= until => self.slowdown = Slowdown::Returning(since),
            Slowdown::Returning(since) if !windows.in_slow_start() => {
                let took = view.now.saturating_since(since);
                self.slowdown = Slowdown::Due(view.now + took.mul_f64(self.period));
            }
            _ => {}
        }
    }

    /// §4.3: GAIN for each packet; the first one ends by the delay.
    fn start(&mut self, view: &View, acked: f64, delay: f64) {
        let windows = &mut self.reno.windows;
        if self.slowdown == Slowdown::Starting && delay > START_SHARE * self.target {
            windows.ssthresh = windows.cwnd;
            self.slowdown = Slowdown::Due(view.now + view.srtt * PAUSE_ROUNDS);
            return;
        }
        let gain = self.gain();
        let windows = &mut self.reno.windows;
        windows.cwnd = (windows.cwnd + gain * acked).min(windows.ssthresh);
    }

    /// §4.2.
    fn avoid_congestion(&mut self, acked: f64, may_grow: bool, delay: f64) {
        let (gain, windows) = (self.gain(), &mut self.reno.windows);
        let excess = (delay / self.target - 1.0).max(0.0);
        let change = (gain - self.decrease * windows.cwnd * excess).max(-windows.cwnd / 2.0);
        if change < 0.0 || may_grow {
            // A timeout's window of one packet only grows.
            let floor = MIN_CWND.min(windows.cwnd);
            windows.cwnd = (windows.cwnd + change * acked / windows.cwnd).max(floor);
            windows.ssthresh = windows.ssthresh.min(windows.cwnd.max(Windows::MIN_SSTHRESH));
        }
    }
}

impl RenoBased for LedbatPp {
    fn reno(&self) -> &Reno {
        &self.reno
    }
    fn reno_mut(&mut self) -> &mut Reno {
        &mut self.reno
    }

    fn grow(&mut self, view: &View, event: &Ack) {
        self.measure(view, event);
        self.slow_down(view);
        let Some(delay) = self.delay().filter(|_| !matches!(self.slowdown, Slowdown::Paused(..))) else { return };
        let acked = f64::from(event.counted);
        if !self.reno.windows.in_slow_start() {
            if self.slowdown == Slowdown::Starting {
                // A loss ended the first slow start.
                self.slowdown = Slowdown::Due(view.now + view.srtt * PAUSE_ROUNDS);
            }
            self.avoid_congestion(acked, event.may_grow, delay);
        } else if event.may_grow {
            self.start(view, acked, delay);
        }
    }
}

#[cfg(test)]
mod tests;
