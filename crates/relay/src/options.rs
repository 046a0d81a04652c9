//! The command line.

use lexopt::prelude::*;
use playpath_relay::record::{INITIAL_WINDOW, MOST_PATHS};
use playpath_shell::Failure;
use playpath_transport::mptcp::scheduler::{self, Entry, Scheduler};
use playpath_units::{Bytes, Duration, ParamSpec, ParamValue, Params};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

pub const USAGE: &str = "\
playpath-relay server --listen ADDR:PORT [--listen …] --origin HOST:PORT [OPTIONS]
    beside the web server: takes the connections of clients and connects to the origin for each session
playpath-relay client --listen ADDR:PORT --path NAME=HOST:PORT[,from=ADDR][,dev=DEVICE] [--path …] [OPTIONS]
    beside the player, which connects to --listen: one connection to the server per path, bound to an own address or device
Options of both, for the data that this end sends:
    --scheduler NAME[:K=V,…]   which path takes the next record (`playpath list scheduler`); default dft
    --cc NAME                  congestion control of the connections, any that the kernel has or `playpath cc load` brought;
                               lia and olia (ours) couple the connections of a session
    --unsent PACKETS           packets that may wait in the kernel of a path beyond its window; default: 1.5 ms at its rate
    --send-buffer SIZE         kept until the other relay has acknowledged it; default 4 MB
    --receive-buffer SIZE      kept for the application; default 6 MB
    --path-timeout TIME        a connection without progress for so long is given up and, by the client, made anew; default 5 s
    --agent SOCKET             the CMCD bridge beside the web server (`playpath cc agent`): what a player reports there reaches the
                               control of all connections of its session
    --session-timeout TIME     a session without any path, or without an answer, ends after so long; default 30 s
    --log FILE                 a JSON line for each switch, reinjection and change of a path, with its reason
    --log-records              and for each record
    --summary FILE             counters per session and path, as JSON, at the end (- : standard output)
Exit status: 0 ended by a signal, 1 failed, 2 the input is wrong.";

/// Where a path of the client leads.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSpec {
    pub name: String,
    pub remote: SocketAddr,
    pub from: Option<IpAddr>,
    pub device: Option<String>,
}

/// Which end this is.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    Server { origin: SocketAddr },
    Client { paths: Vec<PathSpec> },
}

/// See [`USAGE`].
#[derive(Clone)]
pub struct Options {
    pub role: Role,
    pub listen: Vec<SocketAddr>,
    pub scheduler: &'static Entry,
    pub scheduler_params: Params,
    pub cc: Option<String>,
    pub agent: Option<PathBuf>,
    pub unsent: Option<u32>,
    pub send_buffer: u64,
    pub receive_buffer: u64,
    pub path_timeout: Duration,
    pub session_timeout: Duration,
    pub log: Option<PathBuf>,
    pub logs_records: bool,
    pub summary: Option<PathBuf>,
}

impl Options {
    /// A new scheduler.
    pub fn scheduler(&self) -> Box<dyn Scheduler> {
        (self.scheduler.build)(&self.scheduler_params)
    }
}

/// `None`: help is wanted.
pub fn parse(mut parser: lexopt::Parser) -> Result<Option<Options>, Failure> {
    read(&mut parser).map_err(Failure::Input)
}

