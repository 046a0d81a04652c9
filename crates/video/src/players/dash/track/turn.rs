//! The choice of the next segment, its time, and its representation.

use super::Track;
use crate::EventKind;
use crate::abr::{Choice, Decision};
use crate::players::dash::config::{DashConfig, LiveDelivery, Room, RuleTiming};
use crate::players::dash::connections::Io;
use crate::players::dash::moment::Moment;
use crate::players::dash::parts::Next;
use crate::players::dash::retry::next_boundary;
use crate::players::dash::transfer::What;
use playpath_units::{Duration, Time};

impl Track {
    pub(super) fn next_order(&mut self, at: &Moment, io: &mut Io) -> Option<What> {
        if let Some(what) = self.after_init.take() {
            return Some(what);
        }
        let by_parts = at.low_latency().is_some_and(|low_latency| low_latency.delivery == LiveDelivery::Parts);
        if by_parts {
            let pieces = |segment| at.pieces(LiveDelivery::Parts, &self.ladder, segment);
            if let Next::Order(what) = self.parts.next(&self.ladder, pieces, self.next_segment)? {
                return Some(what);
            }
        }
        let (segment, representation) = match self.retry {
            Some((segment, abandonment)) => {
                let representation = abandonment.representation;
                if at.now < self.wait_until || !self.finds_room(at, segment, representation) {
                    return None;
                }
                self.retry = None;
                let decision = Decision::fetch(representation, abandonment.reason);
                (segment, self.note_decision(segment, representation, decision, at, io))
            }
            None => {
                let representation = self.decide(at, io)?;
                let segment = self.next_segment;
                self.next_segment += 1;
                self.pass_what_is_there(at.config);
                (segment, representation)
            }
        };
        self.current = Some(representation);
        if !self.complete[segment] {
            self.chosen[segment] = representation as u8;
        }
        let order = if by_parts {
            self.parts.open(segment, representation);
            What::Part { segment, part: 0, representation }
        } else {
            What::Segment { segment, representation }
        };
        let init_bytes = self.ladder.representations()[representation].init_bytes;
        if init_bytes > 0 && self.inits & (1 << representation) == 0 {
            self.after_init = Some(order);
            return Some(What::Init(representation));
        }
        Some(order)
    }

    /// The representation of the next segment, if it is to be asked for now.
    fn decide(&mut self, at: &Moment, io: &mut Io) -> Option<usize> {
        let is_last = self.next_segment == self.ladder.segments();
        if is_last || at.now < self.may_ask_at(at) {
            return None;
        }
        let asks_rule_first = at.config.rule_timing == RuleTiming::BeforeRoom;
        if self.answer.is_none()
            && !asks_rule_first
            && !self.finds_room(at, self.next_segment, self.current.unwrap_or(0))
        {
            return None;
        }
        let decision = self.answer.take().unwrap_or_else(|| self.ask(at));
        match decision.choice {
            Choice::Fetch(choice) => {
                let choice = choice.min(self.most);
                if self.current != Some(choice) {
                    self.change_rung(at, choice);
                }
                if !self.finds_room(at, self.next_segment, choice) {
                    self.answer = Some(decision).filter(|_| !asks_rule_first);
                    return None;
                }
                Some(self.note_decision(self.next_segment, choice, decision, at, io))
            }
            Choice::WaitUntil(until) => {
                self.wait_until = until.max(at.now + Duration::from_nanos(1));
                None
            }
        }
    }

    /// Earliest time of the rule's next decision.
    pub(super) fn may_ask_at(&self, at: &Moment) -> Time {
        self.wait_until.max(at.available_at(&self.ladder, self.next_segment.min(self.ladder.segments() - 1)))
    }

    fn ask(&mut self, at: &Moment) -> Decision {
        let idle = self.idle_since.map_or(Duration::ZERO, |since| at.now.saturating_since(since));
        let (level, next) = (self.known_level(at), self.next_segment);
        let context = at.context(&self.ladder, &self.downloads, next, self.current, level, idle);
        self.abr.choose(&context)
    }

