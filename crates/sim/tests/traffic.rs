//! Cross traffic: when it begins and ends, and what becomes of it when its connection breaks.

mod common;

use common::{metric, traffic};
use playpath_record::FlowRecord;

fn of_kind(kind: &str, keys: &str) -> String {
    let rate = if matches!(kind, "udp" | "frames") { "rate = \"500 kbit/s\"\n" } else { "" };
    format!("[[traffic]]\nname = \"t\"\nkind = \"{kind}\"\n{rate}{keys}")
}

/// Ten starts over 20 s, all end at 5 s: those that would come later are none, whatever the kind.
#[test]
fn what_would_start_after_its_end_does_not() {
    for kind in ["bulk", "web", "frames", "udp"] {
        let group = of_kind(kind, "start_spread = \"20 s\"\nstop = \"5 s\"\ncount = 10\n");
        let text = format!("[[path]]\nrate = \"12 Mbit/s\"\nrtt = \"40 ms\"\n{group}[run]\nduration = \"30 s\"\n");
        let record = traffic(&text, 1);
        assert!((1..10).contains(&record.flows.len()), "{kind}: {:?}", record.flows);
        assert!(record.flows.iter().all(|flow| flow.start_s < flow.end_s && flow.end_s == 5.0), "{kind}: {record:?}");
    }
}

fn megabits(flow: &FlowRecord) -> f64 {
    flow.goodput_mbps * (flow.end_s - flow.start_s)
}

/// An outage of 40 s ends a QUIC connection, another of a NAT's ports a web user's TCP connection (a client that only waits for data cannot
/// notice). The source goes on over a second one as before.
#[test]
fn a_source_opens_another_connection_when_one_breaks() {
    let outage = ("quic", "outage = { from = \"10 s\", until = \"50 s\" }", 60.0);
    let rebinding = ("tcp", "rebinding = { at = \"12 s\" }", 15.0);
    for (kind, (transport, breaks, again_s)) in
        [("bulk", outage), ("web", outage), ("frames", outage), ("web", rebinding)]
    {
        let group = of_kind(kind, &format!("transport = \"{transport}\"\n"));
        let path = format!("[[path]]\nrate = \"4 Mbit/s\"\nrtt = \"40 ms\"\n{breaks}\n");
        let record = traffic(&format!("{path}{group}[run]\nduration = \"90 s\"\n"), 1);
        let [first, .., last] = record.flows.as_slice() else { panic!("{kind}: {:?}", record.flows) };
        assert!(first.end_s < again_s && last.end_s == 90.0, "{kind}: {first:?} {last:?}");
        let (before, after) = (megabits(first) / 10.0, megabits(last) / (90.0 - again_s));
        assert!(after > 0.7 * before && before > 0.2, "{kind}, {transport}: {before} and {after} Mbit/s");
        if kind == "frames" {
            // All that were taken in the outage come: none waits for the end of the run.
            assert!(metric(&record, "frame_delay_p999_ms") < 50_000.0, "{:?}", record.metrics);
        }
    }
}

/// A source of frames behind the same NAT over TCP: its client has nothing to send, and the record says so.
#[test]
fn a_client_that_only_waits_is_warned_of() {
    let path = "[[path]]\nrate = \"4 Mbit/s\"\nrtt = \"40 ms\"\nrebinding = { at = \"10 s\" }\n";
    let record = traffic(&format!("{path}{}[run]\nduration = \"30 s\"\n", of_kind("frames", "")), 1);
    assert_eq!(
        record.warnings.iter().filter(|warning| warning.contains("t: may stop for good after a `rebinding`")).count(),
        1
    );
}
