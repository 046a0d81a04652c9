//! The network of a run: links, flows over routes of links, and the one queue of events.
//!
//! A packet travels hop by hop: each link passes it to the next link of its route, the last one to the endpoint. The endpoint is then
//! drained (everything it has to send goes into its first link) and re-armed. Applications are notified afterwards, through a list of
//! notices, so that an endpoint is never changed while it is being drained.

mod fabric;
mod flow;

pub use fabric::Fabric;
pub use flow::{AppId, End, Flow, FlowConfig, FlowId, SimPacket, ecn_of};

use crate::engine::{EventQueue, Lane, Owner};
use crate::multipath::{PathCount, SwitchWatch};
use crate::window_log::{self, WindowLog};
use playpath_cc::AppParameters;
use playpath_link::{Dropped, Link, LinkConfig, LinkError, Place};
use playpath_scenario::{PathSpec, SenderSpec};
use playpath_transport::quic::qlog::{Head, MakeLog, Qlog};
use playpath_transport::transports::{Opening, PathFacts, Streams};
use playpath_transport::{Event, Events, Transport};
use playpath_units::Time;
use playpath_units::random::{RootSeed, Stream};
use std::sync::Arc;

pub type LinkId = u32;

#[derive(Clone, Debug)]
pub enum Logged {
    App(AppId),
    Flows(Vec<String>),
}

impl Logged {
    fn covers(&self, config: &FlowConfig) -> bool {
        match self {
            Logged::App(app) => config.app == *app,
            Logged::Flows(names) => names.contains(&config.name),
        }
    }
}

/// What an event's owner is.
#[derive(Clone, Copy, Debug)]
pub enum OwnerKind {
    Link(LinkId),
    Endpoint(FlowId, End),
    App(AppId),
    Probe,
}

/// Something an application wants to know.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    pub app: AppId,
    pub flow: FlowId,
    pub end: End,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Connected,
    Readable,
    Writable,
    Closed,
}

/// A way from the server to the client and back; made by [`Network::add_route`].
#[derive(Clone, Debug)]
pub struct Route {
    pub path: String,
    facts: PathFacts,
    /// Index in [`Network::hops`] of the first hop to either end.
    starts: [u32; 2],
}

/// The routes of a flow, one for each path. Flows that go the same ways share them.
pub type Routes = Arc<[Route]>;

/// More than any run transfers.
pub const ENDLESS: u64 = 1 << 60;

/// End of a list of hops: the packet has arrived.
const ARRIVED: LinkId = LinkId::MAX;

pub struct Network {
    pub now: Time,
    pub fabric: Fabric,
    pub flows: Vec<Flow>,
    /// Flows keep what their controls did; those of MPTCP each change of path, not only their number.
    pub is_traced: bool,
    logged: Option<Logged>,
    pub notices: Vec<Notice>,
    pub events_handled: u64,
    /// Places for logs of QUIC connections.
    pub qlogs: Option<MakeLog>,
    owners: Vec<OwnerKind>,
    /// Connections that broke while they were needed, and why, where the transport says so.
    pub broken: Vec<(FlowId, Option<&'static str>)>,
    seed: RootSeed,
}

impl Network {
    pub fn new(seed: RootSeed) -> Network {
        Network {
            now: Time::ZERO,
            fabric: Fabric::default(),
            is_traced: false,
            logged: None,
            flows: Vec::new(),
            notices: Vec::new(),
            events_handled: 0,
            qlogs: None,
            owners: Vec::new(),
            broken: Vec::new(),
            seed,
        }
    }

    /// A new owner of events; ties are broken in the order of creation.
    pub fn add_owner(&mut self, kind: OwnerKind) -> Owner {
        self.owners.push(kind);
        self.fabric.events.add_owner(if matches!(kind, OwnerKind::Link(_)) { Lane::Link } else { Lane::Timer })
    }

    pub fn add_link(&mut self, config: LinkConfig) -> Result<LinkId, LinkError> {
        let id = self.fabric.links.len() as LinkId;
        self.fabric.has_nat |= config.rebinding.is_some();
        self.fabric.reports_mtu |= config.mtu.is_some_and(|mtu| mtu.is_reported);
        let mut link = Link::new(config, self.seed)?;
        if self.logged.is_some() {
            link.log_drops();
        }
        self.fabric.links.push(link);
        let owner = self.add_owner(OwnerKind::Link(id));
        self.fabric.link_owners.push(owner);
        Ok(id)
    }

