//! The configuration: paths as in a scenario, and where their ends are. See the README for the format.

use crate::direction::{Direction, Side};
use crate::reader::Object;
use playpath_link::{LinkConfig, Outage, ServerConfig};
use playpath_units::{Duration, Rate, Time};
use serde_json::Value;
use std::net::Ipv4Addr;

/// Fetches the text of a named file.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// What a run needs to know.
#[derive(Debug)]
pub struct Config {
    /// Root of all random streams.
    pub seed: u64,
    /// Ask for SCHED_FIFO.
    pub realtime: bool,
    /// How long before a deadline to stop sleeping; `None`: find out.
    pub spin: Option<Duration>,
    /// File for one line per packet.
    pub log: Option<String>,
    /// File for the packets at the server's ends, as pcapng.
    pub capture: Option<String>,
    /// Interval of the links' time series; `None`: none.
    pub sample: Option<Duration>,
    /// Lateness (99th percentile) above which a run is invalid.
    pub tolerance: Duration,
    /// All links, shared ones and the paths' own.
    pub links: Vec<LinkSpec>,
    /// All paths.
    pub paths: Vec<PathSpec>,
}

/// A link and what was asked of its loss model.
#[derive(Debug)]
pub struct LinkSpec {
    /// What the link is built from.
    pub config: LinkConfig,
    /// The loss model's share in the long run.
    pub mean_loss: f64,
}

/// A path: the links on its way, by index, and its ends.
#[derive(Debug)]
pub struct PathSpec {
    /// Name.
    pub name: String,
    /// Links from the server to the client.
    pub down: Vec<usize>,
    /// Links from the client to the server.
    pub up: Vec<usize>,
    /// Name of the path that it leads to: the flow's own way there, delay alone.
    pub over: Option<String>,
    /// Of both devices.
    pub mtu: Option<u32>,
    /// The server's end.
    pub server: EndSpec,
    /// The client's end.
    pub client: EndSpec,
}

/// One end of a path.
#[derive(Debug)]
pub struct EndSpec {
    /// Where the device is made.
    pub namespace: Namespace,
    /// Name of the TUN device.
    pub device: String,
    /// Address of this end.
    pub address: Option<Ipv4Addr>,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// The emulator's.
    Own,
    /// Under /run/netns.
    Named(String),
    /// Of a process.
    OfProcess(u64),
}

/// The longest name of a network device (IFNAMSIZ without the final zero).
const LONGEST_DEVICE_NAME: usize = 15;

impl Config {
    /// From JSON; `read_file` fetches the text of traces and loss patterns that are named. Errors: one line that says where
    /// and what.
    pub fn parse(text: &str, read_file: ReadFile) -> Result<Config, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("the configuration is not JSON: {error}"))?;
        let root = Object::new(&value, String::new())?;
        let mut links = Vec::new();
        let mut shared: Vec<(String, usize)> = Vec::new();
        for table in root.objects("links")? {
            let name = table.needed("name")?.to_string();
            let (down, up) = directions(&table, read_file)?;
            let base_rtt = (down.one_way_delay + up.one_way_delay).max(Duration::from_millis(1));
            table.finish()?;
            shared.push((name.clone(), links.len()));
            links.push(down.link(&format!("link.{name}/down"), base_rtt).map_err(|e| table.error_here(e))?);
            links.push(up.link(&format!("link.{name}/up"), base_rtt).map_err(|e| table.error_here(e))?);
        }
        let mut paths: Vec<PathSpec> = Vec::new();
        for table in root.objects("paths")? {
            let path = match table.text("over")? {
                Some(over) => read_access(&table, over, &paths, &mut links)?,
                None => read_path(&table, &shared, &mut links, read_file)?,
            };
            paths.push(path);
        }
        if paths.is_empty() {
            return Err(root.error("paths", "is missing or empty; at least one path is needed"));
        }
        let spin = match root.text("spin")? {
            None | Some("auto") => None,
            Some(_) => root.parsed("spin")?,
        };
        let config = Config {
            seed: root.integer("seed", 0..=u64::MAX)?.unwrap_or(1),
            realtime: root.flag("realtime")?,
            spin,
            log: root.text("log")?.map(String::from),
            capture: root.text("capture")?.map(String::from),
            sample: root.parsed("sample")?,
            tolerance: root.parsed("tolerance")?.unwrap_or(Duration::from_millis(1)),
            links,
            paths,
        };
        root.finish()?;
        config.check_names()?;
        Ok(config)
    }

    /// Two paths with one name would share their random streams; two ends cannot be one device.
    fn check_names(&self) -> Result<(), String> {
        for (i, path) in self.paths.iter().enumerate() {
            let before = &self.paths[..i];
            if before.iter().any(|other| other.name == path.name) {
                return Err(format!("a second path is called \"{}\"", path.name));
            }
            let earlier_ends = before.iter().flat_map(|other| [&other.server, &other.client]);
            for (end, others) in [(&path.server, None), (&path.client, Some(&path.server))] {
                let mut others = earlier_ends.clone().chain(others);
                if others.any(|other| other.device == end.device && other.namespace == end.namespace) {
                    return Err(format!("device \"{}\" is named twice in one namespace", end.device));
                }
            }
        }
        Ok(())
    }
}

