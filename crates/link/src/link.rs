//! One direction of a path: outage, MTU, NAT → ingress loss → ECN field → queue → server → egress loss, corruption → propagation.
//!
//! Driven by logical time. Every entry point first processes all events up to `now`, each at its own
//! time: the server takes the next packet at the moment it became free, AQMs see true sojourn times, deliveries keep their
//! due times. So a late call never lowers the rate (which the emulator relies on), and the simulator needs one timer per delivery.
//!
//! Order of events at the same time: departures before arrivals. Calls must not go back in time; a `now` that does is taken
//! as the latest one seen.
//!
//! Where the whole way of a packet is certain when it arrives, it is decided then ([`Passage`]); otherwise step by step.
//!
//! Invariants: the ledger balances after every call; extra calls of `handle_timeout` change no result; the queue never
//! includes the packet on the wire.
//! Tested: both invariants as properties over all queues and servers; each element in its own file.

use crate::Packet;
use crate::config::{LinkConfig, LossPlace};
use crate::delay::DelayLine;
use crate::ecn::EcnRewrite;
use crate::error::LinkError;
use crate::hazards::Hazards;
use crate::ledger::{Count, DropCause, Drops, Ledger};
use crate::loss::LossModel;
use crate::passage::{Fate, Passage};
use crate::queue::Queue;
use crate::server::Server;
use crate::stats::{LinkStats, QueueMeter};
use crate::store::{Dropped, Queued, Store};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Ratio, Time};

/// One direction of a path. See the module's notes for the order of elements and the meaning of time.
pub struct Link<P> {
    now: Time,
    /// When the server ends its present packet; `Time::MAX` if it is idle.
    free_at: Time,
    timeout: Time,
    in_service: InService,
    server: Server,
    /// Present if the way of a packet is certain when it arrives; queue and store are empty then.
    passage: Option<Passage<P>>,
    queue: Queue,
    line: DelayLine,
    store: Store<P>,
    /// Boxed, as is every part that most links do without: the others lie close together.
    loss: Option<Box<LossModel>>,
    loss_place: LossPlace,
    hazards: Option<Box<Hazards>>,
    ecn_rewrite: Option<EcnRewrite>,
    offered: Count,
    sent: Count,
    delivered: Count,
    meter: QueueMeter,
    busy_time: Duration,
    name: String,
}

/// Position of a delivered packet inside its link.
#[derive(Clone, Copy, Debug)]
pub struct Place(u32);

/// The packet on the transmitter. Its fate is decided when its service starts: unless it will be lost at the far end, it
/// already lies in the delay line under its delivery time.
#[derive(Clone, Copy)]
struct InService {
    packet: Queued,
    lost: Option<DropCause>,
}

impl<P: Packet> Link<P> {
    /// A link at time zero. Its random streams are "link.NAME/loss", "/queue", "/jitter", "/reordering" of `seed`;
    /// where a trace begins and where an outage is moved are those of the name without its direction, "/start" and "/outage".
    /// Errors: the first setting that is not allowed.
    pub fn new(config: LinkConfig, seed: RootSeed) -> Result<Link<P>, LinkError> {
        config.check_all_but_the_queue()?;
        let stream = |element: &str| seed.stream(&format!("link.{}/{element}", config.name));
        let server = Server::new(&config, seed);
        let queue = Queue::new(&config.queue, config.link_facts(), stream("queue"))?;
        let loss = LossModel::new(&config.loss, stream("loss")).map(Box::new);
        let hazards = Hazards::new(&config, seed);
        let is_certain = hazards.is_none() && config.ecn_rewrite.is_none() && config.reordering.is_none();
        let passage = match (&server, &queue) {
            (Server::Wifi(_), _) => None,
            (_, Queue::DropTail(queue)) if is_certain => Some(Passage::new(queue.limit)),
            _ => None,
        };
        Ok(Link {
            now: Time::ZERO,
            free_at: Time::MAX,
            timeout: Time::MAX,
            in_service: InService { packet: Queued { arrival: Time::ZERO, slot: 0, wire_bytes: 0 }, lost: None },
            server,
            passage,
            queue,
            line: DelayLine::new(&config, seed),
            loss,
            loss_place: config.loss_place,
            hazards,
            ecn_rewrite: config.ecn_rewrite,
            offered: Count::default(),
            sent: Count::default(),
            delivered: Count::default(),
            store: Store::new(causes_of(&config)),
            meter: QueueMeter::default(),
            busy_time: Duration::ZERO,
            name: config.name,
        })
    }

