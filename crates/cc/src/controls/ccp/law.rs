//! The parameter block of the family's eBPF laws (`bpf/law_ccp.h`).

use super::{
    CAPACITY, ESTIMATOR, FLOOR_GAIN, KP, LOSS_GUARD, MAX_CWND, MAX_PLAYOUT_BUFFER_BYTES, MAX_VIDEO_BITS_PER_SEC, MODE,
    RECOVERY, RTT, RTT_MAX_CAP, RTT_MAX_WINDOW, RTT_MIN_WINDOW,
};
use crate::ParamSpec;
use crate::kernel::{Law, MAX_WINDOW, Slot};

/// A member's law; slots 1, 7 to 10 and 18 are those of one member.
pub const fn law(name: &'static str, summary: &'static str, slots: &'static [&'static [Slot]]) -> Law {
    Law {
        name,
        family: "ccp",
        summary,
        slots,
        phases: &["slow_start", "congestion_avoidance"],
        details: &[
            "capacity_packets_per_s",
            "rtt_min_us",
            "rtt_max_us",
            "b_packets",
            "x_packets",
            "pob_packets",
            "guard_q16",
            "rounds",
        ],
    }
}

/// In thousandths a word holds 4.29 million packets/s.
const MAX_CAPACITY: f64 = 4e6;

/// Mode, where there are no others than CCP's.
pub const CCPS_MODE: &[Slot] = &[Slot::new(14, 1, MODE)];

/// Slots of all members, without `mode`, of which CCPD has one more value.
pub const COMMON: &[Slot] = &[
    Slot::new(0, 1000, KP),
    Slot::new(2, 1000, FLOOR_GAIN),
    Slot::new(3, 1, RECOVERY),
    Slot::new(4, 1, LOSS_GUARD),
    Slot::new(5, 1000, ParamSpec::number("pacing_gain", 0.0, (0.0, 4.0), "", "pace at gain x cwnd / srtt; 0: off")),
    Slot::new(6, 1, MAX_CWND.within(MAX_CWND.range().0, MAX_WINDOW)),
    Slot::new(11, 1000, RTT_MIN_WINDOW),
    Slot::new(12, 1000, RTT_MAX_WINDOW),
    Slot::new(13, 1000, RTT_MAX_CAP),
    Slot::new(15, 1, RTT),
    Slot::new(16, 1, ESTIMATOR),
    Slot::new(17, 1000, CAPACITY.within(CAPACITY.range().0, MAX_CAPACITY)),
];

/// Parameters set by the application, one word each.
pub const POB: Slot = Slot::new(
    7,
    1,
    ParamSpec::number(
        "pob_bytes",
        0.0,
        (0.0, MAX_PLAYOUT_BUFFER_BYTES as f64),
        "bytes",
        "playout buffer of the player, or its free part",
    ),
);
pub const URGENT: Slot =
    Slot::new(9, 1, ParamSpec::flag("urgent", false, "the player starts or has run dry: pob_rate at most 1"));
pub const VIDEO: Slot = Slot::new(
    10,
    1,
    ParamSpec::number("video_kbps", 0.0, (0.0, MAX_VIDEO_BITS_PER_SEC / 1000.0), "kbit/s", "bit rate of the video"),
);
