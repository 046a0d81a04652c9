//! The scenario that every world reads: what is played over which network by which senders. Plain data; parsed from TOML or
//! JSON, every default written out again by [`Scenario::to_json`].

mod check;
mod declarations;
mod direction;
mod document;
mod documents;
mod edit;
mod figures;
mod handover;
mod ideal;
mod live;
mod manifest;
mod origin;
mod own;
mod params;
mod path;
mod player;
mod queue;
mod quic;
mod reader;
mod scheduler;
mod schema;
mod sender;
mod topology;
mod traffic;
mod transport;
pub mod vary;
mod video;
mod viewer;
mod words;

pub use declarations::{DOCUMENTS, check_document, choices, declarations, key as declared_key, schema_of, words};
pub use direction::DirectionSpec;
pub use edit::edit;
pub use handover::{Handover, HandoverSpec};
pub use live::{LiveKind, LiveSource};
pub use origin::OriginSpec;
pub use own::{CodeLoader, Own, RuleSpec};
pub use path::{PathSpec, SharedLinkSpec};
pub use player::PlayerSpec;
pub use quic::QuicSpec;
pub use sender::{Prototype, SenderSpec};
pub use topology::{PathLinks, Topology, access_links};
pub use traffic::{FlowRtt, Source, TrafficKind, TrafficSpec};
pub use transport::TransportSpec;
pub use video::VideoSpec;
pub use viewer::ViewerSpec;

use check::{check, refuse_unread};
use document::Document;
use playpath_transport::mptcp::MAX_PATHS;
use playpath_units::names::unknown;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Kind, ParamSpec, TableSpec};
use playpath_video::abr;
use playpath_video::ideal::IdealLink;
use reader::Table;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is wrong with a scenario: one line with what, where, what is allowed, and the nearest name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScenarioError(String);

impl ScenarioError {
    pub fn new(message: String) -> ScenarioError {
        ScenarioError(message)
    }
}
/// Reads a file that a scenario names; the pure crate does no IO itself. Error: one line.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Duration, number of replications, settings of packets and of the simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSpec {
    pub seeds: u32,
    /// First seed; replication i uses `first_seed + i`.
    pub first_seed: u64,
    /// End of the run; with a video the run ends when it has been played, at the latest here.
    pub duration: Option<Duration>,
    pub sample_interval: Duration,
    /// Stack that the endpoints imitate, one of `Config::PROFILES`.
    pub profile: &'static str,
    /// "packets" or "ideal".
    pub transport: &'static str,
    /// The most events that a run of the simulator may take.
    pub max_events: u64,
    /// Payload of a full packet in bytes; the profile's if absent.
    pub mss: Option<u32>,
}

const DEFAULT_PROFILE: &str = "linux";

/// Some three quarters of an hour of a core.
const MAX_EVENTS: u64 = 10_000_000_000;

#[derive(Clone)]
pub struct Scenario {
    pub name: String,
    pub description: String,
    /// What is played; without it there is cross traffic only.
    pub video: Option<VideoSpec>,
    /// Present if and only if there is a video.
    pub player: Option<PlayerSpec>,
    /// What viewers do, of competing sessions too.
    pub viewer: ViewerSpec,
    /// Links that several paths share.
    pub links: Vec<SharedLinkSpec>,
    /// At least one.
    pub paths: Vec<PathSpec>,
    /// At least one; no two of one name.
    pub senders: Vec<SenderSpec>,
    pub traffic: Vec<TrafficSpec>,
    pub run: RunSpec,
    /// What the verdict puts first, one of `[verdict] prefer`'s words; "range" where the scenario says nothing.
    pub prefer: &'static str,
    /// What is compared besides senders: dotted settings and the values that each takes, for hosts that play every combination.
    pub choices: Vec<(String, Vec<Value>)>,
    /// `transport = "ideal"`: no packets, this instead of the network.
    pub ideal: Option<IdealLink>,
}

