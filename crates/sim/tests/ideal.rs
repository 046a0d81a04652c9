//! `transport = "ideal"`: scenarios without packets. The decisions are those derived by hand from each rule's definition
//! (`crates/video/tests/abr_traces`), reached by way of the scenario's text; what does not apply is refused.

use playpath_record::Record;
use playpath_scenario::Scenario;
use playpath_sim::{Tracing, run};
use playpath_video::EventKind;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn parse(text: &str, trace: &str) -> Result<Scenario, String> {
    let read = |_: &str| Ok(trace.as_bytes().to_vec());
    Scenario::parse(text, &Value::Null, &read).map_err(|e| e.to_string())
}

fn scenario(abr: &str, path: &str) -> String {
    format!(
        "[video]\nrate = \"4 Mbit/s\"\nduration = \"60 s\"\n[player]\nkind = \"dash\"\nclient = \"dash-js\"\nabr = \"{abr}\"\nsegment = \"4 s\"\nsize_cv = \"0 %\"\n\
         ladder = \"500 kbit/s, 1 Mbit/s, 2 Mbit/s, 4 Mbit/s\"\nfull_level = \"24 s\"\nresume_level = \"24 s\"\nabandonment = false\n\
         [[path]]\n{path}\n[run]\ntransport = \"ideal\"\n"
    )
}

fn play(text: &str, trace: &str) -> Record {
    let scenario = parse(text, trace).unwrap_or_else(|e| panic!("{e}"));
    run(&scenario, "cubic", 1, Tracing::Off).unwrap_or_else(|e| panic!("{e}"))
}

fn choices(record: &Record) -> Vec<u32> {
    let choice = |kind: &EventKind| match kind {
        EventKind::SegmentDecision { object, .. } => Some(object.representation),
        _ => None,
    };
    record.events.iter().filter_map(|e| choice(&e.kind)).collect()
}

fn agree(derivation: &str) {
    let rule = derivation.lines().next().unwrap().trim_start_matches("rule ");
    let mut compared = 0;
    for section in derivation.split("\ntrace ").skip(1) {
        let (title, rows) = section.split_once('\n').unwrap();
        let trace = match title.split(':').next().unwrap() {
            "constant" => "duration_s,rate_mbps\n1,2.2\n",
            "step down" => "duration_s,rate_mbps\n16,3\n1000,0.8\n",
            "square wave" => "duration_s,rate_mbps\n10,3\n10,0.8\n",
            other => panic!("unknown trace {other}"),
        };
        let rows = rows.lines().filter(|row| !row.trim().is_empty());
        let expected: Vec<u32> = rows.map(|row| row.rsplit("-> ").next().unwrap().trim().parse().unwrap()).collect();
        let record = play(&scenario(rule, "trace = \"t.csv\"\nrtt = \"0 ms\""), trace);
        assert_eq!(choices(&record), expected, "{rule}, {title}");
        compared += 1;
    }
    assert_eq!(compared, 3, "{rule}");
}

#[test]
fn every_derived_rule_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../video/tests/abr_traces");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 7, "{files:?}");
    files.iter().for_each(|file| agree(&fs::read_to_string(file).unwrap()));
}

/// 2 Mbit at 2 Mbit/s and an RTT of 100 ms: the first segment is there after 1.1 s. Same schema as with packets.
#[test]
fn rate_and_rtt_of_the_path() {
    let record = play(&scenario("fixed", "rate = \"2 Mbit/s\"\nrtt = \"100 ms\""), "");
    let startup = record.metrics.iter().find(|(name, _)| *name == "startup_delay_s").unwrap().1;
    assert!((startup - 1.1).abs() < 1e-6, "{startup}");
    assert!(record.flows.is_empty() && record.links.is_empty());
    assert!(record.warnings[0].contains("idealised"), "{:?}", record.warnings);
    let json = record.to_json(Value::Null);
    for key in ["metrics", "sessions", "flows", "links", "events", "warnings", "manifest"] {
        assert!(!json[key].is_null() || key == "manifest", "{key}");
    }
}

/// The latency of a Sabre file is a response's: 2 Mbit at 2 Mbit/s, 100 ms of the path and 50 ms of the file: 1.15 s. With packets it
/// is the path's delay that counts, and the record says so.
#[test]
fn the_latency_of_a_trace_counts_or_is_named() {
    let trace = r#"[{"duration_ms": 1000, "bandwidth_kbps": 2000, "latency_ms": 50}]"#;
    let ideal = scenario("fixed", "trace = \"t.json\"\nrtt = \"100 ms\"");
    let startup = |r: &Record| r.metrics.iter().find(|(name, _)| *name == "startup_delay_s").unwrap().1;
    let record = play(&ideal, trace);
    assert!((startup(&record) - 1.15).abs() < 1e-6 && !record.warnings.join("").contains("latency_ms"));
    let packets = play(&ideal.replace("transport = \"ideal\"", "duration = \"5 s\""), trace);
    assert!(packets.warnings.iter().any(|w| w.contains("latency_ms of the trace (50 ms)")), "{:?}", packets.warnings);
}

/// The resolved scenario says so and runs the same.
#[test]
fn resolves_to_itself() {
    let text = scenario("bba", "trace = \"t.csv\"\nrtt = \"20 ms\"");
    let first = parse(&text, "duration_s,rate_mbps\n10,3\n10,0.8\n").unwrap();
    let again = parse(&first.to_json().to_string(), "").unwrap();
    let play = |s: &Scenario| choices(&run(s, "cubic", 1, Tracing::Off).unwrap());
    assert_eq!(play(&first), play(&again));
}

/// One line each.
#[test]
fn what_does_not_apply_is_refused() {
    let fine = scenario("bba", "rate = \"2 Mbit/s\"\nrtt = \"20 ms\"");
    let wrong = [
        ("loss = \"1 %\"\n[run]", "`loss`"),
        ("jitter = \"1 ms\"\n[run]", "`jitter`"),
        ("[[path]]\nrate = \"1 Mbit/s\"\nrtt = \"1 ms\"\n[run]", "second [[path]]"),
        ("[[sender]]\ncc = \"cubic\"\n[[sender]]\ncc = \"bbr\"\n[run]", "second [[sender]]"),
        ("[[traffic]]\nkind = \"bulk\"\n[run]", "[[traffic]]"),
        ("queue = \"fq_codel\"\n[run]", "`queue`"),
        ("up = { loss = \"1 %\" }\n[run]", "`up`"),
        ("up = { rate = \"1 Mbit/s\" }\n[run]", "`up`"),
        ("[[sender]]\ncc = \"bbr\"\nsack = false\n[run]", "`sack`"),
        ("[[sender]]\ninitial_window = 32\n[run]", "`initial_window`"),
        ("[run]\nprofile = \"ns2\"", "`run.profile`"),
    ];
    for (text, what) in wrong {
        let error = parse(&fine.replace("[run]", text), "").map(drop).unwrap_err();
        assert!(error.contains(what) && error.contains("ideal") && error.lines().count() == 1, "{error}");
    }
    for (setting, key) in [("cmcd = \"v2\"\ncmcd_events = \"t\"", "cmcd_events"), ("cmsd = true", "cmsd")] {
        let error = parse(&fine.replace("[[path]]", &format!("{setting}\n[[path]]")), "").map(drop).unwrap_err();
        assert!(error.contains(&format!("`player.{key}`")), "{error}");
    }
    let unlimited = parse(&scenario("bba", "rate = \"unlimited\"\nrtt = \"20 ms\""), "").map(drop).unwrap_err();
    assert!(unlimited.contains("needs a rate or a trace"), "{unlimited}");
}
