//! noq's client, which fetches a file over several paths at once (draft-ietf-quic-multipath-21) from `playpath serve --transport quic`.
//!
//! `two_paths SERVER:PORT /FILE LOCAL…`: a socket on each local address; the paths behind the first are opened when the handshake is done.
//! Prints a JSON line: bytes of the body, their SHA-256, seconds, and the datagrams' bytes that came over each path. A path that is silent
//! for a second is given up. Driven by `tests/testbed/test_wire.py`.
//!
//! `two_paths --film SEGMENTS:SECONDS:BUFFER SERVER:PORT /%.m4s LOCAL…` plays a DASH film of one rung: segments 0, 1, … of so many seconds,
//! one after the other, while less than BUFFER seconds lie ahead; the line tells how long it waited for pictures.

#![expect(clippy::disallowed_methods, reason = "a program on the wall clock")]

#[path = "../trusting/mod.rs"]
mod trusting;

use bytes::BytesMut;
use noq_proto::crypto::rustls::QuicClientConfig;
use noq_proto::{
    ClientConfig, Connection, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, FourTuple, PathStatus, StreamId,
    TransportConfig,
};
use playpath_serve::h3::headers;
use playpath_transport::codec::quic::Reader;
use ring::hmac;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn bound(local: &str) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(format!("{local}:0"))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn ask(connection: &mut Connection, file: &str) -> Result<StreamId, Box<dyn Error>> {
    let fields = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", file)];
    let id = connection.streams().open(Dir::Bi).ok_or("no stream")?;
    connection.send_stream(id).write(&headers(fields.into_iter()))?;
    connection.send_stream(id).finish()?;
    Ok(id)
}

/// What has come of the answer; `true`: all of it.
fn take(connection: &mut Connection, id: StreamId, into: &mut Vec<u8>) -> bool {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return false };
    let is_over = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => into.extend(&chunk.bytes),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    let _ = chunks.finalize();
    is_over
}

/// The DATA frames of an answer.
fn body(answer: &[u8]) -> Option<Vec<u8>> {
    let (mut reader, mut body) = (Reader::new(answer), Vec::new());
    while !reader.is_empty() {
        let (kind, payload) = (reader.varint()?, reader.prefixed()?);
        if kind == 0 {
            body.extend(payload);
        }
    }
    Some(body)
}

/// What is played of it.
struct Film {
    segments: u32,
    length: Duration,
    max_ahead: Duration,
    /// Whole ones that came, and when the last of them will have been shown.
    came: u32,
    empty_at: Option<Instant>,
    waited: Duration,
}

