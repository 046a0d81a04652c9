use super::super::testing::{choice, view};
use super::*;

fn sticky(entry: &Entry) -> Sticky {
    let params = Params::defaults(entry.params);
    let rule = match entry.name {
        "gr-sty" => Rule::Greedy,
        "tp-sty" => Rule::Throughput,
        _ => Rule::ThroughputRtt { flip: false },
    };
    Sticky::new(rule, &params)
}

/// (rate in packets/s, srtt in ms) of the path left and the one entered; answers of GR, TP, TR and TR flipped.
#[test]
fn commit_vectors() {
    let vectors = [
        ((100.0, 50), (120.0, 100), [true, true, true, false]),
        ((100.0, 50), (90.0, 100), [true, false, false, false]),
        ((100.0, 100), (120.0, 50), [true, true, false, true]),
        ((100.0, 50), (100.0, 100), [true, false, false, false]),
    ];
    for (left, entered, wanted) in vectors {
        let subflow = |path, (rate, srtt_ms): (f64, u64)| view(path, srtt_ms, rate * srtt_ms as f64 / 1000.0);
        let (left, entered) = (subflow(0, left), subflow(1, entered));
        let rules =
            [Rule::Greedy, Rule::Throughput, Rule::ThroughputRtt { flip: false }, Rule::ThroughputRtt { flip: true }];
        for (rule, wanted) in rules.into_iter().zip(wanted) {
            let scheduler = Sticky { rule, ..sticky(&TP_STY) };
            assert_eq!(scheduler.commits(&left, &entered), wanted, "{rule:?} {left:?} {entered:?}");
        }
    }
}

#[test]
fn greedy_stays_until_congested_then_lowest_rtt_decides() {
    let mut views = [view(0, 50, 10.0), view(1, 100, 10.0), view(2, 200, 10.0)];
    let mut scheduler = sticky(&GR_STY);
    assert_eq!(choice(&mut scheduler, &views), Some(0)); // the first path: as DFT
    views[0].in_flight = 10;
    assert_eq!(choice(&mut scheduler, &views), Some(1)); // switch, committed
    views[0].in_flight = 0;
    assert_eq!(choice(&mut scheduler, &views), Some(1)); // DFT would go back
    views[1].is_recovering = true;
    assert_eq!(choice(&mut scheduler, &views), Some(0)); // fast recovery is congestion
    views[1].is_recovering = false;
    assert_eq!(choice(&mut scheduler, &views), Some(0));
}

/// The same steps under `when_full = "wait"`: a full window is waited for, recovery and timeouts are left.
#[test]
fn a_full_window_may_be_waited_for() {
    let mut views = [view(0, 50, 10.0), view(1, 100, 10.0)];
    let mut scheduler = Sticky { waits: true, ..sticky(&GR_STY) };
    views[0].is_recovering = true;
    assert_eq!(choice(&mut scheduler, &views), Some(1), "uncommitted, lowest RTT outside recovery");
    views[0].is_recovering = false;
    assert_eq!(choice(&mut scheduler, &views), Some(0), "switch, committed");
    views[0].in_flight = 10;
    assert_eq!(choice(&mut scheduler, &views), None);
    views[0].is_loss = true;
    assert_eq!(choice(&mut scheduler, &views), Some(1));
}

#[test]
fn without_commitment_it_is_lowest_rtt() {
    let mut views = [view(0, 50, 10.0), view(1, 100, 10.0)];
    let mut scheduler = sticky(&TP_STY);
    assert_eq!(choice(&mut scheduler, &views), Some(0));
    views[0].in_flight = 10;
    // Rates 200 and 100 packets/s: not worth staying.
    assert_eq!(choice(&mut scheduler, &views), Some(1));
    views[0].in_flight = 0;
    assert_eq!(choice(&mut scheduler, &views), Some(0));
}
