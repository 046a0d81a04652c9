//! Assignment of datagrams to clients, admission of clients, and the choice of the next datagram. Sans-IO.
//!
//! Usage: call `handle_datagram` or `handle_timeout`, then `poll_datagram` until `None`, then wait until `poll_timeout`.
//!
//! Nothing grows without bound: clients and half-open ones are counted ([`Limits`]), each may send at most its
//! flow-control windows, and an answer to an address that has not proved itself is at most three times what came from there (RFC 9000
//! §8.1). Above a number of half-open connections, a new client has to prove its address by a Retry before any state is kept for it.

use crate::clients::Clients;
use crate::quic::identity::Tls;
use crate::quic::keys::MAX_PATHS;
use crate::quic::session::{Envelope, Further, Opening, Session};
use crate::quic::tokens::Tokens;
use crate::record::Recorder;
use crate::secrets::Secrets;
use crate::settings::Limits;
use crate::store::Store;
use playpath_cc::AppParameters;
use playpath_scenario::SenderSpec;
use playpath_transport::Ecn;
use playpath_transport::codec::quic::{Header, version_negotiation};
use playpath_transport::quic::config::{Config, FlowWindows};
use playpath_transport::quic::packet::Kind;
use playpath_transport::quic::qlog::{Head, MakeLog, Qlog};
use playpath_units::{Duration, Time};
use playpath_video::ServerPolicy;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// Least UDP payload of a datagram that opens a connection (RFC 9000 §14.1).
pub const MIN_INITIAL: usize = 1200;
/// Least connection id that a client's first packet may go to (§7.2).
const MIN_ORIGINAL: usize = 8;
/// Bytes of own connection ids.
const CID: usize = 8;
/// IPv6 and UDP.
pub const HEADERS: u32 = 48;
/// Answers to strangers that wait to leave; more are not sent.
const MAX_REFUSALS: usize = 64;

pub struct Settings {
    pub sender: SenderSpec,
    /// Settings of its endpoint, as a scenario has them.
    pub endpoint: Config,
    /// UDP payload that the way to every client carries.
    pub largest_datagram: u32,
    pub limits: Limits,
}

impl Settings {
    /// Configuration of the endpoint. Clients send only requests: one fits into a stream's initial window, and memory use stays small.
    fn endpoint(&self) -> Config {
        let flow = FlowWindows {
            connection: 256 << 10,
            stream: 16 << 10,
            max_connection: 1 << 20,
            max_stream: 256 << 10,
            ..self.endpoint.flow
        };
        Config {
            datagram_bytes: self.endpoint.datagram_bytes.min(self.largest_datagram),
            flow,
            max_uni_streams: 8,
            idle_timeout: self.limits.idle_timeout,
            ..self.endpoint
        }
    }
}

pub struct Server {
    settings: Settings,
    store: Store,
    tls: Tls,
    tokens: Tokens,
    secrets: Box<dyn Secrets>,
    pub clients: Clients<Session>,
    /// Own connection ids, and those that clients chose for their first packets.
    cids: HashMap<Vec<u8>, u64>,
    cids_of: HashMap<u64, Vec<Vec<u8>>>,
    refusals: VecDeque<(Envelope, Vec<u8>)>,
    /// Parameters of the video for the congestion control of new connections.
    pub parameters: Option<AppParameters>,
    /// Players are told of the server with each file (CTA-5006).
    pub policy: Option<ServerPolicy>,
    /// Makes a place for the log of the connection whose first packet went to the id with this name.
    pub qlogs: Option<MakeLog>,
}

impl Server {
    pub fn new(settings: Settings, store: Store, tls: Tls, secrets: Box<dyn Secrets>) -> Server {
        Server {
            settings,
            store,
            tokens: Tokens::new(&tls.secret, since_1970()),
            tls,
            secrets,
            clients: Clients::default(),
            cids: HashMap::new(),
            cids_of: HashMap::new(),
            refusals: VecDeque::new(),
            parameters: None,
            policy: None,
            qlogs: None,
        }
    }

