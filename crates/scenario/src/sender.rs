//! Senders and everything that shapes a TCP endpoint: `cc`, `profile`, `validation`, `pacing`, `mss`, `initial_window`, …

use crate::ScenarioError;
use crate::own::{Own, RuleSpec};
use crate::params::{self, params_json, set_params};
use crate::reader::{Named, Table};
use crate::scheduler::SchedulerSpec;
use playpath_cc::{CongestionControl, Entry, Params, Stack};
use playpath_transport::{Config, InitialWindow, LossDetection, Pacing, PartialAckTimer, Recovery, Validation};
use playpath_units::Bytes;
use playpath_units::names::unknown;
use serde_json::{Value, json};
use std::sync::Arc;

/// A congestion control with its parameters.
#[derive(Clone)]
pub struct CcSpec {
    choice: Choice,
    /// Builds the controllers: a prototype from outside the registry.
    pub(crate) prototype: Option<Prototype>,
}

#[derive(Clone)]
enum Choice {
    Registered {
        entry: &'static Entry,
        params: Params,
        /// What the profile's stack would have.
        defaults: Params,
    },
    Own(Own),
}

/// Makes a controller with an initial window, in packets.
pub type Prototype = Arc<dyn Fn(f64) -> Box<dyn CongestionControl> + Send + Sync>;

impl CcSpec {
    /// Reads `cc` of a table; `default` if it is absent.
    fn read(table: &Table, default: &str, profile: &str) -> Result<CcSpec, ScenarioError> {
        match table.named("cc", "name")? {
            None => Ok(CcSpec::by_name(default, profile).expect("defaults are registered")),
            Some(Named { name, table: keys }) => {
                let mut spec = CcSpec::by_name(&name, profile).map_err(|e| table.error("cc", e))?;
                if let Some(keys) = keys {
                    match &mut spec.choice {
                        Choice::Registered { params, .. } => {
                            set_params(&keys, params, &|_| Err("no parameter is a file".into()))?;
                        }
                        Choice::Own(own) => *own = own.clone().with_table(&keys)?,
                    }
                }
                Ok(spec)
            }
        }
    }

    /// By name, with the defaults that the profile's stack has; or where one's own is. Error: the unknown name with the nearest one.
    fn by_name(name: &str, profile: &str) -> Result<CcSpec, String> {
        let names = || playpath_cc::entries().iter().map(|e| e.name);
        let is_registered = || name.split(':').next().and_then(playpath_cc::find).is_some();
        if let Some(own) = Own::parse(name).filter(|_| !is_registered()) {
            return Ok(CcSpec { choice: Choice::Own(own), prototype: None });
        }
        let entry = playpath_cc::find(name).ok_or_else(|| unknown("congestion control", name, names()))?;
        let stack = match profile {
            "linux" => Stack::Linux,
            "ns2" => Stack::Ns2,
            _ => Stack::Rfc,
        };
        let defaults = entry.params_of(stack);
        Ok(CcSpec { choice: Choice::Registered { entry, params: defaults.clone(), defaults }, prototype: None })
    }

    /// Name of the algorithm, for the record.
    pub fn name(&self) -> &str {
        match &self.choice {
            Choice::Own(own) => &own.reference,
            Choice::Registered { .. } if self.prototype.is_some() => "prototype",
            Choice::Registered { entry, .. } => entry.name,
        }
    }

    /// It wants to know the other subflows of its MPTCP connection.
    pub fn is_coupled(&self) -> bool {
        matches!(&self.choice, Choice::Registered { entry, .. } if entry.is_coupled)
    }

    /// A new controller.
    pub fn build(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        match (&self.prototype, &self.choice) {
            (Some(make), _) => make(initial_window),
            (None, Choice::Registered { entry, params, .. }) => (entry.build)(params, initial_window),
            (None, Choice::Own(own)) => unreachable!("{}: checked by SenderSpec::unmade", own.reference),
        }
    }

