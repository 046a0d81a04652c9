//! One client: the endpoint, TLS, keys, and HTTP/3 on the streams.
//!
//! Sans-IO: datagrams and time come in, datagrams go out. The endpoint decides what leaves when; here it gets bytes.

use crate::conversation::Access;
use crate::h3::request::{Outcome, Request, priority, put_answer};
use crate::h3::{Broken, CONTROL_PREFACE, Control, NO_ERROR};
use crate::http::Answer;
use crate::incoming::Incoming;
use crate::outgoing::{Outgoing, Source};
use crate::quic::keys::Keyring;
use crate::store::Store;
use playpath_cc::{AppParameters, CongestionControl};
use playpath_transport::Ecn;
use playpath_transport::codec::quic::{self as codec, Data, Header, OfClient, Opened};
use playpath_transport::quic::config::Config;
use playpath_transport::quic::packet::{Address, Datagram, FrameList, Kind, Packet, Space};
use playpath_transport::quic::receiving::Arrival;
use playpath_transport::quic::{Connection, Event, Reason};
use playpath_units::Time;
use playpath_video::ServerPolicy;
use playpath_video::cmcd::{Cmcd, Limits as Believed, ServerView, parse, report_lines};
use playpath_video::cmsd::Cmsd;
use rustls::ServerConfig;
use rustls::quic::{KeyChange, ServerConnection, Version};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes of TLS that are kept out of order, as the endpoint keeps them (RFC 9000 §7.5).
const CRYPTO_BUFFER: u64 = 65_536;
/// Addresses of one client that are told apart: one that moves more often is not followed.
const MOST_ADDRESSES: usize = 16;
/// CRYPTO_ERROR: a TLS alert as an error code (RFC 9000 §20.1).
const CRYPTO_ERROR: u64 = 0x100;

/// Bytes of one space's CRYPTO stream.
#[derive(Default)]
struct Crypto {
    incoming: Incoming,
    read: u64,
    outgoing: Vec<u8>,
}

/// A stream of the connection.
#[derive(Default)]
struct Stream {
    incoming: Incoming,
    /// Bytes handed on.
    read: u64,
    outgoing: Outgoing,
    /// Bytes handed to the endpoint.
    written: u64,
    is_finished: bool,
    request: Request,
    /// When its first byte came, and its answer for the log.
    asked: Option<Time>,
    access: Option<Access>,
}

/// How a datagram came, or how it goes.
#[derive(Clone, Copy, Debug)]
pub struct Envelope {
    /// The client.
    pub remote: SocketAddr,
    /// ECN codepoint.
    pub ecn: Ecn,
}

/// See the module.
pub struct Session {
    endpoint: Connection,
    tls: ServerConnection,
    keys: Keyring,
    crypto: [Crypto; 3],
    own: [u8; 8],
    peer: Vec<u8>,
    addresses: Vec<SocketAddr>,
    streams: BTreeMap<u64, Stream>,
    /// The next stream of each kind that the client may open, by the two low bits of its id.
    next_streams: [u64; 4],
    control: Control,
    /// What the client told of itself.
    told: Option<OfClient>,
    closes_as_application: bool,
    /// When the first datagram came.
    pub opened: Time,
    view: ServerView,
    session: Option<String>,
    policy: Option<ServerPolicy>,
    reports: Vec<String>,
    accesses: Vec<Access>,
    requests: u64,
}

impl Session {
    /// For a client whose first packet has these connection ids: where it went to, and what the client calls itself. `None`: TLS
    /// refuses its own settings.
    pub fn new(
        now: Time,
        (config, control): (Config, Box<dyn CongestionControl>),
        tls: &Arc<ServerConfig>,
        (original, own, peer): (&[u8], [u8; 8], &[u8]),
    ) -> Option<Session> {
        let config = Config { cid_bytes: own.len() as u32, peer_cid_bytes: peer.len() as u32, ..config };
        let parameters = codec::put_parameters(&config.parameters(), config.max_uni_streams, (original, &own));
        let tls = ServerConnection::new(tls.clone(), Version::V1, parameters).ok()?;
        Some(Session {
            endpoint: Connection::listen_with_tls(config, control),
            tls,
            keys: Keyring::new(original),
            crypto: <[Crypto; 3]>::default(),
            own,
            peer: peer.to_vec(),
            addresses: Vec::new(),
            streams: BTreeMap::new(),
            next_streams: [0, 1, 2, 3],
            control: Control::default(),
            told: None,
            closes_as_application: false,
            opened: now,
            view: ServerView::new(Believed::default()),
            session: None,
            policy: None,
            reports: Vec::new(),
            accesses: Vec::new(),
            requests: 0,
        })
    }

