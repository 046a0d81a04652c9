//! The program itself, between two network namespaces. Skipped, with the reason, where this machine does not let us make them.
//! Nothing here depends on how fast the machine is; what happens at which moment is tested on a clock of the tests' own
//! (`src/engine/tests.rs`).

use playpath_link::{BernoulliConfig, DropTailConfig, EcnField, Link, LinkConfig, LossConfig, Packet, QueueConfig};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Rate, Ratio, Time};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time;

/// How long the slowest machine may take for what takes milliseconds.
const PATIENCE: time::Duration = time::Duration::from_secs(60);

/// A network namespace that lasts as long as this value.
struct Namespace(Child);

impl Namespace {
    /// `None`, with a word on standard error, where it is not allowed.
    fn new() -> Option<Namespace> {
        if !PathBuf::from("/dev/net/tun").exists() {
            eprintln!("skipped: /dev/net/tun is missing");
            return None;
        }
        let mut child = Command::new("unshare")
            .args(["--net", "sh", "-c", "echo ready; exec sleep 600"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        if line.trim() != "ready" {
            let _ = child.wait();
            eprintln!("skipped: this machine does not let us make network namespaces");
            return None;
        }
        Some(Namespace(child))
    }

    fn file(&self) -> File {
        File::open(format!("/proc/{}/ns/net", self.0.id())).expect("the namespace of a live process")
    }

    /// A socket inside, bound to `address`. It stays there, whichever thread uses it.
    fn socket(&self, address: &str) -> UdpSocket {
        let (file, address) = (self.file(), address.to_string());
        std::thread::spawn(move || {
            // Only this thread moves.
            let network = rustix::thread::LinkNameSpaceType::Network;
            rustix::thread::move_into_link_name_space(file.as_fd(), Some(network)).expect("setns");
            let socket = UdpSocket::bind(address).expect("the address is set");
            socket.set_read_timeout(Some(PATIENCE)).expect("a valid time");
            socket
        })
        .join()
        .expect("the thread")
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The emulator between two namespaces.
struct Bed {
    server: Namespace,
    client: Namespace,
    emulator: Option<Child>,
    output: BufReader<std::process::ChildStdout>,
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_playpath-emulator"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A file of this test alone.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("playpath-emulator-{}-{name}", std::process::id()))
}

/// A configuration with the one path `keys`.
fn config(keys: Value, server: Value, client: Value, run: Value) -> Value {
    json!({
        "scenario": { "path": [keys], "traffic": [{ "kind": "bulk" }] },
        "ends": [{ "path": "p", "server": server, "client": client }],
        "run": run,
    })
}

impl Bed {
    /// Start with one path that `keys` describe; `None` where namespaces are not allowed.
    fn start(name: &str, mut keys: Value, options: Value) -> Option<Bed> {
        let (server, client) = (Namespace::new()?, Namespace::new()?);
        keys["name"] = json!("p");
        let config = config(
            keys,
            json!({ "namespace": server.0.id(), "device": "pp0", "address": "10.99.0.1" }),
            json!({ "namespace": client.0.id(), "device": "pp0", "address": "10.99.0.2" }),
            options,
        );
        let file = scratch(name);
        std::fs::write(&file, config.to_string()).expect("a temporary file");
        let mut emulator = program().arg(&file).stdin(Stdio::piped()).spawn().expect("the program");
        let mut output = BufReader::new(emulator.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        std::fs::remove_file(&file).expect("it is there");
        if line.is_empty() {
            let problem = emulator.wait_with_output().expect("it ran").stderr;
            let problem = String::from_utf8(problem).expect("text");
            if problem.contains("not permitted") || problem.contains("denied") {
                eprintln!("skipped: {problem}");
                return None;
            }
            panic!("{problem}");
        }
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), json!({ "ready": true, "paths": ["p"] }));
        Some(Bed { server, client, emulator: Some(emulator), output })
    }

    /// A line with a time on its standard input.
    fn say(&mut self, word: &str, nanos: u64) {
        let input = self.emulator.as_mut().and_then(|emulator| emulator.stdin.as_mut()).expect("running");
        writeln!(input, "{word} {nanos}").and_then(|()| input.flush()).expect("it listens");
    }

    /// Close its standard input, and read the report.
    fn end(mut self) -> Value {
        let mut emulator = self.emulator.take().expect("running");
        drop(emulator.stdin.take());
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("text");
        assert!(emulator.wait().expect("it ran").success());
        serde_json::from_str(&text).expect("JSON")
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(emulator) = &mut self.emulator {
            let _ = emulator.kill();
            let _ = emulator.wait();
        }
    }
}

/// The next `count` numbers that arrive at `socket`.
fn received(socket: &UdpSocket, count: usize) -> Vec<u32> {
    let mut buffer = [0; 2000];
    let next = |_| {
        socket.recv(&mut buffer).expect("it arrives, sooner or later");
        u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]])
    };
    (0..count).map(next).collect()
}

