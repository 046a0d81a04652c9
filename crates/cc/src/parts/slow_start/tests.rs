use crate::testbed::Script;

#[test]
fn doubles_per_round_trip() {
    let mut script = Script::new("newreno", 10.0);
    script.round();
    assert_eq!(script.cwnd(), 20.0);
    script.round();
    assert_eq!(script.cwnd(), 40.0);
}

#[test]
fn one_ack_adds_at_most_the_limit() {
    // RFC 5681: 1 packet per ACK whatever it acknowledges. RFC 3465: 2. RFC 9406: 8. No limit: all 12.
    for (limit, cwnd) in [(1.0, 11.0), (2.0, 12.0), (8.0, 18.0), (65535.0, 22.0)] {
        let mut script = Script::with("newreno", 10.0, |params| params.set_number("abc_limit", limit));
        script.ack(12);
        assert_eq!(script.cwnd(), cwnd, "L = {limit}");
    }
    let mut paced = Script::with("newreno", 10.0, |params| params.set_flag("paced", true));
    paced.ack(12);
    assert_eq!(paced.cwnd(), 22.0, "a paced sender needs no limit");
}

#[test]
fn stops_at_the_threshold_and_the_rest_counts_in_congestion_avoidance() {
    let mut script = Script::new("newreno", 40.0);
    script.time_out(40); // ssthresh 20, cwnd 1
    while script.cwnd() < 18.0 {
        script.ack(1);
    }
    // 5 packets: 2 lead to the threshold, 3 are left: 20 + 3/20.
    script.ack(5);
    assert_eq!(script.cwnd(), 20.15);
}

#[test]
fn unused_windows_do_not_grow() {
    let mut script = Script::new("newreno", 10.0);
    script.may_grow = false;
    script.round();
    assert_eq!(script.cwnd(), 10.0);
}
