//! The loop: deliver what is due, read what has come, sleep until the next deadline.
//!
//! Time is the monotonic clock since the start of the run. Due packets are taken in the order of their logical times over all
//! links, so that a packet enters its next link at the moment it left the one before, however late the loop is.
//!
//! Whoever prepares a run tells when it begins. At that moment the clock and the links start anew, so that traces, outages, random draws
//! and statistics begin with the run, as in the simulator, however long its preparation took.

use crate::capture::Capture;
use crate::config::Config;
use crate::control::{Control, Said};
use crate::flows::Flows;
use crate::histogram::Histogram;
use crate::log::PacketLog;
use crate::net::{self, Device};
use crate::packet::IpPacket;
use crate::report::{LinkMeasure, Pauses, RouteMeasure, RunMeasure};
use crate::series::Series;
use crate::spin::Spin;
use crate::sys::{self, PollSet};
use playpath_link::{Link, LinkConfig};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};
use std::os::fd::{AsRawFd, RawFd};

/// Packets read from a device before the others get their turn.
const BATCH: usize = 64;
/// The largest IP packet.
const MAX_PACKET: usize = 65_536;
/// What is on its way when the run begins, and would arrive within this time, arrives at once.
const FLUSHED: Duration = Duration::from_secs(2);

/// Everything that a run consists of.
pub struct Engine {
    seed: RootSeed,
    link_configs: Vec<LinkConfig>,
    links: Vec<Link<IpPacket>>,
    link_measures: Vec<LinkMeasure>,
    routes: Vec<Route>,
    /// Server and client end of each path, alternately: device 2p is where route 2p (down) begins and route 2p + 1 (up) ends.
    devices: Vec<Device>,
    log: Option<PacketLog>,
    capture: Option<Capture>,
    flows: Flows,
    series: Series,
    spin: Spin,
    start_nanos: u64,
    /// When the run begins, if that is yet to come.
    begin: Time,
    next_id: u64,
    wakeups: u64,
    pauses: Pauses,
    buffer: Box<[u8]>,
}

/// The way from one end of a path to the other.
struct Route {
    links: Vec<usize>,
    to_device: usize,
    measure: RouteMeasure,
}

impl Engine {
    /// Build links and devices. Errors: what could not be built, in one line.
    pub fn new(config: &Config) -> Result<Engine, String> {
        let seed = RootSeed(config.seed);
        let link_configs: Vec<LinkConfig> = config.links.iter().map(|spec| spec.config.clone()).collect();
        let mut routes = Vec::new();
        let mut devices = Vec::new();
        for path in &config.paths {
            devices.extend(net::open_path(path)?);
            let route =
                |links: &[usize], to_device| Route { links: links.to_vec(), to_device, measure: RouteMeasure::new() };
            routes.push(route(&path.down, devices.len() - 1));
            routes.push(route(&path.up, devices.len() - 2));
        }
        let names = config.paths.iter().flat_map(|path| ["down", "up"].map(|way| format!("{},{way}", path.name)));
        let create = |file: &String| PacketLog::create(file, names.collect()).map_err(|e| format!("log {file}: {e}"));
        let paths: Vec<&str> = config.paths.iter().map(|path| path.name.as_str()).collect();
        let capture = |file: &String| Capture::create(file, &paths).map_err(|e| format!("capture {file}: {e}"));
        Ok(Engine {
            capture: config.capture.as_ref().map(capture).transpose()?,
            flows: Flows::default(),
            series: Series::new(config.sample, config.links.len()),
            link_measures: measures_of(&link_configs),
            links: build_links(&link_configs, seed)?,
            link_configs,
            seed,
            routes,
            devices,
            log: config.log.as_ref().map(create).transpose()?,
            spin: Spin::new(config.spin),
            start_nanos: sys::now_nanos(),
            begin: Time::MAX,
            next_id: 0,
            wakeups: 0,
            pauses: Pauses::default(),
            buffer: vec![0; MAX_PACKET].into(),
        })
    }

