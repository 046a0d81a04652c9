use super::*;
use crate::media::big_buck_bunny;
use playpath_units::Time;

fn context() -> PlayerContext {
    let media = Arc::new(Media::new(&big_buck_bunny()).unwrap());
    PlayerContext::new(media, 1000, RootSeed(1))
}

#[test]
fn every_default_passes_its_own_check_and_builds() {
    for entry in entries() {
        let defaults = Params::defaults(entry.params);
        let mut typed = Params::defaults(entry.params);
        for (param, value) in defaults.iter() {
            typed.set(param.name, value).unwrap();
        }
        let player = (entry.build)(&context(), &typed).unwrap();
        assert!(!player.is_finished());
    }
}

#[test]
fn wrong_values_give_one_line_with_what_is_allowed() {
    let mut settings = Params::defaults(find("progressive").unwrap().params);
    let unknown = settings.set_text("bufer", "1 s").unwrap_err();
    assert!(unknown.contains("did you mean \"buffer\"?"), "{unknown}");
    for (name, value) in
        [("buffer", "1"), ("buffer", "1 bdp"), ("policy", "hope"), ("late_threshold", "20"), ("drop_dependents", "yes")]
    {
        let error = settings.set_text(name, value).unwrap_err();
        assert!(error.contains(value) && error.lines().count() == 1, "{error}");
    }
    let mut agent = Params::defaults(find("agent").unwrap().params);
    assert!(agent.set_text("heartbeat", "0 s").is_err() && agent.set_text("start_share", "0.05").is_err());
    assert!(find("cassette").is_none());
}

/// Clip: 1 599 600 bit/s; 2 s are 399 900 B. Agent: 5 % of 1 055 736 B.
#[test]
fn settings_reach_the_player() {
    let buffer_of = |kind: &str, set: &[(&str, &str)]| {
        let entry = find(kind).unwrap();
        let mut settings = Params::defaults(entry.params);
        for (name, value) in set {
            settings.set_text(name, value).unwrap();
        }
        (entry.build)(&context(), &settings).unwrap().app_parameters(Time::ZERO).playout_buffer_bytes
    };
    assert_eq!(buffer_of("progressive", &[("buffer", "2 s")]), 399_900);
    assert_eq!(buffer_of("progressive", &[("buffer", "7 packets")]), 7000);
    assert_eq!(buffer_of("agent", &[]), 52_787);
    assert_eq!(buffer_of("agent", &[("buffer", "10 kB"), ("overflow", "discard")]), 10_000);
}
