//! The registries against the configurations they build.

mod support;

use playpath_link::LinkConfig;
use playpath_link::registry::{self, Entry};
use playpath_units::Params;
use playpath_units::random::RootSeed;
use support::config;

/// Every entry: names are unique, settings are explained, defaults pass their own check and build.
fn check_entries<T>(what: &str, entries: &'static [Entry<T>]) {
    for entry in entries {
        let name = entry.about.name;
        assert_eq!(entries.iter().filter(|other| other.about.name == name).count(), 1, "{name}");
        assert!(registry::find(entries, what, name).is_ok() && !entry.about.summary.is_empty());
        assert!(entry.params.iter().all(|spec| !spec.doc.is_empty() && !spec.allowed().is_empty()));
        let defaults = Params::defaults(entry.params);
        assert!(defaults.iter().all(|(spec, value)| spec.check(value) == Ok(())), "{name}");
        assert!((entry.build)(&defaults).is_ok(), "{name}");
        let unknown = entry.with(&[("colour", "red")]).err().expect("there is no colour");
        assert!(unknown.starts_with("unknown parameter \"colour\"; allowed: "), "{unknown}");
    }
    let missing = registry::find(entries, what, "nonsense").err().expect("there is none");
    assert!(missing.starts_with(&format!("unknown {what} \"nonsense\"; allowed: ")), "{missing}");
}

#[test]
fn registries_are_sound() {
    check_entries("queue", registry::queues());
    check_entries("loss model", registry::losses());
    check_entries("generator", registry::trace_generators());
}

#[test]
fn every_queue_works_with_its_defaults() {
    for entry in registry::queues() {
        let queue = entry.with(&[]).unwrap();
        assert_eq!(queue.kind(), entry.about.name);
        LinkConfig { queue, ..config(10, 20) }.validate().unwrap();
    }
}

/// What a resolved scenario stores builds the same configuration again.
#[test]
fn settings_written_out_build_the_same_again() {
    let changed: [(&str, &[(&str, &str)]); 6] = [
        ("droptail", &[("limit", "40 ms")]),
        ("red", &[("queue_unit", "packets"), ("min_threshold_packets", "5.5"), ("max_p", "0.02"), ("ecn", "true")]),
        ("codel", &[("target", "2.5 ms"), ("limit", "1 MB")]),
        ("fq_codel", &[("flows", "16"), ("ecn", "false")]),
        ("dualpi2", &[("step", "2 ms"), ("coupling", "3"), ("overload", "overflow"), ("classic_protection", "20 %")]),
        ("pie", &[("delay", "departure_rate"), ("ecn_threshold", "5 %"), ("alpha", "0.2")]),
    ];
    for (kind, settings) in changed {
        let entry = registry::find(registry::queues(), "queue", kind).unwrap();
        let queue = entry.with(settings).unwrap();
        assert_ne!(queue, entry.with(&[]).unwrap());
        let written = queue.params();
        assert_eq!((entry.build)(&written).unwrap(), queue);
        assert!(settings.iter().all(|(name, value)| written.text(name) == *value), "{written:?}");
    }
    let changed: [(&str, &[(&str, &str)]); 2] =
        [("gilbert_elliott", &[("p", "2 %"), ("loss_in_bad", "50 %")]), ("pattern", &[("file", "0010")])];
    for (kind, settings) in changed {
        let entry = registry::find(registry::losses(), "loss model", kind).unwrap();
        let loss = entry.with(settings).unwrap();
        let written = loss.params();
        assert_eq!((loss.kind(), (entry.build)(&written).unwrap()), (kind, loss.clone()));
        assert!(settings.iter().all(|(name, value)| written.text(name) == *value), "{written:?}");
    }
}

#[test]
fn wrong_values_are_refused_with_what_is_allowed() {
    for (kind, setting, expected) in [
        ("droptail", ("limit", "50"), "`limit`: \"50\""),
        (
            "red",
            ("queue_unit", "bits"),
            "`queue_unit` = \"bits\" is not allowed; did you mean \"bytes\"? allowed: bytes, packets",
        ),
        ("red", ("gentle", "yes"), "`gentle` = \"yes\" is wrong; allowed: true, false"),
        ("pie", ("alpha", "x"), "`alpha` = \"x\" is wrong; allowed: 0 or more 1/s"),
        ("codel", ("target", "5"), "`target`: \"5\" has no unit"),
    ] {
        let entry = registry::find(registry::queues(), "queue", kind).unwrap();
        let message = entry.with(&[setting]).unwrap_err();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn every_generator_makes_a_trace_from_its_defaults() {
    for entry in registry::trace_generators() {
        let name = entry.about.name;
        let generator = entry.with(&[]).unwrap_or_else(|e| panic!("{name}: {e}"));
        let make = |seed| generator.generate(&mut RootSeed(seed).stream("trace")).unwrap();
        assert_eq!(make(1), make(1), "{name}");
        let is_random = !matches!(name, "constant" | "steps");
        assert_eq!(make(1) != make(2), is_random, "{name}");
    }
}
