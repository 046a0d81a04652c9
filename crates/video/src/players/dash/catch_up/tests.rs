use super::*;

const WIDE: Range = Range { min_ppm: 500_000, max_ppm: 1_500_000 };
const NORMAL: Seen = Seen { latency: 3.0, target: 3.0, buffer: 2.0, segment: 2.0, stalls: 0, speed: 1.0 };

fn at(law: CatchUp, latency: f64, buffer: f64) -> f64 {
    law.speed(&Seen { latency, buffer, ..NORMAL })
}

/// 0.4 s late: 0.5 + 1 / (1 + e^-2) = 1.3808; 0.4 s early: 0.5 + 1 / (1 + e^2) = 0.6192. 0.01 s late: 0.5 + 1 / (1 + e^-0.05) =
/// 1.0125, less than 0.02 away.
#[test]
fn dash_js_by_hand() {
    let law = CatchUp::DashJs(WIDE);
    assert!((at(law, 3.4, 2.0) - 1.380_797).abs() < 1e-6);
    assert!((at(law, 2.6, 2.0) - 0.619_203).abs() < 1e-6);
    assert_eq!(at(law, 3.01, 2.0), 1.0);
}

#[test]
fn dash_js_does_not_run_into_an_empty_buffer() {
    let law = CatchUp::DashJs(WIDE);
    assert_eq!(at(law, 5.0, 0.3), 1.0);
    assert!(at(law, 5.0, 0.31) > 1.49);
}

/// A buffer of 0.1 s: 0.5 + 1 / (1 + e^2) = 0.6192, though the latency is too high. 3.05 s are within 2 % of 3 s.
#[test]
fn lol_plus_looks_at_the_buffer_first() {
    let law = CatchUp::LolPlus(WIDE);
    assert!((at(law, 5.0, 0.1) - 0.619_203).abs() < 1e-6);
    assert_eq!(at(law, 3.05, 2.0), 1.0);
    assert!(at(law, 3.4, 2.0) > 1.38);
}

/// 1 s late: 2 / (1 + e^-0.75) = 1.3584, in steps of 0.05 1.35. Two stalls make the target 5 s, and 1 s late is 6 s.
#[test]
fn hls_js_by_hand() {
    let law = CatchUp::HlsJs(WIDE);
    assert_eq!([at(law, 4.0, 2.0), at(law, 4.0, 1.0), at(law, 2.0, 2.0)], [1.35, 1.0, 1.0]);
    let after = |stalls, latency| law.speed(&Seen { stalls, latency, ..NORMAL });
    assert_eq!([after(2, 4.0), after(2, 6.0), after(9, 6.0)], [1.0, 1.35, 1.35]);
}

#[test]
fn shaka_has_two_speeds() {
    let law = CatchUp::Shaka(Range { min_ppm: 950_000, max_ppm: 1_100_000 });
    assert_eq!([at(law, 3.6, 2.0), at(law, 3.4, 2.0), at(law, 2.4, 2.0)], [1.1, 1.0, 0.95]);
}

/// 200 questions to dash.js's own controller (`tests/players/laws.mjs`), each with the speed that the answer before it left.
#[test]
fn dash_js_itself_says_the_same() {
    let shown: serde_json::Value =
        serde_json::from_str(include_str!("../../../../tests/data/dashjs_live.json")).unwrap();
    for (name, law) in [("speed dash.js", CatchUp::DashJs(WIDE)), ("speed lol+", CatchUp::LolPlus(WIDE))] {
        let mut speed = 1.0;
        for (number, asked) in shown["questions"]["segments"].as_array().unwrap().iter().enumerate() {
            let number_of = |key: &str| asked[key].as_f64().unwrap();
            let (latency, buffer) = (number_of("latency_s"), number_of("buffer_s"));
            speed = law.speed(&Seen { latency, buffer, speed, ..NORMAL });
            let expected = shown["answers"][name][number].as_f64().unwrap();
            assert!((speed - expected).abs() < 1e-9, "{name}, question {number}: {speed} instead of {expected}");
        }
    }
}
