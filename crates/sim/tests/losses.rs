//! `loss_ratio` is exact: every packet that a link dropped, and none that has arrived or is under way.

mod common;
use common::{dropped, link, traffic};
use playpath_record::Record;

fn lost_packets(record: &Record) -> f64 {
    record.flows.iter().map(|flow| flow.loss_ratio * flow.sent_packets as f64).sum()
}

/// Only data crosses the way down once the handshakes are over, and those meet an empty queue: what the queue refused is what the
/// flows lost. The run ends with a full window on the way, which is not lost, and with packets that arrived and are not yet
/// acknowledged, which were once taken off the drops.
#[test]
fn flows_lose_what_the_queue_refused() {
    for kind in ["bulk", "udp"] {
        let settings = if kind == "udp" { r#"rate = "6 Mbit/s""# } else { r#"cc = "cubic""# };
        let record = traffic(
            &format!(
                r#"
                path = [{{ name = "a", rate = "10 Mbit/s", rtt = "80 ms", queue = "20 packets" }}]
                traffic = [{{ kind = "{kind}", {settings}, count = 2 }}]
                run = {{ duration = "3 s" }}"#
            ),
            1,
        );
        let dropped = dropped(link(&record, "path.a/down"));
        assert!(dropped > 0, "{kind}");
        assert!((lost_packets(&record) - dropped as f64).abs() < 1e-6, "{kind}: {} {dropped}", lost_packets(&record));
    }
}
