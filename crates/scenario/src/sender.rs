//! Senders: `cc`, `paths`, `scheduler`, …; the keys of their transport are in `transport.rs`.

use crate::ScenarioError;
use crate::handover::{HANDOVER, HandoverSpec};
use crate::own::{Own, RuleSpec};
use crate::params::{self, params_json, set_params};
use crate::reader::{Named, Table};
use crate::scheduler::{SCHEDULER, SchedulerSpec};
use crate::transport::{self, KEYS, TRANSPORT, TransportSpec};
use playpath_cc::{CongestionControl, EcnUse, Entry, Params, Stack};
use playpath_transport::Config;
use playpath_units::names::unknown;
use playpath_units::{Bytes, Choice, Kind, ParamSpec, TableSpec, Variant};
use playpath_video::abr;
use serde_json::{Value, json};
use std::sync::Arc;

/// The parameter of controls that draw, and how many values it has.
const SEED: &str = "seed";
const SEEDS: u64 = 1_000_000_000;

#[derive(Clone)]
pub struct CcSpec {
    choice: Chosen,
    /// Builds the controllers: a prototype from outside the registry.
    pub(crate) prototype: Option<Prototype>,
}

#[derive(Clone)]
enum Chosen {
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
    /// Reads `cc` of a table; `stack`: the transport's, or the profile.
    fn read(table: &Table, stack: &str) -> Result<CcSpec, ScenarioError> {
        let Named { name, table: keys } = table.named("cc").expect("has a default");
        let mut spec = CcSpec::by_name(&name, stack).map_err(|e| table.error("cc", e))?;
        if let Some(keys) = keys {
            match &mut spec.choice {
                Chosen::Registered { params, .. } => {
                    set_params(&keys, params, &|_| Err("no parameter is a file".into()))?;
                }
                Chosen::Own(own) => own.take(keys.parameters()),
            }
        }
        Ok(spec)
    }

    /// By name, with the defaults that the stack has; or where one's own is. Error: the unknown name with the nearest one.
    fn by_name(name: &str, stack: &str) -> Result<CcSpec, String> {
        let is_registered = || name.split(':').next().and_then(playpath_cc::find).is_some();
        if let Some(own) = Own::parse(name).filter(|_| !is_registered()) {
            return Ok(CcSpec { choice: Chosen::Own(own), prototype: None });
        }
        let entry = playpath_cc::find(name).ok_or_else(|| unknown_control(name))?;
        let defaults = entry.params_of(Stack::find(stack).unwrap_or(Stack::Rfc));
        Ok(CcSpec { choice: Chosen::Registered { entry, params: defaults.clone(), defaults }, prototype: None })
    }

    pub fn name(&self) -> &str {
        match &self.choice {
            Chosen::Own(own) => &own.reference,
            Chosen::Registered { .. } if self.prototype.is_some() => "prototype",
            Chosen::Registered { entry, .. } => entry.name,
        }
    }

    /// It wants to know the other subflows of its MPTCP connection.
    pub fn is_coupled(&self) -> bool {
        matches!(&self.choice, Chosen::Registered { entry, .. } if entry.is_coupled)
    }

    /// What it needs of ECN; of the user's own an echo.
    fn ecn_use(&self) -> EcnUse {
        match &self.choice {
            Chosen::Registered { entry, .. } if self.prototype.is_none() => entry.behaviour.ecn,
            _ => EcnUse::Echo,
        }
    }

    /// ECN is on without being asked for.
    pub(crate) fn implies_ecn(&self) -> bool {
        self.ecn_use() != EcnUse::Echo
    }

    pub fn build(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        match (&self.prototype, &self.choice) {
            (Some(make), _) => make(initial_window),
            (None, Chosen::Registered { entry, params, .. }) => (entry.build)(params, initial_window),
            (None, Chosen::Own(own)) => unreachable!("{}: checked by SenderSpec::unresolved_code", own.reference),
        }
    }