fn numbered(number: u32, payload_bytes: usize) -> Vec<u8> {
    let mut packet = number.to_be_bytes().to_vec();
    packet.resize(payload_bytes, 0);
    packet
}

/// A packet never arrives before the delay of the path; how late it is, the report says.
#[test]
fn packets_arrive_after_the_delay() {
    let Some(bed) = Bed::start("delay", json!({ "rate": "100 Mbit/s", "rtt": "40 ms" }), json!({})) else { return };
    let (from, to) = (bed.server.socket("10.99.0.1:7000"), bed.client.socket("10.99.0.2:7000"));
    for number in 0..30 {
        let sent = time::Instant::now();
        from.send_to(&numbered(number, 100), "10.99.0.2:7000").expect("sent");
        assert_eq!(received(&to, 1), [number]);
        assert!(sent.elapsed() >= time::Duration::from_millis(20));
    }
    let report = bed.end();
    let down = &report["paths"][0]["down"];
    assert_eq!((&down["offered_packets"], &down["delivered_packets"]), (&json!(30), &json!(30)));
    // A machine that was later than the path bears (a twentieth of its RTT, and half a packet's time) says so, and the run does
    // not count.
    let p99 = down["lateness_us"]["p99"].as_f64().expect("a number");
    let tolerance = down["tolerance_us"].as_f64().expect("a number");
    assert!((2000.0..2100.0).contains(&tolerance), "{tolerance}");
    assert_eq!(report["valid"], json!(p99 <= tolerance), "{report}");
}

/// A packet for the simulator.
struct Sized(u32);

impl Packet for Sized {
    fn wire_bytes(&self) -> u32 {
        self.0
    }
    fn flow_hash(&self) -> u64 {
        0
    }
    fn ecn(&self) -> EcnField {
        EcnField::NotEct
    }
    fn set_ecn(&mut self, _field: EcnField) {}
}

/// The loss model draws per packet from the stream "link.path.p/down/loss": the emulator loses the very packets that the
/// simulator's link loses with the same seed.
#[test]
fn the_same_seed_loses_the_same_packets_as_in_the_simulator() {
    let mut config = LinkConfig::new("path.p/down", Rate::from_bits_per_sec(1_000_000_000), Duration::ZERO);
    config.queue = QueueConfig::DropTail(DropTailConfig { limit: QueueLimit::Packets(1000) });
    config.loss = LossConfig::Bernoulli(BernoulliConfig { loss: Ratio::new(0.2).expect("a share") });
    let mut link = Link::new(config, RootSeed(5)).expect("valid");
    let survives = |link: &mut Link<Sized>, number: u32| {
        let before = link.ledger().dropped.loss.packets;
        link.handle_packet(Time::from_millis(u64::from(number)), Sized(128));
        link.ledger().dropped.loss.packets == before
    };
    let expected: Vec<u32> = (0..200).filter(|number| survives(&mut link, *number)).collect();
    // Whatever arrives last has pushed all before it through the emulator.
    let sent = expected.last().expect("not all are lost") + 1;
    let lost = sent as usize - expected.len();

    let keys = json!({ "rate": "unlimited", "rtt": "10 ms", "loss": "20 %" });
    let Some(bed) = Bed::start("loss", keys, json!({ "seed": 5 })) else { return };
    let (from, to) = (bed.server.socket("10.99.0.1:7001"), bed.client.socket("10.99.0.2:7001"));
    for number in 0..sent {
        from.send_to(&numbered(number, 100), "10.99.0.2:7001").expect("sent");
    }
    assert_eq!(received(&to, expected.len()), expected);
    let report = bed.end();
    to.set_nonblocking(true).expect("a socket");
    assert!(to.recv(&mut [0; 200]).is_err(), "nothing more");

    let down = &report["paths"][0]["down"];
    assert_eq!(down["dropped_packets"]["loss"], lost);
    assert_eq!(down["requested_loss"], 0.2);
}

