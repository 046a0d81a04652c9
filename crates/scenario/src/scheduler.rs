//! The MPTCP scheduler of a sender: `scheduler = "dft"` or `{ name = "tr-sty", rtt_flip = true }`.

use crate::ScenarioError;
use crate::params::{self, params_json, set_params};
use crate::reader::{Named, Table};
use playpath_transport::mptcp::scheduler::{self, Entry, Scheduler};
use playpath_units::names::unknown;
use playpath_units::{Choice, Params, TableSpec, Variant};
use serde_json::Value;

/// `scheduler` as a table, and what it is by name alone.
pub const SCHEDULER: TableSpec =
    TableSpec::new("scheduler", "A scheduler over several paths with its parameters.", &[]).choosing(Choice {
        tag: "name",
        what: "scheduler",
        noun: "parameter",
        default: "",
        otherwise: "",
        variants: || {
            let variant =
                |e: &&'static Entry| Variant { name: e.name, aliases: &[], summary: e.summary, keys: e.params };
            scheduler::entries().iter().map(variant).collect()
        },
    });

#[derive(Clone)]
pub struct SchedulerSpec {
    entry: &'static Entry,
    params: Params,
    /// Named in the scenario, so part of the sender's label.
    is_stated: bool,
}

impl SchedulerSpec {
    /// Reads `scheduler`; that of stock kernels without it.
    pub(crate) fn read(table: &Table) -> Result<SchedulerSpec, ScenarioError> {
        let Named { name, table: own } = table.named("scheduler").expect("has a default");
        let mut spec = SchedulerSpec::by_name(&name).map_err(|e| table.error("scheduler", e))?;
        spec.is_stated = table.has("scheduler");
        if let Some(own) = own {
            set_params(&own, &mut spec.params, &|_| Err("no parameter is a file".into()))?;
        }
        Ok(spec)
    }

    /// By name, with default parameters. Error: the unknown name with the nearest one.
    pub fn by_name(name: &str) -> Result<SchedulerSpec, String> {
        let names = || scheduler::entries().iter().map(|e| e.name);
        let entry = scheduler::find(name).ok_or_else(|| unknown("scheduler", name, names()))?;
        Ok(SchedulerSpec { entry, params: Params::defaults(entry.params), is_stated: true })
    }

    /// "tr-sty:rtt_flip=true", as the command line gives it.
    pub fn parse(text: &str) -> Result<SchedulerSpec, String> {
        let (name, pairs) = params::split(text);
        let mut spec = SchedulerSpec::by_name(name)?;
        params::set_pairs(pairs, &mut spec.params)?;
        Ok(spec)
    }

    pub fn build(&self) -> Box<dyn Scheduler> {
        (self.entry.build)(&self.params)
    }

    /// The same, but no part of the sender's label.
    pub fn unstated(&self) -> SchedulerSpec {
        SchedulerSpec { is_stated: false, ..self.clone() }
    }

    pub fn label(&self) -> Option<String> {
        let defaults = Params::defaults(self.entry.params);
        self.is_stated.then(|| params::label(self.entry.name, &self.params, &defaults))
    }

    pub(crate) fn to_json(&self) -> Value {
        params_json("name", self.entry.name, &self.params)
    }
}
