//! The program itself, between two network namespaces. Skipped, with the reason, where this machine does not let us make them.
#![allow(unsafe_code, reason = "a test enters the namespaces to open its sockets there")]

use playpath_link::{Link, LinkConfig, LossConfig, Packet, QueueConfig};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, QueueLimit, Rate, Ratio, Time};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time;

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
            .args(["--net", "sh", "-c", "echo ready; exec sleep 60"])
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
            // SAFETY: no pointers are passed; the file is open. Only this thread moves.
            assert_eq!(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) }, 0, "setns");
            let socket = UdpSocket::bind(address).expect("the address is set");
            socket.set_read_timeout(Some(time::Duration::from_millis(500))).expect("a valid time");
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

impl Bed {
    /// Start with one path that `keys` describe; `None` where namespaces are not allowed.
    fn start(name: &str, mut keys: Value, options: Value) -> Option<Bed> {
        let (server, client) = (Namespace::new()?, Namespace::new()?);
        keys["name"] = json!("p");
        keys["server"] = json!({ "namespace": server.0.id(), "device": "pp0", "address": "10.99.0.1" });
        keys["client"] = json!({ "namespace": client.0.id(), "device": "pp0", "address": "10.99.0.2" });
        let mut config = options;
        config["paths"] = json!([keys]);
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

fn monotonic_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Numbers that arrive at `socket` until nothing comes for half a second.
fn received(socket: &UdpSocket) -> Vec<u32> {
    let mut buffer = [0; 2000];
    std::iter::from_fn(|| {
        socket.recv(&mut buffer).ok().map(|_| u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]))
    })
    .collect()
}

fn numbered(number: u32, payload_bytes: usize) -> Vec<u8> {
    let mut packet = number.to_be_bytes().to_vec();
    packet.resize(payload_bytes, 0);
    packet
}

/// 30 packets, one each 5 ms, over 20 ms: none arrives before 20 ms; half of them within 10 ms more, also on a busy machine.
#[test]
fn packets_arrive_after_the_delay() {
    let Some(bed) = Bed::start("delay", json!({ "rate": "100 Mbit/s", "rtt": "40 ms" }), json!({})) else { return };
    let (from, to) = (bed.server.socket("10.99.0.1:7000"), bed.client.socket("10.99.0.2:7000"));
    let mut delays = Vec::new();
    for number in 0..30 {
        let sent = time::Instant::now();
        from.send_to(&numbered(number, 100), "10.99.0.2:7000").expect("sent");
        let mut buffer = [0; 200];
        to.recv(&mut buffer).expect("arrived");
        delays.push(sent.elapsed().as_secs_f64() * 1e3);
    }
    delays.sort_by(f64::total_cmp);
    assert!(delays[0] >= 20.0, "{delays:?}");
    assert!(delays[15] < 30.0, "{delays:?}");
    let report = bed.end();
    let down = &report["paths"][0]["down"];
    assert_eq!(down["delivered_packets"], 30);
    assert!(down["transit_ms"]["p50"].as_f64().expect("a number") >= 20.0);
    assert_eq!(
        report["devices"],
        json!([
            { "device": "pp0", "tx_dropped": 0, "write_errors": 0 },
            { "device": "pp0", "tx_dropped": 0, "write_errors": 0 },
        ])
    );
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
    fn is_ecn_capable(&self) -> bool {
        false
    }
    fn mark_ce(&mut self) {}
}

