//! The DASH client: a buffer filled segment by segment, in representations that an adaptation rule chooses.
//!
//! References: ISO/IEC 23009-1 for the fetched objects; DASH-JS, VLC 2.1 and dash.js for the cycle of filling and pausing; the
//! newCWV study (NOSSDAV 2014) for its two clients ([`DashConfig::preset`]).
//! Life: (manifest) → segments until `full_level` → pause until `resume_level` → … A segment counts as buffered when its last
//! byte is read and all before it are there. Playback starts at `start_level`, stalls when the buffer is empty and
//! resumes at `stall_resume_level` (mode "rebuffer": no picture is discarded). Live, a segment can be had piece by piece as it is
//! encoded ([`LowLatency`]), a law sets the playback speed ([`CatchUp`]), and time lost in stalls can be skipped ([`Live`]).
//! Differences from the references:
//! 1. Video and audio have connections of their own unless [`Protocol`] says otherwise.
//! 2. An abandoned download costs its connection (HTTP/2: its stream); the segment is requested again at once.
//! 3. Media behind the playhead are kept or dropped by time alone ([`BackBuffer`]); live streams cannot be sought in.
//!
//! Units: nanoseconds, bytes. Invariants: the buffer level is never negative and never above full level plus one segment ([`Room`]:
//! never above it); each segment is requested once, unless its download was abandoned or a step up replaces it; after the end
//! start-up + played + discarded + stopped + seeking - gained by speed is the time from start to end.
//! Tested by `tests/dash_timelines.rs` (hand-computed sessions), `tests/dash_properties.rs`, `tests/abr_traces.rs`.

mod catch_up;
mod client_data;
mod config;
mod connections;
mod moment;
mod parts;
mod pieces;
mod playback;
mod reports;
mod retry;
mod settings;
mod shown;
mod track;
mod transfer;

pub use catch_up::{CatchUp, Range};
pub use config::{
    BackBuffer, BufferGoal, CheckInterval, Claim, CmcdMode, ConfigError, DashConfig, HttpSizes, Live, LiveDelivery,
    LowLatency, PRESETS, Room, RuleTiming,
};
pub use connections::{Connections, Protocol};
pub use retry::{Backoff, Retries};

use crate::abr::{Abr, PlayState};
use crate::cmsd::Cmsd;
use crate::ladder::Presentation;
use crate::registry::PlayerEntry;
use crate::{Action, AppReport, ConnectionId, EventKind, FinishReason, PlaybackEvent, Player, RequestId};
use catch_up::{LOOK, Seen};
use connections::Io;
use moment::Moment;
use playback::Playback;
use playpath_units::{Duration, Rate, Time};
use reports::Reporter;
use shown::Shown;
use track::Track;
use transfer::{Arrival, What};

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "dash",
    summary: "adaptive streaming: segments in representations that a rule chooses; fills and pauses",
    reference: "ISO/IEC 23009-1; DASH-JS, VLC 2.1, dash.js; newCWV study (2014)",
    params: settings::PARAMS,
    build: settings::build,
};

pub struct DashPlayer {
    config: DashConfig,
    tracks: Vec<Track>,
    playback: Playback,
    io: Io,
    reporter: Reporter,
    timeout: Time,
    is_started: bool,
    has_manifest: bool,
    was_full: bool,
    produced: Duration,
    /// When the law of the playback speed is asked next, and the stalls that it knows of.
    next_look: Time,
    stalls: u32,
    /// Video segments of which the first picture was shown, and the representation of the last one.
    shown: usize,
    /// Start of the contiguous media up to the segment fetched last.
    kept_from: Duration,
    seen: Shown,
    last_shown: Option<usize>,
}

