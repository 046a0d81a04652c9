//! The loop over a UDP socket: receive datagrams, send the server's, sleep until the next timer. Datagrams of one size to one client
//! are sent in one call (GSO) and received likewise (GRO), with `quinn-udp`.

use crate::options::Arguments;
use crate::quic::server::Server;
use crate::quic::session::Envelope;
use crate::run::{Clock, Logs, Serves, announce, create, drive, write_record};
use crate::secrets::Random;
use playpath_emulator::sys;
use playpath_shell::Failure;
use playpath_transport::Ecn;
use playpath_transport::quic::qlog::MakeLog;
use playpath_units::Time;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;

/// Calls of the socket before timers get their turn.
const BATCH: usize = 16;
const MAX_BYTES: usize = 65_535;
/// Socket buffer size requested from the kernel, bytes: several round trips of a fast client.
const SOCKET_BUFFER: usize = 4 << 20;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (settings, address) = arguments.quic_settings().map_err(Failure::Input)?;
    let store = arguments.store().map_err(Failure::Input)?;
    let identity = arguments.identity().map_err(Failure::Input)?;
    let spki = identity.spki.clone();
    let tls = identity.into_tls().map_err(Failure::Input)?;
    let signals = sys::termination_signals().map_err(|error| Failure::run(format!("signals: {error}")))?;
    let logs = Logs::open(arguments)?;
    arguments.record.as_deref().map(create).transpose()?;
    let qlogs = arguments.qlog.as_deref().map(logs_in).transpose()?;
    let socket = UdpSocket::bind(address).map_err(|error| refused(address, &error))?;
    let state =
        UdpSocketState::new(UdpSockRef::from(&socket)).map_err(|error| Failure::run(format!("UDP: {error}")))?;
    // Smaller buffers lose datagrams under load, which is no fault.
    let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
    let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
    let _ = sys::set_min_timer_slack();
    // Each file on its way has a descriptor; where they run out, 503 says so.
    let _ = sys::raise_file_limit();
    let url = format!("https://{}:{}/", arguments.name, address.port());
    announce(&json!({
        "ready": true,
        "url": url,
        "sender": settings.sender.name,
        "spki": spki,
        "chromium": chromium(&arguments.name, address, &spki, &url),
    }))?;
    let stdin = sys::stdin_pipe();
    let mut server = Server::new(settings, store, tls, Box::new(Random));
    (server.parameters, server.policy, server.qlogs) = (arguments.app_parameters(), arguments.policy(), qlogs);
    if arguments.record.is_some() {
        server.record(arguments.sample, address);
    }
    let buffer = vec![0; MAX_BYTES * BATCH_SIZE];
    let (clock, out) = (Clock::start(), Vec::new());
    let mut looped = Loop { server, socket, state, logs, clock, buffer, out, write_errors: 0 };
    drive(&mut looped, &signals, stdin.as_ref())?;
    looped.end(arguments.record.as_deref())
}

/// A file for each connection in `folder`, which is made if it is not there.
fn logs_in(folder: &Path) -> Result<MakeLog, Failure> {
    let refused = |why: String| Failure::Input(format!("--qlog {}: {why}", folder.display()));
    if folder.exists() && !folder.is_dir() {
        return Err(refused("not a folder; the logs go into one, which is made if it is not there".into()));
    }
    std::fs::create_dir_all(folder).map_err(|error| refused(error.to_string()))?;
    let folder = folder.to_path_buf();
    Ok(Box::new(move |name| {
        let file = File::create(folder.join(format!("{name}.sqlog"))).ok()?;
        Some(Box::new(BufWriter::new(file)))
    }))
}

/// Why there is no socket: an address of another machine is the user's mistake, a port that is taken is not.
fn refused(address: SocketAddr, error: &io::Error) -> Failure {
    let ip = address.ip();
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => Failure::Input(format!("--address {ip}: not an address of this machine")),
        _ => Failure::Run(format!("UDP {address}: {error}")),
    }
}

