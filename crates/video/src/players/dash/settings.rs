//! The player kind `dash` as it is typed in a scenario.

use super::DashPlayer;
use super::config::{CmcdMode, Connections, DashConfig, Goal, Live, PRESETS, Room};
use crate::abr;
use crate::ladder::{Ladder, Presentation, SizeModel};
use crate::registry::{INTERVAL, PlayerContext};
use crate::{ObjectKind, Player};
use playpath_units::{Duration, Kind, ParamSpec, Params, Rate, Ratio};

const RATES: Kind = Kind::Form("rising rates, such as \"300 kbit/s, 1 Mbit/s\"", |text| parse_rates(text).map(drop));
const SHARE_BELOW_ALL: Kind = Kind::Form("a share below 100 %, such as \"80 %\"", |text| match text.parse::<Ratio>() {
    Ok(share) if share.get() >= 1.0 => Err(String::new()),
    parsed => parsed.map(drop).map_err(|why| why.to_string()),
});
const CONNECTIONS: Kind =
    Kind::Form("\"persistent\", \"per-segment\", \"series of 30\" (requests each), \"parallel 4\"", |text| {
        text.parse::<Connections>().map(drop).map_err(|_| String::new())
    });

pub(super) const PARAMS: &[ParamSpec] = &[
    ParamSpec::word("client", "dash.js", PRESETS, "buffer policy and connections of a known client"),
    ParamSpec::text("abr", "client", abr::RULE, "adaptation rule of the video; the client's own by default")
        .or("client"),
    ParamSpec::text(
        "audio_abr",
        "fixed",
        abr::REGISTERED_RULE,
        "adaptation rule of the audio, if it is a set of its own",
    )
    .or("client"),
    ParamSpec::text(
        "ladder",
        "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s",
        RATES,
        "rates of the video, where no manifest is given (newCWV study)",
    ),
    ParamSpec::text("segment", "2 s", INTERVAL, "duration of a segment, where no manifest is given (newCWV study)"),
    ParamSpec::text("duration", "media", Kind::Time, "duration, where no manifest is given").or("media"),
    ParamSpec::text(
        "size_cv",
        "10 %",
        Kind::Share,
        "coefficient of variation of segment sizes, where they are not known",
    ),
    ParamSpec::text("audio", "none", Kind::Rate, "rate of an audio set of its own, where no manifest is given")
        .or("none"),
    ParamSpec::text("full_level", "client", Kind::Time, "requests stop at this buffer level").or("client"),
    ParamSpec::text("resume_level", "client", Kind::Time, "and start again at this one").or("client"),
    ParamSpec::word(
        "room",
        "client",
        &["client", "whole", "any"],
        "whole: a segment must fit below full_level; any: the last one may exceed it",
    )
    .since("0.2"),
    ParamSpec::word(
        "fast_switch",
        "client",
        &["client", "on", "off"],
        "steps up replace buffered segments of lower rungs (dash.js: on)",
    )
    .since("0.2"),
    ParamSpec::text("start_level", "segment", Kind::Time, "playback starts at this level").or("segment"),
    ParamSpec::text("stall_resume_level", "segment", Kind::Time, "and goes on after a stall at this one").or("segment"),
    ParamSpec::text("connections", "client", CONNECTIONS, "use of connections").or("client"),
    ParamSpec::text("idle_timeout", "never", Kind::Time, "the server closes connections idle for longer").or("never"),
    ParamSpec::text("pipeline_at", "client", SHARE_BELOW_ALL, "share of a response after which the next is asked for")
        .or("client"),
    ParamSpec::flag("abandonment", true, "let the rule give up downloads"),
    ParamSpec::number(
        "request_header_bytes",
        400.0,
        (0.0, 65_536.0),
        "",
        "HTTP request without client data (Chromium: about 400)",
    ),
    ParamSpec::number(
        "response_header_bytes",
        300.0,
        (0.0, 65_536.0),
        "",
        "HTTP response header (nginx, Apache: about 300)",
    ),
    ParamSpec::number("manifest_bytes", 0.0, (0.0, 1e7), "", "size of the manifest fetched first; 0: none"),
    ParamSpec::word("cmcd", "off", &["off", "v1", "v2"], "client data sent with each request"),
    ParamSpec::text("latency_target", "on-demand", Kind::Time, "play live, so far behind the edge").or("on-demand"),
    ParamSpec::text("skip_behind", "never", Kind::Time, "live: skip when stalls have cost more than this").or("never"),
];

/// Rising rates, separated by commas.
pub(crate) fn parse_rates(text: &str) -> Result<Vec<Rate>, String> {
    let rates: Result<Vec<Rate>, _> =
        text.split(',').map(|rate| rate.parse::<Rate>().map_err(|e| e.to_string())).collect();
    let rates = rates?;
    match rates.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(format!("{} does not rise to {}", pair[0], pair[1])),
        None if rates[0] == Rate::default() => Err("a rate of zero".into()),
        None => Ok(rates),
    }
}

