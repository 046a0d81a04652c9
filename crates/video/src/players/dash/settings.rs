//! The settings of the player kind `dash` in a scenario.

use super::DashPlayer;
use super::catch_up::{CatchUp, Range};
use super::config::{
    BufferGoal, Claim, CmcdMode, DashConfig, Live, LiveDelivery, LowLatency, PRESETS, Room, ServerData,
};
use super::connections::{Connections, Protocol};
use super::retry::Retries;
use crate::Priority;
use crate::ServerPolicy;
use crate::abr;
use crate::cmcd::Event;
use crate::ladder::{Ladder, Presentation, SizeModel};
use crate::quality::{Measure, score_rungs};
use crate::registry::{INTERVAL, PlayerContext};
use crate::{ObjectKind, Player};
use playpath_units::{Bytes, Duration, Kind, ParamSpec, Params, Rate, Ratio};
use std::str::FromStr;

const RATES: Kind = Kind::Form("rising rates, such as \"300 kbit/s, 1 Mbit/s\"", |text| parse_rates(text).map(drop));
const VMAF: Kind = Kind::Form("scores from 0 to 100, such as \"38, 61.5, 80\"", |text| scores(Measure::Vmaf, text));
const SSIMPLUS: Kind =
    Kind::Form("scores from 0 to 100, such as \"40, 65, 82\"", |text| scores(Measure::SsimPlus, text));
const SSIM: Kind = Kind::Form("scores from 0 to below 1, such as \"0.9, 0.95\"", |text| scores(Measure::Ssim, text));

fn scores(measure: Measure, text: &str) -> Result<(), String> {
    measure.parse_list(text).map(drop).map_err(|_| String::new())
}

const SHARE_BELOW_ALL: Kind = Kind::Form("a share below 100 %, such as \"80 %\"", |text| match text.parse::<Ratio>() {
    Ok(share) if share.get() >= 1.0 => Err(String::new()),
    parsed => parsed.map(drop).map_err(|why| why.to_string()),
});
const COUNT: Kind = Kind::Form("a whole number up to 100", |text| match text.parse::<u32>() {
    Ok(0..=100) => Ok(()),
    _ => Err(format!("\"{text}\" is none")),
});
const CONNECTIONS: Kind =
    Kind::Form("\"persistent\", \"per-segment\", \"series of 30\" (requests each), \"parallel 4\"", |text| {
        text.parse::<Connections>().map(drop).map_err(|_| String::new())
    });

