use super::super::testing::{choice, context, view};
use super::*;

fn dft() -> Dft {
    Dft::new(&Params::defaults(ENTRY.params))
}

#[test]
fn lowest_rtt_with_room() {
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0), view(2, 20, 10.0)];
    assert_eq!(choice(&mut dft(), &views), Some(1));
    views[1].in_flight = 10;
    assert_eq!(choice(&mut dft(), &views), Some(2));
    views[2].is_loss = true;
    assert_eq!(choice(&mut dft(), &views), Some(0));
    views[0].queued = 10;
    assert_eq!(choice(&mut dft(), &views), None);
}

#[test]
fn backups_only_when_nothing_else_works() {
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
    views[1].is_backup = true;
    views[0].in_flight = 10;
    assert_eq!(choice(&mut dft(), &views), None, "a busy active path is waited for");
    views[0].is_usable = false;
    assert_eq!(choice(&mut dft(), &views), Some(1));
}

#[test]
fn fast_recovery_excludes_only_under_state_driven() {
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
    views[1].is_recovering = true;
    assert_eq!(choice(&mut dft(), &views), Some(1));
    let mut params = Params::defaults(ENTRY.params);
    params.set_flag("state_driven", true).unwrap();
    assert_eq!(choice(&mut Dft::new(&params), &views), Some(0));
    views[0].in_flight = 10;
    assert_eq!(choice(&mut Dft::new(&params), &views), Some(1));
}

#[test]
fn reinjections_prefer_paths_that_have_not_carried_the_segment() {
    let mut views = [view(0, 20, 10.0), view(1, 50, 10.0), view(2, 90, 10.0)];
    views[0].has_segment = true;
    assert_eq!(choice(&mut dft(), &views), Some(1));
    views[1].in_flight = 10;
    assert_eq!(choice(&mut dft(), &views), Some(2));
    // All others are gone: a backup without it, then whoever works.
    (views[1].is_usable, views[2].is_backup) = (false, true);
    assert_eq!(choice(&mut dft(), &views), Some(2));
    views[2].is_usable = false;
    assert_eq!(choice(&mut dft(), &views), Some(0));
}

/// Head on a path of 200 ms; ours has 40 ms: 4·40 < 200, so it is sent again, and the slow path is halved once per 40 ms.
#[test]
fn relief_of_a_full_window() {
    let mut views = [view(0, 40, 10.0), view(1, 200, 20.0)];
    views[1].has_segment = true;
    let mut scheduler = dft();
    let full = Blockage::ReceiveWindow;
    let relief = scheduler.relieve(&context(&views), full).unwrap();
    assert_eq!(relief, Relief { retransmit_on: Some(0), penalised: 0b10, tried: None });
    assert_eq!(scheduler.relieve(&context(&views), full).unwrap().penalised, 0);
    // 4·50 = 200: not faster enough; but a window of four packets is reason enough.
    let mut views = [view(0, 50, 10.0), view(1, 200, 20.0)];
    views[1].has_segment = true;
    assert_eq!(dft().relieve(&context(&views), full).unwrap().retransmit_on, None);
    views[1].cwnd = 4.0;
    assert_eq!(dft().relieve(&context(&views), full).unwrap().retransmit_on, Some(0));
}

/// A full send buffer penalises, one that is nearly full only sends again.
#[test]
fn relief_of_a_full_send_buffer() {
    let mut views = [view(0, 40, 10.0), view(1, 200, 20.0)];
    views[1].has_segment = true;
    for (is_full, penalised) in [(false, 0), (true, 0b10)] {
        let relief = dft().relieve(&context(&views), Blockage::SendBuffer { is_full }).unwrap();
        assert_eq!(relief, Relief { retransmit_on: Some(0), penalised, tried: None });
    }
}

/// Paths of 40, 60, 200 and 300 ms. The last two hold the segment: only the first of them is halved, and only while it deals with
/// no loss or reordering. Each faster path counts its own round trip.
#[test]
fn the_first_holder_is_penalised_once_for_each_faster_path() {
    let mut views = [view(0, 40, 10.0), view(1, 60, 10.0), view(2, 200, 20.0), view(3, 300, 20.0)];
    (views[2].has_segment, views[3].has_segment) = (true, true);
    let mut scheduler = dft();
    let mut penalised =
        |views: &[SubflowView]| scheduler.relieve(&context(views), Blockage::ReceiveWindow).map_or(0, |r| r.penalised);
    assert_eq!(penalised(&views), 0b100);
    assert_eq!(penalised(&views), 0, "within a round trip of path 0");
    views[0].in_flight = 10;
    assert_eq!(penalised(&views), 0b100, "path 1 is the fast one now, and counts for itself");
    views[2].is_ca_open = false;
    let mut fresh = dft();
    assert_eq!(fresh.relieve(&context(&views), Blockage::ReceiveWindow).map_or(0, |r| r.penalised), 0);
}

/// 40 ms against 200 and 150: 4·40 = 160 is less than the one and more than the other, so it is not worth it. A hopeless first
/// holder decides alone.
#[test]
fn every_holder_must_be_slow_enough() {
    let fast = view(0, 40, 10.0);
    let holders = [view(1, 200, 20.0), view(2, 150, 20.0)];
    assert!(!is_worth(&fast, holders.iter()));
    assert!(is_worth(&fast, holders[..1].iter()));
    assert!(is_worth(&fast, [view(1, 200, 4.0), holders[1]].iter()));
    assert!(!is_worth(&fast, [].iter()), "nobody else holds it");
}

#[test]
fn when_full_it_may_wait() {
    let mut params = Params::defaults(ENTRY.params);
    params.set_word("when_full", "wait").unwrap();
    let mut scheduler = Dft::new(&params);
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0)];
    assert_eq!(choice(&mut scheduler, &views), Some(1));
    views[1].in_flight = 10;
    assert_eq!(choice(&mut scheduler, &views), None);
    views[1].is_loss = true;
    assert_eq!(choice(&mut scheduler, &views), Some(0), "a path that a timeout has stopped is not waited for");
}