impl DashPlayer {
    /// A client for `presentation`. `audio_rule` is used if there is an audio ladder; without it the lowest rate is played.
    pub fn new(
        mut config: DashConfig,
        presentation: Presentation,
        video_rule: Box<dyn Abr>,
        audio_rule: Option<Box<dyn Abr>>,
    ) -> Result<DashPlayer, ConfigError> {
        config.check()?;
        let media_end = presentation
            .audio
            .as_ref()
            .map_or(Duration::ZERO, |audio| audio.media_duration())
            .max(presentation.video.media_duration());
        if config.live.is_some_and(|live| live.low_latency.is_some()) {
            // Pieces arrive as they are encoded, whatever the rung; dash.js gets no progress events then, and replaces nothing.
            (config.abandonment, config.fast_switch) = (false, false);
        }
        let produced = config.live.map_or(media_end, |live| produced_at_join(&presentation, &live));
        let joined_at = config.live.and_then(|live| live.joined_at).unwrap_or_default();
        let playback = Playback::new(media_end, joined_at, config.decoder_delay);
        let mut tracks = vec![Track::new(presentation.video, video_rule, &config)];
        if let Some(audio) = presentation.audio {
            let rule = audio_rule.or_else(|| crate::abr::build("fixed"));
            tracks.extend(rule.map(|rule| Track::new(audio, rule, &config)));
        }
        let has_manifest = config.http.manifest_bytes == 0;
        let io = Io::new(&config);
        Ok(DashPlayer {
            config,
            tracks,
            playback,
            io,
            reporter: Reporter::default(),
            timeout: Time::MAX,
            is_started: false,
            has_manifest,
            was_full: false,
            produced,
            next_look: Time::MAX,
            stalls: 0,
            shown: 0,
            kept_from: Duration::ZERO,
            seen: Shown::default(),
            last_shown: None,
        })
    }

    /// Bring the clock up to `now` and log what lies before.
    fn advance(&mut self, now: Time) {
        self.show_segments(now);
        let was_playing = self.playback.state() == PlayState::Playing;
        if let Some(end) = self.playback.ends_by(now) {
            self.note_latency(end);
        }
        self.playback.advance(now, &mut self.io.log);
        if self.playback.is_ended() {
            self.close();
        } else if was_playing && self.playback.state() == PlayState::Stalled {
            for track in &mut self.tracks {
                (track.starved, track.urgent) = (true, true);
            }
            (self.stalls, self.next_look) = (self.stalls + 1, Time::MAX);
            self.note_latency(now);
        }
    }

    /// Log changes of representation that the viewer has seen up to `now`.
    fn show_segments(&mut self, now: Time) {
        let video = &self.tracks[0];
        if self.playback.state() != PlayState::Playing || self.playback.is_ended() {
            return;
        }
        let position = self.playback.position(now);
        while self.shown < video.present() && video.ladder.start_of(self.shown) <= position {
            let to = video.chosen(self.shown);
            if let (Some(from), Some(to)) = (self.last_shown, to)
                && from != to
            {
                let at = self.playback.time_of(video.ladder.start_of(self.shown));
                let segment = self.shown as u32;
                self.io.log.push(at, EventKind::Switch { segment, from: from as u32, to: to as u32 });
            }
            self.last_shown = to;
            self.shown += 1;
        }
    }

    /// Something changed: send what can be sent, and find the next wake-up.
    fn drive(&mut self, now: Time) {
        self.drive_tracks(now);
        self.report(now);
    }

    fn report(&mut self, now: Time) {
        if self.config.cmcd_events.is_empty() || self.playback.is_ended() {
            return;
        }
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        for reported in self.reporter.due_events(now, self.io.log.as_slice(), &self.config) {
            self.reporter.push(self.tracks[0].event_report(&reported, &at));
        }
        let connection = self.tracks.iter().find_map(Track::ready_connection).or_else(|| self.io.ready_shared());
        if let Some(connection) = connection {
            for cmcd in self.reporter.take() {
                let request = reports::request(cmcd, connection, self.io.next_request(), &self.config);
                self.io.actions.push_back(Action::Request(request));
            }
        }
        self.timeout = self.timeout.min(self.reporter.poll_timeout());
    }

    fn drive_tracks(&mut self, now: Time) {
        if self.tracks.iter().any(|track| track.has_given_up) && !self.playback.is_ended() {
            self.playback.stop(now, FinishReason::GaveUp, &mut self.io.log);
            self.close();
        }
        if self.playback.is_ended() {
            self.timeout = Time::MAX;
            return;
        }
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        self.timeout = self.playback.timeout().min(self.next_look);
        if !self.has_manifest {
            return;
        }
        for track in &mut self.tracks {
            track.drive(&at, &mut self.io);
            self.timeout = self.timeout.min(track.timeout(&at));
        }
        // A buffer that is never exceeded is full where no whole segment fits.
        self.note_full(now, self.tracks.iter().all(|track| !track.is_filling));
        // No more can be fetched before the picture moves: what is there has to do, whatever level is asked for.
        if self.playback.state() != PlayState::Playing && self.tracks.iter().all(Track::is_at_rest) {
            self.run_from(now, Duration::ZERO);
            if self.playback.state() == PlayState::Playing {
                self.drive_tracks(now);
            }
        }
    }