    /// Run until `signals` becomes readable, or standard input ends where it is a `control`.
    pub fn run(&mut self, signals: RawFd, mut control: Option<Control>) -> Result<(), String> {
        let devices = self.devices.len();
        let mut files: Vec<_> = self.devices.iter().map(Device::as_raw_fd).chain([signals]).collect();
        files.extend(control.as_ref().map(|_| std::io::stdin().as_raw_fd()));
        let mut poll_set = PollSet::new(files);
        self.start_nanos = sys::now_nanos();
        self.capture.iter_mut().for_each(Capture::start);
        loop {
            self.deliver_due(Duration::ZERO);
            let now = self.now();
            if now >= self.begin {
                self.begin_run()?;
                continue;
            }
            self.series.sample(now, &mut self.links);
            self.wait(&mut poll_set).map_err(|error| format!("waiting for packets: {error}"))?;
            if poll_set.is_ready(devices) {
                return Ok(());
            }
            if let Some(control) = control.as_mut().filter(|_| poll_set.is_ready(devices + 1)) {
                match control.read(&mut std::io::stdin().lock())? {
                    Said::End => return Ok(()),
                    Said::Start(nanos) => self.begin = Time::from_nanos(nanos.saturating_sub(self.start_nanos)),
                    Said::Nothing => {}
                }
            }
            // What fell due during the wait happened before what has just come.
            self.deliver_due(Duration::ZERO);
            for device in (0..devices).filter(|device| poll_set.is_ready(*device)) {
                self.read_device(device)?;
            }
        }
    }

    /// The run begins: time counts from `begin`, and links and measures are as new.
    fn begin_run(&mut self) -> Result<(), String> {
        self.deliver_due(FLUSHED);
        self.start_nanos += std::mem::replace(&mut self.begin, Time::MAX).as_nanos();
        self.links = build_links(&self.link_configs, self.seed)?;
        self.link_measures = measures_of(&self.link_configs);
        self.routes.iter_mut().for_each(|route| route.measure = RouteMeasure::new());
        self.series.begin();
        self.flows.begin();
        self.spin.begin();
        self.capture.iter_mut().for_each(Capture::start);
        Ok(())
    }

    /// What the run has measured. Ends the log; errors: it could not be written.
    pub fn finish(mut self) -> (RunMeasure, Result<(), String>) {
        let now = self.now();
        if let Some(log) = &mut self.log {
            log.write_drops();
        }
        let written =
            self.log.take().map_or(Ok(()), |log| log.finish().map_err(|error| format!("packet log: {error}")));
        let captured = self.capture.take().map_or(Ok(()), Capture::finish).map_err(|error| format!("capture: {error}"));
        let (flows, switches) = self.flows.take();
        let measure = RunMeasure {
            start_nanos: self.start_nanos,
            flows,
            switches,
            series: self.series,
            duration: now,
            wakeups: self.wakeups,
            pauses: self.pauses,
            spin: self.spin.margin(),
            link_stats: self.links.iter_mut().map(|link| link.stats(now)).collect(),
            links: self.link_measures,
            routes: self.routes.into_iter().map(|route| route.measure).collect(),
            devices: self.devices,
        };
        (measure, written.and(captured))
    }

    fn now(&self) -> Time {
        Time::from_nanos(sys::now_nanos() - self.start_nanos)
    }

    /// Hand on everything due, or due within the time `ahead`, in order of logical time.
    fn deliver_due(&mut self, ahead: Duration) {
        let mut now = self.now();
        while let Some(index) = self.next_link().filter(|index| self.links[*index].poll_timeout() <= now + ahead) {
            let due = self.links[index].poll_timeout();
            while let Some((delivered, packet)) = self.links[index].poll_output(due) {
                now = self.now();
                self.link_measures[index].note_output(delivered, now, packet.bytes.len());
                self.hand_on(delivered, now, packet);
            }
        }
        if let Some(log) = &mut self.log {
            log.write_drops();
        }
    }

    /// The link with the earliest deadline.
    fn next_link(&self) -> Option<usize> {
        (0..self.links.len()).min_by_key(|index| self.links[*index].poll_timeout())
    }