    /// What the control learns of the video.
    pub fn tell(&mut self, now: Time, parameters: AppParameters) {
        self.endpoint.set_app_parameters(now, parameters);
    }

    /// Tell of the server with each file from now on.
    pub fn tell_client(&mut self, policy: ServerPolicy) {
        self.policy = Some(policy);
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Connection {
        &self.endpoint
    }

    /// Requests answered.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Answers that have arrived since the last call.
    pub fn take_accesses(&mut self) -> Vec<Access> {
        std::mem::take(&mut self.accesses)
    }

    /// What the client has reported since the last call, a dictionary in each line.
    pub fn take_reports(&mut self) -> Vec<String> {
        std::mem::take(&mut self.reports)
    }

    /// Timers.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.endpoint.poll_timeout() <= now {
            self.endpoint.handle_timeout(now);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub fn poll_timeout(&self) -> Time {
        self.endpoint.poll_timeout()
    }

    /// Nothing more will happen.
    pub fn is_over(&self) -> bool {
        self.endpoint.is_closed()
    }

    /// No request is under way.
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty()
    }

    /// End it in order.
    pub fn close(&mut self, now: Time) {
        self.closes_as_application = true;
        self.endpoint.close(now, NO_ERROR);
    }

    /// A datagram arrived; its packets are opened in place.
    pub fn handle_datagram(&mut self, now: Time, envelope: Envelope, bytes: &mut [u8], store: &Store) {
        let Some(from) = self.address(envelope.remote) else { return };
        let arrival = Arrival { from, ecn: envelope.ecn, bytes: bytes.len() as u32 };
        if !self.endpoint.handle_arrival(arrival) {
            return;
        }
        let mut at = 0;
        while at < bytes.len()
            && let Some(header) = Header::parse(&bytes[at..], self.own.len())
        {
            let (kind, number_at, end) = match header {
                Header::Long { kind, number_at, end, .. } => (kind, number_at, end),
                Header::Short { number_at, .. } => (Kind::OneRtt, number_at, bytes.len() - at),
                Header::Unknown { .. } => return,
            };
            let packet = &mut bytes[at..at + end];
            at += end;
            if self.endpoint.opens(kind) {
                self.handle_packet(now, kind, packet, number_at, arrival);
            }
        }
        self.serve(now, store);
    }

    fn handle_packet(&mut self, now: Time, kind: Kind, packet: &mut [u8], number_at: usize, arrival: Arrival) {
        let Some(clear) = self.keys.open(kind, packet, number_at) else { return };
        if !clear.is_clean {
            return self.endpoint.fail(now, codec::PROTOCOL_VIOLATION);
        }
        let payload = &packet[clear.payload];
        let opened = match codec::read_frames(payload) {
            Ok(opened) => opened,
            Err(code) => return self.endpoint.fail(now, code),
        };
        let record = Packet {
            kind,
            number: clear.number,
            ack: opened.ack,
            frames: FrameList::default(),
            padding: 0,
            bytes: packet.len() as u32,
            parameters: None,
        };
        self.endpoint.handle_opened(now, &record, &opened.frames, arrival);
        self.keep_data(kind.space(), payload, &opened);
        self.speak_tls(now, kind.space());
    }