impl Scenario {
    /// Parses and checks a scenario. `overrides` is what the command line changes: dotted keys and their values.
    pub fn parse(text: &str, overrides: &Value, read_file: ReadFile) -> Result<Scenario, ScenarioError> {
        let mut document = Document::parse(text)?;
        apply_overrides(&mut document, overrides)?;
        check(&document, &SCENARIO)?;
        let root = Table::root(&document, &SCENARIO);
        let run = read_run(&root);
        let mut video = root
            .table("video")
            .map(|table| VideoSpec::read(&table, player::highest_rung(&root), read_file))
            .transpose()?;
        let player = read_player(&root, video.as_ref())?;
        if !player.as_ref().is_some_and(PlayerSpec::is_live) {
            video.iter_mut().for_each(VideoSpec::warn_if_live);
        }
        let viewer = read_viewer(&root, player.as_ref())?;
        let links = path::read_shared_links(&root, read_file)?;
        let paths = path::read_paths(&root, &links, read_file)?;
        let mut scenario = Scenario {
            name: root.get("name"),
            description: root.optional("description").unwrap_or_default(),
            senders: read_senders(&root, &run, overrides)?,
            traffic: read_traffic(&root, &run, video.is_some())?,
            video,
            player,
            viewer,
            links,
            paths,
            run,
            prefer: root.table("verdict").and_then(|table| table.word("prefer")).unwrap_or(PREFER_RANGE),
            choices: read_choices(&root)?,
            ideal: None,
        };
        refuse_unread(&document, &SCENARIO)?;
        scenario.check_paths(&root)?;
        scenario.check_rules()?;
        scenario.check_traffic()?;
        scenario.require_something_to_run()?;
        scenario.check_preference(&root)?;
        if scenario.run.transport == "ideal" {
            scenario.ideal = Some(ideal::link(&root, &scenario)?);
        }
        Ok(scenario)
    }

    /// The sender called `name`. Error: the nearest name.
    pub fn sender(&self, name: &str) -> Result<&SenderSpec, ScenarioError> {
        let found = self.senders.iter().find(|s| s.name == name);
        found.ok_or_else(|| ScenarioError(unknown("sender", name, self.senders.iter().map(|s| s.name.as_str()))))
    }

    /// The same scenario whose player chooses by a rule from outside the registry. Error: its player does not adapt.
    pub fn with_rule(&self, rule: abr::Prototype) -> Result<Scenario, ScenarioError> {
        let player = self.player.as_ref().ok_or_else(|| ScenarioError::new("an ABR rule needs [video]".into()))?;
        Ok(Scenario { player: Some(player.with_rule(rule)?), ..self.clone() })
    }

    /// The scenario with every default written out. Parses back to the same scenario.
    pub fn to_json(&self) -> Value {
        let run = json!({
            "seeds": self.run.seeds,
            "first_seed": self.run.first_seed,
            "duration": self.run.duration.map(|d| d.to_string()),
            "sample_interval": self.run.sample_interval.to_string(),
            "profile": self.run.profile,
            "transport": self.run.transport,
            "max_events": self.run.max_events,
            "mss": self.run.mss,
        });
        let mut json = json!({
            "name": self.name,
            "description": self.description,
            "video": self.video.as_ref().map(VideoSpec::to_json),
            "player": self.player.as_ref().map(PlayerSpec::to_json),
            "link": self.links.iter().map(SharedLinkSpec::to_json).collect::<Vec<_>>(),
            "path": self.paths.iter().map(PathSpec::to_json).collect::<Vec<_>>(),
            "sender": self.senders.iter().map(SenderSpec::to_json).collect::<Vec<_>>(),
            "traffic": self.traffic.iter().map(TrafficSpec::to_json).collect::<Vec<_>>(),
            "run": run,
        });
        if let Some(origin) = self.player.as_ref().and_then(PlayerSpec::origin) {
            json["origin"] = origin.to_json();
        }
        if let Some(viewer) = self.viewer.to_json() {
            json["viewer"] = viewer;
        }
        if self.prefer != PREFER_RANGE {
            json["verdict"] = json!({ "prefer": self.prefer });
        }
        if !self.choices.is_empty() {
            let entry = |(key, values): &(String, Vec<Value>)| json!({ "key": key, "values": values });
            json["choice"] = self.choices.iter().map(entry).collect();
        }
        json
    }

