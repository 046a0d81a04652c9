//! Quality figures, computed from the events of a session and from nothing else.
//!
//! Definitions (all in the viewer's terms; unit in the name):
//! - `startup_delay_s`: from pressing play to the first picture, connection set-up included. A session that never starts has
//!   waited for its whole length.
//! - `stall_count`, `stall_time_s`: stalls after the start and the time that the picture stood still in them (see
//!   [`EventKind::StallStart`]). Absent for the streaming agent, which has no pictures.
//! - `stall_ratio`: stalled / (stalled + played). `stalls_per_minute`: per minute of stalled + played.
//! - `discarded_pictures`, `underflow_events`: as VLC counts them (the CCP papers).
//! - `late_packet_ratio`: late packets / judged packets (the Vegas paper); agent only. `overflow_packet_ratio` likewise.
//! - `buffer_fill_time_s`: from pressing play to the first full buffer.
//! - `mean_rate_kbps`: nominal rate of the video weighted with media time; `switches`: changes of representation from one
//!   segment to the next.
//! - `qoe_linear`, `qoe_linear_pensieve`: Yin et al., "A control-theoretic approach for dynamic adaptive video streaming"
//!   (SIGCOMM 2015), eq. 5, and Pensieve's scaling; see [`qoe_linear`]. Absent without segments.
//! - `p1203_stalling_factor`: ITU-T P.1203.3, eq. 29; see [`p1203_stalling_factor`].
//! - `live_latency_s`: mean of the samples.
//! - `played_s`: media time shown.
//!
//! Tested: worked numbers, and figures of the players' hand-computed timelines.

use crate::{EventKind, ObjectKind, PlaybackEvent, Totals};
use playpath_units::{Duration, Time};
use serde::Serialize;

/// The figures of a session; absent where they make no sense.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each is defined in the module's text")]
pub struct Metrics {
    pub startup_delay_s: Option<f64>,
    pub stall_count: Option<f64>,
    pub stall_time_s: Option<f64>,
    pub stall_ratio: Option<f64>,
    pub stalls_per_minute: Option<f64>,
    pub discarded_pictures: Option<f64>,
    pub underflow_events: Option<f64>,
    pub late_packet_ratio: Option<f64>,
    pub overflow_packet_ratio: Option<f64>,
    pub buffer_fill_time_s: Option<f64>,
    pub mean_rate_kbps: Option<f64>,
    pub switches: Option<f64>,
    pub qoe_linear: Option<f64>,
    pub qoe_linear_pensieve: Option<f64>,
    pub p1203_stalling_factor: Option<f64>,
    pub live_latency_s: Option<f64>,
    pub played_s: Option<f64>,
}

impl Metrics {
    /// The figures of one session's log.
    pub fn of(events: &[PlaybackEvent]) -> Metrics {
        let session = Session::read(events);
        let has_pictures = session.packets == 0;
        // Adding to zero: an empty sum of floats is -0.
        let stalled: f64 = session.stalls.iter().fold(0.0, |sum, s| sum + s.length.as_secs_f64());
        let played = session.totals.media_played.as_secs_f64();
        let watched = stalled + played;
        let per_packet = |count: u64| (session.packets > 0).then(|| count as f64 / session.packets as f64);
        let rates: Vec<f64> = session.segments.iter().map(|s| s.rate_kbps).collect();
        let startup = session.totals.startup.as_secs_f64();
        Metrics {
            startup_delay_s: session.has_begun.then_some(startup),
            stall_count: has_pictures.then_some(session.stalls.len() as f64),
            stall_time_s: has_pictures.then_some(stalled),
            stall_ratio: (has_pictures && watched > 0.0).then(|| stalled / watched),
            stalls_per_minute: (has_pictures && watched > 0.0).then(|| session.stalls.len() as f64 / (watched / 60.0)),
            discarded_pictures: has_pictures.then_some(session.discarded as f64),
            underflow_events: Some(session.underflows as f64),
            late_packet_ratio: per_packet(session.late),
            overflow_packet_ratio: per_packet(session.overflowed),
            buffer_fill_time_s: session.filled_after.map(Duration::as_secs_f64),
            mean_rate_kbps: session.mean_rate_kbps(),
            switches: (!rates.is_empty()).then(|| session.switches()),
            qoe_linear: (!rates.is_empty()).then(|| qoe_linear(&rates, stalled, startup, QoeWeights::BALANCED)),
            qoe_linear_pensieve: (!rates.is_empty())
                .then(|| qoe_linear(&rates, stalled, startup, QoeWeights::PENSIEVE)),
            p1203_stalling_factor: (has_pictures && played > 0.0)
                .then(|| p1203_stalling_factor(&session.p1203_stalls(), played)),
            live_latency_s: session.mean_latency_s(),
            played_s: session.has_begun.then_some(played),
        }
    }

