use super::*;
use crate::abr::testing::{context, download, ladder};

/// Sum 1 stays; (2, 0) comes to (1, 0); (0.8, 0.6): shift 0.2 each; (0.5, 0.2, -1): 0.15 to each of the two.
#[test]
fn projections_by_hand() {
    for (point, expected) in
        [([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]), ([0.8, 0.6, -5.0], [0.6, 0.4, 0.0]), ([0.5, 0.2, -1.0], [0.65, 0.35, 0.0])]
    {
        let mut point = point;
        project(&mut point);
        assert!(point.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{point:?}");
    }
}

/// 2 Mbit/s measured: the first segment at most 1 Mbit/s, then below 1.8; with 1.6 s of buffer it is in its steady state.
#[test]
fn start_up_follows_the_throughput() {
    let ladder = ladder(&[500, 1000, 1700, 3000]);
    let mut rule = L2a::new(1000.0);
    assert_eq!(rule.choose(&context(&ladder, 0.0, 3.0, None)).representation(), Some(1));
    rule.on_download(&context(&ladder, 1.6, 3.0, Some(1)), &download(2000, 1.1, 0.1));
    let decision = rule.choose(&context(&ladder, 1.6, 3.0, Some(1)));
    assert_eq!((decision.representation(), decision.reason, rule.is_steady), (Some(2), "start-up", true));
}

/// 200 questions to dash.js's own rule (`tests/players/laws.mjs`).
#[test]
fn dash_js_itself_chooses_the_same() {
    let (ladder, questions, answers) = crate::abr::testing::answers_of_dash_js("l2a");
    let mut rule = L2a::new(1000.0);
    rule.segment_seconds = 2.0;
    let mut current = 1;
    for (number, (shown, expected)) in questions.iter().zip(answers).enumerate() {
        let of = |key: &str| shown[key].as_f64().unwrap();
        current = match rule.is_steady {
            // The first question makes its state, so that no segment counts before.
            false => rule.start_up(&ladder, if number == 0 { 0.0 } else { of("buffer_s") }, of("safe_kbps")),
            true => rule.learn(&ladder, of("speed"), of("last_kbps"), current),
        };
        assert_eq!(current, expected, "question {number}");
    }
}