    /// Before links and flows are made: the packets of these flows will be logged.
    pub fn log_packets(&mut self, logged: Logged) {
        self.logged = Some(logged);
    }

    /// Move the links' drops to the logs of the flows. Called occasionally and at the end of the run.
    pub fn collect_drops(&mut self) {
        if self.logged.is_none() {
            return;
        }
        for Dropped { arrival, cause, packet } in self.fabric.links.iter_mut().flat_map(Link::take_dropped) {
            let flow = &mut self.flows[packet.flow as usize];
            if packet.to == End::Client
                && let Some(log) = &mut flow.packets
                && let Some(drawn) = flow.ends[End::Server as usize].drawn(&packet.packet)
            {
                log.record_drop(arrival, packet.packet.path, &drawn, cause);
            }
        }
    }

    /// Writes a route down: links from the server to the client, and those back.
    pub fn add_route(&mut self, path: &PathSpec, down: &[LinkId], up: &[LinkId]) -> Route {
        let mtus = down.iter().chain(up).filter_map(|link| self.fabric.links[*link as usize].mtu_to_report(u32::MAX));
        let facts = PathFacts { is_backup: path.is_backup, mtu: mtus.min() };
        Route { path: path.name.clone(), facts, starts: [self.add_hops(down), self.add_hops(up)] }
    }

    /// Opens a flow of a sender now; for `is_bulk` see [`FlowConfig`].
    pub fn connect(
        &mut self,
        name: String,
        app: AppId,
        sender: Arc<SenderSpec>,
        routes: Routes,
        random: &mut Stream,
        is_bulk: bool,
    ) -> FlowId {
        let window_log = self.is_traced.then(WindowLog::default);
        let (of_control, watching) = (sender.clone(), window_log.clone());
        let run = self.seed.stream(&format!("flow.{name}/cc")).bits();
        let control =
            move |window, path| window_log::watched(of_control.cc.build_in_run(window, run), path, watching.as_ref());
        let facts: Vec<_> = routes.iter().map(|route| route.facts).collect();
        let (client, server) = sender.transport.open(Opening {
            now: self.now,
            paths: &facts[..sender.paths_at_once(routes.len())],
            random,
            control: Arc::new(control),
            is_coupled: sender.cc.is_coupled(),
            scheduler: &|| sender.scheduler.build(),
        });
        self.open_flow(FlowConfig { name, sender: Some(sender), app, is_bulk, client, server, window_log, routes })
    }

    /// Opens a flow now: the client connects.
    pub fn open_flow(&mut self, mut config: FlowConfig) -> FlowId {
        let id = self.flows.len() as FlowId;
        let owners = [
            self.add_owner(OwnerKind::Endpoint(id, End::Client)),
            self.add_owner(OwnerKind::Endpoint(id, End::Server)),
        ];
        if let Some(make) = &mut self.qlogs
            && config.server.streams().is_some()
            && let Some(place) = make(&config.name)
        {
            let head = Head { title: "playpath run", name: &config.name, since_1970: None };
            config.server.log(Qlog::new(self.now, head, place));
        }
        let switches = config.server.multipath_mut().map(|multipath| {
            multipath.log_switches();
            Box::new(SwitchWatch::new(self.is_traced.then(Vec::new)))
        });
        let path = |route: &Route| PathCount { name: route.path.clone(), arrived_wire_bytes: 0 };
        let paths = if config.routes.len() > 1 { config.routes.iter().map(path).collect() } else { Vec::new() };
        let is_logged = self.logged.as_ref().is_some_and(|logged| logged.covers(&config));
        self.flows.push(Flow {
            packets: (is_logged && config.server.is_drawn()).then(Box::default),
            paths,
            switches,
            name: config.name,
            window_log: config.window_log,
            sender: config.sender,
            app: config.app,
            started: self.now,
            ended: None,
            read_bytes: 0,
            arrived_wire_bytes: 0,
            arrived_data_packets: 0,
            ends: [config.client, config.server],
            owners,
            routes: config.routes,
            is_bulk: config.is_bulk,
            is_cut_off: false,
            notsent_lowat: 0,
        });
        self.drain(id, End::Client);
        self.drain(id, End::Server);
        id
    }

