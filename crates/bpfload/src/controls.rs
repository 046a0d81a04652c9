//! What each kernel control is called, takes and tells: the loader's side of the `enum`s in `bpf/law_*.h`.

use crate::names;

/// A parameter: a 32-bit slot of the control's parameter block.
pub struct Param {
    /// Name as typed after `--param`.
    pub name: &'static str,
    /// Slot in the block, as in the law's `enum`.
    pub slot: usize,
    /// What one unit is in the slot: 256 for fixed point in 1/256, 1 for integers.
    pub scale: f64,
    /// Default value.
    pub default: f64,
    /// Smallest allowed value.
    pub min: f64,
    /// Largest allowed value.
    pub max: f64,
    /// Unit, for people.
    pub unit: &'static str,
    /// One line for people.
    pub doc: &'static str,
}

/// A control.
pub struct Control {
    /// Canonical name; the file is `bpf/NAME.bpf.c`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Names of `phase` values.
    pub phases: &'static [&'static str],
    /// Names of the status record's details, in order.
    pub details: &'static [&'static str],
}

/// Slots of a parameter block (`LAW_PARAM_SLOTS`).
pub const SLOTS: usize = 16;

const fn q8(name: &'static str, slot: usize, default: f64, range: (f64, f64), doc: &'static str) -> Param {
    Param { name, slot, scale: 256.0, default, min: range.0, max: range.1, unit: "", doc }
}

const fn int(
    name: &'static str,
    slot: usize,
    default: f64,
    range: (f64, f64),
    unit: &'static str,
    doc: &'static str,
) -> Param {
    Param { name, slot, scale: 1.0, default, min: range.0, max: range.1, unit, doc }
}

const KP: Param = q8("kp", 0, 2.0, (0.1, 8.0), "gain on B - x; useful from 1.5 to 2.5, unstable from 3 on");
const KD: Param = q8("kd", 1, 0.25, (0.0, 4.0), "gain on the backlog's change over one rtt_min");
const FLOOR_GAIN: Param = q8("floor_gain", 2, 1.25, (1.0, 3.0), "growth per round trip while no queue is seen");
const FREEZE: Param = int("freeze", 3, 0.0, (0.0, 1.0), "", "1: hold the window during loss recovery");
const LOSS_GUARD: Param = int("loss_guard", 4, 1.0, (0.0, 1.0), "", "1: shrink B once 3 round trips lost a tenth each");
const CCP_PACING: Param = q8("pacing_gain", 5, 0.0, (0.0, 4.0), "pace at gain x cwnd/srtt; 0: off");
const MAX_CWND: Param = int("max_cwnd", 6, 1e5, (10.0, 1e6), "packets", "upper clamp of the law");
const POB: Param = int("pob_bytes", 7, 0.0, (0.0, 1e9), "bytes", "playout buffer of the player, or its free part");
const POB_RATE: Param = q8("pob_rate", 8, 1.0, (0.1, 100.0), "divisor of the playout buffer");
const URGENT: Param = int("urgent", 9, 0.0, (0.0, 1.0), "", "1: the player starts or has run dry: pob_rate at most 1");
const VIDEO: Param = int("video_kbps", 10, 0.0, (0.0, 1e6), "kbit/s", "bit rate of the video");

const RTT_MIN_WINDOW: Param =
    Param { scale: 1000.0, ..int("rtt_min_window", 11, 300.0, (0.1, 3600.0), "s", "memory of the smallest RTT") };
const RTT_MAX_WINDOW: Param =
    Param { scale: 1000.0, ..int("rtt_max_window", 12, 10.0, (0.1, 3600.0), "s", "memory of the largest RTT") };

const CCP_PHASES: &[&str] = &["slow_start", "congestion_avoidance"];
const PHASES: &[&str] = &["slow_start", "congestion_avoidance", "recovery"];
const CCP_DETAILS: &[&str] = &[
    "capacity_packets_per_s",
    "rtt_min_us",
    "rtt_max_us",
    "b_packets",
    "x_packets",
    "pob_packets",
    "guard_q16",
    "rounds",
];

