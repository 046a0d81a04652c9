//! Cross traffic: web users, on/off sources and sources of frames, as source models without IO. The simulator asks when something is due, and
//! hands the bytes to a TCP flow (web, frames) or to the link (UDP).
//!
//! References: Boyden, Mahanti, Williamson, "TCP Vegas Performance with Streaming Media" (web: exponential with mean 0.5 s,
//! Pareto sizes with mean 50 kB and shape 1.2); ns-2 `Application/Traffic/Exponential` and `CBR` (on/off).
//! Differences from the references:
//! 1. The paper speaks of request inter-arrival times, ns-2's web models of think times: between the end of a transfer and the
//!    next request. Both are here ([`Arrivals`]); think times are the default, since they slow down with the path as people
//!    do. The study of the paper takes inter-arrival times.
//! 2. The paper's "median 50 kB" contradicts its mean and shape (they give 14.85 kB); the mean and shape hold.
//! 3. Sizes are not capped, as in ns-2.
//! 4. A request of [`REQUEST_BYTES`] goes to the server first; ns-2's agents send one way, and the object begins at once.
//! 5. An on period sends a packet at its start and then one per interval while it lasts, at least one; ns-2 rounds the number
//!    of packets to the nearest.
//!
//! Units: bytes of payload, nanoseconds. Tested by `tests/traffic.rs`: means, medians, tails with stated bounds.

use playpath_units::random::Stream;
use playpath_units::{Duration, Rate, Time};

/// A web user's request, bytes: a GET of HTTP/1.1 with its range and host, as our client of the real worlds sends it.
pub const REQUEST_BYTES: u64 = 67;

/// The events that a web user's exponential time separates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// The end of a transfer and the next request: a closed loop.
    ThinkTime,
    /// Two requests, whether or not the first is answered: an open loop.
    InterArrival,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebModel {
    pub arrivals: Arrivals,
    /// Mean of the exponential times.
    pub mean_time: Duration,
    /// Mean of the Pareto sizes, bytes.
    pub mean_bytes: f64,
    /// Shape of the Pareto sizes, more than 1.
    pub shape: f64,
}

impl Default for WebModel {
    fn default() -> WebModel {
        WebModel {
            arrivals: Arrivals::ThinkTime,
            mean_time: Duration::from_millis(500),
            mean_bytes: 50_000.0,
            shape: 1.2,
        }
    }
}

impl WebModel {
    /// Smallest size: mean · (shape − 1) / shape; 8333 B for the paper's values.
    pub fn scale_bytes(&self) -> f64 {
        self.mean_bytes * (self.shape - 1.0) / self.shape
    }
}

/// A web user: asks, waits for the answer, thinks.
#[derive(Clone, Debug)]
pub struct WebUser {
    model: WebModel,
    stream: Stream,
    next_at: Time,
}

impl WebUser {
    /// A user whose first request follows one exponential time after `start`.
    pub fn new(model: WebModel, start: Time, stream: Stream) -> WebUser {
        let mut user = WebUser { model, stream, next_at: start };
        user.schedule(start);
        user
    }

    /// When the next request is due; [`Time::MAX`] while an answer is awaited (closed loop).
    pub fn poll_timeout(&self) -> Time {
        self.next_at
    }

    /// The bytes asked for now, if a request is due.
    pub fn handle_timeout(&mut self, now: Time) -> Option<u64> {
        if now < self.next_at {
            return None;
        }
        let bytes = self.stream.pareto(self.model.scale_bytes(), self.model.shape) + 0.5;
        match self.model.arrivals {
            Arrivals::ThinkTime => self.next_at = Time::MAX,
            Arrivals::InterArrival => self.schedule(self.next_at),
        }
        Some((bytes as u64).max(1))
    }

    pub fn handle_transfer_done(&mut self, now: Time) {
        if self.model.arrivals == Arrivals::ThinkTime {
            self.schedule(now);
        }
    }

    fn schedule(&mut self, from: Time) {
        let mean = self.model.mean_time.as_secs_f64();
        self.next_at = from + Duration::from_secs_f64(self.stream.exponential(mean));
    }
}

/// A length of time, fixed or drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always this.
    Constant(Duration),
    /// Exponential with this mean.
    Exponential(Duration),
}

impl Length {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Length::Constant(length) => length,
            Length::Exponential(mean) => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
        }
    }
}

/// Parameters of an on/off source. Constant `on` and no `off` make a constant bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOffModel {
    pub on: Length,
    pub off: Length,
    pub rate: Rate,
    pub packet_bytes: u32,
}

/// A source that sends packets at a rate for a while, then pauses.
#[derive(Clone, Debug)]
pub struct OnOffSource {
    model: OnOffModel,
    stream: Stream,
    interval: Duration,
    next_at: Time,
    on_until: Time,
}

impl OnOffSource {
    /// A source whose first on period begins at `start`. A rate of zero never sends.
    pub fn new(model: OnOffModel, start: Time, stream: Stream) -> OnOffSource {
        let interval = model.rate.time_to_send(u64::from(model.packet_bytes.max(1)));
        let mut source = OnOffSource { model, stream, interval, next_at: Time::MAX, on_until: start };
        if interval != Duration::MAX {
            source.begin(start);
        }
        source
    }

    pub fn poll_timeout(&self) -> Time {
        self.next_at
    }

    /// Payload of the packet to send now, if one is due.
    pub fn handle_timeout(&mut self, now: Time) -> Option<u32> {
        if now < self.next_at {
            return None;
        }
        let next = self.next_at + self.interval;
        if next < self.on_until {
            self.next_at = next;
        } else {
            // Without a pause the packets keep their spacing across periods.
            let off = self.model.off.draw(&mut self.stream);
            self.begin((self.on_until + off).max(next));
        }
        Some(self.model.packet_bytes)
    }

    fn begin(&mut self, at: Time) {
        self.next_at = at;
        self.on_until = at + self.model.on.draw(&mut self.stream);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameModel {
    pub interval: Duration,
    pub mean_bytes: f64,
    /// Standard deviation of the sizes, share of the mean.
    pub deviation: f64,
}

/// A camera, a call, a cloud game: takes a picture at a fixed interval, and never waits for the path. Sizes are normal, cut at a
/// tenth of the mean below and at as much above it.
#[derive(Clone, Debug)]
pub struct FrameSource {
    model: FrameModel,
    stream: Stream,
    next_at: Time,
}

impl FrameSource {
    /// A source whose first frame is taken at a random time within one interval after `start`, since sources are not synchronised.
    pub fn new(model: FrameModel, start: Time, mut stream: Stream) -> FrameSource {
        let next_at = start + model.interval.mul_f64(stream.uniform());
        FrameSource { model, stream, next_at }
    }

    pub fn poll_timeout(&self) -> Time {
        self.next_at
    }

    /// Bytes of the frame taken now, if one is due.
    pub fn handle_timeout(&mut self, now: Time) -> Option<u64> {
        if now < self.next_at {
            return None;
        }
        self.next_at += self.model.interval;
        let share = (1.0 + self.model.deviation * self.stream.normal()).clamp(0.1, 1.9);
        Some((self.model.mean_bytes * share + 0.5).max(1.0) as u64)
    }
}
