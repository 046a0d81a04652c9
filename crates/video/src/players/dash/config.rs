//! Settings of the DASH client, their checks, and the presets that mimic known clients.

use super::catch_up::CatchUp;
use super::connections::{Connections, Protocol};
use super::retry::Retries;
use crate::ServerPolicy;
use crate::cmcd::{Event, StreamingFormat};
use crate::ladder::Ladder;
use crate::origin::Origin;
use playpath_units::Duration;

/// Behaviour of a client other than its adaptation rule. Defaults: DASH-JS's buffer over one persistent connection.
#[derive(Clone, Debug, PartialEq)]
pub struct DashConfig {
    /// Requests stop when this much media is buffered or being downloaded.
    pub full_level: Duration,
    /// Dependence of `full_level` on the rung.
    pub goal: BufferGoal,
    /// Whether a segment must fit below it.
    pub room: Room,
    /// When a client that found no room checks again; `None`: as soon as there is room.
    pub check: Option<CheckInterval>,
    /// Whether the rule is asked before or after the client has found room.
    pub rule_timing: RuleTiming,
    /// Interval at which the playhead's position is updated (a browser's `timeupdate`): between these events and arrivals the client assumes
    /// an unchanged buffer level. `None`: it always knows the position.
    pub time_update: Option<Duration>,
    /// After a switch up, buffered segments of lower rungs are replaced, from the playhead on (dash.js `fastSwitch`).
    pub fast_switch: bool,
    /// Media kept behind the playhead, for seeks back.
    pub back_buffer: BackBuffer,
    /// After a stop, requests start again when no more than this is left; equal to `full_level`, a segment's room is enough.
    pub resume_level: Duration,
    /// Playback starts when this much is buffered (or everything).
    pub start_level: Duration,
    /// After a stall, playback goes on when this much is buffered (or everything).
    pub stall_resume_level: Duration,
    /// Media at the end of the buffer that the decoder cannot show before more arrives, so that a stall begins this much earlier. The
    /// media's last segment is shown in full.
    pub decoder_delay: Duration,
    pub protocol: Protocol,
    /// How connections are used, for each of video and audio, unless they are shared.
    pub connections: Connections,
    /// Share of a response after which the next request is sent on the same connection (VLC: 0.8); `None`: after the end.
    pub pipeline_at: Option<f64>,
    /// Whether the rule may abandon downloads.
    pub abandonment: bool,
    /// Maximum body bytes of each media type that the device buffers ahead of the playhead.
    pub device_bytes: Option<u64>,
    /// Origin of the segments; `None`: a server that has all of them and never fails.
    pub origin: Option<Origin>,
    /// Behaviour if they do not arrive.
    pub retries: Retries,
    pub http: HttpSizes,
    /// Client data sent with each request, and the format that they name.
    pub cmcd: CmcdMode,
    pub format: StreamingFormat,
    pub cmcd_claim: Claim,
    /// Delay of the reported buffer level.
    pub cmcd_lag: Duration,
    /// Server data in each response (CTA-5006), and their use.
    pub cmsd: Option<ServerData>,
    /// Events reported in addition to the requests (CTA-5004-B, event mode).
    pub cmcd_events: Vec<Event>,
    /// Interval of the periodic reports.
    pub cmcd_interval: Duration,
    pub live: Option<Live>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferGoal {
    FullLevel,
    /// More at the highest rung: `normal`, or `long` for media of `long_from` and more (dash.js).
    MoreAtTop {
        /// At the highest rung.
        normal: Duration,
        long: Duration,
        long_from: Duration,
    },
    /// `full_level`, or as much as fits into `bytes` at the rung's rate, at most `most` (hls.js).
    Bytes {
        bytes: u64,
        max: Duration,
    },
}

impl BufferGoal {
    pub fn level(self, full_level: Duration, ladder: &Ladder, rung: usize) -> Duration {
        match self {
            BufferGoal::FullLevel => full_level,
            BufferGoal::MoreAtTop { .. } if rung + 1 < ladder.count() => full_level,
            BufferGoal::MoreAtTop { long, long_from, .. } if ladder.media_duration() >= long_from => long,
            BufferGoal::MoreAtTop { normal, .. } => normal,
            BufferGoal::Bytes { bytes, max } => {
                let fits = Duration::from_secs_f64(bytes as f64 * 8.0 / ladder.bits_per_sec(rung));
                full_level.max(fits).min(max)
            }
        }
    }
}

/// Media that a client keeps behind the playhead. After a seek within the buffered media, playback continues at once; any other seek drops
/// everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackBuffer {
    Length(Duration),
    /// All, and a seek drops nothing (hls.js: `backBufferLength` is infinite).
    Unlimited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// When the whole segment fits below the level: it is never exceeded. A segment longer than the level needs an empty place.
    Whole,
    /// When the level is not reached: the last segment may exceed it.
    Any,
}

