//! The loop over a UDP socket: datagrams in, what the server answers, sleep until the next timer. Datagrams of one size to one client
//! leave in one call (GSO), and come so (GRO), by `quinn-udp`.

use crate::options::Arguments;
use crate::quic::identity::Identity;
use crate::quic::server::Server;
use crate::quic::session::Envelope;
use crate::run::{Woken, create, log_line, wait};
use crate::secrets::Random;
use crate::store::Store;
use playpath_emulator::sys;
use playpath_shell::{Failure, monotonic_nanos, say, since_epoch_s};
use playpath_transport::Ecn;
use playpath_units::Time;
use playpath_video::cmcd::collected;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use serde_json::json;
use std::fs::File;
use std::io::{self, IoSliceMut, Write};
use std::net::{SocketAddr, UdpSocket};

/// Calls of the socket before timers get their turn.
const BATCH: usize = 16;
/// Bytes of one call.
const MOST_BYTES: usize = 65_535;
/// What is asked of the kernel for a socket's buffers: several round trips of a fast client.
const SOCKET_BUFFER: usize = 4 << 20;

/// Serve until told to end.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (settings, address) = arguments.quic_settings().map_err(Failure::Input)?;
    let root = arguments.root.display();
    let store = Store::open(&arguments.root).map_err(|error| Failure::Input(format!("{root}: {error}")))?;
    let identity = match (&arguments.certificate, &arguments.key) {
        (Some(certificate), Some(key)) => Identity::load(certificate, key),
        _ => Identity::made(std::slice::from_ref(&arguments.name)),
    };
    let identity = identity.map_err(Failure::Input)?;
    let spki = identity.spki.clone();
    let tls = identity.into_tls().map_err(Failure::Input)?;
    let signals = sys::termination_signals().map_err(|error| Failure::run(format!("signals: {error}")))?;
    let log = arguments.access_log.as_deref().map(create).transpose()?;
    let reports = arguments.reports.as_deref().map(create).transpose()?;
    let socket = UdpSocket::bind(address).map_err(|error| Failure::Run(format!("UDP {address}: {error}")))?;
    let state =
        UdpSocketState::new(UdpSockRef::from(&socket)).map_err(|error| Failure::run(format!("UDP: {error}")))?;
    // Smaller buffers lose datagrams under load, which is no fault.
    let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
    let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
    let _ = sys::set_least_timer_slack();
    let url = format!("https://{}:{}/", arguments.name, address.port());
    say(&json!({
        "ready": true,
        "url": url,
        "sender": settings.sender.name,
        "spki": spki,
        "chromium": chromium(&arguments.name, address, &spki, &url),
    }))?;
    let stdin = sys::stdin_pipe();
    let mut server = Server::new(settings, store, tls, Box::new(Random));
    arguments.told().into_iter().for_each(|told| server.tell(told));
    arguments.policy().into_iter().for_each(|policy| server.tell_players(policy));
    let mut looped = Loop { server, socket, state, log, reports, start_nanos: monotonic_nanos() };
    looped.run(|socket, timeout| wait(socket, &signals, stdin.as_ref(), timeout))
}

/// A line that starts Chromium so that it takes this certificate and begins with QUIC.
fn chromium(name: &str, address: SocketAddr, spki: &str, url: &str) -> String {
    let host = if address.ip().is_unspecified() { "127.0.0.1".into() } else { address.ip().to_string() };
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
    log: Option<File>,
    reports: Option<File>,
    start_nanos: u64,
}

impl Loop {
    fn now(&self) -> Time {
        Time::from_nanos(monotonic_nanos() - self.start_nanos)
    }

    fn run(&mut self, wait: impl Fn(&UdpSocket, Option<u64>) -> Result<Woken, Failure>) -> Result<(), Failure> {
        let mut buffer = vec![0; MOST_BYTES * BATCH_SIZE];
        loop {
            let now = self.now();
            self.server.handle_timeout(now);
            self.flush();
            let due = self.server.poll_timeout();
            let timeout = (due != Time::MAX).then(|| due.saturating_since(self.now()).as_nanos());
            match wait(&self.socket, timeout)? {
                Woken::End => break,
                Woken::Time => {}
                Woken::Packet => self.read(&mut buffer)?,
            }
        }
        self.server.close_all(self.now());
        self.flush();
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        for _ in 0..BATCH {
            let mut metas = [RecvMeta::default(); BATCH_SIZE];
            let mut slices: Vec<IoSliceMut> = buffer.chunks_mut(MOST_BYTES).map(IoSliceMut::new).collect();
            let count = match self.state.recv(UdpSockRef::from(&self.socket), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // What an ICMP message said of an answer before is no reason to stop.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(Failure::run(format!("UDP: {error}"))),
            };
            let now = self.now();
            for (meta, slice) in metas.iter().zip(&mut slices).take(count) {
                let envelope = Envelope { remote: meta.addr, ecn: codepoint(meta.ecn) };
                for datagram in slice[..meta.len].chunks_mut(meta.stride.max(1)) {
                    self.server.handle_datagram(now, envelope, datagram);
                }
            }
            self.flush();
        }
        Ok(())
    }

    /// Send all that may leave, in runs of datagrams that one call takes.
    fn flush(&mut self) {
        let now = self.now();
        let most = self.state.max_gso_segments().max(1);
        let mut run: Option<Run> = None;
        let mut out = Vec::with_capacity(MOST_BYTES);
        while let Some(envelope) = self.server.poll_datagram(now, &mut out) {
            if let Some(run) = &mut run
                && run.takes(envelope, out.len(), most)
            {
                run.bytes.append(&mut out);
                run.is_full |= run.bytes.len() % run.size != 0;
                continue;
            }
            let next = Run { envelope, size: out.len(), is_full: false, bytes: std::mem::take(&mut out) };
            run.replace(next).into_iter().for_each(|run| self.send(&run));
        }
        run.into_iter().for_each(|run| self.send(&run));
        self.write_logs();
    }

    /// A datagram that the socket does not take is lost, as on any network.
    fn send(&self, run: &Run) {
        let transmit = Transmit {
            destination: run.envelope.remote,
            ecn: EcnCodepoint::from_bits(run.envelope.ecn as u8),
            contents: &run.bytes,
            segment_size: (run.bytes.len() > run.size).then_some(run.size),
            src_ip: None,
        };
        let _ = self.state.try_send(UdpSockRef::from(&self.socket), &transmit);
    }

    fn write_logs(&mut self) {
        while let Some(access) = self.server.poll_access() {
            let line = log_line(&access);
            self.log.iter_mut().for_each(|log| drop(writeln!(log, "{line}")));
        }
        while let Some((peer, report)) = self.server.poll_report() {
            let line = collected(since_epoch_s(), peer, &report);
            self.reports.iter_mut().for_each(|reports| drop(writeln!(reports, "{line}")));
        }
    }
}

/// Datagrams that leave in one call: all of one size, but the last, which may be shorter.
struct Run {
    envelope: Envelope,
    size: usize,
    is_full: bool,
    bytes: Vec<u8>,
}

impl Run {
    fn takes(&self, envelope: Envelope, length: usize, most: usize) -> bool {
        let is_same = envelope.remote == self.envelope.remote && envelope.ecn == self.envelope.ecn;
        let fits = self.bytes.len() + length <= MOST_BYTES - 28 && self.bytes.len() / self.size < most;
        is_same && fits && !self.is_full && length <= self.size
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
