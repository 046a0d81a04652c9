//! Delays of frames: percentiles by the nearest rank, shares over a limit.

use crate::measurements::Flow;
use crate::record::FrameRecord;
use playpath_units::Duration;

/// Delays in order, of one source or of several together; never empty.
#[derive(Clone, Debug)]
pub struct FrameDelays(Vec<Duration>);

impl FrameDelays {
    /// `None` where no frame was taken.
    pub fn of<'f>(flows: impl Iterator<Item = &'f Flow>) -> Option<FrameDelays> {
        let mut delays: Vec<Duration> = flows.flat_map(|flow| flow.frame_delays.iter().copied()).collect();
        delays.sort_unstable();
        (!delays.is_empty()).then_some(FrameDelays(delays))
    }

    /// The least delay that so many thousandths of the frames do not exceed.
    pub fn percentile_ms(&self, thousandths: usize) -> f64 {
        let rank = (self.0.len() * thousandths).div_ceil(1000).max(1);
        self.0[rank - 1].as_millis_f64()
    }

    /// Share of the frames that took longer.
    pub fn share_over(&self, limit: Duration) -> f64 {
        let within = self.0.partition_point(|delay| *delay <= limit);
        1.0 - within as f64 / self.0.len() as f64
    }

    pub(crate) fn record(&self) -> FrameRecord {
        FrameRecord {
            count: self.0.len() as u64,
            p50_ms: self.percentile_ms(500),
            p99_ms: self.percentile_ms(990),
            p999_ms: self.percentile_ms(999),
            over_50ms: self.share_over(Duration::from_millis(50)),
            over_100ms: self.share_over(Duration::from_millis(100)),
        }
    }
}

#[cfg(test)]
mod tests;