const PRIORITY: Kind = Kind::Form("a priority as RFC 9218 writes it, such as \"u=1, i\"", |text| {
    text.parse::<Priority>().map(drop).map_err(|()| String::new())
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
        "coefficient of variation of segment sizes, without a manifest",
    ),
    ParamSpec::text("audio", "none", Kind::Rate, "rate of an audio set of its own, where no manifest is given")
        .or("none"),
    ParamSpec::text("vmaf", "none", VMAF, "VMAF of each representation of the video, lowest rate first, as you measured it")
        .or("none")
        .since("0.2"),
    ParamSpec::text("ssimplus", "none", SSIMPLUS, "SSIMplus of each representation of the video, 0 to 100").or("none").since("0.2"),
    ParamSpec::text("ssim", "none", SSIM, "SSIM of each representation of the video, 0 to below 1").or("none").since("0.2"),
    ParamSpec::text("full_level", "client", Kind::Time, "requests stop at this buffer level").or("client"),
    ParamSpec::text("resume_level", "client", Kind::Time, "requests start again at this buffer level").or("client"),
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
        "after a switch up, buffered segments of lower rungs are replaced, from the playhead on (dash.js: on)",
    )
    .since("0.2"),
    ParamSpec::text(
        "device_buffer",
        "unlimited",
        Kind::Size,
        "maximum bytes of each media type buffered ahead of the playhead, as a device's decoder allows (Chromium's: 150 MB of video)",
    )
    .or("unlimited")
    .since("0.2"),
    ParamSpec::text("request_timeout", "client", Kind::PositiveTime, "with [origin]: time to wait for the first byte before a retry")
        .or("client")
        .since("0.2"),
    ParamSpec::text("retries", "client", COUNT, "with [origin]: attempts after the first, on each host")
        .or("client")
        .since("0.2"),
    ParamSpec::text("start_level", "segment", Kind::Time, "playback starts at this buffer level").or("segment"),
    ParamSpec::text("stall_resume_level", "segment", Kind::Time, "playback resumes after a stall at this buffer level").or("segment"),
    ParamSpec::text(
        "decoder_delay",
        "client",
        Kind::Time,
        "media at the end of the buffer that the decoder holds back until more arrives (browsers: 100 ms; low latency: nothing)",
    )
    .or("client")
    .since("0.2"),
    ParamSpec::text("connections", "client", CONNECTIONS, "use of connections").or("client"),
    ParamSpec::word(
        "http",
        "apart",
        &["apart", "http/1.1", "h2"],
        "apart: each kind of media has connections of its own, used as `connections` says; http/1.1: all share those of the host, opened \
         when none is free, as in browsers; h2: all share one connection, side by side; over QUIC it is HTTP/3, whatever is \
         given here",
    )
    .since("0.2"),
    ParamSpec::whole("connections_per_host", 6, (1, 100), "", "HTTP/1.1: maximum number of connections to a host (Chromium, Firefox: 6)")
        .since("0.2"),
    ParamSpec::text("video_priority", "u=1, i", PRIORITY, "HTTP/2 and HTTP/3: priority of the video (Chromium's of all that a page fetches)")
        .since("0.2"),
    ParamSpec::text("audio_priority", "u=1, i", PRIORITY, "HTTP/2 and HTTP/3: priority of the audio (Chromium's of all that a page fetches)")
        .since("0.2"),
    ParamSpec::text("idle_timeout", "never", Kind::Time, "the server closes connections idle for longer").or("never"),
    ParamSpec::text("pipeline_at", "client", SHARE_BELOW_ALL, "share of a response after which the next request is sent")
        .or("client"),
    ParamSpec::flag("abandonment", true, "whether the rule may abandon downloads"),
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
    ParamSpec::word(
        "cmcd_claim",
        "honest",
        &["honest", "empty", "full"],
        "what the client data reports about the buffer: the truth, or always empty, or always full",
    )
    .since("0.2"),
    ParamSpec::text("cmcd_lag", "0 s", Kind::Time, "delay of the client data: they carry the level at the last request that is at least this old")
        .since("0.2"),
    ParamSpec::text(
        "cmcd_events",
        "none",
        EVENTS,
        "reports of client data beside the requests (CMCD v2, event mode): of ps (state of playback), bc (change of rate), t (every \
         `cmcd_interval`), e (error), rr (a response was received: CMCD's response mode)",
    )
    .or("none")
    .since("0.2")
    .in_kernel(
        "POSTs on a connection of their own to a collector on the first path, which hands them to the control; needs `cmcd` = \"v2\"; \
         not with low latency, [origin], `kind` = \"agent\" or competing sessions; dash.js has no bc",
    ),
    ParamSpec::text("cmcd_interval", "30 s", INTERVAL, "interval of the periodic reports (dash.js: 30 s)").since("0.2"),
    ParamSpec::flag("cmsd", false, "the server tells its throughput estimate (etp) and rtt with each response (CTA-5006)")
        .since("0.2")
        .in_kernel(
            "of the kernel's TCP (sock_diag), over one path; in the world wire of the endpoint's, over all; not with low latency, \
             [origin], `kind` = \"agent\" or competing sessions",
        ),
    ParamSpec::text("cmsd_mb", "none", Kind::Rate, "with cmsd: the server suggests no rate above this to a session (mb)")
        .or("none")
        .since("0.2"),
    ParamSpec::flag("apply_mb", false, "the player chooses no rate above the suggested one (dash.js applyMb)")
        .since("0.2")
        .in_kernel("with the player dashjs it needs `audio`, without which dash.js drops the suggestion"),
    ParamSpec::text("etp_weight", "0 %", Kind::Share, "share of etp in each throughput sample (dash.js etpWeightRatio)")
        .since("0.2"),
    ParamSpec::text("latency_target", "on-demand", Kind::Time, "play live, this far behind the edge").or("on-demand"),
    ParamSpec::text("skip_behind", "never", Kind::Time, "live: the player skips ahead when stalls have put it back by more than this").or("never"),
    ParamSpec::word(
        "low_latency",
        "off",
        &["off", "chunks", "parts"],
        "live: media before its segment is complete; chunks: CMAF chunks sent as they are encoded (LL-DASH); parts: a \
         blocking playlist, then a part (LL-HLS)",
    )
    .since("0.2"),
    ParamSpec::text("piece", "500 ms", INTERVAL, "low latency: duration of a chunk or part").since("0.2"),
    ParamSpec::number("playlist_bytes", 2000.0, (1.0, 1e6), "", "low latency in parts: size of a playlist").since("0.2"),
    ParamSpec::word(
        "join",
        "segment",
        &["segment", "any"],
        "live: the viewer joins at the start of a segment, or at a point of it that is drawn for each seed",
    )
    .since("0.2"),
    ParamSpec::word(
        "catch_up",
        "client",
        &["client", "off", "dash.js", "lol+", "hls.js", "shaka"],
        "live: control of the playback speed that keeps the latency; client: the client's own, which is dash.js's with low latency and off in the others",
    )
    .since("0.2"),
    ParamSpec::text("speeds", "law", SPEEDS, "minimum and maximum speed of `catch_up`; law: those of its own player")
        .or("law")
        .since("0.2"),
];