    /// A quality of experience that no session of this player has cannot come first.
    fn check_preference(&self, root: &Table) -> Result<(), ScenarioError> {
        let player = self.player.as_ref();
        let (has_value, kinds) = match self.prefer {
            "qoe_linear" | "qoe_linear_pensieve" => (player.is_some_and(PlayerSpec::adapts), "\"dash\""),
            "p1203_o35" => (player.is_some_and(PlayerSpec::shows_pictures), "\"dash\" or \"progressive\""),
            _ => return Ok(()),
        };
        if has_value {
            return Ok(());
        }
        let problem = format!("\"{}\" needs `player.kind` = {kinds}", self.prefer);
        Err(root.table("verdict").expect("it was read").error("prefer", problem))
    }

    fn check_paths(&self, root: &Table) -> Result<(), ScenarioError> {
        let plays = self.video.is_some();
        let senders = self.senders.iter().enumerate().map(|(i, sender)| (format!("sender[{i}].paths"), sender, plays));
        let traffic = self.traffic.iter().enumerate().map(|(i, t)| (format!("traffic[{i}].paths"), &t.sender, true));
        for (key, sender, plays) in senders.chain(traffic) {
            if let Some(name) = sender.paths.iter().find(|name| !self.paths.iter().any(|p| p.name == **name)) {
                let names = self.paths.iter().map(|p| p.name.as_str());
                return Err(root.error(&key, unknown("path", name, names)));
            }
            let used = if sender.paths.is_empty() { self.paths.len() } else { sender.paths.len() };
            if plays && used > MAX_PATHS {
                let problem = format!("{used} paths are more than one connection can use; allowed: up to {MAX_PATHS}");
                return Err(root.error(&key, problem));
            }
            if plays
                && used > 1
                && let TransportSpec::Declared(declared) = &sender.transport
            {
                let name = declared.name();
                let problem = format!("{name} uses one path: name one, or use TCP (MPTCP over several) or QUIC");
                return Err(root.error(&key, problem));
            }
            let is_rebound = |path: &&PathSpec| path.rebinding.is_some() && sender.uses(&path.name);
            if plays
                && used > 1
                && sender.transport.tcp().is_some()
                && !sender.handover.is_any()
                && self.paths.iter().any(|path| is_rebound(&path))
            {
                let problem = "MPTCP over a path with `rebinding` is not played yet; name one path, or use QUIC";
                return Err(root.error(&key, problem));
            }
            let breaks = |path: &&PathSpec| path.outage.is_some() && sender.uses(&path.name);
            let problem = match sender.handover.is_any() {
                true if used < 2 => "needs two paths or more: there is nowhere to go",
                true if !self.paths.iter().any(|path| breaks(&path)) => {
                    "never happens: no path of this sender has an `outage`; no outage, no handover"
                }
                _ => continue,
            };
            return Err(root.error(&key.replace("paths", "handover"), problem));
        }
        Ok(())
    }

    /// What a sender changes of its viewers' players must go with the rest of the player.
    fn check_rules(&self) -> Result<(), ScenarioError> {
        for sender in self.senders.iter().chain(self.traffic.iter().map(|t| &t.sender)) {
            let has_streams = sender.transport.has_streams();
            let (Some(player), Some(video)) = (&self.player, &self.video) else {
                match sender.abr {
                    Some(_) => return Err(ScenarioError(format!("sender \"{}\": `abr` needs [video]", sender.name))),
                    None => continue,
                }
            };
            if sender.abr.is_some() || has_streams {
                let over =
                    if has_streams { format!("sender \"{}\" speaks HTTP/3: ", sender.name) } else { String::new() };
                let player = player.of(sender)?.build(video, sender.transport.packet_bytes(), RootSeed(0));
                player.map_err(|wrong| ScenarioError(over + &wrong))?;
            }
        }
        Ok(())
    }

