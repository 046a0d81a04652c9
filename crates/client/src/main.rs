//! `playpath-client`: plays a video from a web server with a player of the simulator, and prints what the viewer saw.

mod connection;
mod session;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Time};
use playpath_video::media::{FrameTable, GopModel, Media, big_buck_bunny};
use playpath_video::registry::{PlayerContext, PlayerSettings, find};
use playpath_video::{Player, metrics};
use serde_json::{Map, Value, json};

const USAGE: &str = "\
playpath-client play SETTINGS       play, and print {metrics, body_bytes, elapsed_s} as JSON
playpath-client describe SETTINGS   print what the player tells a sender, {playout_buffer_bytes, video_kbps, duration_s}
SETTINGS is a JSON object: server (\"10.0.0.1:8080\"), path (of a large file), mss, until_s;
  video: {source: \"bigbuckbunny\" or {content: frame table}, rate, duration} or {rate, duration, fps, seed};
  player: {kind, and the settings of that kind}.";

/// Why it failed, and so the exit status.
enum Failure {
    Input(String),
    Run(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [verb, settings] if verb == "play" => parse(settings).and_then(|s| play(&s)),
        [verb, settings] if verb == "describe" => parse(settings).and_then(|s| describe(&s)),
        _ => Err(Failure::Input(USAGE.into())),
    };
    let (message, status) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Run(message)) => (message, 1),
        Err(Failure::Input(message)) => (message, 2),
    };
    eprintln!("playpath-client: {message}");
    ExitCode::from(status)
}

fn parse(settings: &str) -> Result<Value, Failure> {
    serde_json::from_str(settings).map_err(|e| Failure::Input(e.to_string()))
}

fn describe(settings: &Value) -> Result<(), Failure> {
    let report = player(settings).map_err(Failure::Input)?.app_parameters(Time::ZERO);
    let frames = frames(&settings["video"]).map_err(Failure::Input)?;
    println!(
        "{}",
        json!({
            "playout_buffer_bytes": report.playout_buffer_bytes,
            "video_kbps": report.video_rate.as_bits_per_sec() / 1000,
            "duration_s": frames.duration().as_secs_f64(),
        })
    );
    Ok(())
}

fn play(settings: &Value) -> Result<(), Failure> {
    let server: SocketAddr = parsed(settings, "server").map_err(Failure::Input)?;
    let path = text(settings, "path").map_err(Failure::Input)?;
    let until = settings["until_s"].as_f64().map_or(Time::MAX, Time::from_secs_f64);
    let mut player = player(settings).map_err(Failure::Input)?;
    let transfer = session::Session::new(&mut *player, server, path)
        .play(until)
        .map_err(|e| Failure::Run(format!("{server}: {e}")))?;
    let figures: Map<String, Value> =
        metrics::summarise(player.events()).into_iter().map(|(name, value)| (name.into(), json!(value))).collect();
    println!(
        "{}",
        json!({
            "metrics": figures,
            "body_bytes": transfer.body_bytes,
            "elapsed_s": transfer.elapsed.as_secs_f64(),
        })
    );
    Ok(())
}

fn player(settings: &Value) -> Result<Box<dyn Player>, String> {
    let player = &settings["player"];
    let kind = text(player, "kind")?;
    let entry = find(kind).ok_or_else(|| format!("no player `{kind}`"))?;
    let mut values = PlayerSettings::defaults(entry);
    for (name, value) in player.as_object().into_iter().flatten().filter(|(name, _)| *name != "kind") {
        values.set(name, value.as_str().unwrap_or(&value.to_string()))?;
    }
    let media = Media::new(&frames(&settings["video"])?).map_err(|e| e.to_string())?;
    let packet_bytes = settings["mss"].as_u64().and_then(|mss| u32::try_from(mss).ok()).ok_or("`mss` is missing")?;
    let seed = RootSeed(settings["seed"].as_u64().unwrap_or(0));
    (entry.build)(
        &PlayerContext { media: Arc::new(media), packet_bytes, presentation: None, seed, rule: None },
        &values,
    )
}

/// The video of a resolved scenario.
fn frames(video: &Value) -> Result<FrameTable, String> {
    let rate = optional::<Rate>(video, "rate")?;
    let duration = optional::<Duration>(video, "duration")?;
    let mut frames = match &video["source"] {
        Value::String(name) if name == "bigbuckbunny" => big_buck_bunny(),
        Value::Object(source) => {
            let content = source.get("content").and_then(Value::as_str).ok_or("`source` has no `content`")?;
            FrameTable::parse(content).map_err(|e| e.to_string())?
        }
        Value::Null => return model(video, rate, duration),
        other => return Err(format!("`source` = {other} is not a video of a resolved scenario")),
    };
    if let Some(duration) = duration {
        frames = frames.looped(duration);
    }
    match rate {
        Some(rate) => frames.scaled(rate).map_err(|e| e.to_string()),
        None => Ok(frames),
    }
}

fn model(video: &Value, rate: Option<Rate>, duration: Option<Duration>) -> Result<FrameTable, String> {
    let rate = rate.ok_or("`rate` of the video is missing")?;
    let duration = duration.ok_or("`duration` of the video is missing")?;
    let fps = video["fps"].as_f64().unwrap_or(30.0);
    let seed = video["seed"].as_u64().unwrap_or(1);
    GopModel { seed, ..GopModel::new(rate, duration, fps) }.frame_table().map_err(|e| e.to_string())
}

fn text<'a>(from: &'a Value, name: &str) -> Result<&'a str, String> {
    from[name].as_str().ok_or_else(|| format!("`{name}` is missing"))
}

fn parsed<T: std::str::FromStr>(from: &Value, name: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    let word = text(from, name)?;
    word.parse().map_err(|e| format!("`{name}` = \"{word}\": {e}"))
}

fn optional<T: std::str::FromStr>(from: &Value, name: &str) -> Result<Option<T>, String>
where
    T::Err: std::fmt::Display,
{
    if from[name].is_null() { Ok(None) } else { parsed(from, name).map(Some) }
}