    /// Data packets of each flow that are on their way to the client.
    pub fn data_packets_under_way(&self) -> Vec<u64> {
        let mut counts = vec![0; self.flows.len()];
        for packet in self.fabric.links.iter().flat_map(Link::packets) {
            let is_data = packet.to == End::Client && packet.packet.data_bytes > 0;
            counts[packet.flow as usize] += u64::from(is_data);
        }
        counts
    }

    /// The run is over: its events and their owners make room for the record.
    pub fn end(&mut self) {
        self.fabric.events = EventQueue::default();
        self.owners = Vec::new();
    }

    /// Writes down one way of a route; returns where it begins.
    fn add_hops(&mut self, links: &[LinkId]) -> u32 {
        let start = self.fabric.hops.len() as u32;
        self.fabric.hops.extend(links.iter().copied().chain([ARRIVED]));
        start
    }

    /// The links over which a flow's data come to its client.
    pub fn links_to_client(&self, flow: FlowId) -> impl Iterator<Item = LinkId> + '_ {
        let starts = self.flows[flow as usize].routes.iter().map(|route| route.starts[End::Client as usize] as usize);
        starts.flat_map(|start| self.fabric.hops[start..].iter().copied().take_while(|link| *link != ARRIVED))
    }

    /// The next event, if it is not after `until`. Advances `now` to it.
    #[inline]
    pub fn advance(&mut self, until: Time) -> Option<OwnerKind> {
        let (time, owner) = self.fabric.events.peek()?;
        if time > until {
            return None;
        }
        debug_assert!(time >= self.now, "the past was armed: {time} before {}", self.now);
        self.now = time;
        self.events_handled += 1;
        Some(self.owners[owner as usize])
    }

    /// Arms an application's or the probe's timer.
    pub fn arm(&mut self, owner: Owner, time: Time) {
        self.fabric.events.arm(owner, time);
    }

    /// Delivers the packets that have left a link.
    #[inline]
    pub fn run_link(&mut self, id: LinkId) {
        let now = self.now;
        let due = loop {
            let fabric = &mut self.fabric;
            let link = &mut fabric.links[id as usize];
            let due = link.poll_timeout();
            if due > now {
                break due;
            }
            let Some((_, place)) = link.poll_place(now) else { break link.poll_timeout() };
            match fabric.hops[link.delivered(place).hop as usize] {
                ARRIVED => self.deliver(id, place),
                next => {
                    let mut packet = link.take(place);
                    packet.hop += 1;
                    fabric.enter(now, next, packet.packet.wire_bytes, |_| packet);
                    if fabric.reports_mtu && fabric.refuse(now, next, &packet, &mut self.flows[packet.flow as usize]) {
                        self.drain(packet.flow, packet.to.other());
                    }
                }
            }
        };
        self.fabric.rearm_link(id, due);
    }

    #[inline]
    pub fn run_endpoint(&mut self, flow: FlowId, end: End) {
        self.flows[flow as usize].ends[end as usize].handle_timeout(self.now);
        self.drain(flow, end);
    }