    #[inline(always)]
    pub fn handle_packet(&mut self, now: Time, packet: P) {
        self.handle_made(now, packet.wire_bytes(), || packet);
    }

    /// The same as [`handle_packet`](Self::handle_packet) for a packet of this size, which is constructed in its slot to avoid a copy.
    #[inline(always)]
    pub fn handle_made(&mut self, now: Time, wire_bytes: u32, make: impl FnOnce() -> P) {
        if self.passage.is_some() {
            self.pass(now, wire_bytes, make);
        } else {
            self.handle_step_by_step(now, wire_bytes, make);
            self.update_timeout();
        }
    }

    /// What becomes of the packet, and when.
    #[inline(always)]
    fn pass(&mut self, now: Time, wire_bytes: u32, make: impl FnOnce() -> P) {
        let now = self.catch_up(now);
        self.offered.add_packet(wire_bytes);
        if self.is_lost_at(LossPlace::BeforeQueue, now) {
            return self.store.note_drop(DropCause::Loss, now, make());
        }
        let Some(passage) = &mut self.passage else { return };
        let is_idle = self.free_at == Time::MAX;
        let start = if is_idle {
            self.server.go_idle();
            now
        } else if let Some(start) = passage.queue(wire_bytes) {
            start
        } else {
            return self.store.note_drop(DropCause::QueueFull, now, make());
        };
        let is_noise = is_lost_at(&mut self.loss, self.loss_place, LossPlace::AfterQueue, start);
        let (departure, _) = self.server.serve(start, wire_bytes, &self.queue);
        self.busy_time += departure - start;
        let fate = match is_noise {
            true => Fate::Lost { arrival: now },
            false => Fate::Delivered(self.line.delivery(departure)),
        };
        let is_alone = passage.push(departure, fate, make());
        if is_alone {
            self.timeout = passage.due();
        }
        if is_idle {
            self.free_at = departure;
            self.catch_up(now);
        } else {
            self.meter.set(now, passage.waiting());
        }
    }

    /// A packet whose way is decided bit by bit: it goes where loss, server and queue send it.
    #[inline(never)]
    fn handle_step_by_step(&mut self, now: Time, wire_bytes: u32, make: impl FnOnce() -> P) {
        let packet = self.store.put(self.now.max(now), wire_bytes, make);
        let now = self.catch_up(packet.arrival);
        self.offered.add_packet(packet.wire_bytes);
        let refused = self.hazards.as_ref().and_then(|hazards| hazards.refuses(now, self.store.get(packet)));
        if let Some(cause) = refused {
            self.store.drop_packet(cause, packet);
        } else if self.is_lost_at(LossPlace::BeforeQueue, now) {
            self.store.drop_packet(DropCause::Loss, packet);
        } else {
            self.accept(now, packet);
        }
    }

    /// Server or queue take the packet.
    fn accept(&mut self, now: Time, packet: Queued) {
        if let Some(binding) = self.hazards.as_ref().and_then(|hazards| hazards.outbound_binding(now)) {
            self.store.bind(packet, binding);
        }
        if let Some(rewrite) = self.ecn_rewrite {
            self.store.rewrite_ecn(packet, rewrite);
        }
        if self.free_at == Time::MAX {
            if let Some(packet) = self.queue.pass(now, packet, &mut self.store) {
                self.start_service(now, packet);
                self.catch_up(now);
            }
        } else {
            let waiting = self.queue.enqueue(now, packet, &mut self.store);
            self.meter.set(now, waiting);
        }
    }

    /// The next packet delivered until `now`, with its delivery time; in order of delivery. Call until `None`.
    #[inline]
    pub fn poll_output(&mut self, now: Time) -> Option<(Time, P)> {
        let (delivery, place) = self.poll_place(now)?;
        Some((delivery, self.take(place)))
    }

