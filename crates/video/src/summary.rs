//! Summary of a playback log: the quantities that quality metrics are computed from (`playpath-record` has the figures).
//!
//! Whatever judges the picture looks at what was shown: segments in the order of playing, each with the media time of it that was on
//! the screen. One that was downloaded again counts as it was when its playing began. The log must be closed: see
//! [`Player::handle_stop`](crate::Player::handle_stop).
//!
//! Tested: facts of the players' hand-computed timelines (`tests/summary.rs`).

mod latency;
mod screen;

pub use latency::Latencies;

use crate::quality::{Measure, Scores};
use crate::{EventKind, ObjectKind, PlaybackEvent, Totals};
use playpath_units::{Duration, Time};
use screen::{Run, Screen, of_run};

/// A stall: after how much shown media, and for how long the picture stood still.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    pub after: Duration,
    pub length: Duration,
}

#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Number in the order of playing.
    pub index: u32,
    pub representation: u32,
    pub rate_kbps: f64,
    pub body_bytes: u64,
    pub duration: Duration,
    /// How much of it was shown.
    pub shown: Duration,
    pub scores: Scores,
}

/// A session's log, gathered.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The viewer pressed play.
    pub has_begun: bool,
    pub totals: Totals,
    /// Stalls after the start, in order.
    pub stalls: Vec<Stall>,
    /// Video segments that were shown, in the order of playing.
    pub segments: Vec<Segment>,
    /// Audio segments that were heard.
    pub audio: Vec<Segment>,
    /// Video and audio segments that were downloaded, each as it was last, by index.
    pub fetched: [Vec<Segment>; 2],
    /// Those that came when their playing had begun: seen after a seek back at the earliest.
    too_late: [Vec<Segment>; 2],
    /// Mean rate of a video with one representation.
    pub media_rate_kbps: Option<f64>,
    pub discarded: u64,
    /// Times that the buffer did not hold the picture that was due.
    pub underflows: u64,
    /// A streaming agent judges packets; other players show pictures.
    pub judges_packets: bool,
    pub packets: u64,
    pub late: u64,
    /// Number of them that found the buffer full.
    pub overflowed: u64,
    /// From pressing play to the first full buffer.
    pub filled_after: Option<Duration>,
    /// Behind the live edge.
    pub latencies: Latencies,
    /// An origin with hosts, misses and errors was modelled.
    pub has_origin: bool,
    /// Requests answered by an error, or not in time.
    pub failed_requests: u64,
    /// Times that the player went to another host.
    pub failovers: u64,
    /// Somebody with habits of their own watched: they may have sought or left.
    pub has_viewer: bool,
    /// Time from pressing play to the end, whatever its cause.
    pub watched: Duration,
    pub seeks: u64,
    /// Time from seeks to the picture at their targets.
    pub seeking: Duration,
    /// Body bytes that the viewer did not see because they sought or left.
    pub unseen_bytes: u64,
    pub off_speed: Duration,
}

impl Summary {
    pub fn of(events: &[PlaybackEvent]) -> Summary {
        let mut session = Summary::default();
        let mut begin = Time::ZERO;
        let mut screen = Screen::new();
        for event in events {
            if let Some(run) = screen.handle(event) {
                session.show(run);
            }
            match event.kind {
                EventKind::SessionStarted { media_rate, .. } => {
                    session.has_begun = true;
                    begin = event.at;
                    session.media_rate_kbps = media_rate.map(|r| r.as_bits_per_sec() as f64 / 1e3);
                }
                EventKind::BufferFilled => session.filled_after = session.filled_after.or(Some(event.at - begin)),
                EventKind::StallStart { .. } => {
                    session.stalls.push(Stall { after: screen.shown, length: Duration::ZERO });
                }
                EventKind::StallEnd { frozen } => {
                    if let Some(stall) = session.stalls.last_mut() {
                        stall.length = frozen;
                    }
                }
                EventKind::LiveLatency { latency } => session.latencies.push(event.at, latency.as_secs_f64()),
                EventKind::Finished { totals, .. } => {
                    session.totals = totals;
                    session.watched = event.at - begin;
                }
                _ => session.count(&event.kind),
            }
        }
        session.off_speed = screen.off_speed;
        session
    }

    /// `run` was shown, of what is there now.
    fn show(&mut self, run: Run) {
        let [video, audio] = &self.fetched;
        self.segments.extend(of_run(video, run));
        self.audio.extend(of_run(audio, run));
        for (fetched, late) in self.fetched.iter_mut().zip(&mut self.too_late) {
            late.drain(..).for_each(|segment| replace(fetched, segment));
        }
    }

