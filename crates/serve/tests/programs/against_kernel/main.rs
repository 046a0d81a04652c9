//! Our TCP against the kernel's, both ways: downloads and uploads under settings drawn from a seed, over a TUN device with loss,
//! reordering, duplication and jitter. Every byte must arrive (SHA-256), nothing may stall, no connection may be reset. Half of the
//! draws begin so that sequence numbers pass 2^32 in mid-download.
//!
//! Inside a network namespace of its own, as root:
//!
//! - `against_kernel FIRST_SEED COUNT`: a JSON line for each draw; exit status 1 if one was wrong.
//! - `against_kernel FIRST_SEED COUNT --mptcp`: the same with MPTCP to two addresses. Data sequence numbers pass a multiple of 2^32, where
//!   the four bytes of our DATA_ACKs begin anew.
//! - `against_kernel FIRST_SEED COUNT --checksums`: MPTCP whose client asks for checksums; in two draws of three the second path alters
//!   data under a TCP checksum that fits, which ends it (RFC 8684 section 3.7), and the data comes over the first.
//! - `against_kernel --wrap`: one MPTCP connection whose data sequence numbers pass 2^64, after 49 MB.
//!
//! `tests/testbed/test_wire.py` runs a few, docs/manual/wire.md says what many gave.

mod network;

use network::Network;
use playpath_serve::device::Device;
use playpath_serve::secrets::{Random, Secrets};
use playpath_serve::server::Server;
use playpath_serve::settings::{Limits, Settings, of_tcp, sender};
use playpath_serve::store::Store;
use playpath_shell::monotonic_nanos;
use playpath_units::random::{RootSeed, Stream};
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_send_buffer_size, set_socket_timeout};
use rustix::net::{AddressFamily, SocketType, ipproto, socket};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Wall;

/// The second one is announced to MPTCP clients.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 201, 1), Ipv4Addr::new(10, 77, 201, 3)];
const PORT: u16 = 8080;
const FILE_BYTES: usize = 3 << 20;
/// The longest that a transfer may stand still: several timeouts of a second in a row.
const PATIENCE: Wall = Wall::from_secs(40);

