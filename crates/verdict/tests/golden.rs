//! What the laboratory in Python says of comparisons, said here as well. A change of the statistics is made on both sides, and the
//! file is written again by `tests/python/test_verdict_golden.py`.

use playpath_verdict::judge;
use serde_json::Value;

#[test]
fn the_verdict_is_the_laboratorys() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("golden.json")).expect("JSON");
    assert!(cases.len() >= 40, "cases are missing");
    for case in &cases {
        let judged = judge(&case["values"], case["has_video"] == true).expect("right values");
        let label = &case["label"];
        assert_eq!(judged["headline"], case["headline"], "{label}");
        assert_eq!(judged["verdict"], case["verdict"], "{label}");
        for key in ["ranking", "ranks", "beaten", "tied", "open", "deciding", "more_runs", "more_runs_for_viewer"] {
            assert_eq!(judged["decision"][key], case["decision"][key], "{label}: {key}");
        }
        close(&judged["senders"], &case["senders"], &format!("{label}: senders"));
        close(&judged["differences"], &case["differences"], &format!("{label}: differences"));
    }
}

/// Equal but for the last digits of numbers; everything that Python says.
fn close(found: &Value, wanted: &Value, at: &str) {
    match wanted {
        Value::Object(table) => table.iter().for_each(|(key, value)| close(&found[key], value, &format!("{at}.{key}"))),
        Value::Array(list) => {
            list.iter().zip(0..).for_each(|(value, i)| close(&found[i], value, &format!("{at}[{i}]")))
        }
        Value::Number(number) => {
            let (a, b) = (found.as_f64().unwrap_or(f64::NAN), number.as_f64().expect("finite"));
            assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{at}: {a} is not {b}");
        }
        other => assert_eq!(found, other, "{at}"),
    }
}

#[test]
fn wrong_values_are_one_line() {
    for (values, told) in [
        ("{}", "no sender"),
        (r#"{"a": {"stall_time_s": []}}"#, "no run"),
        (r#"{"a": {"stall_time_s": [1, 2]}, "b": {"stall_time_s": [1]}}"#, "unequal"),
    ] {
        let message = judge(&serde_json::from_str(values).expect("JSON"), true).expect_err("wrong");
        assert!(message.contains(told), "{message}");
    }
}
