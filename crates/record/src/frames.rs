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
mod tests {
    use super::*;

    /// 1 to 200 ms, one frame each, from two sources: half within 100 ms, 99 % within the 198th, 99.9 % (199.8 of 200) within the
    /// 200th; 150 and 100 of 200 are above 50 and 100 ms.
    #[test]
    fn nearest_rank_over_all_sources() {
        let source = |from: u64| Flow {
            frame_delays: (0..100).map(|i| Duration::from_millis(from - 2 * i)).collect(),
            ..Flow::default()
        };
        let told = FrameDelays::of([source(200), source(199)].iter()).expect("there are frames").record();
        assert_eq!((told.count, told.p50_ms, told.p99_ms, told.p999_ms), (200, 100.0, 198.0, 200.0));
        assert_eq!((told.over_50ms, told.over_100ms), (0.75, 0.5));
        assert!(FrameDelays::of([Flow::default()].iter()).is_none());
    }
}