    /// What the endpoint has let in gets its bytes; what it has not has closed the connection.
    fn keep_data(&mut self, space: Space, payload: &[u8], opened: &Opened) {
        if self.endpoint.is_closing() {
            return;
        }
        for (whose, offset, range) in &opened.data {
            let bytes = &payload[range.clone()];
            match whose {
                Data::Crypto => {
                    let crypto = &mut self.crypto[space as usize];
                    if offset + bytes.len() as u64 <= crypto.read + CRYPTO_BUFFER {
                        crypto.incoming.store(*offset, bytes);
                    }
                }
                Data::Stream(id) => {
                    let next = &mut self.next_streams[(id & 3) as usize];
                    // The endpoint has opened all below it (RFC 9000 §3.2).
                    while *next <= *id {
                        self.streams.insert(*next, Stream::default());
                        *next += 4;
                    }
                    if let Some(stream) = self.streams.get_mut(id) {
                        stream.incoming.store(*offset, bytes);
                    }
                }
            }
        }
    }

    /// What came in order goes to TLS, and what it says goes into CRYPTO frames.
    fn speak_tls(&mut self, now: Time, space: Space) {
        let crypto = &mut self.crypto[space as usize];
        let ready = self.endpoint.crypto_in_order(space).saturating_sub(crypto.read);
        if ready == 0 {
            return;
        }
        let was_handshaking = self.tls.is_handshaking();
        let taken = self.tls.read_hs(crypto.incoming.peek(ready));
        crypto.incoming.consume(ready);
        crypto.read += ready;
        if taken.is_err() {
            let alert = self.tls.alert().map_or(40, u8::from); // handshake_failure
            return self.endpoint.fail(now, CRYPTO_ERROR + u64::from(alert));
        }
        if self.told.is_none() && !self.take_parameters(now) {
            return;
        }
        if self.tls.is_handshaking() {
            return self.write_tls(space);
        }
        if was_handshaking {
            self.endpoint.install_keys(Space::Data, true, true);
            self.endpoint.complete_handshake(now);
            self.open_control();
        }
        self.write_tls(Space::Data); // tickets
    }

