//! Downloads the whole file, then plays it: no viewer waits longer for the start, and none ever stalls.
//!
//! Reference: none, the example of docs/recipes/add-a-player.md.
//! Differences from the reference: none. Units: bytes, nanoseconds. Invariant: start-up + played = elapsed. Tested here.

use crate::events::{EventLog, Totals};
use crate::media::Media;
use crate::registry::PlayerEntry;
use crate::{
    Action, AppReport, ConnectionId, EventKind, FinishReason, ObjectRef, PlaybackEvent, Player, Request, RequestId,
};
use playpath_units::{Duration, Time};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "complete",
    summary: "downloads the whole file, then plays it",
    reference: "docs/recipes/add-a-player.md",
    params: &[],
    build: |context, _settings| Ok(Box::new(Complete::new(context.media.clone()))),
};

const CONNECTION: ConnectionId = ConnectionId(0);
const REQUEST: RequestId = RequestId(0);

struct Complete {
    media: Arc<Media>,
    pressed_at: Time,
    received: u64,
    started: Option<Time>,
    is_finished: bool,
    log: EventLog,
    actions: VecDeque<Action>,
}

impl Complete {
    fn new(media: Arc<Media>) -> Complete {
        Complete {
            media,
            pressed_at: Time::ZERO,
            received: 0,
            started: None,
            is_finished: false,
            log: EventLog::default(),
            actions: VecDeque::new(),
        }
    }

    fn ends_at(&self) -> Time {
        self.started.map_or(Time::MAX, |start| start + self.media.duration)
    }

    fn played_at(&self, now: Time) -> Duration {
        self.started.map_or(Duration::ZERO, |start| now.saturating_since(start)).min(self.media.duration)
    }

    fn end(&mut self, at: Time, reason: FinishReason) {
        let media_played = self.played_at(at);
        let shown = self.media.pictures.iter().filter(|picture| picture.presentation < media_played);
        let totals = Totals {
            startup: self.started.unwrap_or(at) - self.pressed_at,
            media_played,
            pictures_shown: shown.count() as u64,
            ..Totals::default()
        };
        self.is_finished = true;
        self.log.push(at, EventKind::Finished { reason, totals });
        self.actions.push_back(Action::Close(CONNECTION));
    }
}

impl Player for Complete {
    fn handle_start(&mut self, now: Time) {
        self.pressed_at = now;
        let media_duration = self.media.duration;
        self.log.push(now, EventKind::SessionStarted { media_duration, media_rate: Some(self.media.mean_rate) });
        self.actions.push_back(Action::Open(CONNECTION));
    }

    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        let (id, object, body_bytes) = (REQUEST, ObjectRef::FILE, self.media.total_bytes);
        self.log.push(now, EventKind::Connected { connection });
        self.log.push(now, EventKind::RequestSent { request: id, object, body_bytes });
        self.actions.push_back(Action::Request(Request::of_file(connection, id, body_bytes)));
    }

    fn handle_body(&mut self, now: Time, request: RequestId, bytes: u64) -> bool {
        if self.received == 0 {
            self.log.push(now, EventKind::FirstByte { request });
        }
        self.received += bytes;
        if self.received == self.media.total_bytes {
            self.started = Some(now);
            self.log.push(now, EventKind::BufferFilled);
            self.log.push(now, EventKind::PlaybackStarted);
        }
        true // what it wants may have changed, or when
    }

    fn handle_timeout(&mut self, now: Time) {
        if !self.is_finished && self.ends_at() <= now {
            self.end(self.ends_at(), FinishReason::Played);
        }
    }

    fn handle_stop(&mut self, now: Time) {
        self.handle_timeout(now);
        if !self.is_finished {
            self.end(now, FinishReason::Stopped);
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Time {
        if self.is_finished { Time::MAX } else { self.ends_at() }
    }

    fn read_limit(&self, _now: Time, _connection: ConnectionId) -> u64 {
        if self.is_finished { 0 } else { u64::MAX }
    }

    fn buffer_level(&self, now: Time) -> Duration {
        self.media.mean_rate.time_to_send(self.buffer_bytes(now))
    }

    fn buffer_bytes(&self, now: Time) -> u64 {
        self.received.saturating_sub(self.media.mean_rate.bytes_in(self.played_at(now)))
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn events(&self) -> &[PlaybackEvent] {
        self.log.as_slice()
    }

    fn app_parameters(&self, _now: Time) -> AppReport {
        AppReport {
            playout_buffer_bytes: self.media.total_bytes,
            playout_buffer_free_bytes: self.media.total_bytes - self.received,
            video_rate: self.media.mean_rate,
            whole: Some((self.media.total_bytes, self.media.duration)),
            is_urgent: self.started.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ideal::{IdealLink, play};
    use crate::media::big_buck_bunny;
    use crate::registry::PlayerContext;
    use playpath_units::random::RootSeed;
    use playpath_units::{Params, Rate};

    /// The clip at twice its rate: half of its duration until the last byte, then all of it.
    #[test]
    fn plays_when_all_is_there() {
        let media = Arc::new(Media::new(&big_buck_bunny()).unwrap());
        let rate = Rate::from_bits_per_sec(2 * media.mean_rate.as_bits_per_sec());
        let context = PlayerContext {
            media: media.clone(),
            packet_bytes: 1000,
            presentation: None,
            quality: None,
            seed: RootSeed(1),
            rule: None,
            origin: None,
        };
        let mut player = (ENTRY.build)(&context, &Params::defaults(ENTRY.params)).unwrap();
        let (end, _) = play(&mut *player, &IdealLink::constant(rate, Duration::ZERO).unwrap(), Time::from_secs(1000));
        let expected = media.duration.as_secs_f64() * 1.5;
        assert!((end.as_secs_f64() - expected).abs() < 0.01, "{end} instead of {expected} s");
        let EventKind::Finished { reason, totals } = player.events().last().unwrap().kind else { panic!() };
        assert_eq!((reason, totals.media_played), (FinishReason::Played, media.duration));
        assert_eq!(totals.pictures_shown, media.pictures.len() as u64);
    }
}
