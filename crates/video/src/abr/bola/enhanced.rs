//! Sabre's BOLA-E: the placeholder buffer and the guard around the law.

use super::law::{Law, MINIMUM_LEVEL};
use crate::abr::safety::InsufficientBuffer;
use crate::abr::throughput::ThroughputEstimate;
use crate::abr::{Context, Decision, Download};

/// State of BOLA-E in addition to the law.
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

    /// Keep the buffer from filling beyond the level of the choice: first the placeholder shrinks, then the player waits (at the top rate
    /// there is no limit). Returns the wait in seconds.
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
mod tests;
