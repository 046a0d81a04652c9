//! The loop: deliver due packets, read arriving ones, sleep until the next deadline.
//!
//! Time is the monotonic clock since the start of the run. Due packets are taken in the order of their logical times over all
//! links, so that a packet enters its next link at the moment it left the one before, however late the loop is.
//!
//! The program that prepares a run announces its start. At that moment the clock and the links are reset, so that traces, outages, random
//! draws and statistics begin with the run, as in the simulator, however long the preparation took.

#[cfg(test)]
mod tests;

use crate::capture::Capture;
use crate::config::Config;
use crate::error::EmulatorError;
use crate::flows::Flows;
use crate::machine::Machine;
use crate::orders::Order;
use crate::packet::IpPacket;
use crate::report::{Pauses, RouteMeasure, RunMeasure};
use crate::series::Series;
use crate::spin::Spin;
use playpath_link::{Link, LinkConfig, LinkError};
use playpath_transport::codec::Packet;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Time};

/// Packets read from a device before the others get their turn.
const BATCH: usize = 64;
const MAX_PACKET: usize = 65_536;
/// Packets in flight at the start of the run that would arrive within this time are delivered at once.
const FLUSHED: Duration = Duration::from_secs(2);

pub struct Engine<M> {
    /// Its devices are the server's and the client's end of each path, alternately: device 2p is where route 2p (down) begins and
    /// route 2p + 1 (up) ends.
    machine: M,
    seed: RootSeed,
    link_configs: Vec<LinkConfig>,
    links: Vec<Link<IpPacket>>,
    routes: Vec<Route>,
    capture: Option<Capture>,
    flows: Flows,
    series: Series,
    spin: Spin,
    start_nanos: u64,
    /// Start of the run, if it lies in the future.
    begin: Time,
    pauses: Pauses,
    buffer: Box<[u8]>,
}

/// The way from one end of a path to the other.
struct Route {
    links: Vec<usize>,
    to_device: usize,
    measure: RouteMeasure,
}

impl<M: Machine> Engine<M> {
    /// Build the links, for a machine with the devices of all paths.
    pub fn new(config: &Config, machine: M) -> Result<Engine<M>, EmulatorError> {
        let seed = RootSeed(config.settings.seed);
        let link_configs: Vec<LinkConfig> = config.links.clone();
        let route =
            |links: &[usize], to_device| Route { links: links.to_vec(), to_device, measure: RouteMeasure::new() };
        let paths = config.routes.iter().enumerate();
        let routes =
            paths.flat_map(|(p, path)| [route(&path.links.down, 2 * p + 1), route(&path.links.up, 2 * p)]).collect();
        let paths: Vec<&str> = config.routes.iter().map(|path| path.name.as_str()).collect();
        let capture = |file: &String| {
            let failed = |source| EmulatorError::File { what: "capture", name: file.clone(), source };
            Capture::create(file, &paths).map_err(failed)
        };
        Ok(Engine {
            capture: config.settings.capture.as_ref().map(capture).transpose()?,
            flows: Flows::default(),
            series: Series::new(config.settings.sample, config.links.len()),
            links: build_links(&link_configs, seed)?,
            link_configs,
            seed,
            routes,
            spin: Spin::new(),
            start_nanos: machine.now_nanos(),
            machine,
            begin: Time::MAX,
            pauses: Pauses::default(),
            buffer: vec![0; MAX_PACKET].into(),
        })
    }

    /// Run until a signal or the end of standard input.
    pub fn run(&mut self) -> Result<(), EmulatorError> {
        loop {
            self.deliver_due(Duration::ZERO);
            let now = self.now();
            if now >= self.begin {
                self.begin_run()?;
                continue;
            }
            self.series.sample(now, &mut self.links);
            self.wait()?;
            match self.machine.next_order()? {
                Order::End => return Ok(()),
                Order::Start(nanos) => self.begin = Time::from_nanos(nanos.saturating_sub(self.start_nanos)),
                Order::Nothing => {}
            }
            // Packets that became due during the wait precede those that have just arrived.
            self.deliver_due(Duration::ZERO);
            for device in 0..self.routes.len() {
                if self.machine.has_packet(device) {
                    self.read_device(device)?;
                }
            }
        }
    }

    /// The run begins: time counts from `begin`, and links and measures are as new.
    fn begin_run(&mut self) -> Result<(), EmulatorError> {
        self.deliver_due(FLUSHED);
        self.start_nanos += std::mem::replace(&mut self.begin, Time::MAX).as_nanos();
        self.links = build_links(&self.link_configs, self.seed)?;
        self.routes.iter_mut().for_each(|route| route.measure = RouteMeasure::new());
        self.series.begin();
        self.flows.begin();
        self.spin.begin();
        self.capture.iter_mut().for_each(Capture::start);
        Ok(())
    }