    /// Handles a packet that has left the last link of its route. It is read in place: a copy would add a twentieth to the cost per packet.
    fn deliver(&mut self, link: LinkId, place: Place) {
        let (now, fabric) = (self.now, &mut self.fabric);
        let link = &mut fabric.links[link as usize];
        let &SimPacket { ref packet, flow: id, to, .. } = link.delivered(place);
        let flow = &mut self.flows[id as usize];
        if to == End::Client {
            // A flow's rates end with the flow: packets in flight when it was aborted are not counted.
            let wire_bytes = if flow.ended.is_none() { u64::from(packet.wire_bytes) } else { 0 };
            flow.arrived_wire_bytes += wire_bytes;
            if let Some(path) = flow.paths.get_mut(packet.path as usize) {
                path.arrived_wire_bytes += wire_bytes;
            }
            flow.arrived_data_packets += u64::from(packet.data_bytes > 0);
        }
        if let Some(capture) = &mut fabric.capture
            && to == End::Server
        {
            capture.record(now, id, to, packet);
        }
        let is_refused = fabric.has_nat && to == End::Server && {
            let known = fabric.bindings.insert((id, packet.path), packet.binding);
            let has_moved = known.is_some_and(|known| known != packet.binding);
            flow.is_cut_off |= has_moved && !packet.is_syn() && !flow.ends[to as usize].survives_rebinding();
            flow.is_cut_off
        };
        if is_refused {
            flow.ends[to as usize].refuse(now, packet);
        } else {
            flow.ends[to as usize].handle_packet(now, packet, &mut fabric.payload_pool);
        }
        if let Some(place) = packet.payload.pool_index() {
            fabric.payload_pool.free(place);
        }
        if let Some(log) = &mut flow.packets
            && to == End::Server
            && let Some(drawn) = flow.ends[to as usize].drawn(packet)
        {
            let info = flow.ends[to as usize].path_info(packet.path as usize);
            log.record_ack(now, packet.path, &drawn, info);
        }
        link.release(place);
        self.drain_here(id, to);
    }

    /// Sends all that an endpoint wants to send, notes what its application must know, and re-arms its timer.
    fn drain(&mut self, id: FlowId, end: End) {
        self.drain_here(id, end);
    }

    /// The same as [`drain`](Self::drain), inlined: this saves a call of some forty instructions per arriving packet.
    #[inline(always)]
    fn drain_here(&mut self, id: FlowId, end: End) {
        let (now, flow) = (self.now, &mut self.flows[id as usize]);
        if flow.is_bulk && end == End::Client {
            let bytes = flow.ends[end as usize].read(now, u64::MAX);
            flow.count_read(bytes);
        } else if flow.ends[end as usize].readable() > 0 {
            self.notices.push(Notice { app: flow.app, flow: id, end, what: What::Readable });
        }
        let mut events = flow.ends[end as usize].take_events().without(Event::Readable);
        let refills = flow.is_bulk && events.contains(Event::Writable);
        if refills {
            events = events.without(Event::Writable);
        }
        if !events.is_empty() {
            note_events(&mut self.notices, flow.app, id, end, events);
        }
        self.fabric.transmit(now, id, flow, end);
        if refills && flow.refill(end) {
            self.fabric.transmit(now, id, flow, end);
        }
        if end == End::Server && flow.notsent_lowat > 0 {
            self.note_room(id);
        }
    }

    /// The server's application waits for room below its low-water mark: as in Linux, notify it when half of that is free
    /// (`tcp_stream_memory_free`).
    #[cold]
    fn note_room(&mut self, id: FlowId) {
        let flow = &mut self.flows[id as usize];
        if flow.server().unsent_bytes() * 2 < flow.notsent_lowat {
            flow.notsent_lowat = 0;
            self.notices.push(Notice { app: flow.app, flow: id, end: End::Server, what: What::Writable });
        }
    }

    /// Bytes that the server's application may write now with at most `lowat` bytes unsent; unlimited if `lowat` is `None`.
    pub fn room_for(&self, flow: FlowId, lowat: Option<u64>) -> u64 {
        lowat.map_or(u64::MAX, |lowat| lowat.saturating_sub(self.flows[flow as usize].server().unsent_bytes()))
    }

    /// Tell the server's application once when there is room again below `lowat`.
    pub fn notify_of_room(&mut self, flow: FlowId, lowat: Option<u64>) {
        self.flows[flow as usize].notsent_lowat = lowat.unwrap_or(0);
    }

    fn transmit(&mut self, id: FlowId, end: End) {
        self.fabric.transmit(self.now, id, &mut self.flows[id as usize], end);
    }

    /// An application does something with the streams of a connection's end; what follows of it leaves. `None`: it has none.
    pub fn on_streams<T>(
        &mut self,
        flow: FlowId,
        end: End,
        act: impl FnOnce(&mut dyn Streams, Time) -> T,
    ) -> Option<T> {
        let done = act(self.flows[flow as usize].ends[end as usize].streams()?, self.now);
        self.transmit(flow, end);
        Some(done)
    }

