//! The player: `[player]`. Its settings are those of the player registry, as `playpath list player` shows them.

use crate::ScenarioError;
use crate::origin::OriginSpec;
use crate::own::{Own, RuleSpec};
use crate::params::{params_json, set_params};
use crate::reader::Table;
use crate::sender::SenderSpec;
use crate::video::VideoSpec;
use playpath_units::random::RootSeed;
use playpath_units::{Choice, Duration, ParamSpec, Params, Rate, TableSpec, Variant};
use playpath_video::registry::{self, PlayerContext, PlayerEntry};
use playpath_video::{Player, abr};
use serde_json::Value;
use std::borrow::Cow;

pub const PLAYER: TableSpec =
    TableSpec::new("player", "What plays the video, with its parameters (`playpath list player`). Needs [video].", &[])
        .choosing(Choice {
            tag: "kind",
            what: "player",
            noun: "parameter",
            default: "",
            otherwise: "progressive; dash where the video has a manifest",
            variants: || {
                let variant = |e: &&'static PlayerEntry| Variant {
                    name: e.name,
                    aliases: &[],
                    summary: e.summary,
                    keys: e.params,
                };
                registry::entries().iter().map(variant).collect()
            },
        });

/// Settings that describe the segments of a video without a manifest.
const WITHOUT_MANIFEST: [&str; 5] = ["ladder", "segment", "duration", "audio", "size_cv"];

#[derive(Clone)]
pub struct PlayerSpec {
    entry: &'static PlayerEntry,
    settings: Params,
    /// Chooses the video's representations instead of `settings`: one from outside the registry.
    own_rule: Option<RuleSpec>,
    /// Instead of both: a prototype that is not named in the scenario.
    rule: Option<abr::Prototype>,
    origin: Option<OriginSpec>,
}

/// Of a ladder that `[player]` states: the last rate, since they rise. The ladder itself is read with the other parameters.
pub(crate) fn highest_rung(root: &Table) -> Option<Rate> {
    root.table("player")?.peek("ladder")?.as_str()?.rsplit(',').next()?.parse().ok()
}

impl PlayerSpec {
    /// Reads `[player]`; without it, the default is a progressive player, or DASH where the video has a manifest.
    pub(crate) fn read(root: &Table, video: &VideoSpec) -> Result<PlayerSpec, ScenarioError> {
        let default = if video.presentation.is_some() { "dash" } else { "progressive" };
        let table = root.table("player");
        let kind = table.as_ref().and_then(Table::chosen).unwrap_or(default);
        let entry = registry::find(kind).expect("checked");
        let mut settings = Params::defaults(entry.params);
        let own_rule = table.as_ref().filter(|_| kind == "dash").map(own_rule).transpose()?.flatten();
        if let Some(table) = &table {
            set_params(table, &mut settings, &|_| Err("a player reads no files".into()))?;
        }
        if video.presentation.is_some() && kind == "dash" {
            let defaults = Params::defaults(entry.params);
            let idle = WITHOUT_MANIFEST.iter().find(|key| settings.text(key) != defaults.text(key));
            if let (Some(table), Some(key)) = (&table, idle) {
                return Err(
                    table.error(key, "has no effect: the manifest has the ladder and its segments; leave it out")
                );
            }
        }
        let origin = OriginSpec::read(root)?;
        if origin.is_some() && kind != "dash" {
            return Err(root.error("origin", "needs `player.kind` = \"dash\": the others ask for one file"));
        }
        let spec = PlayerSpec { entry, settings, own_rule, rule: None, origin };
        // Settings that do not fit together are found now, not in the first run.
        spec.build(video, 1448, RootSeed(0)).map_err(|why| {
            let is_named = |param: &&ParamSpec| why.starts_with(&format!("`{}`", param.name));
            match (&table, entry.params.iter().find(is_named)) {
                (Some(table), Some(param)) => table.error(param.name, why),
                _ => root.error("player", why),
            }
        })?;
        Ok(spec)
    }

    /// A new player. Error: settings that do not fit together.
    pub fn build(&self, video: &VideoSpec, packet_bytes: u32, seed: RootSeed) -> Result<Box<dyn Player>, String> {
        let context = PlayerContext {
            media: video.media.clone(),
            packet_bytes,
            presentation: video.presentation.clone(),
            quality: video.quality.as_ref().map(|quality| quality.table.clone()),
            seed,
            rule: self.rule.clone().or_else(|| self.made_rule()),
            origin: self.origin.as_ref().map(|origin| origin.of(seed)),
        };
        (self.entry.build)(&context, &self.settings)
    }