/// When a client checks for room again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckInterval {
    pub every: Duration,
    /// Counted from the last arrival; otherwise from the start of the session.
    pub from_arrival: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleTiming {
    /// Once there is room at the previous segment's rung; the answer is kept until there is room at the new one.
    AfterRoom,
    /// At each check; a request then needs room at the chosen rung.
    BeforeRoom,
}

/// Chromium with H.264 of two reordered pictures at 25 per second: it stopped 94 to 114 ms before the end of the buffer.
const BROWSERS_DECODER: Duration = Duration::from_millis(100);

fn hls_js(base: DashConfig) -> DashConfig {
    // maxBufferLength, maxBufferSize, maxMaxBufferLength; StreamController's TICK_INTERVAL.
    let full_level = Duration::from_secs(30);
    DashConfig {
        full_level,
        resume_level: full_level,
        goal: BufferGoal::Bytes { bytes: 60_000_000, max: Duration::from_secs(600) },
        check: Some(CheckInterval { every: Duration::from_millis(100), from_arrival: false }),
        rule_timing: RuleTiming::BeforeRoom,
        back_buffer: BackBuffer::Unlimited,
        decoder_delay: BROWSERS_DECODER,
        format: StreamingFormat::Hls,
        retries: Retries::HLS_JS,
        ..base
    }
}

fn shaka(base: DashConfig) -> DashConfig {
    // bufferingGoal; half of updateIntervalSeconds.
    let full_level = Duration::from_secs(10);
    let check = Some(CheckInterval { every: Duration::from_millis(500), from_arrival: true });
    // bufferBehind
    let back_buffer = BackBuffer::Length(Duration::from_secs(30));
    DashConfig {
        full_level,
        resume_level: full_level,
        check,
        back_buffer,
        decoder_delay: BROWSERS_DECODER,
        retries: Retries::SHAKA,
        ..base
    }
}

fn exoplayer(base: DashConfig) -> DashConfig {
    // DEFAULT_MIN_BUFFER_MS and _MAX_ are equal; DEFAULT_BUFFER_FOR_PLAYBACK_MS, _AFTER_REBUFFER_MS.
    let full_level = Duration::from_secs(50);
    DashConfig {
        full_level,
        resume_level: full_level,
        start_level: Duration::from_secs(1),
        stall_resume_level: Duration::from_secs(2),
        retries: Retries::EXOPLAYER,
        ..base
    }
}

/// Sizes of what HTTP adds, and of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSizes {
    pub request_header_bytes: u32,
    pub response_header_bytes: u32,
    /// Manifest that is fetched first; 0: none.
    pub manifest_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmcdMode {
    Off,
    /// Keys of version 1 (CTA-5004).
    V1,
    /// And those of version 2 (CTA-5004-B) that matter to a sender.
    V2,
}

/// Server data: their contents, and how the player uses them (dash.js: `applyMb`, `etpWeightRatio`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerData {
    /// The server's data other than its measurements.
    pub policy: ServerPolicy,
    /// No video rate above the server's suggestion is chosen.
    pub apply_mb: bool,
    /// Share of the server's estimate in each throughput sample, 0 to 1.
    pub etp_weight: f64,
}

/// The buffer level in the client data, for studies of senders that trust it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Honest,
    /// Always an empty buffer.
    Empty,
    Full,
}

/// A live stream: media are produced over time, and a segment can be requested when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Media that exists at the join; the player starts this far behind the live edge (rounded down to whole segments, at
    /// least one, unless low latency or `joined_at` say otherwise). Start-up adds to it.
    pub latency_target: Duration,
    /// Additional latency by stalls at which the player skips the lost time, in whole segments; `None`: never.
    pub skip_behind: Option<Duration>,
    /// Segments can be fetched piece by piece while they are encoded.
    pub low_latency: Option<LowLatency>,
    /// Position in the first segment at which the viewer joins; `None`: its start.
    pub joined_at: Option<Duration>,
    pub catch_up: CatchUp,
}

