//! The loop: read a packet from the device, send the server's answers, sleep until the next timer.

use crate::clients::Clients;
use crate::device::Device;
use crate::http_connection::Access;
use crate::options::{Arguments, Carrier};
use crate::record::Recorder;
use crate::server::Server;
use playpath_emulator::sys;
use playpath_shell::{Failure, monotonic_nanos, say, since_epoch_s};
use playpath_units::Time;
use playpath_video::cmcd::collected;
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// Packets read before timers get their turn.
const BATCH: usize = 64;
const MAX_PACKET: usize = 65_536;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.transport == Carrier::Quic {
        return crate::quic::run::run(arguments);
    }
    let (settings, spki) = arguments.settings().map_err(Failure::Input)?;
    let store = arguments.store().map_err(Failure::Input)?;
    let signals = sys::termination_signals().map_err(|error| Failure::run(format!("signals: {error}")))?;
    let logs = Logs::open(arguments)?;
    arguments.record.as_deref().map(create).transpose()?;
    let device = Device::open(arguments.device(), &settings.addresses, arguments.mtu)
        .map_err(|error| Failure::Run(format!("device {}: {error}{}", arguments.device(), hint(&error))))?;
    // Late timers are no fault, only less exact.
    let _ = sys::set_min_timer_slack();
    // Each file on its way has a descriptor; where they run out, 503 says so.
    let _ = sys::raise_file_limit();
    let scheme = if spki.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}:{}/", settings.addresses[0], settings.port);
    let mut message =
        json!({ "ready": true, "device": arguments.device(), "url": url, "sender": settings.sender.name });
    spki.into_iter().for_each(|spki| message["spki"] = spki.into());
    announce(&message)?;
    let stdin = sys::stdin_pipe();
    let mut server = Server::new(settings, store);
    (server.parameters, server.policy) = (arguments.app_parameters(), arguments.policy());
    if arguments.record.is_some() {
        server.record(arguments.sample);
    }
    let out = Vec::with_capacity(MAX_PACKET);
    let mut looped = Loop { server, device, logs, clock: Clock::start(), buffer: vec![0; MAX_PACKET], out };
    drive(&mut looped, &signals, stdin.as_ref())?;
    looped.end(arguments.record.as_deref())
}

/// Announce the address: at a terminal as text that can be copied, otherwise as a line of JSON for the program that started the server.
pub(crate) fn announce(message: &Value) -> Result<(), Failure> {
    if io::stdout().is_terminal() { say(&in_words(message)) } else { say(message) }
}

fn in_words(message: &Value) -> String {
    let text = |key: &str| message[key].as_str();
    let (sender, url) = (text("sender").unwrap_or_default(), text("url").unwrap_or_default());
    let watch = text("chromium").map_or(String::new(), |line| format!("\nwatch it in Chromium:\n\n  {line}\n"));
    format!("{sender} serves at {url} (Ctrl-C ends it){watch}")
}

pub(crate) fn create(file: &Path) -> Result<File, Failure> {
    File::create(file).map_err(|error| Failure::Input(format!("{}: {error}", file.display())))
}

/// The logs that are written while the server runs.
pub(crate) struct Logs {
    accesses: Option<File>,
    reports: Option<File>,
}

impl Logs {
    /// Open the requested logs. Error: one cannot be created.
    pub fn open(arguments: &Arguments) -> Result<Logs, Failure> {
        Ok(Logs {
            accesses: arguments.access_log.as_deref().map(create).transpose()?,
            reports: arguments.reports.as_deref().map(create).transpose()?,
        })
    }

    /// Write what clients got and reported. A log that takes no more is no reason to stop serving.
    pub fn write<C>(&mut self, clients: &mut Clients<C>) {
        for access in clients.accesses.drain(..) {
            self.accesses.iter_mut().for_each(|log| drop(writeln!(log, "{}", log_line(&access))));
        }
        for (peer, report) in clients.reports.drain(..) {
            let line = collected(since_epoch_s(), peer, &report);
            self.reports.iter_mut().for_each(|log| drop(writeln!(log, "{line}")));
        }
    }
}

/// Time since the start.
pub(crate) struct Clock {
    start_nanos: u64,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { start_nanos: monotonic_nanos() }
    }
    pub fn now(&self) -> Time {
        Time::from_nanos(monotonic_nanos() - self.start_nanos)
    }
}

/// A server with the device or socket that its packets come from.
pub(crate) trait Serves {
    fn source(&self) -> &impl AsFd;
    fn clock(&self) -> &Clock;
    /// Timers that are due, and what leaves then.
    fn handle_timeout(&mut self);
    fn poll_timeout(&self) -> Time;
    fn read(&mut self) -> Result<(), Failure>;
}