fn directions(table: &Object, read_file: ReadFile) -> Result<(Direction, Direction), String> {
    let rtt: Duration = table.parsed("rtt")?.unwrap_or_default();
    let down = Direction::read(table, rtt / 2, Side::Down, read_file)?;
    let up_delay = rtt.saturating_sub(rtt / 2);
    let up = match table.object("up")? {
        Some(own) => {
            let up = Direction::read(&own, up_delay, Side::Up(&down), read_file)?;
            own.finish()?;
            up
        }
        None => Direction::default_up(&down, up_delay),
    };
    Ok((down, up))
}

fn read_path(
    table: &Object,
    shared: &[(String, usize)],
    links: &mut Vec<LinkSpec>,
    read_file: ReadFile,
) -> Result<PathSpec, String> {
    let name = table.needed("name")?.to_string();
    let base_rtt = table.parsed("rtt")?.ok_or_else(|| table.error("rtt", "is missing"))?;
    let (down, up) = directions(table, read_file)?;
    let via = table.texts("via")?.into_iter().map(|wanted| {
        let found = shared.iter().find(|(name, _)| name == wanted);
        found.map(|(_, index)| *index).ok_or_else(|| table.error("via", format!("there is no link \"{wanted}\"")))
    });
    let via = via.collect::<Result<Vec<usize>, _>>()?;
    let own = links.len();
    let outage = read_outage(table)?;
    for (direction, side) in [(down, "down"), (up, "up")] {
        let mut spec = direction.link(&format!("path.{name}/{side}"), base_rtt).map_err(|e| table.error_here(e))?;
        spec.config.outage = outage;
        links.push(spec);
    }
    let path = PathSpec {
        name,
        over: None,
        // Down: shared links in the stated order, then the path's own. Up: the reverse.
        down: via.iter().copied().chain([own]).collect(),
        up: [own + 1].into_iter().chain(via.iter().rev().map(|index| index + 1)).collect(),
        mtu: table.integer("mtu", 68..=65_535)?.map(|mtu| mtu as u32),
        server: read_end(table, "server")?,
        client: read_end(table, "client")?,
    };
    table.finish()?;
    Ok(path)
}

/// A flow's own delay in front of a path (crates/sim: half each way, at the server's side).
fn read_access(table: &Object, over: &str, paths: &[PathSpec], links: &mut Vec<LinkSpec>) -> Result<PathSpec, String> {
    let name = table.needed("name")?.to_string();
    let rtt: Duration = table.parsed("rtt")?.ok_or_else(|| table.error("rtt", "is missing"))?;
    let base = paths.iter().find(|path| path.name == over && path.over.is_none());
    let base = base.ok_or_else(|| table.error("over", format!("there is no path \"{over}\" before it")))?;
    let own = links.len();
    for (direction, one_way_delay) in [("down", rtt / 2), ("up", rtt - rtt / 2)] {
        let name = format!("flow.{name}/{over}/{direction}");
        let config = LinkConfig {
            server: ServerConfig::Unlimited,
            ..LinkConfig::new(&name, Rate::from_bits_per_sec(1), one_way_delay)
        };
        config.validate().map_err(|e| table.error_here(e))?;
        links.push(LinkSpec { config, mean_loss: 0.0 });
    }
    let path = PathSpec {
        down: [own].into_iter().chain(base.down.iter().copied()).collect(),
        up: base.up.iter().copied().chain([own + 1]).collect(),
        over: Some(over.to_string()),
        mtu: table.integer("mtu", 68..=65_535)?.map(|mtu| mtu as u32),
        server: read_end(table, "server")?,
        client: read_end(table, "client")?,
        name,
    };
    table.finish()?;
    Ok(path)
}