const GROUP: Param =
    int("group", 0, 0.0, (0.0, 4294967295.0), "", "couple connections of equal non-zero group; 0: by MPTCP token");
const COUPLED_DETAILS: &[&str] = &["group", "members", "alpha_q32"];

const PACING: Param =
    int("pacing", 0, 1.0, (0.0, 1.0), "", "1: pace, at tcp_pacing_ss_ratio and tcp_pacing_ca_ratio percent");
const NEWCWV_DETAILS: &[&str] = &["pipe_ack_packets", "is_validated"];

/// All controls, in the order of `list`.
pub static CONTROLS: &[Control] = &[
    Control {
        name: "ccp",
        summary: "Capacity and Congestion Probing: window from estimated path buffer, loss-blind",
        params: &[KP, FLOOR_GAIN, FREEZE, LOSS_GUARD, RTT_MIN_WINDOW, RTT_MAX_WINDOW, CCP_PACING, MAX_CWND],
        phases: CCP_PHASES,
        details: CCP_DETAILS,
    },
    Control {
        name: "ccpd",
        summary: "CCP with a derivative term on the backlog",
        params: &[KP, KD, FLOOR_GAIN, FREEZE, LOSS_GUARD, RTT_MIN_WINDOW, RTT_MAX_WINDOW, CCP_PACING, MAX_CWND],
        phases: CCP_PHASES,
        details: CCP_DETAILS,
    },
    Control {
        name: "ccplca",
        summary: "CCP, never below the window that the video rate needs",
        params: &[KP, FLOOR_GAIN, FREEZE, LOSS_GUARD, RTT_MIN_WINDOW, RTT_MAX_WINDOW, CCP_PACING, MAX_CWND, VIDEO],
        phases: CCP_PHASES,
        details: CCP_DETAILS,
    },
    Control {
        name: "ccplb",
        summary: "CCP plus a share of the player's playout buffer",
        params: &[
            KP,
            FLOOR_GAIN,
            FREEZE,
            LOSS_GUARD,
            RTT_MIN_WINDOW,
            RTT_MAX_WINDOW,
            CCP_PACING,
            MAX_CWND,
            POB,
            POB_RATE,
            URGENT,
        ],
        phases: CCP_PHASES,
        details: CCP_DETAILS,
    },
    Control {
        name: "vegas",
        summary: "delay-based, the authors' rules without early retransmission: alpha to beta packets in the queue",
        params: &[
            int("alpha", 0, 1.0, (0.0, 1000.0), "packets", "backlog below which the window grows"),
            int("beta", 1, 3.0, (0.0, 1000.0), "packets", "backlog above which the window shrinks"),
            int("gamma", 2, 1.0, (0.0, 1000.0), "packets", "backlog that ends slow start"),
        ],
        phases: PHASES,
        details: &["base_rtt_us", "diff_packets"],
    },
    Control {
        name: "compound",
        summary: "Reno plus a delay window: fast while the queue is short, Reno when it is not",
        params: &[
            int("gamma", 0, 30.0, (1.0, 10_000.0), "packets", "backlog that makes it retreat"),
            q8("alpha", 1, 0.125, (0.0, 10.0), "growth per round is alpha win^(3/4) packets"),
            int("low_window", 2, 38.0, (0.0, 1000.0), "packets", "Reno below this window"),
            q8("zeta", 3, 1.0, (0.0, 10.0), "packets of retreat per packet of backlog"),
        ],
        phases: PHASES,
        details: &["base_rtt_us", "delay_window_packets", "backlog_packets"],
    },
    Control {
        name: "lia",
        summary: "MPTCP linked increases (RFC 6356): as much as the best path alone, shared over all",
        params: &[GROUP],
        phases: PHASES,
        details: COUPLED_DETAILS,
    },
    Control {
        name: "olia",
        summary: "MPTCP opportunistic linked increases: shifts window to the best paths",
        params: &[GROUP],
        phases: PHASES,
        details: COUPLED_DETAILS,
    },
    Control {
        name: "newcwv",
        summary: "Reno with RFC 7661 window validation, for rate-limited senders; wants tcp_slow_start_after_idle=0",
        params: &[PACING],
        phases: PHASES,
        details: NEWCWV_DETAILS,
    },
    Control {
        name: "newcwvcubic",
        summary: "CUBIC with RFC 7661 window validation; wants tcp_slow_start_after_idle=0",
        params: &[PACING],
        phases: PHASES,
        details: NEWCWV_DETAILS,
    },
];

