use super::*;
use crate::log::Socket;

fn transfer(first_byte_s: Option<f64>, min_rtt_s: Option<f64>) -> Transfer {
    let socket = Some(Socket { min_rtt_s, ..Socket::default() });
    Transfer { at_s: 0.0, took_s: 0.5, bytes: 1e5, first_byte_s, again: None, socket }
}

/// A session that is likeliest at a round trip of 40 ms, by 2 % of it; the server's time plays no part.
fn peak(rtt: f64, server_times: &[f64]) -> Vec<(Noise, f64)> {
    let z = libm::log(rtt / 0.04) / 0.02;
    let noise = |server_time_s| Noise { absolute_s: 0.003, relative: 0.01, pauses: 0.0, server_time_s };
    server_times.iter().map(|&server_time_s| (noise(server_time_s), -0.5 * z * z)).collect()
}

#[test]
fn a_socket_tells_the_round_trip_and_a_first_byte_its_sum_with_the_server() {
    // A packet of 12 kbit takes 1 ms at 12 Mbit/s.
    let by = |transfer| KnownRtt::from_log(&[transfer], 12e3, 12e6);
    let is_about = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(
        matches!(by(transfer(Some(0.06), Some(0.05))), KnownRtt::Rtt(rtt, Some(think)) if rtt == 0.05 && is_about(think, 0.009_35))
    );
    assert!(matches!(by(transfer(None, Some(0.05))), KnownRtt::Rtt(rtt, None) if rtt == 0.05));
    assert!(
        matches!(by(transfer(Some(0.06), None)), KnownRtt::Sum(sum, longer) if is_about(sum, 0.059) && is_about(longer, 0.0007))
    );
    assert!(matches!(by(transfer(None, None)), KnownRtt::Below(most) if most < 0.5));
}

#[test]
fn a_smoothed_round_trip_is_no_more_than_a_bound() {
    let mut one = transfer(None, None);
    one.socket = Some(Socket { rtt_s: Some(0.2), ..Socket::default() });
    assert!(matches!(KnownRtt::from_log(&[one], 12e3, 12e6), KnownRtt::Below(most) if most == 0.2));
}

/// The server's times are about even in the logarithm: as likely from 1 to 3 ms as from 27 to 55, however wide the cells of the grid are.
#[test]
fn what_is_believed_of_the_servers_time_does_not_depend_on_the_grid() {
    let mut flat = |_: f64, server_times: &[f64]| peak(0.04, server_times);
    let shares = |points: &[Point]| -> Vec<f64> {
        let all: Vec<f64> = points.iter().map(|point| libm::exp(point.believed() - of_access(point.rtt))).collect();
        let sum: f64 = all.iter().zip(points).map(|(mass, point)| mass * point.rtt).sum();
        all.iter().zip(points).map(|(mass, point)| mass * point.rtt / sum).collect()
    };
    let points = KnownRtt::Sum(0.2, 0.0).points(None, false, &mut flat);
    let last = points.last().expect("some");
    // Of ln(66) that the server's times span, the last cell has what it spans itself.
    let expected = libm::log((0.2 - last.from + 0.001) / 0.001) / libm::log(66.0 + 1.0);
    assert!((shares(&points).last().expect("some") - expected).abs() < 0.03, "{:?} {expected}", shares(&points));
}

#[test]
fn where_nothing_tells_the_round_trip_the_servers_times_that_are_looked_at_stand_for_those_around_them() {
    let looked = KnownRtt::Below(0.5).server_times(0.05);
    assert_eq!(looked, [0.001, 0.0045, 0.017, 0.065]);
}

#[test]
fn points_are_close_where_the_session_is_likely_and_stand_for_all_between_them() {
    for known in [KnownRtt::Below(0.5), KnownRtt::Sum(0.06, 0.06)] {
        let points = known.points(None, false, &mut peak);
        let best = likeliest(&points);
        assert!((best.rtt / 0.04 - 1.0).abs() < 0.02, "{}", best.rtt);
        assert!(best.to / best.from < 1.06, "{} to {}", best.from, best.to);
        assert!(points.windows(2).all(|two| two[0].to == two[1].from && two[0].rtt < two[1].rtt));
        let few = known.points(Some(0.04), true, &mut peak);
        assert!(few.len() < points.len() && few.iter().any(|point| point.rtt == 0.04));
    }
}

#[test]
fn a_first_byte_leaves_one_time_of_the_server_for_each_round_trip() {
    for point in KnownRtt::Sum(0.06, 0.06).points(None, false, &mut peak) {
        let [(noise, _)] = point.weighed[..] else { panic!("one time") };
        assert!((point.rtt + noise.server_time_s - 0.06).abs() < 1e-12);
    }
}

/// A server that thinks for 27 of 44 ms: where packets are played, every third of the server's times is looked at first, of which 11 and 42 ms
/// leave round trips of 33 and 2 ms. A session that is likeliest at 17 ms is found all the same, by 25 % of it.
#[test]
fn a_short_round_trip_behind_a_slow_server_is_looked_for() {
    let mut flat = |rtt: f64, server_times: &[f64]| {
        let z = (libm::log(rtt / 0.017) / 0.25).abs().min(4.0);
        peak(rtt, server_times).into_iter().map(|(noise, _)| (noise, -0.5 * z * z)).collect::<Vec<_>>()
    };
    let points = KnownRtt::Sum(0.044, 0.044).points(None, true, &mut flat);
    assert!(points.windows(2).all(|two| two[1].rtt <= APART_PACKETS * two[0].rtt * (1.0 + 1e-9)));
    let found = points.iter().map(|point| libm::log(point.rtt / 0.017).abs()).fold(f64::INFINITY, f64::min);
    assert!(found < 0.1, "{:?}", points.iter().map(|point| point.rtt).collect::<Vec<_>>());
    // Where the server can have no large share of it, nothing is put in between.
    let mut near = vec![0.434, 0.458, 0.489, 0.5];
    fill(&mut near, APART_PACKETS);
    assert_eq!(near, [0.434, 0.458, 0.489, 0.5]);
    assert!(KnownRtt::Sum(0.5, 0.5).points(None, true, &mut flat).len() <= MAX_PACKETS);
}
