//! The command line.

use crate::error::OptionError;
use playpath_relay::record::{INITIAL_WINDOW, MOST_PATHS};
use playpath_shell::clap;
use playpath_transport::mptcp::scheduler::{self, Entry, Scheduler};
use playpath_units::names::unknown;
use playpath_units::{Bytes, Duration, Params};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// One end of a relay pair: carries one stream over several TCP connections, one per path. Exit status: 0 ended by a signal,
/// 1 failed, 2 the input is wrong.
#[derive(clap::Parser, Clone)]
#[command(name = "playpath-relay", version)]
pub enum Arguments {
    /// Beside the web server: takes the connections of clients and connects to the origin for each session.
    Server {
        /// The web server.
        #[arg(long, value_name = "HOST:PORT", value_parser = address)]
        origin: SocketAddr,
        /// The CMCD bridge beside the web server (`playpath cc agent`): what a player reports there reaches the control of all
        /// connections of its session.
        #[arg(long = "agent", value_name = "SOCKET")]
        bridge: Option<PathBuf>,
        #[command(flatten)]
        options: Options,
    },
    /// Beside the player, which connects to --listen: one connection to the server per path.
    Client {
        /// A path to the server, bound to an own address or device; may be repeated.
        #[arg(long = "path", required = true, value_name = "NAME=HOST:PORT[,from=ADDR][,dev=DEVICE]", value_parser = path)]
        paths: Vec<PathOption>,
        #[command(flatten)]
        options: Options,
    },
}

/// Where a path of the client leads.
#[derive(Clone, Debug, PartialEq)]
pub struct PathOption {
    pub name: String,
    pub remote: SocketAddr,
    pub from: Option<IpAddr>,
    pub device: Option<String>,
}

/// Which end this is.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    Server { origin: SocketAddr },
    Client { paths: Vec<PathOption> },
}

/// Of both ends, for the data that this end sends.
#[derive(Clone, clap::Args)]
pub struct Options {
    #[arg(skip = Role::Client { paths: Vec::new() })]
    pub role: Role,
    #[arg(skip)]
    pub bridge: Option<PathBuf>,
    /// Where to listen; may be repeated. A port alone: for programs of this machine only.
    #[arg(long, required = true, value_name = "[ADDR:]PORT", value_parser = own_address)]
    pub listen: Vec<SocketAddr>,
    /// Which path takes the next record (`playpath list scheduler`).
    #[arg(long, default_value = "dft", value_name = "NAME[:K=V,…]", value_parser = scheduler_of)]
    pub scheduler: Choice,
    /// Congestion control of the connections, any that the kernel has or `playpath cc load` brought; lia and olia (ours) couple the
    /// connections of a session.
    #[arg(long, value_name = "NAME")]
    pub cc: Option<String>,
    /// Packets that may wait in the kernel of a path beyond its window; by default 1.5 ms at its rate.
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub unsent: Option<u32>,
    /// Kept until the other relay has acknowledged it.
    #[arg(long, default_value = "4 MiB", value_name = "SIZE", value_parser = |text: &str| size(text, 1 << 14))]
    pub send_buffer: u64,
    /// Kept for the application.
    #[arg(long, default_value = "6 MiB", value_name = "SIZE", value_parser = |text: &str| size(text, INITIAL_WINDOW))]
    pub receive_buffer: u64,
    /// A connection without progress for so long is given up and, by the client, made anew.
    #[arg(long, default_value = "5 s", value_name = "TIME", value_parser = time)]
    pub path_timeout: Duration,
    /// A session without any path, or without an answer, ends after so long.
    #[arg(long, default_value = "30 s", value_name = "TIME", value_parser = time)]
    pub session_timeout: Duration,
    /// A JSON line for each switch, reinjection and change of a path, with its reason.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// And for each record.
    #[arg(long = "log-records")]
    pub logs_records: bool,
    /// Counters per session and path, as JSON, at the end (-: standard output).
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
}

/// A scheduler with its parameters.
#[derive(Clone)]
pub struct Choice {
    entry: &'static Entry,
    params: Params,
}

impl Choice {
    /// The scheduler's name.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }
}

impl Options {
    /// A new scheduler.
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        (self.scheduler.entry.build)(&self.scheduler.params)
    }
}

impl Arguments {
    /// What was asked for. Errors: paths that do not go together.
    pub fn options(self) -> Result<Options, OptionError> {
        Ok(match self {
            Arguments::Server { origin, bridge, options } => {
                Options { role: Role::Server { origin }, bridge, ..options }
            }
            Arguments::Client { paths, options } => {
                Options { role: Role::Client { paths: checked(paths)? }, ..options }
            }
        })
    }
}

fn address(text: &str) -> Result<SocketAddr, OptionError> {
    text.to_socket_addrs()?.next().ok_or(OptionError::NoAddress)
}

/// `[ADDR:]PORT`; whoever wants more than the loopback address names it.
fn own_address(text: &str) -> Result<SocketAddr, OptionError> {
    text.parse().map_or_else(|_| address(text), |port| Ok((Ipv4Addr::LOCALHOST, port).into()))
}

