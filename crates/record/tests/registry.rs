//! What every entry of the registry must be.

use playpath_record::registry::{Better, metrics};
use std::collections::BTreeSet;

#[test]
fn entries_are_whole() {
    let mut names = BTreeSet::new();
    for metric in metrics() {
        assert!(names.insert(metric.name), "{} stands twice", metric.name);
        assert!(!metric.label.is_empty() && metric.summary.contains('.'), "{}", metric.name);
        let ending = match metric.unit {
            "s" => "_s",
            "ms" => "_ms",
            "Mbit/s" => "_mbps",
            "kbit/s" => "_kbps",
            "bytes" => "_bytes",
            _ => "",
        };
        assert!(metric.name.ends_with(ending), "{} is in {}", metric.name, metric.unit);
        let is_criterion = metric.video_rank.is_some() || metric.bulk_rank.is_some();
        assert!(!is_criterion || metric.better != Better::Neither, "{}: no way is better", metric.name);
    }
}

/// Ranks are 1, 2, 3 and so on: no place is taken twice or left out.
#[test]
fn ranks_are_places() {
    let mut video: Vec<u8> = metrics().filter_map(|metric| metric.video_rank).collect();
    let mut bulk: Vec<u8> = metrics().filter_map(|metric| metric.bulk_rank).collect();
    for ranks in [&mut video, &mut bulk] {
        ranks.sort_unstable();
        assert!(ranks.iter().copied().eq(1..=ranks.len() as u8), "{ranks:?}");
    }
}

/// Every flow has a name of its own; two series of one name would overwrite one another.
#[test]
#[should_panic(expected = "two time series have the name Some(\"flow.a\")")]
fn two_series_of_one_name_are_a_broken_invariant() {
    let series = |name: &str| playpath_record::Series { name: name.into(), columns: Vec::new() };
    let measured =
        playpath_record::Measurements { series: vec![series("flow.a"), series("flow.a")], ..Default::default() };
    playpath_record::Record::of(measured);
}
