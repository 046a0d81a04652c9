use super::*;

#[test]
fn a_seek_is_typed_by_time_or_place_to_a_place_or_by_a_length() {
    let s = Duration::from_secs;
    let seek = |when, to| Seek { when, to };
    assert_eq!(
        Seek::parse_list("at 30 s to 90 s, from 60 s by -20 s, at 1 min by 5 s, from 2 s by +5 s").unwrap(),
        [
            seek(When::After(s(30)), Target::Position(s(90))),
            seek(When::At(s(60)), Target::Back(s(20))),
            seek(When::After(s(60)), Target::Ahead(s(5))),
            seek(When::At(s(2)), Target::Ahead(s(5))),
        ]
    );
    for wrong in ["30 s to 90 s", "at 30 to 90 s", "at 30 s to -5 s", "at 30 s", "", "at 3 s to 5 s,"] {
        assert!(Seek::parse_list(wrong).is_err(), "{wrong}");
    }
    assert_eq!(Target::Back(s(20)).from(s(5)), Duration::ZERO);
}