/// The rule that belongs to a client.
fn own_rule(client: &str) -> &str {
    match client {
        "dash-js" => "dash-js",
        own @ ("dash.js" | "hls.js" | "shaka" | "exoplayer") => own,
        "sabre" => "bola flavour=sabre target=25",
        _ => "vlc",
    }
}

pub(super) fn build(context: &PlayerContext, settings: &Params) -> Result<Box<dyn Player>, String> {
    let presentation = match &context.presentation {
        Some(presentation) => presentation.clone(),
        None => of_settings(context, settings).map_err(|error| error.to_string())?,
    };
    let config = config(settings, presentation.video.segments());
    let own_rule = own_rule(settings.word("client"));
    let rule = |name: &str| {
        let typed = settings.word(name);
        abr::parse(if typed == "client" { own_rule } else { typed }).map(|(entry, params)| (entry.build)(&params))
    };
    let video_rule = match &context.rule {
        Some(make) => make(),
        None => rule("abr")?,
    };
    let player = DashPlayer::new(config, presentation, video_rule, Some(rule("audio_abr")?));
    Ok(Box::new(player.map_err(|error| error.to_string())?))
}

fn of_settings(context: &PlayerContext, settings: &Params) -> Result<Presentation, crate::ladder::LadderError> {
    let segment = settings.quantity("segment");
    let duration = settings.optional::<Duration>("duration").unwrap_or_else(|| context.media.duration());
    let model = SizeModel { cv: settings.quantity::<Ratio>("size_cv").get(), ..SizeModel::default() };
    let mut stream = context.seed.stream("video/segment_sizes");
    // Checked when it was typed.
    let rates = parse_rates(settings.word("ladder")).unwrap_or_default();
    let video = Ladder::of_rates(ObjectKind::Video, &rates, segment, duration)?.with_drawn_sizes(model, &mut stream);
    let audio = match settings.optional::<Rate>("audio") {
        Some(rate) => Some(Ladder::of_rates(ObjectKind::Audio, &[rate], segment, duration)?),
        None => None,
    };
    Ok(Presentation { video, audio, is_live: settings.optional::<Duration>("latency_target").is_some() })
}

fn config(settings: &Params, segments: usize) -> DashConfig {
    let base = DashConfig::preset(settings.word("client"), segments).unwrap_or_default();
    let own_level: Option<Duration> = settings.optional("full_level");
    let full_level = own_level.unwrap_or(base.full_level);
    let mut config = DashConfig {
        full_level,
        // A level of one's own holds at every rung.
        goal: if own_level.is_some() { Goal::FullLevel } else { base.goal },
        fast_switch: match settings.word("fast_switch") {
            "client" => base.fast_switch,
            word => word == "on",
        },
        room: match settings.word("room") {
            "whole" => Room::Whole,
            "any" => Room::Any,
            _ => base.room,
        },
        // A client whose buffer is made smaller keeps its proportions.
        resume_level: settings
            .optional("resume_level")
            .unwrap_or_else(|| full_level.mul_f64(base.resume_level.ratio(base.full_level))),
        start_level: settings.optional("start_level").unwrap_or(base.start_level),
        stall_resume_level: settings.optional("stall_resume_level").unwrap_or(base.stall_resume_level),
        connections: settings.optional::<Connections>("connections").unwrap_or(base.connections),
        pipeline_at: settings.optional::<Ratio>("pipeline_at").map(Ratio::get).or(base.pipeline_at),
        abandonment: settings.flag("abandonment"),
        cmcd: match settings.word("cmcd") {
            "v1" => CmcdMode::V1,
            "v2" => CmcdMode::V2,
            _ => CmcdMode::Off,
        },
        live: settings
            .optional("latency_target")
            .map(|latency_target| Live { latency_target, skip_behind: settings.optional("skip_behind") }),
        ..base
    };
    config.connections.idle_timeout = settings.optional("idle_timeout");
    config.http.request_header_bytes = settings.number("request_header_bytes") as u32;
    config.http.response_header_bytes = settings.number("response_header_bytes") as u32;
    config.http.manifest_bytes = settings.number("manifest_bytes") as u64;
    config
}

#[cfg(test)]
mod tests {
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
        (entry.build)(
            &PlayerContext { media, packet_bytes: 1000, presentation: None, seed: RootSeed(1), rule: None },
            &settings,
        )
    }

    /// The lowest rate, 300 kbit/s, for 10 s of buffer: 375 000 B.
    #[test]
    fn settings_reach_the_player() {
        let player =
            build_with(&[("ladder", "300 kbit/s, 1 Mbit/s"), ("full_level", "10 s"), ("abr", "bola variant=u")]);
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
        assert!(
            error(&[("ladder", "2 Mbit/s, 1 Mbit/s")]).contains("does not rise to 1 Mbit/s; allowed: rising rates")
        );
        assert!(error(&[("abr", "bola variant=x")]).contains("basic, u, o, e"));
        assert!(error(&[("connections", "series of 0")]).contains("parallel 4"));
        assert!(error(&[("duration", "1000 h")]).contains("segments; allowed: 1 to 100000"));
    }
}