/// `{"from": "20 s", "until": "30 s"}`, both since the start of the run; without `until`, to its end.
fn read_outage(table: &Object) -> Result<Option<Outage>, String> {
    let Some(own) = table.object("outage")? else { return Ok(None) };
    let from: Duration = own.parsed("from")?.ok_or_else(|| own.error("from", "is missing"))?;
    let until: Option<Duration> = own.parsed("until")?;
    if until.is_some_and(|until| until <= from) {
        return Err(own.error("until", "must be later than `from`"));
    }
    own.finish()?;
    Ok(Some(Outage { from: Time::ZERO + from, until: until.map_or(Time::MAX, |until| Time::ZERO + until) }))
}

fn read_end(table: &Object, key: &'static str) -> Result<EndSpec, String> {
    let own = table.object(key)?.ok_or_else(|| table.error(key, "is missing"))?;
    let namespace = match own.value("namespace") {
        None => Namespace::Own,
        Some(Value::String(name)) if is_plain_name(name) => Namespace::Named(name.clone()),
        Some(Value::Number(pid)) if pid.as_u64().is_some() => Namespace::OfProcess(pid.as_u64().unwrap_or_default()),
        Some(other) => return Err(own.error("namespace", format!("{other} is neither a name nor a process id"))),
    };
    let device = own.needed("device")?.to_string();
    if device.len() > LONGEST_DEVICE_NAME || !is_plain_name(&device) {
        return Err(own.error("device", format!("\"{device}\" is not a device name of at most 15 letters and digits")));
    }
    let address = own.parsed("address")?;
    own.finish()?;
    Ok(EndSpec { namespace, device, address })
}

