//! The registry's entry for a metric; for an unknown one, an entry that never decides.

use playpath_record::registry::{Metric, metrics};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Units that a name ends in; docs/metrics.md.
const UNIT_ENDINGS: [(&str, &str); 7] = [
    ("_ms", "ms"),
    ("_s", "s"),
    ("_mbps", "Mbit/s"),
    ("_kbps", "kbit/s"),
    ("_packets", "packets"),
    ("_bytes", "bytes"),
    ("_kb", "kB"),
];

thread_local! {
    /// A study's own metrics: few, and each is made once.
    static OWN: RefCell<BTreeMap<String, &'static Metric>> = const { RefCell::new(BTreeMap::new()) };
}

/// The entry for a metric; for one that is not in the registry, an entry with the unit its name ends in.
pub fn metric(name: &str) -> &'static Metric {
    metrics().find(|metric| metric.name == name).unwrap_or_else(|| {
        OWN.with_borrow_mut(|own| *own.entry(name.to_string()).or_insert_with(|| Box::leak(Box::new(plain(name)))))
    })
}

fn plain(name: &str) -> Metric {
    let found = UNIT_ENDINGS.iter().find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, *unit)));
    let (label, unit) = found.unwrap_or((name, ""));
    let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    Metric::plain(kept(name.to_string()), kept(label.replace('_', " ")), unit)
}
