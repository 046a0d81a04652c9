//! The implementation of the player interface.

use super::{CONNECTION, Phase, ProgressivePlayer, REQUEST};
use crate::{
    Action, AppReport, ConnectionId, EventKind, FinishReason, ObjectRef, PlaybackEvent, Player, Request, RequestId,
};
use playpath_units::{Duration, Time};

impl Player for ProgressivePlayer {
    fn handle_start(&mut self, now: Time) {
        self.started_at = now;
        self.phase = Phase::Filling { start_at: Time::MAX };
        let (media_duration, media_rate) = (self.media.duration, Some(self.media.mean_rate));
        self.screen.log.push(now, EventKind::SessionStarted { media_duration, media_rate });
        self.actions.push_back(Action::Open(CONNECTION));
        self.advance(now);
    }

    fn handle_connected(&mut self, now: Time, connection: ConnectionId) {
        let body_bytes = self.media.total_bytes;
        self.screen.log.push(now, EventKind::Connected { connection });
        let request = EventKind::RequestSent { request: REQUEST, object: ObjectRef::FILE, body_bytes };
        self.screen.log.push(now, request);
        self.actions.push_back(Action::Request(Request {
            request_header_bytes: 200,
            response_header_bytes: 250,
            ..Request::of_file(connection, REQUEST, body_bytes)
        }));
    }

    fn handle_body(&mut self, now: Time, _request: RequestId, bytes: u64) -> bool {
        // Mostly nothing is due, with or without these bytes, and the next look changes only with the last byte of the next picture.
        if self.is_before_turn(now) {
            let had_next = self.has_next();
            self.reading.add(&self.media, bytes);
            self.look(now);
            return self.has_next() != had_next;
        }
        // Pictures due before these bytes arrived are judged without them.
        if self.step(now) {
            self.advance(now);
        }
        if self.phase != Phase::Ended {
            if self.reading.read == 0 && bytes > 0 {
                self.screen.log.push(now, EventKind::FirstByte { request: REQUEST });
            }
            self.reading.add(&self.media, bytes);
            self.advance(now);
        }
        true
    }

    fn handle_timeout(&mut self, now: Time) {
        self.advance(now);
    }

    fn handle_stop(&mut self, now: Time) {
        self.advance(now);
        if self.phase == Phase::Ended {
            return;
        }
        match self.phase {
            Phase::Waiting { since, .. } => self.screen.shift_clock(now, now - since),
            Phase::Filling { .. } => self.screen.totals.startup = now - self.started_at,
            _ => {}
        }
        self.finish(now, FinishReason::Stopped);
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Time {
        match self.phase {
            Phase::Filling { start_at } => start_at,
            Phase::Playing { zero_at } => match self.media.pictures.get(self.next) {
                None => self.turn(zero_at + self.media.duration),
                Some(p) => self.next_look(self.turn(zero_at + p.presentation), p),
            },
            _ => Time::MAX,
        }
    }

    fn read_limit(&self, _now: Time, _connection: ConnectionId) -> u64 {
        match self.phase {
            Phase::Idle | Phase::Ended => 0,
            _ => self.reading.may_read(),
        }
    }

    fn buffer_level(&self, now: Time) -> Duration {
        self.reading.playable_until(&self.media).saturating_sub(self.position(now))
    }

    fn buffer_bytes(&self, _now: Time) -> u64 {
        self.reading.held()
    }

    fn is_finished(&self) -> bool {
        self.phase == Phase::Ended
    }

    fn events(&self) -> &[PlaybackEvent] {
        self.screen.log.as_slice()
    }

    fn app_parameters(&self, _now: Time) -> AppReport {
        let playout_buffer_bytes = self.cache.bytes(self.media.mean_rate);
        AppReport {
            playout_buffer_bytes,
            playout_buffer_free_bytes: playout_buffer_bytes.saturating_sub(self.reading.held()),
            video_rate: self.media.mean_rate,
            is_urgent: self.is_waiting_for_data() || self.is_missing,
            whole: Some((self.media.total_bytes, self.media.duration)),
        }
    }
}