/// No slash, no white space, not empty, no name with a meaning of its own.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().all(is_plain) && name != "." && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;
    use playpath_link::{LossConfig, QueueConfig};
    use playpath_units::QueueLimit;

    const ENDS: &str = r#""server": {"namespace": "s", "device": "d0", "address": "10.0.0.1"}, "client": {"namespace": 42, "device": "d0"}"#;

    fn parse(paths: &str) -> Result<Config, String> {
        let no_files = |name: &str| Err(format!("{name}: not in a test"));
        Config::parse(&paths.replace("ENDS", ENDS), &no_files)
    }

    #[test]
    fn a_path_is_read_with_the_scenarios_defaults() {
        let config =
            parse(r#"{"paths": [{"name": "wifi", "rate": "20 Mbit/s", "rtt": "100 ms", "loss": "0.5 %", ENDS}]}"#)
                .unwrap();
        let (down, up) = (&config.links[0], &config.links[1]);
        assert_eq!((down.config.name.as_str(), up.config.name.as_str()), ("path.wifi/down", "path.wifi/up"));
        assert_eq!(down.config.one_way_delay, Duration::from_millis(50));
        assert_eq!((down.mean_loss, up.mean_loss), (0.005, 0.0));
        assert!(matches!(up.config.loss, LossConfig::None));
        assert_eq!(down.config.queue, QueueConfig::DropTail { limit: QueueLimit::Bdp(1.0) });
        assert_eq!(up.config.queue, QueueConfig::DropTail { limit: QueueLimit::Packets(1000) });
        assert_eq!(config.paths[0].client.namespace, Namespace::OfProcess(42));
        assert_eq!((&config.paths[0].down, &config.paths[0].up), (&vec![0], &vec![1]));
    }

    /// A resolved scenario writes everything out, also what is absent.
    #[test]
    fn a_resolved_path_is_read() {
        let config = parse(
            r#"{"seed": 7, "spin": "50 us", "links": [{"name": "dsl", "rate": "unlimited", "rtt": "10 ms", "up": null}],
            "paths": [{"name": "a", "trace": {"content": "1\n2\n", "format": "auto"}, "rtt": "20 ms", "jitter": {"amplitude": "2 ms",
            "distribution": "normal"}, "reordering": null, "loss": {"kind": "gilbert_elliott", "p": "1 %", "r": "25 %"},
            "loss_place": "after_queue", "queue": {"kind": "red", "limit": "50 packets", "gentle": true, "max_p": 0.1},
            "up": {"rate": "1 Mbit/s", "loss": "0 %", "queue": "codel"}, "via": ["dsl"], "mtu": 1500, ENDS}]}"#,
        )
        .unwrap();
        assert_eq!(config.paths[0].down, [0, 2]);
        assert_eq!(config.paths[0].up, [3, 1]);
        let own = &config.links[2];
        assert!(matches!(own.config.server, ServerConfig::Opportunities { .. }));
        assert!((own.mean_loss - 0.038_461_5).abs() < 1e-6);
        assert_eq!(own.config.queue.kind(), "red");
        assert_eq!(config.links[3].config.queue.kind(), "codel");
        let ServerConfig::Constant { rate } = config.links[3].config.server else { panic!("a constant rate") };
        assert_eq!(rate, Rate::from_bits_per_sec(1_000_000));
    }

    /// Its own 15 ms each way, in front of the path's links on the way down and behind them on the way up.
    #[test]
    fn a_flow_may_have_a_delay_of_its_own() {
        let config = parse(
            r#"{"sample": "100 ms", "paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "20 ms", ENDS}, {"name": "ftp", "over": "a",
            "rtt": "30 ms", "server": {"device": "d1"}, "client": {"device": "d2"}}]}"#,
        )
        .unwrap();
        assert_eq!((&config.paths[1].down, &config.paths[1].up), (&vec![2, 0], &vec![1, 3]));
        let names = config.links[2..].iter().map(|link| link.config.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["flow.ftp/a/down", "flow.ftp/a/up"]);
        assert!(config.links[2..].iter().all(|link| link.config.one_way_delay == Duration::from_millis(15)));
        assert_eq!(config.sample, Some(Duration::from_millis(100)));
        let unknown = r#"{"paths": [{"name": "ftp", "over": "a", "rtt": "30 ms", ENDS}]}"#;
        assert_eq!(parse(unknown).unwrap_err(), "`paths[0].over`: there is no path \"a\" before it");
    }

    /// Of the path's own links, as in the simulator: not of those it shares.
    #[test]
    fn an_outage_is_that_of_the_paths_own_links() {
        let text = r#"{"links": [{"name": "dsl", "rate": "1 Mbit/s", "rtt": "10 ms"}], "paths": [{"name": "a", "rate": "1 Mbit/s",
            "rtt": "20 ms", "via": ["dsl"], "outage": {"from": "20 s", "until": null}, ENDS}]}"#;
        let config = parse(text).unwrap();
        let outage = Outage { from: Time::from_secs(20), until: Time::MAX };
        let found: Vec<_> = config.links.iter().map(|link| link.config.outage).collect();
        assert_eq!(found, [None, None, Some(outage), Some(outage)]);
        let wrong = parse(&text.replace("null", "\"20 s\"")).unwrap_err();
        assert_eq!(wrong, "`paths[0].outage.until`: must be later than `from`");
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, expected) in [
            ("[", "the configuration is not JSON"),
            ("[]", "the configuration is not a JSON object"),
            ("{}", "`paths`: is missing or empty"),
            (
                r#"{"colour": 1, "paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "1 ms", ENDS}]}"#,
                "`colour`: is not known; allowed: ",
            ),
            (r#"{"paths": [{"name": "a", "rate": "1 Mbit/s", ENDS}]}"#, "`paths[0].rtt`: is missing"),
            (r#"{"paths": [{"name": "a", "rtt": "1 ms", ENDS}]}"#, "`paths[0].rate`: is missing"),
            (r#"{"paths": [{"name": "a", "rate": "1", "rtt": "1 ms", ENDS}]}"#, "`paths[0].rate`: \"1\" has no unit"),
            (
                r#"{"paths": [{"name": "a", "rate": "0 bit/s", "rtt": "1 ms", ENDS}]}"#,
                "`paths[0]`: rate = 0 bit/s is not allowed",
            ),
            (
                r#"{"paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "1 ms", "queue": {"kind": "blue"}, ENDS}]}"#,
                "`paths[0].queue`: \"blue\" is not known; allowed: droptail, red",
            ),
            (
                r#"{"paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "1 ms", "via": ["b"], ENDS}]}"#,
                "`paths[0].via`: there is no link \"b\"",
            ),
            (
                r#"{"paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "1 ms", "server": {"device": "a/b"}}]}"#,
                "`paths[0].server.device`: \"a/b\" is not",
            ),
            (
                r#"{"paths": [{"name": "a", "rate": "1 Mbit/s", "rtt": "1 ms", "server": {"device": "x"}, "client": {"device": "x"}}]}"#,
                "device \"x\" is named twice",
            ),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with(expected), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
