//! The player kind `dash` as it is typed in a scenario.

use super::DashPlayer;
use super::config::{CmcdMode, Connections, DashConfig, Live, PRESETS};
use crate::abr;
use crate::ladder::{Ladder, Presentation, SizeModel};
use crate::registry::{ParamKind, PlayerContext, PlayerEntry, PlayerSettings, param};
use crate::{ObjectKind, Player};
use playpath_units::{Duration, Rate, Ratio};

/// The registry's entry.
pub(crate) static ENTRY: PlayerEntry = PlayerEntry {
    name: "dash",
    summary: "adaptive streaming: segments in representations that a rule chooses; fills and pauses",
    reference: "ISO/IEC 23009-1; DASH-JS, VLC 2.1, dash.js; newCWV study (2014)",
    params: &[
        param("client", "dash.js", ParamKind::Word(PRESETS), "buffer policy and connections of a known client"),
        param(
            "abr",
            "client",
            ParamKind::RuleOr("client"),
            "adaptation rule of the video; the client's own by default",
        ),
        param(
            "audio_abr",
            "fixed",
            ParamKind::RuleOr("client"),
            "adaptation rule of the audio, if it is a set of its own",
        ),
        param(
            "ladder",
            "200 kbit/s, 250 kbit/s, 300 kbit/s, 400 kbit/s, 500 kbit/s, 600 kbit/s, 700 kbit/s",
            ParamKind::Rates,
            "rates of the video, where no manifest is given (newCWV study)",
        ),
        param(
            "segment",
            "2 s",
            ParamKind::Interval,
            "duration of a segment, where no manifest is given (newCWV study)",
        ),
        param("duration", "media", ParamKind::Time(Some("media")), "duration, where no manifest is given"),
        param(
            "size_cv",
            "10 %",
            ParamKind::Share,
            "coefficient of variation of segment sizes, where they are not known",
        ),
        param(
            "audio",
            "none",
            ParamKind::RateOr("none"),
            "rate of an audio set of its own, where no manifest is given",
        ),
        param("full_level", "client", ParamKind::Time(Some("client")), "requests stop at this buffer level"),
        param("resume_level", "client", ParamKind::Time(Some("client")), "and start again at this one"),
        param("start_level", "segment", ParamKind::Time(Some("segment")), "playback starts at this level"),
        param(
            "stall_resume_level",
            "segment",
            ParamKind::Time(Some("segment")),
            "and goes on after a stall at this one",
        ),
        param("connections", "client", ParamKind::ConnectionsOr("client"), "use of connections"),
        param("idle_timeout", "never", ParamKind::Time(Some("never")), "the server closes connections idle for longer"),
        param(
            "pipeline_at",
            "client",
            ParamKind::ShareOr("client"),
            "share of a response after which the next is asked for",
        ),
        param("abandonment", "true", ParamKind::Flag, "let the rule give up downloads"),
        param(
            "request_header_bytes",
            "400",
            ParamKind::Number(0.0, 65_536.0),
            "HTTP request without client data (Chromium: about 400)",
        ),
        param(
            "response_header_bytes",
            "300",
            ParamKind::Number(0.0, 65_536.0),
            "HTTP response header (nginx, Apache: about 300)",
        ),
        param("manifest_bytes", "0", ParamKind::Number(0.0, 1e7), "size of the manifest fetched first; 0: none"),
        param("cmcd", "off", ParamKind::Word(&["off", "v1", "v2"]), "client data sent with each request"),
        param("latency_target", "on-demand", ParamKind::Time(Some("on-demand")), "play live, so far behind the edge"),
        param(
            "skip_behind",
            "never",
            ParamKind::Time(Some("never")),
            "live: skip when stalls have cost more than this",
        ),
    ],
    build,
};

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

