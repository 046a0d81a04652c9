use super::super::testing::{choice, context, view};
use super::*;

fn sttf() -> Sttf {
    Sttf::new(&Params::defaults(ENTRY.params))
}

fn full(path: usize, srtt_ms: u64, ssthresh: f64) -> SubflowView {
    SubflowView { in_flight: 10, ssthresh, ..view(path, srtt_ms, 10.0) }
}

/// A full window of 10 at 20 ms, beside 100 ms: a packet on the slow path takes 50 ms. The fast path brings what leaves within 40 ms,
/// that is two round trips: 11 + 12 = 23 in congestion avoidance, 20 + 40 = 60 in slow start, 15 + 16 = 31 with a threshold of 15.
#[test]
fn what_a_full_path_brings_meanwhile() {
    let within = Duration::from_millis(50);
    assert_eq!(brought_by(&full(0, 20, 10.0), within), 23.0);
    assert_eq!(brought_by(&full(0, 20, f64::INFINITY), within), 60.0);
    assert_eq!(brought_by(&full(0, 20, 15.0), within), 31.0);
    // At 40 ms a round trip and a half are 60 ms: too late.
    assert_eq!(brought_by(&full(0, 40, 10.0), within), 0.0);
    // Five packets are queued, too.
    assert_eq!(brought_by(&SubflowView { queued: 5, ..full(0, 20, 10.0) }, within), 18.0);
}

/// 23 packets come sooner by the fast path, the 24th by the slow one; with room, the fast path takes all.
#[test]
fn the_slow_path_takes_what_the_fast_one_cannot_bring_in_time() {
    let mut views = [full(0, 20, 10.0), view(1, 100, 10.0)];
    for (packets, wanted) in [(23, None), (24, Some(1))] {
        let question = Context { unscheduled_bytes: packets * 1400, ..context(&views) };
        assert_eq!(sttf().select(&question).path, wanted, "{packets}");
    }
    views[0].in_flight = 9;
    assert_eq!(choice(&mut sttf(), &views), Some(0));
}

/// Nobody waits for a path after a timeout, for a backup, or with data that is sent again.
#[test]
fn only_working_paths_are_waited_for() {
    let views = [full(0, 20, 10.0), view(1, 100, 10.0)];
    fn few(views: &[SubflowView]) -> Context<'_> {
        Context { unscheduled_bytes: 1400, ..context(views) }
    }
    assert_eq!(sttf().select(&few(&views)).path, None);
    assert_eq!(sttf().select(&Context { is_reinjection: true, ..few(&views) }).path, Some(1));
    for stopped in [SubflowView { is_loss: true, ..views[0] }, SubflowView { is_backup: true, ..views[0] }] {
        let views = [stopped, views[1]];
        assert_eq!(sttf().select(&few(&views)).path, Some(1));
    }
}
