use super::super::testing::{choice, view};
use super::*;

fn linux() -> Linux {
    Linux::new(&Params::defaults(ENTRY.params))
}

#[test]
fn least_linger_time_in_bursts() {
    // 28 000 bytes at 2 Mbit/s: 112 ms; 14 000 at 500 kbit/s: 224 ms.
    let mut views = [view(0, 50, 100.0), view(1, 20, 100.0)];
    (views[0].buffered_bytes, views[0].paced_at) = (28_000, Some(Rate::from_bits_per_sec(2_000_000)));
    (views[1].buffered_bytes, views[1].paced_at) = (14_000, Some(Rate::from_bits_per_sec(500_000)));
    let mut scheduler = linux();
    assert_eq!(choice(&mut scheduler, &views), Some(0));
    // The burst goes on although the other would be better now: 65 216 / 1400 = 46.6, so 47 segments in all.
    views[1].buffered_bytes = 0;
    for _ in 1..47 {
        assert_eq!(choice(&mut scheduler, &views), Some(0));
    }
    assert_eq!(choice(&mut scheduler, &views), Some(1));
}

#[test]
fn a_full_buffer_stops_everything() {
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
    // Sized for ten packets: 2 · 10 · 4352 = 87 040. 83 456 bytes beside the heads of four buffers, 3584, fill it to the byte.
    (views[0].buffered_bytes, views[0].in_flight, views[0].queued) = (83_456, 6, 1);
    (views[1].buffered_bytes, views[1].paced_at) = (14_000, Some(Rate::from_bits_per_sec(1)));
    // Linger of the first is smaller, but its buffer is full.
    assert_eq!(choice(&mut linux(), &views), None);
    views[0].buffered_bytes -= 1;
    assert_eq!(choice(&mut linux(), &views), Some(0));
    // Once sized for more it stays so, whatever the window.
    (views[0].sized_for, views[0].cwnd, views[0].buffered_bytes) = (11, 2.0, 83_456);
    assert_eq!(choice(&mut linux(), &views), Some(0));
}

#[test]
fn the_average_is_weighted_by_bytes() {
    let mut scheduler = linux();
    let mut subflow = view(0, 50, 100.0);
    scheduler.begin_burst(&subflow, 1000);
    (subflow.buffered_bytes, subflow.paced_at) = (3000, Some(Rate::from_bits_per_sec(5_000_000)));
    scheduler.begin_burst(&subflow, 1000);
    // (1 Mbit/s * 3000 + 5 Mbit/s * 1000) / 4000
    assert_eq!(scheduler.average(&subflow).as_bits_per_sec(), 2_000_000);
}

#[test]
fn an_idle_subflow_is_given_a_data_fragment_again() {
    // 32 768 / 1400 = 23.4: 23 segments at once; the rest when all of them are acknowledged.
    let mut views = [view(0, 50, 100.0), view(1, 20, 100.0)];
    views[0].is_usable = false;
    let mut scheduler = linux();
    let mut again = |views: &[SubflowView]| {
        scheduler.select(&Context { is_reinjection: true, ..super::super::testing::context(views) }).path
    };
    for sent in 0..23 {
        views[1].buffered_bytes = 1400 * sent;
        assert_eq!(again(&views), Some(1), "segment {sent}");
    }
    views[1].buffered_bytes = 1400 * 23;
    assert_eq!(again(&views), None);
    views[1].buffered_bytes = 1400;
    assert_eq!(again(&views), None);
    views[1].buffered_bytes = 0;
    assert_eq!(again(&views), Some(1));
}

/// `mptcp_subflow_get_send` and `mptcp_subflow_get_retrans` go through the subflows in the order in which they joined, and keep the first
/// of equals: idle ones have equal linger times.
#[test]
fn of_idle_subflows_the_first_is_used() {
    let mut views = [view(0, 200, 100.0), view(1, 20, 100.0)];
    assert_eq!(choice(&mut linux(), &views), Some(0));
    let again = Context { is_reinjection: true, ..super::super::testing::context(&views) };
    assert_eq!(linux().select(&again).path, Some(0));
    views[0].is_backup = true;
    assert_eq!(choice(&mut linux(), &views), Some(1));
}
