//! BOLA-E: the placeholder buffer and the guards around the law.

use super::law::{Law, MINIMUM_LEVEL};
use super::wait_for;
use crate::abr::safety::{Flavour, InsufficientBuffer, SAFETY};
use crate::abr::throughput::ThroughputEstimate;
use crate::abr::{Context, Decision, Download, PlayState};

/// dash.js PLACEHOLDER_BUFFER_DECAY, per decision.
const PLACEHOLDER_DECAY: f64 = 0.99;

/// What BOLA-E keeps beside the law.
pub(super) struct Enhanced {
    flavour: Flavour,
    guard: InsufficientBuffer,
    is_started: bool,
    /// Seconds of buffer that are pretended: the player could have had them.
    pub(super) placeholder: f64,
    /// Idle time already credited, and the wait that this rule itself asked for.
    idle_seen: f64,
    own_wait: f64,
}

impl Enhanced {
    pub(super) fn new(flavour: Flavour) -> Enhanced {
        Enhanced {
            flavour,
            guard: InsufficientBuffer::new(flavour),
            is_started: false,
            placeholder: 0.0,
            idle_seen: 0.0,
            own_wait: 0.0,
        }
    }

    pub(super) fn choose(
        &mut self,
        context: &Context,
        law: &Law,
        estimate: &ThroughputEstimate,
        last: usize,
    ) -> Decision {
        let (Some(throughput), Some(sustained)) = (estimate.bits_per_sec(), estimate.choice(context, SAFETY)) else {
            return Decision::fetch(0, "no estimate yet");
        };
        let level = context.buffer_level.as_secs_f64();
        if !self.is_started {
            self.is_started = true;
            self.placeholder = (law.min_level(context.ladder, sustained) - level).max(0.0);
            return Decision::fetch(sustained, "start by throughput").with_estimate(throughput);
        }
        self.credit_idle(context);
        let (mut choice, mut reason) = (law.best(context.ladder, level + self.placeholder), "best score");
        if choice > last && choice > sustained {
            choice = last.max(sustained);
            reason = "step up capped at throughput";
            if self.flavour == Flavour::Sabre {
                choice = (choice + 1).min(law.count - 1);
                reason = "step up capped one above throughput";
            }
        }
        let wait = self.shrink_to(law, choice, level);
        let limit = self.guard.limit(context, throughput, estimate.latency());
        if limit < choice {
            let most = (law.min_level(context.ladder, limit) - level).max(0.0);
            self.placeholder = self.placeholder.min(most);
            return Decision::fetch(limit, "insufficient buffer").with_estimate(throughput);
        }
        match wait_for(context, wait, "buffer above the level of this rate") {
            Some(decision) => {
                self.own_wait = wait;
                decision.with_estimate(throughput)
            }
            None => Decision::fetch(choice, reason).with_estimate(throughput),
        }
    }

    /// Time in which nothing was under way, and not because of this rule, counts as buffer.
    fn credit_idle(&mut self, context: &Context) {
        if self.flavour == Flavour::DashJs {
            self.placeholder *= PLACEHOLDER_DECAY;
            if context.state == PlayState::Stalled {
                self.placeholder = 0.0;
            }
        }
        let idle = context.idle.as_secs_f64();
        self.placeholder += (idle - self.idle_seen - self.own_wait).max(0.0);
        self.idle_seen = idle;
        self.own_wait = 0.0;
    }

    /// The buffer is not filled beyond the level of the choice: first the placeholder shrinks, then the player waits (at the
    /// top rate it fills as far as it likes). The wait in seconds.
    fn shrink_to(&mut self, law: &Law, choice: usize, level: f64) -> f64 {
        let excess = level + self.placeholder - law.max_level(choice);
        let wait = (excess - self.placeholder).max(0.0);
        self.placeholder = (self.placeholder - excess.max(0.0)).max(0.0);
        if choice == law.count - 1 { 0.0 } else { wait }
    }