    /// The same as [`poll_output`](Self::poll_output), but the packet stays in the link: [`take`](Self::take) it next, or read it
    /// ([`delivered`](Self::delivered)) and [`release`](Self::release) it.
    #[inline]
    pub fn poll_place(&mut self, now: Time) -> Option<(Time, Place)> {
        let now = self.catch_up(now);
        if self.passage.is_some() {
            // What is lost has left by now, so this is a delivery.
            return (self.timeout <= now).then_some((self.timeout, Place(0)));
        }
        let output = self.line.pop(now);
        self.update_timeout();
        let packet = output?;
        self.delivered.add_packet(packet.wire_bytes);
        Some((packet.delivery, Place(packet.slot)))
    }

    /// The MTU to report if a packet of this size is dropped here and its sender notified; otherwise `None`.
    pub fn mtu_to_report(&self, wire_bytes: u32) -> Option<u32> {
        self.hazards.as_ref()?.mtu_to_report(wire_bytes)
    }

    #[inline]
    pub fn delivered(&self, Place(slot): Place) -> &P {
        match &self.passage {
            Some(passage) => passage.first(),
            None => self.store.at(slot),
        }
    }

    /// The packet that was delivered at this place goes out.
    #[inline]
    pub fn take(&mut self, Place(slot): Place) -> P {
        let Some(passage) = &mut self.passage else { return self.store.take(slot) };
        let packet = passage.pop().expect("a packet that was polled");
        self.delivered.add_packet(packet.wire_bytes());
        self.update_timeout();
        packet
    }

    /// The packet that was delivered at this place is done with.
    #[inline]
    pub fn release(&mut self, Place(slot): Place) {
        let Some(passage) = &mut self.passage else { return self.store.release(slot) };
        if let Some(packet) = passage.pop() {
            self.delivered.add_packet(packet.wire_bytes());
        }
        self.update_timeout();
    }