    fn note_full(&mut self, now: Time, is_full: bool) {
        if is_full && !std::mem::replace(&mut self.was_full, true) {
            self.io.log.push(now, EventKind::BufferFilled);
        }
    }

    /// Requests whose time is up fail.
    fn expire(&mut self, now: Time) {
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        self.tracks.iter_mut().for_each(|track| track.expire(&at, &mut self.io));
    }

    fn finish_request(&mut self, now: Time, index: usize, request: RequestId) {
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        if self.tracks[index].refuses(now, request, &at, &mut self.io) {
            return;
        }
        let Some(finished) = self.tracks[index].finish(now, request, &at, &mut self.io) else { return };
        self.has_manifest |= finished.what == What::Manifest;
        let Some(download) = finished.download else { return self.take_pieces(now) };
        self.playback.set_buffered_end(self.common_end().max(self.playback.buffered_end));
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        self.tracks[index].remember(download, &at);
        self.note_full(now, self.buffer_level(now) >= self.config.full_level);
        self.catch_up(now);
        self.run_if_possible(now);
    }

    /// Process a response once enough of it has arrived.
    #[inline(never)] // one packet of ten: the others need not save what this uses
    fn take_progress(&mut self, now: Time, index: usize, request: RequestId) {
        self.advance(now);
        let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
        self.tracks[index].progress(now, request, &at, &mut self.io);
        self.take_pieces(now);
        self.drive(now);
    }

    #[inline(never)]
    fn take_whole(&mut self, now: Time, index: usize, request: RequestId) {
        self.advance(now);
        self.finish_request(now, index, request);
        self.drive(now);
    }

    /// Low latency: a piece of a segment may be there.
    fn take_pieces(&mut self, now: Time) {
        if self.config.live.is_some_and(|live| live.low_latency.is_some()) {
            self.playback.set_buffered_end(self.common_end().max(self.playback.buffered_end));
            self.catch_up(now);
            self.run_if_possible(now);
        }
    }

    fn adjust_speed(&mut self, now: Time) {
        let Some(live) = self.config.live.filter(|_| now >= self.next_look && !self.playback.is_ended()) else {
            return;
        };
        self.next_look = now + LOOK;
        let speed = live.catch_up.speed(&Seen {
            latency: self.latency(now).as_secs_f64(),
            target: live.latency_target.as_secs_f64(),
            buffer: self.buffer_level(now).as_secs_f64(),
            segment: self.tracks[0].ladder.segment_duration().as_secs_f64(),
            stalls: self.stalls,
            speed: f64::from(self.playback.speed_ppm) / 1e6,
        });
        let ppm = (speed * 1e6).round() as u32;
        if ppm != self.playback.speed_ppm {
            self.note_latency(now);
            self.playback.set_speed(now, ppm, &mut self.io.log);
        }
    }

    /// Behind the live edge.
    fn latency(&self, now: Time) -> Duration {
        let edge = self.produced + now.saturating_since(self.playback.started_at);
        edge.saturating_sub(self.playback.position(now))
    }

    fn note_latency(&mut self, now: Time) {
        if self.config.live.is_some() {
            self.io.log.push(now, EventKind::LiveLatency { latency: self.latency(now) });
        }
    }

    fn run_if_possible(&mut self, now: Time) {
        let needed = match self.playback.state() {
            PlayState::StartingUp => self.config.start_level,
            PlayState::Stalled if self.playback.is_seeking() => self.config.start_level,
            PlayState::Stalled => self.config.stall_resume_level,
            PlayState::Playing => return,
        };
        self.run_from(now, needed);
    }

    fn run_from(&mut self, now: Time, needed: Duration) {
        if self.playback.can_run(needed) {
            self.playback.run(now, &mut self.io.log);
            self.show_segments(now);
            self.note_latency(now);
            let is_off = self.config.live.is_none_or(|live| live.catch_up == CatchUp::Off);
            self.next_look = if is_off { Time::MAX } else { now + LOOK };
        }
    }