/// The word on standard input moves the beginning of the run.
#[test]
fn the_run_begins_when_it_is_told() {
    let Some(mut bed) = Bed::start("begin", json!({ "rate": "1 Mbit/s", "rtt": "2 ms" }), json!({})) else { return };
    let now = playpath_shell::monotonic_nanos();
    bed.say("start", now);
    assert_eq!(bed.end()["start_ns"], now);
}

/// A killed parent takes the emulator with it, whatever the pipes say.
#[test]
fn it_ends_with_its_parent() {
    // Whether this machine lets us make TUN devices at all.
    let Some(bed) = Bed::start("probe", json!({ "rate": "1 Mbit/s", "rtt": "1 ms" }), json!({})) else { return };
    bed.end();
    let server = Namespace::new().expect("another one");
    let file = scratch("orphan");
    let end = |device: &str| json!({ "namespace": server.0.id(), "device": device });
    let path = json!({ "name": "p", "rate": "1 Mbit/s", "rtt": "1 ms" });
    let config = config(path, end("a"), end("b"), json!({}));
    std::fs::write(&file, config.to_string()).expect("a temporary file");
    let mut shell = Command::new("sh")
        .args(["-c", "exec \"$0\" \"$1\" < /dev/null & echo $!; wait", env!("CARGO_BIN_EXE_playpath-emulator")])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    // The shell's word and the emulator's, in either order.
    let lines = BufReader::new(shell.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let (ready, pid): (Vec<String>, Vec<String>) = lines.take(2).partition(|line| line.contains("ready"));
    assert_eq!(ready.len(), 1);
    let pid: u32 = pid[0].parse().expect("a process id");
    std::fs::remove_file(&file).expect("it is there");
    shell.kill().expect("it runs");
    shell.wait().expect("it ran");
    let has_ended = || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
    let deadline = time::Instant::now() + PATIENCE;
    while !has_ended() && time::Instant::now() < deadline {
        std::thread::sleep(time::Duration::from_millis(10));
    }
    assert!(has_ended());
}

/// Status 2 for a wrong configuration, 1 for what cannot be done; one line each.
#[test]
fn faults_are_said_in_one_line() {
    let run = |config: &str| {
        let file = scratch("faults");
        std::fs::write(&file, config).expect("a temporary file");
        let output = program().arg(&file).stdin(Stdio::null()).output().expect("the program");
        std::fs::remove_file(&file).expect("it is there");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    let path = |rate: &str, namespace: &str| {
        let end = |device: &str| json!({ "namespace": namespace, "device": device });
        config(json!({ "name": "p", "rate": rate, "rtt": "1 ms" }), end("a"), end("b"), json!({})).to_string()
    };
    for (config, status, expected) in [
        ("{".to_string(), 2, "not a configuration: "),
        ("{}".to_string(), 2, "missing field `scenario`"),
        (path("1", "x"), 2, "`scenario`: `path[0].rate`: "),
        (path("1 Mbit/s", "no-such-namespace"), 1, "namespace no-such-namespace: No such file"),
    ] {
        let (code, message) = run(&config);
        assert_eq!(code, Some(status), "{message}");
        assert!(message.contains(expected) && message.trim_end().lines().count() == 1, "{message}");
    }
    let usage = program().output().expect("the program");
    assert_eq!(usage.status.code(), Some(2));
}
