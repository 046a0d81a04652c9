//! An idealised transport: no packets, no congestion control; a piecewise constant rate and latency.
//!
//! Reference: the network models of Sabre (UMass-LIDS/sabre) and of Pensieve's simulator, with which ABR rules are usually
//! compared. A response starts one latency after its request and then takes the rate of the moment; connections that have
//! something to send share it equally, responses on one connection come in order.
//! Differences from the references:
//! 1. It drives a real player through its interface, so pipelining, parallel connections and reading limits work.
//! 2. Pensieve's 5 % header overhead and its random 10 % noise are not included; headers and handshakes are free, as in Sabre.
//! 3. A request takes the latency at its start; Sabre lets it change under way.
//!
//! Units: bit/s, nanoseconds; bytes are delivered whole, the fraction is carried. The first byte of a body is delivered when it
//! arrives, further progress at least every [`PROGRESS`]. Tested by `tests/ideal.rs` (worked downloads) and `tests/abr_traces.rs`.

use crate::{Action, ConnectionId, Delivery, Player, Request, RequestId};
use playpath_units::{Duration, Rate, Time};
use std::collections::VecDeque;

/// Longest time between two deliveries to the player while data flows (Sabre: `min_progress_time`).
pub const PROGRESS: Duration = Duration::from_millis(50);

