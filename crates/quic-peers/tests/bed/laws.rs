//! quinn's NewReno as a control of ours: the same arithmetic in bytes, so that what is left of a difference is the transport's. Its CUBIC is
//! a `growth` of ours.
//!
//! Reference: quinn-proto 0.11.19, `congestion/new_reno.rs`.

use super::DATAGRAM;
use playpath_cc::{Ack, CongestionControl, CongestionEvent, Rto, Undo, View, WindowChange};

const MTU: u64 = DATAGRAM as u64;
const MIN: u64 = 2 * MTU;

/// Window and threshold in bytes.
#[derive(Clone, Copy)]
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

/// A packet more when a whole window was acknowledged (RFC 3465): the window stands still meanwhile. What the ACK acknowledges that reveals a
/// loss is counted before the window is reduced, as quinn and noq do it (`on_ack_received`); by RFC 9002 (A.7) losses come first, and so does
/// our endpoint tell them.
pub struct Reno {
    windows: Windows,
    acked: u64,
    /// As they were before the last reduction.
    before: Option<Windows>,
}

impl Reno {
    pub fn new() -> Reno {
        Reno { windows: Windows::new(), acked: 0, before: None }
    }

    fn grow(&mut self, event: &Ack) {
        let windows = &mut self.windows;
        for _ in 0..event.acked {
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
    fn reduce(&mut self) {
        self.windows.window = (self.windows.window / 2).max(MIN);
        self.windows.ssthresh = self.windows.window;
    }
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> f64 {
        self.windows.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.windows.threshold()
    }
    fn on_ack(&mut self, _view: &View, event: &Ack) {
        match self.before.take() {
            Some(before) if event.newly_lost > 0 => {
                self.windows = before;
                self.grow(event);
                self.reduce();
            }
            _ if event.may_grow => self.grow(event),
            _ => {}
        }
    }
    fn on_congestion(&mut self, _view: &View, _event: &CongestionEvent) {
        self.before = Some(self.windows);
        self.reduce();
    }
    fn on_rto(&mut self, _view: &View, _event: &Rto) {
        self.before = None;
        self.windows.window = MIN;
    }
    fn on_undo(&mut self, _view: &View, _event: &Undo) {}
    fn on_window_change(&mut self, _view: &View, _change: &WindowChange) {}
}