    /// In a run its random choices follow from `run`, too, which the run's seed gives to each connection.
    pub fn build_in_run(&self, initial_window: f64, run: u64) -> Box<dyn CongestionControl> {
        match &self.choice {
            Chosen::Registered { entry, params, .. }
                if self.prototype.is_none() && params.iter().any(|(spec, _)| spec.name == SEED) =>
            {
                let mut params = params.clone();
                let seed = (params.number(SEED) + (run % SEEDS) as f64) % SEEDS as f64;
                params.set_number(SEED, seed).expect("it is within its range");
                (entry.build)(&params, initial_window)
            }
            _ => self.build(initial_window),
        }
    }

    /// The user's own, if it is.
    pub(crate) fn own(&self) -> Option<&Own> {
        match &self.choice {
            Chosen::Own(own) => Some(own),
            Chosen::Registered { .. } => None,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.choice {
            Chosen::Registered { entry, params, .. } => params_json("name", entry.name, params),
            Chosen::Own(own) => own.to_json(),
        }
    }

    fn label(&self) -> String {
        match &self.choice {
            Chosen::Registered { entry, params, defaults } => params::label(entry.name, params, defaults),
            Chosen::Own(own) => own.label(),
        }
    }
}

/// What to say of a name that no control has: the nearest one, or where a transport is chosen.
pub(crate) fn unknown_control(name: &str) -> String {
    let is_transport = "is a transport, not a congestion control";
    match name {
        "quic" => {
            format!("\"quic\" {is_transport}: choose it by a sender's `transport` = \"quic\", or --transport quic")
        }
        "tcp" | "mptcp" => format!("\"{name}\" {is_transport}; senders use TCP by default, over several paths MPTCP"),
        _ => unknown("congestion control", name, playpath_cc::entries().iter().map(|e| e.name)),
    }
}

/// A sender: what serves the video. Also the transport of cross traffic.
#[derive(Clone)]
pub struct SenderSpec {
    pub name: String,
    pub cc: CcSpec,
    /// Names of the paths it may use; all if empty.
    pub paths: Vec<String>,
    /// Of MPTCP connections; it has no effect over a single path.
    pub scheduler: SchedulerSpec,
    pub abr: Option<RuleSpec>,
    /// What its connections do when a path breaks.
    pub handover: HandoverSpec,
    /// Most unsent bytes that the video's server leaves in its socket; `None`: as many as it takes.
    pub notsent_lowat: Option<u64>,
    profile: &'static str,
    stated: Stated,
    pub transport: TransportSpec,
}

/// What the document itself says of the sender that some congestion controls cannot do with. A resolved scenario, which writes every
/// default and its profile out, says nothing by that.
#[derive(Clone, Copy, Default)]
struct Stated {
    no_ecn: bool,
    no_pacing: bool,
}

impl Stated {
    /// `table` is the sender's, `keys` where the transport's keys stand.
    fn read(table: &Table, keys: &Table) -> Stated {
        let is_own = !table.has("profile");
        Stated {
            no_ecn: is_own && keys.peek("ecn") == Some(&json!(false)),
            no_pacing: is_own && keys.peek("pacing") == Some(&json!("off")),
        }
    }

