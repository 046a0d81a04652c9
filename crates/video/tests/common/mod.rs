//! Drives a player by a script of arrivals, as a perfect transport with a receive buffer without limit would.
#![allow(dead_code)]

use playpath_units::{Duration, Time};
use playpath_video::media::{FrameTable, Media, Sample, SampleKind};
use playpath_video::{Action, ConnectionId, EventKind, PlaybackEvent, Player, Request, RequestId};
use std::sync::Arc;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// Pictures of 1000 bytes, 100 ms each: an I picture, then P pictures; 10 kB/s.
pub fn plain_media(pictures: u64) -> Arc<Media> {
    let kind = |i| if i == 0 { SampleKind::I } else { SampleKind::P };
    let sample = |i| Sample { kind: kind(i), size_bytes: 1000, presentation: ms(100 * i), is_reference: true };
    media((0..pictures).map(sample).collect(), 100 * pictures)
}

pub fn media(samples: Vec<Sample>, duration_ms: u64) -> Arc<Media> {
    Arc::new(Media::new(&FrameTable { header_bytes: 0, stated_duration: Some(ms(duration_ms)), samples }).unwrap())
}

pub struct Driver<P: Player> {
    pub player: P,
    pub now: Time,
    pub request: Option<Request>,
    /// In the receive buffer, not read yet.
    pub unread: u64,
    pub read: u64,
    pub is_closed: bool,
}

impl<P: Player> Driver<P> {
    /// Pressed play at 0; the connection is there at once.
    pub fn start(player: P) -> Driver<P> {
        let mut driver = Driver { player, now: Time::ZERO, request: None, unread: 0, read: 0, is_closed: false };
        driver.player.handle_start(Time::ZERO);
        driver.drain();
        driver.player.handle_connected(Time::ZERO, ConnectionId(0));
        driver.drain();
        driver
    }

    /// `bytes` arrive at `time`.
    pub fn deliver(&mut self, time: Time, bytes: u64) {
        self.run_to(time);
        self.unread += bytes;
        self.read_what_is_wanted();
    }

    /// All timeouts up to and including `time`.
    pub fn run_to(&mut self, time: Time) {
        while self.player.poll_timeout() <= time {
            let due = self.player.poll_timeout();
            assert!(due >= self.now, "timeout at {due} in the past of {}", self.now);
            self.now = due;
            self.player.handle_timeout(due);
            self.read_what_is_wanted();
            assert!(self.player.poll_timeout() > due, "timeout at {due} does not go away");
        }
        self.now = time;
    }

    /// Run until the player has finished; panics if it waits for ever.
    pub fn finish(&mut self) {
        while !self.player.is_finished() {
            let due = self.player.poll_timeout();
            assert!(due < Time::MAX, "the player waits for ever at {}", self.now);
            self.run_to(due);
        }
        assert!(self.is_closed);
    }

    fn read_what_is_wanted(&mut self) {
        loop {
            self.drain();
            let bytes = self.player.read_limit(self.now, ConnectionId(0)).min(self.unread);
            if bytes == 0 {
                return;
            }
            self.unread -= bytes;
            self.read += bytes;
            self.player.handle_body(self.now, RequestId(0), bytes);
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.player.poll_action() {
            match action {
                Action::Request(request) => self.request = Some(request),
                Action::Close(_) => self.is_closed = true,
                Action::Open(_) | Action::Abandon(_) => {}
            }
        }
    }

    /// The log after the request, in short lines.
    pub fn log(&self) -> Vec<String> {
        self.player.events().iter().filter_map(line).collect()
    }
}

fn millis(time: Duration) -> f64 {
    time.as_millis_f64()
}

fn line(event: &PlaybackEvent) -> Option<String> {
    let what = match event.kind {
        EventKind::SessionStarted { .. } | EventKind::Connected { .. } | EventKind::RequestSent { .. } => return None,
        EventKind::FirstByte { .. } => "first-byte".into(),
        EventKind::BufferFilled => "filled".into(),
        EventKind::PlaybackStarted => "play".into(),
        EventKind::UnderflowStart { position } => format!("underflow at {}", millis(position)),
        EventKind::UnderflowEnd => "underflow-end".into(),
        EventKind::StallStart { since, position } => {
            format!("stall since {} at {}", millis(since - Time::ZERO), millis(position))
        }
        EventKind::StallEnd { frozen } => format!("stall-end {}", millis(frozen)),
        EventKind::ClockShifted { by } => format!("shift {}", millis(by)),
        EventKind::PicturesDiscarded { first, count, cause } => format!("discard {first}+{count} {cause:?}"),
        EventKind::PacketsJudged { packets, late, overflowed } => {
            format!("judged {packets} late {late} over {overflowed}")
        }
        EventKind::Finished { reason, totals: t } => format!(
            "{reason:?}: start {} played {} discarded {} stopped {} pictures {}/{}",
            millis(t.startup),
            millis(t.media_played),
            millis(t.media_discarded),
            millis(t.clock_stopped),
            t.pictures_shown,
            t.pictures_discarded
        ),
        other => format!("{other:?}"),
    };
    Some(format!("{}: {what}", millis(event.at - Time::ZERO)))
}