    /// A live player that lost too much time in stalls jumps ahead by whole video segments.
    fn catch_up(&mut self, now: Time) {
        let Some(limit) = self.config.live.and_then(|live| live.skip_behind) else { return };
        let behind = self.playback.behind(now);
        if self.playback.state() != PlayState::Stalled || behind <= limit {
            return;
        }
        let position = self.playback.position(now);
        let ladder = &self.tracks[0].ladder;
        let target = (self.tracks[0].appended..ladder.segments())
            .take_while(|&segment| ladder.start_of(segment) <= position + behind)
            .last()
            .filter(|&segment| ladder.start_of(segment) > position);
        if let Some(segment) = target {
            let start = ladder.start_of(segment);
            self.note_latency(now);
            self.playback.skip(now, start - position, &mut self.io.log);
            // The media in between are never shown, even if they were being downloaded.
            self.shown = segment;
            for track in &mut self.tracks {
                track.skip_to(start);
            }
            self.playback.set_buffered_end(self.common_end().max(start));
            self.note_latency(now);
        }
    }

    /// Whether playback can continue at `to` with the buffered media. Also drops media too far behind.
    fn has_media_at(&mut self, now: Time, to: Duration) -> bool {
        if let BackBuffer::Length(length) = self.config.back_buffer {
            self.kept_from = self.kept_from.max(self.playback.position(now).saturating_sub(length));
        }
        let end = self.playback.buffered_end;
        to >= self.kept_from && (to < end || end == self.playback.media_end)
    }

    /// Restart fetching at `to`, for which the current downloads and buffer are of no use.
    fn refill_from(&mut self, now: Time, to: Duration) {
        for track in &mut self.tracks {
            track.seek_to(now, to, self.config.back_buffer == BackBuffer::Unlimited, &mut self.io);
        }
        self.kept_from = self.tracks.iter().map(Track::appended_start).max().unwrap_or(to);
        // A decoder begins with the segment that holds the target.
        match self.config.back_buffer {
            BackBuffer::Unlimited => self.seen.jump(to, self.kept_from),
            BackBuffer::Length(_) => self.seen.forget(self.kept_from),
        }
        self.playback.set_buffered_end(self.common_end().max(to));
    }

    /// End of the media that all kinds have buffered; a kind that is complete imposes no limit.
    fn common_end(&self) -> Duration {
        let unfinished = self.tracks.iter().filter(|track| !track.is_all_appended()).map(Track::appended_end).min();
        unfinished.unwrap_or_else(|| self.tracks.iter().map(Track::appended_end).max().unwrap_or_default())
    }

    fn close(&mut self) {
        for track in &mut self.tracks {
            track.close_all(&mut self.io);
        }
        self.timeout = Time::MAX;
    }

    fn current_rate(&self) -> Rate {
        let of_track = |track: &Track| track.ladder.bitrates()[track.current.unwrap_or(0)].as_bits_per_sec();
        Rate::from_bits_per_sec(self.tracks.iter().map(of_track).sum())
    }
}

