//! Decisions over an idealised transport, segment by segment, against sequences derived from the rules' published definitions
//! on three traces. The derivations stand in `tests/abr_traces/*.txt`, one file per rule: definition, worked steps, and a row per
//! decision with time, buffer level and the rule's intermediate values. They were worked out apart from this code, with the
//! definitions alone.

use playpath_units::{Duration, Params, Rate, Time};
use playpath_video::abr::{self, Abr};
use playpath_video::dash::DashConfig;
use playpath_video::ideal::{IdealLink, IdealStep, play};
use playpath_video::{DashPlayer, EventKind, Ladder, ObjectKind, Player, Presentation};
use std::fs;
use std::path::Path;

fn mbps(rate: f64) -> Rate {
    Rate::from_bits_per_sec_f64(rate * 1e6)
}

fn link(trace: &str) -> IdealLink {
    let step = |seconds: u64, rate: f64| IdealStep {
        duration: Duration::from_secs(seconds),
        rate: mbps(rate),
        latency: Duration::ZERO,
    };
    let steps = match trace {
        "constant" => vec![step(1, 2.2)],
        "step down" => vec![step(16, 3.0), step(1, 0.8)],
        "square wave" => vec![step(10, 3.0), step(10, 0.8)],
        other => panic!("unknown trace {other}"),
    };
    let mut link = IdealLink::new(steps).unwrap();
    link.repeats = trace == "square wave";
    link
}

/// Segment, time, level, choice of each decision.
fn decisions(rule: Box<dyn Abr>, trace: &str) -> Vec<(u32, f64, f64, u32)> {
    let rates = [0.5, 1.0, 2.0, 4.0].map(mbps);
    let video = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(4), Duration::from_secs(60)).unwrap();
    let config = DashConfig {
        full_level: Duration::from_secs(24),
        resume_level: Duration::from_secs(24),
        abandonment: false,
        ..DashConfig::default()
    };
    let presentation = Presentation { video, audio: None, is_live: false };
    let mut player = DashPlayer::new(config, presentation, rule, None).unwrap();
    play(&mut player, &link(trace), Time::from_secs(1000));
    let decision = |event: &playpath_video::PlaybackEvent| match event.kind {
        EventKind::SegmentDecision { object, buffer_level, .. } => {
            Some((object.segment, event.at.as_secs_f64(), buffer_level.as_secs_f64(), object.representation))
        }
        _ => None,
    };
    player.events().iter().filter_map(decision).collect()
}

fn rule_of(line: &str) -> Box<dyn Abr> {
    let mut words = line.trim_start_matches("rule ").split_whitespace();
    let entry = abr::find(words.next().unwrap()).unwrap();
    let mut params = Params::defaults(entry.params);
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        params.set_word(name, value).unwrap();
    }
    (entry.build)(&params)
}

fn agree(derivation: &str) {
    let rule = derivation.lines().next().unwrap();
    let mut traces = 0;
    for section in derivation.split("\ntrace ").skip(1) {
        let (title, rows) = section.split_once('\n').unwrap();
        let trace = title.split(':').next().unwrap();
        let got = decisions(rule_of(rule), trace);
        let rows: Vec<_> = rows.lines().filter(|row| !row.trim().is_empty()).collect();
        assert_eq!(got.len(), rows.len(), "{rule}, {trace}");
        for (row, (segment, at, level, choice)) in rows.iter().zip(got) {
            let number = |column: usize| row.split_whitespace().nth(column).unwrap().parse::<f64>().unwrap();
            let expected: u32 = row.rsplit("-> ").next().unwrap().trim().parse().unwrap();
            let here = format!("{rule}, {trace}: expected {row}\ngot {segment} {at:.3} {level:.3} -> {choice}");
            assert_eq!((segment, choice), (number(0) as u32, expected), "{here}");
            // The table has two places.
            assert!((at - number(1)).abs() < 0.006 && (level - number(2)).abs() < 0.006, "{here}");
        }
        traces += 1;
    }
    assert_eq!(traces, 3, "{rule}");
}

#[test]
fn every_derived_rule_agrees() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abr_traces");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 7, "{files:?}");
    files.iter().for_each(|file| agree(&fs::read_to_string(file).unwrap()));
}

/// The fixed rule needs no table.
#[test]
fn fixed() {
    for trace in ["constant", "step down", "square wave"] {
        let mut params = Params::defaults(abr::find("fixed").unwrap().params);
        params.set_number("representation", -1.0).unwrap();
        let got = decisions((abr::find("fixed").unwrap().build)(&params), trace);
        assert!(got.iter().all(|&(.., choice)| choice == 3) && got.len() == 15);
    }
}
