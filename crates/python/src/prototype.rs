//! A Python object in place of a component of the engine. Its first error becomes the run's error, after which it is not called again.

use playpath_units::names::unknown;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

create_exception!(
    _engine,
    OwnCodeError,
    PyRuntimeError,
    "Code of the user's own failed: its reference and the method asked; the cause is what it raised."
);

pub type FirstError = Arc<Mutex<Option<PyErr>>>;

pub struct Source {
    /// Its name in the scenario; empty for a callable passed as an argument.
    pub reference: String,
    /// Called without arguments for each object.
    pub factory: Py<PyAny>,
}

/// Refuses an answer with keys that nobody reads: a misspelled one would count as left out.
pub fn check_keys(method: &str, answer: &Bound<'_, PyDict>, known: &[&str]) -> PyResult<()> {
    match answer.keys().iter().map(|key| key.to_string()).find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(PyValueError::new_err(format!("{method}: {}", unknown("key", &key, known.iter().copied())))),
        None => Ok(()),
    }
}

/// One object, made by calling a factory without arguments.
pub struct Prototype {
    object: Option<Py<PyAny>>,
    reference: String,
    error: FirstError,
}

impl Prototype {
    pub fn new(source: &Source, error: FirstError) -> Prototype {
        let mut prototype = Prototype { object: None, reference: source.reference.clone(), error };
        match Python::attach(|py| source.factory.call0(py)) {
            Ok(object) => prototype.object = Some(object),
            Err(error) => prototype.fail("__init__", error),
        }
        prototype
    }

    /// Calls `method` with the dict that `fill` writes, and reads the answer. `None` after an error.
    pub fn ask<T>(
        &mut self,
        method: &str,
        fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let object = self.object.as_ref()?;
        let answer = Python::attach(|py| {
            let report = PyDict::new(py);
            fill(&report)?;
            read(&object.bind(py).call_method1(method, (report,))?)
        });
        answer.map_err(|error| self.fail(method, error)).ok()
    }

    fn fail(&mut self, method: &str, cause: PyErr) {
        self.object = None;
        let error = OwnCodeError::new_err((self.reference.clone(), method.to_string()));
        Python::attach(|py| error.set_cause(py, Some(cause)));
        self.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
    }
}
