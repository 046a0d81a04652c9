//! What the flows beside the main session got and paid.

use playpath_record::record_of_json;

/// 10 MB and 5 MB from 0 to 20 s are 120 Mbit in 20 s.
#[test]
fn neighbours_are_counted_together() {
    let flow = |name: &str, measured: bool, from: u8, bytes: u64, again: u64| {
        format!(
            r#"{{"name": "{name}", "is_measured": {measured}, "start_s": {from}, "end_s": 20, "read_bytes": {bytes}, "retransmitted_packets": {again}}}"#
        )
    };
    let flows = [
        flow("video", true, 0, 7_000_000, 100),
        flow("bulk.1", false, 0, 10_000_000, 4),
        flow("bulk.2", false, 5, 5_000_000, 3),
    ];
    let outcome = |flows: &[String]| {
        let text = format!(r#"{{"sessions": [{{"name": "video"}}], "flows": [{}]}}"#, flows.join(", "));
        record_of_json(&text).unwrap()["metrics"].clone()
    };
    let found = outcome(&flows);
    assert_eq!(found["neighbours_goodput_mbps"], 6.0);
    assert_eq!(found["neighbours_retransmitted_packets"], 7.0);
    assert!(found.get("neighbours_stall_time_s").is_none(), "nobody watches there");
    let alone = outcome(&flows[..1]);
    assert!(alone.get("neighbours_goodput_mbps").is_none(), "nobody is beside it: {alone}");
}
