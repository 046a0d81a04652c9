//! Makes the controls and rules that a scenario names by where they are (`module:Name`, `libmine.so:name`): `playpath.run.own` finds
//! them.

use crate::controller::PythonControl;
use crate::prototype::{FirstError, OwnCodeError, Source};
use crate::rule::PythonRule;
use playpath_plugin::{Library, Maker, OnError};
use playpath_scenario::{Own, Scenario, ScenarioError, Workshop};
use playpath_video::abr;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scenario with what this sender's run needs of the user's own; the same one if it needs nothing.
pub fn with_own(scenario: Arc<Scenario>, sender: &str, error: &FirstError) -> Result<Arc<Scenario>, ScenarioError> {
    if scenario.sender(sender).is_ok_and(|spec| scenario.unmade(spec).is_none()) {
        return Ok(scenario);
    }
    scenario.made(sender, &Python { error: error.clone() }).map(Arc::new)
}

/// Controllers made by a Python callable, one per connection.
pub fn control(source: Source, error: FirstError) -> playpath_scenario::Prototype {
    Arc::new(move |initial_window| Box::new(PythonControl::new(&source, initial_window, error.clone())))
}

/// Rules made by a Python callable, one per player.
pub fn rule(source: Source, error: FirstError) -> abr::Prototype {
    Arc::new(move || Box::new(PythonRule::new(&source, error.clone())))
}

struct Python {
    error: FirstError,
}

impl Workshop for Python {
    fn control(&self, own: &Own) -> Result<playpath_scenario::Prototype, String> {
        match found("control", own)? {
            Found::Python(source) => Ok(control(source, self.error.clone())),
            Found::Library(path) => {
                let maker = library_control(&path, own)?;
                let (reference, error) = (own.reference.clone(), self.error.clone());
                let on_error: OnError = Arc::new(move |method, message| fail(&error, &reference, method, message));
                Ok(Arc::new(move |initial_window| maker.build(initial_window, on_error.clone())))
            }
        }
    }

    fn rule(&self, own: &Own) -> Result<abr::Prototype, String> {
        match found("rule", own)? {
            Found::Python(source) => Ok(rule(source, self.error.clone())),
            Found::Library(_) => Err(format!("'{}': a library holds congestion controls, no ABR rules", own.reference)),
        }
    }
}

/// A control of a library, as it was named. Error: one line.
pub fn library_control(path: &Path, own: &Own) -> Result<Maker, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    let params = own.params.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    let name = own.reference.rsplit(':').next().unwrap_or_default();
    Library::open(path)?.control(name, params)
}

fn fail(error: &FirstError, reference: &str, method: &str, message: String) {
    let cause = PyRuntimeError::new_err(message);
    let failure = OwnCodeError::new_err((reference.to_string(), method.to_string()));
    pyo3::Python::attach(|py| failure.set_cause(py, Some(cause)));
    error.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(failure);
}

/// What a name stands for.
enum Found {
    Python(Source),
    Library(PathBuf),
}

/// What `playpath.run.own.factory` answers: a callable without arguments, or the file of a library.
fn found(kind: &str, own: &Own) -> Result<Found, String> {
    let params = Value::Object(own.params.clone()).to_string();
    let ask = |py: pyo3::Python<'_>| -> PyResult<Py<PyAny>> {
        let finder = py.import("playpath.run.own")?.getattr("factory")?;
        Ok(finder.call1((kind, &own.reference, params, &own.sha256))?.unbind())
    };
    let message = |error: PyErr| pyo3::Python::attach(|py| error.value(py).to_string());
    let answer = pyo3::Python::attach(ask).map_err(message)?;
    let path = pyo3::Python::attach(|py| answer.extract::<String>(py).ok());
    Ok(match path {
        Some(path) => Found::Library(path.into()),
        None => Found::Python(Source { reference: own.reference.clone(), factory: answer }),
    })
}
