//! A video session: a player as HTTP client, and the HTTP server that answers it.
//!
//! HTTP is modelled in bytes (`playpath-http`). The server answers without delay.

use super::socket_buffer::SocketBuffer;
use crate::engine::Owner;
use crate::network::{AppId, End, FlowId, Network, Notice, OwnerKind, Routes, What};
use playpath_cc::AppParameters;
use playpath_http::{Carrier, Http, Received};
use playpath_scenario::{Handover, SenderSpec};
use playpath_transport::Transport;
use playpath_transport::transports::Streams;
use playpath_units::Time;
use playpath_units::random::Stream;
use playpath_video::cmcd::{self, ServerView};
use playpath_video::cmsd::Cmsd;
use playpath_video::media::Media;
use playpath_video::{Action, ConnectionId, ObjectKind, Player, Request, RequestId, ServerPolicy};
use std::ops::Range;
use std::sync::Arc;

/// A player, its connections, and the server's side of them.
pub struct VideoSession {
    id: AppId,
    owner: Owner,
    name: String,
    pub start_at: Time,
    stop_at: Time,
    player: Box<dyn Player>,
    sender: Arc<SenderSpec>,
    /// Its transport's connections have streams side by side.
    has_streams: bool,
    routes: Routes,
    known_outages: Vec<(usize, Range<Time>)>,
    /// When one of these begins or ends, in order; those that are over are gone.
    changes: Vec<Time>,
    /// Whether connections may break, after which the missing bytes are requested again.
    may_break: bool,
    /// The path on which connections begin; the one in use, if it is one at a time.
    path: usize,
    past_flows: Vec<FlowId>,
    random: Stream,
    media: Arc<Media>,
    connections: Vec<HttpConnection>,
    /// Time of the next paced write of a response, and the time that the timer is armed for, as of the last call of the player.
    next_write: Time,
    armed: Time,
    /// The server's view of the client's data (CTA-5004).
    client_data: ServerView,
    /// Client data that the server did not believe.
    pub client_data_warnings: Vec<cmcd::Warning>,
    pub is_started: bool,
    is_over: bool,
    /// The run ended before the video.
    pub is_cut: bool,
}

#[derive(Clone, Copy, Default)]
struct Read {
    /// Body bytes, or the end of a response.
    has_progress: bool,
    /// The player may want something else than before, or be due at another time.
    has_updates: bool,
    /// Bytes that it did not want yet.
    has_left: bool,
}

type Write = fn(&mut Network, FlowId, End, u64) -> u64;

struct HttpConnection {
    flow: FlowId,
    is_open: bool,
    /// Whether the player has been notified of the connection.
    is_known: bool,
    /// The server's end is connected.
    is_served: bool,
    /// The path that it began on: the first of its flow's routes.
    opened_on: usize,
    /// Outstanding requests with the bytes still missing of each; kept only if a connection may be replaced.
    asked: Vec<Request>,
    http: Http,
    socket: SocketBuffer,
}

impl HttpConnection {
    /// Bytes wait for the client's program.
    #[inline]
    fn has_unread(&self, net: &Network) -> bool {
        self.is_open && net.flows[self.flow as usize].end(End::Client).readable() > 0
    }
}

/// A connection's flow, as HTTP needs it; `write` is how its server writes.
struct Port<'a> {
    net: &'a mut Network,
    flow: FlowId,
    lowat: Option<u64>,
    write: Write,
}

impl HttpConnection {
    fn port<'a>(&'a mut self, net: &'a mut Network, sender: &SenderSpec, write: Write) -> (&'a mut Http, Port<'a>) {
        (&mut self.http, Port { net, flow: self.flow, lowat: sender.notsent_lowat, write })
    }
}