/// Serve until a signal or the end of standard input says that it is over.
pub(crate) fn drive(served: &mut impl Serves, signals: &impl AsFd, stdin: Option<&File>) -> Result<(), Failure> {
    loop {
        served.handle_timeout();
        let due = served.poll_timeout();
        let timeout = (due != Time::MAX).then(|| due.saturating_since(served.clock().now()).as_nanos());
        match wait(served.source(), signals, stdin, timeout)? {
            WakeReason::Signal => return Ok(()),
            WakeReason::InputEnd => {
                eprintln!(
                    "playpath-serve: standard input has ended, so the server ends; to keep it running, start it with < /dev/null"
                );
                return Ok(());
            }
            WakeReason::Time => {}
            WakeReason::Packet => served.read()?,
        }
    }
}

/// A line of the access log in the format of the test bed's nginx (python/playpath/real/testbed/server.py).
fn log_line(access: &Access) -> Value {
    json!({
        "time": since_epoch_s(),
        "peer": access.remote.ip().to_string(),
        "port": access.remote.port(),
        "request": access.request,
        "status": access.status,
        "bytes": access.body_bytes,
        "took": access.took.as_secs_f64(),
    })
}

enum WakeReason {
    Packet,
    Time,
    Signal,
    InputEnd,
}

struct Loop {
    server: Server,
    device: Device,
    logs: Logs,
    clock: Clock,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl Serves for Loop {
    fn source(&self) -> &impl AsFd {
        &self.device
    }
    fn clock(&self) -> &Clock {
        &self.clock
    }
    fn handle_timeout(&mut self) {
        let now = self.clock.now();
        self.server.handle_timeout(now);
        self.flush(now);
    }
    fn poll_timeout(&self) -> Time {
        self.server.poll_timeout()
    }

    /// Each packet is answered before the next is read, as in the simulator.
    fn read(&mut self) -> Result<(), Failure> {
        for _ in 0..BATCH {
            let read = self.device.read(&mut self.buffer);
            let Some(length) = read.map_err(|error| Failure::run(format!("device: {error}")))? else { break };
            let now = self.clock.now();
            self.server.handle_packet(now, &self.buffer[..length]);
            self.flush(now);
        }
        Ok(())
    }
}

impl Loop {
    fn flush(&mut self, now: Time) {
        while self.server.poll_packet(now, &mut self.out) {
            self.device.write(&self.out);
        }
        self.logs.write(&mut self.server.clients);
    }

    /// Stop: close all connections and write the record.
    fn end(mut self, record: Option<&Path>) -> Result<(), Failure> {
        let now = self.clock.now();
        let recorder = self.server.clients.take_record(now);
        self.server.abort_all(now);
        self.flush(now);
        write_record(record, recorder, (&self.clock, self.device.write_errors))
    }
}

/// Write to the file of `--record`: all recorded series, the start of the clock, and the number of packets that the device or socket
/// refused.
pub(crate) fn write_record(
    file: Option<&Path>,
    recorder: Option<Recorder>,
    (clock, write_errors): (&Clock, u64),
) -> Result<(), Failure> {
    let (Some(file), Some(recorder)) = (file, recorder) else { return Ok(()) };
    let mut report = recorder.to_json();
    report["start_ns"] = json!(clock.start_nanos);
    report["write_errors"] = json!(write_errors);
    std::fs::write(file, report.to_string()).map_err(|error| Failure::Run(format!("{}: {error}", file.display())))
}

/// Until a packet can be read, or a signal or the end of standard input says that it is over.
fn wait(
    source: &impl AsFd,
    signals: &impl AsFd,
    stdin: Option<&File>,
    nanos: Option<u64>,
) -> Result<WakeReason, Failure> {
    let mut files = vec![PollFd::new(source, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
    files.extend(stdin.map(|file| PollFd::new(file, PollFlags::IN)));
    let timeout = nanos.map(playpath_shell::timespec);
    match poll(&mut files, timeout.as_ref()) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(WakeReason::Time),
        Err(error) => return Err(Failure::run(format!("waiting for packets: {}", io::Error::from(error)))),
    }
    let is_ready = |index: usize| files.get(index).is_some_and(|file| !file.revents().is_empty());
    Ok(if is_ready(1) {
        WakeReason::Signal
    } else if is_ready(2) {
        WakeReason::InputEnd
    } else if is_ready(0) {
        WakeReason::Packet
    } else {
        WakeReason::Time
    })
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; to make one needs root (CAP_NET_ADMIN)",
        io::ErrorKind::ResourceBusy => "; another program has it",
        io::ErrorKind::NotFound => "; /dev/net/tun is missing (modprobe tun)",
        _ => "",
    }
}
