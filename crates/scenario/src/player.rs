//! The player: `[player]`. Its settings are those of the player registry, as `playpath list player` shows them.

use crate::ScenarioError;
use crate::params::{params_json, set_params};
use crate::reader::Table;
use crate::video::VideoSpec;
use playpath_units::Params;
use playpath_units::names::unknown;
use playpath_units::random::RootSeed;
use playpath_video::registry::{self, PlayerContext, PlayerEntry};
use playpath_video::{Player, abr};
use serde_json::Value;

/// A player by kind, with its settings.
#[derive(Clone)]
pub struct PlayerSpec {
    entry: &'static PlayerEntry,
    settings: Params,
    /// Chooses the video's representations: a prototype from outside the registry.
    rule: Option<abr::Prototype>,
}

impl PlayerSpec {
    /// Reads `[player]`; without it, the default is a progressive player, or DASH where the video has a manifest.
    pub(crate) fn read(root: &Table, video: &VideoSpec) -> Result<PlayerSpec, ScenarioError> {
        let default = if video.presentation.is_some() { "dash" } else { "progressive" };
        let table = root.table("player")?;
        let kind = table.as_ref().map(|t| t.text("kind")).transpose()?.flatten().unwrap_or(default);
        let names = registry::entries().iter().map(|e| e.name);
        let entry = registry::find(kind)
            .ok_or_else(|| table.as_ref().unwrap_or(root).error("kind", unknown("player", kind, names)))?;
        let mut settings = Params::defaults(entry.params);
        if let Some(table) = &table {
            set_params(table, &mut settings, &|_| Err("a player reads no files".into()))?;
        }
        let spec = PlayerSpec { entry, settings, rule: None };
        // Settings that do not fit together are found now, not in the first run.
        spec.build(video, 1448, RootSeed(0)).map_err(|e| table.as_ref().unwrap_or(root).error("player", e))?;
        Ok(spec)
    }

    /// A new player. Error: settings that do not fit together.
    pub fn build(&self, video: &VideoSpec, packet_bytes: u32, seed: RootSeed) -> Result<Box<dyn Player>, String> {
        let context = PlayerContext {
            media: video.media.clone(),
            packet_bytes,
            presentation: video.presentation.clone(),
            seed,
            rule: self.rule.clone(),
        };
        (self.entry.build)(&context, &self.settings)
    }

    /// The same player with a rule from outside the registry. Error: a player that does not adapt.
    pub fn with_rule(&self, rule: abr::Prototype) -> Result<PlayerSpec, ScenarioError> {
        if self.entry.name != "dash" {
            let kind = self.entry.name;
            return Err(ScenarioError::new(format!(
                "`player.kind` = \"{kind}\" does not adapt; an ABR rule needs \"dash\""
            )));
        }
        Ok(PlayerSpec { rule: Some(rule), ..self.clone() })
    }

    pub(crate) fn to_json(&self) -> Value {
        params_json("kind", self.entry.name, &self.settings)
    }
}
