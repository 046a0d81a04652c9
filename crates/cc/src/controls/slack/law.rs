//! The eBPF control's table (`bpf/law_slack.h`).

use super::{ALARM, ALLOWANCE, CALM, EASE, ENOUGH, ENTRY, HASTE, PACE, TOLERANCE, WEIGHT};
use crate::ParamSpec;
use crate::kernel::{Law, Slot};

const U32_MAX: f64 = u32::MAX as f64;

/// The control in the kernel. `beta` and `floor` have no slot: there they are their defaults.
pub(super) static LAW: Law = Law {
    name: "slack",
    family: "slack",
    summary: ENTRY.summary,
    slots: &[SETTINGS, REPORTED],
    phases: &["slow_start", "congestion_avoidance", "yielding"],
    details: &[
        "capacity_packets_per_s",
        "rtt_us",
        "queueing_us",
        "level_ms",
        "buffer_ms",
        "is_playing",
        "ease_permille",
        "has_ignored_loss",
    ],
};

const SETTINGS: &[Slot] = &[
    Slot::new(0, 1000, ALLOWANCE),
    Slot::new(1, 1000, CALM),
    Slot::new(2, 1000, ALARM),
    Slot::new(3, 1000, WEIGHT),
    Slot::new(4, 1000, HASTE),
    Slot::new(5, 1000, TOLERANCE),
    Slot::new(6, 1000, PACE),
    Slot::new(7, 1000, EASE),
    Slot::new(16, 1000, ENOUGH),
];

/// Parameters set by the application, one word each.
const REPORTED: &[Slot] = &[
    Slot::new(8, 1, ParamSpec::number("pob_bytes", 0.0, (0.0, 1e9), "bytes", "playout buffer of the player")),
    Slot::new(
        9,
        1,
        ParamSpec::number(
            "pob_free_bytes",
            U32_MAX,
            (0.0, U32_MAX),
            "bytes",
            "its free part; 4294967295: the player does not tell",
        ),
    ),
    Slot::new(10, 1, ParamSpec::number("video_kbps", 0.0, (0.0, 1e6), "kbit/s", "bit rate of what is being sent")),
    Slot::new(
        11,
        1,
        ParamSpec::number("object_bytes", 0.0, (0.0, U32_MAX), "bytes", "size of the object that is being sent"),
    ),
    Slot::new(12, 1, ParamSpec::number("object_ms", 0.0, (0.0, 3.6e6), "ms", "media time in it")),
    Slot::new(13, 1, ParamSpec::flag("urgent", false, "the player starts or has run dry")),
    Slot::new(
        14,
        1,
        ParamSpec::number(
            "top_kbps",
            0.0,
            (0.0, 1e6),
            "kbit/s",
            "best rate that the player can choose; 0: it does not tell",
        ),
    ),
    Slot::new(
        15,
        1,
        ParamSpec::number(
            "report",
            0.0,
            (0.0, U32_MAX),
            "",
            "number of the report; the words above count when it changes",
        ),
    ),
];