/// Bit-nanoseconds per second in a byte.
const PER_BYTE: u128 = 8_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealStep {
    pub duration: Duration,
    /// Rate of all connections together; zero is an outage.
    pub rate: Rate,
    /// Time from a request to the first byte of its response.
    pub latency: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IdealLink {
    steps: Vec<IdealStep>,
    /// Start over after the last step; otherwise the last step lasts.
    pub repeats: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdealError {
    #[error("the trace has no steps; at least one is needed")]
    Empty,
    #[error("step {step} of the trace has no duration")]
    NoDuration { step: usize },
    #[error("the trace has rate zero throughout")]
    NoRate,
}

impl IdealLink {
    /// A trace; the last step lasts.
    pub fn new(steps: Vec<IdealStep>) -> Result<IdealLink, IdealError> {
        if steps.is_empty() {
            return Err(IdealError::Empty);
        }
        if let Some(step) = steps.iter().position(|step| step.duration.is_zero()) {
            return Err(IdealError::NoDuration { step });
        }
        if steps.iter().all(|step| step.rate == Rate::default()) {
            return Err(IdealError::NoRate);
        }
        Ok(IdealLink { steps, repeats: false })
    }

    pub fn constant(rate: Rate, latency: Duration) -> Result<IdealLink, IdealError> {
        IdealLink::new(vec![IdealStep { duration: Duration::from_secs(1), rate, latency }])
    }

    fn at(&self, now: Time) -> (IdealStep, Time) {
        let total: u64 = self.steps.iter().map(|step| step.duration.as_nanos()).sum();
        let passed = now.as_nanos();
        let (round, mut within) = if self.repeats { (passed / total, passed % total) } else { (0, passed) };
        let mut end = round.saturating_mul(total);
        for step in &self.steps {
            end = end.saturating_add(step.duration.as_nanos());
            if within < step.duration.as_nanos() {
                return (*step, Time::from_nanos(end));
            }
            within -= step.duration.as_nanos();
        }
        (self.steps[self.steps.len() - 1], Time::MAX)
    }
}

/// Let `player` play over `link` until it has finished or `until` is reached; the player is stopped then. Returns the end,
/// and the body bytes that came.
pub fn play(player: &mut dyn Player, link: &IdealLink, until: Time) -> (Time, u64) {
    let mut transport = Transport { link, flows: Vec::new(), now: Time::ZERO, read_bytes: 0 };
    player.handle_start(transport.now);
    transport.take_actions(player);
    while !player.is_finished() {
        let next = transport.next_event(player);
        if next > until || next == Time::MAX {
            transport.now = transport.now.max(until.min(next));
            player.handle_stop(transport.now);
            break;
        }
        transport.run_to(next, player);
    }
    (transport.now, transport.read_bytes)
}

#[derive(Debug)]
struct Response {
    id: RequestId,
    starts_at: Time,
    body_left: u64,
    body_bytes: u64,
    delivery: Delivery,
}

impl Response {
    /// Body bytes that the server has written by `now`, of those not yet sent.
    fn released(&self, now: Time) -> u64 {
        let written = self.delivery.written(0, self.body_bytes, self.starts_at, now);
        written.saturating_sub(self.body_bytes - self.body_left)
    }

    /// Body bytes until the next delivery: the first byte is delivered alone, so that the player sees it when it arrives.
    fn next_cut(&self, now: Time) -> u64 {
        let released = self.released(now);
        if self.body_left == self.body_bytes { released.min(1) } else { released }
    }

    fn next_release(&self, now: Time) -> Time {
        self.delivery.next_write(0, self.body_bytes, self.starts_at, now)
    }
}

#[derive(Debug)]
struct Flow {
    connection: ConnectionId,
    is_ready: bool,
    responses: VecDeque<Response>,
    /// Bit-nanoseconds of the next byte that are already sent.
    carry: u128,
    /// Bytes that may be sent until the next event: written, and will be read.
    sendable: u64,
}

struct Transport<'a> {
    link: &'a IdealLink,
    flows: Vec<Flow>,
    now: Time,
    read_bytes: u64,
}

impl Transport<'_> {
    /// When something happens next. Also finds out what each flow may send until then.
    fn next_event(&mut self, player: &dyn Player) -> Time {
        let (step, step_end) = self.link.at(self.now);
        let mut next = player.poll_timeout().max(self.now).min(step_end);
        for flow in &mut self.flows {
            flow.sendable = 0;
            if !flow.is_ready {
                next = self.now;
            }
            let Some(head) = flow.responses.front() else { continue };
            if head.starts_at > self.now {
                next = next.min(head.starts_at);
            } else {
                let readable = player.read_limit(self.now, flow.connection);
                flow.sendable = head.next_cut(self.now).min(readable);
                next = next.min(head.next_release(self.now));
            }
        }
        let share = self.share(step.rate);
        for flow in self.flows.iter().filter(|flow| flow.sendable > 0 && share > 0) {
            let work = u128::from(flow.sendable) * PER_BYTE - flow.carry;
            let done_in = u64::try_from(work.div_ceil(share)).unwrap_or(u64::MAX);
            next = next.min(self.now + Duration::from_nanos(done_in).min(PROGRESS));
        }
        next
    }

    fn share(&self, rate: Rate) -> u128 {
        let senders = self.flows.iter().filter(|flow| flow.sendable > 0).count();
        u128::from(rate.as_bits_per_sec()) / senders.max(1) as u128
    }

    fn run_to(&mut self, next: Time, player: &mut dyn Player) {
        let share = self.share(self.link.at(self.now).0.rate);
        let work = share * u128::from(next.saturating_since(self.now).as_nanos());
        self.now = next;
        let mut arrived: Vec<(RequestId, u64)> = Vec::new();
        for flow in self.flows.iter_mut().filter(|flow| flow.sendable > 0) {
            arrived.extend(flow.send(work));
        }
        for (request, bytes) in arrived {
            self.read_bytes += bytes;
            player.handle_body(next, request, bytes);
            self.take_actions(player);
        }
        while let Some(flow) = self.flows.iter_mut().find(|flow| !flow.is_ready) {
            flow.is_ready = true;
            let connection = flow.connection;
            player.handle_connected(next, connection);
            self.take_actions(player);
        }
        if player.poll_timeout() <= next {
            player.handle_timeout(next);
            self.take_actions(player);
        }
    }

    fn take_actions(&mut self, player: &mut dyn Player) {
        while let Some(action) = player.poll_action() {
            match action {
                Action::Open(connection) => self.open(connection),
                Action::Request(request) => self.request(request),
                Action::Abandon(request) => {
                    for flow in &mut self.flows {
                        flow.responses.retain(|response| response.id != request);
                    }
                }
                Action::Close(connection) => self.flows.retain(|flow| flow.connection != connection),
            }
        }
    }

    fn open(&mut self, connection: ConnectionId) {
        self.flows.push(Flow { connection, is_ready: false, responses: VecDeque::new(), carry: 0, sendable: 0 });
    }

    fn request(&mut self, request: Request) {
        let latency = self.link.at(self.now).0.latency;
        let starts_at = self.now + latency;
        let delivery = match request.delivery {
            // What is encoded later travels one way only.
            Delivery::AsEncoded { pieces, encoded, next_at, every } => {
                Delivery::AsEncoded { pieces, encoded, next_at: next_at + latency.mul_f64(0.5), every }
            }
            other => other,
        };
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.connection == request.connection) {
            flow.responses.push_back(Response {
                id: request.id,
                starts_at,
                body_left: request.body_bytes,
                body_bytes: request.body_bytes,
                delivery,
            });
        }
    }
}

impl Flow {
    /// Spend `work` bit-nanoseconds on the first response. Its body bytes that arrive, if any.
    fn send(&mut self, work: u128) -> Option<(RequestId, u64)> {
        let head = self.responses.front_mut()?;
        let total = self.carry + work;
        let bytes = u64::try_from(total / PER_BYTE).unwrap_or(u64::MAX).min(self.sendable);
        // A delivery ends on a whole nanosecond: what that rounds up belongs to the next byte.
        self.carry = (total - u128::from(bytes) * PER_BYTE).min(PER_BYTE - 1);
        head.body_left -= bytes;
        let id = head.id;
        if head.body_left == 0 {
            self.responses.pop_front();
            self.carry = 0;
        }
        (bytes > 0).then_some((id, bytes))
    }
}