    /// Error: the key and why what it says is not allowed with this control.
    fn check(self, cc: &CcSpec) -> Result<(), (&'static str, String)> {
        let name = cc.name();
        if self.no_ecn && cc.implies_ecn() {
            return Err((
                "ecn",
                format!("`ecn` = false is not allowed with `{name}`, which learns of congestion by ECN"),
            ));
        }
        if self.no_pacing && cc.ecn_use() == EcnUse::LowLatency {
            return Err(("pacing", format!("`pacing` = \"off\" is not allowed with `{name}`, which is paced")));
        }
        Ok(())
    }
}

/// `cc` as a table, and what it is by name alone.
const CC: TableSpec = TableSpec::new("cc", "A congestion control with its parameters.", &[]).choosing(Choice {
    tag: "name",
    what: "congestion control",
    noun: "parameter",
    default: "",
    otherwise: "",
    variants: || {
        let variant =
            |e: &&'static Entry| Variant { name: e.name, aliases: e.aliases, summary: e.summary, keys: e.params };
        playpath_cc::entries().iter().map(variant).collect()
    },
});

/// `[[sender]]`; a `[[traffic]]` has the same keys.
pub const SENDER: TableSpec = TableSpec::new(
    "sender",
    "What serves the video: a congestion control and the settings of its transport. Senders are played one after the other, over the same paths.",
    &[
        ParamSpec::new("name", Kind::Text, "Unique label.")
            .otherwise("the control and what differs from its profile; for traffic its kind")
            .example("\"newcwv paced\""),
        ParamSpec::text(
            "cc",
            "cubic",
            Kind::Either(&[Kind::Named(&CC), Kind::Own]),
            "Congestion control, with its parameters (`playpath list cc`). Traffic without one has, in a scenario without a \
             video, that of the sender which is compared.",
        )
        .example("{ name = \"ccplb\", pob_rate = 2 }")
        .in_kernel("the kernel's or ours of that name; one that Linux lacks is refused"),
        ParamSpec::new("paths", Kind::Texts, "Paths that it may use; over several it is MPTCP.")
            .otherwise("all")
            .example("[\"wifi\"]"),
        ParamSpec::text(
            "scheduler",
            "linux",
            Kind::Named(&SCHEDULER),
            "MPTCP scheduler, with its parameters (`playpath list scheduler`); by default that of stock kernels. It has no effect over a single path.",
        )
        .example("\"blest\"")
        .in_kernel("Linux's MPTCP has only its own, which is used for `linux` and `dft`; the wire world has all"),
        ParamSpec::new(
            "abr",
            abr::RULE,
            "Adaptation rule of this sender's viewers (`playpath list abr`), in place of the player's.",
        )
        .otherwise("the player's")
        .example("\"bola\"")
        .since("0.2"),
        ParamSpec::new(
            "notsent_lowat",
            Kind::Size,
            "Maximum of unsent bytes that the video's server keeps in the socket (TCP_NOTSENT_LOWAT). Priorities do not reorder what is already in the socket.",
        )
        .otherwise("as many as `send_buffer` takes")
        .example("\"16 kB\"")
        .in_kernel("over one connection")
        .since("0.2"),
        ParamSpec::text(
            "transport",
            "tcp",
            Kind::Named(&TRANSPORT),
            "Transport, or a table with its keys; they can also be given next to it, without a table.",
        )
        .example("{ name = \"tcp\", sack = false }")
        .since("0.3"),
        HANDOVER[0],
        HANDOVER[1],
    ],
)
.with(&[&KEYS]);

impl SenderSpec {
    /// Reads a `[[sender]]`, or the transport keys of a `[[traffic]]`. `mss` is the scenario's packet size, if it states one.
    pub(crate) fn read(
        table: &Table,
        run_profile: &'static str,
        mss: Option<u32>,
    ) -> Result<SenderSpec, ScenarioError> {
        let (profile, mut transport) = transport::read(table, run_profile, mss)?;
        let cc = CcSpec::read(table, transport.stack().unwrap_or(profile))?;
        let own = table.table("transport");
        let keys = own.as_ref().unwrap_or(table);
        let stated = Stated::read(table, keys);
        stated.check(&cc).map_err(|(key, why)| keys.error(key, why))?;
        if cc.implies_ecn()
            && let TransportSpec::Tcp(config) = &mut transport
        {
            Arc::make_mut(config).ecn = Config::profile(profile).expect("listed profiles exist").ecn; // said by the control
        }
        let transport = transport.with_ecn_use(cc.ecn_use());
        let handover = HandoverSpec::read(table, &transport)?;
        let mut spec = SenderSpec {
            name: table.optional("name").unwrap_or_default(),
            cc,
            paths: table.optional("paths").unwrap_or_default(),
            scheduler: SchedulerSpec::read(table)?,
            abr: RuleSpec::read(table)?,
            handover,
            notsent_lowat: table.optional("notsent_lowat").map(|Bytes(bytes)| bytes),
            profile,
            stated,
            transport,
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

    pub fn uses(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|name| name == path)
    }

    /// How many of so many paths a connection uses at once.
    pub fn paths_at_once(&self, paths: usize) -> usize {
        if self.handover.is_any() { 1 } else { paths }
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
    pub fn unresolved_code(&self) -> Option<&Own> {
        let of_cc = self.cc.own().filter(|_| self.cc.prototype.is_none());
        of_cc.or_else(|| self.abr.as_ref()?.unresolved_code())
    }

    /// A sender named on the command line: a congestion control with defaults.
    pub fn by_cc(name: &str, template: &SenderSpec) -> Result<SenderSpec, String> {
        let stack = template.transport.stack().unwrap_or(template.profile);
        let mut spec = template.with_cc(parse_cc(name, stack)?)?;
        spec.name = spec.label();
        Ok(spec)
    }

    /// The same transport under another congestion control; the label stays. Error: the transport says what the control cannot do with.
    pub(crate) fn with_cc(&self, cc: CcSpec) -> Result<SenderSpec, String> {
        self.stated.check(&cc).map_err(|(_, why)| why)?;
        Ok(SenderSpec { transport: self.transport.with_ecn_use(cc.ecn_use()), cc, ..self.clone() })
    }

    fn base(&self) -> Config {
        Config::profile(self.profile).expect("listed profiles exist")
    }

    /// The congestion control and what differs from its profile.
    fn label(&self) -> String {
        let mut label = self.cc.label();
        if let Some(scheduler) = self.scheduler.label() {
            label += &format!("/{scheduler}");
        }
        if let Some(rule) = &self.abr {
            label += &format!("/{}", rule.label());
        }
        label += &self.handover.label();
        label += &match &self.transport {
            TransportSpec::Tcp(tcp) => transport::label(tcp, &self.base()),
            TransportSpec::Quic(quic) => quic.label(self.cc.implies_ecn()),
            TransportSpec::Declared(declared) => declared.label(),
        };
        label
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut resolved = json!({ "name": self.name, "cc": self.cc.to_json() });
        let map = resolved.as_object_mut().expect("an object");
        match &self.transport {
            TransportSpec::Tcp(tcp) => {
                map.insert("profile".into(), json!(self.profile));
                map.extend(transport::to_json(tcp, &self.base()));
                if self.cc.implies_ecn() {
                    map.insert("ecn".into(), json!(true));
                }
            }
            TransportSpec::Quic(quic) => drop(map.insert("transport".into(), quic.to_json())),
            TransportSpec::Declared(declared) => drop(map.insert("transport".into(), declared.to_json())),
        }
        map.insert("paths".into(), json!(self.paths));
        map.insert("scheduler".into(), self.scheduler.to_json());
        if let Some(rule) = &self.abr {
            resolved["abr"] = rule.to_json();
        }
        self.handover.write(resolved.as_object_mut().expect("an object"));
        if let Some(lowat) = self.notsent_lowat {
            resolved["notsent_lowat"] = json!(Bytes(lowat).to_string());
        }
        resolved
    }
}

/// "ccplb:pob_rate=2", as the command line gives it.
fn parse_cc(text: &str, stack: &str) -> Result<CcSpec, String> {
    let (name, pairs) = params::split(text);
    if playpath_cc::find(name).is_none() && Own::parse(text).is_some() {
        return CcSpec::by_name(text, stack);
    }
    let mut spec = CcSpec::by_name(name, stack)?;
    if let Chosen::Registered { params, .. } = &mut spec.choice {
        params::set_pairs(pairs, params)?;
    }
    Ok(spec)
}
