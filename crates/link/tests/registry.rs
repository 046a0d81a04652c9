//! The registries against the configurations they build.

mod support;

use playpath_link::registry::{self, Entry};
use playpath_link::{LinkConfig, LossConfig, QueueConfig};
use playpath_units::random::RootSeed;
use support::config;

/// Every entry: names are unique, settings are explained, defaults typed out mean the same as no settings at all.
fn check_entries<T: std::fmt::Debug>(entries: &'static [Entry<T>], needs: &[&str]) {
    for entry in entries {
        assert_eq!(entries.iter().filter(|other| other.name == entry.name).count(), 1, "{}", entry.name);
        assert!(registry::find(entries, entry.name).is_some() && !entry.summary.is_empty());
        let infos = (entry.settings)();
        assert!(infos.iter().all(|info| !info.doc.is_empty() && !info.allowed.is_empty()));
        let unknown = (entry.build)(&[("colour", "red")]).unwrap_err();
        assert!(unknown.starts_with("unknown setting `colour`; allowed: "), "{unknown}");
        if needs.contains(&entry.name) {
            continue;
        }
        let typed: Vec<_> = infos.iter().map(|info| (info.name, info.default.as_str())).collect();
        let built = (entry.build)(&typed).unwrap();
        assert_eq!(format!("{built:?}"), format!("{:?}", (entry.build)(&[]).unwrap()), "{}", entry.name);
    }
}

#[test]
fn defaults_typed_out_are_the_defaults() {
    check_entries(registry::queues(), &[]);
    check_entries(registry::losses(), &["pattern"]);
    check_entries(registry::servers(), &["trace"]);
    check_entries(registry::trace_generators(), &[]);
}

#[test]
fn every_queue_works_with_its_defaults() {
    for entry in registry::queues() {
        let queue = (entry.build)(&[]).unwrap();
        assert_eq!(queue.kind(), entry.name);
        LinkConfig { queue, ..config(10, 20) }.validate().unwrap();
    }
}

/// What a resolved scenario stores builds the same configuration again.
#[test]
fn settings_written_out_build_the_same_again() {
    let changed = [
        ("droptail", vec![("limit", "40 ms")]),
        ("red", vec![("queue_unit", "packets"), ("min_threshold_packets", "5.5"), ("max_p", "0.02"), ("ecn", "true")]),
        ("codel", vec![("target", "2.5 ms"), ("limit", "1 MB")]),
        ("fq_codel", vec![("flows", "16"), ("ecn", "false")]),
        ("pie", vec![("delay", "departure_rate"), ("ecn_threshold", "5 %"), ("alpha", "0.2")]),
    ];
    for (kind, settings) in changed {
        let entry = registry::find(registry::queues(), kind).unwrap();
        let queue: QueueConfig = (entry.build)(&settings).unwrap();
        assert_ne!(queue, (entry.build)(&[]).unwrap());
        let written = queue.settings();
        let written: Vec<_> = written.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!((entry.build)(&written).unwrap(), queue);
        assert!(settings.iter().all(|setting| written.contains(setting)), "{written:?}");
    }
    for (kind, settings) in
        [("gilbert_elliott", vec![("p", "2 %"), ("loss_in_bad", "50 %")]), ("pattern", vec![("content", "0010")])]
    {
        let entry = registry::find(registry::losses(), kind).unwrap();
        let loss: LossConfig = (entry.build)(&settings).unwrap();
        assert_eq!(loss.kind(), kind);
        let written = loss.settings();
        assert!(settings.iter().all(|(name, value)| written.contains(&(*name, (*value).to_owned()))), "{written:?}");
    }
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
    let build = |kind, settings: registry::Settings<'_>| {
        (registry::find(registry::queues(), kind).unwrap().build)(settings).unwrap_err()
    };
    for (kind, settings, expected) in [
        ("droptail", [("limit", "50")], "`limit`: \"50\" is not a queue limit; allowed: "),
        ("red", [("queue_unit", "bits")], "`queue_unit`: \"bits\" is not known; allowed: bytes, packets"),
        (
            "red",
            [("gentle", "yes")],
            "`gentle`: \"yes\": provided string was not `true` or `false`; allowed: true, false",
        ),
        ("pie", [("alpha", "x")], "`alpha`: \"x\": invalid float literal; allowed: 0 or more, in 1/s"),
        ("codel", [("target", "5")], "`target`: \"5\" has no unit"),
    ] {
        let message = build(kind, &settings);
        assert!(message.starts_with(expected), "{message}");
    }
    let server = |settings: registry::Settings<'_>| {
        (registry::find(registry::servers(), "trace").unwrap().build)(settings).unwrap_err()
    };
    assert!(server(&[("content", "5\n4\n")]).starts_with("trace, line 2: 4 ms is before"));
    assert!(server(&[("format", "pcap")]).starts_with("`format`: trace: \"pcap\" is not a trace format"));
}

#[test]
fn every_generator_makes_a_trace_from_its_defaults() {
    for entry in registry::trace_generators() {
        let generator = (entry.build)(&[]).unwrap();
        let make = |seed| generator.generate(&mut RootSeed(seed).stream("trace")).unwrap();
        assert_eq!(make(1), make(1), "{}", entry.name);
        let is_random = !matches!(entry.name, "constant" | "steps");
        assert_eq!(make(1) != make(2), is_random, "{}", entry.name);
    }
}