/// `NAME=HOST:PORT[,from=ADDR][,dev=DEVICE]`.
fn path(text: &str) -> Result<PathOption, OptionError> {
    let wrong = |what: &str| OptionError::Path(what.into());
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("no name"))?;
    let mut parts = rest.split(',');
    let remote = address(parts.next().unwrap_or_default())?;
    let mut spec = PathOption { name: name.into(), remote, from: None, device: None };
    for part in parts {
        match part.split_once('=') {
            Some(("from", own)) => spec.from = Some(own.parse().map_err(|_| wrong(&format!("`{own}` is no address")))?),
            Some(("dev", device)) => spec.device = Some(device.into()),
            _ => return Err(wrong(&format!("`{part}` is neither from= nor dev="))),
        }
    }
    if name.is_empty() || name.len() > 64 {
        return Err(wrong("the name has 1 to 64 bytes"));
    }
    Ok(spec)
}

fn checked(paths: Vec<PathOption>) -> Result<Vec<PathOption>, OptionError> {
    if paths.len() > MOST_PATHS {
        return Err(OptionError::TooManyPaths(paths.len()));
    }
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].iter().any(|other| other.name == path.name) {
            return Err(OptionError::SamePath(path.name.clone()));
        }
    }
    Ok(paths)
}

/// `NAME` or `NAME:K=V,…`.
fn scheduler_of(text: &str) -> Result<Choice, OptionError> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let known = || scheduler::entries().iter().map(|entry| entry.name);
    let entry = scheduler::find(name).ok_or_else(|| OptionError::Scheduler(unknown("scheduler", name, known())))?;
    let mut params = Params::defaults(entry.params);
    for pair in given.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| OptionError::Scheduler("write parameter=value".into()))?;
        params.set_text(key, value).map_err(OptionError::Scheduler)?;
    }
    Ok(Choice { entry, params })
}

fn size(text: &str, least: u64) -> Result<u64, OptionError> {
    const MOST: u64 = 1 << 30;
    let Bytes(bytes) = text.parse()?;
    if (least..=MOST).contains(&bytes) { Ok(bytes) } else { Err(OptionError::Size(least, MOST)) }
}

fn time(text: &str) -> Result<Duration, OptionError> {
    let (least, most) = (Duration::from_millis(500), Duration::from_secs(3600));
    let time: Duration = text.parse()?;
    if (least..=most).contains(&time) { Ok(time) } else { Err(OptionError::Time(least, most)) }
}

#[cfg(test)]
pub fn of(text: &str) -> Result<Options, String> {
    let words = std::iter::once("playpath-relay").chain(text.split(' ')).map(Into::into);
    match playpath_shell::parse::<Arguments>(words) {
        Ok(arguments) => arguments.expect("no help is wanted").options().map_err(|error| error.to_string()),
        Err(failure) => Err(format!("{failure:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_read() {
        let server = of("server --listen 0.0.0.0:9000 --origin 127.0.0.1:80 --scheduler tr-sty:rtt_flip=true --cc lia");
        let server = server.unwrap();
        assert_eq!(server.role, Role::Server { origin: "127.0.0.1:80".parse().unwrap() });
        assert!(server.scheduler.params.flag("rtt_flip"));
        let client = of(
            "client --listen 127.0.0.1:8080 --path wifi=10.0.0.1:9000,from=10.0.0.2 --path lte=10.0.1.1:9000,dev=wwan0",
        );
        let Role::Client { paths } = client.unwrap().role else { panic!() };
        assert_eq!(paths[0].from, Some("10.0.0.2".parse().unwrap()));
        assert_eq!(paths[1].device.as_deref(), Some("wwan0"));
    }

    #[test]
    fn a_port_alone_is_for_this_machine() {
        let options = of("client --listen 8080 --listen [::]:81 --path wifi=10.0.0.1:9000").unwrap();
        assert_eq!(options.listen, ["127.0.0.1:8080".parse().unwrap(), "[::]:81".parse().unwrap()]);
        assert!(of("client --listen 65536 --path wifi=10.0.0.1:9000").is_err());
    }

    #[test]
    fn faults_are_told_in_a_line() {
        for (text, wanted) in [
            ("neither", "unrecognized subcommand 'neither'"),
            ("server --listen 1.2.3.4:5", "not provided: --origin <HOST:PORT>"),
            ("client --listen 1.2.3.4:5", "not provided: --path <NAME="),
            ("client --listen 1.2.3.4:5 --path a=1.2.3.4:5 --path a=1.2.3.4:6", "two paths are called `a`"),
            ("server --scheduler sticky", "unknown scheduler"),
            ("server --scheduler dft:x=1", "unknown parameter"),
            ("server --receive-buffer 1kB", "'1kB' for '--receive-buffer <SIZE>': from"),
            ("server --path a=1.2.3.4:5", "unexpected argument '--path' found"),
            ("client --path a=1.2.3.4:5,via=x --listen 1.2.3.4:5", "`via=x` is neither from= nor dev="),
            ("server --path-timeout 1ms", "'1ms' for '--path-timeout <TIME>': from"),
            ("server --session-timout 1s", "a similar argument exists: '--session-timeout'"),
            ("server --unsent 2000", "2000 is not in 0..=1000"),
        ] {
            let message = of(text).err().unwrap();
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }
}