    /// When to call [`poll_output`](Self::poll_output) next: the earliest time at which it may have something.
    /// `Time::MAX`: nothing inside.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.timeout
    }

    /// Catch up without taking output.
    pub fn handle_timeout(&mut self, now: Time) {
        self.catch_up(now);
        self.update_timeout();
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Packets in the queue as of the last call, without the one on the wire.
    pub fn queue_packets(&self) -> u32 {
        self.passage.as_ref().map_or_else(|| self.queue.packets(), Passage::waiting)
    }

    /// Bytes in the queue as of the last call, without the packet on the wire.
    pub fn queue_bytes(&self) -> u64 {
        self.passage.as_ref().map_or_else(|| self.queue.bytes(), Passage::waiting_bytes)
    }

    /// Every packet inside as of the last call, in no particular order: in the queue, in service or propagating.
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        self.store.packets().chain(self.passage.iter().flat_map(Passage::iter))
    }

    /// Start keeping dropped packets for [`take_dropped`](Self::take_dropped).
    pub fn log_drops(&mut self) {
        self.store.dropped.get_or_insert_default();
    }

    /// Packets dropped since the last call, up to the time last processed; empty unless [`log_drops`](Self::log_drops) was called.
    pub fn take_dropped(&mut self) -> Vec<Dropped<P>> {
        self.store.dropped.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Counters and means until `now`.
    pub fn stats(&mut self, now: Time) -> LinkStats {
        let now = self.catch_up(now);
        self.update_timeout();
        let busy_until = match &self.passage {
            _ if self.free_at == Time::MAX => now,
            Some(passage) => passage.last_departure(),
            None => self.free_at,
        };
        let busy_time = self.busy_time.saturating_sub(busy_until - now);
        let utilisation = match self.server.capacity_bytes(now) {
            _ if now == Time::ZERO => 0.0,
            Some(0.0) => 0.0,
            Some(capacity) => self.sent.bytes as f64 / capacity,
            None => busy_time.ratio(now - Time::ZERO),
        };
        let (mean_queue_packets, sd_queue_packets, max_queue_packets) = self.meter.summary(now);
        LinkStats {
            offered: self.offered,
            delivered: self.delivered,
            dropped: self.store.drops,
            ce_marked_packets: self.store.ce_marked_packets,
            rewritten_packets: self.ecn_rewrite.map(|_| self.store.rewritten_packets),
            classes: self.queue.classes(),
            busy_time,
            utilisation,
            mean_queue_packets,
            sd_queue_packets,
            max_queue_packets,
        }
    }

    /// The balance as of the last call. Counts the packets in flight one by one: for tests and checks, not for hot paths.
    pub fn ledger(&self) -> Ledger {
        let [mut in_service, mut propagating] =
            self.passage.as_ref().map_or_else(Default::default, Passage::in_service_and_propagating);
        self.line.iter().for_each(|packet| propagating.add_packet(packet.wire_bytes));
        if self.free_at != Time::MAX && self.passage.is_none() {
            in_service.add_packet(self.in_service.packet.wire_bytes);
            if self.in_service.lost.is_none() {
                propagating.packets -= 1;
                propagating.bytes -= in_service.bytes;
            }
        }
        let queued = Count { packets: u64::from(self.queue_packets()), bytes: self.queue_bytes() };
        Ledger {
            offered: self.offered,
            delivered: self.delivered,
            dropped: self.store.drops,
            queued,
            in_service,
            propagating,
            held: self.held(),
        }
    }

    /// All that happened until `now`; returns the latest time seen.
    #[inline]
    fn catch_up(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        while self.free_at <= self.now {
            self.finish_service();
        }
        self.now
    }

    /// All packets inside, counted one by one.
    fn held(&self) -> Count {
        let mut held = Count::default();
        self.packets().for_each(|packet| held.add_packet(packet.wire_bytes()));
        held
    }

    /// The server has sent its packet and takes the next one.
    #[inline(always)]
    fn finish_service(&mut self) {
        let at = self.free_at;
        let Some(passage) = &mut self.passage else { return self.finish_step_by_step(at) };
        let (wire_bytes, lost) = passage.depart();
        self.free_at = passage.serve();
        self.meter.set(at, passage.waiting());
        self.sent.add_packet(wire_bytes);
        if let Some((arrival, packet)) = lost {
            self.store.note_drop(DropCause::Loss, arrival, packet);
            self.update_timeout();
        }
    }

    #[inline(never)]
    fn finish_step_by_step(&mut self, at: Time) {
        self.sent.add_packet(self.in_service.packet.wire_bytes);
        if let Some(cause) = self.in_service.lost {
            self.store.drop_packet(cause, self.in_service.packet);
        }
        let (next, waiting) = self.queue.dequeue(self.server.taken_at(at), &mut self.store);
        self.meter.set(at, waiting);
        match next {
            Some(packet) => self.start_service(at, packet),
            None => {
                self.free_at = Time::MAX;
                self.server.go_idle();
            }
        }
    }

    /// Whether the loss model, if it is at `place`, drops the next packet.
    #[inline]
    fn is_lost_at(&mut self, place: LossPlace, now: Time) -> bool {
        is_lost_at(&mut self.loss, self.loss_place, place, now)
    }

    fn start_service(&mut self, at: Time, packet: Queued) {
        let is_noise = self.is_lost_at(LossPlace::AfterQueue, at);
        let (free_at, is_given_up) = self.server.serve(at, packet.wire_bytes, &self.queue);
        let is_corrupted = self.hazards.as_mut().is_some_and(|hazards| hazards.corrupts());
        let lost = match (is_noise || is_given_up, is_corrupted) {
            (true, _) => Some(DropCause::Loss),
            (false, true) => Some(DropCause::Corrupted),
            (false, false) => None,
        };
        self.in_service = InService { packet, lost };
        self.free_at = free_at;
        self.busy_time += self.free_at - at;
        if lost.is_none() {
            self.line.push(self.free_at, packet);
        }
    }

    #[inline]
    fn update_timeout(&mut self) {
        if let Some(passage) = &self.passage {
            self.timeout = passage.due();
            return;
        }
        let mut timeout = self.line.head_delivery().unwrap_or(self.free_at);
        if let Some(least) = self.line.min_delay_if_overtaking()
            && self.queue.packets() > 0
        {
            timeout = timeout.min(self.free_at + least);
        }
        self.timeout = timeout;
    }
}

#[inline]
fn is_lost_at(loss: &mut Option<Box<LossModel>>, its: LossPlace, place: LossPlace, now: Time) -> bool {
    loss.as_mut().is_some_and(|loss| its == place && loss.loses(now))
}

fn causes_of(config: &LinkConfig) -> Drops {
    let zero = |is_there: bool| is_there.then(Count::default);
    Drops {
        outage: zero(config.outage.is_some()),
        too_big: zero(config.mtu.is_some()),
        corrupted: zero(config.corruption != Ratio::ZERO),
        rebound: zero(config.rebinding.is_some_and(|nat| !nat.is_outbound)),
        ..Drops::default()
    }
}
