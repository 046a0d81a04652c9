//! A congestion control written in Python, called once per round trip. For prototypes only: each call takes the interpreter
//! lock and costs microseconds where a Rust control costs nanoseconds.
//!
//! Called once per round trip, once per loss episode and once per timeout, with a report as a dict; returns the window in
//! packets, or a dict with `cwnd` and `pacing_mbps`. The window is clamped to 1 to 1 000 000 packets; an invalid result or an exception
//! becomes the run's error. Between calls nothing changes, so a window never grows within a round.
//! Tested by `tests/python/test_controller.py`.

use crate::prototype::{FirstError, Prototype, Source, check_keys};
use playpath_cc::{Ack, CongestionControl, CongestionEvent, Rto, Undo, View, WindowChange};
use playpath_units::{Duration, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Largest window that is believed.
const MAX_CWND: f64 = 1e6;

pub struct PythonControl {
    prototype: Prototype,
    cwnd: f64,
    ssthresh: f64,
    pacing: Option<Rate>,
    round: Round,
}

/// Counters since the last call.
#[derive(Default)]
struct Round {
    acked: u32,
    rtt: Option<Duration>,
    delivery_rate: Option<Rate>,
    is_app_limited: bool,
    may_grow: bool,
    lost_before: u64,
}

impl PythonControl {
    /// Calls the factory for an object with the method `on_report`.
    pub fn new(source: &Source, initial_window: f64, error: FirstError) -> PythonControl {
        PythonControl {
            prototype: Prototype::new(source, error),
            cwnd: initial_window.max(1.0),
            ssthresh: f64::INFINITY,
            pacing: None,
            round: Round::default(),
        }
    }

    fn report(&mut self, view: &View, event: &str) {
        let PythonControl { prototype, round, cwnd, .. } = self;
        let fill = |report: &Bound<'_, PyDict>| fill(report, round, *cwnd, view, event);
        if let Some(answer) = prototype.ask("on_report", fill, Answer::read) {
            (self.cwnd, self.pacing) = (answer.cwnd, answer.pacing);
        }
        self.round = Round { lost_before: view.lost, ..Round::default() };
    }
}

fn fill(report: &Bound<'_, PyDict>, round: &Round, cwnd: f64, view: &View, event: &str) -> PyResult<()> {
    report.set_item("event", event)?;
    report.set_item("now_s", view.now.as_secs_f64())?;
    report.set_item("cwnd", cwnd)?;
    report.set_item("in_flight", view.in_flight)?;
    report.set_item("acked", round.acked)?;
    report.set_item("lost", view.lost - round.lost_before)?;
    report.set_item("rtt_ms", round.rtt.map(Duration::as_millis_f64))?;
    report.set_item("min_rtt_ms", (view.min_rtt < Duration::MAX).then(|| view.min_rtt.as_millis_f64()))?;
    report.set_item("delivery_rate_mbps", round.delivery_rate.map(|r| r.as_mbps()))?;
    report.set_item("is_app_limited", round.is_app_limited)?;
    report.set_item("may_grow", round.may_grow)
}

struct Answer {
    cwnd: f64,
    pacing: Option<Rate>,
}

impl Answer {
    fn read(answer: &Bound<'_, PyAny>) -> PyResult<Answer> {
        let (cwnd, pacing) = match answer.cast::<PyDict>() {
            Ok(dict) => {
                check_keys("on_report", dict, &["cwnd", "pacing_mbps"])?;
                let cwnd = dict.get_item("cwnd")?;
                let cwnd = cwnd.ok_or_else(|| PyValueError::new_err("on_report: the answer has no `cwnd`"))?;
                let pacing = dict.get_item("pacing_mbps")?.filter(|value| !value.is_none());
                (cwnd.extract::<f64>()?, pacing.map(|value| value.extract::<f64>()).transpose()?)
            }
            Err(_) => (answer.extract::<f64>()?, None),
        };
        if !cwnd.is_finite() || pacing.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(PyValueError::new_err("on_report: `cwnd` must be finite, `pacing_mbps` finite and above 0"));
        }
        Ok(Answer {
            cwnd: cwnd.clamp(1.0, MAX_CWND),
            pacing: pacing.map(|rate| Rate::from_bits_per_sec_f64(rate * 1e6)),
        })
    }
}

impl CongestionControl for PythonControl {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn on_ack(&mut self, view: &View, event: &Ack) {
        if event.round_start && self.round.acked > 0 {
            self.report(view, "round");
        }
        self.round.acked += event.delivered;
        self.round.rtt = event.rtt.or(self.round.rtt);
        self.round.may_grow |= event.may_grow;
        if let Some(sample) = event.rate {
            self.round.delivery_rate = self.round.delivery_rate.max(Some(sample.delivery_rate));
            self.round.is_app_limited = sample.is_app_limited;
        }
    }

    fn on_congestion(&mut self, view: &View, _event: &CongestionEvent) {
        self.report(view, "loss");
        self.ssthresh = self.cwnd;
    }

    fn on_rto(&mut self, view: &View, _event: &Rto) {
        self.report(view, "timeout");
        self.ssthresh = self.cwnd;
    }

    fn on_undo(&mut self, _view: &View, _event: &Undo) {}

    fn on_window_change(&mut self, _view: &View, change: &WindowChange) {
        (self.cwnd, self.ssthresh) = (change.cwnd, change.ssthresh);
    }
}
