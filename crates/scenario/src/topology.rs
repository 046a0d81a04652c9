//! The links of a scenario: the one place where they are named and put in order, for every world. Names decide random streams.

use crate::{DirectionSpec, PathSpec, Scenario, SharedLinkSpec};
use playpath_link::{LinkConfig, Rebinding, ServerConfig};
use playpath_units::{Duration, Rate};

/// All links of a scenario, and the way of each path over them.
pub struct Topology {
    /// Links that paths share, then each path's own; of each the one to the client, then the one to the server.
    pub links: Vec<LinkConfig>,
    pub paths: Vec<PathLinks>,
}

/// The links of a path by their place in [`Topology::links`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLinks {
    /// From the server to the client: shared links in the stated order, then the path's own.
    pub down: Vec<usize>,
    pub up: Vec<usize>,
}

impl Scenario {
    /// Its links: `link.NAME/down` and `link.NAME/up` of those that paths share, `path.NAME/down` and `path.NAME/up` of the paths.
    pub fn topology(&self) -> Topology {
        let mut links = Vec::new();
        for link in &self.links {
            let over = self.paths.iter().filter(|path| path.via.contains(&link.name));
            // 1 ms at least: also of a link that no path uses, a bdp has a size.
            let base_rtt = over.map(|path| self.base_rtt(path)).fold(Duration::from_millis(1), Duration::max);
            let both = |way: &DirectionSpec, side| way.to_config(format!("link.{}/{side}", link.name), base_rtt);
            links.extend([both(&link.down, "down"), both(&link.up, "up")]);
        }
        let place = |name: &String| 2 * self.links.iter().position(|l| l.name == *name).expect("checked when read");
        let mut paths = Vec::new();
        for path @ PathSpec { name, down, up, via, outage, rebinding, .. } in &self.paths {
            let own = links.len();
            let config = |way: &DirectionSpec, side| LinkConfig {
                outage: *outage,
                rebinding: rebinding.map(|nat| Rebinding { is_outbound: side == "up", ..nat }),
                ..way.to_config(format!("path.{name}/{side}"), self.base_rtt(path))
            };
            links.extend([config(down, "down"), config(up, "up")]);
            paths.push(PathLinks {
                down: via.iter().map(place).chain([own]).collect(),
                up: [own + 1].into_iter().chain(via.iter().rev().map(|link| place(link) + 1)).collect(),
            });
        }
        Topology { links, paths }
    }

    /// The round trip of a path over all its links, without queueing.
    fn base_rtt(&self, path: &PathSpec) -> Duration {
        let shared = self.links.iter().filter(|link| path.via.contains(&link.name));
        shared.map(SharedLinkSpec::rtt).fold(path.rtt, |sum, rtt| sum + rtt)
    }
}

/// A flow's own access to a path, delay alone, half each way: `flow.NAME/PATH/down` in front of the path's links, and
/// `flow.NAME/PATH/up` behind those back.
pub fn access_links(flow: &str, path: &str, rtt: Duration) -> [LinkConfig; 2] {
    [("down", rtt / 2), ("up", rtt - rtt / 2)].map(|(side, one_way_delay)| LinkConfig {
        server: ServerConfig::Unlimited,
        ..LinkConfig::new(&format!("flow.{flow}/{path}/{side}"), Rate::from_bits_per_sec(1), one_way_delay)
    })
}
