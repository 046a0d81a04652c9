use super::*;

/// Drawn whole, a round trip is the path's where that is longer; drawn as an extra, it comes on top.
#[test]
fn a_whole_round_trip_is_never_below_the_paths() {
    let ms = Duration::from_millis;
    let beyond = [FlowRtt::Whole(ms(440)), FlowRtt::Whole(ms(20)), FlowRtt::Extra(ms(20))].map(|r| r.beyond(ms(50)));
    assert_eq!(beyond, [ms(390), ms(0), ms(20)]);
}