const EVENTS: Kind = Kind::Form("of ps, bc, t, e, rr, separated by commas, such as \"ps, t\"", |text| {
    parse_events(text).map(drop).ok_or_else(String::new)
});

fn parse_events(text: &str) -> Option<Vec<Event>> {
    let has = |event: &Event| {
        let (state, rate, clock) = (Event::PlayState, Event::BitrateChange, Event::Interval);
        [state, rate, clock, Event::Error, Event::ResponseReceived].contains(event)
    };
    text.split(',').map(|token| Event::of_token(token.trim()).filter(has)).collect()
}

const SPEEDS: Kind = Kind::Form("two speeds around 1, such as \"0.9 to 1.1\"", |text| {
    text.parse::<Range>().map(drop).map_err(|()| String::new())
});

impl FromStr for Range {
    type Err = ();

    fn from_str(text: &str) -> Result<Range, ()> {
        let (min, max) = text.split_once(" to ").ok_or(())?;
        let ppm = |text: &str| text.trim().parse::<f64>().map(|speed| (speed * 1e6).round()).map_err(drop);
        let (min, max) = (ppm(min)?, ppm(max)?);
        let is_allowed = (100_000.0..=1e6).contains(&min) && (1e6..=4e6).contains(&max);
        if is_allowed { Ok(Range { min_ppm: min as u32, max_ppm: max as u32 }) } else { Err(()) }
    }
}

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

fn own_rule(client: &str) -> &str {
    match client {
        "dash-js" => "dash-js",
        own @ ("dash.js" | "hls.js" | "shaka" | "exoplayer") => own,
        "sabre" => "bola flavour=sabre target=25",
        _ => "vlc",
    }
}

pub(super) fn build(context: &PlayerContext, settings: &Params) -> Result<Box<dyn Player>, String> {
    let mut presentation = match &context.presentation {
        Some(presentation) => presentation.clone(),
        None => of_settings(context, settings).map_err(|error| error.to_string())?,
    };
    presentation.video = scored(presentation.video, context, settings)?;
    let mut config = config(settings, presentation.video.segments());
    if config.cmcd == CmcdMode::V1 && !config.cmcd_events.is_empty() {
        return Err(
            "`cmcd_events` are of CMCD v2; allowed with them: `cmcd` = \"v2\", or \"off\" for reports alone".into()
        );
    }
    let needs_cmsd = [
        ("cmsd_mb", settings.word("cmsd_mb") != "none"),
        ("apply_mb", settings.flag("apply_mb")),
        ("etp_weight", settings.quantity::<Ratio>("etp_weight").get() > 0.0),
    ];
    if let (None, Some((key, _))) = (config.cmsd, needs_cmsd.iter().find(|(_, is_set)| *is_set)) {
        return Err(format!("`{key}` needs `cmsd` = true: without it the server sends no data"));
    }
    config.live = live(context, settings, &presentation.video)?;
    config.origin = context.origin.clone();
    if settings.optional::<Duration>("full_level").is_none()
        && let Some(Live { latency_target, low_latency: Some(_), .. }) = config.live
    {
        // dash.js: no more than the delay to the live edge is ever buffered.
        config.full_level = config.full_level.min(latency_target);
        config.resume_level = config.resume_level.min(config.full_level);
        (config.goal, config.room, config.check) = (BufferGoal::FullLevel, Room::Any, None);
    }
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

fn scored(mut video: Ladder, context: &PlayerContext, settings: &Params) -> Result<Ladder, String> {
    if let Some(table) = &context.quality {
        video = table.apply(video).map_err(|error| format!("`video.quality`: {error}"))?;
    }
    for measure in Measure::ALL {
        let typed = settings.word(measure.name());
        if typed != "none" {
            video = score_rungs(video, measure, &measure.parse_list(typed)?)?;
        }
    }
    Ok(video)
}

fn of_settings(context: &PlayerContext, settings: &Params) -> Result<Presentation, crate::ladder::LadderError> {
    let segment = settings.quantity("segment");
    let duration = settings.optional::<Duration>("duration").unwrap_or_else(|| context.media.duration);
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
        goal: if own_level.is_some() { BufferGoal::FullLevel } else { base.goal },
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
        decoder_delay: settings.optional("decoder_delay").unwrap_or(match low_latency(settings) {
            // Encoded without reordered pictures.
            Some(_) => Duration::ZERO,
            None => base.decoder_delay,
        }),
        connections: settings.optional::<Connections>("connections").unwrap_or(base.connections),
        pipeline_at: settings.optional::<Ratio>("pipeline_at").map(Ratio::get).or(base.pipeline_at),
        abandonment: settings.flag("abandonment"),
        device_bytes: settings.optional::<Bytes>("device_buffer").map(|bytes| bytes.0),
        retries: retries(settings, base.retries),
        cmcd: match settings.word("cmcd") {
            "v1" => CmcdMode::V1,
            "v2" => CmcdMode::V2,
            _ => CmcdMode::Off,
        },
        cmcd_claim: match settings.word("cmcd_claim") {
            "empty" => Claim::Empty,
            "full" => Claim::Full,
            _ => Claim::Honest,
        },
        cmcd_lag: settings.quantity("cmcd_lag"),
        cmsd: settings.flag("cmsd").then(|| ServerData {
            policy: ServerPolicy { max_rate: settings.optional("cmsd_mb") },
            apply_mb: settings.flag("apply_mb"),
            etp_weight: settings.quantity::<Ratio>("etp_weight").get(),
        }),
        // Checked when it was typed.
        cmcd_events: parse_events(settings.word("cmcd_events")).unwrap_or_default(),
        cmcd_interval: settings.quantity("cmcd_interval"),
        ..base
    };
    config.protocol = protocol(settings);
    config.connections.idle_timeout = settings.optional("idle_timeout");
    config.http.request_header_bytes = settings.number("request_header_bytes") as u32;
    config.http.response_header_bytes = settings.number("response_header_bytes") as u32;
    config.http.manifest_bytes = settings.number("manifest_bytes") as u64;
    config
}

