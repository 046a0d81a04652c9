//! The streaming agent of the Vegas paper: constant-rate media, written in chunks, drained at the media rate.
//!
//! Reference: Boyden, Mahanti, Williamson, "TCP Vegas Performance with Streaming Media" (IPCCC 2007), section 4.2. The server
//! writes `chunk = xfactor × media rate × heartbeat` every heartbeat. The client starts when a share of the media (5 %) is
//! buffered, then drains at the media rate.
//!
//! The paper does not define these; our reading:
//! 1. A packet is late if its last byte comes later than start + offset / rate, offset being that of its first byte. The clock
//!    does not stop. Data that have not arrived by the end of the media are late too.
//! 2. The heartbeat is 0.1 s.
//! 3. The chunk is rounded up to a byte, so that xfactor 1 is never slower than the media.
//! 4. A finite buffer holds the sender back by not reading (as a TCP client does), or, `overflow = discard`, loses packets that
//!    find it full (as the paper says of its finite buffer).
//! 5. An underflow event lasts from a packet that is not there when due to the next one that comes in time.
//!
//! Units: bytes, nanoseconds. Invariants: every packet is judged once, in time, late or overflowed; start-up + media in time +
//! media late or lost = elapsed; constant work per packet, no allocation but for log entries (and runs of lost packets).
//! Tested: hand-computed timelines, property tests over arrivals.

use crate::buffer::{BufferSize, Cache};
use crate::events::{EventLog, Totals};
use crate::registry::{BUFFER, INTERVAL, PlayerEntry};
use crate::{
    Action, AppReport, ConnectionId, Delivery, EventKind, FinishReason, ObjectRef, PlaybackEvent, Player, Request,
    RequestId,
};
use playpath_units::{Duration, Kind, ParamSpec, Rate, Ratio, Time};
use std::collections::VecDeque;