    fn count(&mut self, kind: &EventKind) {
        match *kind {
            EventKind::UnderflowStart { .. } => self.underflows += 1,
            EventKind::PicturesDiscarded { count, .. } => self.discarded += u64::from(count),
            EventKind::Host { .. } => {
                self.failovers += u64::from(self.has_origin);
                self.has_origin = true;
            }
            EventKind::RequestFailed { .. } => self.failed_requests += 1,
            EventKind::ViewerCame { .. } => self.has_viewer = true,
            EventKind::SeekStart { .. } => self.seeks += 1,
            EventKind::SeekEnd { waited } => self.seeking += waited,
            EventKind::Unseen { bytes } => self.unseen_bytes += bytes,
            EventKind::PacketsJudged { packets, late, overflowed } => {
                self.judges_packets = true;
                self.packets += packets;
                self.late += late;
                self.overflowed += overflowed;
            }
            EventKind::SegmentDownloaded { object, rate, body_bytes, media_duration, scores, is_late, .. } => {
                let segment = Segment {
                    index: object.segment,
                    representation: object.representation,
                    rate_kbps: rate.as_bits_per_sec() as f64 / 1e3,
                    body_bytes,
                    duration: media_duration,
                    shown: Duration::ZERO,
                    scores,
                };
                let track = match object.kind {
                    ObjectKind::Video => 0,
                    ObjectKind::Audio => 1,
                    _ => return,
                };
                if is_late { self.too_late[track].push(segment) } else { replace(&mut self.fetched[track], segment) }
            }
            _ => {}
        }
    }

    /// Shown media before it and length in seconds, start-up delay first. No stall lies behind `end`, the last second that is judged.
    pub fn p1203_stalls(&self, end: f64) -> Vec<(f64, f64)> {
        let startup = (0.0, self.totals.startup.as_secs_f64());
        let stalls = self.stalls.iter().map(|s| (s.after.as_secs_f64().min(end), s.length.as_secs_f64()));
        // The recommendation leaves out events without length.
        std::iter::once(startup).chain(stalls).filter(|(_, length)| *length > 0.0).collect()
    }

    pub fn has_pictures(&self) -> bool {
        !self.judges_packets
    }

    /// Time that the picture stood still in stalls.
    pub fn stalled_s(&self) -> f64 {
        // Adding to zero: an empty sum of floats is -0.
        self.stalls.iter().fold(0.0, |sum, s| sum + s.length.as_secs_f64())
    }

    /// Media time that was shown.
    pub fn played_s(&self) -> f64 {
        self.totals.media_played.as_secs_f64()
    }

    pub fn startup_s(&self) -> f64 {
        self.totals.startup.as_secs_f64()
    }

    /// Nominal rate of the shown video weighted with media time.
    pub fn mean_rate_kbps(&self) -> Option<f64> {
        let time: f64 = self.segments.iter().map(|s| s.shown.as_secs_f64()).sum();
        let weighted: f64 = self.segments.iter().map(|s| s.rate_kbps * s.shown.as_secs_f64()).sum();
        if time > 0.0 { Some(weighted / time) } else { self.media_rate_kbps }
    }

    /// Quality of the segments that were shown, each with the seconds of it; empty without scores of this kind.
    fn shown(&self, measure: Measure) -> Vec<(f64, f64)> {
        let score = |segment: &Segment| Some((segment.scores.get(measure)?, segment.shown.as_secs_f64()));
        self.segments.iter().filter_map(score).collect()
    }

    /// Mean quality of the shown media, weighted with media time.
    pub fn mean_quality(&self, measure: Measure) -> Option<f64> {
        let shown = self.shown(measure);
        let time: f64 = shown.iter().map(|(_, seconds)| seconds).sum();
        let weighted: f64 = shown.iter().map(|(score, seconds)| score * seconds).sum();
        (time > 0.0).then(|| weighted / time)
    }

    /// Mean change of the quality from one segment that was shown to the next, up or down.
    pub fn quality_change(&self, measure: Measure) -> Option<f64> {
        let shown = self.shown(measure);
        let changes = || shown.windows(2).map(|pair| (pair[1].0 - pair[0].0).abs());
        (shown.len() > 1).then(|| changes().sum::<f64>() / changes().count() as f64)
    }

    /// Changes of representation from one segment to the next.
    pub fn switches(&self) -> usize {
        self.segments.windows(2).filter(|w| w[0].representation != w[1].representation).count()
    }

    /// The same, each weighted with the absolute log2 of the rate ratio.
    pub fn switched_doublings(&self) -> f64 {
        let doublings = |w: &[Segment]| libm::log2(w[1].rate_kbps / w[0].rate_kbps).abs();
        self.segments.windows(2).map(doublings).filter(|found| found.is_finite()).sum()
    }
}

/// A segment that was downloaded again in time counts as it was last.
fn replace(segments: &mut Vec<Segment>, segment: Segment) {
    match segments.binary_search_by_key(&segment.index, |s| s.index) {
        Ok(place) => segments[place] = segment,
        Err(place) => segments.insert(place, segment),
    }
}