fn read(parser: &mut lexopt::Parser) -> Result<Option<Options>, String> {
    let is_server = match parser.next().map_err(|e| e.to_string())? {
        Some(Value(word)) if word == "server" => true,
        Some(Value(word)) if word == "client" => false,
        Some(Long("help") | Short('h')) => return Ok(None),
        Some(Value(word)) if word == "help" => return Ok(None),
        Some(Value(word)) => return Err(format!("`{}` is neither `server` nor `client`", word.to_string_lossy())),
        _ => return Err("say `server` or `client` first; `help` tells more".into()),
    };
    let (mut origin, mut paths) = (None, Vec::new());
    let mut options = defaults();
    while let Some(argument) = parser.next().map_err(|e| e.to_string())? {
        let Long(name) = argument else { return Err(argument.unexpected().to_string()) };
        let name = name.to_owned();
        let value = |parser: &mut lexopt::Parser| parser.value().map(words).map_err(|e| e.to_string());
        match name.as_str() {
            "help" => return Ok(None),
            "log-records" => options.logs_records = true,
            "agent" if is_server => options.agent = Some(value(parser)?.into()),
            "origin" if is_server => origin = Some(address(&name, &value(parser)?)?),
            "path" if !is_server => paths.push(path(&value(parser)?)?),
            _ => set(&mut options, &name, &value(parser)?)?,
        }
    }
    if options.listen.is_empty() {
        return Err("--listen is missing".into());
    }
    options.role = if is_server {
        Role::Server { origin: origin.ok_or("--origin is missing")? }
    } else {
        Role::Client { paths: checked(paths)? }
    };
    Ok(Some(options))
}

fn defaults() -> Options {
    let scheduler = scheduler::find("dft").expect("the default is registered");
    Options {
        role: Role::Client { paths: Vec::new() },
        listen: Vec::new(),
        scheduler,
        scheduler_params: Params::defaults(scheduler.params),
        cc: None,
        agent: None,
        unsent: None,
        send_buffer: 4 << 20,
        receive_buffer: 6 << 20,
        path_timeout: Duration::from_secs(5),
        session_timeout: Duration::from_secs(30),
        log: None,
        logs_records: false,
        summary: None,
    }
}

fn set(options: &mut Options, name: &str, text: &str) -> Result<(), String> {
    match name {
        "listen" => options.listen.push(address(name, text)?),
        "scheduler" => (options.scheduler, options.scheduler_params) = scheduler_of(text)?,
        "cc" => options.cc = Some(text.into()),
        "unsent" => options.unsent = Some(ranged(name, text, 0, 1000)?),
        "send-buffer" => options.send_buffer = size(name, text, 1 << 14)?,
        "receive-buffer" => options.receive_buffer = size(name, text, INITIAL_WINDOW)?,
        "path-timeout" => options.path_timeout = time(name, text)?,
        "session-timeout" => options.session_timeout = time(name, text)?,
        "log" => options.log = Some(text.into()),
        "summary" => options.summary = Some(text.into()),
        _ => return Err(format!("there is no option --{name} here; `playpath-relay help` lists them")),
    }
    Ok(())
}

fn words(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}

fn address(name: &str, text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|e| format!("--{name} {text}: {e}"))?;
    found.next().ok_or_else(|| format!("--{name} {text}: no address"))
}

/// `NAME=HOST:PORT[,from=ADDR][,dev=DEVICE]`.
fn path(text: &str) -> Result<PathSpec, String> {
    let wrong = |what: &str| format!("--path {text}: {what}; write NAME=HOST:PORT[,from=ADDR][,dev=DEVICE]");
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("no name"))?;
    let mut parts = rest.split(',');
    let remote = address("path", parts.next().unwrap_or_default())?;
    let mut spec = PathSpec { name: name.into(), remote, from: None, device: None };
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

fn checked(paths: Vec<PathSpec>) -> Result<Vec<PathSpec>, String> {
    if paths.is_empty() || paths.len() > MOST_PATHS {
        return Err(format!("{} paths; say --path 1 to 32 times", paths.len()));
    }
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].iter().any(|other| other.name == path.name) {
            return Err(format!("two paths are called `{}`", path.name));
        }
    }
    Ok(paths)
}

/// `NAME` or `NAME:K=V,…`.
fn scheduler_of(text: &str) -> Result<(&'static Entry, Params), String> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let entry = scheduler::find(name).ok_or_else(|| {
        let names: Vec<_> = scheduler::entries().iter().map(|entry| entry.name).collect();
        format!("there is no scheduler `{name}`; there are: {}", names.join(", "))
    })?;
    let mut params = Params::defaults(entry.params);
    for pair in given.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("--scheduler {text}: write parameter=value"))?;
        let spec = entry.params.iter().find(|spec| spec.name == key);
        let spec = spec.ok_or_else(|| format!("{name} has no parameter `{key}`"))?;
        set_param(&mut params, spec, value).map_err(|e| format!("--scheduler {text}: {e}"))?;
    }
    Ok((entry, params))
}

