//! QUIC over several paths: multipath under every scheduler, beside MPTCP.

mod common;

use common::{check_conservation, metric, play, traffic};
use playpath_sim::Tracing;

const FILM: &str = "[video]\nsource = \"bigbuckbunny\"\nrate = \"3 Mbit/s\"\nduration = \"40 s\"\n[player]\nkind = \"progressive\"\nbuffer = \"5 s\"\n";
const TWO: &str = "[[path]]\nname = \"wifi\"\nrate = \"4 Mbit/s\"\nrtt = \"30 ms\"\n[[path]]\nname = \"lte\"\nrate = \"4 Mbit/s\"\nrtt = \"60 ms\"\n";

/// A film of 3 Mbit/s over two paths of 4: nobody stalls, both carry data, nothing is lost but in links; twice the same.
#[test]
fn every_scheduler_plays_a_film() {
    for entry in playpath_transport::mptcp::scheduler::entries() {
        let name = entry.name;
        let text = format!(
            "{FILM}{TWO}[[sender]]\nname = \"s\"\ncc = \"cubic\"\nscheduler = \"{name}\"\ntransport = \"quic\"\n"
        );
        let record = || play(&text, "s", 1, Tracing::Series);
        let (one, other) = (record(), record());
        check_conservation(&one);
        assert_eq!(format!("{:?}", one.series), format!("{:?}", other.series), "{name}");
        assert_eq!(metric(&one, "stall_time_s"), 0.0, "{name}");
        let flow = common::flow(&one, "video");
        assert_eq!(flow.subflows.len(), 2, "{name}");
        assert!(flow.subflows.iter().all(|s| s.share > 0.02), "{name}: {:?}", flow.subflows);
    }
}

/// Bulk over 10 and 5 Mbit/s takes 15 by QUIC as by MPTCP.
#[test]
fn bulk_takes_both_paths() {
    let bulk = |transport: &str| {
        let text = format!(
            "[[path]]\nrate = \"10 Mbit/s\"\nrtt = \"40 ms\"\n[[path]]\nrate = \"5 Mbit/s\"\nrtt = \"60 ms\"\n[[traffic]]\nname = \"bulk\"\n\
             kind = \"bulk\"\ncc = \"cubic\"\n{transport}[run]\nduration = \"30 s\""
        );
        common::flow(&traffic(&text, 1), "bulk").goodput_mbps
    };
    let (quic, mptcp) = (bulk("transport = \"quic\"\n"), bulk(""));
    assert!(quic > 13.2 && mptcp > 13.2, "{quic} {mptcp}");
}

/// The first path breaks for good in mid-film: playback goes on over the other.
#[test]
fn a_film_outlives_a_path() {
    let broken = TWO.replacen("rtt = \"30 ms\"\n", "rtt = \"30 ms\"\noutage = { from = \"10 s\" }\n", 1);
    for scheduler in ["linux", "blest", "redundant"] {
        let text = format!(
            "{FILM}{broken}[[sender]]\nname = \"s\"\ncc = \"cubic\"\nscheduler = \"{scheduler}\"\ntransport = \"quic\"\n"
        );
        let record = play(&text, "s", 1, Tracing::Off);
        check_conservation(&record);
        assert!(metric(&record, "stall_time_s") < 1.0, "{scheduler}");
        assert_eq!(common::flow(&record, "video").subflows[0].failures, Some(1), "{scheduler}");
    }
}