fn protocol(settings: &Params) -> Protocol {
    let priority = |name| settings.word(name).parse().unwrap_or(Priority::UNSAID);
    match settings.word("http") {
        "http/1.1" => Protocol::Http1 { most: settings.number("connections_per_host") as u8 },
        "h2" => Protocol::Http2 { video: priority("video_priority"), audio: priority("audio_priority") },
        _ => Protocol::Apart,
    }
}

fn retries(settings: &Params, base: Retries) -> Retries {
    let own: Option<u32> = settings.optional("retries");
    Retries {
        errors: own.unwrap_or(base.errors),
        timeouts: own.unwrap_or(base.timeouts),
        timeout: settings.optional("request_timeout").unwrap_or(base.timeout),
        ..base
    }
}

fn live(context: &PlayerContext, settings: &Params, video: &Ladder) -> Result<Option<Live>, String> {
    let low_latency = low_latency(settings);
    let Some(latency_target) = settings.optional("latency_target") else {
        return match low_latency {
            Some(_) => Err("`low_latency` needs `latency_target`, such as \"3 s\"".into()),
            None => Ok(None),
        };
    };
    let mut stream = context.seed.stream("video/join");
    let drawn = || video.duration_of(0).mul_f64(stream.uniform());
    Ok(Some(Live {
        latency_target,
        skip_behind: settings.optional("skip_behind"),
        low_latency,
        joined_at: (settings.word("join") == "any").then(drawn),
        catch_up: catch_up(settings, low_latency.is_some()),
    }))
}

fn low_latency(settings: &Params) -> Option<LowLatency> {
    let delivery = match settings.word("low_latency") {
        "chunks" => LiveDelivery::Chunks,
        "parts" => LiveDelivery::Parts,
        _ => return None,
    };
    Some(LowLatency {
        delivery,
        piece: settings.quantity("piece"),
        playlist_bytes: settings.number("playlist_bytes") as u64,
    })
}

fn catch_up(settings: &Params, is_low_latency: bool) -> CatchUp {
    let own: Option<Range> = settings.optional("speeds");
    let range = |min_ppm, max_ppm| own.unwrap_or(Range { min_ppm, max_ppm });
    match settings.word("catch_up") {
        "client" if is_low_latency && settings.word("client") == "dash.js" => {
            CatchUp::DashJs(range(500_000, 1_500_000))
        }
        "dash.js" => CatchUp::DashJs(range(500_000, 1_500_000)),
        "lol+" => CatchUp::LolPlus(range(500_000, 1_500_000)),
        // maxLiveSyncPlaybackRate is 1 unless a page raises it; the documentation's example is 1.5.
        "hls.js" => CatchUp::HlsJs(range(1_000_000, 1_500_000)),
        "shaka" => CatchUp::Shaka(range(950_000, 1_100_000)),
        _ => CatchUp::Off,
    }
}

#[cfg(test)]
mod tests;