    fn made_rule(&self) -> Option<abr::Prototype> {
        match &self.own_rule {
            Some(RuleSpec::Own(_, made)) => made.clone(),
            _ => None,
        }
    }

    /// A setting by which player and server tell one another more than requests and responses.
    pub(crate) fn signalling_setting(&self) -> Option<&'static str> {
        if !self.adapts() {
            return None;
        }
        let is_set =
            [("cmcd_events", self.settings.word("cmcd_events") != "none"), ("cmsd", self.settings.flag("cmsd"))];
        is_set.into_iter().find(|(_, is_set)| *is_set).map(|(key, _)| key)
    }

    pub(crate) fn origin(&self) -> Option<&OriginSpec> {
        self.origin.as_ref()
    }

    pub(crate) fn adapts(&self) -> bool {
        self.entry.name == "dash"
    }

    pub(crate) fn shows_pictures(&self) -> bool {
        self.entry.name != "agent"
    }

    pub(crate) fn is_live(&self) -> bool {
        self.adapts() && self.settings.optional::<Duration>("latency_target").is_some()
    }

    /// Whether a viewer can go to another place in the video.
    pub(crate) fn can_seek(&self) -> bool {
        self.adapts() && !self.is_live()
    }

    /// Several responses side by side on one connection.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.adapts() && self.settings.word("http") == "h2"
    }

    /// The rule of the user's own that `abr` names.
    pub(crate) fn own_rule(&self) -> Option<&RuleSpec> {
        self.own_rule.as_ref()
    }

    pub(crate) fn own_rule_mut(&mut self) -> Option<&mut RuleSpec> {
        self.own_rule.as_mut()
    }

    /// The player of this sender's viewers: with the sender's rule, and with a stream for each request where the transport has them, as browsers
    /// speak HTTP/3. Error: the sender has a rule and the player does not adapt.
    pub fn of(&self, sender: &SenderSpec) -> Result<Cow<'_, PlayerSpec>, ScenarioError> {
        let mut player = self.with_rule_of(sender)?;
        if sender.transport.has_streams() && self.entry.name == "dash" {
            player.to_mut().settings.set_word("http", "h2").map_err(ScenarioError::new)?;
        }
        Ok(player)
    }

    fn with_rule_of(&self, sender: &SenderSpec) -> Result<Cow<'_, PlayerSpec>, ScenarioError> {
        let Some(rule) = &sender.abr else { return Ok(Cow::Borrowed(self)) };
        let mut player = self.clone();
        if !self.adapts() {
            let (name, kind) = (&sender.name, self.entry.name);
            let message = format!(
                "sender \"{name}\": `abr` needs a player that adapts; `player.kind` is \"{kind}\", not \"dash\""
            );
            return Err(ScenarioError::new(message));
        }
        match rule {
            RuleSpec::Own(..) => player.own_rule = Some(rule.clone()),
            RuleSpec::Registered(text) => {
                player.own_rule = None;
                player.settings.set_text("abr", text).map_err(ScenarioError::new)?;
            }
        }
        Ok(Cow::Owned(player))
    }

    /// The same player with a rule from outside the registry. Error: a player that does not adapt.
    pub fn with_rule(&self, rule: abr::Prototype) -> Result<PlayerSpec, ScenarioError> {
        if !self.adapts() {
            let kind = self.entry.name;
            return Err(ScenarioError::new(format!(
                "`player.kind` = \"{kind}\" does not adapt; an ABR rule needs \"dash\""
            )));
        }
        Ok(PlayerSpec { rule: Some(rule), ..self.clone() })
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut settings = params_json("kind", self.entry.name, &self.settings);
        if let Some(rule) = &self.own_rule {
            settings["abr"] = rule.to_json();
        }
        settings
    }
}

/// `abr` where it names a rule of the user's own; left to the settings otherwise.
fn own_rule(table: &Table) -> Result<Option<RuleSpec>, ScenarioError> {
    let is_own = |value: &Value| value.is_object() || value.as_str().is_some_and(|text| Own::parse(text).is_some());
    if table.peek("abr").is_some_and(is_own) { RuleSpec::read(table) } else { Ok(None) }
}