/// A line that starts Chromium so that it takes this certificate and begins with QUIC.
fn chromium(name: &str, address: SocketAddr, spki: &str, url: &str) -> String {
    let host = match address.ip() {
        ip if ip.is_unspecified() => "127.0.0.1".into(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let port = address.port();
    format!(
        "chromium --user-data-dir=\"$(mktemp -d)\" --host-resolver-rules='MAP {name} {host}' \
         --origin-to-force-quic-on={name}:{port} --ignore-certificate-errors-spki-list={spki} {url}"
    )
}

struct Loop {
    server: Server,
    socket: UdpSocket,
    state: UdpSocketState,
    logs: Logs,
    clock: Clock,
    buffer: Vec<u8>,
    /// Datagrams that leave in one call.
    out: Vec<u8>,
    /// Calls that the socket refused.
    write_errors: u64,
}

impl Serves for Loop {
    fn source(&self) -> &impl AsFd {
        &self.socket
    }
    fn clock(&self) -> &Clock {
        &self.clock
    }
    fn handle_timeout(&mut self) {
        self.server.handle_timeout(self.clock.now());
        self.flush();
    }
    fn poll_timeout(&self) -> Time {
        self.server.poll_timeout()
    }

    fn read(&mut self) -> Result<(), Failure> {
        for _ in 0..BATCH {
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slices: Vec<IoSliceMut> = self.buffer.chunks_mut(MAX_BYTES).map(IoSliceMut::new).collect();
            let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // An ICMP error about an earlier datagram is no reason to stop.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(Failure::run(format!("UDP: {error}"))),
            };
            let now = self.clock.now();
            for (meta, slice) in metas.iter().zip(&mut slices).take(count) {
                let envelope = Envelope { remote: meta.addr, local: meta.dst_ip, ecn: codepoint(meta.ecn) };
                for datagram in slice[..meta.len].chunks_mut(meta.stride.max(1)) {
                    self.server.handle_datagram(now, envelope, datagram);
                }
            }
            self.flush();
        }
        Ok(())
    }
}

impl Loop {
    fn end(mut self, record: Option<&Path>) -> Result<(), Failure> {
        let now = self.clock.now();
        let recorder = self.server.clients.take_record(now);
        self.server.close_all(now);
        self.flush();
        write_record(record, recorder, (&self.clock, self.write_errors))
    }

    /// Send all that may leave, in runs of datagrams that one call takes.
    fn flush(&mut self) {
        let now = self.clock.now();
        let most = self.state.max_gso_segments().max(1);
        let mut run: Option<Run> = None;
        loop {
            let start = self.out.len();
            let envelope = self.server.poll_datagram(now, &mut self.out);
            let length = self.out.len() - start;
            if let (Some(run), Some(envelope)) = (&run, envelope)
                && run.takes(envelope, (start, length), most)
            {
                continue;
            }
            if let Some(run) = run.take() {
                self.send(&run, start);
            }
            self.out.drain(..start);
            let Some(envelope) = envelope else { break };
            run = Some(Run { envelope, size: length });
        }
        self.logs.write(&mut self.server.clients);
    }

    /// A datagram that the socket does not take is lost, as on any network.
    fn send(&mut self, run: &Run, length: usize) {
        let mut sent = self.send_from(run.envelope.local, run, length);
        // 255.255.255.255 is where a datagram may come to, but no source. `quinn-udp` takes the refusal for that of a network card
        // without segmentation offload, and would do without that and ECN for good.
        if run.envelope.local.is_some() && sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
        {
            sent = UdpSocketState::new(UdpSockRef::from(&self.socket)).and_then(|state| {
                self.state = state;
                self.send_from(None, run, length)
            });
        }
        // What an ICMP message said of a client that is gone is no refusal.
        self.write_errors += u64::from(sent.is_err_and(|error| error.kind() != io::ErrorKind::ConnectionRefused));
    }

    fn send_from(&self, src_ip: Option<IpAddr>, run: &Run, length: usize) -> io::Result<()> {
        let transmit = Transmit {
            destination: run.envelope.remote,
            ecn: EcnCodepoint::from_bits(run.envelope.ecn as u8),
            contents: &self.out[..length],
            segment_size: (length > run.size).then_some(run.size),
            src_ip,
        };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }
}

/// Datagrams that leave in one call: all of one size, but the last, which may be shorter.
struct Run {
    envelope: Envelope,
    size: usize,
}

impl Run {
    /// One more of `length` bytes may follow the `before` bytes that there are.
    fn takes(&self, envelope: Envelope, (before, length): (usize, usize), most: usize) -> bool {
        let is_same = envelope == self.envelope;
        let is_open = before % self.size == 0 && before / self.size < most;
        is_same && is_open && length <= self.size && before + length <= MAX_BYTES - 28
    }
}

fn codepoint(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
