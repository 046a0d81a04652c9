//! `playpath-bpf`: loads playpath's kernel congestion controls, lists them, shows live sockets, sets parameters.

mod agent;
mod controls;
mod live;
mod load;
mod names;
mod objects;
mod process;
mod socket;

use std::net::SocketAddr;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use playpath_cc::kernel::{Slot, laws};

use crate::controls::InputError;
use crate::live::LiveError;
use crate::load::LoadError;
use crate::socket::Socket;

const USAGE: &str = "\
playpath-bpf list                                   controls, their parameters, and what is registered
playpath-bpf load NAME [--as NAME.SUFFIX] [--param K=V ...] [--hold [--until-eof]]
                                                    register until `unload`; --hold: until this process ends, and with
                                                    --until-eof when its standard input ends too
playpath-bpf unload NAME                            unregister (running connections keep it until they close)
playpath-bpf show [NAME]                            live connections: windows, pacing rate, phase, parameters
playpath-bpf set NAME [--peer ADDR:PORT [--pid PID]] K=V ...
                                                    change parameters: of all connections, of those to one peer, or
                                                    (--pid) of the socket itself that process PID has to that peer
playpath-bpf agent NAME --socket PATH [--buffer size|free]
                                                    CMCD bridge for nginx: players' reports become parameters
Output is JSON on stdout, messages go to stderr. Exit status: 0 done, 1 failed, 2 the input is wrong.";

const VERBS: &[&str] = &["list", "load", "unload", "show", "set", "agent", "help"];

/// Why a command failed, and so its exit status.
enum Failure {
    Input(String),
    Run(String),
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        Failure::Run(error.to_string())
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Failure {
        Failure::Run(error.to_string())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Run(message)) => {
            eprintln!("playpath-bpf: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Input(message)) => {
            eprintln!("playpath-bpf: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let Some((verb, rest)) = arguments.split_first() else {
        return Err(Failure::Input(format!("say a command: {}", VERBS.join(", "))));
    };
    if arguments.iter().any(|word| word == "--help" || word == "-h") {
        println!("{USAGE}");
        return Ok(());
    }
    match (verb.as_str(), rest) {
        ("list", []) => list(),
        ("load", [name, options @ ..]) => load_command(name, options),
        ("unload", [name]) => unload(name),
        ("show", []) => show(None),
        ("show", [name]) => show(Some(name)),
        ("set", [name, options @ ..]) => set(name, options),
        ("agent", [name, options @ ..]) => agent(name, options),
        ("help", _) => {
            println!("{USAGE}");
            Ok(())
        }
        ("load" | "unload" | "set" | "agent", []) => Err(Failure::Input(format!(
            "{verb}: the control's name is missing; there are: {}",
            controls::names().join(", ")
        ))),
        ("list" | "unload" | "show", [.., last]) => {
            Err(Failure::Input(format!("{verb}: `{last}` is too much; `help` lists what it takes")))
        }
        _ => Err(Failure::Input(names::unknown("command", verb, VERBS))),
    }
}

fn list() -> Result<(), Failure> {
    process::end_with_reader();
    // Without rights the table still prints; what is registered is then unknown: null.
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
    println!("{}", Value::from(all));
    Ok(())
}

fn parameter(slot: &Slot) -> Value {
    let spec = &slot.spec;
    let default = controls::json(spec.default);
    json!({"name": spec.name, "default": default, "allowed": slot.allowed(), "doc": spec.doc})
}

fn load_command(name: &str, options: &[String]) -> Result<(), Failure> {
    let control = controls::find(name)?;
    let mut params = control.defaults();
    let mut registered = control.name;
    let mut hold = false;
    let mut until_eof = false;
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| Failure::Input(format!("{word} needs a value")));
        match word.as_str() {
            "--hold" => hold = true,
            "--until-eof" => until_eof = true,
            "--as" => registered = value()?,
            "--param" => controls::assign(control, &mut params, value()?)?,
            other => return Err(Failure::Input(format!("`{other}` is not an option of load"))),
        }
    }
    load::check_name(control, registered)?;
    process::block_signals();
    let mut loaded = load::load(control, registered, &params)?;
    if hold {
        println!("{}", json!({"registered": registered, "held_by": std::process::id()}));
        if until_eof {
            process::end_with_stdin();
        }
        process::wait_for_signal();
    } else {
        let path = loaded.pin(registered)?;
        println!("{}", json!({"registered": registered, "pinned": path.display().to_string()}));
    }
    Ok(())
}

/// A registered control. A name that none of ours can have is wrong input; one that nobody has registered is not.
fn find(name: &str) -> Result<live::Registered, Failure> {
    if controls::of_registered(name).is_none() {
        return Err(InputError::UnknownControl(name.into()).into());
    }
    Ok(live::find(name)?)
}