    /// The run's measurements. Closes the capture; errors: it could not be written.
    pub fn finish(mut self) -> (RunMeasure, M, Result<(), EmulatorError>) {
        let now = self.now();
        let captured = self.capture.take().map_or(Ok(()), Capture::finish).map_err(EmulatorError::system("capture"));
        let (flows, switches) = self.flows.take();
        let measure = RunMeasure {
            start_nanos: self.start_nanos,
            flows,
            switches,
            series: self.series,
            duration: now,
            pauses: self.pauses,
            link_stats: self.links.iter_mut().map(|link| link.stats(now)).collect(),
            routes: self.routes.into_iter().map(|route| route.measure).collect(),
        };
        (measure, self.machine, captured)
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.machine.now_nanos() - self.start_nanos)
    }

    /// Hand on everything due, or due within the time `ahead`, in order of logical time.
    fn deliver_due(&mut self, ahead: Duration) {
        let mut now = self.now();
        while let Some(index) = self.next_link().filter(|index| self.links[*index].poll_timeout() <= now + ahead) {
            let due = self.links[index].poll_timeout();
            while let Some((delivered, packet)) = self.links[index].poll_output(due) {
                now = self.now();
                self.pass_on(delivered, now, packet);
            }
        }
    }

    fn next_link(&self) -> Option<usize> {
        (0..self.links.len()).min_by_key(|index| self.links[*index].poll_timeout())
    }

    fn pass_on(&mut self, due: Time, now: Time, mut packet: IpPacket) {
        packet.hop += 1;
        let route = &mut self.routes[usize::from(packet.route)];
        if let Some(next) = route.links.get(usize::from(packet.hop)).copied() {
            return self.links[next].handle_packet(due, packet);
        }
        self.machine.write(route.to_device, &packet.bytes);
        let path = packet.route / 2;
        if let Some(flow) = &packet.flow {
            flow.note_arrived(packet.bytes.len());
        }
        if !packet.route.is_multiple_of(2) {
            let parsed = Packet::parse(&packet.bytes).ok();
            parsed.iter().for_each(|parsed| self.flows.note_answer(path, parsed, now));
            self.capture.iter_mut().for_each(|capture| capture.note(path, &packet.bytes, parsed.as_ref(), now));
        }
        route.measure.note_delivery(due, now);
    }

    /// Sleep until just before the next deadline, then watch the clock; return early if a packet has arrived.
    fn wait(&mut self) -> Result<(), EmulatorError> {
        let deadline = self.next_link().map_or(Time::MAX, |index| self.links[index].poll_timeout());
        let deadline = deadline.min(self.series.due()).min(self.begin);
        if deadline == Time::MAX {
            return self.machine.wait(None).map(drop);
        }
        let now = self.now();
        let sleep_until = deadline - self.spin.margin_at(now);
        if now < sleep_until {
            if self.machine.wait(Some((sleep_until - now).as_nanos()))? {
                return Ok(());
            }
            self.spin.note_wakeup(sleep_until, self.now());
        }
        self.watch(deadline)
    }

    /// Watch the clock until `deadline`, and now and then the devices.
    fn watch(&mut self, deadline: Time) -> Result<(), EmulatorError> {
        const POLL_INTERVAL: Duration = Duration::from_micros(3);
        let start = self.now();
        let mut now = start;
        let mut has_packet = self.machine.wait(Some(0))?;
        let mut next_poll = now + POLL_INTERVAL;
        while !has_packet && now < deadline {
            let before = std::mem::replace(&mut now, self.now());
            self.pauses.note(now - before);
            if now >= next_poll {
                has_packet = self.machine.wait(Some(0))?;
                next_poll = now + POLL_INTERVAL;
            }
        }
        self.spin.note_watch(now - start);
        Ok(())
    }

    fn read_device(&mut self, device: usize) -> Result<(), EmulatorError> {
        let now = self.now();
        let route = device; // by the order of devices and routes
        for _ in 0..BATCH {
            let Some(length) = self.machine.read(device, &mut self.buffer)? else { break };
            let bytes = &self.buffer[..length];
            let is_from_server = route.is_multiple_of(2);
            let path = (route / 2) as u16;
            let parsed = Packet::parse(bytes).ok();
            if let Some(capture) = self.capture.as_mut().filter(|_| is_from_server) {
                capture.note(path, bytes, parsed.as_ref(), now);
            }
            let flow = match &parsed {
                Some(parsed) if is_from_server => self.flows.note_sent(path, parsed, now),
                Some(parsed) => {
                    self.flows.note_client_sent(path, parsed);
                    None
                }
                None => None,
            };
            let packet = IpPacket { flow, route: route as u16, hop: 0, bytes: bytes.into() };
            self.links[self.routes[route].links[0]].handle_packet(now, packet);
        }
        Ok(())
    }
}

fn build_links(configs: &[LinkConfig], seed: RootSeed) -> Result<Vec<Link<IpPacket>>, LinkError> {
    configs.iter().map(|config| Link::new(config.clone(), seed)).collect()
}
