//! What a connection over several paths does with them.

use super::Better::Lower;
use super::Figure::Paths;
use super::{BASE, Metric};

pub const METRICS: &[Metric] = &[
    Metric {
        name: "path_switches",
        label: "path switches",
        summary: "Changes of path between two packets of new data.",
        is_always_there: true,
        figure: Paths(|p| count(p.path_switches)),
        ..BASE
    },
    Metric {
        name: "wire_switches",
        label: "path switches on the wire",
        summary: "Changes of path between two data packets as the server sends them, retransmissions and copies included.",
        is_always_there: true,
        figure: Paths(|p| count(p.wire_switches)),
        ..BASE
    },
    Metric {
        name: "switches_from_open_path",
        label: "switches away from a path with room",
        summary: "Switches of path although the previous path had room.",
        is_always_there: true,
        figure: Paths(|p| count(p.switches_from_open_path)),
        ..BASE
    },
    Metric {
        name: "path_choices",
        label: "packets with a choice of paths",
        unit: "packets",
        summary: "Packets for which more than one path had room, so that the scheduler had a choice.",
        is_always_there: true,
        figure: Paths(|p| count(p.path_choices)),
        ..BASE
    },
    Metric {
        name: "reinjections",
        label: "reinjected",
        unit: "packets",
        better: Lower,
        least: 10.0,
        summary: "Packets that were also sent on another path.",
        is_always_there: true,
        figure: Paths(|p| count(p.reinjections)),
        ..BASE
    },
    Metric {
        name: "hol_blocking_time_s",
        label: "head-of-line blocking",
        unit: "s",
        better: Lower,
        least: 0.1,
        summary: "Time in which data waited at the receiver behind a gap.",
        is_always_there: true,
        figure: Paths(|p| p.hol_blocking_time_s),
        ..BASE
    },
    Metric {
        name: "max_out_of_order_bytes",
        label: "most held out of order",
        unit: "bytes",
        better: Lower,
        least: 1500.0,
        summary: "Most data that waited at the receiver behind a gap at the same time.",
        is_always_there: true,
        figure: Paths(|p| count(p.max_out_of_order_bytes)),
        ..BASE
    },
    Metric {
        name: "switches_underflow_predicted",
        label: "switches that predict an underflow",
        summary: "Switches for which the sticky schedulers' paper predicts that the playout buffer runs dry ([card](../models/mptcp.md)).",
        figure: Paths(|p| count(p.switches_underflow_predicted)),
        ..BASE
    },
    Metric {
        name: "switches_discard_predicted",
        label: "switches that predict a discard",
        summary: "Switches for which the sticky schedulers' paper predicts that a frame is discarded; only where one response carries the whole file.",
        figure: Paths(|p| count(p.switches_discard_predicted)),
        ..BASE
    },
];

fn count(value: Option<u64>) -> Option<f64> {
    value.map(|count| count as f64)
}
