use super::*;

/// Log likelihood ratio of a neighbour in a queue of 100 ms against none.
fn factor(late: &[f64]) -> f64 {
    evidence(late, Some(0.1)) - evidence(late, None)
}

#[test]
fn first_bytes_in_time_speak_against_a_neighbour_and_one_late_one_does_not_change_that() {
    assert!(factor(&[0.0; 20]) < -10.0);
    let mut late = [0.0; 20];
    late[7] = 0.08;
    assert!(factor(&late) < -10.0);
}

#[test]
fn first_bytes_that_are_anywhere_in_the_queue_leave_both_readings_or_a_neighbour() {
    let late: Vec<f64> = (0..20).map(|i| if i % 4 == 0 { 0.0 } else { 0.005 * f64::from(i) }).collect();
    assert!(factor(&late) > -1.0, "{}", factor(&late));
}

#[test]
fn first_bytes_later_than_the_queue_is_long_are_the_servers_and_say_nothing_of_a_neighbour() {
    let late: Vec<f64> = (0..20).map(|i| 0.2 + 0.03 * f64::from(i)).collect();
    assert!(factor(&late).abs() < 0.5, "{}", factor(&late));
}

/// A server that takes 5 ms on average before each first byte, not always the same: what a queue of 100 ms holds would spread farther.
#[test]
fn first_bytes_that_are_always_a_little_late_are_the_servers() {
    let late: Vec<f64> = (0..20).map(|i| -0.005 * libm::log(1.0 - (f64::from(i) + 0.5) / 20.0)).collect();
    assert!(factor(&late) < -5.0, "{}", factor(&late));
}