    /// End of the media buffered or being downloaded, without which parallel requests would overshoot. Replacements add nothing.
    pub(super) fn committed_end(&self, before: usize) -> Duration {
        self.ladder.start_of(before).max(self.appended_end())
    }

    pub(super) fn next_in_turn(&self) -> usize {
        self.retry.map_or(self.next_segment, |(segment, _)| segment)
    }

    /// Whether there is room for `segment`, at this rung; if not, when to look again.
    fn finds_room(&mut self, at: &Moment, segment: usize, rung: usize) -> bool {
        let config = at.config;
        if !self.fits_device(at, segment, rung) {
            let full = next_boundary(&self.ladder, at.playback.position(at.now));
            self.wait_until = at.playback.time_of(full);
            return false;
        }
        let level = self.committed_end(segment).saturating_sub(self.known_position(at));
        let goal = config.goal.level(config.full_level, &self.ladder, rung);
        let duration = self.ladder.duration_of(segment.min(self.ladder.segments() - 1));
        let has_room = match config.room {
            // A client that looks from time to time starts below the level, one that waits for the moment starts at it.
            Room::Whole if duration < goal && config.check.is_none() => level + duration <= goal,
            Room::Whole if duration < goal => level + duration < goal,
            Room::Whole | Room::Any => level < goal,
        };
        let may_resume = self.is_filling || config.resume_level >= config.full_level || level <= config.resume_level;
        self.is_filling = has_room && may_resume;
        if let (false, Some(check)) = (self.is_filling, config.check) {
            let from = if check.from_arrival { self.last_arrival } else { at.playback.started_at };
            let checks = at.now.saturating_since(from).as_nanos() / check.every.as_nanos().max(1) + 1;
            self.wait_until = from + Duration::from_nanos(check.every.as_nanos().saturating_mul(checks));
        }
        self.is_filling
    }

    /// Level at which there is room again, for a client that does not look from time to time.
    pub(super) fn room_level(&self, config: &DashConfig) -> Duration {
        let rung = self.answer.and_then(|answer| answer.representation()).or(self.current).unwrap_or(0);
        let goal = config.goal.level(config.full_level, &self.ladder, rung);
        let duration = self.ladder.duration_of(self.next_in_turn().min(self.ladder.segments() - 1));
        let level = match config.room {
            Room::Whole if duration < goal => goal - duration,
            Room::Whole | Room::Any => goal - Duration::from_nanos(1),
        };
        if config.resume_level < config.full_level { level.min(config.resume_level) } else { level }
    }

    /// dash.js `fastSwitch` (`_prepareForFastQualitySwitch`): another rung is fetched from the segment at the playhead on, if that is
    /// there in a lower one. dash.js means to begin 1.5 segments later, but reads `fragmentDuration` from a representation in which
    /// it is still `null`: 1.5 · null is 0.
    fn change_rung(&mut self, at: &Moment, choice: usize) {
        // The initialisation segment is appended, so that the level is looked at.
        self.appended_at = at.now;
        if !at.config.fast_switch || !self.abr.may_replace(at.now) {
            return;
        }

        let position = at.playback.position(at.now);
        let segment = (0..self.ladder.segments()).rev().find(|&segment| self.ladder.start_of(segment) <= position);
        let ends_later = |segment: &usize| self.ladder.start_of(segment + 1) > position;
        if let Some(segment) = segment.filter(ends_later)
            && self.complete[segment]
            && self.chosen(segment).is_some_and(|there| there < choice)
        {
            self.next_segment = segment;
        }
    }

    pub(super) fn note_decision(
        &mut self,
        segment: usize,
        choice: usize,
        decision: Decision,
        at: &Moment,
        io: &mut Io,
    ) -> usize {
        let representation = choice.min(self.ladder.count() - 1);
        self.last_estimate = decision.estimate.or(self.last_estimate);
        io.log.push(
            at.now,
            EventKind::SegmentDecision {
                object: self.object(What::Segment { segment, representation }),
                rate: self.ladder.bitrates()[representation],
                buffer_level: self.level(at),
                estimate: decision.estimate,
                reason: decision.reason,
            },
        );
        representation
    }
}
