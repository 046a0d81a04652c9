//! What connections over several paths did, as the kernel world tells it.

use playpath_record::record_of_json;

/// 50 ms at 2 Mbit/s are 0.1 Mbit on the way; 100 ms of 5.24 Mbit/s are 0.524: dry. At 40 Mbit/s 2.0: not.
#[test]
fn switches_become_the_number_of_predicted_underflows() {
    let switches = r#"{"video_mbps": 5.24, "sides": [
        {"from_srtt_ms": 50, "from_mbps": 2, "to_srtt_ms": 100}, {"from_srtt_ms": 50, "from_mbps": 40, "to_srtt_ms": 100}]}"#;
    let predicted = |paths: String| {
        let record = record_of_json(&format!(r#"{{"paths": {{"path_switches": 2{paths}}}}}"#)).unwrap();
        record["metrics"]["switches_underflow_predicted"].as_f64()
    };
    assert_eq!(predicted(format!(r#", "switches": {switches}"#)), Some(1.0));
    assert_eq!(predicted(String::new()), None, "nobody watches");
}
