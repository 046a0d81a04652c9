//! The configuration: a resolved scenario, the locations of its paths' ends, and run options. See the README for the format.

use crate::error::{ConfigError, EndsError};
use playpath_link::LinkConfig;
use playpath_scenario::{PathLinks, Scenario, Topology, access_links};
use playpath_units::Duration;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::net::Ipv4Addr;

#[derive(Debug)]
pub struct Config {
    pub settings: Settings,
    /// All links, shared ones and the paths' own, then the flows' own.
    pub links: Vec<LinkConfig>,
    /// All ways between two ends.
    pub routes: Vec<RouteSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Value,
    ends: Vec<Ends>,
    #[serde(default)]
    run: Settings,
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Root of all random streams.
    pub seed: u64,
    /// Ask for a real-time class.
    pub realtime: bool,
    /// File for the packets at the server's ends, as pcapng.
    pub capture: Option<String>,
    /// Interval of the links' time series; `None`: none.
    #[serde(deserialize_with = "time")]
    pub sample: Option<Duration>,
    /// Lateness (99th percentile) above which a run is invalid; `None`: derived from each path's base RTT.
    #[serde(deserialize_with = "time")]
    pub tolerance: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { seed: 1, realtime: false, capture: None, sample: None, tolerance: None }
    }
}

/// Tolerated lateness of a path: this share of its base RTT (one in …) …
const SHARE_OF_RTT: u64 = 20;
/// … and this share of the time that it takes to send a full packet, by which a queue jitters anyway …
const SHARE_OF_PACKET_TIME: u64 = 2;
const PACKET_BYTES: u64 = 1500;
/// … and what no machine is asked for.
const MIN_TOLERANCE: Duration = Duration::from_micros(500);

impl Config {
    /// Lateness (99th percentile) above which a run is invalid on this route: the configured value, or the one derived from its base RTT.
    pub fn tolerance(&self, route: &RouteSpec) -> Duration {
        self.settings.tolerance.unwrap_or_else(|| {
            let links = |indices: &[usize]| indices.iter().map(|index| &self.links[*index]).collect::<Vec<_>>();
            let (down, up) = (links(&route.links.down), links(&route.links.up));
            let rtt = down.iter().chain(&up).fold(Duration::ZERO, |sum, link| sum + link.one_way_delay);
            let rate = down.iter().filter_map(|link| link.server.mean_rate()).min();
            let packet_time = rate.map_or(Duration::ZERO, |rate| rate.time_to_send(PACKET_BYTES));
            (rtt / SHARE_OF_RTT + packet_time / SHARE_OF_PACKET_TIME).max(MIN_TOLERANCE)
        })
    }
}

/// The two ends of a path, or of a flow's own access to it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ends {
    path: String,
    flow: Option<String>,
    /// Time that this adds to the path's round trip.
    #[serde(default, deserialize_with = "time")]
    rtt: Option<Duration>,
    mtu: Option<u32>,
    server: EndSpec,
    client: EndSpec,
}

/// A way between two ends: the links on it, by index, and the ends.
#[derive(Debug)]
pub struct RouteSpec {
    /// Name of the path, or of the flow whose access link it is.
    pub name: String,
    pub links: PathLinks,
    /// Whether it is a flow's access link and not a path.
    pub is_access: bool,
    pub mtu: Option<u32>,
    pub server: EndSpec,
    pub client: EndSpec,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSpec {
    #[serde(default)]
    pub namespace: Namespace,
    pub device: String,
    pub address: Option<Ipv4Addr>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Namespace {
    /// Under /run/netns.
    Named(String),
    OfProcess(u64),
    #[default]
    Own,
}

/// The longest name of a network device (IFNAMSIZ without the final zero).
const LONGEST_DEVICE_NAME: usize = 15;

/// The shortest interval of time series: rows of all links must not keep the loop busy.
const MIN_SAMPLE: Duration = Duration::from_millis(1);

impl Config {
    /// Parse from JSON. Errors: one line with the position and the reason.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let file: File = serde_json::from_str(text)?;
        if file.run.sample.is_some_and(|interval| interval < MIN_SAMPLE) {
            return Err(ConfigError::Sample);
        }
        let no_files = |name: &str| Err(format!("{name}: a resolved scenario names no files"));
        let scenario = Scenario::parse(&file.scenario.to_string(), &json!({}), &no_files);
        let scenario = scenario.map_err(ConfigError::Scenario)?;
        let Topology { mut links, paths } = scenario.topology();
        for link in &links {
            link.validate().map_err(|source| ConfigError::Link { name: link.name.clone(), source })?;
        }
        let mut routes = Vec::new();
        for (i, ends) in file.ends.into_iter().enumerate() {
            ends.check().map_err(|source| ConfigError::Ends { i, source })?;
            let path = scenario.paths.iter().position(|path| path.name == ends.path);
            let path = path.ok_or_else(|| ConfigError::NoPath { i, path: ends.path.clone() })?;
            routes.push(ends.into_route(paths[path].clone(), &mut links));
        }
        check_names(&routes)?;
        Ok(Config { settings: file.run, links, routes })
    }
}

impl Ends {
    fn check(&self) -> Result<(), EndsError> {
        if self.flow.is_some() != self.rtt.is_some() {
            return Err(EndsError::HalfAFlow);
        }
        if self.mtu.is_some_and(|mtu| !(68..=65_535).contains(&mtu)) {
            return Err(EndsError::Mtu);
        }
        for end in [&self.server, &self.client] {
            if end.device.len() > LONGEST_DEVICE_NAME || !is_plain_name(&end.device) {
                return Err(EndsError::Device(end.device.clone()));
            }
            if let Namespace::Named(name) = &end.namespace
                && !is_plain_name(name)
            {
                return Err(EndsError::Namespace(name.clone()));
            }
        }
        Ok(())
    }

    /// A flow's own links precede the path's links downstream and follow them upstream.
    fn into_route(self, path: PathLinks, links: &mut Vec<LinkConfig>) -> RouteSpec {
        let mut way = path;
        if let (Some(flow), Some(rtt)) = (&self.flow, self.rtt) {
            way.down.insert(0, links.len());
            way.up.push(links.len() + 1);
            links.extend(access_links(flow, &self.path, rtt));
        }
        RouteSpec {
            is_access: self.flow.is_some(),
            name: self.flow.unwrap_or(self.path),
            links: way,
            mtu: self.mtu,
            server: self.server,
            client: self.client,
        }
    }
}

/// Two ways with one name could not be distinguished; two ends cannot be one device.
fn check_names(routes: &[RouteSpec]) -> Result<(), ConfigError> {
    if routes.is_empty() {
        return Err(ConfigError::NoEnds);
    }
    for (i, route) in routes.iter().enumerate() {
        let before = &routes[..i];
        if before.iter().any(|other| other.name == route.name) {
            return Err(ConfigError::SameName(route.name.clone()));
        }
        let earlier_ends = before.iter().flat_map(|other| [&other.server, &other.client]);
        for (end, others) in [(&route.server, None), (&route.client, Some(&route.server))] {
            let mut others = earlier_ends.clone().chain(others);
            if others.any(|other| other.device == end.device && other.namespace == end.namespace) {
                return Err(ConfigError::SameDevice(end.device.clone()));
            }
        }
    }
    Ok(())
}

/// A time with its unit; "auto" and null are none.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(from)?.filter(|text| text != "auto");
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}

/// Whether a name is usable: not empty, without slashes or white space, and not reserved.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().all(is_plain) && name != "." && name != ".."
}

#[cfg(test)]
mod tests;