/// The loss model draws per packet from the stream "link.path.p/down/loss": the emulator loses the very packets that the
/// simulator's link loses with the same seed.
#[test]
fn the_same_seed_loses_the_same_packets_as_in_the_simulator() {
    let keys = json!({ "rate": "unlimited", "rtt": "10 ms", "loss": "20 %" });
    let log = scratch("loss.csv");
    let Some(bed) = Bed::start("loss", keys, json!({ "seed": 5, "log": log })) else { return };
    let (from, to) = (bed.server.socket("10.99.0.1:7001"), bed.client.socket("10.99.0.2:7001"));
    for number in 0..200 {
        from.send_to(&numbered(number, 100), "10.99.0.2:7001").expect("sent");
        std::thread::sleep(time::Duration::from_micros(300));
    }
    let arrived = received(&to);
    let report = bed.end();

    let mut config = LinkConfig::new("path.p/down", Rate::from_bits_per_sec(1_000_000_000), Duration::ZERO);
    config.queue = QueueConfig::DropTail { limit: QueueLimit::Packets(1000) };
    config.loss = LossConfig::Bernoulli { loss: Ratio::new(0.2).expect("a share") };
    let mut link = Link::new(config, RootSeed(5)).expect("valid");
    let survives = |link: &mut Link<Sized>, number: u32| {
        let before = link.ledger().dropped.loss.packets;
        link.handle_packet(Time::from_millis(u64::from(number)), Sized(128));
        link.ledger().dropped.loss.packets == before
    };
    let expected: Vec<u32> = (0..200).filter(|number| survives(&mut link, *number)).collect();
    assert_eq!(arrived, expected);

    let down = &report["paths"][0]["down"];
    assert_eq!(down["dropped_packets"]["loss"], 200 - expected.len());
    assert_eq!(down["requested_loss"], 0.2);
    let text = std::fs::read_to_string(&log).expect("the log");
    std::fs::remove_file(&log).expect("it is there");
    assert_eq!(text.lines().next(), Some("id,path,direction,bytes,in_ns,verdict,due_ns,out_ns"));
    assert_eq!(
        text.lines().filter(|line| line.contains("p,down,128,") && line.contains(",delivered,")).count(),
        arrived.len()
    );
    assert_eq!(text.lines().filter(|line| line.ends_with(",loss,,")).count(), 200 - arrived.len());
}

/// 40 packets of 1278 B (1250 B of payload) at once into 1 Mbit/s with room for 20: one in service, 20 waiting, 19 or so dropped (the first
/// ones may have left before the last came); the rest takes 10.224 ms each.
#[test]
fn a_burst_fills_the_queue_and_drains_at_the_rate() {
    let keys = json!({ "rate": "1 Mbit/s", "rtt": "2 ms", "queue": "20 packets" });
    let Some(bed) = Bed::start("burst", keys, json!({})) else { return };
    let (from, to) = (bed.server.socket("10.99.0.1:7002"), bed.client.socket("10.99.0.2:7002"));
    let start = time::Instant::now();
    (0..40).for_each(|number| {
        from.send_to(&numbered(number, 1250), "10.99.0.2:7002").expect("sent");
    });
    let arrived = received(&to);
    let seconds = start.elapsed().as_secs_f64() - 0.5; // the last wait for more
    assert!((21..=23).contains(&arrived.len()), "{arrived:?}");
    assert!(arrived.is_sorted());
    let expected = arrived.len() as f64 * 0.010_224 + 0.001;
    assert!(seconds > expected - 0.001 && seconds < expected + 0.2, "{seconds} s instead of {expected} s");
    let down = bed.end()["paths"][0]["down"].clone();
    assert_eq!(down["dropped_packets"]["queue_full"], 40 - arrived.len());
    assert_eq!(down["max_queue_packets"], 20);
    let achieved = down["achieved_rate_bps"].as_f64().expect("a number");
    assert!((achieved / 1e6 - 1.0).abs() < 0.05, "{achieved}");
}