fn build(context: &PlayerContext, settings: &PlayerSettings) -> Result<Box<dyn Player>, String> {
    let presentation = match &context.presentation {
        Some(presentation) => presentation.clone(),
        None => of_settings(context, settings).map_err(|error| error.to_string())?,
    };
    let config = config(settings, presentation.video.segments());
    let own_rule = match settings.text("client") {
        "dash-js" => "dash-js",
        "dash.js" => "dynamic",
        _ => "vlc",
    };
    let rule = |name: &str| {
        let typed = settings.text(name);
        abr::parse(if typed == "client" { own_rule } else { typed }).map(|(entry, params)| (entry.build)(&params))
    };
    let video_rule = match &context.rule {
        Some(make) => make(),
        None => rule("abr")?,
    };
    let player = DashPlayer::new(config, presentation, video_rule, Some(rule("audio_abr")?));
    Ok(Box::new(player.map_err(|error| error.to_string())?))
}

fn of_settings(context: &PlayerContext, settings: &PlayerSettings) -> Result<Presentation, crate::ladder::LadderError> {
    let segment = settings.get("segment");
    let duration = settings.optional::<Duration>("duration").unwrap_or_else(|| context.media.duration());
    let model = SizeModel { cv: settings.get::<Ratio>("size_cv").get(), ..SizeModel::default() };
    let mut stream = context.seed.stream("video/segment_sizes");
    // Checked when it was typed.
    let rates = parse_rates(settings.text("ladder")).unwrap_or_default();
    let video = Ladder::of_rates(ObjectKind::Video, &rates, segment, duration)?.with_drawn_sizes(model, &mut stream);
    let audio = match settings.optional::<Rate>("audio") {
        Some(rate) => Some(Ladder::of_rates(ObjectKind::Audio, &[rate], segment, duration)?),
        None => None,
    };
    Ok(Presentation { video, audio, is_live: settings.optional::<Duration>("latency_target").is_some() })
}

fn config(settings: &PlayerSettings, segments: usize) -> DashConfig {
    let base = DashConfig::preset(settings.text("client"), segments).unwrap_or_default();
    let full_level = settings.optional("full_level").unwrap_or(base.full_level);
    let mut config = DashConfig {
        full_level,
        // A client whose buffer is made smaller keeps its proportions.
        resume_level: settings
            .optional("resume_level")
            .unwrap_or_else(|| full_level.mul_f64(base.resume_level.ratio(base.full_level))),
        start_level: settings.optional("start_level").unwrap_or(base.start_level),
        stall_resume_level: settings.optional("stall_resume_level").unwrap_or(base.stall_resume_level),
        connections: settings.optional::<Connections>("connections").unwrap_or(base.connections),
        pipeline_at: settings.optional::<Ratio>("pipeline_at").map(Ratio::get).or(base.pipeline_at),
        abandonment: settings.get("abandonment"),
        cmcd: match settings.text("cmcd") {
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
    config.http.request_header_bytes = settings.get::<f64>("request_header_bytes") as u32;
    config.http.response_header_bytes = settings.get::<f64>("response_header_bytes") as u32;
    config.http.manifest_bytes = settings.get::<f64>("manifest_bytes") as u64;
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
        let mut settings = PlayerSettings::defaults(entry);
        for (name, value) in set {
            settings.set(name, value)?;
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

    #[test]
    fn what_does_not_go_together_is_one_line() {
        let error = |set: &[(&str, &str)]| build_with(set).map(drop).unwrap_err();
        assert_eq!(
            error(&[("full_level", "10 s"), ("resume_level", "20 s")]),
            "`resume_level` = \"20 s\"; allowed: more than 0 s, at most \"10 s\""
        );
        assert!(error(&[("ladder", "2 Mbit/s, 1 Mbit/s")]).contains("rising rates"));
        assert!(error(&[("abr", "bola variant=x")]).contains("basic, u, o, e"));
        assert!(error(&[("connections", "series of 0")]).contains("parallel 4"));
        assert!(error(&[("duration", "1000 h")]).contains("segments; allowed: 1 to 100000"));
    }
}
