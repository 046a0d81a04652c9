//! `playpath-bpf`: loads playpath's kernel congestion controls, lists them, shows live sockets, sets parameters.

mod bridge;
mod controls;
mod diag;
mod live;
mod load;
mod objects;
mod process;
mod socket;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use playpath_cc::kernel::{Slot, laws};
use playpath_shell::{Failure, clap, say};
use playpath_units::Rate;
use serde_json::{Value, json};

use crate::controls::InputError;
use crate::live::LiveError;
use crate::load::LoadError;
use crate::socket::Socket;

/// Loads playpath's kernel congestion controls (BPF struct_ops), lists them, shows live sockets, sets parameters. Output is JSON on
/// standard output, messages go to standard error. Exit status: 0 done, 1 failed, 2 the input is wrong.
#[derive(Parser)]
#[command(name = "playpath-bpf", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Controls, their parameters, and what is registered.
    List,
    /// Register a control, until `unload`.
    Load(Load),
    /// Unregister; running connections keep it until they close.
    Unload {
        /// Its name.
        name: String,
    },
    /// Live connections: windows, pacing rate, phase, parameters.
    Show {
        /// Of this control; otherwise of all.
        name: Option<String>,
    },
    /// Change parameters: of all connections, of those to one peer, or of one socket.
    Set(Set),
    /// CMCD and CMSD for nginx: players' reports become parameters, the kernel's measurements a response header.
    Agent(Bridge),
}

#[derive(clap::Args)]
struct Load {
    /// The control.
    name: String,
    /// Register it as NAME.SUFFIX.
    #[arg(long = "as", value_name = "NAME.SUFFIX")]
    registered: Option<String>,
    /// A parameter's default; may be repeated.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Keep it only until this process ends.
    #[arg(long)]
    hold: bool,
    /// Also end when standard input ends.
    #[arg(long, requires = "hold")]
    until_eof: bool,
}

#[derive(clap::Args)]
struct Set {
    /// The control, as registered.
    name: String,
    /// Only of connections to this peer.
    #[arg(long, value_name = "ADDR:PORT")]
    peer: Option<SocketAddr>,
    /// Only for the socket that this process has open to that peer.
    #[arg(long, requires = "peer")]
    pid: Option<u32>,
    /// What to change.
    #[arg(required = true, value_name = "NAME=VALUE")]
    assignments: Vec<String>,
}

#[derive(clap::Args)]
struct Bridge {
    /// The registered control that gets the hints, if any.
    #[arg(required_unless_present_any = ["cmsd", "reports"])]
    name: Option<String>,
    /// Unix socket to listen on.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// What a player's buffer report means to the control.
    #[arg(long, default_value = "size")]
    buffer: bridge::BufferMode,
    /// Answer each question with the header CMSD-Dynamic: throughput (etp) and RTT of the connection's TCP.
    #[arg(long)]
    cmsd: bool,
    /// And with this as the highest rate that a session should choose (mb).
    #[arg(long, value_name = "RATE", requires = "cmsd")]
    cmsd_mb: Option<Rate>,
    /// Keep players' reports (CMCD's event mode) in this file, a JSON line each.
    #[arg(long, value_name = "FILE")]
    reports: Option<PathBuf>,
}

fn main() -> ExitCode {
    playpath_shell::main(|arguments: Arguments| match arguments.command {
        Command::List => list(),
        Command::Load(load) => load_command(&load),
        Command::Unload { name } => unload(&name),
        Command::Show { name } => show(name.as_deref()),
        Command::Set(set) => set_command(&set),
        Command::Agent(bridge) => agent(&bridge),
    })
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::input(error)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        // The verifier's words are many; the failure stays one line.
        let text = error.to_string();
        let (line, words) = text.split_once('\n').unwrap_or((&text, ""));
        words.lines().for_each(|line| eprintln!("{line}"));
        Failure::run(line)
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Failure {
        Failure::run(error)
    }
}

fn list() -> Result<(), Failure> {
    // Without the rights the table is still printed; the registered controls are then unknown: null.
    let registered = live::registered().ok();
    let all: Vec<Value> = laws()
        .into_iter()
        .map(|law| {
            let params: Vec<Value> = law.slots().map(parameter).collect();
            let names = registered.as_ref().map(|all| -> Vec<Value> {
                let own = all.iter().filter(|r| std::ptr::eq(r.control, law));
                own.map(|r| json!({"name": r.name, "link": r.link_id})).collect()
            });
            json!({"name": law.name, "summary": law.summary, "params": params, "registered": names})
        })
        .collect();
    say(&Value::from(all))
}