impl Player for DashPlayer {
    fn handle_start(&mut self, now: Time) {
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        self.playback.start_session(now);
        let ladder = &self.tracks[0].ladder;
        let media_rate = (ladder.count() == 1).then(|| ladder.bitrates()[0]);
        let media_duration = ladder.media_duration();
        self.io.log.push(now, EventKind::SessionStarted { media_duration, media_rate });
        let position = self.playback.position(now);
        if !position.is_zero() {
            self.io.log.push(now, EventKind::Joined { position });
        }
        if self.config.origin.is_some() {
            self.io.log.push(now, EventKind::Host { host: 0 });
        }
        if !self.has_manifest {
            let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
            self.tracks[0].fetch_manifest(&at, &mut self.io);
        }
        self.drive(now);
    }

    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        self.advance(now);
        if !self.io.handle_shared_connected(now, connection) {
            self.tracks.iter_mut().any(|track| track.handle_connected(now, connection, &mut self.io));
        }
        self.drive(now);
    }

    fn handle_body(&mut self, now: Time, request: RequestId, bytes: u64) -> bool {
        for index in 0..self.tracks.len() {
            match self.tracks[index].receive(now, request, bytes) {
                Arrival::Unknown => continue,
                Arrival::Quiet => return false,
                Arrival::Progress => self.take_progress(now, index, request),
                Arrival::Complete => self.take_whole(now, index, request),
            }
            break;
        }
        true
    }

    fn handle_server_data(&mut self, _now: Time, request: RequestId, cmsd: &Cmsd) {
        let Some(use_of) = self.config.cmsd else { return };
        if let Some(etp) = cmsd.etp_kbps.filter(|&etp| etp > 0 && use_of.etp_weight > 0.0) {
            self.tracks.iter_mut().for_each(|track| track.note_estimate(request, etp as f64 * 1e3, use_of.etp_weight));
        }
        if let Some(mb) = cmsd.mb_kbps.filter(|&mb| mb > 0 && use_of.apply_mb) {
            // The suggested rate is for the whole session, so the audio's rate is subtracted for the video.
            let audio = self.tracks.get(1).map_or(0.0, |track| track.ladder.bits_per_sec(track.current.unwrap_or(0)));
            self.tracks[0].suggest_at_most(mb as f64 * 1e3 - audio);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if now >= self.timeout {
            self.advance(now);
            self.adjust_speed(now);
            self.expire(now);
            let at = Moment { now, playback: &self.playback, config: &self.config, produced: self.produced };
            self.tracks.iter_mut().for_each(|track| track.report_by_timer(now, &at, &mut self.io));
            self.drive(now);
        }
    }

    fn handle_seek(&mut self, now: Time, to: Duration) {
        debug_assert!(self.config.live.is_none(), "live streams are not sought in");
        self.advance(now);
        if !self.is_started || self.playback.is_ended() {
            return;
        }
        let to = to.min(self.playback.media_end);
        let is_buffered = self.has_media_at(now, to);
        self.seen.jump(self.playback.position(now), to);
        self.playback.seek(now, to, is_buffered, &mut self.io.log);
        let video = &self.tracks[0].ladder;
        self.shown = (0..video.segments()).rev().find(|&segment| video.start_of(segment) <= to).unwrap_or(0);
        self.tracks.iter_mut().for_each(|track| track.handle_seek(is_buffered));
        if is_buffered {
            self.show_segments(now);
        } else {
            self.refill_from(now, to);
            self.run_if_possible(now);
        }
        self.drive(now);
    }

    fn handle_stop(&mut self, now: Time) {
        if self.is_started && !self.playback.is_ended() {
            self.advance(now);
        }
        if self.is_started && !self.playback.is_ended() {
            if self.playback.state() != PlayState::StartingUp {
                self.note_latency(now);
            }
            self.playback.stop(now, FinishReason::Stopped, &mut self.io.log);
            self.close();
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.io.actions.pop_front()
    }

    fn poll_timeout(&self) -> Time {
        self.timeout
    }

    fn read_limit(&self, _now: Time, _connection: ConnectionId) -> u64 {
        u64::MAX
    }

    fn buffer_level(&self, now: Time) -> Duration {
        self.playback.buffered_end.saturating_sub(self.playback.position(now))
    }

    fn buffer_bytes(&self, now: Time) -> u64 {
        let position = self.playback.position(now);
        self.tracks.iter().map(|track| track.buffered_bytes(position)).sum()
    }

    fn unseen_bytes(&self, now: Time, with_ahead: bool) -> u64 {
        let position = self.playback.position(now);
        let missing = |start: Duration, end: Duration| {
            let end = if with_ahead { end } else { end.min(position) };
            self.seen.missing(position, start, end.max(start))
        };
        let of_track = |track: &Track| track.bytes_of(missing) + if with_ahead { track.bytes_under_way() } else { 0 };
        self.tracks.iter().map(of_track).sum()
    }

    fn position(&self, now: Time) -> Duration {
        self.playback.position(now)
    }

    fn time_of(&self, position: Duration) -> Time {
        // What a seek has jumped over is not reached.
        if self.playback.is_past(position) { Time::MAX } else { self.playback.time_of(position) }
    }

    fn is_finished(&self) -> bool {
        self.playback.is_ended()
    }

    fn events(&self) -> &[PlaybackEvent] {
        self.io.log.as_slice()
    }

    fn app_parameters(&self, now: Time) -> AppReport {
        let video_rate = self.current_rate();
        let free = self.config.full_level.saturating_sub(self.buffer_level(now));
        AppReport {
            playout_buffer_bytes: video_rate.bytes_in(self.config.full_level),
            playout_buffer_free_bytes: video_rate.bytes_in(free),
            video_rate,
            is_urgent: self.playback.state() != PlayState::Playing,
            whole: None,
        }
    }
}

/// Media that exists when a live session begins.
fn produced_at_join(presentation: &Presentation, live: &Live) -> Duration {
    match live.joined_at {
        None if live.low_latency.is_none() => whole_segments(presentation, live.latency_target),
        joined_at => joined_at.unwrap_or_default() + live.latency_target,
    }
}

/// The whole segments that fit into `length`; at least one.
fn whole_segments(presentation: &Presentation, length: Duration) -> Duration {
    let video = &presentation.video;
    (1..=video.segments())
        .map(|n| video.start_of(n))
        .take_while(|&end| end <= length)
        .last()
        .unwrap_or(video.start_of(1))
}
