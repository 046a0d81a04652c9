use super::super::testing::{choice, view};
use super::*;

#[test]
fn turns_skip_who_has_no_room() {
    let mut views = [view(0, 50, 10.0), view(1, 20, 10.0), view(2, 90, 10.0)];
    let mut scheduler = RoundRobin::default();
    let turns: Vec<_> = (0..4).map(|_| choice(&mut scheduler, &views)).collect();
    assert_eq!(turns, [Some(0), Some(1), Some(2), Some(0)]);
    views[1].in_flight = 10;
    assert_eq!(choice(&mut scheduler, &views), Some(2));
}
