//! No rule allocates per decision. A binary of its own: it counts every allocation of the process.

use playpath_units::{Duration, Rate, Time};
use playpath_video::abr::{self, Choice, Context, Download, HISTORY, PlayState, Progress};
use playpath_video::{Ladder, ObjectKind};

#[test]
fn no_rule_allocates_after_it_is_built() {
    let rates = [300, 750, 1200, 1850, 2850, 4300].map(|k| Rate::from_bits_per_sec(k * 1000));
    let ladder = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(4), Duration::from_secs(400)).unwrap();
    let mut downloads = Vec::with_capacity(HISTORY + 1);
    for entry in abr::entries() {
        let mut rule = abr::build(entry.name).unwrap();
        downloads.clear();
        let count = allocation_counter::measure(|| {
            for segment in 0..ladder.segments() {
                decide(rule.as_mut(), &ladder, segment, &mut downloads);
            }
        });
        assert_eq!(count.count_total, 0, "{} allocates", entry.name);
    }
}

/// One segment: question, progress report, download. The level goes up and down between 0 and 20 s.
fn decide(rule: &mut dyn abr::Abr, ladder: &Ladder, segment: usize, downloads: &mut Vec<Download>) {
    let now = Time::from_secs(segment as u64 * 4);
    let level = Duration::from_secs(segment as u64 * 7 % 21);
    let context = Context {
        live: None,
        now,
        segment,
        buffer_level: level,
        buffer_capacity: Duration::from_secs(24),
        ladder,
        state: PlayState::Playing,
        previous: downloads.last().map(|download| download.representation),
        downloads,
        idle: Duration::ZERO,
    };
    let representation = match rule.choose(&context).choice {
        Choice::Fetch(representation) => representation,
        Choice::WaitUntil(_) => 0,
    };
    let download = Download {
        segment,
        representation,
        requested_at: now,
        started_at: now,
        first_byte_at: now + Duration::from_millis(50),
        completed_at: now + Duration::from_millis(2000 + segment as u64 * 37 % 900),
        bytes: ladder.bytes(segment, representation),
        level_at_request: level,
        level_before: level,
        is_abandoned: false,
        is_replacement: false,
        burst_bits_per_sec: None,
    };
    let so_far = Download { bytes: download.bytes / 3, ..download };
    rule.abandon(&context, &Progress { so_far, total_bytes: download.bytes, reports: 9 });
    if downloads.len() == HISTORY {
        downloads.remove(0);
    }
    downloads.push(download);
    let previous = Some(representation);
    let after = Context {
        live: None,
        now,
        segment: segment + 1,
        buffer_level: level,
        buffer_capacity: Duration::from_secs(24),
        ladder,
        state: PlayState::Playing,
        previous,
        downloads,
        idle: Duration::ZERO,
    };
    rule.on_download(&after, &download);
}

#[test]
fn the_counter_counts() {
    let count = allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 100])));
    assert_eq!(count.count_total, 1);
}