fn parameter(slot: &Slot) -> Value {
    let spec = &slot.spec;
    let default = controls::json(spec.default);
    json!({"name": spec.name, "default": default, "allowed": slot.allowed(), "doc": spec.doc})
}

fn load_command(options: &Load) -> Result<(), Failure> {
    let control = controls::find(&options.name)?;
    let mut params = control.defaults();
    for assignment in &options.params {
        controls::assign(control, &mut params, assignment)?;
    }
    let registered = options.registered.as_deref().unwrap_or(control.name);
    load::check_name(control, registered)?;
    let ending = process::Ending::new().map_err(Failure::run)?;
    let mut loaded = load::load(control, registered, &params)?;
    if options.hold {
        say(&json!({"registered": registered, "held_by": std::process::id()}))?;
        ending.wait(options.until_eof).map_err(Failure::run)
    } else {
        let path = loaded.pin(registered)?;
        say(&json!({"registered": registered, "pinned": path.display().to_string()}))
    }
}

/// A registered control. A name that no control of playpath can have is invalid input (status 2); a valid name that is not registered is a
/// failure (status 1).
fn find(name: &str) -> Result<live::Registered, Failure> {
    if controls::of_registered(name).is_none() {
        return Err(InputError::UnknownControl(name.into()).into());
    }
    Ok(live::find(name)?)
}

fn unload(name: &str) -> Result<(), Failure> {
    let path = Path::new(load::PIN_FOLDER).join(name);
    if path.parent() != Some(Path::new(load::PIN_FOLDER)) || !path.exists() {
        let why = match find(name)? {
            r if r.link_id.is_some() => "another process holds it (load --hold): end that process",
            _ => "only running connections still use it",
        };
        return Err(Failure::Run(format!("cannot unload `{name}`: {why}")));
    }
    std::fs::remove_file(&path).map_err(|e| Failure::Run(format!("cannot remove {}: {e}", path.display())))?;
    // The folder goes with its last pin; it is not ours to complain about if another remains.
    let _ = std::fs::remove_dir(load::PIN_FOLDER);
    say(&json!({"unloaded": name}))
}

fn show(name: Option<&str>) -> Result<(), Failure> {
    let all = match name {
        Some(name) => vec![find(name)?],
        None => live::registered()?,
    };
    let rows: Vec<Value> = all.iter().flat_map(|r| r.connections()).map(|(_, row)| row).collect();
    say(&Value::from(rows))
}

/// What `set` changes the parameters of.
enum Target {
    Control,
    Peer(SocketAddr),
    Socket(Socket),
}

fn set_command(options: &Set) -> Result<(), Failure> {
    let name = &options.name;
    let registered = find(name)?;
    let target = match (options.peer, options.pid) {
        (Some(peer), Some(pid)) => Target::Socket(Socket::of(pid, peer).map_err(Failure::run)?),
        (Some(peer), None) => Target::Peer(peer),
        (None, _) => Target::Control,
    };
    let old = match &target {
        Target::Socket(socket) => registered.params_of_socket(socket),
        Target::Peer(peer) => registered.params_of(*peer),
        Target::Control => registered.defaults(),
    };
    let mut params = old?;
    for assignment in &options.assignments {
        controls::assign(registered.control, &mut params, assignment)?;
    }
    match &target {
        Target::Socket(socket) => registered.set_params_of_socket(socket, &params),
        Target::Peer(peer) => registered.set_params_of(*peer, &params),
        Target::Control => registered.set_defaults(&params),
    }?;
    if let Target::Peer(peer) = &target
        && !registered.connections().iter().any(|(of, _)| of == peer)
    {
        eprintln!(
            "playpath-bpf: no connection of {name} has the peer {peer} now; the next one that does gets the parameters"
        );
    }
    say(&json!({"set": name, "peer": options.peer.map(|p| p.to_string()), "pid": options.pid}))
}

fn agent(options: &Bridge) -> Result<(), Failure> {
    let registered = options.name.as_deref().map(find).transpose()?;
    let mut bridge = bridge::CmcdBridge::new(registered, options.buffer);
    if options.cmsd {
        let diag = diag::Diag::open().map_err(|e| Failure::Run(format!("sock_diag: {e}")))?;
        bridge = bridge.with_estimates(diag, options.cmsd_mb);
    }
    if let Some(path) = &options.reports {
        let file = std::fs::File::options().create(true).append(true).open(path);
        bridge = bridge.collecting(file.map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?);
    }
    bridge.serve(&options.socket).map_err(|e| Failure::Run(format!("{}: {e}", options.socket.display())))
}
