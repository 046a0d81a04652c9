//! Paths and shared links: `[[path]]`, `[[link]]`.
//!
//! A path has two directions. `down` carries the video from the server to the client; the keys of a `[[path]]` describe it.
//! `up` carries acknowledgements and requests: by default the same rate (none under a trace), no random loss, a tail-drop
//! queue of 1000 packets; the sub-table `up` changes that. The base RTT is split evenly between the directions.

use crate::direction::{DIRECTION, DirectionSpec, UP};
use crate::reader::Table;
use crate::{ReadFile, ScenarioError};
use playpath_link::{Outage, Rebinding};
use playpath_units::names::unknown;
use playpath_units::{Duration, Kind, ParamSpec, TableSpec, Time};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const UP_KEY: ParamSpec = ParamSpec::new("up", Kind::Table(&UP), UP.doc);

pub const LINK: TableSpec = TableSpec::new(
    "link",
    "A link that several paths share, named in their `via`. Its keys describe the direction to the client.",
    &[
        ParamSpec::new("name", Kind::Text, "What `via` calls it; unique.")
            .otherwise("link1, link2, …")
            .example("\"core\""),
        ParamSpec::text("rtt", "0 s", Kind::Time, "Round-trip time that the link adds, half of it in each direction.")
            .example("\"10 ms\""),
        UP_KEY,
    ],
)
.with(&[&DIRECTION]);

pub const PATH: TableSpec = TableSpec::new(
    "path",
    "A path between server and client; at least one. Its keys describe the direction to the client, `up` the reverse direction.",
    &[
        ParamSpec::new("name", Kind::Text, "What reports and `paths` call it; unique.")
            .otherwise("path1, path2, …")
            .example("\"wifi\""),
        ParamSpec::new(
            "rtt",
            Kind::Time,
            "Base round-trip time, without queueing and without shared links; half of it in each direction.",
        )
        .needed()
        .example("\"50 ms\""),
        ParamSpec::new(
            "via",
            Kind::Texts,
            "Shared links between the server and the path's own link, from the server on.",
        )
        .otherwise("none")
        .example("[\"core\"]"),
        ParamSpec::new(
            "backup",
            Kind::Flag,
            "Connections over several paths use it only while no other works (MP_PRIO of MPTCP, PATH_STATUS_BACKUP of QUIC).",
        )
        .otherwise("false")
        .example("true")
        .in_kernel("refused")
        .since("0.3"),
        ParamSpec::new("rebinding", Kind::Table(&REBINDING), REBINDING.doc)
            .otherwise("none")
            .example("{ at = \"20 s\" }")
            .in_kernel("refused")
            .since("0.3"),
        ParamSpec::new("outage", Kind::Table(&OUTAGE), OUTAGE.doc).example("{ from = \"20 s\", until = \"30 s\" }"),
        UP_KEY,
    ],
)
.with(&[&DIRECTION]);

const OUTAGE: TableSpec = TableSpec::new(
    "path.outage",
    "A period in which the path's own link loses everything, in both directions.",
    &[
        ParamSpec::new("from", Kind::Time, "Since the start of the run.").needed().example("\"20 s\""),
        ParamSpec::new("until", Kind::Time, "End of the outage, since the start of the run; later than `from`.")
            .otherwise("for good")
            .example("\"30 s\""),
        ParamSpec::text(
            "spread",
            "0 s",
            Kind::Time,
            "Start and end are delayed by up to this much, drawn from the seed; at a fixed time every seed meets the outage in the same phase of its timers.",
        )
        .example("\"5 s\"")
        .since("0.3"),
    ],
);

const REBINDING: TableSpec = TableSpec::new(
    "path.rebinding",
    "A NAT on the path gives the client another port: packets for the previous port are lost, and a TCP server resets the connection.",
    &[
        ParamSpec::new("at", Kind::Time, "Since the start of the run.").needed().example("\"20 s\"").since("0.3"),
        ParamSpec::new("every", Kind::PositiveTime, "Interval at which it happens again.")
            .otherwise("once")
            .example("\"30 s\"")
            .since("0.3"),
        ParamSpec::text(
            "spread",
            "0 s",
            Kind::Time,
            "The first one is delayed by up to this much, drawn from the seed.",
        )
        .example("\"5 s\"")
        .since("0.3"),
    ],
);

#[derive(Clone)]
pub struct SharedLinkSpec {
    /// Unique among its kind.
    pub name: String,
    pub down: DirectionSpec,
    pub up: DirectionSpec,
}

impl SharedLinkSpec {
    /// Both directions' delay.
    pub fn rtt(&self) -> Duration {
        self.down.link.one_way_delay + self.up.link.one_way_delay
    }
}

#[derive(Clone)]
pub struct PathSpec {
    /// Unique among its kind.
    pub name: String,
    /// Base RTT of the path's own link, without queueing and without the shared links.
    pub rtt: Duration,
    pub down: DirectionSpec,
    pub up: DirectionSpec,
    /// Shared links between the server and this path's own link, from the server on.
    pub via: Vec<String>,
    /// To be used only while no other works.
    pub is_backup: bool,
    /// Of the path's own link, in both directions.
    pub outage: Option<Outage>,
    /// Of the NAT on it, towards the server.
    pub rebinding: Option<Rebinding>,
}

