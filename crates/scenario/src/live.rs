//! What a scenario puts on the wall clock: the same players and sources, with the same draws, for programs that run them over
//! real sockets (the kernel world). Nothing here reads a clock.

use crate::{Scenario, ScenarioError, Source, TrafficKind, TrafficSpec};
use playpath_link::EcnField;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Duration, Time};
use playpath_video::Player;
use playpath_video::traffic::{OnOffModel, WebModel};

/// A source of cross traffic, as the simulator would start it.
pub struct LiveSource {
    pub name: String,
    /// Position of its entry in `[[traffic]]`.
    pub group: usize,
    pub start: Time,
    /// When it ends, if before the run does.
    pub stop: Option<Time>,
    /// Round-trip delay on top of the path's.
    pub extra_rtt: Duration,
    pub kind: LiveKind,
}

pub enum LiveKind {
    Bulk,
    Web(WebModel, Stream),
    /// Datagrams, on and off, with their random stream.
    Udp(OnOffModel, EcnField, Stream),
    /// Pictures at a fixed interval; the programs of the wall clock have none.
    Frames,
    Video,
}

impl Scenario {
    /// The player of the session called `name`, new; the main one is "video". Error: there is no video.
    pub fn live_player(&self, name: &str, packet_bytes: u32, seed: u64) -> Result<Box<dyn Player>, ScenarioError> {
        let (Some(video), Some(player)) = (&self.video, &self.player) else {
            return Err(ScenarioError::new("a video session needs [video]".into()));
        };
        let player = player.build(video, packet_bytes, RootSeed(seed)).map_err(ScenarioError::new)?;
        Ok(self.viewer.watching(player, name, RootSeed(seed)))
    }

    pub fn live_sources(&self, seed: u64) -> Vec<LiveSource> {
        let seed = RootSeed(seed);
        let of_group = |(group, spec): (usize, &TrafficSpec)| {
            let path_rtt = self.first_path_rtt(&spec.sender.paths);
            let make = |Source { name, start_at, rtt, stream }| LiveSource {
                name,
                group,
                start: start_at,
                stop: spec.stop,
                extra_rtt: rtt.beyond(path_rtt),
                kind: match (spec.kind.web_model(), spec.kind.on_off_model()) {
                    (Some(model), _) => LiveKind::Web(model, stream),
                    (_, Some(model)) => LiveKind::Udp(model, spec.kind.field(), stream),
                    _ if spec.kind.frame_model().is_some() => LiveKind::Frames,
                    _ if spec.kind == TrafficKind::Video => LiveKind::Video,
                    _ => LiveKind::Bulk,
                },
            };
            spec.sources(group, seed).map(make).collect::<Vec<_>>()
        };
        self.traffic.iter().enumerate().flat_map(of_group).collect()
    }

    /// Of the path that a source over `paths` takes: the first of them, of all if there are none.
    fn first_path_rtt(&self, paths: &[String]) -> Duration {
        let found = self.paths.iter().find(|path| paths.is_empty() || paths.contains(&path.name));
        found.map_or(Duration::ZERO, |path| path.down.link.one_way_delay + path.up.link.one_way_delay)
    }

    pub fn has_video(&self) -> bool {
        self.video.is_some()
    }

    /// Playing time of the video; zero without one.
    pub fn media_duration(&self) -> Duration {
        self.video.as_ref().map_or(Duration::ZERO, |video| video.duration())
    }

    /// The end of a run at the latest. Without a stated duration a video gets four times its length and a minute, then the run is
    /// cut (with a warning); a scenario without video runs for a minute.
    pub fn limit(&self) -> Time {
        let default = self.media_duration() * 4 + Duration::from_secs(60);
        Time::ZERO + self.run.duration.unwrap_or(default)
    }

    pub fn sample_interval(&self) -> Duration {
        self.run.sample_interval
    }
}