impl Film {
    fn parse(text: &str) -> Option<Film> {
        let mut numbers = text.split(':').map(|number| number.parse::<f64>().ok());
        let mut next = || numbers.next().flatten();
        let (segments, length, max_ahead) = (next()? as u32, next()?, next()?);
        let seconds = Duration::from_secs_f64;
        let (length, max_ahead) = (seconds(length), seconds(max_ahead));
        Some(Film { segments, length, max_ahead, came: 0, empty_at: None, waited: Duration::ZERO })
    }
    /// The next segment may be asked for.
    fn asks_at(&self) -> Option<Instant> {
        let empty_at = self.empty_at?;
        Some(empty_at + self.length - self.max_ahead.max(self.length))
    }
    /// A segment is there; `true`: it was the last.
    fn take(&mut self, now: Instant) -> bool {
        self.came += 1;
        let shown = self.empty_at.unwrap_or(now);
        self.waited += now.saturating_duration_since(shown);
        self.empty_at = Some(shown.max(now) + self.length);
        self.came == self.segments
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "two_paths [--film SEGMENTS:SECONDS:BUFFER] SERVER:PORT /FILE LOCAL…";
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut film, words) = match &words[..] {
        [flag, film, rest @ ..] if flag == "--film" => (Some(Film::parse(film).ok_or(USAGE)?), rest),
        rest => (None, rest),
    };
    let [server, file, locals @ ..] = words else { return Err(USAGE.into()) };
    let patience = PATIENCE + film.as_ref().map_or(Duration::ZERO, |film| film.length * film.segments);
    let named =
        |film: &Option<Film>| film.as_ref().map_or(file.clone(), |film| file.replace('%', &film.came.to_string()));
    let server: SocketAddr = server.parse()?;
    let sockets = locals.iter().map(|local| bound(local)).collect::<Result<Vec<_>, _>>()?;
    let way = |index: usize| Ok::<_, std::io::Error>(FourTuple::new(server, Some(sockets[index].local_addr()?.ip())));

    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(locals.len() as u32 + 1);
    transport.default_path_keep_alive_interval(Some(Duration::from_millis(200)));
    transport.default_path_max_idle_timeout(Some(Duration::from_secs(1)));
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(trusting::tls())?));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::new(
        Arc::new(EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &[1; 32])))),
        None,
        false,
    );
    let start = Instant::now();
    let (handle, mut connection) = endpoint.connect(start, config, server, "localhost")?;

    let (mut stream, mut answer, mut came, mut opened) = (None, Vec::new(), vec![0; locals.len()], 1);
    let (mut buffer, mut out) = ([0; 65_536], Vec::new());
    loop {
        let now = Instant::now();
        for (index, socket) in sockets.iter().enumerate() {
            while let Ok((length, _)) = socket.recv_from(&mut buffer) {
                came[index] += length;
                let bytes = BytesMut::from(&buffer[..length]);
                if let Some(DatagramEvent::ConnectionEvent(_, event)) =
                    endpoint.handle(now, way(index)?, None, bytes, &mut Vec::new())
                {
                    connection.handle_event(event);
                }
            }
        }
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => stream = Some(ask(&mut connection, &named(&film))?),
                Event::ConnectionLost { reason } => return Err(reason.into()),
                _ => {}
            }
        }
        // The server has to give ids first.
        while !connection.is_handshaking()
            && opened < sockets.len()
            && connection.open_path(way(opened)?, PathStatus::Available, now).is_ok()
        {
            opened += 1;
        }
        let asks_at = film.as_ref().and_then(Film::asks_at).filter(|_| stream.is_none());
        if asks_at.is_some_and(|at| at <= now) {
            answer.clear();
            stream = Some(ask(&mut connection, &named(&film))?);
        }
        let mut is_over = stream.is_some_and(|id| take(&mut connection, id, &mut answer));
        if let Some(film) = film.as_mut().filter(|_| is_over) {
            stream = None;
            is_over = film.take(now);
        }
        while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut out) {
            let by = sockets.iter().position(|socket| socket.local_addr().ok().map(|own| own.ip()) == transmit.src_ip);
            // What a dead interface does not take is lost.
            let _ = sockets[by.unwrap_or(0)].send_to(&out[..transmit.size], transmit.destination);
            out.clear();
        }
        if is_over {
            break;
        }
        if start.elapsed() > patience {
            return Err(format!("{} bytes after {patience:?}, over {came:?}", answer.len()).into());
        }
        let due = [connection.poll_timeout(), film.as_ref().and_then(Film::asks_at).filter(|_| stream.is_none())];
        let wait = due.into_iter().flatten().min().map_or(PATIENCE, |due| due.saturating_duration_since(now));
        let mut waiting: Vec<_> = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        poll(&mut waiting, Some(&Timespec::try_from(wait)?))?;
    }
    let body = body(&answer).ok_or("the answer's frames cannot be read")?;
    let digest = ring::digest::digest(&ring::digest::SHA256, &body);
    let hash: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let waited = film.map(|film| film.waited.as_secs_f64());
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}",
        json!({ "bytes": body.len(), "sha256": hash, "seconds": seconds, "came": came, "waited_s": waited })
    );
    Ok(())
}