    /// Traffic that follows the sender can have its congestion control.
    fn check_traffic(&self) -> Result<(), ScenarioError> {
        for (i, group) in self.traffic.iter().enumerate() {
            let resolved = self.senders.iter().try_for_each(|sender| group.resolved_sender(sender).map(drop));
            resolved.map_err(|why| ScenarioError(format!("traffic[{i}]: {why}")))?;
        }
        Ok(())
    }

    fn require_something_to_run(&self) -> Result<(), ScenarioError> {
        if self.video.is_none() && self.traffic.is_empty() {
            return Err(ScenarioError("nothing to run: the scenario has neither [video] nor [[traffic]]".into()));
        }
        let senders_differ = self.video.is_some() || self.traffic.iter().any(|group| group.follows);
        if self.senders.len() > 1 && !senders_differ {
            return Err(ScenarioError(
                "the senders have nothing to send: there is no [video], and every [[traffic]] has a `cc` of its own; leave `cc` out \
                 where the sender's is meant"
                    .into(),
            ));
        }
        Ok(())
    }
}

const RUN: TableSpec = TableSpec::new(
    "run",
    "Duration, number of replications, settings of packets and of the simulator.",
    &[
        ParamSpec::whole(
            "seeds",
            10,
            (1, 1_000_000),
            "",
            "Replications; each has its own random draws. Without it `compare` adds seeds until it is decided.",
        )
        .example("44"),
        ParamSpec::whole(
            "first_seed",
            1,
            (0, u64::MAX),
            "",
            "Seed of the first replication; the others count up from it. Python's tables hold seeds up to 2^63 - 1.",
        ),
        ParamSpec::new(
            "duration",
            Kind::PositiveTime,
            "End of the run. With a video the run ends when the video has been played, and no later than this.",
        )
        .otherwise("four times the video's length and a minute; a minute without a video")
        .example("\"60 s\""),
        ParamSpec::text("sample_interval", "100 ms", Kind::PositiveTime, "Interval of the time series of `--trace`."),
        transport::PROFILE.by_default(DEFAULT_PROFILE),
        ParamSpec::text(
            "transport",
            "packets",
            Kind::Described(&[
                ("packets", "TCP over links, packet by packet"),
                (
                    "ideal",
                    "no packets: the only path's rate or trace and its round trip, to compare adaptation rules alone",
                ),
            ]),
            "What carries the video.",
        )
        .in_kernel("always packets"),
        ParamSpec::whole(
            "max_events",
            MAX_EVENTS,
            (1, u64::MAX),
            "",
            "The most events that a run of the simulator may take; one that takes more fails.",
        )
        .example("1_000_000")
        .in_kernel("no effect")
        .since("0.2"),
        transport::MSS,
    ],
);

const PREFER_RANGE: &str = "range";

const VERDICT: TableSpec = TableSpec::new(
    "verdict",
    "How senders are ranked.",
    &[ParamSpec::text(
        "prefer",
        PREFER_RANGE,
        Kind::Described(&[
            (PREFER_RANGE, "what every viewer would say whose weights lie in the range of the literature"),
            ("stalls", "as little stall time as possible, whatever the picture"),
            ("picture", "the best picture, whatever it stalls"),
            ("start", "the shortest start-up delay"),
            ("qoe_linear", "the quality of experience of Yin et al."),
            ("qoe_linear_pensieve", "that of Pensieve"),
            ("p1203_o35", "ITU-T P.1203's score of picture and stalls"),
        ]),
        "What the ranking puts first.",
    )
    .example("\"stalls\"")
    .since("0.3")],
);

