use super::super::testing::{context, download, ladder};
use super::*;

/// Sabre's BOLA-E fills the player's buffer, here 25 s, in `DynamicDash` too: 18 s, what four rungs need at least, would have the top rung
/// six seconds earlier.
#[test]
fn the_buffer_is_the_target() {
    let ladder = ladder(&[500, 1000, 2000, 4000]);
    let choices = |text: &str| -> Vec<_> {
        let (entry, params) = super::super::parse(text).expect("a rule");
        let mut rule = (entry.build)(&params);
        let at = |level: f64| context(&ladder, level, 25.0, Some(2));
        for _ in 0..4 {
            rule.choose(&at(12.0));
            rule.on_download(&at(12.0), &Download { representation: 2, ..download(4000, 0.4, 0.1) });
        }
        (11..25).map(|level| rule.choose(&at(f64::from(level))).choice).collect()
    };
    assert_eq!(choices("dynamic flavour=sabre"), choices("bola flavour=sabre target=25"));
}
