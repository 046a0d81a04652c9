//! Adaptation rules: the choice of the next segment's representation, with its reason.
//!
//! A rule is notified of every download and decides once per segment. It keeps its own state; the context carries everything that a rule
//! without state needs. One file per rule; its `mod` line here registers it: the build script generates `ENTRIES` from these lines, in the
//! same order, which is also that of `playpath list abr`.
//!
//! Contract, checked over the whole registry by `tests/abr_contract.rs`: a choice is an index of the ladder; a wait ends
//! later than `now` and is only requested while playing; the same calls give the same results; nothing is allocated.

mod fixed;

mod dash_js_5;
mod exoplayer;
mod hls_js;
mod l2a;
mod lol_plus;
mod shaka;
mod throughput;

mod dash_js;
mod vlc;

mod bba;
mod bola;

mod dynamic;

mod mpc;

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

#[cfg(test)]
#[path = "../../../../docs/recipes/careful.rs"]
mod careful; // the example of docs/recipes/add-an-abr-rule.md

// Shared by several rules.
mod estimate;
mod registry;
mod safety;

pub use estimate::{DualEwma, harmonic_mean};
pub use registry::{AbrEntry, REGISTERED_RULE, RULE, build, entries, find, parse};

use crate::ladder::Ladder;
use playpath_units::{Duration, Rate, Time};
use std::sync::Arc;

/// Downloads that the player remembers for [`Context::downloads`].
pub const HISTORY: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayState {
    /// Before the first picture.
    StartingUp,
    Playing,
    /// The buffer ran empty.
    Stalled,
}

/// Input of a rule's decision.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub now: Time,
    /// Segment that is asked for next; `ladder.segments()` when there is none left.
    pub segment: usize,
    /// Media time that can be played without a further byte.
    pub buffer_level: Duration,
    /// Level at which the player stops asking.
    pub buffer_capacity: Duration,
    /// Rates, durations and sizes, of this and of all other segments.
    pub ladder: &'a Ladder,
    pub state: PlayState,
    /// Representation of the segment before; `None` for the first.
    pub previous: Option<usize>,
    /// The last downloads, oldest first, at most [`HISTORY`].
    pub downloads: &'a [Download],
    /// Time up to now without a download: the buffer was full, or a rule had asked to wait.
    pub idle: Duration,
    pub live: Option<LiveState>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveState {
    pub latency: Duration,
    /// Media from the picture to the end of what can be asked for.
    pub available: Duration,
    pub target: Duration,
    /// Playback speed; 1 is normal.
    pub speed: f64,
    /// Segments arrive chunk by chunk while they are encoded.
    pub is_low_latency: bool,
}

impl Context<'_> {
    pub fn level(&self) -> f64 {
        self.buffer_level.as_secs_f64()
    }
}

/// A finished or abandoned download of a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    pub segment: usize,
    pub representation: usize,
    pub requested_at: Time,
    /// When it had the connection to itself: `requested_at`, or the end of the response before it (pipelining).
    pub started_at: Time,
    pub first_byte_at: Time,
    /// When the last byte was read, or when it was abandoned.
    pub completed_at: Time,
    pub bytes: u64,
    pub level_at_request: Duration,
    /// Buffer level, as the player knew it, before the last bytes were in it.
    pub level_before: Duration,
    pub is_abandoned: bool,
    /// Whether it replaced media in the buffer, so that the level did not grow.
    pub is_replacement: bool,
    /// Rate of its bursts if it arrived chunk by chunk as it was encoded: the time between them says nothing about the network.
    pub burst_bits_per_sec: Option<f64>,
}

/// When a rule hears of a download under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// With the first bytes that arrive at least this long after the first byte or the last report.
    AfterFirstByte(Duration),
    /// With all bytes that arrive, even where nothing may be given up: the rule measures with them. The last of them may still be
    /// refused; the completed segment is then discarded.
    Arrivals,
    /// At this interval from the request on, whether bytes arrive or not.
    Timer(Duration),
}

impl Download {
    /// Seconds from the start to the last byte, at least one nanosecond; without the pauses between bursts.
    pub fn seconds(&self) -> f64 {
        match self.burst_bits_per_sec {
            Some(_) => self.latency_seconds() + self.seconds_from_first_byte(),
            None => self.completed_at.saturating_since(self.started_at).as_secs_f64().max(1e-9),
        }
    }
    /// Seconds from the first byte to the last; without the pauses between bursts.
    pub fn seconds_from_first_byte(&self) -> f64 {
        match self.burst_bits_per_sec {
            Some(rate) => self.bytes as f64 * 8.0 / rate,
            None => self.completed_at.saturating_since(self.first_byte_at).as_secs_f64(),
        }
    }
    /// Seconds from the start to the first byte.
    pub fn latency_seconds(&self) -> f64 {
        self.first_byte_at.saturating_since(self.started_at).as_secs_f64()
    }
    /// Bits per second from the start to the last byte.
    pub fn bits_per_sec(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds()
    }
}

/// State of a download under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The download so far; `completed_at` is the time of this report.
    pub so_far: Download,
    pub total_bytes: u64,
    /// Reports of this download so far, this one included.
    pub reports: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Ask for the segment in this representation now.
    Fetch(usize),
    /// Do not ask before this time; then ask the rule again.
    WaitUntil(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub choice: Choice,
    /// Throughput that the rule counts on, if it has an estimate.
    pub estimate: Option<Rate>,
    /// Why, in the rule's words.
    pub reason: &'static str,
}

impl Decision {
    pub fn fetch(representation: usize, reason: &'static str) -> Decision {
        Decision { choice: Choice::Fetch(representation), estimate: None, reason }
    }
    /// The representation to be fetched, if any.
    pub fn representation(&self) -> Option<usize> {
        match self.choice {
            Choice::Fetch(representation) => Some(representation),
            Choice::WaitUntil(_) => None,
        }
    }
    pub fn with_estimate(self, bits_per_sec: f64) -> Decision {
        Decision { estimate: Some(Rate::from_bits_per_sec_f64(bits_per_sec)), ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abandonment {
    pub representation: usize,
    /// Why, in the rule's words.
    pub reason: &'static str,
}

/// Makes a rule: a prototype from outside the registry.
pub type Prototype = Arc<dyn Fn() -> Box<dyn Abr> + Send + Sync>;

/// An adaptation rule. See the module's contract.
pub trait Abr: Send {
    /// The next segment is due to be asked for.
    fn choose(&mut self, context: &Context) -> Decision;

    /// A download ended. `context` is the state after it: `segment` is the next one, `downloads` ends with this one.
    fn on_download(&mut self, _context: &Context, _download: &Download) {}

    /// The viewer seeks; unless the target is in the buffer, all of it is dropped.
    fn on_seek(&mut self, _is_buffered: bool) {}

    /// Whether a client that replaces segments may do so now.
    fn may_replace(&self, _now: Time) -> bool {
        true
    }

    /// When [`abandon`](Self::abandon) is called. Browsers report progress about every 50 ms.
    fn reports(&self) -> Reports {
        Reports::AfterFirstByte(Duration::from_millis(50))
    }

    /// A report of a download under way: shall it be given up?
    fn abandon(&mut self, _context: &Context, _progress: &Progress) -> Option<Abandonment> {
        None
    }
}

#[cfg(test)]
#[path = "tests/support.rs"]
pub(crate) mod testing;