/// A key whose first data sequence number (the last 64 bits of its SHA-256, RFC 8684 section 3.1) is 48 658 550 below 2^64: the first
/// one so near among 0, 1, 2, …
const WRAP_KEY: u64 = 0x1_9920_48ca;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let has_checksums = words.iter().any(|word| word == "--checksums");
    let is_mptcp = has_checksums || words.iter().any(|word| word == "--mptcp");
    let draws: Vec<Draw> = match numbers[..] {
        [first, count] => (first..first + count).map(|seed| Draw::new(seed, is_mptcp, has_checksums)).collect(),
        [] if words == ["--wrap"] => vec![Draw::past_the_last_number()],
        _ => {
            eprintln!("against_kernel FIRST_SEED COUNT [--mptcp | --checksums], or against_kernel --wrap");
            return ExitCode::from(2);
        }
    };
    if is_mptcp || numbers.is_empty() {
        let Ok(()) = keep_to_mptcp(has_checksums) else { return ExitCode::from(2) };
    }
    let folder = std::env::temp_dir().join(format!("playpath-against-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the file");
    let bytes: Arc<Vec<u8>> =
        Arc::new((0..FILE_BYTES as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect());
    std::fs::write(folder.join("file"), &*bytes).expect("room for the file");
    let mut wrong = 0;
    for draw in draws {
        let outcome = draw.run(&folder, &bytes);
        wrong += u32::from(outcome.is_err());
        let result = outcome.unwrap_or_else(|why| json!({ "wrong": why }));
        println!("{}", json!({ "seed": draw.seed, "draw": draw.describe(), "result": result }));
    }
    let _ = std::fs::remove_dir_all(folder);
    if wrong > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Stock clients accept no ADD_ADDR, and take TCP for a while where the second SYN was lost, too.
fn keep_to_mptcp(has_checksums: bool) -> std::io::Result<()> {
    let limits = ["mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"];
    std::process::Command::new("ip").args(limits).status()?;
    std::fs::write("/proc/sys/net/mptcp/checksum_enabled", if has_checksums { "1" } else { "0" })?;
    std::fs::write("/proc/sys/net/mptcp/syn_retrans_before_tcp_fallback", "100")
}

/// Where sequence numbers begin.
#[derive(Clone, Copy)]
enum Start {
    /// Anywhere.
    Random,
    /// So many bytes, a third on each path, before 2^32; data so many bytes before a multiple of it.
    Before(u32),
    /// Data at the first number of this key.
    Key(u64),
}

impl Secrets for Start {
    fn isn(&mut self) -> rustix::io::Result<u32> {
        match self {
            Start::Before(bytes) => Ok((*bytes / 3).wrapping_neg()),
            _ => Random.isn(),
        }
    }

    fn key(&mut self) -> rustix::io::Result<u64> {
        match self {
            Start::Before(bytes) => loop {
                let key = Random.key()?;
                if (first_data_seq(key) as u32).wrapping_neg() <= *bytes {
                    return Ok(key);
                }
            },
            Start::Key(key) => Ok(*key),
            Start::Random => Random.key(),
        }
    }
}

fn first_data_seq(key: u64) -> u64 {
    Sha256::digest(key.to_be_bytes())[24..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What one run is like.
struct Draw {
    seed: u64,
    is_mptcp: bool,
    start: Start,
    /// How often the third connection downloads.
    repeats: u32,
    mtu: u32,
    cc: &'static str,
    own: Value,
    kernel: Vec<(&'static str, String)>,
    receive_buffer: u64,
    kernel_buffer: Option<u32>,
    loss: [f64; 2],
    duplication: f64,
    reordering: f64,
    delay_us: u64,
    jitter_us: u64,
    /// Share of the data packets of the second path that are altered.
    alteration: f64,
    range: (usize, usize),
    upload: usize,
    /// The reader sleeps now and then, so that windows close.
    is_slow: bool,
}

fn stream(seed: u64, name: &str) -> Stream {
    RootSeed(seed).stream(name)
}

impl Draw {
    fn new(seed: u64, is_mptcp: bool, has_checksums: bool) -> Draw {
        let mut random = stream(seed, "draw");
        let mut flip = |share: f64| random.uniform() < share;
        let flags: Vec<bool> = [0.7, 0.8, 0.3, 0.8, 0.7, 0.8, 0.3, 0.3, 0.3, 0.3, 0.3].map(&mut flip).to_vec();
        let mut between = |low: f64, high: f64| low + (high - low) * random.uniform();
        let ccs = ["cubic", "newreno", "bbr", "bbr3", "vegas", "copa", "westwood", "compound"];
        let start = between(0.0, FILE_BYTES as f64 - 1.0) as usize;
        let mtus = [576.0, 1280.0, 1492.0, 1500.0, 1500.0, 4000.0, 9000.0];
        let on = |yes: bool| String::from(if yes { "1" } else { "0" });
        let mut draw = Draw {
            seed,
            is_mptcp,
            start: Start::Random,
            repeats: 1,
            mtu: mtus[between(0.0, 7.0) as usize] as u32,
            cc: ccs[between(0.0, ccs.len() as f64) as usize],
            own: json!({ "timestamps": flags[0], "sack": flags[1], "ecn": flags[2] }),
            kernel: vec![
                ("tcp_timestamps", on(flags[3])),
                ("tcp_window_scaling", on(flags[4])),
                ("tcp_sack", on(flags[5])),
                ("tcp_ecn", on(flags[6])),
                ("tcp_congestion_control", if flags[7] { "reno".into() } else { "bbr".into() }),
            ],
            receive_buffer: between(65_536.0, 1e6) as u64,
            kernel_buffer: flags[8].then(|| between(4_000.0, 60_000.0) as u32),
            loss: [between(0.0, 0.04), between(0.0, 0.04)],
            duplication: if flags[9] { between(0.0, 0.05) } else { 0.0 },
            reordering: if flags[10] { between(0.0, 0.1) } else { 0.0 },
            delay_us: between(0.0, 8_000.0) as u64,
            jitter_us: between(0.0, 500.0) as u64,
            alteration: if has_checksums && !seed.is_multiple_of(3) { 0.02 } else { 0.0 },
            range: (start, (start + between(1.0, 1.5e6) as usize).min(FILE_BYTES)),
            upload: between(1.0, 1e6) as usize,
            is_slow: flags[7] && flags[8],
        };
        // Linux's MPTCP drops nothing of what came out of order: where a small buffer is full of it, and small packets take two and a half
        // times their bytes there, the next packet in order finds no room, ever.
        draw.kernel_buffer = draw.kernel_buffer.filter(|_| !is_mptcp || draw.mtu >= 1280);
        let bytes = between(0.3, 0.9) * (draw.range.1 - draw.range.0) as f64;
        // A key for fewer bytes is not found at once.
        if between(0.0, 1.0) < 0.5 && bytes > 60_000.0 {
            draw.start = Start::Before(bytes as u32);
        }
        draw
    }

    fn past_the_last_number() -> Draw {
        let distance = first_data_seq(WRAP_KEY).wrapping_neg();
        Draw {
            mtu: 1500,
            cc: "cubic",
            own: json!({}),
            kernel: vec![],
            receive_buffer: 1 << 20,
            kernel_buffer: None,
            loss: [0.0; 2],
            duplication: 0.0,
            reordering: 0.0,
            delay_us: 0,
            jitter_us: 0,
            range: (0, FILE_BYTES),
            upload: 1000,
            is_slow: false,
            start: Start::Key(WRAP_KEY),
            repeats: (distance / FILE_BYTES as u64) as u32 + 2,
            ..Draw::new(0, true, false)
        }
    }

    fn describe(&self) -> Value {
        json!({
            "mtu": self.mtu, "cc": self.cc, "own": self.own, "receive_buffer": self.receive_buffer,
            "kernel": self.kernel.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(),
            "kernel_buffer": self.kernel_buffer, "loss": self.loss, "duplication": self.duplication,
            "reordering": self.reordering, "delay_us": self.delay_us, "jitter_us": self.jitter_us, "alteration": self.alteration,
            "download": self.range.1 - self.range.0, "upload": self.upload, "is_slow": self.is_slow,
            "mptcp": self.is_mptcp, "wraps": !matches!(self.start, Start::Random),
        })
    }

    /// Seconds, or what was wrong.
    fn run(&self, folder: &std::path::Path, bytes: &Arc<Vec<u8>>) -> Result<Value, String> {
        let said = |error: std::io::Error| error.to_string();
        let addresses: Vec<IpAddr> = ADDRESSES[..1 + usize::from(self.is_mptcp)].iter().map(|a| (*a).into()).collect();
        let sender = sender(&self.own, Some(self.cc), None)?;
        let (tcp, _) = of_tcp(&sender)?;
        let settings = Settings {
            sender,
            tcp,
            addresses: addresses.clone(),
            port: PORT,
            mtu: self.mtu,
            limits: Limits { receive_buffer: self.receive_buffer, ..Limits::default() },
            mptcp: self.is_mptcp,
            tls: None,
            alt_svc: None,
        };
        let server = Server::with_secrets(settings, Store::open(folder).map_err(said)?, Box::new(self.start));
        let device = Device::open("against0", &addresses, self.mtu).map_err(said)?;
        for (name, value) in &self.kernel {
            std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value).map_err(|e| format!("{name}: {e}"))?;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let mut network = Network::new(self, server, device);
        let flag = Arc::clone(&is_over);
        let network = std::thread::spawn(move || {
            network.run(&flag);
            network
        });
        let start = monotonic_nanos();
        let found = self.transfers(bytes);
        is_over.store(true, Ordering::Relaxed);
        let network = network.join().map_err(|_| "the server panicked")?;
        found?;
        network.judge(self)?;
        Ok(json!({
            "seconds": (monotonic_nanos() - start) as f64 * 1e-9, "packets": network.packets, "lost": network.lost,
            "paths": network.paths.0, "altered": network.altered,
        }))
    }

    /// A download and an upload at the same time, each over a connection of its own, then both in turn over one.
    fn transfers(&self, bytes: &Arc<Vec<u8>>) -> Result<(), String> {
        let (down, up) = std::thread::scope(|scope| {
            let up = scope.spawn(|| self.upload(&mut self.connect()?, bytes));
            let down = self.connect().and_then(|mut stream| self.download(&mut stream, bytes));
            (down, up.join().unwrap_or_else(|_| Err("the uploading thread panicked".into())))
        });
        down.map_err(|why| format!("download: {why}"))?;
        up.map_err(|why| format!("upload: {why}"))?;
        let mut stream = self.connect()?;
        self.upload(&mut stream, &bytes[..self.upload.min(1000)].to_vec().into())?;
        for _ in 0..self.repeats {
            self.download(&mut stream, bytes)?;
        }
        stream.shutdown(std::net::Shutdown::Write).map_err(|e| format!("half-close: {e}"))?;
        match stream.read(&mut [0]) {
            Ok(0) => Ok(()),
            other => Err(format!("no clean end: {other:?}")),
        }
    }

    fn connect(&self) -> Result<TcpStream, String> {
        let said = |error: rustix::io::Errno| format!("connect: {error}");
        let protocol = if self.is_mptcp { ipproto::MPTCP } else { ipproto::TCP };
        let stream = socket(AddressFamily::INET, SocketType::STREAM, Some(protocol)).map_err(said)?;
        for way in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&stream, way, Some(PATIENCE)).map_err(said)?;
        }
        rustix::net::connect(&stream, &SocketAddr::from((ADDRESSES[0], PORT))).map_err(said)?;
        if let Some(bytes) = self.kernel_buffer {
            set_socket_recv_buffer_size(&stream, bytes as usize).map_err(said)?;
            set_socket_send_buffer_size(&stream, bytes as usize).map_err(said)?;
        }
        Ok(TcpStream::from(stream))
    }

    fn download(&self, stream: &mut TcpStream, bytes: &[u8]) -> Result<(), String> {
        let (from, to) = self.range;
        let request = format!("GET /file HTTP/1.1\r\nHost: a\r\nRange: bytes={from}-{}\r\n\r\n", to - 1);
        stream.write_all(request.as_bytes()).map_err(|e| format!("request: {e}"))?;
        read_head(stream, "206")?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 30_000];
        let mut left = to - from;
        while left > 0 {
            let room = left.min(buffer.len());
            let count = stream.read(&mut buffer[..room]).map_err(|e| format!("{left} bytes left: {e}"))?;
            if count == 0 {
                return Err(format!("ended with {left} bytes left"));
            }
            hash.update(&buffer[..count]);
            left -= count;
            if self.is_slow && left % 7 == 0 {
                std::thread::sleep(Wall::from_millis(20));
            }
        }
        if hash.finalize() == Sha256::digest(&bytes[from..to]) { Ok(()) } else { Err("wrong bytes".into()) }
    }

    fn upload(&self, stream: &mut TcpStream, bytes: &Arc<Vec<u8>>) -> Result<(), String> {
        let body = &bytes[..self.upload.min(bytes.len())];
        let head = format!("PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).map_err(|e| format!("sending: {e}"))?;
        let length = read_head(stream, "200")?;
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).map_err(|e| format!("answer: {e}"))?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
        let hash: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
        if answer == json!({ "bytes": body.len(), "sha256": hash }) {
            Ok(())
        } else {
            Err(format!("wrong bytes: {answer}"))
        }
    }
}

/// The length of the body that follows.
fn read_head(stream: &mut TcpStream, status: &str) -> Result<usize, String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).map_err(|e| format!("head: {e}"))?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    if !head.starts_with(&format!("HTTP/1.1 {status}")) {
        return Err(format!("answered {}", head.lines().next().unwrap_or_default()));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    length.ok_or_else(|| "no length".into())
}