    /// Names and values of the figures that are there.
    pub fn entries(&self) -> Vec<(&'static str, f64)> {
        let all = [
            ("startup_delay_s", self.startup_delay_s),
            ("stall_count", self.stall_count),
            ("stall_time_s", self.stall_time_s),
            ("stall_ratio", self.stall_ratio),
            ("stalls_per_minute", self.stalls_per_minute),
            ("discarded_pictures", self.discarded_pictures),
            ("underflow_events", self.underflow_events),
            ("late_packet_ratio", self.late_packet_ratio),
            ("overflow_packet_ratio", self.overflow_packet_ratio),
            ("buffer_fill_time_s", self.buffer_fill_time_s),
            ("mean_rate_kbps", self.mean_rate_kbps),
            ("switches", self.switches),
            ("qoe_linear", self.qoe_linear),
            ("qoe_linear_pensieve", self.qoe_linear_pensieve),
            ("p1203_stalling_factor", self.p1203_stalling_factor),
            ("live_latency_s", self.live_latency_s),
            ("played_s", self.played_s),
        ];
        all.into_iter().filter_map(|(name, value)| value.map(|v| (name, v))).collect()
    }
}

/// Names and values of the figures of one session's log. The log must be closed: see
/// [`Player::handle_stop`](crate::Player::handle_stop).
pub fn summarise(events: &[PlaybackEvent]) -> Vec<(&'static str, f64)> {
    Metrics::of(events).entries()
}

/// Weights of the linear quality of experience.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QoeWeights {
    /// Quality per kbit/s of rate.
    pub quality_per_kbps: f64,
    /// Per unit of change of quality between segments.
    pub switching: f64,
    /// Per second of stall.
    pub stalling: f64,
    /// Per second of start-up.
    pub startup: f64,
}

impl QoeWeights {
    /// Yin et al., "balanced": quality is the rate in kbit/s; 1, 3000, 3000.
    pub const BALANCED: QoeWeights =
        QoeWeights { quality_per_kbps: 1.0, switching: 1.0, stalling: 3000.0, startup: 3000.0 };
    /// Pensieve: quality is the rate in Mbit/s; 1, 4.3 (its top rate), no start-up term.
    pub const PENSIEVE: QoeWeights =
        QoeWeights { quality_per_kbps: 0.001, switching: 1.0, stalling: 4.3, startup: 0.0 };
}

/// Sum of qualities − weighted sum of their changes − weighted stall and start-up time (Yin et al., eq. 5). One rate per
/// segment in the order of playing.
pub fn qoe_linear(rates_kbps: &[f64], stalled_s: f64, startup_s: f64, weights: QoeWeights) -> f64 {
    let quality = |rate: &f64| rate * weights.quality_per_kbps;
    let sum: f64 = rates_kbps.iter().map(quality).sum();
    let changes: f64 = rates_kbps.windows(2).map(|w| (quality(&w[1]) - quality(&w[0])).abs()).sum();
    sum - weights.switching * changes - weights.stalling * stalled_s - weights.startup * startup_s
}

/// ITU-T P.1203.3 (2017), clause 8.1.1.1 and eq. 29: the factor (1 without stalls) by which stalling reduces quality above 1.
/// `stalls`: media position and length in seconds, start-up delay as a stall at position 0, in order. `duration`: of the media
/// played, in seconds.
///
/// The term only: not the recommendation's score, which needs its licensed random forest.
pub fn p1203_stalling_factor(stalls: &[(f64, f64)], duration: f64) -> f64 {
    // Stalls near the end weigh most: the weight falls from 1 towards 0.484 with a half-life of 10 s.
    let weight = |position: f64| {
        let since = (duration - position).max(0.0);
        0.48412879 + (1.0 - 0.48412879) * libm::exp(-since * std::f64::consts::LN_2 / 10.0)
    };
    let weighted: f64 = stalls.iter().map(|&(position, length)| length * weight(position)).sum();
    let interval = match stalls {
        [(first, _), .., (last, _)] => (last - first) / (stalls.len() - 1) as f64,
        _ => 0.0,
    };
    p1203_factor(stalls.len() as f64, weighted / duration, interval / duration)
}

/// Eq. 29 itself: number of stalls, their weighted time and their mean spacing as shares of the duration.
fn p1203_factor(count: f64, time_share: f64, interval_share: f64) -> f64 {
    libm::exp(-count / 9.35158684) * libm::exp(-time_share / 0.91890815) * libm::exp(-interval_share / 11.0567558)
}

/// A stall: where in the media, and for how long the picture stood still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stall {
    pub position: Duration,
    pub length: Duration,
}

/// A downloaded video segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub index: u32,
    pub representation: u32,
    pub rate_kbps: f64,
    pub body_bytes: u64,
    pub duration: Duration,
}

/// What the log says, gathered.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub has_begun: bool,
    pub totals: Totals,
    pub stalls: Vec<Stall>,
    pub segments: Vec<Segment>,
    pub audio: Vec<Segment>,
    pub media_rate_kbps: Option<f64>,
    discarded: u64,
    underflows: u64,
    packets: u64,
    late: u64,
    overflowed: u64,
    filled_after: Option<Duration>,
    latency_sum_s: f64,
    latency_samples: u64,
}