impl Carrier for Port<'_> {
    fn now(&self) -> Time {
        self.net.now
    }
    fn write_at_client(&mut self, bytes: u64) {
        self.net.write(self.flow, End::Client, bytes);
    }
    fn read_at_client(&mut self, most: u64) -> u64 {
        self.net.read(self.flow, End::Client, most)
    }
    fn read_at_server(&mut self) -> u64 {
        self.net.read(self.flow, End::Server, u64::MAX)
    }
    fn write_at_server(&mut self, bytes: u64) -> u64 {
        (self.write)(self.net, self.flow, End::Server, bytes)
    }
    fn room(&self) -> u64 {
        self.net.room_for(self.flow, self.lowat)
    }
    fn lowat(&self) -> Option<u64> {
        self.lowat
    }
    fn notify_of_room(&mut self, is_waiting: bool) {
        self.net.notify_of_room(self.flow, self.lowat.filter(|_| is_waiting));
    }
    fn at_client<T>(&mut self, act: impl FnOnce(&mut dyn Streams, Time) -> T) -> Option<T> {
        self.net.on_streams(self.flow, End::Client, act)
    }
    fn at_server<T>(&mut self, act: impl FnOnce(&mut dyn Streams, Time) -> T) -> Option<T> {
        self.net.on_streams(self.flow, End::Server, act)
    }
    fn count_read(&mut self, bytes: u64) {
        self.net.flows[self.flow as usize].count_read(bytes);
    }
}

/// Configuration of a session, without its player.
pub struct SessionConfig {
    pub id: AppId,
    pub name: String,
    pub start_at: Time,
    pub stop_at: Option<Time>,
    pub sender: Arc<SenderSpec>,
    pub routes: Routes,
    /// Which paths the client knows to be broken, and when.
    pub known_outages: Vec<(usize, Range<Time>)>,
    pub may_break: bool,
    /// Keys of MPTCP connections.
    pub random: Stream,
    pub media: Arc<Media>,
}

impl VideoSession {
    pub fn new(net: &mut Network, config: SessionConfig, player: Box<dyn Player>) -> VideoSession {
        let mut changes: Vec<_> = config.known_outages.iter().flat_map(|(_, span)| [span.start, span.end]).collect();
        changes.sort();
        VideoSession {
            id: config.id,
            owner: net.add_owner(OwnerKind::App(config.id)),
            name: config.name,
            start_at: config.start_at,
            stop_at: config.stop_at.unwrap_or(Time::MAX),
            player,
            has_streams: config.sender.transport.has_streams(),
            sender: config.sender,
            routes: config.routes,
            may_break: config.may_break,
            known_outages: config.known_outages,
            changes,
            path: 0,
            past_flows: Vec::new(),
            random: config.random,
            media: config.media,
            connections: Vec::new(),
            next_write: Time::MAX,
            armed: Time::MAX,
            client_data: ServerView::default(),
            client_data_warnings: Vec::new(),
            is_started: false,
            is_over: false,
            is_cut: false,
        }
    }

