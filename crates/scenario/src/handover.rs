//! What a sender's connections do when the path in use breaks, `[[sender]] handover`: without it they use all their paths at once.

use crate::ScenarioError;
use crate::reader::Table;
use crate::transport::TransportSpec;
use crate::words::{Words, described, meaning, word_of};
use playpath_units::{Duration, Kind, ParamSpec};
use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Not: it uses all its paths at once.
    None,
    /// The client goes on from the next path's address, in the same connection (RFC 9000 §9).
    Migrate,
    /// The client opens a new connection over the next path and asks for what is missing.
    Reconnect,
}

const WORDS: Words<Handover, 3> = [
    ("none", "all its paths are used at once, by MPTCP or multipath QUIC", Handover::None),
    ("migrate", "one path at a time; the connection continues over the next one (QUIC)", Handover::Migrate),
    ("reconnect", "one path at a time; a new connection over the next one requests the rest", Handover::Reconnect),
];

pub const HANDOVER: [ParamSpec; 2] = [
    ParamSpec::text(
        "handover",
        "none",
        Kind::Described(&described(&WORDS)),
        "What the connections of a video, and of no other traffic, do when the path in use has an outage. They begin on the first of `paths`.",
    )
    .example("\"reconnect\"")
    .in_kernel("refused")
    .since("0.3"),
    ParamSpec::text(
        "handover_after",
        "1 s",
        Kind::Time,
        "Time from the beginning of an outage until the client's system notices it, if it still lasts: with `handover` the client then takes the next path that works; without it, new connections over several paths begin on that path.",
    )
    .in_kernel("refused")
    .since("0.3"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandoverSpec {
    pub how: Handover,
    /// How long after the outage began.
    pub after: Duration,
}

impl HandoverSpec {
    pub(crate) fn read(table: &Table, transport: &TransportSpec) -> Result<HandoverSpec, ScenarioError> {
        let how = meaning(&WORDS, table.word(HANDOVER[0].name)).expect("has a default");
        if how == Handover::Migrate && !matches!(transport, TransportSpec::Quic(_)) {
            let spoken = transport.other_than_tcp().unwrap_or("TCP");
            let why =
                format!("{spoken} cannot migrate; allowed: none, reconnect; with `transport` = \"quic\" also migrate");
            return Err(table.error(HANDOVER[0].name, why));
        }
        Ok(HandoverSpec { how, after: table.get(HANDOVER[1].name) })
    }

    pub fn is_any(&self) -> bool {
        self.how != Handover::None
    }

    pub(crate) fn label(&self) -> String {
        if self.is_any() { format!("/{}", word_of(&WORDS, self.how)) } else { String::new() }
    }

    /// Written only where it is on, or not the default.
    pub(crate) fn write(&self, map: &mut Map<String, Value>) {
        if self.is_any() {
            map.insert(HANDOVER[0].name.into(), json!(word_of(&WORDS, self.how)));
        }
        if self.is_any() || self.after != Duration::from_secs(1) {
            map.insert(HANDOVER[1].name.into(), json!(self.after.to_string()));
        }
    }
}
