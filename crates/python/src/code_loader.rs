//! Creates the user's own controls and rules that a scenario names as `module:Name`; `playpath.run.own` loads them.

use crate::controller::PythonControl;
use crate::prototype::{FirstError, Source};
use crate::rule::PythonRule;
use playpath_scenario::{CodeLoader, Own, Scenario, ScenarioError};
use playpath_video::abr;
use pyo3::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// The scenario with what this sender's run needs of the user's own; the same one if it needs nothing.
pub fn with_own(scenario: Arc<Scenario>, sender: &str, error: &FirstError) -> Result<Arc<Scenario>, ScenarioError> {
    if scenario.sender(sender).is_ok_and(|spec| scenario.unresolved_code(spec).is_none()) {
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

impl CodeLoader for Python {
    fn control(&self, own: &Own) -> Result<playpath_scenario::Prototype, String> {
        Ok(control(found("control", own)?, self.error.clone()))
    }

    fn rule(&self, own: &Own) -> Result<abr::Prototype, String> {
        Ok(rule(found("rule", own)?, self.error.clone()))
    }
}

/// The callable without arguments that `playpath.run.own.factory` answers.
fn found(kind: &str, own: &Own) -> Result<Source, String> {
    let params = Value::Object(own.params.clone()).to_string();
    let ask = |py: pyo3::Python<'_>| -> PyResult<Py<PyAny>> {
        let finder = py.import("playpath.run.own")?.getattr("factory")?;
        Ok(finder.call1((kind, &own.reference, params, &own.sha256))?.unbind())
    };
    let message = |error: PyErr| pyo3::Python::attach(|py| error.value(py).to_string());
    let factory = pyo3::Python::attach(ask).map_err(message)?;
    Ok(Source { reference: own.reference.clone(), factory })
}
