use super::*;

#[test]
fn reductions_and_undo() {
    let mut windows = Windows::new(40.0);
    // Two segments of limited transmit: 42 in flight, 40 allowed.
    assert_eq!(windows.reducible(ReduceFrom::FlightSize, 42), 40.0);
    assert_eq!(windows.reducible(ReduceFrom::FlightSize, 30), 30.0);
    assert_eq!(windows.reducible(ReduceFrom::Cwnd, 30), 40.0);
    windows.reduce_to(20.0, CongestionSignal::Loss);
    assert_eq!((windows.cwnd, windows.ssthresh), (20.0, 20.0));
    assert!(windows.undo());
    assert_eq!((windows.cwnd, windows.ssthresh), (40.0, f64::INFINITY));
    assert!(!windows.undo(), "nothing left to take back");
}

#[test]
fn ecn_goes_down_to_one_packet() {
    let mut windows = Windows::new(2.0);
    windows.reduce_to(1.0, CongestionSignal::Loss);
    assert_eq!((windows.cwnd, windows.ssthresh), (2.0, 2.0));
    windows.reduce_to(1.0, CongestionSignal::Ecn);
    assert_eq!((windows.cwnd, windows.ssthresh), (1.0, 2.0));
}

#[test]
fn a_repeated_timeout_keeps_the_threshold_and_the_memory() {
    let mut windows = Windows::new(40.0);
    windows.collapse(20.0, &Rto { flight_size: 40, reduces: true });
    windows.collapse(1.0, &Rto { flight_size: 40, reduces: false });
    assert_eq!((windows.cwnd, windows.ssthresh), (1.0, 20.0));
    // A further first expiry after some progress: 38 of the old flight are still out, but no more than 20 was believed.
    assert_eq!(windows.reducible_at_rto(ReduceFrom::FlightSize, 38), 20.0);
    windows.undo();
    assert_eq!((windows.cwnd, windows.ssthresh), (40.0, f64::INFINITY));
}