pub fn read_shared_links(root: &Table, read_file: ReadFile) -> Result<Vec<SharedLinkSpec>, ScenarioError> {
    let mut links: Vec<SharedLinkSpec> = Vec::new();
    for (i, table) in root.tables("link").iter().enumerate() {
        let name = table.text("name").map_or_else(|| format!("link{}", i + 1), String::from);
        if links.iter().any(|l| l.name == name) {
            return Err(table.error("name", format!("a second link is called \"{name}\"")));
        }
        let (down, up) = read_directions(table, read_file)?;
        links.push(SharedLinkSpec { name, down, up });
    }
    Ok(links)
}

pub fn read_paths(root: &Table, links: &[SharedLinkSpec], read_file: ReadFile) -> Result<Vec<PathSpec>, ScenarioError> {
    let mut paths: Vec<PathSpec> = Vec::new();
    let mut taken = BTreeSet::new();
    for (i, table) in root.tables("path").iter().enumerate() {
        let name = table.text("name").map_or_else(|| format!("path{}", i + 1), String::from);
        if !taken.insert(name.clone()) {
            return Err(table.error("name", format!("a second path is called \"{name}\"")));
        }
        let via = table.optional::<Vec<String>>("via").unwrap_or_default();
        for link in &via {
            if !links.iter().any(|l| l.name == *link) {
                return Err(table.error("via", unknown("link", link, links.iter().map(|l| l.name.as_str()))));
            }
        }
        let (down, up) = read_directions(table, read_file)?;
        let (rtt, outage, rebinding) = (table.get("rtt"), read_outage(table)?, read_rebinding(table));
        paths.push(PathSpec {
            name,
            rtt,
            down,
            up,
            via,
            is_backup: table.optional("backup").unwrap_or_default(),
            outage,
            rebinding,
        });
    }
    if paths.is_empty() {
        return Err(ScenarioError::new("the scenario has no [[path]]; give at least its `rate` and `rtt`".into()));
    }
    Ok(paths)
}

/// `outage = { from = "20 s", until = "30 s", spread = "5 s" }`, both since the start; without `until` for good.
fn read_outage(table: &Table) -> Result<Option<Outage>, ScenarioError> {
    let Some(own) = table.table("outage") else { return Ok(None) };
    let from: Duration = own.get("from");
    let until: Option<Duration> = own.optional("until");
    if until.is_some_and(|until| until <= from) {
        return Err(own.error("until", "must be later than `from`"));
    }
    let until = until.map_or(Time::MAX, |until| Time::ZERO + until);
    Ok(Some(Outage { from: Time::ZERO + from, until, spread: own.get("spread") }))
}

/// `rebinding = { at = "20 s", every = "30 s", spread = "5 s" }`.
fn read_rebinding(table: &Table) -> Option<Rebinding> {
    let own = table.table("rebinding")?;
    let at: Duration = own.get("at");
    Some(Rebinding { at: Time::ZERO + at, every: own.optional("every"), spread: own.get("spread"), is_outbound: true })
}

fn read_directions(table: &Table, read_file: ReadFile) -> Result<(DirectionSpec, DirectionSpec), ScenarioError> {
    let rtt: Duration = table.get("rtt");
    let down = DirectionSpec::read(table, rtt / 2, read_file)?;
    let up = match table.table("up") {
        Some(own) => DirectionSpec::read_up(&own, rtt - rtt / 2, &down, read_file)?,
        None => DirectionSpec::default_up(&down, rtt - rtt / 2),
    };
    Ok((down, up))
}

impl SharedLinkSpec {
    pub(crate) fn to_json(&self) -> Value {
        let mut json = self.down.to_json();
        json["name"] = json!(self.name);
        json["rtt"] = json!(self.rtt().to_string());
        json["up"] = self.up.to_json();
        json
    }
}

impl PathSpec {
    pub(crate) fn to_json(&self) -> Value {
        let mut json = self.down.to_json();
        json["name"] = json!(self.name);
        json["rtt"] = json!(self.rtt.to_string());
        json["up"] = self.up.to_json();
        json["via"] = json!(self.via);
        if self.is_backup {
            json["backup"] = json!(true);
        }
        if let Some(Outage { from, until, spread }) = self.outage {
            let until = (until < Time::MAX).then(|| (until - Time::ZERO).to_string());
            let from = (from - Time::ZERO).to_string();
            json["outage"] = json!({ "from": from, "until": until, "spread": spread.to_string() });
        }
        if let Some(Rebinding { at, every, spread, .. }) = self.rebinding {
            let (at, every) = ((at - Time::ZERO).to_string(), every.map(|every| every.to_string()));
            json["rebinding"] = json!({ "at": at, "every": every, "spread": spread.to_string() });
        }
        json
    }
}