    /// The user's own, if it is.
    pub(crate) fn own(&self) -> Option<&Own> {
        match &self.choice {
            Choice::Own(own) => Some(own),
            Choice::Registered { .. } => None,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.choice {
            Choice::Registered { entry, params, .. } => params_json("name", entry.name, params),
            Choice::Own(own) => own.to_json(),
        }
    }

    fn label(&self) -> String {
        match &self.choice {
            Choice::Registered { entry, params, defaults } => params::label(entry.name, params, defaults),
            Choice::Own(own) => own.label(),
        }
    }
}

/// A sender: what serves the video. Also the transport of cross traffic.
#[derive(Clone)]
pub struct SenderSpec {
    /// Unique label.
    pub name: String,
    /// Congestion control of the server.
    pub cc: CcSpec,
    /// Names of the paths it may use; all if empty.
    pub paths: Vec<String>,
    /// Of MPTCP connections; over one path it has no say.
    pub scheduler: SchedulerSpec,
    /// In place of the player's rule.
    pub abr: Option<RuleSpec>,
    /// Of the kernel world: what carries a stream over several paths. Here it is MPTCP always.
    multipath: Option<&'static str>,
    profile: &'static str,
    /// The server's endpoint; shared by all its connections.
    pub config: Arc<Config>,
}

const MULTIPATHS: &[&str] = &["relay", "mptcp"];
const VALIDATIONS: &[(&str, Validation)] =
    &[("none", Validation::None), ("rfc2861", Validation::Rfc2861), ("newcwv", Validation::NewCwv)];
/// `newreno` restarts the timer at the first partial ACK only ("impatient", RFC 6582 and ns-2), `newreno_steady` at each;
/// `reno` knows no partial ACK (ns-2's Vegas).
const LOSS_DETECTIONS: &[(&str, LossDetection)] = &[
    ("rack_tlp", LossDetection::RackTlp),
    ("rfc6675", LossDetection::Rfc6675),
    ("newreno", LossDetection::NewReno(PartialAckTimer::Impatient)),
    ("newreno_steady", LossDetection::NewReno(PartialAckTimer::SlowButSteady)),
    ("reno", LossDetection::Reno),
];
const RECOVERIES: &[(&str, Recovery)] =
    &[("prr", Recovery::Prr), ("rfc6675", Recovery::Rfc6675), ("newreno", Recovery::NewReno)];

impl SenderSpec {
    /// Reads a `[[sender]]`, or the transport keys of a `[[traffic]]`. `mss` is the scenario's packet size, if it states one.
    pub(crate) fn read(
        table: &Table,
        run_profile: &'static str,
        mss: Option<u32>,
    ) -> Result<SenderSpec, ScenarioError> {
        let profile = table.word("profile", Config::PROFILES)?.unwrap_or(run_profile);
        let cc = CcSpec::read(table, "cubic", profile)?;
        let mut config = Config::profile(profile).expect("listed profiles exist");
        config.mss = mss.unwrap_or(config.mss);
        read_endpoint(table, &mut config)?;
        let mut spec = SenderSpec {
            name: table.text("name")?.unwrap_or_default().to_string(),
            cc,
            paths: table.texts("paths")?.unwrap_or_default(),
            scheduler: SchedulerSpec::read(table)?,
            abr: RuleSpec::read(table)?,
            multipath: table.word("multipath", MULTIPATHS)?,
            profile,
            config: Arc::new(config),
        };
        if spec.name.is_empty() {
            spec.name = spec.label();
        }
        // A resolved scenario writes the default scheduler out, and the name that it gave without: it stays out of labels.
        let without = SenderSpec { scheduler: spec.scheduler.unstated(), ..spec.clone() };
        if spec.name == without.label() {
            spec.scheduler = without.scheduler;
        }
        Ok(spec)
    }

