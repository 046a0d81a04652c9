use super::*;

#[test]
fn a_plan_is_read_and_what_is_wrong_is_said() {
    let scenario =
        r#"{"video": {"rate": "1 Mbit/s", "duration": "2 s"}, "path": [{"rate": "5 Mbit/s", "rtt": "10 ms"}]}"#;
    let text = format!(
        r#"{{"scenario": {scenario}, "seed": 3, "packet_bytes": 1448, "start_ns": 5, "video": {{"server": "10.0.0.1:80", "protocol": "mptcp"}}}}"#
    );
    let plan = Plan::parse(&text).unwrap();
    assert_eq!(plan.seed, 3);
    // Four times the video and a minute, as in the simulator.
    assert_eq!(plan.until, Time::from_secs_f64(68.0));
    let video = plan.video.unwrap();
    assert_eq!((video.protocol, video.path.as_str()), (Protocol::Mptcp, "/zeros"));
    let wrong = |from: &str, to: &str| Plan::parse(&text.replace(from, to)).err().unwrap().to_string();
    assert_eq!(wrong("\"seed\": 3, ", ""), "`seed` is missing");
    assert!(wrong("10.0.0.1:80", "nowhere").starts_with("`server` = \"nowhere\": "));
    assert!(wrong("5 Mbit/s", "5").contains("rate"));
}
