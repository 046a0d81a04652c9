use super::*;

/// A window of 10, ssthresh 5: every second delivery sends one packet (RFC 9937: 500 bytes per 1000 delivered).
#[test]
fn halves_the_rate_while_above_ssthresh() {
    let mut prr = Prr::enter(10, 5.0);
    let mut in_flight = 9u32;
    let mut sent = vec![];
    for _ in 0..8 {
        in_flight -= 1;
        prr.on_ack(1, in_flight, false);
        let n = prr.cwnd().saturating_sub(in_flight);
        for _ in 0..n {
            prr.on_packet_sent();
        }
        in_flight += n;
        sent.push(n);
    }
    // ceil(k*5/10) - out: 1, 0, 1, 0, ... and the pipe settles at ssthresh = 5.
    assert_eq!(sent[..6], [1, 0, 1, 0, 1, 0]);
    assert_eq!(in_flight, 5);
}

/// With CUBIC's 0.7 ten deliveries send seven.
#[test]
fn follows_the_ratio_of_cubic() {
    let mut prr = Prr::enter(10, 7.0);
    let mut total = 0;
    for _ in 0..10 {
        prr.on_ack(1, 100, false);
        let n = prr.cwnd() - 100;
        (0..n).for_each(|_| prr.on_packet_sent());
        total += n;
    }
    assert_eq!(total, 7);
}

/// Below ssthresh: conservation, plus one per safe ACK.
#[test]
fn grows_back_by_slow_start_when_safe() {
    let mut prr = Prr::enter(20, 10.0);
    prr.on_ack(1, 2, false);
    assert_eq!(prr.cwnd(), 3); // delivered 1, out 0: one
    prr.on_packet_sent();
    prr.on_ack(1, 2, true);
    assert_eq!(prr.cwnd(), 4); // max(2 - 1, 1) + 1 = 2
}
