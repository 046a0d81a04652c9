//! What hosts send is checked. The rule itself is tested from Python: tests/python/test_ranking.py, test_stats.py and
//! test_false_winners.py call this crate.

use playpath_verdict::{Choice, judge};
use serde_json::json;

#[test]
fn wrong_values_are_one_line() {
    for (values, shown) in [
        ("{}", "no sender"),
        (r#"{"a": {"stall_time_s": []}}"#, "no run"),
        (r#"{"a": {"stall_time_s": [1, 2]}, "b": {"stall_time_s": [1]}}"#, "unequal"),
    ] {
        let message = judge(&serde_json::from_str(values).expect("JSON"), true, "range", &[]).expect_err("wrong");
        assert!(message.contains(shown), "{message}");
    }
}

/// Ten runs in which the video is alike and the neighbours' frames take 20 and 200 ms; then frames that differ by less than the
/// margin, and none at all.
#[test]
fn a_headline_tells_of_the_neighbours_frames() {
    let headline = |frames: Option<[f64; 2]>| {
        let column = |mean: f64| (0..10).map(|i| mean + f64::from(i) * 0.1).collect::<Vec<_>>();
        let sender = |place: usize| {
            let mut columns = json!({ "stall_time_s": vec![0.0; 10], "retransmitted_packets": column(100.0) });
            if let Some(frames) = frames {
                columns["frame_delay_p99_ms"] = json!(column(frames[place]));
            }
            columns
        };
        let judged =
            judge(&json!({ "fifo": sender(0), "dualpi2": sender(1) }), true, "range", &[]).expect("right values");
        judged["headline"].as_str().expect("a text").to_string()
    };
    let shown = headline(Some([200.0, 20.0]));
    assert!(
        shown.ends_with("; 99 of 100 of the neighbours' frames take at most 20.4 ms with dualpi2, 200 ms with fifo."),
        "{shown}"
    );
    for silent in [headline(Some([20.0, 21.0])), headline(None)] {
        assert!(silent.ends_with('.') && !silent.contains("frames"), "{silent}");
    }
}

/// Two senders, both over two transports, which are part of their names: four that are ranked, none with two choices.
#[test]
fn senders_named_after_their_choices_are_ranked() {
    let names = ["cubic+tls", "bbr+tls", "cubic/quic", "bbr/quic"];
    let choices = names.map(|name| Choice { name: name.into(), sender: name.into(), value: "a".into() });
    let stalls = |mean: f64| json!({ "stall_time_s": (0..20).map(|i| mean + f64::from(i)).collect::<Vec<_>>() });
    let values =
        json!({ names[0]: stalls(50.0), names[1]: stalls(0.0), names[2]: stalls(90.0), names[3]: stalls(50.0) });
    let judged = judge(&values, true, "range", &choices).expect("right values");
    assert!(judged["headline"].as_str().is_some_and(|text| text.starts_with("bbr+tls stalls")), "{judged}");
}

/// Two low pictures without stalls, which nobody tells apart, and a high one with stalls: which is better depends on the viewer, and all
/// three are named.
#[test]
fn a_headline_that_depends_on_the_viewer_names_every_sender() {
    let column = |mean: f64, step: f64| (0..16).map(|i| mean + step * f64::from(i)).collect::<Vec<_>>();
    let sender = |rate: f64, stall: f64| json!({ "played_s": vec![60.0; 16], "stall_time_s": column(stall, 0.001), "mean_rate_kbps": column(rate, 2.0) });
    let values = json!({ "high": sender(4000.0, 2.5), "low": sender(2900.0, 0.0), "lower": sender(2890.0, 0.0) });
    let judged = judge(&values, true, "range", &[]).expect("right values");
    let [headline, verdict] = ["headline", "verdict"].map(|part| judged[part].as_str().expect("a text"));
    assert!(headline.starts_with("It depends on the viewer: high"), "{headline}");
    assert!(headline.contains("; lower is no different from low for a viewer"), "{headline}");
    assert!(!verdict.contains("weigh outweigh that is open"), "{verdict}");
}

/// Of three that are behind by the same criterion none is left out; of more the first and the last are named.
#[test]
fn a_headline_leaves_out_no_single_sender() {
    let stalls = |mean: f64| json!({ "stall_time_s": (0..20).map(|i| mean + 0.2 * f64::from(i)).collect::<Vec<_>>() });
    let headline = |senders: &[(&str, f64)]| {
        let values: serde_json::Map<_, _> =
            senders.iter().map(|(name, mean)| ((*name).into(), stalls(*mean))).collect();
        let judged = judge(&values.into(), true, "range", &[]).expect("right values");
        judged["headline"].as_str().expect("a text").to_string()
    };
    let four = [("a", 0.0), ("b", 20.0), ("c", 40.0), ("d", 60.0)];
    assert!(headline(&four).ends_with("; b stalls for 21.9 s, c for 41.9 s, d for 61.9 s."), "{}", headline(&four));
    let five = [&four[..], &[("e", 80.0)]].concat();
    assert!(headline(&five).ends_with("; b stalls for 21.9 s, e for 81.9 s."), "{}", headline(&five));
}