impl Session {
    pub fn read(events: &[PlaybackEvent]) -> Session {
        let mut session = Session::default();
        let mut begin = Time::ZERO;
        for event in events {
            match event.kind {
                EventKind::SessionStarted { media_rate, .. } => {
                    session.has_begun = true;
                    begin = event.at;
                    session.media_rate_kbps = media_rate.map(|r| r.as_bits_per_sec() as f64 / 1e3);
                }
                EventKind::BufferFilled => session.filled_after = session.filled_after.or(Some(event.at - begin)),
                EventKind::StallStart { position, .. } => {
                    session.stalls.push(Stall { position, length: Duration::ZERO });
                }
                EventKind::StallEnd { frozen } => {
                    if let Some(stall) = session.stalls.last_mut() {
                        stall.length = frozen;
                    }
                }
                EventKind::Finished { totals, .. } => session.totals = totals,
                _ => session.count(&event.kind),
            }
        }
        session.segments.sort_by_key(|s| s.index);
        session.audio.sort_by_key(|s| s.index);
        session
    }

    fn count(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::UnderflowStart { .. } => self.underflows += 1,
            EventKind::PicturesDiscarded { count, .. } => self.discarded += u64::from(count),
            EventKind::PacketsJudged { packets, late, overflowed } => {
                self.packets += packets;
                self.late += late;
                self.overflowed += overflowed;
            }
            EventKind::LiveLatency(latency) => {
                self.latency_sum_s += latency.as_secs_f64();
                self.latency_samples += 1;
            }
            EventKind::SegmentDownloaded { object, rate, body_bytes, media_duration, .. } => {
                let segment = Segment {
                    index: object.segment,
                    representation: object.representation,
                    rate_kbps: rate.as_bits_per_sec() as f64 / 1e3,
                    body_bytes,
                    duration: media_duration,
                };
                match object.kind {
                    ObjectKind::Video => replace(&mut self.segments, segment),
                    ObjectKind::Audio => replace(&mut self.audio, segment),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Media position and length in seconds, start-up delay first.
    pub fn p1203_stalls(&self) -> Vec<(f64, f64)> {
        let startup = (0.0, self.totals.startup.as_secs_f64());
        let stalls = self.stalls.iter().map(|s| (s.position.as_secs_f64(), s.length.as_secs_f64()));
        // The recommendation leaves out events without length.
        std::iter::once(startup).chain(stalls).filter(|(_, length)| *length > 0.0).collect()
    }

    fn mean_rate_kbps(&self) -> Option<f64> {
        let time: f64 = self.segments.iter().map(|s| s.duration.as_secs_f64()).sum();
        let weighted: f64 = self.segments.iter().map(|s| s.rate_kbps * s.duration.as_secs_f64()).sum();
        if time > 0.0 { Some(weighted / time) } else { self.media_rate_kbps }
    }

    fn switches(&self) -> f64 {
        self.segments.windows(2).filter(|w| w[0].representation != w[1].representation).count() as f64
    }

    fn mean_latency_s(&self) -> Option<f64> {
        (self.latency_samples > 0).then(|| self.latency_sum_s / self.latency_samples as f64)
    }
}

/// A segment that was downloaded again counts as it was last.
fn replace(segments: &mut Vec<Segment>, segment: Segment) {
    // Nearly always the one after the last.
    let is_new = segments.last().is_none_or(|last| last.index < segment.index);
    match segments.iter_mut().rev().find(|s| !is_new && s.index == segment.index) {
        Some(old) => *old = segment,
        None => segments.push(segment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 5e-4, "{value} is not {expected}");
    }

    /// 1.2, 1.85, 1.85 Mbit/s, 0.5 s stall: 4.9 - 0.65 - 4.3 x 0.5 = 2.1.
    #[test]
    fn pensieve_scaling() {
        near(qoe_linear(&[1200.0, 1850.0, 1850.0], 0.5, 2.0, QoeWeights::PENSIEVE), 2.1);
    }

    /// The same, balanced: 4900 - 650 - 3000 x 0.5 - 3000 x 2 = -3250.
    #[test]
    fn balanced_scaling() {
        near(qoe_linear(&[1200.0, 1850.0, 1850.0], 0.5, 2.0, QoeWeights::BALANCED), -3250.0);
    }

    /// n 0: 1. n 2, T/D 0.05, I/D 0.3: exp(-0.21387 - 0.05441 - 0.02713) = 0.744.
    #[test]
    fn p1203_equation() {
        assert_eq!(p1203_stalling_factor(&[], 60.0), 1.0);
        near(p1203_factor(2.0, 0.05, 0.3), 0.7442);
    }

    /// 2 s at position 0 and 1 s at position 50, 60 s: weights 0.48413 + 0.51587 x 2^-6 = 0.49219 and 0.48413 + 0.51587 / 2 =
    /// 0.74206; T = 0.98438 + 0.74206 = 1.72644; T/D 0.028774; I/D 50/60.
    /// exp(-2/9.35158684 - 0.028774/0.91890815 - 0.833333/11.0567558) = exp(-0.213867 - 0.031313 - 0.075369) = 0.72575.
    #[test]
    fn p1203_memory() {
        near(p1203_stalling_factor(&[(0.0, 2.0), (50.0, 1.0)], 60.0), 0.72575);
    }
}