const CHOICE: TableSpec = TableSpec::new(
    "choice",
    "A setting that is compared in addition to senders, as with `--vary`: its values are combined with those of the other choices, for every sender.",
    &[
        ParamSpec::new("key", Kind::Text, "The setting, as `--set` takes it.")
            .needed()
            .example("\"path.queue\"")
            .since("0.3"),
        ParamSpec::new(
            "values",
            Kind::List(&Kind::Any("a value of the setting"), 2, usize::MAX),
            "Its values, two or more; the others are compared with the first.",
        )
        .needed()
        .example("[\"droptail\", \"fq_codel\"]")
        .since("0.3"),
    ],
);

const SCENARIO: TableSpec = TableSpec::new(
    "scenario",
    "What is played over which network by which senders.",
    &[
        ParamSpec::text("name", "scenario", Kind::Text, "Label in reports.")
            .otherwise("the file's name")
            .example("\"evening DSL\""),
        ParamSpec::new("description", Kind::Text, "A sentence for the reader of a report.")
            .example("\"who plays on?\""),
        ParamSpec::new("video", Kind::Table(&video::VIDEO), video::VIDEO.doc),
        ParamSpec::new("player", Kind::Table(&player::PLAYER), player::PLAYER.doc),
        ParamSpec::new("viewer", Kind::Table(&viewer::VIEWER), viewer::VIEWER.doc).since("0.2"),
        ParamSpec::new("origin", Kind::Table(&origin::ORIGIN), origin::ORIGIN.doc).since("0.2"),
        ParamSpec::new("link", Kind::Tables(&path::LINK), path::LINK.doc),
        ParamSpec::new("path", Kind::Tables(&path::PATH), path::PATH.doc),
        ParamSpec::new("sender", Kind::Tables(&sender::SENDER), sender::SENDER.doc),
        ParamSpec::new("traffic", Kind::Tables(&traffic::TRAFFIC), traffic::TRAFFIC.doc),
        ParamSpec::new("run", Kind::Table(&RUN), RUN.doc),
        ParamSpec::new("verdict", Kind::Table(&VERDICT), VERDICT.doc).since("0.3"),
        ParamSpec::new("choice", Kind::Tables(&CHOICE), CHOICE.doc).since("0.3"),
    ],
);

fn read_choices(root: &Table) -> Result<Vec<(String, Vec<Value>)>, ScenarioError> {
    let mut found: Vec<(String, Vec<Value>)> = Vec::new();
    for table in root.tables("choice") {
        let key: String = table.get("key");
        if found.iter().any(|(other, _)| *other == key) {
            return Err(table.error("key", format!("\"{key}\" has two [[choice]]; write its values as one list")));
        }
        found.push((key, table.value("values").and_then(Value::as_array).cloned().unwrap_or_default()));
    }
    Ok(found)
}

fn read_run(root: &Table) -> RunSpec {
    let empty = Document::default();
    let table = root.table("run").unwrap_or_else(|| Table::root(&empty, &RUN));
    RunSpec {
        seeds: table.get("seeds"),
        first_seed: table.get("first_seed"),
        duration: table.optional("duration"),
        sample_interval: table.get("sample_interval"),
        profile: table.word("profile").expect("has a default"),
        transport: table.word("transport").expect("has a default"),
        max_events: table.get("max_events"),
        mss: table.optional("mss"),
    }
}

fn read_player(root: &Table, video: Option<&VideoSpec>) -> Result<Option<PlayerSpec>, ScenarioError> {
    match video {
        Some(video) => PlayerSpec::read(root, video).map(Some),
        None if root.has("player") => Err(root.error("player", "needs [video]")),
        None if root.has("origin") => Err(root.error("origin", "needs [video]")),
        None => Ok(None),
    }
}

fn read_viewer(root: &Table, player: Option<&PlayerSpec>) -> Result<ViewerSpec, ScenarioError> {
    match player {
        Some(player) => ViewerSpec::read(root, player.can_seek()),
        None if root.has("viewer") => Err(root.error("viewer", "needs [video]")),
        None => Ok(ViewerSpec::default()),
    }
}

