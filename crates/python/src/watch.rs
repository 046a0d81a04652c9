//! Watches a running simulation: Ctrl-C, the caller's progress callback, and the machine's memory.

use crate::memory::Memory;
use crate::prototype::FirstError;
use playpath_shell::monotonic_nanos;
use playpath_sim::Progress;
use pyo3::prelude::*;

/// Between two calls into Python, which take the interpreter lock.
const PAUSE_NANOS: u64 = 200_000_000;

pub struct Watcher {
    /// Called with the seconds played and those expected.
    callback: Option<Py<PyAny>>,
    error: FirstError,
    reported_at: u64,
    memory: Option<Memory>,
}

impl Watcher {
    /// `error` takes what Python raises.
    pub fn new(callback: Option<Py<PyAny>>, error: FirstError) -> Watcher {
        Watcher { callback, error, reported_at: monotonic_nanos(), memory: Memory::now() }
    }

    /// Error: why the run must end; the user's own code failed, say.
    pub fn look(&mut self, progress: Progress) -> Result<(), String> {
        if let Some(memory) = &self.memory {
            memory.check(progress)?;
        }
        if self.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).is_some() {
            return Err("the user's own code failed".into());
        }
        let now = monotonic_nanos();
        if now - self.reported_at < PAUSE_NANOS {
            return Ok(());
        }
        self.reported_at = now;
        Python::attach(|py| self.report(py, progress)).map_err(|raised| {
            let reason = raised.to_string();
            self.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(raised);
            reason
        })
    }

    fn report(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        py.check_signals()?;
        if let Some(callback) = &self.callback {
            callback.call1(py, (progress.now.as_secs_f64(), progress.expected_end.as_secs_f64()))?;
        }
        Ok(())
    }
}