const CONNECTION: ConnectionId = ConnectionId(0);
const REQUEST: RequestId = RequestId(0);
/// A packet is missing if it is not there one tick after it was due.
const TICK: Duration = Duration::from_nanos(1);

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "agent",
    summary: "constant-rate media written in chunks and drained at the media rate; counts late packets",
    reference: "Boyden, Mahanti, Williamson 2007 (Vegas), section 4.2",
    params: &[
        ParamSpec::number(
            "xfactor",
            8.0,
            (0.01, 1e6),
            "",
            "the server writes at this many times the media rate; 1: at the media rate itself (paper: 8)",
        ),
        ParamSpec::text("heartbeat", "100 ms", INTERVAL, "interval of the server's writes (the paper does not say)"),
        ParamSpec::text(
            "start_share",
            "5 %",
            Kind::Share,
            "share of the media that is buffered before the start (paper)",
        ),
        ParamSpec::text("buffer", "infinite", BUFFER, "size of the buffer (paper: larger than needed)").or("infinite"),
        ParamSpec::word(
            "overflow",
            "backpressure",
            &["backpressure", "discard"],
            "a full buffer stops reading, or discards what arrives",
        ),
    ],
    build: |context, settings| {
        let config = AgentConfig {
            xfactor: settings.number("xfactor"),
            heartbeat: settings.quantity("heartbeat"),
            start_share: settings.quantity::<Ratio>("start_share").get(),
            buffer: settings.optional("buffer"),
            overflow: if settings.word("overflow") == "discard" { Overflow::Discard } else { Overflow::Backpressure },
            packet_bytes: context.packet_bytes,
            ..AgentConfig::new(context.media.mean_rate, context.media.duration)
        };
        Ok(Box::new(AgentPlayer::new(config)))
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The client stops reading.
    Backpressure,
    /// The client reads on and throws away what does not fit.
    Discard,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentConfig {
    pub media_rate: Rate,
    pub media_length: Duration,
    /// The server writes so many times the media rate; 1 is "constrained". Paper: 8.
    pub xfactor: f64,
    /// Interval of the server's writes.
    pub heartbeat: Duration,
    /// Share of the media that is buffered before the start. Paper: 5 %.
    pub start_share: f64,
    /// Size of the buffer; `None`: without limit, as in the paper's runs.
    pub buffer: Option<BufferSize>,
    pub overflow: Overflow,
    /// Payload of a packet, the unit that lateness is counted in. Paper: 1000.
    pub packet_bytes: u32,
}

impl AgentConfig {
    pub fn new(media_rate: Rate, media_length: Duration) -> AgentConfig {
        AgentConfig {
            media_rate,
            media_length,
            xfactor: 8.0,
            heartbeat: Duration::from_millis(100),
            start_share: 0.05,
            buffer: None,
            overflow: Overflow::Backpressure,
            packet_bytes: 1000,
        }
    }

    pub fn chunk_bytes(&self) -> u64 {
        let bytes = self.xfactor * self.media_rate.as_bits_per_sec() as f64 * self.heartbeat.as_secs_f64() / 8.0;
        // Decimal rates and heartbeats leave binary residues: those are not worth a byte.
        libm::ceil(bytes - 1e-6).max(1.0) as u64
    }
}

/// The receiving half of the agent pair; the sending half is its request's [`Delivery::Chunks`].
pub struct AgentPlayer {
    config: AgentConfig,
    total_bytes: u64,
    packets: u64,
    start_bytes: u64,
    capacity: u64,
    duration: Duration,
    pressed_at: Time,
    start: Option<Time>,
    is_finished: bool,
    received: u64,
    /// Bytes that the drain had passed when last looked at.
    drained: u64,
    judged: u64,
    /// Media time before the next packet to be judged; computed once per packet, since it is needed with every arrival.
    position: Duration,
    is_underflowing: bool,
    /// Bytes lost to a full buffer: runs (from, to) that the drain has not passed.
    lost: VecDeque<(u64, u64)>,
    lost_ahead: u64,
    /// Late and overflowed packets, and packets judged, since the last entry in the log.
    unlogged: (u64, u64, u64),
    totals: Totals,
    log: EventLog,
    actions: VecDeque<Action>,
}

impl AgentPlayer {
    pub fn new(config: AgentConfig) -> AgentPlayer {
        let total_bytes = config.media_rate.bytes_in(config.media_length).max(1);
        let capacity = config.buffer.map_or(u64::MAX, |b| match b.resolve(config.packet_bytes) {
            Cache::Time(length) => config.media_rate.bytes_in(length),
            Cache::Bytes(bytes) => bytes,
        });
        let share = (total_bytes as f64 * config.start_share + 0.5) as u64;
        // Whole packets, at least one, or nothing would move.
        let packet = u64::from(config.packet_bytes);
        let capacity = (capacity / packet).max(1) * packet;
        AgentPlayer {
            total_bytes,
            packets: total_bytes.div_ceil(packet),
            // A smaller buffer than the share: start when it is full.
            start_bytes: share.min(capacity).clamp(1, total_bytes),
            capacity,
            duration: config.media_rate.time_to_send(total_bytes),
            config,
            pressed_at: Time::ZERO,
            start: None,
            is_finished: false,
            received: 0,
            drained: 0,
            judged: 0,
            position: Duration::ZERO,
            is_underflowing: false,
            lost: VecDeque::new(),
            lost_ahead: 0,
            unlogged: (0, 0, 0),
            totals: Totals::default(),
            log: EventLog::default(),
            actions: VecDeque::new(),
        }
    }

    fn offset(&self, packet: u64) -> u64 {
        (packet * u64::from(self.config.packet_bytes)).min(self.total_bytes)
    }

    fn position_of(&self, packet: u64) -> Duration {
        self.config.media_rate.time_to_send(self.offset(packet))
    }

    /// When the next packet to be judged is due.
    fn due(&self) -> Time {
        self.start.map_or(Time::MAX, |start| start + self.position)
    }

    /// The next packet is judged; returns the media time that it holds.
    fn pass_packet(&mut self) -> Duration {
        self.judged += 1;
        self.unlogged.2 += 1;
        let before = self.position;
        self.position = self.position_of(self.judged);
        self.position - before
    }

    /// Bytes that the drain has passed at `now`.
    fn drained_at(&self, now: Time) -> u64 {
        let elapsed = self.start.map_or(Duration::ZERO, |start| now.saturating_since(start));
        self.config.media_rate.bytes_in(elapsed).min(self.total_bytes)
    }

    fn held(&self, now: Time) -> u64 {
        self.received.saturating_sub(self.drained_at(now)).saturating_sub(self.lost_ahead)
    }

    fn read_target(&self) -> u64 {
        match self.config.overflow {
            Overflow::Discard => u64::MAX,
            Overflow::Backpressure => self.drained.saturating_add(self.capacity),
        }
    }

    /// Everything up to `now` that needs no new data.
    fn advance(&mut self, now: Time) {
        let Some(start) = self.start else { return };
        self.drained = self.drained_at(now);
        while let Some(run) = self.lost.front_mut() {
            let passed = self.drained.clamp(run.0, run.1) - run.0;
            self.lost_ahead -= passed;
            run.0 += passed;
            if run.0 < run.1 {
                break;
            }
            self.lost.pop_front();
        }
        let due = self.due();
        if self.judged < self.packets && due < now && !self.is_underflowing {
            self.is_underflowing = true;
            self.log.push(due, EventKind::UnderflowStart { position: self.position });
        }
        if start + self.duration <= now {
            self.end(start + self.duration, FinishReason::Played);
        }
    }

    fn judge_complete_packets(&mut self, now: Time) {
        while self.judged < self.packets && self.offset(self.judged + 1) <= self.received {
            let is_late = now > self.due();
            let does_overflow = !is_late && self.does_overflow();
            let media_time = self.pass_packet();
            if is_late {
                self.unlogged.0 += 1;
            } else if does_overflow {
                self.unlogged.1 += 1;
                self.lose(self.offset(self.judged - 1), self.offset(self.judged));
            } else {
                self.totals.media_played += media_time;
            }
            if is_late || does_overflow {
                self.totals.media_discarded += media_time;
            } else if self.is_underflowing {
                self.end_underflow(now);
            }
        }
    }

    /// The packet now judged finds the buffer full: all before it that is still to be played leaves no room for it.
    fn does_overflow(&self) -> bool {
        let (from, to) = (self.offset(self.judged), self.offset(self.judged + 1));
        let before = from.saturating_sub(self.drained).saturating_sub(self.lost_ahead);
        self.config.overflow == Overflow::Discard && before.saturating_add(to - from) > self.capacity
    }

    fn lose(&mut self, from: u64, to: u64) {
        self.lost_ahead += to - from;
        match self.lost.back_mut() {
            Some(run) if run.1 == from => run.1 = to,
            _ => self.lost.push_back((from, to)),
        }
    }

    fn end_underflow(&mut self, now: Time) {
        self.is_underflowing = false;
        self.log.push(now, EventKind::UnderflowEnd);
        self.log_judged(now);
    }

    fn log_judged(&mut self, now: Time) {
        let (late, overflowed, packets) = std::mem::take(&mut self.unlogged);
        if packets > 0 || self.judged == 0 {
            self.log.push(now, EventKind::PacketsJudged { packets, late, overflowed });
        }
    }

    fn start_if_buffered(&mut self, now: Time) {
        let buffered = self.received - self.lost_ahead;
        if self.start.is_none() && buffered >= self.start_bytes {
            self.start = Some(now);
            self.totals.startup = now - self.pressed_at;
            self.log.push(now, EventKind::BufferFilled);
            self.log.push(now, EventKind::PlaybackStarted);
        }
    }

    /// A session is cut at `at`: nobody knows the fate of packets that were not due by then.
    fn take_back(&mut self, at: Time) {
        while self.judged > 0 && self.start.is_none_or(|start| start + self.position_of(self.judged - 1) >= at) {
            self.judged -= 1;
            let before = self.position_of(self.judged);
            let media_time = std::mem::replace(&mut self.position, before) - before;
            let offset = self.offset(self.judged);
            self.unlogged.2 = self.unlogged.2.saturating_sub(1);
            if let Some(run) = self.lost.back_mut().filter(|run| run.1 > offset) {
                run.1 = offset;
                if run.0 >= run.1 {
                    self.lost.pop_back();
                }
                self.unlogged.1 = self.unlogged.1.saturating_sub(1);
                self.totals.media_discarded -= media_time;
            } else {
                self.totals.media_played -= media_time;
            }
        }
    }

    /// Count packets that should have been played by `at` and have not arrived as late.
    fn end(&mut self, at: Time, reason: FinishReason) {
        self.take_back(at);
        while self.judged < self.packets && self.due() < at {
            let media_time = self.pass_packet();
            self.totals.media_discarded += media_time;
            self.unlogged.0 += 1;
        }
        if self.is_underflowing {
            self.end_underflow(at);
        }
        self.log_judged(at);
        self.is_finished = true;
        self.log.push(at, EventKind::Finished { reason, totals: self.totals });
        self.actions.push_back(Action::Close(CONNECTION));
    }
}

impl Player for AgentPlayer {
    fn handle_start(&mut self, now: Time) {
        self.pressed_at = now;
        let media_rate = Some(self.config.media_rate);
        self.log.push(now, EventKind::SessionStarted { media_duration: self.duration, media_rate });
        self.actions.push_back(Action::Open(CONNECTION));
    }

    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        let body_bytes = self.total_bytes;
        self.log.push(now, EventKind::Connected { connection });
        self.log.push(now, EventKind::RequestSent { request: REQUEST, object: ObjectRef::FILE, body_bytes });
        self.actions.push_back(Action::Request(Request {
            delivery: Delivery::Chunks { bytes: self.config.chunk_bytes(), every: self.config.heartbeat },
            ..Request::of_file(connection, REQUEST, body_bytes)
        }));
    }

    fn handle_body(&mut self, now: Time, _request: RequestId, bytes: u64) -> bool {
        // Packets due before these bytes arrived are judged without them.
        self.advance(now);
        if self.is_finished {
            return true;
        }
        if self.received == 0 && bytes > 0 {
            self.log.push(now, EventKind::FirstByte { request: REQUEST });
        }
        self.received = self.received.saturating_add(bytes).min(self.total_bytes);
        self.judge_complete_packets(now);
        self.start_if_buffered(now);
        self.advance(now);
        true
    }

    fn handle_timeout(&mut self, now: Time) {
        if !self.is_finished {
            self.advance(now);
        }
    }

    fn handle_stop(&mut self, now: Time) {
        self.handle_timeout(now);
        if !self.is_finished {
            if self.start.is_none() {
                self.totals.startup = now - self.pressed_at;
            }
            self.end(now, FinishReason::Stopped);
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Time {
        let Some(start) = self.start.filter(|_| !self.is_finished) else { return Time::MAX };
        let end = start + self.duration;
        let missing = if self.is_underflowing || self.judged >= self.packets { end } else { self.due() + TICK };
        // Full: look again when there is room for a packet.
        let is_full = self.received >= self.read_target();
        let a_packet_later = self.drained + u64::from(self.config.packet_bytes);
        let room = if is_full { start + self.config.media_rate.time_to_send(a_packet_later) } else { end };
        end.min(missing).min(room)
    }

    fn read_limit(&self, _now: Time, _connection: ConnectionId) -> u64 {
        if self.is_finished { 0 } else { self.read_target().saturating_sub(self.received) }
    }

    fn buffer_level(&self, now: Time) -> Duration {
        self.config.media_rate.time_to_send(self.held(now))
    }

    fn buffer_bytes(&self, now: Time) -> u64 {
        self.held(now)
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn events(&self) -> &[PlaybackEvent] {
        self.log.as_slice()
    }

    fn app_parameters(&self, now: Time) -> AppReport {
        let playout_buffer_bytes = if self.config.buffer.is_some() { self.capacity } else { self.start_bytes };
        AppReport {
            playout_buffer_bytes,
            playout_buffer_free_bytes: playout_buffer_bytes.saturating_sub(self.held(now)),
            video_rate: self.config.media_rate,
            is_urgent: self.start.is_none() || self.is_underflowing,
            whole: None,
        }
    }
}