impl Live {
    /// Whole segments, constant playback speed.
    pub const fn at(latency_target: Duration) -> Live {
        Live { latency_target, skip_behind: None, low_latency: None, joined_at: None, catch_up: CatchUp::Off }
    }
}

/// Low latency: media is fetched before its segment is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowLatency {
    pub delivery: LiveDelivery,
    /// Duration of a piece: a CMAF chunk, a part. Segments are divided evenly into pieces of about this length.
    pub piece: Duration,
    /// Bytes of a playlist ([`LiveDelivery::Parts`]).
    pub playlist_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveDelivery {
    /// LL-DASH: the segment is requested once its first chunk exists (`availabilityTimeOffset`); the server sends each chunk when
    /// it exists.
    Chunks,
    /// LL-HLS: a playlist whose answer waits for the next part (blocking reload), then a request for that part.
    Parts,
}

impl Default for DashConfig {
    fn default() -> DashConfig {
        DashConfig {
            // DASH-JS: 30 s, critical level 20 s (newCWV study).
            full_level: Duration::from_secs(30),
            goal: BufferGoal::FullLevel,
            room: Room::Any,
            check: None,
            rule_timing: RuleTiming::AfterRoom,
            time_update: None,
            fast_switch: false,
            back_buffer: BackBuffer::Length(Duration::ZERO),
            resume_level: Duration::from_secs(20),
            // A media element shows the first picture as soon as it has a segment.
            start_level: Duration::from_nanos(1),
            stall_resume_level: Duration::from_nanos(1),
            decoder_delay: Duration::ZERO,
            protocol: Protocol::Apart,
            connections: Connections::persistent(),
            pipeline_at: None,
            abandonment: true,
            device_bytes: None,
            origin: None,
            retries: Retries::DASH_JS,
            http: HttpSizes { request_header_bytes: 400, response_header_bytes: 300, manifest_bytes: 0 },
            cmcd: CmcdMode::Off,
            format: StreamingFormat::Dash,
            cmcd_claim: Claim::Honest,
            cmcd_lag: Duration::ZERO,
            cmsd: None,
            cmcd_events: Vec::new(),
            cmcd_interval: Duration::from_secs(30),
            live: None,
        }
    }
}

/// Names of [`DashConfig::preset`].
pub const PRESETS: &[&str] = &["dash-js", "vlc", "vlc-2.1", "dash.js", "hls.js", "shaka", "exoplayer", "sabre"];

/// Settings of clients that people run, each from its source ([`DashConfig::preset`]).
fn dash_js(base: DashConfig) -> DashConfig {
    let full_level = Duration::from_secs(18);
    DashConfig {
        full_level,
        resume_level: full_level,
        // bufferTimeAtTopQuality, bufferTimeAtTopQualityLongForm, longFormContentDurationThreshold.
        goal: BufferGoal::MoreAtTop {
            normal: Duration::from_secs(30),
            long: Duration::from_secs(60),
            long_from: Duration::from_secs(600),
        },
        room: Room::Whole,
        // scheduling.defaultTimeout
        check: Some(CheckInterval { every: Duration::from_millis(500), from_arrival: true }),
        // Chromium, while the video plays.
        time_update: Some(Duration::from_millis(250)),
        fast_switch: true,
        // bufferToKeep
        back_buffer: BackBuffer::Length(Duration::from_secs(20)),
        decoder_delay: BROWSERS_DECODER,
        ..base
    }
}

