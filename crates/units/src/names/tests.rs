use super::*;

/// kitten, sitting: two substitutions and an insertion.
#[test]
fn the_nearest_name_is_offered_if_it_is_near() {
    assert_eq!((nearest("kitten", ["sitting"]), nearest("CUBIC", ["cubic"])), (Some("sitting"), Some("cubic")));
    let names = ["cubic", "reno", "cubic"];
    assert_eq!(unknown("cc", "cubik", names), "unknown cc \"cubik\"; did you mean \"cubic\"? allowed: cubic, reno");
    assert_eq!(unknown("cc", "bbr", names), "unknown cc \"bbr\"; allowed: cubic, reno");
    assert_eq!(unknown("cc", "bbr", []), "unknown cc \"bbr\"; allowed: none");
}
