use super::*;
use crate::media::{Media, big_buck_bunny};
use crate::registry::find;
use playpath_units::Time;
use playpath_units::random::RootSeed;
use std::sync::Arc;

fn build_with(set: &[(&str, &str)]) -> Result<Box<dyn Player>, String> {
    let entry = find("dash").expect("registered");
    let mut settings = Params::defaults(entry.params);
    for (name, value) in set {
        settings.set_text(name, value)?;
    }
    let media = Arc::new(Media::new(&big_buck_bunny()).expect("the clip"));
    (entry.build)(&PlayerContext::new(media, 1000, RootSeed(1)), &settings)
}

/// The lowest rate, 300 kbit/s, for 10 s of buffer: 375 000 B.
#[test]
fn settings_reach_the_player() {
    let player = build_with(&[("ladder", "300 kbit/s, 1 Mbit/s"), ("full_level", "10 s"), ("abr", "bola variant=u")]);
    assert_eq!(player.unwrap().app_parameters(Time::ZERO).playout_buffer_bytes, 375_000);
}

/// Buffer of 18, 30, 10, 50 and 25 s at the lowest rate, 300 kbit/s, and the rule that belongs to the client.
#[test]
fn every_client_plays_with_its_own_buffer_and_rule() {
    let bytes = |client: &str| {
        let player = build_with(&[("client", client), ("ladder", "300 kbit/s, 1 Mbit/s")]);
        player.unwrap().app_parameters(Time::ZERO).playout_buffer_bytes
    };
    let levels = ["dash.js", "hls.js", "shaka", "exoplayer", "sabre"].map(|client| bytes(client) / 37_500);
    assert_eq!(levels, [18, 30, 10, 50, 25]);
    for client in PRESETS {
        assert!(abr::parse(own_rule(client)).is_ok(), "{client}");
    }
}

#[test]
fn what_does_not_go_together_is_one_line() {
    let error = |set: &[(&str, &str)]| build_with(set).map(drop).unwrap_err();
    assert_eq!(
        error(&[("full_level", "10 s"), ("resume_level", "20 s")]),
        "`resume_level` = \"20 s\"; allowed: more than 0 s, at most \"10 s\""
    );
    assert!(error(&[("ladder", "2 Mbit/s, 1 Mbit/s")]).contains("does not rise to 1 Mbit/s; allowed: rising rates"));
    assert!(error(&[("abr", "bola variant=x")]).contains("basic, u, o, e"));
    assert!(error(&[("connections", "series of 0")]).contains("parallel 4"));
    assert!(error(&[("duration", "1000 h")]).contains("segments; allowed: 1 to 100000"));
}
