//! Queues, with their settings as they are typed.

use super::Entry;
use crate::queue::{CoDelConfig, FqCoDelConfig, PieConfig, PieDelay, QueueConfig, RedConfig, RedUnit};
use crate::settings::{Field, apply, infos, or_auto, read, read_or_auto, read_word, values, word};
use playpath_units::QueueLimit;

impl QueueConfig {
    /// Name in the registry.
    pub fn kind(&self) -> &'static str {
        match self {
            QueueConfig::DropTail { .. } => "droptail",
            QueueConfig::Red(_) => "red",
            QueueConfig::CoDel(_) => "codel",
            QueueConfig::FqCoDel(_) => "fq_codel",
            QueueConfig::Pie(_) => "pie",
        }
    }

    /// Every setting with its value as it would be typed, for a resolved scenario.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        match self {
            QueueConfig::DropTail { limit } => values(limit, DROP_TAIL),
            QueueConfig::Red(config) => values(config, RED),
            QueueConfig::CoDel(config) => values(config, CODEL),
            QueueConfig::FqCoDel(config) => values(config, FQ_CODEL),
            QueueConfig::Pie(config) => values(config, PIE),
        }
    }
}

pub(super) static ENTRIES: [Entry<QueueConfig>; 5] = [
    Entry {
        name: "droptail",
        summary: "first in, first out; what does not fit is dropped",
        reference: "ns-2 DropTail; Linux pfifo, bfifo",
        settings: || infos(&DEFAULT_LIMIT, DROP_TAIL),
        build: |settings| apply(DEFAULT_LIMIT, DROP_TAIL, settings).map(|limit| QueueConfig::DropTail { limit }),
    },
    Entry {
        name: "red",
        summary: "random early detection: drops early as the average queue grows",
        reference: "Floyd, Jacobson 1993; ns-2.35 queue/red.cc",
        settings: || infos(&RedConfig::default(), RED),
        build: |settings| apply(RedConfig::default(), RED, settings).map(QueueConfig::Red),
    },
    Entry {
        name: "codel",
        summary: "controlled delay: drops from the head while packets wait too long",
        reference: "RFC 8289",
        settings: || infos(&CoDelConfig::default(), CODEL),
        build: |settings| apply(CoDelConfig::default(), CODEL, settings).map(QueueConfig::CoDel),
    },
    Entry {
        name: "fq_codel",
        summary: "flows take turns, sparse ones first, each with its own CoDel",
        reference: "RFC 8290",
        settings: || infos(&FqCoDelConfig::default(), FQ_CODEL),
        build: |settings| apply(FqCoDelConfig::default(), FQ_CODEL, settings).map(QueueConfig::FqCoDel),
    },
    Entry {
        name: "pie",
        summary: "drops on arrival with a probability steered by the queueing delay",
        reference: "RFC 8033",
        settings: || infos(&PieConfig::default(), PIE),
        build: |settings| apply(PieConfig::default(), PIE, settings).map(QueueConfig::Pie),
    },
];

const DEFAULT_LIMIT: QueueLimit = QueueLimit::Bdp(1.0);
const LIMIT: &str = "a queue limit: \"50 kB\", \"200 packets\", \"40 ms\", \"1 bdp\"";
const TIME: &str = "a time, such as \"5 ms\"";
const FLAG: &str = "true, false";
const UNITS: &[(&str, RedUnit)] = &[("bytes", RedUnit::Bytes), ("packets", RedUnit::Packets)];
const DELAYS: &[(&str, PieDelay)] = &[("timestamp", PieDelay::Timestamp), ("departure_rate", PieDelay::DepartureRate)];

/// `field!("name", allowed, "doc", config => place)`: a setting that is written with `Display` and read with `FromStr`.
macro_rules! field {
    ($name:literal, $allowed:expr, $doc:literal, $c:ident => $place:expr) => {
        Field {
            name: $name,
            allowed: $allowed,
            doc: $doc,
            write: |$c| $place.to_string(),
            read: |$c, text| read(&mut $place, text),
        }
    };
    ($name:literal, auto $allowed:expr, $doc:literal, $c:ident => $place:expr) => {
        Field {
            name: $name,
            allowed: $allowed,
            doc: $doc,
            write: |$c| or_auto(&$place),
            read: |$c, text| read_or_auto(&mut $place, text),
        }
    };
    ($name:literal, $words:ident $allowed:expr, $doc:literal, $c:ident => $place:expr) => {
        Field {
            name: $name,
            allowed: $allowed,
            doc: $doc,
            write: |$c| word($place, $words),
            read: |$c, text| read_word(&mut $place, text, $words),
        }
    };
}