    pub fn player(&self) -> &dyn Player {
        &*self.player
    }
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The player has finished, or the session was stopped.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
    /// Whether data in the client's socket bridged a gap that the player's buffer alone could not.
    pub fn needed_the_socket(&self) -> bool {
        self.connections.iter().any(|connection| connection.socket.has_bridged)
    }
    /// Flows of this session, in the order of opening.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.past_flows.iter().copied().chain(self.connections.iter().map(|c| c.flow))
    }

    pub fn start(&mut self, net: &mut Network) {
        self.arm(net, self.start_at);
    }

    pub fn handle_timeout(&mut self, net: &mut Network) {
        let now = net.now;
        if now >= self.stop_at {
            return self.stop(net);
        }
        if !std::mem::replace(&mut self.is_started, true) {
            self.player.handle_start(now);
        }
        if now >= self.player.poll_timeout() {
            self.player.handle_timeout(now);
        }
        if self.changes.first().is_some_and(|at| *at <= now) {
            self.changes.retain(|at| *at > now);
            self.choose_path(net);
        }
        for index in 0..self.connections.len() {
            self.serve(net, index, Network::write);
        }
        self.settle(net);
    }

    pub fn handle_notice(&mut self, net: &mut Network, notice: Notice) {
        let Some(index) = self.connections.iter().position(|c| c.flow == notice.flow && c.is_open) else { return };
        match (notice.end, notice.what) {
            (End::Client, What::Connected) => {
                self.notify_sender(net, index);
                let (http, mut port) = self.connections[index].port(net, &self.sender, Network::write);
                http.connected(&mut port);
                if !std::mem::replace(&mut self.connections[index].is_known, true) {
                    self.player.handle_connected(net.now, ConnectionId(index as u32));
                }
            }
            (End::Client, What::Closed) => self.lose(net, index),
            (End::Client, What::Readable) => {
                let read = self.read_all(net);
                if !read.has_progress || (!read.has_updates && !read.has_left && net.now < self.next_write) {
                    return;
                }
                match self.player.poll_action() {
                    Some(action) => self.act(net, action),
                    // Mostly it wants nothing more, and only its clock may have moved.
                    None if net.now < self.next_write && self.is_all_read(net) && !self.player.is_finished() => {
                        return self.rearm(net);
                    }
                    None => {}
                }
            }
            (End::Client, What::Writable) => {}
            (End::Server, What::Readable) => self.receive_requests(net, index),
            (End::Server, What::Connected) => {
                self.connections[index].is_served = true;
                self.receive_requests(net, index);
            }
            (End::Server, What::Writable) => {
                self.serve(net, index, Network::write_on_notice);
                if self.is_all_read(net) && self.find_next_write(net.now) == self.next_write {
                    // Writes of the server affect neither the player's requests nor its timer.
                    return;
                }
            }
            (End::Server, What::Closed) => {}
        }
        self.settle(net);
    }

    fn is_all_read(&self, net: &Network) -> bool {
        self.connections.iter().all(|connection| !connection.has_unread(net))
    }

    /// When a response is next written by the clock.
    fn find_next_write(&self, now: Time) -> Time {
        self.connections.iter().map(|connection| connection.http.next_write(now)).min().unwrap_or(Time::MAX)
    }

    fn arm(&mut self, net: &mut Network, due: Time) {
        if std::mem::replace(&mut self.armed, due) != due {
            net.arm(self.owner, due);
        }
    }

    pub fn cut(&mut self, net: &mut Network) {
        self.is_cut = true;
        self.stop(net);
    }

    fn stop(&mut self, net: &mut Network) {
        if self.is_started && !self.player.is_finished() {
            self.player.handle_stop(net.now);
        }
        self.is_over = true;
        for connection in &mut self.connections {
            if std::mem::take(&mut connection.is_open) {
                net.abort(connection.flow);
            }
        }
        self.arm(net, Time::MAX);
    }

    /// Performs the player's actions, reads as much as it is willing to take, and arms the timer.
    fn settle(&mut self, net: &mut Network) {
        loop {
            while let Some(action) = self.player.poll_action() {
                self.act(net, action);
            }
            if !self.read_all(net).has_progress {
                break;
            }
        }
        if self.player.is_finished() {
            return self.stop(net);
        }
        self.next_write = self.find_next_write(net.now);
        self.rearm(net);
    }

    fn rearm(&mut self, net: &mut Network) {
        let change = self.changes.first().copied().unwrap_or(Time::MAX);
        let due = self.player.poll_timeout().min(self.next_write).min(change).min(self.stop_at);
        self.arm(net, if net.now < self.start_at { self.start_at } else { due });
    }

    fn act(&mut self, net: &mut Network, action: Action) {
        match action {
            Action::Open(ConnectionId(index)) => {
                debug_assert_eq!(index as usize, self.connections.len(), "connections are numbered in order");
                self.open(net);
            }
            Action::Request(request) => self.send_request(net, request),
            Action::Abandon(id) => self.abandon(net, id),
            Action::Close(ConnectionId(index)) => {
                self.close(net, index as usize);
            }
        }
    }

    fn open(&mut self, net: &mut Network) {
        let connection = self.connect(net);
        self.connections.push(connection);
    }

    /// Over all paths, or over the one that is in use and those that it may migrate to.
    fn connect(&mut self, net: &mut Network) -> HttpConnection {
        let number = self.connections.len() + self.past_flows.len();
        let name = if number == 0 { self.name.clone() } else { format!("{}.{}", self.name, number + 1) };
        let routes = match self.path {
            0 => self.routes.clone(),
            path => self.routes[path..].iter().chain(&self.routes[..path]).cloned().collect(),
        };
        let flow = net.connect(name, self.id, self.sender.clone(), routes, &mut self.random, false);
        HttpConnection {
            flow,
            is_open: true,
            is_known: false,
            is_served: false,
            opened_on: self.path,
            asked: Vec::new(),
            http: Http::new(self.has_streams),
            socket: SocketBuffer::default(),
        }
    }

    /// What the client knows of its paths has changed: if the one in use, or on which connections begin, is broken, every connection goes to
    /// the next that is not; of those that use all their paths, the ones that could not be opened over it.
    fn choose_path(&mut self, net: &mut Network) {
        let is_broken =
            |path: &usize| self.known_outages.iter().any(|(of, span)| of == path && span.contains(&net.now));
        let mut from_here = (0..self.routes.len()).map(|step| (self.path + step) % self.routes.len());
        let Some(path) = from_here.find(|path| !is_broken(path)).filter(|path| *path != self.path) else { return };
        self.path = path;
        for index in (0..self.connections.len()).filter(|&index| self.connections[index].is_open).collect::<Vec<_>>() {
            let HttpConnection { flow, opened_on, is_known, .. } = self.connections[index];
            if !self.sender.handover.is_any() && is_known {
                continue;
            }
            let route = (self.path + self.routes.len() - opened_on) % self.routes.len();
            let has_moved = self.sender.handover.how == Handover::Migrate && net.migrate(flow, route);
            if !has_moved {
                self.reconnect(net, index);
            }
        }
    }

    /// A connection broke: another takes its place, at once if something is outstanding, else with the next request.
    fn lose(&mut self, net: &mut Network, index: usize) {
        let connection = &mut self.connections[index];
        if self.may_break && (!connection.is_known || !connection.asked.is_empty()) {
            net.note_broken(connection.flow);
            return self.reconnect(net, index);
        }
        connection.is_open = false;
        net.reset(connection.flow, End::Client);
    }

    /// Replaces a connection by a new one, and requests the missing bytes over it.
    fn reconnect(&mut self, net: &mut Network, index: usize) {
        net.reset(self.connections[index].flow, End::Client);
        let new = self.connect(net);
        let old = std::mem::replace(&mut self.connections[index], new);
        self.past_flows.push(old.flow);
        self.connections[index].is_known = old.is_known;
        for request in old.asked {
            self.send_request(net, request);
        }
    }

    fn send_request(&mut self, net: &mut Network, request: Request) {
        let index = request.connection.0 as usize;
        if !self.connections[index].is_open {
            self.reconnect(net, index);
        }
        let connection = &mut self.connections[index];
        let flow = connection.flow;
        if self.may_break && request.body_bytes > 0 {
            connection.asked.push(request.clone());
        }
        if let Some(watch) = &mut net.flows[flow as usize].switches
            && request.body_bytes == self.media.total_bytes
            && self.sender.transport.tcp().is_some_and(|tcp| tcp.tls.is_none())
            && !watch.knows_pictures()
        {
            // The first response carries the whole file: where its pictures lie in the stream is known.
            watch.set_media(self.media.clone(), u64::from(request.response_header_bytes));
        }
        let (http, mut port) = connection.port(net, &self.sender, Network::write);
        if !http.send(&mut port, request) && self.connections[index].is_served {
            // Nothing to send: this is a server that writes without a request (the streaming agent's), once its end is connected.
            self.receive_requests(net, index);
        }
    }

    /// A connection with a response still under way is reset, so that the server stops sending it (RFC 9293 §3.10.4);
    /// others are closed in order.
    fn close(&mut self, net: &mut Network, index: usize) {
        let connection = &mut self.connections[index];
        if !std::mem::take(&mut connection.is_open) {
            return;
        }
        if connection.http.is_idle() {
            net.close(connection.flow, End::Client);
            net.close(connection.flow, End::Server);
        } else {
            connection.http.stop();
            net.reset(connection.flow, End::Client);
        }
    }

    fn abandon(&mut self, net: &mut Network, id: RequestId) {
        for connection in self.connections.iter_mut().filter(|connection| connection.is_open) {
            connection.asked.retain(|request| request.id != id);
            let (http, mut port) = connection.port(net, &self.sender, Network::write);
            http.abandon(&mut port, id);
        }
    }

    /// The server reads; every complete request is answered.
    fn receive_requests(&mut self, net: &mut Network, index: usize) {
        let flow = self.connections[index].flow;
        let (http, mut port) = self.connections[index].port(net, &self.sender, Network::write);
        for request in http.receive(&mut port) {
            self.take_client_data(net, index, &request);
            let server_data_sent = request.cmsd.map(|policy| server_data(net, flow, policy));
            self.connections[index].http.respond(net.now, &request, server_data_sent);
        }
        self.serve(net, index, Network::write);
    }

    /// The server's program produces due chunks and writes, by `write`, as much as the socket accepts.
    fn serve(&mut self, net: &mut Network, index: usize, write: Write) {
        let (http, mut port) = self.connections[index].port(net, &self.sender, write);
        http.serve(&mut port);
    }

    /// Reads from every connection as much as the player accepts.
    fn read_all(&mut self, net: &mut Network) -> Read {
        let mut read = Read::default();
        for (index, connection) in self.connections.iter_mut().enumerate() {
            if !connection.has_unread(net) {
                continue;
            }
            let HttpConnection { flow, http, socket, asked, .. } = connection;
            let (now, player) = (net.now, &mut self.player);
            let limit = player.read_limit(now, ConnectionId(index as u32));
            let take = |id, came| match came {
                Received::ServerData(server_data_sent) => {
                    read.has_updates = true;
                    player.handle_server_data(now, id, &server_data_sent);
                }
                Received::Body(body) => {
                    note_body(asked, id, body);
                    read.has_updates |= player.handle_body(now, id, body);
                }
            };
            let lowat = self.sender.notsent_lowat;
            read.has_progress |= http.read(&mut Port { net, flow: *flow, lowat, write: Network::write }, limit, take);
            // A read without a limit empties the socket, except with streams.
            let is_whole = limit == u64::MAX && !self.has_streams;
            let waiting = if is_whole { 0 } else { net.flows[*flow as usize].end(End::Client).readable() };
            read.has_left |= waiting > 0;
            if socket.has_held(waiting)
                && let Some(unread) = http.unread()
            {
                let player = &self.player;
                let (takes, holds) = (|| player.app_parameters(now).playout_buffer_bytes, || player.buffer_bytes(now));
                socket.note(waiting, unread, takes, holds);
            }
        }
        read
    }

    /// Passes the scenario's parameters of the video to the congestion control, at the start.
    fn notify_sender(&mut self, net: &mut Network, index: usize) {
        let report = self.player.app_parameters(net.now);
        let parameters = AppParameters {
            playout_buffer_bytes: report.playout_buffer_bytes,
            playout_buffer_free_bytes: None,
            video_rate: report.video_rate,
            is_urgent: false,
            object_bytes: report.whole.map(|(bytes, _)| bytes),
            object_duration: report.whole.map(|(_, length)| length),
            top_rate: report.whole.map(|_| report.video_rate),
        };
        net.set_app_parameters(self.connections[index].flow, parameters);
    }

    /// Passes the client's data of a request (CMCD, CTA-5004) to the congestion control; the view clamps implausible values.
    fn take_client_data(&mut self, net: &mut Network, index: usize, request: &Request) {
        let Some(cmcd) = &request.cmcd else { return };
        let (view, warnings) = (&mut self.client_data, &mut self.client_data_warnings);
        let is_report = request.object.kind == ObjectKind::Report;
        let parameters = match is_report {
            true => view.handle_report(cmcd, warnings),
            false => view.handle_request(cmcd, Some(request.body_bytes), warnings),
        };
        let Some(parameters) = parameters else { return };
        // A report is about the session, whatever connection carries it.
        let concerns =
            |(place, connection): &(usize, &HttpConnection)| *place == index || is_report && connection.is_open;
        for (_, connection) in self.connections.iter().enumerate().filter(concerns) {
            net.set_app_parameters(connection.flow, parameters);
        }
    }
}

/// Reduces the bytes missing of a response.
fn note_body(asked: &mut Vec<Request>, id: RequestId, bytes: u64) {
    let Some(place) = asked.iter().position(|request| request.id == id) else { return };
    asked[place].body_bytes -= bytes;
    if asked[place].body_bytes == 0 {
        asked.remove(place);
    }
}

/// The server's data at the start of a response: the transport's latest delivery rate, over all paths, and its smoothed RTT.
fn server_data(net: &Network, flow: FlowId, policy: ServerPolicy) -> Cmsd {
    let server = net.flows[flow as usize].server();
    let measured = (0..server.path_count()).filter_map(|path| server.path_info(path));
    Cmsd::of_server(measured.map(|info| (info.delivery_rate, info.rtt)), policy)
}
