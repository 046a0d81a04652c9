//! What hosts send is checked. The rule itself is tested through the laboratory: tests/python/test_ranking.py, test_stats.py and
//! test_false_winners.py call this crate.

use playpath_verdict::judge;

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