const DROP_TAIL: &[Field<QueueLimit>] =
    &[field!("limit", LIMIT, "how much may wait, without the packet on the wire", c => *c)];

const RED: &[Field<RedConfig>] = &[
    field!("limit", LIMIT, "hard limit, counted in queue_unit (ns-2: 50 packets)", c => c.limit),
    field!("queue_unit", UNITS "bytes, packets", "what the queue is measured in (ns-2 queue_in_bytes_)", c => c.queue_unit),
    field!("drop_unit", UNITS "bytes, packets", "bytes: large packets are dropped more often (ns-2 bytes_)", c => c.drop_unit),
    field!("mean_packet_bytes", "1 or more", "mean packet size (ns-2 mean_pktsize_, there 500)", c => c.mean_packet_bytes),
    field!("min_threshold_packets", auto "above 0, or \"auto\"", "lower threshold; auto: half of target_delay, 5 or more", c => c.min_threshold_packets),
    field!("max_threshold_packets", auto "above the lower one, or \"auto\"", "upper threshold; auto: three times the lower one", c => c.max_threshold_packets),
    field!("queue_weight", auto "above 0 to 1, or \"auto\"", "weight of the newest sample; auto: from rate and delay as in ns-2", c => c.queue_weight),
    field!("max_p", "above 0 to 1", "drop probability at the upper threshold (ns-2 1/linterm_)", c => c.max_p),
    field!("target_delay", TIME, "delay that the automatic thresholds aim at (ns-2 targetdelay_)", c => c.target_delay),
    field!("gentle", FLAG, "rise to 1 above the upper threshold instead of jumping", c => c.gentle),
    field!("wait", FLAG, "keep drops apart", c => c.wait),
    field!("adaptive", FLAG, "let max_p follow the average queue (2001)", c => c.adaptive),
    field!("ecn", FLAG, "mark instead of dropping where the sender understands it", c => c.ecn),
];

const CODEL: &[Field<CoDelConfig>] = &[
    field!("limit", LIMIT, "hard limit (Linux: 1000 packets)", c => c.limit),
    field!("target", TIME, "acceptable standing delay (RFC 8289, 4.3)", c => c.target),
    field!("interval", TIME, "a worst-case round-trip time (RFC 8289, 4.2)", c => c.interval),
    field!("max_packet_bytes", "0 or more", "with this much or less waiting nothing is dropped", c => c.max_packet_bytes),
    field!("ecn", FLAG, "mark instead of dropping where the sender understands it", c => c.ecn),
];

const FQ_CODEL: &[Field<FqCoDelConfig>] = &[
    field!("limit", LIMIT, "hard limit of all flows together (RFC 8290, 5.2.3)", c => c.limit),
    field!("flows", "1 to 65536", "number of queues (RFC 8290, 5.2.5)", c => c.flows),
    field!("quantum_bytes", "1 or more", "bytes per round (RFC 8290, 5.2.4)", c => c.quantum_bytes),
    field!("target", TIME, "acceptable standing delay (RFC 8289, 4.3)", c => c.target),
    field!("interval", TIME, "a worst-case round-trip time (RFC 8289, 4.2)", c => c.interval),
    field!("drop_batch", "1 or more", "most packets dropped at once on overflow (Linux: 64)", c => c.drop_batch),
    field!("ecn", FLAG, "mark instead of dropping where the sender understands it", c => c.ecn),
];

const PIE: &[Field<PieConfig>] = &[
    field!("limit", LIMIT, "hard limit (Linux: 1000 packets)", c => c.limit),
    field!("target", TIME, "delay aimed at (RFC 8033: 15 ms)", c => c.target),
    field!("update_interval", TIME, "time between updates (RFC 8033: 15 ms)", c => c.update_interval),
    field!("alpha", "0 or more, in 1/s", "weight of the distance from the target (RFC 8033: 1/8)", c => c.alpha),
    field!("beta", "0 or more, in 1/s", "weight of the trend (RFC 8033: 1 1/4)", c => c.beta),
    field!("max_burst", TIME, "a burst this long passes without drops (RFC 8033: 150 ms)", c => c.max_burst),
    field!("delay", DELAYS "timestamp, departure_rate", "how the delay is learnt (Linux; RFC 8033, 5.2)", c => c.delay),
    field!("derandomize", FLAG, "spread drops evenly (RFC 8033, 5.4)", c => c.derandomize),
    field!("ecn", FLAG, "mark instead of dropping where the sender understands it", c => c.ecn),
    field!("ecn_threshold", "0 % to 100 %", "drop probability above which marking ends (RFC 8033, 5.1)", c => c.ecn_threshold),
];
