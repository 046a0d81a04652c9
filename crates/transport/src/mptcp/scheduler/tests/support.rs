//! What the tests of these modules share.

use super::*;

/// A usable subflow with room: `cwnd` packets, nothing in flight.
pub fn view(path: usize, srtt_ms: u64, cwnd: f64) -> SubflowView {
    let srtt = Duration::from_millis(srtt_ms);
    SubflowView {
        path,
        is_usable: true,
        is_backup: false,
        is_recovering: false,
        is_loss: false,
        is_ca_open: true,
        srtt,
        rttvar: Duration::ZERO,
        srtt_range: (srtt, srtt),
        cwnd,
        ssthresh: f64::INFINITY,
        in_flight: 0,
        queued: 0,
        buffered_bytes: 0,
        sized_for: 10,
        paced_at: Some(Rate::from_bits_per_sec(1_000_000)),
        delivery_rate: Rate::default(),
        mss: 1400,
        has_segment: false,
    }
}

pub fn context(subflows: &[SubflowView]) -> Context<'_> {
    Context {
        now: Time::from_secs(1),
        subflows,
        offset: 0,
        segment_bytes: 1400,
        is_reinjection: false,
        unscheduled_bytes: 1 << 20,
        window_left: 1 << 20,
        send_window: 1 << 20,
    }
}

pub fn choice(scheduler: &mut dyn Scheduler, subflows: &[SubflowView]) -> Option<usize> {
    scheduler.select(&context(subflows)).path
}
