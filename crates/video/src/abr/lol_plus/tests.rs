use super::*;
use crate::abr::testing::{context, download, ladder};

fn rule_at(ladder: &Ladder, kbit: u64) -> LolPlus {
    let mut rule = LolPlus::new(1000.0);
    rule.choose(&context(ladder, 0.0, 3.0, None));
    rule.on_download(&context(ladder, 2.0, 3.0, Some(1)), &download(kbit, 1.1, 0.1));
    rule
}

/// 0.9 x 2 Mbit/s. A segment of 2 s at 1 Mbit/s takes 1.11 s: with 1.3 s of buffer 0.19 s are left, less than 0.3: down to the rung
/// of 500 kbit/s; with 2 s 0.89 s are left, and no rung above 1.79 Mbit/s is chosen.
#[test]
fn a_low_buffer_leads_down_at_once() {
    let ladder = ladder(&[500, 1000, 1700, 3000]);
    assert_eq!(rule_at(&ladder, 2000).choose(&context(&ladder, 1.3, 3.0, Some(1))).representation(), Some(0));
    let choice = rule_at(&ladder, 2000).choose(&context(&ladder, 2.0, 3.0, Some(1))).representation();
    assert!(choice.is_some_and(|choice| choice <= 2), "{choice:?}");
}

/// All neurons but the winner's own move less; what was seen is approached by one part in a hundred.
#[test]
fn the_winner_learns_most() {
    let ladder = ladder(&[500, 1000]);
    let mut rule = rule_at(&ladder, 2000);
    rule.meet(&ladder);
    let before = rule.neurons;
    rule.learn(2, 1, [before[1][0], 1.0, 0.0, 0.0]);
    assert!((rule.neurons[1][1] - 0.01).abs() < 1e-12);
    assert!(rule.neurons[0][1] < 0.001, "{:?}", rule.neurons[0]);
}

/// 200 questions to dash.js's own rule (`tests/players/laws.mjs`).
#[test]
fn dash_js_itself_chooses_the_same() {
    let (ladder, questions, answers) = crate::abr::testing::answers_of_dash_js("lol+");
    let mut rule = LolPlus::new(1000.0);
    let mut current = 1;
    for (number, (shown, expected)) in questions.iter().zip(answers).enumerate() {
        let of = |key: &str| shown[key].as_f64().unwrap();
        let (throughput, level, latency) = (of("safe_kbps") * 1e3, of("buffer_s"), of("latency_s"));
        let asked = Query { throughput, latency, level, segment: 2.0, speed: of("speed") };
        current = rule.next(&ladder, &asked, current);
        assert_eq!(current, expected, "question {number}");
    }
}
