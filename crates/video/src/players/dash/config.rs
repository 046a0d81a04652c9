//! Settings of the DASH client, their checks, and the presets that mimic known clients.

use playpath_units::Duration;
use std::fmt;
use std::str::FromStr;

/// What a client does beside its adaptation rule. Defaults: DASH-JS's buffer over one persistent connection.
#[derive(Clone, Debug, PartialEq)]
pub struct DashConfig {
    /// Requests stop when this much media is buffered or on its way.
    pub full_level: Duration,
    /// After a stop, requests start again when no more than this is left; equal to `full_level`, a segment's room is enough.
    pub resume_level: Duration,
    /// Playback starts when this much is buffered (or everything).
    pub start_level: Duration,
    /// After a stall, playback goes on when this much is buffered (or everything).
    pub stall_resume_level: Duration,
    /// How connections are used, for each of video and audio.
    pub connections: Connections,
    /// Share of a response after which the next request is sent on the same connection (VLC: 0.8); `None`: after the end.
    pub pipeline_at: Option<f64>,
    /// Let the rule give up downloads.
    pub abandonment: bool,
    /// Bytes that HTTP adds.
    pub http: HttpSizes,
    /// Client data sent with each request.
    pub cmcd: CmcdMode,
    /// Play a live stream.
    pub live: Option<Live>,
    /// Pictures per second; only for the counts of pictures in the log.
    pub pictures_per_second: u32,
    /// Session and content identifiers in the client data.
    pub session: String,
}

/// Use of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Open at the same time, used in turn, each with a segment of its own under way.
    pub parallel: u8,
    /// Requests after which a connection is closed and followed by another; `None`: persistent. 1: one per segment.
    pub requests_each: Option<u32>,
    /// The server closes a connection that was idle for longer.
    pub idle_timeout: Option<Duration>,
}

/// Sizes of what HTTP adds, and of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpSizes {
    /// Request line and headers.
    pub request_header_bytes: u32,
    /// Status line and headers.
    pub response_header_bytes: u32,
    /// Manifest that is fetched first; 0: none.
    pub manifest_bytes: u64,
}

/// Whether and how client data is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmcdMode {
    /// Not at all.
    Off,
    /// Keys of version 1 (CTA-5004).
    V1,
    /// And those of version 2 (CTA-5004-B) that matter to a sender.
    V2,
}

/// A live stream: media comes into being as time passes, and a segment can be asked for when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// Media that exists at the join; the player starts this far behind the live edge (rounded down to whole segments, at
    /// least one). Start-up adds to it.
    pub latency_target: Duration,
    /// When stalls have put the player this much further behind, it skips what it lost, in whole segments; `None`: never.
    pub skip_behind: Option<Duration>,
}

impl Default for DashConfig {
    fn default() -> DashConfig {
        DashConfig {
            // DASH-JS: 30 s, critical level 20 s (newCWV study).
            full_level: Duration::from_secs(30),
            resume_level: Duration::from_secs(20),
            // A media element shows the first picture as soon as it has a segment.
            start_level: Duration::from_nanos(1),
            stall_resume_level: Duration::from_nanos(1),
            connections: Connections::persistent(),
            pipeline_at: None,
            abandonment: true,
            http: HttpSizes { request_header_bytes: 400, response_header_bytes: 300, manifest_bytes: 0 },
            cmcd: CmcdMode::Off,
            live: None,
            pictures_per_second: 25,
            session: String::new(),
        }
    }
}

impl Connections {
    /// One connection for the whole session.
    pub const fn persistent() -> Connections {
        Connections { parallel: 1, requests_each: None, idle_timeout: None }
    }
    /// A new connection for each request.
    pub const fn per_segment() -> Connections {
        Connections { parallel: 1, requests_each: Some(1), idle_timeout: None }
    }
    /// One after the other, each for `requests` requests.
    pub const fn in_series(requests: u32) -> Connections {
        Connections { parallel: 1, requests_each: Some(requests), idle_timeout: None }
    }
    /// `count` persistent connections side by side.
    pub const fn in_parallel(count: u8) -> Connections {
        Connections { parallel: count, requests_each: None, idle_timeout: None }
    }
}

/// What may be typed: "persistent", "per-segment", "series of 30" (requests each), "parallel 4".
impl FromStr for Connections {
    type Err = String;
    fn from_str(text: &str) -> Result<Connections, String> {
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.trim().parse::<u32>().ok());
        match text {
            "persistent" => return Ok(Connections::persistent()),
            "per-segment" => return Ok(Connections::per_segment()),
            _ => {}
        }
        match (number("series of "), number("parallel ")) {
            (Some(requests @ 1..), _) => Ok(Connections::in_series(requests)),
            (_, Some(count @ 1..=16)) => Ok(Connections::in_parallel(count as u8)),
            _ => Err(format!(
                "\"{text}\" is not allowed; allowed: persistent, per-segment, series of N, parallel 1 to 16"
            )),
        }
    }
}

/// Names of [`DashConfig::preset`].
pub const PRESETS: &[&str] = &["dash-js", "vlc", "vlc-2.1", "dash.js"];

impl DashConfig {
    /// A known client, for a presentation of `segments` segments. The rule of the same name belongs to it.
    ///
    /// - `dash-js`: the newCWV study's browser client: 30 s / 20 s, ten connections in series (it saw eight to twelve).
    /// - `vlc`: its VLC: the same buffer policy, four persistent connections, next request at 80 %. Figure 3 shows one
    ///   connection at work for 160 s of 600 s and calls the others "subsequent": they serve in series.
    /// - `vlc-2.1`: VLC as shipped: blocks when the buffer is full, so the off period is one segment long.
    /// - `dash.js`: dash.js: asks whenever there is room below 30 s, one persistent connection.
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
            "dash.js" => Some(DashConfig { resume_level: base.full_level, ..base }),
            _ => None,
        }
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
            _ if !(1..=1000).contains(&self.pictures_per_second) => {
                Err(ConfigError::PicturesPerSecond(self.pictures_per_second))
            }
            _ => Ok(()),
        }
    }
}

/// What is wrong with the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConfigError {
    /// A buffer level is zero or above its bound.
    Level {
        /// Which.
        name: &'static str,
        /// Its value.
        value: Duration,
        /// Largest value allowed.
        max: Duration,
    },
    /// Number of parallel connections.
    Parallel(u8),
    /// Connections for no request.
    RequestsEach,
    /// Pipelining threshold.
    PipelineAt(f64),
    /// Picture rate.
    PicturesPerSecond(u32),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Level { name, value, max } => {
                write!(f, "`{name}` = \"{value}\"; allowed: more than 0 s, at most \"{max}\"")
            }
            ConfigError::Parallel(n) => write!(f, "`parallel` = {n}; allowed: 1 to 16 connections"),
            ConfigError::RequestsEach => f.write_str("`requests_each` = 0; allowed: 1 or more"),
            ConfigError::PipelineAt(share) => write!(f, "`pipeline_at` = {share}; allowed: 0 to below 1"),
            ConfigError::PicturesPerSecond(n) => write!(f, "`pictures_per_second` = {n}; allowed: 1 to 1000"),
        }
    }
}

impl std::error::Error for ConfigError {}
