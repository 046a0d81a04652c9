use super::super::testing::{context, download, ladder};
use super::super::{Choice, build};

/// 2000 kbit in 1 s, then 1000 kbit in 4 s: 3000 / 5 = 600 kbit/s, not the mean of 2000 and 250. 30 % of 30 s are 9 s: at 9 s
/// the average counts, just below it does not. 600 is not above 600.
#[test]
fn session_average_and_threshold() {
    let ladder = ladder(&[300, 600, 900]);
    let mut rule = build("vlc").expect("registered");
    let at = |level: f64| context(&ladder, level, 30.0, Some(0));
    assert_eq!(rule.choose(&at(20.0)).choice, Choice::Fetch(0));
    rule.on_download(&at(20.0), &download(2000, 1.0, 0.5));
    rule.on_download(&at(20.0), &download(1000, 4.0, 0.0));
    let decision = rule.choose(&at(9.0));
    assert_eq!(
        (decision.choice, decision.estimate),
        (Choice::Fetch(1), Some(playpath_units::Rate::from_bits_per_sec(600_000)))
    );
    assert_eq!(rule.choose(&at(8.999)).choice, Choice::Fetch(0));
}