fn unload(name: &str) -> Result<(), Failure> {
    let path = std::path::Path::new(load::PIN_FOLDER).join(name);
    if path.parent() != Some(std::path::Path::new(load::PIN_FOLDER)) || !path.exists() {
        let why = match find(name)? {
            r if r.link_id.is_some() => "another process holds it (load --hold): end that process",
            _ => "only running connections still use it",
        };
        return Err(Failure::Run(format!("cannot unload `{name}`: {why}")));
    }
    std::fs::remove_file(&path).map_err(|e| Failure::Run(format!("cannot remove {}: {e}", path.display())))?;
    // The folder goes with its last pin; it is not ours to complain about if another remains.
    let _ = std::fs::remove_dir(load::PIN_FOLDER);
    println!("{}", json!({"unloaded": name}));
    Ok(())
}

fn show(name: Option<&str>) -> Result<(), Failure> {
    process::end_with_reader();
    let all = match name {
        Some(name) => vec![find(name)?],
        None => live::registered()?,
    };
    let mut rows = Vec::new();
    for r in &all {
        for c in r.connections() {
            let details: Map<String, Value> = c.details.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
            let params: Map<String, Value> = c.params.iter().map(|(k, v)| ((*k).into(), controls::json(*v))).collect();
            rows.push(json!({
                "cc": r.name, "peer": c.peer.to_string(), "local_port": c.local_port, "netns": c.netns,
                "time_ns": c.time_ns, "snd_cwnd": c.snd_cwnd, "snd_ssthresh": c.snd_ssthresh, "in_flight": c.in_flight,
                "rtt_us": c.srtt_us, "pacing_rate": c.pacing_rate, "phase": c.phase, "mptcp_token": c.mptcp_token,
                "details": details, "params": params, "params_from": c.params_from,
            }));
        }
    }
    println!("{}", Value::from(rows));
    Ok(())
}

/// Whose parameters `set` changes.
enum Target {
    Control,
    Peer(SocketAddr),
    Socket(Socket),
}

fn set(name: &str, options: &[String]) -> Result<(), Failure> {
    let registered = find(name)?;
    let (target, assignments) = target_of(options)?;
    if assignments.is_empty() {
        return Err(Failure::Input("set needs at least one NAME=VALUE".into()));
    }
    let old = match &target {
        Target::Socket(socket) => registered.params_of_socket(socket),
        Target::Peer(peer) => registered.params_of(*peer),
        Target::Control => registered.defaults(),
    };
    let mut params = old?;
    for assignment in assignments {
        controls::assign(registered.control, &mut params, assignment)?;
    }
    let (peer, pid) = match &target {
        Target::Socket(socket) => (Some(socket.peer), Some(socket.pid)),
        Target::Peer(peer) => (Some(*peer), None),
        Target::Control => (None, None),
    };
    match &target {
        Target::Socket(socket) => registered.set_params_of_socket(socket, &params),
        Target::Peer(peer) => registered.set_params_of(*peer, &params),
        Target::Control => registered.set_defaults(&params),
    }?;
    if let Target::Peer(peer) = &target
        && !registered.connections().iter().any(|c| c.peer == *peer)
    {
        eprintln!(
            "playpath-bpf: no connection of {name} has the peer {peer} now; the next one that does gets the parameters"
        );
    }
    println!("{}", json!({"set": name, "peer": peer.map(|p| p.to_string()), "pid": pid}));
    Ok(())
}

fn target_of(options: &[String]) -> Result<(Target, &[String]), Failure> {
    let [flag, peer, rest @ ..] = options else { return Ok((Target::Control, options)) };
    if flag != "--peer" {
        return Ok((Target::Control, options));
    }
    let peer: SocketAddr = peer.parse().map_err(|_| Failure::Input(format!("`{peer}` is not ADDR:PORT")))?;
    let [flag, pid, rest @ ..] = rest else { return Ok((Target::Peer(peer), rest)) };
    if flag != "--pid" {
        return Ok((Target::Peer(peer), options.get(2..).unwrap_or_default()));
    }
    let pid = pid.parse().map_err(|_| Failure::Input(format!("`{pid}` is not a process id")))?;
    Ok((Target::Socket(Socket::of(pid, peer).map_err(Failure::Run)?), rest))
}

fn agent(name: &str, options: &[String]) -> Result<(), Failure> {
    let (mut socket, mut mode) = (None, agent::BufferMode::Size);
    for pair in options.chunks(2) {
        match pair {
            [flag, path] if flag == "--socket" => socket = Some(path),
            [flag, word] if flag == "--buffer" && word == "size" => mode = agent::BufferMode::Size,
            [flag, word] if flag == "--buffer" && word == "free" => mode = agent::BufferMode::Free,
            _ => return Err(Failure::Input(format!("`{}` is not an option of agent", pair.join(" ")))),
        }
    }
    let socket = socket.ok_or_else(|| Failure::Input("agent needs --socket PATH".into()))?;
    let registered = find(name)?;
    let served = agent::Agent::new(registered, mode).serve(std::path::Path::new(socket));
    served.map_err(|e| Failure::Run(format!("{socket}: {e}")))
}