    fn write_tls(&mut self, mut space: Space) {
        loop {
            let crypto = &mut self.crypto[space as usize];
            let before = crypto.outgoing.len();
            let change = self.tls.write_hs(&mut crypto.outgoing);
            let more = crypto.outgoing.len() - before;
            self.endpoint.write_crypto(space, more as u64);
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    space = Space::Handshake;
                    self.keys.install(space, keys, None);
                    self.endpoint.install_keys(space, true, true);
                }
                // What the client sends with them counts once it has proved who it is (RFC 9001 §5.7).
                Some(KeyChange::OneRtt { keys, next }) => {
                    space = Space::Data;
                    self.keys.install(space, keys, Some(next));
                    self.endpoint.install_keys(space, true, false);
                }
                None if more == 0 => return,
                None => {}
            }
        }
    }

    /// The client's parameters, once TLS has them; `false`: they are wrong.
    fn take_parameters(&mut self, now: Time) -> bool {
        let Some(bytes) = self.tls.quic_transport_parameters() else { return true };
        self.told = codec::read_parameters(bytes, &self.peer);
        match self.told {
            Some(found) => self.endpoint.set_peer_parameters(now, found.common, found.max_datagram),
            None => self.endpoint.fail(now, codec::TRANSPORT_PARAMETER_ERROR),
        }
        self.told.is_some()
    }

    /// The control stream (RFC 9114 §6.2.1). A client that allows none is one that HTTP/3 forbids; it gets none.
    fn open_control(&mut self) {
        let needed = CONTROL_PREFACE.len() as u64;
        if self.told.is_some_and(|told| told.max_uni_streams > 0 && told.max_uni_data >= needed) {
            let id = self.endpoint.open_uni();
            let mut stream = Stream::default();
            stream.outgoing.push(CONTROL_PREFACE.len() as u64, Source::Bytes(CONTROL_PREFACE[..].into()));
            self.streams.insert(id, stream);
        }
    }

    /// Read requests and write answers as far as both go.
    pub fn serve(&mut self, now: Time, store: &Store) {
        let mut readable = Vec::new();
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Readable(id) => readable.push(id),
                Event::Closed(reason) => self.end_streams(now, reason),
                _ => {}
            }
        }
        for id in readable {
            if let Err(Broken(code)) = self.read_stream(now, id, store) {
                self.closes_as_application = true;
                self.endpoint.close(now, code);
                return;
            }
        }
        self.write_streams(now);
    }

    /// A client that closes without an error has what it was sent: it need not acknowledge the last packets any more.
    fn end_streams(&mut self, now: Time, reason: Reason) {
        for (id, stream) in std::mem::take(&mut self.streams) {
            let access = stream.access.filter(|_| reason == Reason::Peer(NO_ERROR) && self.endpoint.is_sent(id));
            self.accesses.extend(access.map(|access| access.arrived(now)));
        }
    }

    fn read_stream(&mut self, now: Time, id: u64, store: &Store) -> Result<(), Broken> {
        loop {
            let readable = self.endpoint.readable(id);
            let Some(Stream { incoming, request, asked, read, .. }) = self.streams.get_mut(&id) else {
                self.endpoint.read(now, id, readable);
                return Ok(());
            };
            asked.get_or_insert(now);
            let input = incoming.peek(readable);
            let is_end = self.endpoint.ends_after(id, readable);
            let consumed = if id & 2 != 0 {
                let begin = *read == 0;
                let (consumed, update) = self.control.handle(id, (begin, is_end && input.is_empty()), input)?;
                if let Some(update) = update {
                    self.endpoint.set_priority(update.stream, priority(&update.value));
                }
                consumed
            } else {
                let (consumed, outcome) = request.handle(input, store, SystemTime::now())?;
                let is_cut = is_end && consumed as u64 == readable && request.is_cut();
                match outcome {
                    Outcome::Answer(answer) => self.answer(now, id, *answer),
                    Outcome::Malformed => self.give_up(id),
                    Outcome::Nothing if is_cut => self.give_up(id),
                    Outcome::Nothing => {}
                }
                consumed
            };
            if consumed == 0 {
                return Ok(());
            }
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.incoming.consume(consumed as u64);
                stream.read += consumed as u64;
            }
            self.endpoint.read(now, id, consumed as u64);
        }
    }

    fn give_up(&mut self, id: u64) {
        self.endpoint.reset(id);
        self.streams.remove(&id);
    }

    fn answer(&mut self, now: Time, id: u64, mut answer: Answer) {
        self.requests += 1;
        if let Some((cmcd, body_bytes)) = answer.told.take() {
            self.session.clone_from(&cmcd.sid);
            let told = self.view.handle_request(&cmcd, Some(body_bytes), &mut Vec::new());
            told.into_iter().for_each(|told| self.tell(now, told));
        }
        if let Some(reports) = answer.reports.take() {
            self.take_reports_of(now, reports);
        }
        self.add_server_data(&mut answer);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(priority) = stream.request.priority {
            self.endpoint.set_priority(id, priority);
        }
        let body_bytes = answer.body.as_ref().map_or(0, |(len, _)| *len);
        let Some(remote) = self.addresses.first().copied() else { return };
        let (request, status) = (std::mem::take(&mut answer.request), answer.status);
        let asked = stream.asked.unwrap_or(now);
        stream.access = Some(Access::new(remote, request, (status, body_bytes), asked));
        put_answer(answer, &mut stream.outgoing);
    }

    fn take_reports_of(&mut self, now: Time, reports: String) {
        for line in report_lines(&reports) {
            let cmcd: Cmcd = parse(line).cmcd;
            if cmcd.sid.is_some() && cmcd.sid == self.session {
                let told = self.view.handle_report(&cmcd, &mut Vec::new());
                told.into_iter().for_each(|told| self.tell(now, told));
            }
        }
        self.reports.push(reports);
    }

    /// What the endpoint knows of the way to the client, with a file (CTA-5006).
    fn add_server_data(&self, answer: &mut Answer) {
        let Some(policy) = self.policy.filter(|_| matches!(answer.body, Some((_, Source::File(..))))) else { return };
        let info = self.endpoint.info();
        let value = Cmsd::of_server(std::iter::once((info.delivery_rate, info.rtt)), policy).dynamic();
        if !value.is_empty() {
            answer.add("CMSD-Dynamic", &value);
            answer.add("Access-Control-Expose-Headers", "CMSD-Dynamic");
        }
    }

    /// Answers go to the endpoint as it takes them; what has arrived is let go.
    fn write_streams(&mut self, now: Time) {
        let mut over = Vec::new();
        for (&id, stream) in &mut self.streams {
            let wanted = stream.outgoing.end() - stream.written;
            if wanted > 0 {
                stream.written += self.endpoint.write(id, wanted);
            }
            let is_answered = stream.access.is_some() && stream.written == stream.outgoing.end();
            if is_answered && !stream.is_finished {
                self.endpoint.finish(id);
                stream.is_finished = true;
            }
            match self.endpoint.acked_up_to(id) {
                Some(acked) => stream.outgoing.release(acked),
                None => over.push(id),
            }
        }
        for id in over {
            if let Some(access) = self.streams.remove(&id).and_then(|stream| stream.access) {
                self.accesses.push(access.arrived(now));
            }
        }
    }

    /// The next datagram is appended to `out`; `None`: there is none now.
    pub fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Envelope> {
        loop {
            let datagram = self.endpoint.poll_transmit(now)?;
            let start = out.len();
            if self.put_datagram(&datagram, out).is_some() {
                let remote = *self.addresses.get(usize::from(datagram.to.port))?;
                return Some(Envelope { remote, ecn: datagram.ecn });
            }
            out.truncate(start); // it counts as lost
        }
    }

    fn put_datagram(&mut self, datagram: &Datagram, out: &mut Vec<u8>) -> Option<()> {
        for packet in datagram.packets() {
            self.put_packet(packet, out)?;
        }
        Some(())
    }

    fn put_packet(&mut self, packet: &Packet, out: &mut Vec<u8>) -> Option<()> {
        let start = out.len();
        let number_bytes = self.endpoint.number_bytes(packet);
        codec::put_header(out, packet, (&self.peer, &self.own), (number_bytes, self.keys.phase()));
        let number_at = out.len() - number_bytes as usize;
        let overhead = packet.kind.overhead((self.peer.len() as u32, self.own.len() as u32), number_bytes);
        let length = (packet.bytes - overhead) as usize;
        let (crypto, streams) = (&self.crypto[packet.kind.space() as usize], &self.streams);
        let written =
            codec::put_frames(out, packet, (length, self.closes_as_application), |whose, offset, bytes| match whose {
                Data::Crypto => copy(&crypto.outgoing, offset, bytes),
                Data::Stream(id) => {
                    streams.get(&id).and_then(|stream| stream.outgoing.read(offset, bytes).ok()).ok_or(id)
                }
            });
        if let Err(id) = written {
            self.endpoint.reset(id); // the file is not what it was: nothing right can be sent any more
            return None;
        }
        self.keys.seal(packet.kind, out, start, (packet.number, number_at, number_bytes as usize))
    }

    /// The endpoint knows addresses by number.
    fn address(&mut self, remote: SocketAddr) -> Option<Address> {
        let known = self.addresses.iter().position(|address| *address == remote);
        let port = match known {
            Some(port) => port,
            None if self.addresses.len() == MOST_ADDRESSES => return None,
            None => {
                self.addresses.push(remote);
                self.addresses.len() - 1
            }
        };
        // The same host for the endpoint if it is the same IP address: another port alone is a NAT's doing (RFC 9000 §9.4).
        let host = self.addresses.iter().position(|address| address.ip() == remote.ip())?;
        Some(Address { host: host as u16, port: port as u16 })
    }

    /// Where the client was first.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.addresses.first().copied()
    }
}

fn copy(from: &[u8], offset: u64, to: &mut [u8]) -> Result<(), u64> {
    let range: Range<usize> = offset as usize..offset as usize + to.len();
    to.copy_from_slice(from.get(range).ok_or(offset)?);
    Ok(())
}