    /// The same sender with controllers from outside the registry.
    pub fn with_prototype(&self, prototype: Prototype) -> SenderSpec {
        let mut spec = self.clone();
        spec.cc.prototype = Some(prototype);
        spec
    }

    /// The same sender under another scheduler, as the command line names it.
    pub fn with_scheduler(&self, name: &str) -> Result<SenderSpec, String> {
        let mut spec = SenderSpec { scheduler: SchedulerSpec::parse(name)?, ..self.clone() };
        spec.name = spec.label();
        Ok(spec)
    }

    /// The same sender whose viewers' players choose by this rule; `name` instead of the rule's in the label.
    pub(crate) fn with_abr(&self, rule: &str, name: Option<&str>) -> Result<SenderSpec, String> {
        let rule = RuleSpec::parse(rule)?;
        let mut spec = SenderSpec { abr: None, ..self.clone() };
        spec.name = format!("{}/{}", self.name, name.map_or_else(|| rule.label(), String::from));
        spec.abr = Some(rule);
        Ok(spec)
    }

    /// What of the user's own has not been made yet.
    pub fn unmade(&self) -> Option<&Own> {
        let of_cc = self.cc.own().filter(|_| self.cc.prototype.is_none());
        of_cc.or_else(|| self.abr.as_ref()?.unmade())
    }

    /// A sender named on the command line: a congestion control with defaults.
    pub fn by_cc(name: &str, template: &SenderSpec) -> Result<SenderSpec, String> {
        let mut spec = SenderSpec { cc: parse_cc(name, template.profile)?, ..template.clone() };
        spec.name = spec.label();
        Ok(spec)
    }

    /// The congestion control and what differs from its profile.
    fn label(&self) -> String {
        let base = Config::profile(self.profile).expect("listed profiles exist");
        let mut label = self.cc.label();
        if let Some(scheduler) = self.scheduler.label() {
            label += &format!("/{scheduler}");
        }
        if let Some(rule) = &self.abr {
            label += &format!("/{}", rule.label());
        }
        if self.config.validation != base.validation {
            label += &format!("+{}", validation_name(self.config.validation));
        }
        if self.config.pacing != base.pacing {
            label += &format!("+{}", pacing_label(self.config.pacing));
        }
        label
    }

