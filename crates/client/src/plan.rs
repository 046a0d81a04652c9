//! The plan of a run: one file that all programs of the run read.
//!
//! ```json
//! {"scenario": {…, resolved}, "seed": 1, "packet_bytes": 1448, "trace": false, "until_s": 60.0, "start_ns": 123456789,
//!  "video": {"server": "10.77.0.1:8080", "path": "/zeros", "protocol": "tcp"},
//!  "origin": {"server": "10.77.0.1:8081", "protocol": "tcp"},
//!  "collector": {"server": "10.77.0.1:8082", "path": "/cmcd", "protocol": "tcp"},
//!  "sources": [{"server": "10.77.0.1:9000", "client": "10.77.0.2"}]}
//! ```
//! `sources` are those of the cross traffic, in the order in which `describe` prints them. `start_ns` is on the monotonic clock.

use std::net::{IpAddr, SocketAddr};

use playpath_scenario::Scenario;
use playpath_shell::monotonic_nanos;
use playpath_units::Time;
use serde_json::{Value, json};

use crate::clock::Clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Mptcp,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub server: SocketAddr,
    /// Address that datagrams are sent to.
    pub client: Option<IpAddr>,
    pub path: String,
    pub protocol: Protocol,
}

pub struct Plan {
    pub scenario: Scenario,
    /// Root of all random streams.
    pub seed: u64,
    pub packet_bytes: u32,
    /// Keep time series.
    pub trace: bool,
    pub until: Time,
    pub clock: Clock,
    pub video: Option<Place>,
    /// The own origin, if there is one.
    pub origin: Option<Place>,
    /// Address of the collector of the player's reports, if it sends any.
    pub collector: Option<Place>,
    /// Address of the server of each traffic source.
    pub sources: Vec<Place>,
}

#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Scenario(#[from] playpath_scenario::ScenarioError),
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{key}` = \"{value}\": {problem}")]
    Value { key: &'static str, value: String, problem: String },
    #[error("`sources` has {found} entries, the traffic {wanted}")]
    Sources { found: usize, wanted: usize },
}

impl Plan {
    pub fn parse(text: &str) -> Result<Plan, PlanError> {
        let value: Value = serde_json::from_str(text)?;
        let no_files = |name: &str| Err(format!("{name}: a resolved scenario names no files"));
        let scenario = Scenario::parse(&value["scenario"].to_string(), &json!({}), &no_files)?;
        let whole = |name| value[name].as_u64().ok_or(PlanError::Missing(name));
        let place = |name: &str| Some(&value[name]).filter(|v| !v.is_null()).map(read_place).transpose();
        let sources = value["sources"].as_array().map_or(&[][..], Vec::as_slice);
        let packet_bytes = whole("packet_bytes")?;
        Ok(Plan {
            seed: whole("seed")?,
            packet_bytes: packet_bytes.try_into().map_err(|e| wrong("packet_bytes", packet_bytes, e))?,
            trace: value["trace"].as_bool().unwrap_or(false),
            until: value["until_s"].as_f64().map_or(scenario.limit(), Time::from_secs_f64),
            clock: Clock::starting_at(value["start_ns"].as_u64().unwrap_or_else(monotonic_nanos)),
            video: place("video")?,
            origin: place("origin")?,
            collector: place("collector")?,
            sources: sources.iter().map(read_place).collect::<Result<_, _>>()?,
            scenario,
        })
    }
}

fn wrong(key: &'static str, value: impl ToString, problem: impl ToString) -> PlanError {
    PlanError::Value { key, value: value.to_string(), problem: problem.to_string() }
}

fn read_place(value: &Value) -> Result<Place, PlanError> {
    let server = value["server"].as_str().ok_or(PlanError::Missing("server"))?;
    let client = value["client"].as_str().map(|text| text.parse().map_err(|e| wrong("client", text, e)));
    Ok(Place {
        server: server.parse().map_err(|e| wrong("server", server, e))?,
        client: client.transpose()?,
        path: value["path"].as_str().unwrap_or("/zeros").to_string(),
        protocol: if value["protocol"] == "mptcp" { Protocol::Mptcp } else { Protocol::Tcp },
    })
}

#[cfg(test)]
mod tests;