fn read_senders(root: &Table, run: &RunSpec, overrides: &Value) -> Result<Vec<SenderSpec>, ScenarioError> {
    let mut senders = Vec::new();
    for table in root.tables("sender") {
        senders.push(SenderSpec::read(&table, run.profile, run.mss)?);
    }
    if let Some(names) = overrides.get("cc").and_then(Value::as_array) {
        let template = match senders.first() {
            Some(first) => first.clone(),
            None => default_sender(run)?,
        };
        let by_name = |name: &Value| SenderSpec::by_cc(name.as_str().unwrap_or_default(), &template);
        senders =
            names.iter().map(by_name).collect::<Result<_, _>>().map_err(|e| ScenarioError(format!("--cc: {e}")))?;
    }
    if senders.is_empty() {
        senders.push(default_sender(run)?);
    }
    for added in overrides.get("controllers").and_then(Value::as_array).into_iter().flatten() {
        senders.push(added_sender(added, &senders[0])?);
    }
    if let Some(names) = overrides.get("scheduler").and_then(Value::as_array) {
        let failed = |e| ScenarioError(format!("--scheduler: {e}"));
        let names = || names.iter().filter_map(Value::as_str);
        let grid = senders.iter().flat_map(|sender| names().map(|name| sender.with_scheduler(name)));
        senders = grid.collect::<Result<_, _>>().map_err(failed)?;
    }
    if let Some(rules) = overrides.get("abr").and_then(Value::as_array) {
        let grid = senders.iter().flat_map(|sender| rules.iter().map(|rule| of_rule(sender, rule)));
        senders = grid.collect::<Result<_, _>>()?;
    }
    let mut taken = BTreeSet::new();
    for (i, sender) in senders.iter().enumerate() {
        if !taken.insert(&sender.name) {
            for option in ["cc", "scheduler", "abr"] {
                if let Some(name) = repeated(&overrides[option]) {
                    return Err(ScenarioError(format!("--{option}: {name} stands twice")));
                }
            }
            let message = format!("two senders are called \"{}\"; give them a `name` each", sender.name);
            return Err(root.error(&format!("sender[{i}]"), message));
        }
    }
    Ok(senders)
}

/// What stands twice in a list of names.
fn repeated(names: &Value) -> Option<&Value> {
    let names = names.as_array()?;
    names.iter().enumerate().find_map(|(i, name)| names[..i].contains(name).then_some(name))
}

/// `{"name": "mine", "cc": "module:Mine"}`: a sender that plays beside the others, with the transport of the first.
fn added_sender(added: &Value, template: &SenderSpec) -> Result<SenderSpec, ScenarioError> {
    let (name, cc) = (added["name"].as_str().unwrap_or_default(), added["cc"].as_str().unwrap_or_default());
    let mut sender =
        SenderSpec::by_cc(cc, template).map_err(|e| ScenarioError(format!("controllers, \"{name}\": {e}")))?;
    sender.name = name.into();
    Ok(sender)
}

/// The sender with a rule: `"bola"`, `{"name": "mine", "abr": "module:Mine"}`, or null for the player's own.
fn of_rule(sender: &SenderSpec, rule: &Value) -> Result<SenderSpec, ScenarioError> {
    let made = match rule {
        Value::Null => Ok(sender.clone()),
        Value::String(text) => sender.with_abr(text, None),
        named => sender.with_abr(named["abr"].as_str().unwrap_or_default(), named["name"].as_str()),
    };
    made.map_err(|e| ScenarioError(format!("--abr: {e}")))
}

fn default_sender(run: &RunSpec) -> Result<SenderSpec, ScenarioError> {
    let document = Document::default();
    SenderSpec::read(&Table::root(&document, &sender::SENDER), run.profile, run.mss)
}

/// Datagrams have no connection: what is said of one is refused.
fn refuse_connection(table: &Table, sender: &SenderSpec, run: &RunSpec) -> Result<(), ScenarioError> {
    match idle_key(table, sender, run, &["name", "paths"])? {
        Some(key) => Err(table.error(key, "has no effect on \"udp\", which has no connection; leave it out")),
        None => Ok(()),
    }
}

