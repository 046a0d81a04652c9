//! quinn's window laws as controls of ours: the same arithmetic in bytes, so that what is left of a difference is the transport's.
//!
//! Reference: quinn-proto 0.11.19, `congestion/new_reno.rs` and `congestion/cubic.rs` (RFC 8312 with RFC 9438's β on the old window).
//! With [`Departures`] off, `Cubic` follows RFC 9438 where quinn departs from it.

use super::DATAGRAM;
use playpath_cc::{Ack, CongestionControl, CongestionEvent, Rto, Undo, View, WindowChange};
use playpath_units::Time;

const MTU: u64 = DATAGRAM as u64;
const LEAST: u64 = 2 * MTU;

/// Window and threshold in bytes.
struct Windows {
    window: u64,
    ssthresh: u64,
}

impl Windows {
    fn new() -> Windows {
        Windows { window: 10 * MTU, ssthresh: u64::MAX }
    }
    fn cwnd(&self) -> f64 {
        self.window as f64 / MTU as f64
    }
    fn threshold(&self) -> f64 {
        if self.ssthresh == u64::MAX { f64::INFINITY } else { self.ssthresh as f64 / MTU as f64 }
    }
}

/// A packet more when a whole window was acknowledged (RFC 3465): the window stands still meanwhile.
pub struct Reno {
    windows: Windows,
    acked: u64,
}

impl Reno {
    pub fn new() -> Reno {
        Reno { windows: Windows::new(), acked: 0 }
    }
}

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "quinn-newreno"
    }
    fn cwnd(&self) -> f64 {
        self.windows.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.windows.threshold()
    }
    fn on_ack(&mut self, _view: &View, event: &Ack) {
        let windows = &mut self.windows;
        for _ in 0..if event.may_grow { event.acked } else { 0 } {
            let bytes = u64::from(event.acked_bytes / event.acked);
            if windows.window < windows.ssthresh {
                windows.window += bytes;
                self.acked = windows.window.saturating_sub(windows.ssthresh);
            } else {
                self.acked += bytes;
                if self.acked >= windows.window {
                    self.acked -= windows.window;
                    windows.window += MTU;
                }
            }
        }
    }
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {
        self.windows.window = (self.windows.window / 2).max(LEAST);
        self.windows.ssthresh = self.windows.window;
    }
    fn on_rto(&mut self, _view: &View, _event: &Rto) {
        self.windows.window = LEAST;
    }
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
}

/// Where quinn's CUBIC departs from RFC 9438.
#[derive(Clone, Copy)]
pub struct Departures {
    /// The increment beyond a whole packet is dropped, and at most a packet is added at a time (§4.4 adds a part with each ACK).
    pub drops_rest: bool,
    /// The Reno-friendly region grows by α = 0.53 for ever (§4.3: by 1 above the window of the last reduction).
    pub stays_slow: bool,
}

pub struct Cubic {
    windows: Windows,
    departures: Departures,
    start: Option<Time>,
    w_max: f64,
    prior: f64,
    k: f64,
    rest: f64,
    w_est: f64,
}

const BETA: f64 = 0.7;
const C: f64 = 0.4;

impl Cubic {
    pub fn new(departures: Departures) -> Cubic {
        let windows = Windows::new();
        Cubic { windows, departures, start: None, w_max: 0.0, prior: 0.0, k: 0.0, rest: 0.0, w_est: 0.0 }
    }

    /// In bytes, as quinn has it.
    fn avoid(&mut self, view: &View) {
        let start = *self.start.get_or_insert_with(|| {
            (self.w_max, self.k, self.w_est) = (self.windows.window as f64, 0.0, self.windows.window as f64);
            view.now
        });
        let (mtu, window) = (MTU as f64, self.windows.window as f64);
        let (t, rtt) = (view.now.saturating_since(start).as_secs_f64(), view.srtt.as_secs_f64());
        let from_plateau = t + rtt - self.k;
        let w_cubic = (C * from_plateau * from_plateau * from_plateau + self.w_max / mtu) * mtu;
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        let w_est = if self.departures.stays_slow {
            (self.w_max / mtu * BETA + alpha * t / rtt) * mtu
        } else {
            let alpha = if self.w_est >= self.prior { 1.0 } else { alpha };
            self.w_est += alpha * mtu * mtu / window;
            self.w_est
        };
        let mut target = window;
        if w_cubic < w_est {
            target = window.max(w_est);
        } else if window < w_cubic {
            target += (w_cubic - window) / window * mtu;
        }
        if self.departures.drops_rest {
            self.rest += (target - window).floor();
            if self.rest >= mtu {
                self.windows.window += MTU;
                self.rest = 0.0;
            }
        } else {
            self.windows.window = target as u64;
        }
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "quinn-cubic"
    }
    fn cwnd(&self) -> f64 {
        self.windows.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.windows.threshold()
    }
    fn on_ack(&mut self, view: &View, event: &Ack) {
        for _ in 0..if event.may_grow { event.acked } else { 0 } {
            if self.windows.window < self.windows.ssthresh {
                self.windows.window += u64::from(event.acked_bytes / event.acked);
            } else {
                self.avoid(view);
            }
        }
    }
    fn on_congestion(&mut self, view: &View, _event: &CongestionEvent) {
        let window = self.windows.window as f64;
        self.start = Some(view.now);
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.prior = window;
        self.windows.ssthresh = ((window * BETA) as u64).max(LEAST);
        self.windows.window = self.windows.ssthresh;
        self.w_est = self.windows.window as f64;
        self.k = (self.w_max / MTU as f64 * (1.0 - BETA) / C).cbrt();
        if !self.departures.stays_slow {
            // RFC 9438 §4.2: K from the window after the reduction.
            self.k = ((self.w_max - self.w_est).max(0.0) / MTU as f64 / C).cbrt();
        }
        self.rest = (self.rest * BETA).floor();
    }
    fn on_rto(&mut self, _view: &View, _event: &Rto) {
        (self.start, self.w_max) = (None, self.windows.window as f64);
        self.windows.ssthresh = ((self.windows.window as f64 * BETA) as u64).max(LEAST);
        (self.windows.window, self.rest) = (LEAST, 0.0);
    }
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
}