/// Preparation takes two packets. Then the run begins: the pattern of losses starts anew, and an outage from its first moment on for 300 ms
/// refuses what comes, though the emulator has been there for longer.
#[test]
fn losses_and_outages_begin_with_the_run() {
    let keys = json!({ "rate": "unlimited", "rtt": "10 ms", "loss": { "kind": "pattern", "content": "01" },
        "outage": { "from": "100 ms", "until": "400 ms" } });
    let Some(mut bed) = Bed::start("begin", keys, json!({ "tolerance": "1 s" })) else { return };
    let (receiver, sender) = (bed.client.socket("10.99.0.2:9000"), bed.server.socket("10.99.0.1:9001"));
    let send = |number| sender.send_to(&numbered(number, 100), "10.99.0.2:9000").expect("room");
    std::thread::sleep(time::Duration::from_millis(450));
    send(1);
    send(2); // lost: number 2 of the pattern
    assert_eq!(received(&receiver), [1]);
    bed.say("start", monotonic_nanos() + 20_000_000);
    std::thread::sleep(time::Duration::from_millis(60));
    send(3);
    send(4); // number 2 again
    std::thread::sleep(time::Duration::from_millis(150));
    send(5); // 210 ms after the word, 190 ms after the start: in the outage
    assert_eq!(received(&receiver), [3]);
    send(6); // past it: `received` waits for half a second
    assert_eq!(received(&receiver), [6]);
    let report = bed.end();
    let link = &report["links"][0];
    assert_eq!(link["offered_packets"], 4);
    assert_eq!(link["delivered_packets"], 2);
    assert_eq!((&link["dropped_packets"]["loss"], &link["dropped_packets"]["outage"]), (&json!(1), &json!(1)));
    let flow = &report["flows"][0];
    // A flow counts all that it sent, before the word too: of 6 packets two losses and one in the outage.
    assert_eq!((&flow["data_packets"], &flow["dropped_data_packets"]), (&json!(6), &json!(3)));
}

/// A killed parent takes the emulator with it, whatever the pipes say.
#[test]
fn it_ends_with_its_parent() {
    let Some(server) = Namespace::new() else { return };
    let file = scratch("orphan");
    let end = |device: &str| json!({ "namespace": server.0.id(), "device": device });
    let path = json!({ "name": "p", "rate": "1 Mbit/s", "rtt": "1 ms", "server": end("a"), "client": end("b") });
    std::fs::write(&file, json!({ "paths": [path] }).to_string()).expect("a temporary file");
    #[expect(
        clippy::zombie_processes,
        reason = "killed and waited for below; a panic in between ends the test's process"
    )]
    let mut shell = Command::new("sh")
        .args(["-c", "exec \"$0\" \"$1\" < /dev/null & echo $!; wait", env!("CARGO_BIN_EXE_playpath-emulator")])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut lines = BufReader::new(shell.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let pid: u32 = lines.next().expect("a line").parse().expect("a process id");
    let ready = lines.next();
    std::fs::remove_file(&file).expect("it is there");
    if ready.is_none() {
        eprintln!("skipped: this machine does not let us make TUN devices");
        return;
    }
    shell.kill().expect("it runs");
    shell.wait().expect("it ran");
    let has_ended = || std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "));
    let deadline = time::Instant::now() + time::Duration::from_secs(5);
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
    let path = |end: &str| {
        json!({ "paths": [{ "name": "p", "rate": "1 Mbit/s", "rtt": "1 ms",
            "server": { "namespace": end, "device": "a" }, "client": { "namespace": end, "device": "b" } }] })
    };
    let mut wrong_trace = path("x");
    wrong_trace["paths"][0]["rate"] = Value::Null;
    wrong_trace["paths"][0]["trace"] = json!("/nowhere/trace");
    for (config, status, expected) in [
        ("{".to_string(), 2, "is not JSON"),
        ("{}".to_string(), 2, "`paths`: is missing or empty"),
        (wrong_trace.to_string(), 2, "`paths[0].trace`: /nowhere/trace: No such file"),
        (path("no-such-namespace").to_string(), 1, "namespace no-such-namespace: No such file"),
    ] {
        let (code, message) = run(&config);
        assert_eq!(code, Some(status), "{message}");
        assert!(message.contains(expected) && message.trim_end().lines().count() == 1, "{message}");
    }
    let usage = program().output().expect("the program");
    assert_eq!(usage.status.code(), Some(2));
}