    fn hand_on(&mut self, due: Time, now: Time, mut packet: IpPacket) {
        packet.hop += 1;
        let route = &mut self.routes[usize::from(packet.route)];
        if let Some(next) = route.links.get(usize::from(packet.hop)).copied() {
            return self.links[next].handle_packet(due, packet);
        }
        self.devices[route.to_device].write(&packet.bytes);
        let path = packet.route / 2;
        if packet.route.is_multiple_of(2) {
            self.flows.note_arrived(path, &packet.bytes);
        } else {
            self.flows.note_answer(path, &packet.bytes, now);
            self.capture.iter_mut().for_each(|capture| capture.note(path, &packet.bytes, now));
        }
        route.measure.note_delivery(packet.arrival, due, now);
        if let Some(log) = &mut self.log {
            log.note_delivery(packet.id, due, now);
        }
    }

    /// Sleep until just before the next deadline, then watch the clock; return early if something has come.
    fn wait(&mut self, poll_set: &mut PollSet) -> std::io::Result<()> {
        self.wakeups += 1;
        let deadline = self.next_link().map_or(Time::MAX, |index| self.links[index].poll_timeout());
        let deadline = deadline.min(self.series.due()).min(self.begin);
        if deadline == Time::MAX {
            poll_set.wait(None)?;
            return Ok(());
        }
        let now = self.now();
        let sleep_until = deadline - self.spin.margin_at(now);
        if now < sleep_until {
            let ready = poll_set.wait(Some((sleep_until - now).as_nanos()))?;
            if ready > 0 {
                return Ok(());
            }
            self.spin.note_wakeup(sleep_until, self.now());
        }
        self.watch(poll_set, deadline)
    }

    /// Watch the clock until `deadline`, and now and then the devices.
    fn watch(&mut self, poll_set: &mut PollSet, deadline: Time) -> std::io::Result<()> {
        const GLANCE: Duration = Duration::from_micros(3);
        let start = self.now();
        let mut now = start;
        let mut ready = poll_set.wait(Some(0))?;
        let mut next_glance = now + GLANCE;
        while ready == 0 && now < deadline {
            let before = std::mem::replace(&mut now, self.now());
            self.pauses.note(now - before);
            if now >= next_glance {
                ready = poll_set.wait(Some(0))?;
                next_glance = now + GLANCE;
            }
        }
        self.spin.note_watch(now - start);
        Ok(())
    }

    fn read_device(&mut self, device: usize) -> Result<(), String> {
        let now = self.now();
        let route = device; // by the order of devices and routes
        for _ in 0..BATCH {
            let read = self.devices[device].read(&mut self.buffer);
            let read = read.map_err(|error| format!("device {}: {error}", self.devices[device].name()))?;
            let Some(length) = read else { break };
            let id = self.next_id;
            self.next_id += 1;
            if let Some(log) = &mut self.log {
                log.note_arrival(id, route as u16, length as u32, now);
            }
            let bytes = &self.buffer[..length];
            let is_from_server = route.is_multiple_of(2);
            let path = (route / 2) as u16;
            if let Some(capture) = self.capture.as_mut().filter(|_| is_from_server) {
                capture.note(path, bytes, now);
            }
            let packet = IpPacket {
                flow: if is_from_server { self.flows.note_sent(path, bytes, now) } else { None },
                id,
                route: route as u16,
                hop: 0,
                arrival: now,
                bytes: bytes.into(),
                drop_log: self.log.as_ref().map(PacketLog::drop_log),
            };
            self.links[self.routes[route].links[0]].handle_packet(now, packet);
        }
        Ok(())
    }
}

fn build_links(configs: &[LinkConfig], seed: RootSeed) -> Result<Vec<Link<IpPacket>>, String> {
    configs.iter().map(|config| Link::new(config.clone(), seed).map_err(|error| error.to_string())).collect()
}

fn measures_of(configs: &[LinkConfig]) -> Vec<LinkMeasure> {
    configs.iter().map(|config| LinkMeasure::new(&config.server)).collect()
}

impl RouteMeasure {
    fn new() -> RouteMeasure {
        RouteMeasure { lateness: Histogram::new(), transit: Histogram::new(), slips: 0 }
    }
}
