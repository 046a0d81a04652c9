//! An ABR rule written in Python, one call per segment: for prototypes, and for rules that exist in Python already.
//!
//! `choose` gets a dict and returns the index of a representation, or a dict with `representation`, or `wait_s` to be called again later,
//! and `estimate_mbps`. Each download is passed once, with the next call. It never abandons a download. An invalid result or an exception
//! becomes the run's error.
//! Tested by `tests/python/test_abr_rule.py`.

use crate::prototype::{FirstError, Prototype, Source, check_keys};
use playpath_units::Duration;
use playpath_video::abr::{Abr, Choice, Context, Decision, Download, PlayState};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Why, for a rule that keeps its reasons to itself.
const REASON: &str = "prototype";

pub struct PythonRule {
    prototype: Prototype,
    /// Ended since the last question.
    downloads: Vec<Download>,
}

impl PythonRule {
    /// Calls the factory for an object with the method `choose`.
    pub fn new(source: &Source, error: FirstError) -> PythonRule {
        PythonRule { prototype: Prototype::new(source, error), downloads: Vec::new() }
    }
}

impl Abr for PythonRule {
    fn choose(&mut self, context: &Context) -> Decision {
        let PythonRule { prototype, downloads } = self;
        let fill = |report: &Bound<'_, PyDict>| fill(report, context, downloads);
        let decision = prototype.ask("choose", fill, |answer| decision(answer, context));
        self.downloads.clear();
        decision.unwrap_or(Decision::fetch(0, "the prototype failed"))
    }

    fn on_download(&mut self, _context: &Context, download: &Download) {
        self.downloads.push(*download);
    }
}

fn fill(report: &Bound<'_, PyDict>, context: &Context, downloads: &[Download]) -> PyResult<()> {
    let state = match context.state {
        PlayState::StartingUp => "starting_up",
        PlayState::Playing => "playing",
        PlayState::Stalled => "stalled",
    };
    let rates: Vec<f64> = context.ladder.bitrates().iter().map(|rate| rate.as_mbps()).collect();
    report.set_item("now_s", context.now.as_secs_f64())?;
    report.set_item("segment", context.segment)?;
    report.set_item("segments", context.ladder.segments())?;
    report.set_item("duration_s", context.ladder.duration_of(context.segment).as_secs_f64())?;
    report.set_item("bitrates_mbps", rates)?;
    report.set_item("sizes_bytes", context.ladder.sizes_of(context.segment).to_vec())?;
    report.set_item("buffer_s", context.buffer_level.as_secs_f64())?;
    report.set_item("capacity_s", context.buffer_capacity.as_secs_f64())?;
    report.set_item("state", state)?;
    report.set_item("previous", context.previous)?;
    let done = PyList::empty(report.py());
    for download in downloads {
        done.append(download_dict(report.py(), download)?)?;
    }
    report.set_item("downloads", done)
}

fn download_dict<'py>(py: Python<'py>, download: &Download) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("segment", download.segment)?;
    dict.set_item("representation", download.representation)?;
    dict.set_item("bytes", download.bytes)?;
    dict.set_item("requested_s", download.requested_at.as_secs_f64())?;
    dict.set_item("seconds", download.seconds())?;
    dict.set_item("latency_s", download.latency_seconds())?;
    dict.set_item("throughput_mbps", download.bits_per_sec() / 1e6)?;
    Ok(dict)
}

fn decision(answer: &Bound<'_, PyAny>, context: &Context) -> PyResult<Decision> {
    let Ok(dict) = answer.cast::<PyDict>() else { return fetch(answer, context) };
    check_keys("choose", dict, &["representation", "wait_s", "estimate_mbps"])?;
    let decision = match (dict.get_item("representation")?, dict.get_item("wait_s")?) {
        (Some(representation), None) => fetch(&representation, context)?,
        (None, Some(wait)) => wait_for(&wait, context)?,
        _ => return Err(PyValueError::new_err("choose: the answer needs either `representation` or `wait_s`")),
    };
    let estimate = dict.get_item("estimate_mbps")?.filter(|value| !value.is_none());
    Ok(match estimate.map(|value| value.extract::<f64>()).transpose()? {
        Some(mbps) if mbps.is_finite() && mbps >= 0.0 => decision.with_estimate(mbps * 1e6),
        Some(mbps) => return Err(PyValueError::new_err(format!("choose: `estimate_mbps` is {mbps}"))),
        None => decision,
    })
}

fn fetch(answer: &Bound<'_, PyAny>, context: &Context) -> PyResult<Decision> {
    let (asked, count) = (answer.extract::<i64>()?, context.ladder.count());
    let index = usize::try_from(asked).ok().filter(|&index| index < count);
    let index = index.ok_or_else(|| {
        PyValueError::new_err(format!(
            "choose: representation {asked} of segment {}; allowed: 0 to {}",
            context.segment,
            count - 1
        ))
    })?;
    Ok(Decision::fetch(index, REASON))
}

/// Only while playing, or the level never sinks and the player is never asked again.
fn wait_for(answer: &Bound<'_, PyAny>, context: &Context) -> PyResult<Decision> {
    let seconds = answer.extract::<f64>()?;
    if context.state != PlayState::Playing {
        return Err(PyValueError::new_err("choose: `wait_s` is allowed only while playing"));
    }
    // At least 1 ms: otherwise a rule that always waits 0 s would loop for ever.
    if !(0.001..=1e6).contains(&seconds) {
        return Err(PyValueError::new_err(format!("choose: `wait_s` is {seconds}; allowed: 0.001 to 1000000")));
    }
    let until = context.now + Duration::from_secs_f64(seconds);
    Ok(Decision { choice: Choice::WaitUntil(until), estimate: None, reason: REASON })
}