impl DashConfig {
    /// A known client, for a presentation of `segments` segments. The rule of the same name belongs to it.
    ///
    /// - `dash-js`: the newCWV study's browser client: 30 s / 20 s, ten connections in series (it saw eight to twelve).
    /// - `vlc`: its VLC: the same buffer policy, four persistent connections, next request at 80 %. Figure 3 shows one
    ///   connection at work for 160 s of 600 s and calls the others "subsequent": they serve in series.
    /// - `vlc-2.1`: VLC as shipped: blocks when the buffer is full, so the off period is one segment long.
    /// - `hls.js`: hls.js 1.7.4: 30 s, or as much as 60 MB hold at the rung's rate; looks for room every 100 ms.
    /// - `shaka`: Shaka Player 5.2.12: 10 s; looks for room every 500 ms.
    /// - `exoplayer`: Media3 ExoPlayer (2025): 50 s; starts with 1 s, goes on after a stall with 2 s.
    /// - `sabre`: the simulator's: 25 s, never exceeded.
    /// - `dash.js`: dash.js 5.2.1: 18 s, at the top rate 30 s (60 s for media of ten minutes), never exceeded; looks for room every
    ///   500 ms; replaces lower rungs from the playhead on; one persistent connection.
    pub fn preset(name: &str, segments: usize) -> Option<DashConfig> {
        let series = |count: u64| Connections::in_series((segments as u64).div_ceil(count).max(1) as u32);
        let base = DashConfig::default();
        match name {
            "dash-js" => Some(DashConfig { connections: series(10), ..base }),
            "vlc" => Some(DashConfig { connections: series(4), pipeline_at: Some(0.8), ..base }),
            "vlc-2.1" => Some(DashConfig {
                connections: series(4),
                pipeline_at: Some(0.8),
                resume_level: base.full_level,
                ..base
            }),
            "dash.js" => Some(dash_js(base)),
            "hls.js" => Some(hls_js(base)),
            "shaka" => Some(shaka(base)),
            "exoplayer" => Some(exoplayer(base)),
            "sabre" => {
                let full_level = Duration::from_secs(25);
                Some(DashConfig { full_level, resume_level: full_level, room: Room::Whole, ..base })
            }
            _ => None,
        }
    }

    /// Whether the pieces of a segment are fetched one after the other.
    fn takes_pieces(&self) -> bool {
        self.connections.parallel == 1 && self.pipeline_at.is_none()
    }

    /// Whether no setting requires separate connections for each kind of media.
    fn can_share(&self) -> bool {
        self.takes_pieces() && self.connections.requests_each.is_none()
    }

    /// Refuses settings under which playback could never start, or that mean nothing.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |name, value: Duration, max: Duration| {
            let ok = !value.is_zero() && value <= max;
            if ok { Ok(()) } else { Err(ConfigError::Level { name, value, max }) }
        };
        within("full_level", self.full_level, Duration::from_secs(24 * 3600))?;
        within("resume_level", self.resume_level, self.full_level)?;
        within("start_level", self.start_level, self.full_level)?;
        within("stall_resume_level", self.stall_resume_level, self.full_level)?;
        if !(1..=16).contains(&self.connections.parallel) {
            return Err(ConfigError::Parallel(self.connections.parallel));
        }
        if self.connections.requests_each == Some(0) {
            return Err(ConfigError::RequestsEach);
        }
        match self.pipeline_at {
            Some(share) if !(0.0..1.0).contains(&share) => Err(ConfigError::PipelineAt(share)),
            _ if self.live.is_some_and(|live| live.low_latency.is_some()) && !self.takes_pieces() => {
                Err(ConfigError::LowLatency)
            }
            _ if self.protocol != Protocol::Apart && !self.can_share() => Err(ConfigError::Shared),
            _ if self.origin.is_some()
                && (!self.takes_pieces() || self.live.is_some_and(|live| live.low_latency.is_some())) =>
            {
                Err(ConfigError::Origin)
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    #[error("`{name}` = \"{value}\"; allowed: more than 0 s, at most \"{max}\"")]
    Level { name: &'static str, value: Duration, max: Duration },
    #[error("`parallel` = {0}; allowed: 1 to 16 connections")]
    Parallel(u8),
    #[error("`requests_each` = 0; allowed: 1 or more")]
    RequestsEach,
    #[error("`pipeline_at` = {0}; allowed: 0 to below 1")]
    PipelineAt(f64),
    #[error(
        "`low_latency` needs one response after the other; allowed: `connections` without \"parallel\", no `pipeline_at`"
    )]
    LowLatency,
    #[error(
        "[origin] needs one response after the other; allowed: `connections` without \"parallel\", no `pipeline_at`, no `low_latency`"
    )]
    Origin,
    #[error(
        "`http` shares connections; allowed beside it: `connections` = \"persistent\", no `pipeline_at`, so none of the clients \
         dash-js, vlc, vlc-2.1"
    )]
    Shared,
}