/// The control called `name`, or a line that says which there are.
pub fn find(name: &str) -> Result<&'static Control, String> {
    CONTROLS.iter().find(|c| c.name == name).ok_or_else(|| unknown(name))
}

/// Names of all controls.
pub fn names() -> Vec<&'static str> {
    CONTROLS.iter().map(|c| c.name).collect()
}

/// What to say of a name that no control has.
pub fn unknown(name: &str) -> String {
    names::unknown("control", name, &names())
}

/// The control that a registered name (`ccplb`, `ccplb.a1`) belongs to.
pub fn of_registered(name: &str) -> Option<&'static Control> {
    let base = name.split('.').next().unwrap_or(name);
    CONTROLS.iter().find(|c| c.name == base)
}

impl Control {
    /// The block with all defaults.
    pub fn defaults(&self) -> [u32; SLOTS] {
        let mut block = [0; SLOTS];
        for p in self.params {
            block[p.slot] = p.encode(p.default);
        }
        block
    }

    /// Set `name=value` in `block`. Errors: unknown name, not a number, out of range; one line.
    pub fn set(&self, block: &mut [u32; SLOTS], assignment: &str) -> Result<(), String> {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| format!("`{assignment}`: a parameter is written NAME=VALUE"))?;
        let p = self.params.iter().find(|p| p.name == name).ok_or_else(|| {
            let names: Vec<_> = self.params.iter().map(|p| p.name).collect();
            names::unknown(&format!("parameter of {}", self.name), name, &names)
        })?;
        let number: f64 = value.parse().map_err(|_| format!("`{assignment}`: `{value}` is not a number"))?;
        if !(p.min..=p.max).contains(&number) {
            return Err(format!("`{assignment}` is out of range; allowed: {} to {} {}", p.min, p.max, p.unit)
                .trim_end()
                .into());
        }
        block[p.slot] = p.encode(number);
        Ok(())
    }
}

impl Param {
    fn encode(&self, value: f64) -> u32 {
        (value * self.scale).round() as u32
    }

    /// The value in `block`, in the parameter's own unit.
    pub fn decode(&self, block: &[u32; SLOTS]) -> f64 {
        f64::from(block[self.slot]) / self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_file_has_an_entry_and_every_entry_a_file() {
        let mut built: Vec<_> = crate::objects::OBJECTS.iter().map(|(name, _)| *name).collect();
        let mut listed: Vec<_> = CONTROLS.iter().map(|c| c.name).collect();
        built.sort_unstable();
        listed.sort_unstable();
        assert_eq!(built, listed);
    }

    #[test]
    fn parameters_are_scaled_checked_and_read_back() {
        let ccplb = find("ccplb").unwrap();
        let mut block = ccplb.defaults();
        assert_eq!(block[0], 512); // Kp 2 in 1/256
        ccplb.set(&mut block, "kp=2.5").unwrap();
        assert_eq!(block[0], 640);
        assert_eq!(ccplb.params[0].decode(&block), 2.5);
        assert_eq!(ccplb.set(&mut block, "kp=9").unwrap_err(), "`kp=9` is out of range; allowed: 0.1 to 8");
        assert!(
            ccplb
                .set(&mut block, "kq=2")
                .unwrap_err()
                .starts_with("unknown parameter of ccplb `kq`; did you mean `kp`? there are: kp, ")
        );
        assert!(ccplb.set(&mut block, "kp=two").unwrap_err().contains("`two` is not a number"));
    }

    #[test]
    fn slots_are_distinct_and_in_the_block() {
        for c in CONTROLS {
            let mut slots: Vec<_> = c.params.iter().map(|p| p.slot).collect();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), c.params.len(), "{}", c.name);
            assert!(slots.iter().all(|s| *s < SLOTS), "{}", c.name);
            assert!(c.details.len() <= 8, "{}", c.name);
        }
    }
}
