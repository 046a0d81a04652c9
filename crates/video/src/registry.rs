//! The registry of players: one entry per kind, with its parameters as they are typed in a scenario's `[player]`.
//!
//! Quantities are kept as text ("1 s", "448 packets"): what is shown, checked and stored with a record is what was typed.

use crate::Player;
use crate::buffer::BufferSize;
use crate::media::Media;
use crate::origin::Origin;
use crate::quality::QualityTable;
use crate::{Presentation, abr, players};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Kind, ParamSpec, Params};
use std::sync::Arc;

/// What a player is built from besides its settings.
#[derive(Clone)]
pub struct PlayerContext {
    /// What is played.
    pub media: Arc<Media>,
    /// The sender's payload per packet.
    pub packet_bytes: u32,
    /// What a manifest offers; without one, `dash` plays the ladder of its settings for the media's duration.
    pub presentation: Option<Presentation>,
    /// Quality of the video's representations, measured beforehand.
    pub quality: Option<QualityTable>,
    /// Segment sizes are drawn from its stream "video/segment_sizes".
    pub seed: RootSeed,
    /// `dash`: chooses the video's representations in place of `abr`.
    pub rule: Option<abr::Prototype>,
    /// `dash`: what becomes of its requests; `None`: each is answered at once.
    pub origin: Option<Origin>,
}

impl PlayerContext {
    /// Of plain media: no manifest, no measured quality, no rule of one's own, an origin that answers at once.
    pub fn new(media: Arc<Media>, packet_bytes: u32, seed: RootSeed) -> PlayerContext {
        PlayerContext { media, packet_bytes, presentation: None, quality: None, seed, rule: None, origin: None }
    }
}

/// Makes a player.
pub type Build = fn(&PlayerContext, &Params) -> Result<Box<dyn Player>, String>;

/// What the registry knows of a player.
pub struct PlayerEntry {
    /// `kind` in a scenario.
    pub name: &'static str,
    /// One line for `playpath list player`.
    pub summary: &'static str,
    /// Paper or program.
    pub reference: &'static str,
    /// Declared parameters.
    pub params: &'static [ParamSpec],
    /// A new player. Error: settings that are allowed one by one and not together; one line.
    pub build: Build,
}

/// All players, in the order of `playpath list player`.
pub fn entries() -> &'static [&'static PlayerEntry] {
    players::ENTRIES
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static PlayerEntry> {
    entries().iter().copied().find(|e| e.name == name)
}

pub(crate) const BUFFER: Kind = Kind::Form("a buffer size, such as \"1 s\", \"300 kB\", \"448 packets\"", |text| {
    text.parse::<BufferSize>().map(drop).map_err(|why| why.to_string())
});
pub(crate) const INTERVAL: Kind = Kind::Form("a time from \"1 ms\"", |text| match text.parse::<Duration>() {
    Ok(time) if time < Duration::from_millis(1) => Err(format!("\"{text}\" is less than 1 ms")),
    parsed => parsed.map(drop).map_err(|why| why.to_string()),
});

#[cfg(test)]
mod tests {
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
        for (name, value) in [
            ("buffer", "1"),
            ("buffer", "1 bdp"),
            ("policy", "hope"),
            ("late_threshold", "20"),
            ("drop_dependents", "yes"),
        ] {
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
}