/// A key of a sender that `table` states, other than those of use where there is no connection. The defaults, which a resolved scenario writes
/// out, are none.
fn idle_key(
    table: &Table,
    sender: &SenderSpec,
    run: &RunSpec,
    of_use: &[&str],
) -> Result<Option<&'static str>, ScenarioError> {
    let (given, plain) = (sender.to_json(), default_sender(run)?.to_json());
    let is_idle = |key: &&ParamSpec| !of_use.contains(&key.name) && given.get(key.name) != plain.get(key.name);
    let idle = sender::SENDER.all_keys().into_iter().filter(is_idle).find(|key| table.has(key.name));
    Ok(idle.map(|key| key.name))
}

/// Every source has a name of its own, since its random stream and its time series are named after it. The main session is "video". A
/// group without a name is called after its kind, with a number where that is taken.
fn read_traffic(root: &Table, run: &RunSpec, has_video: bool) -> Result<Vec<TrafficSpec>, ScenarioError> {
    let mut taken: BTreeSet<String> = has_video.then(|| "video".to_string()).into_iter().collect();
    let mut groups = Vec::new();
    // Below these numbers every name of a kind is taken.
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for table in root.tables("traffic") {
        let mut group = TrafficSpec::read(&table, run.profile, run.mss, has_video)?;
        if let TrafficKind::Udp { .. } = group.kind {
            refuse_connection(&table, &group.sender, run)?;
        }
        if !table.has("name") {
            let kind = group.sender.name.clone();
            let from = next.entry(kind.clone()).or_insert(2);
            while taken.contains(&format!("{kind} {from}")) {
                *from += 1;
            }
            let numbered = (*from..).map(|number| format!("{kind} {number}"));
            let mut names = std::iter::once(kind.clone()).chain(numbered);
            let is_free =
                |label: &String| !taken.contains(label) && !group.names_as(label).any(|name| taken.contains(&name));
            group.sender.name = names.find(is_free).expect("numbers do not end");
        }
        let label = group.sender.name.clone();
        let names: Vec<String> = group.names_as(&label).chain([label.clone()]).collect();
        for name in &names {
            if taken.contains(name) {
                let message = format!("a second source is called \"{name}\"; give each group its own `name`");
                return Err(table.error("name", message));
            }
        }
        taken.extend(names);
        groups.push(group);
    }
    Ok(groups)
}

/// What the command line changes: `{"cc": ["cubic", "ccplb:pob_rate=2"], "seeds": 5, "set": {"player.buffer": "2 s", "path.0.loss": "1 %"}}`.
/// They are written into the document before it is checked, so that a wrong key or value is reported like one in the file, with the
/// option in place of the line.
fn apply_overrides(document: &mut Document, overrides: &Value) -> Result<(), ScenarioError> {
    let seeds = overrides.get("seeds").filter(|v| !v.is_null());
    let changes = overrides.get("set").and_then(Value::as_object).into_iter().flatten();
    let seeds = seeds.map(|value| ("run.seeds", value, "--seeds".to_string()));
    let all = seeds.into_iter().chain(changes.map(|(key, value)| (key.as_str(), value, format!("--set {key}"))));
    for (key, value, option) in all {
        for at in set(&mut document.root, key, value)? {
            refuse_undone(&document.options, overrides, &at, &option)?;
            document.options.insert(at, option.clone());
        }
    }
    for kind in ["sender", "traffic"] {
        let tables = document.root.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten();
        for (place, table) in tables.enumerate().filter_map(|(place, table)| Some((place, table.as_object_mut()?))) {
            let is_chosen = |key: &str| document.options.contains_key(&format!("{kind}[{place}].{key}"));
            if is_chosen("transport") {
                transport::leave_tcp(table, is_chosen);
            }
        }
    }
    Ok(())
}

