//! newCWV: the window of a rate-limited sender is kept, but trusted only as far as it was used.
//!
//! Reference: RFC 7661. pipeACK is the largest volume acknowledged per RTT over the last max(3·RTT, 1 s); the phase is
//! validated while pipeACK ≥ cwnd/2 or pipeACK is undefined (at the start and after a recovery), else non-validated.
//!
//! Differences from the reference:
//! 1. The window after a loss is at least 1 packet, and R counts retransmitted packets (all ours are full segments), each once.
//! 2. Nothing here limits a burst in the non-validated phase (§4.4.2, SHOULD): that is pacing, a choice of its own.
//!
//! Differences from the kernel modules that implement drafts of it, on purpose:
//! 3. Windows are compared in packets, without a division before the maximum.
//! 4. Samples that have expired while the sender was silent leave pipeACK at zero (non-validated), not undefined; as
//!    `newcwv_2013` they leave it undefined, so that after a pause the window counts as validated until the next sample.
//!
//! Units: packets and ns. Tested here with the worked numbers of the RFC's rules.

use super::Use;
use playpath_cc::WindowChange;
use playpath_units::{Duration, Time};

/// The window is reduced after being non-validated for this long (RFC 7661 §4.4.3).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Buckets of the sampling period (§4.2 leaves the number open; its example has five).
const BUCKETS: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct NewCwv {
    /// Largest sample of each fifth of the period: (when the fifth began, packets); a ring.
    buckets: [(Time, u32); BUCKETS],
    newest: usize,
    /// A sample was taken since the start or the last recovery; without one pipeACK is undefined.
    is_defined: bool,
    /// The current RTT's sample ends when this offset is acknowledged.
    mark: u64,
    /// Packets acknowledged in the current sample.
    acked: u32,
    /// No recovery is under way.
    is_sampling: bool,
    validated_at: Time,
    /// Set from a loss in the non-validated phase to the end of its recovery: max(pipeACK, LossFlightSize).
    loss_base: Option<f64>,
    /// Expired samples leave pipeACK undefined.
    forgets: bool,
}

impl NewCwv {
    /// As the authors' kernel module of October 2013 has it.
    pub fn of_2013() -> NewCwv {
        NewCwv { forgets: true, ..NewCwv::default() }
    }

    /// Sampling period (§4.2): max(3·RTT, 1 s).
    fn period(srtt: Duration) -> Duration {
        (srtt * 3).max(Duration::from_secs(1))
    }

    /// pipeACK in packets; `None`: undefined.
    pub fn pipe_ack(&self, now: Time, srtt: Duration) -> Option<u32> {
        if !self.is_defined {
            return None;
        }
        let period = NewCwv::period(srtt);
        let recent = self.buckets.iter().filter(|bucket| now.saturating_since(bucket.0) < period);
        let largest = recent.map(|bucket| bucket.1).max();
        if self.forgets { largest } else { largest.or(Some(0)) }
    }

    /// Whether this is the validated phase (§4.3).
    pub fn is_validated(&self, now: Time, srtt: Duration, cwnd: f64) -> bool {
        self.pipe_ack(now, srtt).is_none_or(|pipe_ack| 2.0 * f64::from(pipe_ack) >= cwnd)
    }

    pub fn on_ack(&mut self, now: Time, srtt: Duration, acked: u32, una: u64, nxt: u64) {
        if !self.is_sampling {
            // The data that this ACK reports as arrived belongs to the flight that ends at `nxt`.
            self.is_sampling = true;
            (self.mark, self.acked) = (nxt, 0);
        }
        self.acked += acked;
        if una >= self.mark {
            self.store(now, NewCwv::period(srtt) / BUCKETS as u64);
            (self.mark, self.acked) = (nxt, 0);
        }
    }

    /// Update the time of the last validation. Returns new windows if the non-validated period is over (§4.4.3), and when it will be.
    pub fn check(&mut self, seen: &Use) -> (Option<WindowChange>, Time) {
        let Use { now, windows, .. } = *seen;
        let is_validated = self.is_validated(now, seen.srtt, windows.cwnd);
        let is_over = !is_validated && now >= self.validated_at + NON_VALIDATED_PERIOD;
        if is_validated || is_over {
            self.validated_at = now; // the period may start again
        }
        let change = is_over.then(|| WindowChange {
            cwnd: (windows.cwnd / 2.0).max(seen.initial_window.min(windows.cwnd)),
            ssthresh: windows.ssthresh.max(windows.cwnd * 0.75),
        });
        (change, self.validated_at + NON_VALIDATED_PERIOD)
    }

    /// A loss episode begins with `flight_size` packets out and the window `cwnd` from before. Returns the window for the
    /// recovery if the phase was non-validated (§4.4.1).
    pub fn on_congestion(&mut self, now: Time, srtt: Duration, flight_size: u32, cwnd: f64) -> Option<WindowChange> {
        let pipe_ack = self.pipe_ack(now, srtt);
        let was_validated = self.is_validated(now, srtt, cwnd);
        self.reset_samples();
        self.loss_base = None;
        if was_validated {
            return None;
        }
        let base = f64::from(flight_size.max(pipe_ack.unwrap_or(0)));
        self.loss_base = Some(base);
        let window = (base / 2.0).max(1.0);
        Some(WindowChange { cwnd: window, ssthresh: window })
    }

    /// The recovery ended after `retransmitted` different packets were retransmitted. Returns the window that replaces the ordinary one
    /// (§4.4.1).
    pub fn on_recovery_exit(&mut self, now: Time, retransmitted: u32) -> Option<WindowChange> {
        self.reset_samples();
        self.validated_at = now;
        let base = self.loss_base.take()?;
        let window = ((base - f64::from(retransmitted)) / 2.0).max(1.0);
        Some(WindowChange { cwnd: window, ssthresh: window })
    }

    /// The retransmission timer expired: the ordinary response; pipeACK is undefined.
    pub fn start_anew(&mut self) {
        self.reset_samples();
        self.loss_base = None;
    }

    fn store(&mut self, now: Time, bucket_length: Duration) {
        if !self.is_defined || now.saturating_since(self.buckets[self.newest].0) >= bucket_length {
            self.newest = (self.newest + 1) % BUCKETS;
            self.buckets[self.newest] = (now, 0);
        }
        let packets = &mut self.buckets[self.newest].1;
        *packets = self.acked.max(*packets);
        self.is_defined = true;
    }

    /// pipeACK is undefined until the first sample after recovery (§4.2).
    fn reset_samples(&mut self) {
        self.buckets = Default::default();
        self.is_defined = false;
        self.is_sampling = false;
    }
}

#[cfg(test)]
mod tests;
