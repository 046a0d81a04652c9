//! The contract of adaptation rules, over the whole registry and every variant.

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Kind, Params, Rate, Time};
use playpath_video::abr::{self, Abr, AbrEntry, Choice, Context, Decision, Download, HISTORY, PlayState, Progress};
use playpath_video::{Ladder, ObjectKind};

/// Defaults, and each word parameter at each of its words.
fn variants(entry: &'static AbrEntry) -> Vec<Params> {
    let mut all = vec![Params::defaults(entry.params)];
    for spec in entry.params {
        let Kind::Word(words) = spec.kind else { continue };
        for word in words {
            for base in all.clone() {
                let mut params = base;
                params.set_word(spec.name, word).unwrap();
                all.push(params);
            }
        }
    }
    all
}

fn ladders() -> Vec<Ladder> {
    let kbps = |rates: &[u64], segment: u64| {
        let rates: Vec<_> = rates.iter().map(|r| Rate::from_bits_per_sec(r * 1000)).collect();
        Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(segment), Duration::from_secs(120)).unwrap()
    };
    vec![kbps(&[500], 4), kbps(&[200, 250, 300, 400, 500, 600, 700], 2), kbps(&[1000, 2500, 5000], 3)]
}

/// Plays a random session with the rule; the link is random, so every branch is visited. Returns the decisions.
fn session(rule: &mut dyn Abr, ladder: &Ladder, seed: u64) -> Vec<Decision> {
    let mut stream = RootSeed(seed).stream("contract");
    let (mut decisions, mut downloads) = (Vec::new(), Vec::<Download>::new());
    let (mut now, mut level, mut previous) = (Time::ZERO, 0.0f64, None);
    let mut segment = 0;
    while segment < ladder.segments() {
        let state = match () {
            () if segment == 0 => PlayState::StartingUp,
            () if level == 0.0 => PlayState::Stalled,
            () => PlayState::Playing,
        };
        let base = Context {
            live: None,
            now,
            segment,
            buffer_level: Duration::from_secs_f64(level),
            buffer_capacity: Duration::from_secs(30),
            ladder,
            state,
            previous,
            downloads: &[],
            idle: Duration::ZERO,
        };
        let decision = rule.choose(&Context { downloads: &downloads, ..base });
        decisions.push(decision);
        assert!(!decision.reason.is_empty());
        let choice = match decision.choice {
            Choice::Fetch(choice) => choice,
            Choice::WaitUntil(until) => {
                assert!(until > now, "waits until {until}, now {now}");
                assert_eq!(state, PlayState::Playing, "waits while not playing");
                let wait = until - now;
                (now, level) = (until, (level - wait.as_secs_f64()).max(0.0));
                continue;
            }
        };
        assert!(choice < ladder.count(), "{choice}");
        let bits = ladder.bytes(segment, choice) as f64 * 8.0;
        let took = Duration::from_secs_f64(bits / (1e6 * libm_exp(stream.normal())));
        let mut download = Download {
            segment,
            representation: choice,
            requested_at: now,
            started_at: now,
            first_byte_at: now + took / 10,
            completed_at: now + took / 2,
            bytes: ladder.bytes(segment, choice) / 2,
            level_at_request: Duration::from_secs_f64(level),
            level_before: Duration::from_secs_f64(level),
            is_abandoned: false,
            is_replacement: false,
            burst_bits_per_sec: None,
        };
        let progress = Progress { so_far: download, total_bytes: ladder.bytes(segment, choice), reports: 9 };
        let half_way = Context {
            now: now + took / 2,
            segment: segment + 1,
            previous: Some(choice),
            downloads: &downloads,
            ..base
        };
        if let Some(abandonment) = rule.abandon(&half_way, &progress) {
            assert!(abandonment.representation != choice, "abandons for the same");
        }
        (download.completed_at, download.bytes) = (now + took, ladder.bytes(segment, choice));
        downloads.push(download);
        downloads.drain(..downloads.len().saturating_sub(HISTORY));
        now += took;
        level = (level - took.as_secs_f64()).max(0.0) + ladder.segment_duration().as_secs_f64();
        (previous, segment) = (Some(choice), segment + 1);
        let after = Context {
            now,
            segment,
            previous,
            buffer_level: Duration::from_secs_f64(level),
            downloads: &downloads,
            ..base
        };
        rule.on_download(&after, &download);
        if level > 30.0 {
            (now, level) = (now + Duration::from_secs_f64(level - 30.0), 30.0);
        }
    }
    decisions
}

fn libm_exp(x: f64) -> f64 {
    // Coarse on purpose: a factor between 1/8 and 8.
    2f64.powi((x.clamp(-2.0, 2.0) * 1.5) as i32)
}

#[test]
fn choices_are_valid_waits_end_and_answers_repeat() {
    for entry in abr::entries() {
        for params in variants(entry) {
            for (index, ladder) in ladders().iter().enumerate() {
                for seed in 0..5 {
                    let first = session((entry.build)(&params).as_mut(), ladder, seed);
                    let again = session((entry.build)(&params).as_mut(), ladder, seed);
                    assert_eq!(first, again, "{} on ladder {index} is not deterministic", entry.name);
                }
            }
        }
    }
}

#[test]
fn a_ladder_of_one_rung_leaves_no_choice() {
    let ladder = &ladders()[0];
    for entry in abr::entries() {
        let mut rule = abr::build(entry.name).unwrap();
        let choices = session(rule.as_mut(), ladder, 1);
        assert!(choices.iter().all(|d| matches!(d.choice, Choice::Fetch(0) | Choice::WaitUntil(_))));
    }
}

#[test]
fn registry_names_are_unique_and_defaults_within_range() {
    let names: Vec<_> = abr::entries().iter().map(|entry| entry.name).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    for entry in abr::entries() {
        for spec in entry.params {
            assert_eq!(spec.check(spec.default), Ok(()), "{}", spec.name);
        }
        assert!(abr::build(entry.name).is_some());
    }
}
