//! What the client tells with each request (CTA-5004; choices as dash.js makes them).

use super::config::{CmcdMode, Way};
use super::moment::Moment;
use super::track::Track;
use super::transfer::What;
use crate::ObjectKind;
use crate::abr::PlayState;
use crate::cmcd::{Cmcd, ObjectType, PlayerState, StreamType, StreamingFormat};
use playpath_units::Duration;

/// dash.js: an empty buffer counts as 500 ms, and five times the rate that just suffices is asked for.
const LEAST_LEVEL_MS: u64 = 500;
const RTP_SAFETY: u64 = 5;

impl Track {
    /// Keys for a request of `what`; `starved` and `urgent` are told once.
    pub(super) fn client_data(&mut self, what: What, bytes: u64, at: &Moment) -> Cmcd {
        let (config, playback) = (at.config, at.playback);
        let position = playback.position(at.now);
        let is_live = config.live.is_some();
        let mut cmcd = Cmcd {
            sid: Some(config.session.clone()).filter(|session| !session.is_empty()),
            sf: Some(StreamingFormat::Dash),
            st: Some(if is_live { StreamType::Live } else { StreamType::OnDemand }),
            ot: Some(match (what, self.ladder().kind()) {
                (What::Manifest | What::Playlist { .. }, _) => ObjectType::Manifest,
                (What::Init(_), _) => ObjectType::Init,
                (_, ObjectKind::Audio) => ObjectType::Audio,
                _ => ObjectType::Video,
            }),
            su: self.urgent,
            ..Cmcd::default()
        };
        if let What::Segment { segment, representation } | What::Part { segment, representation, .. } = what {
            let pieces = at.pieces(Way::Parts, self.ladder(), segment);
            let duration = pieces.map_or(self.ladder().duration_of(segment), |pieces| pieces.each);
            self.describe_media(&mut cmcd, representation, duration, bytes, position);
        }
        if config.cmcd == CmcdMode::V2 {
            cmcd.version = Some(2);
            cmcd.tbl_ms = Some(millis(config.full_level));
            cmcd.sta = Some(match playback.state() {
                PlayState::StartingUp => PlayerState::Starting,
                PlayState::Playing => PlayerState::Playing,
                PlayState::Stalled => PlayerState::Rebuffering,
            });
            cmcd.ltc_ms = is_live.then(|| millis(at.edge(at.now).saturating_sub(position)));
        }
        cmcd
    }

    fn describe_media(
        &mut self,
        cmcd: &mut Cmcd,
        representation: usize,
        duration: Duration,
        bytes: u64,
        position: Duration,
    ) {
        let level_ms = millis(self.appended_end().saturating_sub(position));
        let ladder = self.ladder();
        cmcd.br_kbps = Some(ladder.bitrates()[representation].as_bits_per_sec() / 1000);
        cmcd.tb_kbps = Some(ladder.bitrates()[ladder.count() - 1].as_bits_per_sec() / 1000);
        cmcd.d_ms = Some(millis(duration));
        cmcd.bl_ms = Some(level_ms);
        // Deadline = level / pr. At speeds near 1 that is the level.
        cmcd.dl_ms = Some(level_ms);
        cmcd.mtp_kbps = self.measured_kbps();
        // bit / ms = kbit/s.
        cmcd.rtp_kbps = Some(RTP_SAFETY * bytes * 8 / level_ms.max(LEAST_LEVEL_MS));
        cmcd.bs = std::mem::take(&mut self.starved);
        self.urgent = false;
    }

    fn measured_kbps(&self) -> Option<u64> {
        let estimate = self.last_estimate.map(|rate| rate.as_bits_per_sec() as f64);
        let measured = estimate.or_else(|| Some(self.downloads().last()?.bits_per_sec()))?;
        Some((measured / 1e3) as u64)
    }
}

fn millis(length: Duration) -> u64 {
    length.as_nanos() / 1_000_000
}