    /// Record with a [`Recorder`] at this interval; `local` denotes this end.
    pub fn record(&mut self, interval: Duration, local: SocketAddr) {
        let mut recorder = Recorder::new(interval, self.settings.sender.cc.name());
        recorder.local = Some(local);
        self.clients.recorder = Some(recorder);
    }

    /// Handle a received datagram; it is decrypted in place.
    pub fn handle_datagram(&mut self, now: Time, envelope: Envelope, bytes: &mut [u8]) {
        let Some(header) = Header::parse(bytes, CID) else { return };
        let (destination, first) = match header {
            Header::Unknown { destination, source } => {
                if bytes.len() >= MIN_INITIAL {
                    self.refuse(envelope, Some(version_negotiation(&bytes[destination], &bytes[source])));
                }
                return;
            }
            Header::Long { kind, destination, source, token, .. } => {
                (destination, (kind == Kind::Initial).then_some((source, token)))
            }
            Header::Short { destination, .. } => (destination, None),
        };
        let known = self.cids.get(&bytes[destination.clone()]).copied();
        let is_short = bytes.first().is_some_and(|first| first & 0x80 == 0);
        if known.is_none() && is_short {
            let reset = self.tokens.reset(&bytes[destination], bytes.len(), || self.secrets.key().ok());
            return self.refuse(envelope, reset);
        }
        let id = known.or_else(|| {
            let is_whole = bytes.len() >= MIN_INITIAL && destination.len() >= MIN_ORIGINAL;
            let (source, token) = first.filter(|_| is_whole)?;
            self.handle_initial(now, envelope, (&bytes[destination], &bytes[source], &bytes[token]))
        });
        let Some(id) = id else { return };
        if let Some(session) = self.clients.by_id.get_mut(&id) {
            session.handle_datagram(now, envelope, bytes, &self.store);
            self.clients.ready.push_back(id);
        }
        self.renew_ids(id);
    }

    /// The client keeps as many ids to call this end by as both allow (RFC 9000 §5.1.1).
    fn renew_ids(&mut self, id: u64) {
        let Some((session, own)) = self.clients.by_id.get_mut(&id).zip(self.cids_of.get_mut(&id)) else { return };
        for cid in session.take_given_back() {
            own.retain(|other| other[..] != cid);
            self.cids.remove(&cid[..]);
        }
        while let Some(path) = session.wants_id() {
            let Some(cid) = self.secrets.key().ok().map(u64::to_be_bytes) else { return };
            if self.cids.contains_key(&cid[..]) {
                return; // drawn twice: with the next datagram another
            }
            session.give_id(path, cid, self.tokens.of_reset(&cid));
            own.push(cid.to_vec());
            self.cids.insert(cid.to_vec(), id);
        }
    }