    /// The application writes `bytes` at an end; returns how many the send buffer took.
    pub fn write(&mut self, flow: FlowId, end: End, bytes: u64) -> u64 {
        let taken = self.flows[flow as usize].ends[end as usize].write(bytes);
        if taken > 0 {
            self.drain(flow, end);
        }
        taken
    }

    /// Sends a datagram of a datagram flow's server; no notice follows.
    pub fn send_datagram(&mut self, flow: FlowId, bytes: u32) {
        self.flows[flow as usize].ends[End::Server as usize].write(u64::from(bytes));
        self.transmit(flow, End::Server);
    }

    /// The same as [`write`](Self::write), in answer to a notice, when everything that could be sent has been. While more than a full
    /// segment waits, further bytes behind it change nothing.
    pub fn write_on_notice(&mut self, flow: FlowId, end: End, bytes: u64) -> u64 {
        let connection = &mut self.flows[flow as usize].ends[end as usize];
        if !connection.has_more_than_a_packet_waiting() {
            return self.write(flow, end, bytes);
        }
        connection.write(bytes)
    }

    /// The application reads at most `max` bytes at an end.
    pub fn read(&mut self, flow: FlowId, end: End, max: u64) -> u64 {
        let state = &mut self.flows[flow as usize];
        let bytes = state.ends[end as usize].read(self.now, max);
        if bytes > 0 {
            if end == End::Client {
                state.count_read(bytes);
            }
            // A read may open the window: send the update, without another notice for the bytes still unread.
            if state.ends[end as usize].may_answer_read() {
                self.transmit(flow, end);
            }
        }
        bytes
    }

    /// Passes the application's parameters to the server's congestion control.
    pub fn set_app_parameters(&mut self, flow: FlowId, parameters: AppParameters) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        if let Some(watch) = &mut state.switches {
            watch.video_rate = parameters.video_rate;
        }
        state.ends[End::Server as usize].set_app_parameters(now, parameters);
        self.drain(flow, End::Server);
    }

    /// Closes an end in order (FIN).
    pub fn close(&mut self, flow: FlowId, end: End) {
        let now = self.now;
        let state = &mut self.flows[flow as usize];
        state.ended.get_or_insert(now);
        state.ends[end as usize].close(now);
        self.drain(flow, end);
    }

    /// The client goes on over another path of the flow; `false`: the transport cannot, or not yet.
    pub fn migrate(&mut self, id: FlowId, path: usize) -> bool {
        let now = self.now;
        let has_moved = self.flows[id as usize].ends[End::Client as usize].migrate(now, path);
        self.drain(id, End::Client);
        has_moved
    }

    /// The client's connection broke while the application needed it.
    pub fn note_broken(&mut self, id: FlowId) {
        self.broken.push((id, self.flows[id as usize].client().failure()));
    }

    /// An end gives the flow up: it sends a reset, and the other end stops when that arrives.
    pub fn reset(&mut self, id: FlowId, end: End) {
        let now = self.now;
        let flow = &mut self.flows[id as usize];
        flow.ended.get_or_insert(now);
        flow.ends[end as usize].abort(now);
        self.drain(id, end);
    }

    /// Ends a flow at once at both ends; packets on the way are still delivered and ignored.
    pub fn abort(&mut self, id: FlowId) {
        let now = self.now;
        let flow = &mut self.flows[id as usize];
        flow.ended.get_or_insert(now);
        for end in [End::Client, End::Server] {
            self.flows[id as usize].ends[end as usize].abort(now);
            self.drain(id, end);
        }
    }
}

fn note_events(notices: &mut Vec<Notice>, app: AppId, flow: FlowId, end: End, events: Events) {
    let occurred = [
        (Event::Connected, What::Connected),
        (Event::Writable, What::Writable),
        (Event::PeerClosed, What::Closed),
        (Event::Closed, What::Closed),
        (Event::Reset, What::Closed),
    ];
    for (_, what) in occurred.into_iter().filter(|(event, _)| events.contains(*event)) {
        notices.push(Notice { app, flow, end, what });
    }
}
