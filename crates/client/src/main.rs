//! `playpath-client`: the simulator's players and cross traffic over real sockets. `plan.rs` has the format of a plan.

mod clock;
mod http;
mod origin;
mod plan;
mod playback;
mod reports;
mod socket;
mod sources;

use std::io::Read;
use std::process::ExitCode;

use playpath_scenario::{LiveKind, LiveSource};
use playpath_shell::{Failure, clap, say};
use playpath_units::Time;
use serde_json::{Value, json};

use plan::Plan;
use playback::{Playback, Span};
use sources::Sources;

/// The simulator's players and cross traffic over real sockets. Prints JSON.
#[derive(clap::Parser)]
#[command(name = "playpath-client", version)]
struct Arguments {
    verb: Verb,
    /// JSON file; crates/client/src/plan.rs has its format.
    plan: String,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Verb {
    /// What the run consists of: what the player tells a sender, its length, its cross traffic.
    Describe,
    /// Play the video, and print what the viewer saw.
    Play,
    /// Run the clients of the cross traffic; their counters are printed when standard input ends.
    Traffic,
    /// The servers of the cross traffic and of the streaming agent; a line when ready; until standard input ends.
    Serve,
}

fn main() -> ExitCode {
    playpath_shell::main(|Arguments { verb, plan: file }| {
        let wrong = |problem: String| Failure::Input(format!("{file}: {problem}"));
        let text = playpath_shell::read_text(file.as_ref()).map_err(|e| wrong(e.to_string()))?;
        let plan = Plan::parse(&text).map_err(|e| wrong(e.to_string()))?;
        match verb {
            Verb::Describe => describe(&plan),
            Verb::Play => play(&plan),
            Verb::Traffic => traffic(&plan),
            Verb::Serve => serve(&plan),
        }
    })
}

fn describe(plan: &Plan) -> Result<(), Failure> {
    let mut description = json!({
        "limit_s": plan.scenario.limit().as_secs_f64(),
        "sample_interval_s": plan.scenario.sample_interval().as_secs_f64(),
        "duration_s": plan.scenario.media_duration().as_secs_f64(),
        "sources": plan.scenario.live_sources(plan.seed).iter().map(describe_source).collect::<Vec<_>>(),
    });
    if plan.scenario.has_video() {
        let player = plan.scenario.live_player("video", plan.packet_bytes, plan.seed);
        let report = player.map_err(Failure::input)?.app_parameters(Time::ZERO);
        description["playout_buffer_bytes"] = json!(report.playout_buffer_bytes);
        description["video_kbps"] = json!(report.video_rate.as_bits_per_sec() / 1000);
        if let Some((bytes, length)) = report.whole {
            description["object_bytes"] = json!(bytes);
            description["object_ms"] = json!(length.as_secs_f64() * 1e3);
        }
    }
    say(&description)
}

fn describe_source(source: &LiveSource) -> Value {
    let kind = match source.kind {
        LiveKind::Bulk => "bulk",
        LiveKind::Web(..) => "web",
        LiveKind::Udp(..) => "udp",
        LiveKind::Frames => "frames",
        LiveKind::Video => "video",
    };
    json!({
        "name": source.name,
        "kind": kind,
        "group": source.group,
        "start_s": source.start.as_secs_f64(),
        "stop_s": source.stop.map(Time::as_secs_f64),
        "extra_rtt_s": source.extra_rtt.as_secs_f64(),
    })
}

fn play(plan: &Plan) -> Result<(), Failure> {
    let place = plan.video.as_ref().ok_or_else(|| Failure::Input("`video` is missing".into()))?;
    let player = plan.scenario.live_player("video", plan.packet_bytes, plan.seed);
    let player = player.map_err(Failure::input)?;
    let sampling = plan.trace.then(|| plan.scenario.sample_interval());
    let span = Span { start: Time::ZERO, until: plan.until, sampling };
    let mut session = Playback::new(player, place, plan.clock, span);
    if let Some(collector) = &plan.collector {
        session = session.reporting_to(collector, format!("playpath-{}", plan.seed));
    }
    session.play().map_err(|e| Failure::Run(format!("{}: {e}", place.server)))?;
    say(&session.to_json())
}

fn traffic(plan: &Plan) -> Result<(), Failure> {
    let sources = Sources::start(plan).map_err(Failure::input)?;
    wait_for_end_of_input();
    say(&sources.finish(plan.clock))
}

fn serve(plan: &Plan) -> Result<(), Failure> {
    if let Some(place) = &plan.origin {
        origin::serve(place).map_err(Failure::run)?;
    }
    for (source, place) in plan.scenario.live_sources(plan.seed).into_iter().zip(&plan.sources) {
        match source.kind {
            LiveKind::Udp(model, field, stream) => {
                let (place, clock) = (place.clone(), plan.clock);
                let span = (source.start, source.stop.unwrap_or(plan.until).min(plan.until));
                std::thread::spawn(move || sources::send_datagrams((model, field as u8), stream, span, &place, clock));
            }
            _ => origin::serve(place).map_err(Failure::run)?,
        }
    }
    say(&json!({ "ready": true }))?;
    wait_for_end_of_input();
    Ok(())
}

fn wait_for_end_of_input() {
    let mut ignored = [0; 64];
    while std::io::stdin().read(&mut ignored).is_ok_and(|count| count > 0) {}
}
