//! dash.js's BolaRule: BOLA-E.
//!
//! Reference: dash.js 5.2.1 BolaRule; Spiteri et al., "From Theory to Practice" (MMSys 2018). The lowest rate's level is 10 s, the
//! highest's `target` or 10 s + 2 s per rung. A placeholder stands for time in which the player could have had more buffer.
//! Utilities are ln(rate / lowest) + 1 there; the score subtracts the 1 again, the levels below do not; the same here.
//!
//! Tested against dash.js itself (`tests/players`).

use super::highest_at_most;
use crate::abr::{Context, Download};
use crate::ladder::{Ladder, MAX_REPRESENTATIONS};
use playpath_units::Time;

/// `MINIMUM_BUFFER_S`, `MINIMUM_BUFFER_PER_BITRATE_LEVEL_S`, `PLACEHOLDER_BUFFER_DECAY`.
const MINIMUM: f64 = 10.0;
const PER_RUNG: f64 = 2.0;
const DECAY: f64 = 0.99;

#[derive(Clone, Copy, Debug)]
struct Law {
    v: f64,
    gp: f64,
    /// Including the 1.
    utilities: [f64; MAX_REPRESENTATIONS],
    rates: [f64; MAX_REPRESENTATIONS],
    count: usize,
}

impl Law {
    fn new(ladder: &Ladder, target: f64) -> Law {
        let count = ladder.count();
        let target = target.max(MINIMUM + PER_RUNG * count as f64);
        let (mut utilities, mut rates) = ([0.0; MAX_REPRESENTATIONS], [0.0; MAX_REPRESENTATIONS]);
        for rung in 0..count {
            rates[rung] = ladder.bits_per_sec(rung);
            utilities[rung] = libm::log(rates[rung]) - libm::log(rates[0]) + 1.0;
        }
        let gp = (utilities[count - 1] - 1.0) / (target / MINIMUM - 1.0);
        Law { v: MINIMUM / gp, gp, utilities, rates, count }
    }

    /// The highest score; the higher one of equals.
    fn best(&self, level: f64) -> usize {
        let score = |rung: usize| (self.v * (self.utilities[rung] - 1.0 + self.gp) - level) / self.rates[rung];
        (1..self.count).fold(0, |best, rung| if score(rung) >= score(best) { rung } else { best })
    }

    fn max_level(&self, rung: usize) -> f64 {
        self.v * (self.utilities[rung] + self.gp)
    }

    fn min_level(&self, rung: usize) -> f64 {
        let (rate, utility) = (self.rates[rung], self.utilities[rung]);
        (0..rung).fold(0.0, |least, lower| {
            let crossing = (rate * self.utilities[lower] - self.rates[lower] * utility) / (rate - self.rates[lower]);
            f64::max(least, self.v * (self.gp + crossing))
        })
    }
}

/// The rule's state. It begins with the first question.
pub(super) struct Bola {
    target: f64,
    law: Option<Law>,
    is_steady: bool,
    placeholder: f64,
    current: usize,
    most_advanced: Option<usize>,
    last_duration: Option<f64>,
    last_finish: Option<Time>,
    last_call: Option<Time>,
}

impl Bola {
    pub(super) fn new(target: f64) -> Bola {
        Bola {
            target,
            law: None,
            is_steady: false,
            placeholder: 0.0,
            current: 0,
            most_advanced: None,
            last_duration: None,
            last_finish: None,
            last_call: None,
        }
    }

    /// The chosen rung, if any, and the seconds to wait first. `safe_kbps` is the estimate with its safety factor.
    pub(super) fn choose(&mut self, context: &Context, level: f64, safe_kbps: Option<f64>) -> (Option<usize>, f64) {
        if context.ladder.count() == 1 {
            return (None, 0.0);
        }
        let law = *self.law.get_or_insert_with(|| Law::new(context.ladder, self.target));
        let sustained = safe_kbps.map(|kbps| highest_at_most(context.ladder, kbps));
        if self.is_steady {
            self.choose_steady(context, &law, level, sustained)
        } else {
            self.start_up(&law, level, sustained)
        }
    }

    fn start_up(&mut self, law: &Law, level: f64, sustained: Option<usize>) -> (Option<usize>, f64) {
        let Some(sustained) = sustained else { return (None, 0.0) };
        self.placeholder = (law.min_level(sustained) - level).max(0.0);
        self.current = sustained;
        self.is_steady = self.last_duration.is_some_and(|duration| level >= duration);
        (Some(sustained), 0.0)
    }

    fn choose_steady(
        &mut self,
        context: &Context,
        law: &Law,
        level: f64,
        sustained: Option<usize>,
    ) -> (Option<usize>, f64) {
        let idle_since = self.last_finish.take().or(self.last_call);
        self.placeholder += idle_since.map_or(0.0, |since| context.now.saturating_since(since).as_secs_f64());
        self.last_call = Some(context.now);
        let mut choice = law.best(level + self.placeholder);
        // BOLA-O: no step up beyond what the throughput sustains.
        let sustained = sustained.unwrap_or(0);
        if choice > self.current && choice > sustained {
            choice = sustained.max(self.current);
        }
        self.current = choice;
        (Some(choice), self.shrink_to(law, choice, level))
    }

    /// First the placeholder shrinks, then the player waits; at the top rate there is no limit.
    fn shrink_to(&mut self, law: &Law, choice: usize, level: f64) -> f64 {
        let excess = (level + self.placeholder - law.max_level(choice)).max(0.0);
        let from_placeholder = excess.min(self.placeholder);
        self.placeholder -= from_placeholder;
        if choice == law.count - 1 { 0.0 } else { excess - from_placeholder }
    }

    /// The client's choice, whichever rule made it.
    pub(super) fn handle_choice(&mut self, choice: usize) {
        self.current = choice;
    }

    pub(super) fn handle_empty_buffer(&mut self) {
        if self.is_steady {
            self.placeholder = 0.0;
        }
    }

    pub(super) fn handle_seek(&mut self) {
        *self = Bola { law: self.law, current: self.current, ..Bola::new(self.target) };
    }

    /// `level` is that before the segment was appended.
    pub(super) fn handle_download(&mut self, download: &Download, duration: f64, level: f64) {
        let Some(law) = &self.law else { return };
        self.last_finish = Some(download.completed_at);
        if download.is_abandoned {
            return;
        }
        let is_replacement = self.most_advanced.is_some_and(|most| download.segment <= most);
        self.most_advanced = self.most_advanced.max(Some(download.segment));
        self.last_duration = Some(duration);
        self.current = download.representation;
        let at_request = level + download.completed_at.saturating_since(download.requested_at).as_secs_f64();
        let most = (law.max_level(self.current) - at_request).max(0.0);
        self.placeholder = (self.placeholder * DECAY).min(most);
        if is_replacement {
            self.placeholder += duration;
        }
    }

    pub(super) fn handle_abandonment(&mut self, choice: usize, level: f64) {
        self.current = choice;
        let Some(law) = &self.law else { return };
        let wanted = if choice > 0 { law.min_level(choice) } else { MINIMUM };
        self.placeholder = self.placeholder.min((wanted - level).max(0.0));
    }
}
