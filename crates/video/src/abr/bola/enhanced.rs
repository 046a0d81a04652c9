//! Sabre's BOLA-E: the placeholder buffer and the guard around the law.

use super::law::{Law, MINIMUM_LEVEL};
use crate::abr::safety::InsufficientBuffer;
use crate::abr::throughput::ThroughputEstimate;
use crate::abr::{Context, Decision, Download};

/// What BOLA-E keeps beside the law.
pub(super) struct Enhanced {
    guard: InsufficientBuffer,
    is_started: bool,
    /// Seconds of buffer that are pretended: the player could have had them.
    pub(super) placeholder: f64,
    /// Idle time already credited, and the wait that this rule itself asked for.
    idle_seen: f64,
    pub(super) own_wait: f64,
}

impl Enhanced {
    pub(super) fn new() -> Enhanced {
        Enhanced {
            guard: InsufficientBuffer::new(),
            is_started: false,
            placeholder: 0.0,
            idle_seen: 0.0,
            own_wait: 0.0,
        }
    }

    /// The choice, and the seconds to wait first. `osc`: no step up beyond the throughput.
    pub(super) fn choose(
        &mut self,
        context: &Context,
        law: &Law,
        estimate: &ThroughputEstimate,
        last: usize,
        osc: bool,
    ) -> (Decision, f64) {
        // Here the estimate has no safety factor.
        let (Some(throughput), Some(sustained)) = (estimate.bits_per_sec(), estimate.choice(context, 1.0)) else {
            return (Decision::fetch(last, "no estimate yet"), 0.0);
        };
        let level = context.level();
        if !self.is_started {
            self.is_started = true;
            self.placeholder = (law.min_level(context.ladder, sustained) - level).max(0.0);
            return (Decision::fetch(sustained, "start by throughput").with_estimate(throughput), 0.0);
        }
        self.credit_idle(context);
        let (mut choice, mut reason) = (law.best(context.ladder, level + self.placeholder), "best score");
        if choice > last && choice > sustained {
            choice = last.max(sustained) + usize::from(!osc);
            reason = if osc { "step up capped at throughput" } else { "step up capped one above throughput" };
        }
        let wait = self.shrink_to(law, choice, level);
        let limit = self.guard.limit(context, throughput, estimate.latency());
        if limit < choice {
            let most = (law.min_level(context.ladder, limit) - level).max(0.0);
            self.placeholder = self.placeholder.min(most);
            return (Decision::fetch(limit, "insufficient buffer").with_estimate(throughput), 0.0);
        }
        (Decision::fetch(choice, reason).with_estimate(throughput), wait)
    }

    /// Time in which nothing was under way, and not because of this rule, counts as buffer.
    fn credit_idle(&mut self, context: &Context) {
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
        // As the reference counts: the level with the new segment, and the time that it took.
        let level_was = context.level() + download.seconds();
        let choice = download.representation.min(law.count - 1);
        self.placeholder = self.placeholder.min((law.max_level(choice) - level_was).max(0.0));
        // The choice may have been another rule's; this one would have needed that level.
        self.placeholder = self.placeholder.max(law.min_level(context.ladder, choice) - level_was);
    }

    pub(super) fn on_abandonment(&mut self, context: &Context, law: &Law, representation: usize) {
        let wanted = if representation > 0 { law.min_level(context.ladder, representation) } else { MINIMUM_LEVEL };
        self.placeholder = self.placeholder.min((wanted - context.level()).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abr::testing::{context, download, ladder};
    use playpath_units::Duration;

    const KBPS: [u64; 4] = [500, 1000, 2000, 4000];

    fn with_placeholder(placeholder: f64) -> Enhanced {
        Enhanced { is_started: true, placeholder, ..Enhanced::new() }
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-3, "{got}, expected {expected}");
    }

    /// 10 + 3 s idle = 13. A second later, of which the rule asked for 0.4 s: 13 + 1 − 0.4 = 13.6.
    #[test]
    fn the_placeholder_grows_by_idle_time() {
        let ladder = ladder(&KBPS);
        let idle = |seconds: u64| crate::abr::Context {
            idle: Duration::from_secs(seconds),
            ..context(&ladder, 5.0, 30.0, None)
        };
        let mut enhanced = with_placeholder(10.0);
        enhanced.credit_idle(&idle(3));
        near(enhanced.placeholder, 13.0);
        enhanced.own_wait = 0.4;
        enhanced.credit_idle(&idle(4));
        near(enhanced.placeholder, 13.6);
    }

    /// Target 18 s, four rungs: V = 10 · 0.8 / ln 8 = 3.8472, gp = 2.5993 + 1. Rung 1: needed from 11.180 s, at most V · (0.6931 + 3.5993)
    /// = 16.514 s; rung 3 from 16.514 s. After a download of 1 s the level is 9 s: 10 s at the request. Placeholder for rung 1: between
    /// 1.180 and 6.514 s; for rung 3 at least 6.514 s.
    #[test]
    fn after_a_download_the_placeholder_fits_its_rate() {
        let ladder = ladder(&KBPS);
        let law = Law::enhanced(&ladder, 18.0);
        let after = |placeholder: f64, representation: usize| {
            let mut enhanced = with_placeholder(placeholder);
            let at = context(&ladder, 9.0, 30.0, None);
            enhanced.on_download(&at, &law, &Download { representation, ..download(2000, 1.0, 0.1) });
            enhanced.placeholder
        };
        near(after(20.0, 1), 6.514);
        near(after(2.0, 1), 2.0);
        near(after(0.0, 1), 1.180);
        near(after(0.0, 3), 6.514);
    }

    /// Given up for rung 1, which needs 11.180 s, with 5 s in the buffer: at most 6.180 s; for rung 0: 10 − 5 = 5 s.
    #[test]
    fn after_an_abandonment_the_placeholder_is_cautious() {
        let ladder = ladder(&KBPS);
        let law = Law::enhanced(&ladder, 18.0);
        for (representation, expected) in [(1, 6.180), (0, 5.0)] {
            let mut enhanced = with_placeholder(20.0);
            enhanced.on_abandonment(&context(&ladder, 5.0, 30.0, None), &law, representation);
            near(enhanced.placeholder, expected);
        }
    }
}