fn set_param(params: &mut Params, spec: &ParamSpec, value: &str) -> Result<(), String> {
    match spec.default {
        ParamValue::Number(_) => {
            params.set_number(spec.name, value.parse().map_err(|_| format!("`{value}` is no number"))?)
        }
        ParamValue::Flag(_) => {
            params.set_flag(spec.name, value.parse().map_err(|_| format!("`{value}` is neither true nor false"))?)
        }
        ParamValue::Word(_) => params.set_word(spec.name, value),
    }
}

fn ranged(name: &str, text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("--{name} {text}: a number from {least} to {most}"))
}

fn size(name: &str, text: &str, least: u64) -> Result<u64, String> {
    const MOST: u64 = 1 << 30;
    let Bytes(bytes) = text.parse().map_err(|e| format!("--{name} {text}: {e}"))?;
    if (least..=MOST).contains(&bytes) {
        return Ok(bytes);
    }
    Err(format!("--{name} {text}: from {} to {}", Bytes(least), Bytes(MOST)))
}

fn time(name: &str, text: &str) -> Result<Duration, String> {
    let (least, most) = (Duration::from_millis(500), Duration::from_secs(3600));
    let time: Duration = text.parse().map_err(|e| format!("--{name} {text}: {e}"))?;
    if (least..=most).contains(&time) { Ok(time) } else { Err(format!("--{name} {text}: from {least} to {most}")) }
}

#[cfg(test)]
pub fn of(text: &str) -> Result<Option<Options>, String> {
    read(&mut lexopt::Parser::from_args(text.split(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_read() {
        let server = of("server --listen 0.0.0.0:9000 --origin 127.0.0.1:80 --scheduler tr-sty:rtt_flip=true --cc lia");
        let server = server.unwrap().unwrap();
        assert_eq!(server.role, Role::Server { origin: "127.0.0.1:80".parse().unwrap() });
        assert!(server.scheduler_params.flag("rtt_flip"));
        let client = of(
            "client --listen 127.0.0.1:8080 --path wifi=10.0.0.1:9000,from=10.0.0.2 --path lte=10.0.1.1:9000,dev=wwan0",
        );
        let Role::Client { paths } = client.unwrap().unwrap().role else { panic!() };
        assert_eq!(paths[0].from, Some("10.0.0.2".parse().unwrap()));
        assert_eq!(paths[1].device.as_deref(), Some("wwan0"));
    }

    #[test]
    fn faults_are_told_in_a_line() {
        for (text, wanted) in [
            ("neither", "`neither` is neither `server` nor `client`"),
            ("server --listen 1.2.3.4:5", "--origin is missing"),
            ("client --listen 1.2.3.4:5", "0 paths; say --path 1 to 32 times"),
            ("client --listen 1.2.3.4:5 --path a=1.2.3.4:5 --path a=1.2.3.4:6", "two paths are called `a`"),
            ("server --scheduler sticky", "there is no scheduler `sticky`; there are: dft, gr-sty"),
            ("server --scheduler dft:x=1", "dft has no parameter `x`"),
            ("server --receive-buffer 1kB", "--receive-buffer 1kB: from"),
            ("server --path a=1.2.3.4:5", "there is no option --path here"),
            ("client --path a=1.2.3.4:5,via=x --listen 1.2.3.4:5", "`via=x` is neither from= nor dev="),
            ("server --path-timeout 1ms", "--path-timeout 1ms: from"),
        ] {
            let message = of(text).err().unwrap();
            assert!(message.starts_with(wanted) || message.contains(wanted), "{text}: {message}");
        }
    }
}
