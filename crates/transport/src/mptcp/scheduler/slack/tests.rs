use super::super::testing::{choice, context, view};
use super::*;
use playpath_units::Rate;

/// 2 Mbit/s and 10 s of buffer, of which `level` are there; objects as large as the rate says.
fn reported_level(level: f64) -> AppParameters {
    AppParameters {
        playout_buffer_bytes: 2_500_000,
        playout_buffer_free_bytes: Some(2_500_000 - (level * 250_000.0) as u64),
        video_rate: Rate::from_bits_per_sec(2_000_000),
        object_bytes: Some(1_000_000),
        object_duration: Some(Duration::from_secs(4)),
        ..AppParameters::default()
    }
}

fn slack(level: f64) -> Slack {
    let mut slack = Slack::new(&Params::defaults(ENTRY.params));
    slack.set_app_parameters(Time::ZERO, reported_level(level));
    slack
}

/// 500, 100 and 1000 packets/s: the last has the largest window per RTT, the second the lowest RTT.
fn unlike() -> [SubflowView; 3] {
    [view(0, 20, 10.0), view(1, 10, 1.0), view(2, 40, 40.0)]
}

/// The paths that take packets, in the order in which their windows fill.
fn order(scheduler: &mut Slack) -> Vec<usize> {
    let mut views = unlike();
    let mut taken = Vec::new();
    while let Some(path) = choice(scheduler, &views) {
        taken.push(path);
        views[path].in_flight = views[path].cwnd as u32;
    }
    taken
}

/// Calm from 8 s, alarmed below 4 s. 9 s: one path of three. 7 s: a quarter, one path. 6 s: a half, two, the fastest and the one with
/// the lowest RTT among the others. 3 s: all, lowest RTT first.
#[test]
fn paths_open_as_the_deadline_nears() {
    for (level, paths) in [(9.0, &[2][..]), (7.0, &[2]), (6.0, &[1, 2]), (3.0, &[1, 0, 2])] {
        assert_eq!(order(&mut slack(level)), paths, "{level} s");
    }
    assert_eq!(order(&mut Slack::new(&Params::defaults(ENTRY.params))), [1, 0, 2], "nothing told");
    let mut silent = slack(9.0);
    silent.playout = None;
    silent.set_app_parameters(Time::ZERO, AppParameters { playout_buffer_free_bytes: None, ..reported_level(0.0) });
    silent.note_progress(Time::from_secs(1), 2_250_000);
    assert_eq!(order(&mut silent), [1, 0, 2], "9 s of 10 that it may wait for to begin");
    silent.note_progress(Time::from_secs(2), 3_250_000);
    assert_eq!(order(&mut silent), [2], "13 s are a quarter more than it holds");
}

/// 1000 packets/s carry all; 1400 are not half as much again, 1600 are.
#[test]
fn the_first_path_is_not_left_for_a_little() {
    let mut scheduler = slack(9.0);
    let mut views = unlike();
    assert_eq!(choice(&mut scheduler, &views), Some(2));
    views[0].cwnd = 28.0;
    assert_eq!(choice(&mut scheduler, &views), Some(2));
    views[0].cwnd = 32.0;
    assert_eq!(choice(&mut scheduler, &views), Some(0));
    // A path that a timeout has stopped is left at once, and what it held does not wait for the first path.
    views[0].is_loss = true;
    assert_eq!(choice(&mut scheduler, &views), Some(2));
    views[2].in_flight = 40;
    assert_eq!(choice(&mut scheduler, &views), None, "the viewer has time to wait for it");
    let again = Context { is_reinjection: true, ..context(&views) };
    assert_eq!(scheduler.select(&again).path, Some(1));
}

/// Two seconds without a delivery take 2 s from the level: one path at 8.4 s, two at 6.4 s. With 500 000 bytes, 2 s, delivered
/// meanwhile the level stays.
#[test]
fn the_level_is_reckoned_from_what_the_receiver_has() {
    for (acknowledged, paths) in [(0, &[1, 2][..]), (500_000, &[2])] {
        let mut scheduler = slack(8.4);
        assert_eq!(order(&mut scheduler), [2]);
        scheduler.note_progress(Time::from_secs(2), acknowledged);
        assert_eq!(order(&mut scheduler), paths, "{acknowledged}");
    }
}

/// Four RTTs of 300 ms are 1.2 s: less is left at 1 s, more at 2 s. A player that starts has nothing left.
#[test]
fn copies_near_the_deadline() {
    let slowest = Duration::from_millis(300);
    for (level, wants) in [(1.0, true), (2.0, false)] {
        assert_eq!(slack(level).wants_copies(slowest), wants, "{level} s");
    }
    let mut starting = slack(9.0);
    starting.set_app_parameters(Time::ZERO, AppParameters { is_urgent: true, ..reported_level(9.0) });
    assert!(starting.wants_copies(slowest));
    assert!(!Slack::new(&Params::defaults(ENTRY.params)).wants_copies(slowest), "nothing told");
    let mut never = Params::defaults(ENTRY.params);
    never.set_number("copy", 0.0).expect("in range");
    let mut never = Slack::new(&never);
    never.set_app_parameters(Time::ZERO, reported_level(0.0));
    assert!(!never.wants_copies(slowest));
}
