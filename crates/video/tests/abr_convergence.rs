//! On a constant link each rule settles where its definition says.
//!
//! Ladder of the newCWV study (200 to 700 kbit/s, 2 s), 600 s, buffer 30 s, latency 0: every throughput sample is the link rate s.
//! Judged over the second half of the session.

use playpath_units::{Duration, Params, Rate, Time};
use playpath_video::abr;
use playpath_video::dash::DashConfig;
use playpath_video::ideal::{IdealLink, play};
use playpath_video::{DashPlayer, EventKind, Ladder, ObjectKind, Player, Presentation};

const KBPS: [u64; 7] = [200, 250, 300, 400, 500, 600, 700];

/// Rates of the second half in kbit/s, and the stalls of the whole session.
fn settled(rule: &str, words: &[(&str, &str)], link_kbps: u64, resume: u64) -> (Vec<u64>, usize) {
    let entry = abr::find(rule).unwrap();
    let mut params = Params::defaults(entry.params);
    words.iter().for_each(|(name, word)| params.set_word(name, word).unwrap());
    let rates = KBPS.map(|k| Rate::from_bits_per_sec(k * 1000));
    let video = Ladder::of_rates(ObjectKind::Video, &rates, Duration::from_secs(2), Duration::from_secs(600)).unwrap();
    let config = DashConfig { resume_level: Duration::from_secs(resume), ..DashConfig::default() };
    let presentation = Presentation { video, audio: None, is_live: false };
    let mut player = DashPlayer::new(config, presentation, (entry.build)(&params), None).unwrap();
    let link = IdealLink::constant(Rate::from_bits_per_sec(link_kbps * 1000), Duration::ZERO).unwrap();
    play(&mut player, &link, Time::from_secs(2000));
    let events = player.events();
    let rates = events.iter().filter_map(|event| match event.kind {
        EventKind::SegmentDecision { object, rate, .. } if object.segment >= 150 => Some(rate.as_bits_per_sec() / 1000),
        _ => None,
    });
    let stalls = events.iter().filter(|event| matches!(event.kind, EventKind::StallStart { .. })).count();
    (rates.collect(), stalls)
}

fn rung_at_most(kbps: f64) -> u64 {
    KBPS.into_iter().filter(|&rung| rung as f64 <= kbps).max().unwrap_or(KBPS[0])
}

fn settles_at(rule: &str, share: f64) {
    for link in [230, 340, 470, 560, 700, 740, 860, 1000, 3000] {
        let (rates, stalls) = settled(rule, &[], link, 20);
        let expected = rung_at_most(share * link as f64);
        assert!(rates.iter().all(|&rate| rate == expected), "{rule} at {link}: {rates:?}, expected {expected}");
        assert_eq!(stalls, 0, "{rule} at {link}");
    }
}

/// Fixed point 0.405 s / (1 − 0.495) = 0.80198 s; the highest rung below it. At 1 Mbit/s: 700; at 740 kbit/s: 593, so 500.
#[test]
fn dash_js_at_0_802_of_the_link() {
    settles_at("dash-js", 0.80198);
}

/// The session average is s. It is never above, so the rung fits and the buffer stays up.
#[test]
fn vlc_at_the_link() {
    for link in [230, 340, 470, 560, 740, 860, 3000] {
        let (rates, _) = settled("vlc", &[], link, 20);
        let expected = rung_at_most(link as f64);
        assert!(rates.iter().all(|&rate| rate == expected), "vlc at {link}: {rates:?}");
    }
}

/// Both averages are s; 0.9 of it.
#[test]
fn throughput_at_0_9_of_the_link() {
    settles_at("throughput", 0.9);
}

/// No error, so the prediction is s; with a good buffer the plan of 5 segments may use more than s for a while, but over time the
/// level cannot fall for ever: the mean is within a rung of s, and there is no stall.
#[test]
fn mpc_uses_the_link_without_stalls() {
    for link in [340, 470, 560, 740] {
        let (rates, stalls) = settled("mpc", &[], link, 30);
        let mean = rates.iter().sum::<u64>() as f64 / rates.len() as f64;
        assert!(
            mean > rung_at_most(link as f64) as f64 - 1.0 && mean < 1.05 * link as f64,
            "mpc at {link}: mean {mean}"
        );
        assert_eq!(stalls, 0);
    }
}

/// Buffer-based rules have no estimate: the level moves until what goes in equals what comes out. If the link is between two rungs
/// and the buffer never full, the mean rate is the link's rate (the level's change over 300 s, at most 30 s, is 10 % at most).
#[test]
fn buffer_based_rules_use_the_whole_link() {
    for (rule, words) in [("bba", &[][..]), ("bola", &[("variant", "basic")][..])] {
        for link in [280, 350, 470, 560, 650] {
            let (rates, stalls) = settled(rule, words, link, 30);
            let mean = rates.iter().sum::<u64>() as f64 / rates.len() as f64;
            assert!((mean / link as f64 - 1.0).abs() < 0.1, "{rule} at {link}: mean {mean}");
            assert_eq!(stalls, 0, "{rule} at {link}");
        }
        let (rates, _) = settled(rule, words, 3000, 30);
        assert!(rates.iter().all(|&rate| rate == 700), "{rule} on a fast link");
    }
}

/// Steps up are capped at 0.9 s (E, Dynamic); from there BOLA may stay. Never above the link for long, never under 0.9 s's rung.
#[test]
fn capped_rules_settle_between_0_9_and_1_of_the_link() {
    for rule in ["bola", "dynamic"] {
        for link in [340, 470, 560, 740, 860, 3000] {
            let (rates, stalls) = settled(rule, &[], link, 30);
            let (low, high) = (rung_at_most(0.9 * link as f64), rung_at_most(link as f64));
            assert!(rates.iter().all(|rate| (low..=high).contains(rate)), "{rule} at {link}: {rates:?}");
            assert_eq!(stalls, 0);
        }
    }
}

/// U and O take what the last throughput carries (U one more at times).
#[test]
fn bola_o_at_the_link() {
    for link in [340, 470, 560, 740] {
        let (rates, stalls) = settled("bola", &[("variant", "o")], link, 30);
        // The last segments are BOLA-FINITE's end game: the horizon shrinks with the time left.
        let steady = &rates[..100];
        assert!(steady.iter().all(|&rate| rate == rung_at_most(link as f64)), "bola o at {link}: {rates:?}");
        assert_eq!(stalls, 0);
    }
}