/// Refuses a setting that undoes an earlier one, of a key within `at`, or that `--cc` and the like undo.
fn refuse_undone(
    options: &BTreeMap<String, String>,
    overrides: &Value,
    at: &str,
    option: &str,
) -> Result<(), ScenarioError> {
    let of_sender = at.strip_prefix("sender[").and_then(|rest| rest.split(['.', '[']).nth(1));
    if let Some(key) = of_sender.filter(|key| ["cc", "scheduler", "abr"].contains(key) && overrides.get(key).is_some())
    {
        return Err(ScenarioError(format!(
            "{option}: --{key} gives the senders another `{key}`; give only one of them"
        )));
    }
    // Of a queue that is named by its kind alone the limit stays.
    let is_undone = |key: &str| key != "limit" || !at.ends_with("queue");
    let undone = options
        .iter()
        .find(|(key, _)| key.strip_prefix(at).and_then(|key| key.strip_prefix('.')).is_some_and(is_undone));
    match undone {
        Some((_, earlier)) => Err(ScenarioError(format!("{option}: undoes {earlier}; give it before"))),
        None => Ok(()),
    }
}

/// Writes `value`; its places as errors name them: `path[0].loss` for `path.wifi.loss`, and for `path.loss` that of every path.
fn set(root: &mut Map<String, Value>, path: &str, value: &Value) -> Result<Vec<String>, ScenarioError> {
    let parts: Vec<&str> = path.split('.').collect();
    let mut places = Vec::new();
    put(root, &parts, value, "", &mut places).map_err(|problem| ScenarioError(format!("--set {path}: {problem}")))?;
    Ok(places)
}

/// Writes `value` below `at`. Errors: the part that is not there, or has no parts itself.
fn put(
    table: &mut Map<String, Value>,
    parts: &[&str],
    value: &Value,
    at: &str,
    places: &mut Vec<String>,
) -> Result<(), String> {
    let (&part, mut rest) = parts.split_first().expect("a key has a part");
    let at = format!("{at}{part}");
    if rest.is_empty() {
        let is_up = at.ends_with("up.queue");
        let value = if part == "queue" { queue::replacing(table.get(part), value, is_up) } else { value.clone() };
        table.insert(part.to_string(), value);
        places.push(at);
        return Ok(());
    }
    let entry = table.entry(part).or_insert_with(|| Value::Object(Map::new()));
    if CHOSEN_BY_NAME.contains(&part) && entry.is_string() {
        *entry = json!({ "name": entry.take() });
    }
    if part == "queue" && entry.is_string() {
        let key = if queue::is_limit(entry.as_str().unwrap_or_default()) { "limit" } else { "kind" };
        *entry = json!({ key: entry.take() });
    }
    let Value::Array(items) = entry else {
        return match entry {
            Value::Object(inner) => put(inner, rest, value, &format!("{at}."), places),
            plain => Err(format!("`{part}` is {plain}, a value without keys")),
        };
    };
    let missing = |part: &str| format!("there is no `{part}` in the scenario");
    if items.is_empty() {
        return Err(missing(part));
    }
    let mut chosen = 0..items.len();
    if rest.len() > 1 && is_choice(items, rest[0]) {
        let number = choose(items, rest[0]).ok_or_else(|| missing(&format!("{part}.{}", rest[0])))?;
        (chosen, rest) = (number..number + 1, &rest[1..]);
    }
    for number in chosen {
        let inner = items[number].as_object_mut().ok_or_else(|| missing(part))?;
        put(inner, rest, value, &format!("{at}[{number}]."), places)?;
    }
    Ok(())
}

/// Components that a word names, which may be a table that has it as `name`.
const CHOSEN_BY_NAME: [&str; 4] = ["cc", "scheduler", "abr", "transport"];

/// A number, or the name of one of the tables.
fn is_choice(items: &[Value], part: &str) -> bool {
    part.parse::<usize>().is_ok() || items.iter().any(|item| item["name"] == part)
}

/// The number of one of a list of tables, by number from 0 or by name.
fn choose(items: &[Value], chosen: &str) -> Option<usize> {
    let named = items.iter().position(|item| item["name"] == chosen);
    named.or_else(|| chosen.parse().ok()).filter(|number| *number < items.len())
}