    pub(crate) fn to_json(&self) -> Value {
        let c = &self.config;
        let mut resolved = json!({
            "name": self.name,
            "cc": self.cc.to_json(),
            "profile": self.profile,
            "mss": c.mss,
            "initial_window": c.initial_window() as u64,
            "validation": validation_name(c.validation),
            "pacing": pacing_json(c.pacing),
            "sack": c.sack,
            "timestamps": c.timestamps,
            "ecn": c.ecn,
            "loss_detection": LOSS_DETECTIONS.iter().find(|(_, d)| *d == c.loss_detection).map(|(n, _)| n),
            "recovery": RECOVERIES.iter().find(|(_, r)| *r == c.recovery).map(|(n, _)| n),
            "limited_transmit": c.limited_transmit,
            "rto_min": c.rto.min.to_string(),
            "send_buffer": Bytes(c.send_buffer).to_string(),
            "receive_buffer": Bytes(c.receive_buffer).to_string(),
            "max_burst": c.max_burst,
            "paths": self.paths,
            "scheduler": self.scheduler.to_json(),
        });
        if let Some(rule) = &self.abr {
            resolved["abr"] = rule.to_json();
        }
        if let Some(multipath) = self.multipath {
            resolved["multipath"] = json!(multipath);
        }
        resolved
    }
}

/// "ccplb:pob_rate=2", as the command line gives it.
fn parse_cc(text: &str, profile: &str) -> Result<CcSpec, String> {
    let (name, pairs) = params::split(text);
    if playpath_cc::find(name).is_none() && Own::parse(text).is_some() {
        return CcSpec::by_name(text, profile);
    }
    let mut spec = CcSpec::by_name(name, profile)?;
    if let Choice::Registered { params, .. } = &mut spec.choice {
        params::set_pairs(pairs, params)?;
    }
    Ok(spec)
}

fn read_endpoint(table: &Table, config: &mut Config) -> Result<(), ScenarioError> {
    if let Some(mss) = table.integer("mss", 88..=65_000)? {
        config.mss = mss as u32;
    }
    if let Some(iw) = table.integer("initial_window", 1..=1000)? {
        config.iw = InitialWindow::Packets(iw as u32);
    }
    let names: Vec<&'static str> = VALIDATIONS.iter().map(|(n, _)| *n).collect();
    if let Some(word) = table.word("validation", &names)? {
        config.validation = VALIDATIONS.iter().find(|(n, _)| *n == word).expect("listed").1;
    }
    if let Some(pacing) = read_pacing(table)? {
        config.pacing = pacing;
    }
    config.sack = table.flag("sack")?.unwrap_or(config.sack);
    config.timestamps = table.flag("timestamps")?.unwrap_or(config.timestamps);
    config.ecn = table.flag("ecn")?.unwrap_or(config.ecn);
    config.limited_transmit = table.flag("limited_transmit")?.unwrap_or(config.limited_transmit);
    let names: Vec<&'static str> = LOSS_DETECTIONS.iter().map(|(n, _)| *n).collect();
    if let Some(word) = table.word("loss_detection", &names)? {
        config.loss_detection = LOSS_DETECTIONS.iter().find(|(n, _)| *n == word).expect("listed").1;
    }
    let names: Vec<&'static str> = RECOVERIES.iter().map(|(n, _)| *n).collect();
    if let Some(word) = table.word("recovery", &names)? {
        config.recovery = RECOVERIES.iter().find(|(n, _)| *n == word).expect("listed").1;
    }
    if let Some(rto_min) = table.positive("rto_min")? {
        config.rto.min = rto_min;
    }
    if let Some(Bytes(bytes)) = table.positive("send_buffer")? {
        config.send_buffer = bytes;
    }
    if let Some(Bytes(bytes)) = table.positive("receive_buffer")? {
        config.receive_buffer = bytes;
    }
    if let Some(burst) = table.integer("max_burst", 1..=1000)? {
        config.max_burst = Some(burst as u32);
    }
    Ok(())
}

const PACINGS: &[&str] = &["off", "linux", "controller"];

/// `pacing = "off" | "linux" | "controller" | { gain = 1.0 }`.
fn read_pacing(table: &Table) -> Result<Option<Pacing>, ScenarioError> {
    match table.value("pacing") {
        Some(Value::Object(_)) => {
            let own = table.table("pacing")?.expect("an object");
            let gain = own.number("gain", 0.1..=100.0)?.ok_or_else(|| table.error("pacing", "has no `gain`"))?;
            own.finish()?;
            Ok(Some(Pacing::Gain(gain)))
        }
        _ => Ok(table.word("pacing", PACINGS)?.map(|word| match word {
            "off" => Pacing::Off,
            "linux" => Pacing::Linux,
            _ => Pacing::Controller,
        })),
    }
}

fn pacing_json(pacing: Pacing) -> Value {
    match pacing {
        Pacing::Off => json!("off"),
        Pacing::Linux => json!("linux"),
        Pacing::Controller => json!("controller"),
        Pacing::Gain(gain) => json!({ "gain": gain }),
    }
}

fn pacing_label(pacing: Pacing) -> String {
    match pacing {
        Pacing::Off => "unpaced".into(),
        Pacing::Linux => "pacing".into(),
        Pacing::Controller => "pacing(controller)".into(),
        Pacing::Gain(gain) => format!("pacing({gain})"),
    }
}

fn validation_name(validation: Validation) -> &'static str {
    VALIDATIONS.iter().find(|(_, v)| *v == validation).expect("all are listed").0
}
