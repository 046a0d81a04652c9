//! Client data sent with each request (CTA-5004; choices as in dash.js).

use super::config::{Claim, CmcdMode, LiveDelivery};
use super::moment::Moment;
use super::playback::NORMAL;
use super::reports::ReportedEvent;
use super::track::Track;
use super::transfer::What;
use crate::ObjectKind;
use crate::abr::PlayState;
use crate::cmcd::{Cmcd, ObjectType, PlayerState, StreamType};
use playpath_units::{Duration, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct ReportedBuffer {
    at: Time,
    level_ms: u64,
    is_starved: bool,
}

/// dash.js: an empty buffer counts as 500 ms, and five times the rate that just suffices is asked for.
const MIN_LEVEL_MS: u64 = 500;
const RTP_SAFETY: u64 = 5;

impl Track {
    /// Keys for a request of `what`; `starved` and `urgent` are reported once.
    pub(super) fn client_data(&mut self, what: What, bytes: u64, at: &Moment) -> Cmcd {
        let position = at.playback.position(at.now);
        let mut cmcd = Cmcd {
            ot: Some(match (what, self.ladder.kind()) {
                (What::Manifest | What::Playlist { .. }, _) => ObjectType::Manifest,
                (What::Init(_), _) => ObjectType::Init,
                (_, ObjectKind::Audio) => ObjectType::Audio,
                _ => ObjectType::Video,
            }),
            su: self.urgent,
            ..of_session(at)
        };
        if let What::Segment { segment, representation } | What::Part { segment, representation, .. } = what {
            let pieces = at.pieces(LiveDelivery::Parts, &self.ladder, segment);
            let duration = pieces.map_or(self.ladder.duration_of(segment), |pieces| pieces.each);
            let level = self.appended_end().saturating_sub(position);
            let buffer = self.reported(at, millis(level));
            self.describe_media(&mut cmcd, representation, duration, bytes, buffer);
        }
        if at.config.cmcd == CmcdMode::V2 {
            add_version_2(&mut cmcd, at);
        }
        cmcd
    }

    /// Keys of a report: the state of playback, and the reported event.
    pub(super) fn event_report(&mut self, reported: &ReportedEvent, at: &Moment) -> Cmcd {
        let ladder = &self.ladder;
        let kbps = |rung: usize| ladder.bitrates()[rung].as_bits_per_sec() / 1000;
        let mut cmcd = Cmcd {
            br_kbps: self.current.map(kbps),
            tb_kbps: Some(kbps(ladder.count() - 1)),
            mtp_kbps: self.measured_kbps(),
            e: Some(reported.event),
            ts_ms: Some(reported.at.as_nanos() / 1_000_000),
            ..of_session(at)
        };
        if let Some(response) = &reported.response {
            let is_audio = response.object.kind == ObjectKind::Audio;
            cmcd.ot = Some(if is_audio { ObjectType::Audio } else { ObjectType::Video });
            cmcd.d_ms = Some(millis(response.media_duration));
            cmcd.rc = Some(200);
            cmcd.ttfb_ms = response.first_byte_after.map(millis);
            cmcd.ttlb_ms = Some(millis(response.took));
            cmcd.url = Some(format!("{}/{}", response.object.representation, response.object.segment));
        }
        let level = self.appended_end().saturating_sub(at.playback.position(at.now));
        let buffer = self.claim(at, millis(level), false);
        (cmcd.bl_ms, cmcd.bs) = (buffer.map(|buffer| buffer.level_ms), buffer.is_some_and(|buffer| buffer.is_starved));
        add_version_2(&mut cmcd, at);
        cmcd
    }

    fn describe_media(
        &self,
        cmcd: &mut Cmcd,
        representation: usize,
        duration: Duration,
        bytes: u64,
        buffer: Option<ReportedBuffer>,
    ) {
        let ladder = &self.ladder;
        cmcd.br_kbps = Some(ladder.bitrates()[representation].as_bits_per_sec() / 1000);
        cmcd.tb_kbps = Some(ladder.bitrates()[ladder.count() - 1].as_bits_per_sec() / 1000);
        cmcd.d_ms = Some(millis(duration));
        cmcd.bl_ms = buffer.map(|buffer| buffer.level_ms);
        cmcd.dl_ms = cmcd.bl_ms.map(|level| (level as f64 / cmcd.pr.unwrap_or(1.0)) as u64);
        cmcd.mtp_kbps = self.measured_kbps();
        // bit / ms = kbit/s.
        cmcd.rtp_kbps = buffer.map(|buffer| RTP_SAFETY * bytes * 8 / buffer.level_ms.max(MIN_LEVEL_MS));
        cmcd.bs = buffer.is_some_and(|buffer| buffer.is_starved);
    }

    /// The reported buffer level: the true one if the client is honest and without delay; with a delay, that of the last request at least
    /// this long ago.
    fn reported(&mut self, at: &Moment, level_ms: u64) -> Option<ReportedBuffer> {
        let (is_starved, _) = (std::mem::take(&mut self.starved), std::mem::take(&mut self.urgent));
        self.claim(at, level_ms, is_starved)
    }

    fn claim(&mut self, at: &Moment, level_ms: u64, is_starved: bool) -> Option<ReportedBuffer> {
        let buffer = match at.config.cmcd_claim {
            Claim::Honest => ReportedBuffer { at: at.now, level_ms, is_starved },
            Claim::Empty => ReportedBuffer { at: at.now, level_ms: 0, is_starved: true },
            Claim::Full => ReportedBuffer { at: at.now, level_ms: millis(at.config.full_level), is_starved: false },
        };
        self.claims.push_back(buffer);
        let is_due = |buffer: &ReportedBuffer| buffer.at + at.config.cmcd_lag <= at.now;
        while self.claims.get(1).is_some_and(is_due) {
            self.claims.pop_front();
        }
        self.claims.front().copied().filter(is_due)
    }

    fn measured_kbps(&self) -> Option<u64> {
        let estimate = self.last_estimate.map(|rate| rate.as_bits_per_sec() as f64);
        let measured = estimate.or_else(|| Some(self.downloads.last()?.bits_per_sec()))?;
        Some((measured / 1e3) as u64)
    }
}

fn of_session(at: &Moment) -> Cmcd {
    let (config, ppm) = (at.config, at.playback.speed_ppm);
    Cmcd {
        pr: (ppm != NORMAL).then_some(f64::from(ppm) / f64::from(NORMAL)),
        sf: Some(config.format),
        st: Some(if config.live.is_some() { StreamType::Live } else { StreamType::OnDemand }),
        ..Cmcd::default()
    }
}

fn add_version_2(cmcd: &mut Cmcd, at: &Moment) {
    let playback = at.playback;
    cmcd.version = Some(2);
    cmcd.tbl_ms = Some(millis(at.config.full_level));
    cmcd.sta = Some(match playback.state() {
        PlayState::StartingUp => PlayerState::Starting,
        PlayState::Playing => PlayerState::Playing,
        PlayState::Stalled if playback.is_seeking() => PlayerState::Seeking,
        PlayState::Stalled => PlayerState::Rebuffering,
    });
    let behind = || millis(at.edge(at.now).saturating_sub(playback.position(at.now)));
    cmcd.ltc_ms = at.config.live.is_some().then(behind);
}

fn millis(length: Duration) -> u64 {
    length.as_nanos() / 1_000_000
}