    pub(super) fn on_download(&mut self, context: &Context, law: &Law, download: &Download) {
        self.idle_seen = 0.0;
        self.own_wait = 0.0;
        if download.is_abandoned {
            return;
        }
        let level_was = download.level_at_request.as_secs_f64();
        let choice = download.representation.min(law.count - 1);
        self.placeholder = self.placeholder.min((law.max_level(choice) - level_was).max(0.0));
        if context.state != PlayState::Stalled {
            // The choice may have been another rule's; this one would have needed that level.
            self.placeholder = self.placeholder.max(law.min_level(context.ladder, choice) - level_was);
        }
    }

    pub(super) fn on_abandonment(&mut self, context: &Context, law: &Law, representation: usize) {
        let wanted = if representation > 0 { law.min_level(context.ladder, representation) } else { MINIMUM_LEVEL };
        self.placeholder = self.placeholder.min((wanted - context.buffer_level.as_secs_f64()).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abr::testing::{context, download, ladder};
    use playpath_units::Duration;

    const KBPS: [u64; 4] = [500, 1000, 2000, 4000];

    fn with_placeholder(placeholder: f64) -> Enhanced {
        Enhanced { is_started: true, placeholder, ..Enhanced::new(Flavour::DashJs) }
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-3, "{got}, expected {expected}");
    }

    /// 10 · 0.99 + 3 s idle = 12.9. A second later, of which the rule asked for 0.4 s: 12.9 · 0.99 + 1 − 0.4 = 13.371.
    /// In a stall nothing is pretended but what was idle since: 0.
    #[test]
    fn the_placeholder_decays_and_grows_by_idle_time() {
        let ladder = ladder(&KBPS);
        let idle = |seconds: u64| crate::abr::Context {
            idle: Duration::from_secs(seconds),
            ..context(&ladder, 5.0, 30.0, None)
        };
        let mut enhanced = with_placeholder(10.0);
        enhanced.credit_idle(&idle(3));
        near(enhanced.placeholder, 12.9);
        enhanced.own_wait = 0.4;
        enhanced.credit_idle(&idle(4));
        near(enhanced.placeholder, 13.371);
        enhanced.credit_idle(&crate::abr::Context { state: PlayState::Stalled, ..idle(4) });
        near(enhanced.placeholder, 0.0);
    }

    /// Target 18 s, four rungs: V = 3.8472, gp = 2.5993. Rung 1: needed from 7.333 s, at most 12.667 s. Asked for at 10 s of buffer
    /// (as `download` says): the placeholder ends up between 0 (10 s are enough) and 2.667 s. Rung 3 needs 12.667 s: at least 2.667 s,
    /// but not when stalled.
    #[test]
    fn after_a_download_the_placeholder_fits_its_rate() {
        let ladder = ladder(&KBPS);
        let law = Law::enhanced(&ladder, 18.0);
        let after = |placeholder: f64, representation: usize, state: PlayState| {
            let mut enhanced = with_placeholder(placeholder);
            let at = crate::abr::Context { state, ..context(&ladder, 9.0, 30.0, None) };
            enhanced.on_download(&at, &law, &Download { representation, ..download(2000, 1.0, 0.1) });
            enhanced.placeholder
        };
        near(after(20.0, 1, PlayState::Playing), 2.667);
        near(after(1.0, 1, PlayState::Playing), 1.0);
        near(after(0.0, 3, PlayState::Playing), 2.667);
        near(after(0.0, 3, PlayState::Stalled), 0.0);
    }

    /// Given up for rung 1, which needs 7.333 s, with 5 s in the buffer: at most 2.333 s; for rung 0: 10 − 5 = 5 s.
    #[test]
    fn after_an_abandonment_the_placeholder_is_cautious() {
        let ladder = ladder(&KBPS);
        let law = Law::enhanced(&ladder, 18.0);
        for (representation, expected) in [(1, 2.333), (0, 5.0)] {
            let mut enhanced = with_placeholder(20.0);
            enhanced.on_abandonment(&context(&ladder, 5.0, 30.0, None), &law, representation);
            near(enhanced.placeholder, expected);
        }
    }
}
