//! The registry of players: one entry per kind, with its parameters in a scenario's `[player]`.
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

/// Inputs of a player's construction in addition to its settings.
#[derive(Clone)]
pub struct PlayerContext {
    pub media: Arc<Media>,
    /// The sender's payload per packet.
    pub packet_bytes: u32,
    /// The presentation of a manifest; without one, `dash` plays the ladder of its settings for the media's duration.
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
    /// Inputs for plain media: no manifest, no measured quality, no user-defined rule, an origin that answers at once.
    pub fn new(media: Arc<Media>, packet_bytes: u32, seed: RootSeed) -> PlayerContext {
        PlayerContext { media, packet_bytes, presentation: None, quality: None, seed, rule: None, origin: None }
    }
}

pub type Build = fn(&PlayerContext, &Params) -> Result<Box<dyn Player>, String>;

pub struct PlayerEntry {
    pub name: &'static str,
    /// One line for `playpath list player`.
    pub summary: &'static str,
    /// Paper or program.
    pub reference: &'static str,
    pub params: &'static [ParamSpec],
    /// A new player. Error: settings that are allowed one by one and not together; one line.
    pub build: Build,
}

/// All players, in the order of `playpath list player`.
pub fn entries() -> &'static [&'static PlayerEntry] {
    players::ENTRIES
}

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
mod tests;
