//! An object written in Python that takes the place of a part of the engine. Its first error ends up as the run's error; after
//! it the object is not asked again.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex};

/// The first error of a run's prototypes.
pub type FirstError = Arc<Mutex<Option<PyErr>>>;

/// One object, made by calling a factory without arguments.
pub struct Prototype {
    object: Option<Py<PyAny>>,
    error: FirstError,
}

impl Prototype {
    /// Calls `factory`.
    pub fn new(factory: &Py<PyAny>, error: FirstError) -> Prototype {
        let mut prototype = Prototype { object: None, error };
        match Python::attach(|py| factory.call0(py)) {
            Ok(object) => prototype.object = Some(object),
            Err(error) => prototype.fail(error),
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
        answer.map_err(|error| self.fail(error)).ok()
    }

    fn fail(&mut self, error: PyErr) {
        self.object = None;
        self.error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(error);
    }
}