    /// Send an answer, if there is one, to an address for which no state is kept.
    fn refuse(&mut self, envelope: Envelope, answer: Option<Vec<u8>>) {
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.extend(answer.map(|answer| (Envelope { ecn: Ecn::NotEct, ..envelope }, answer)));
        }
    }

    /// Handle an Initial packet of an unknown client, which is admitted or has to prove its address first (RFC 9000 §8.1.2).
    fn handle_initial(
        &mut self,
        now: Time,
        envelope: Envelope,
        (to, peer, token): (&[u8], &[u8], &[u8]),
    ) -> Option<u64> {
        let remote = envelope.remote;
        let proven = self.tokens.original(now, remote, to, token).map(<[u8]>::to_vec);
        let own = self.secrets.key().ok()?.to_be_bytes();
        if proven.is_none() && self.clients.half_open.len() >= self.settings.limits.half_open_unproven {
            let retry = self.tokens.retry(now, remote, (peer, &own, to));
            self.refuse(envelope, retry);
            return None;
        }
        let retry = proven.is_some().then(|| to.to_vec());
        let original = proven.unwrap_or_else(|| to.to_vec());
        let (reset_token, secret) = (self.tokens.of_reset(&own), self.secrets.key().ok()?);
        self.let_in(now, to, Opening { original, retry, own, peer: peer.to_vec(), reset_token, secret })
    }

    /// A new client, whose packets go to `to` until it knows what this end calls itself. `None`: all places are taken.
    fn let_in(&mut self, now: Time, to: &[u8], opening: Opening) -> Option<u64> {
        if let Some(oldest) = self.clients.surplus(&self.settings.limits) {
            self.forget(now, oldest);
        }
        if self.clients.by_id.len() >= self.settings.limits.connections {
            let idle = self.clients.idle()?;
            self.send_away(now, idle);
        }
        let config = self.settings.endpoint();
        let sender = &self.settings.sender;
        let (cc, window) = (sender.cc.clone(), config.initial_window);
        let control = move |_path| cc.build(window);
        let further = Further {
            controls: (1..MAX_PATHS as u8).map(&control).collect(),
            scheduler: sender.scheduler.build(),
            is_coupled: sender.cc.is_coupled(),
        };
        let cids = vec![opening.own.to_vec(), to.to_vec()];
        let name: String = opening.original.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut session = Session::new(now, (config, control, further), &self.tls.config, opening)?;
        let place = self.qlogs.as_mut().and_then(|make| make(&name));
        place.into_iter().for_each(|place| session.log(Qlog::new(now, head(&name), place)));
        self.parameters.into_iter().for_each(|parameters| session.set_app_parameters(now, parameters));
        session.streams.client_data.policy = self.policy;
        let id = self.clients.add(session);
        self.cids.extend(cids.iter().map(|cid| (cid.clone(), id)));
        self.cids_of.insert(id, cids);
        Some(id)
    }

    /// Close a client's connection and drop its state: its further datagrams are answered by a stateless reset.
    fn send_away(&mut self, now: Time, id: u64) {
        if let Some(session) = self.clients.by_id.get_mut(&id) {
            session.close(now);
            let mut refusal = Vec::new();
            if let Some(envelope) = session.poll_datagram(now, &mut refusal) {
                self.refusals.push_back((envelope, refusal));
            }
        }
        self.forget(now, id);
    }

    fn forget(&mut self, now: Time, id: u64) {
        self.clients.note(now, id);
        self.clients.remove(id);
        for cid in self.cids_of.remove(&id).into_iter().flatten() {
            self.cids.remove(&cid);
        }
    }

    pub fn handle_timeout(&mut self, now: Time) {
        self.clients.handle_timeout(now, &self.settings.limits, &self.store);
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; [`Time::MAX`]: never.
    pub fn poll_timeout(&self) -> Time {
        self.clients.poll_timeout()
    }

    /// The next datagram is appended to `out`; `None`: there is none now.
    pub fn poll_datagram(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Envelope> {
        if let Some((envelope, bytes)) = self.refusals.pop_front() {
            out.extend(bytes);
            return Some(envelope);
        }
        while let Some(id) = self.clients.ready.front().copied() {
            if let Some(session) = self.clients.by_id.get_mut(&id)
                && let Some(envelope) = session.poll_datagram(now, out)
            {
                return Some(envelope);
            }
            self.clients.ready.pop_front();
            self.settle(now, id);
        }
        None
    }

    /// Update the client's bookkeeping and its timer once it has nothing more to send for now.
    fn settle(&mut self, now: Time, id: u64) {
        let Some(session) = self.clients.by_id.get_mut(&id) else { return };
        self.clients.accesses.extend(session.streams.accesses.drain(..));
        let remote = session.remote();
        self.clients.reports.extend(session.streams.reports.drain(..).filter_map(|report| Some((remote?, report))));
        if session.endpoint.is_established() {
            self.clients.half_open.remove(&id);
        }
        let is_half_open = self.clients.half_open.contains(&id);
        let patience = if is_half_open { session.opened + self.settings.limits.open_timeout } else { Time::MAX };
        if session.is_over() || patience <= now {
            return self.forget(now, id);
        }
        // A stranger whose packets cannot be opened has no timer of its own.
        let due = session.poll_timeout(&self.settings.limits).min(patience);
        self.clients.call_at(id, due);
    }

    pub fn close_all(&mut self, now: Time) {
        self.clients.for_all(|session| session.close(now));
    }
}

/// Head of the log of this connection.
fn head(name: &str) -> Head<'_> {
    Head { title: "playpath serve", name, since_1970: Some(since_1970()) }
}

fn since_1970() -> Duration {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_nanos(since_epoch.as_nanos() as u64)
}
