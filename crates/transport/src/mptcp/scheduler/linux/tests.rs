use super::super::testing::{choice, view};
use super::*;

fn linux() -> Linux {
    Linux::new(&Params::defaults(ENTRY.params))
}

/// What a question at this place in the stream and time is answered: the path, and for how many bytes.
fn decide(scheduler: &mut Linux, views: &[SubflowView], offset: u64, now: Time) -> (Option<usize>, u64) {
    let decision = scheduler.select(&Context { offset, now, ..super::super::testing::context(views) });
    (decision.path, decision.bytes)
}

#[test]
fn least_linger_time_in_bursts_of_whole_fragments() {
    // 28 000 bytes at 2 Mbit/s: 112 ms; 14 000 at 500 kbit/s: 224 ms.
    let mut views = [view(0, 50, 100.0), view(1, 20, 100.0)];
    (views[0].buffered_bytes, views[0].paced_at) = (28_000, Some(Rate::from_bits_per_sec(2_000_000)));
    (views[1].buffered_bytes, views[1].paced_at) = (14_000, Some(Rate::from_bits_per_sec(500_000)));
    let mut scheduler = linux();
    let now = Time::from_secs(1);
    assert_eq!(decide(&mut scheduler, &views, 0, now), (Some(0), 32_728));
    // The burst goes on although the other would be better now: 65 428 bytes are not yet two fragments.
    views[1].buffered_bytes = 0;
    assert_eq!(decide(&mut scheduler, &views, 32_728, now), (Some(0), 32_728));
    assert_eq!(decide(&mut scheduler, &views, 65_456, now), (Some(1), 32_728));
    // Up to the end of the fragment.
    assert_eq!(decide(&mut scheduler, &views, 65_456 + 1400, now), (Some(1), 31_328));
}

/// `mptcp_subflow_get_send` asks for nothing of the push before.
#[test]
fn a_burst_ends_with_its_push() {
    let mut views = [view(0, 50, 100.0), view(1, 20, 100.0)];
    let mut scheduler = linux();
    assert_eq!(decide(&mut scheduler, &views, 0, Time::from_secs(1)).0, Some(0));
    views[0].buffered_bytes = 1400;
    assert_eq!(decide(&mut scheduler, &views, 1400, Time::from_secs(2)).0, Some(1));
}

#[test]
fn what_the_peers_window_keeps_back_is_tried_once() {
    let views = [view(0, 50, 100.0), view(1, 20, 100.0)];
    let blocked = |window_left| Context { window_left, ..super::super::testing::context(&views) };
    let mut scheduler = linux();
    let tried = |found: Option<Relief>| found.and_then(|relief| relief.tried);
    assert_eq!(tried(scheduler.relieve(&blocked(0), Blockage::ReceiveWindow)), Some(0));
    assert_eq!(tried(scheduler.relieve(&blocked(0), Blockage::ReceiveWindow)), None);
    assert_eq!(tried(scheduler.relieve(&blocked(100), Blockage::ReceiveWindow)), Some(0), "the window has moved");
    assert_eq!(tried(scheduler.relieve(&blocked(0), Blockage::SendBuffer { is_full: true })), None);
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
    scheduler.begin_burst(&subflow, 1000, Time::ZERO);
    (subflow.buffered_bytes, subflow.paced_at) = (3000, Some(Rate::from_bits_per_sec(5_000_000)));
    scheduler.begin_burst(&subflow, 1000, Time::ZERO);
    // (1 Mbit/s * 3000 + 5 Mbit/s * 1000) / 4000
    assert_eq!(scheduler.average(&subflow).as_bits_per_sec(), 2_000_000);
}

#[test]
fn an_idle_subflow_is_given_a_data_fragment_again() {
    // 32 728 / 1400 = 23.4: 23 segments at once; the rest when all of them are acknowledged.
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
