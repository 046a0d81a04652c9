use super::*;

/// 0 to 6 s, 10 to 14 s and, after going back, 4 to 11 s were shown: between 5 and 20 s those from 14 s on are missing. After another jump
/// to 16 s, where the picture is at 17 s, 14 to 16 s and 17 to 20 s.
#[test]
fn what_was_shown_twice_counts_once() {
    let [zero, four, five, six, ten, eleven, fourteen, sixteen, seventeen, twenty] =
        [0, 4, 5, 6, 10, 11, 14, 16, 17, 20].map(Duration::from_secs);
    let mut shown = Shown::default();
    assert_eq!(shown.missing(zero, five, twenty), Duration::from_secs(15));
    shown.jump(six, ten);
    shown.jump(fourteen, four);
    assert_eq!(shown.missing(eleven, five, twenty), six);
    shown.jump(eleven, sixteen);
    assert_eq!((shown.missing(seventeen, five, twenty), shown.before.as_slice()), (five, &[(zero, fourteen)][..]));
    shown.forget(ten);
    assert_eq!(shown.missing(eleven, five, twenty), fourteen);
}
