//! The registry of players: one entry per kind, with its parameters as they are typed in a scenario's `[player]`.
//!
//! Values are kept as text, because most are quantities ("1 s", "448 packets"): what is shown, checked and stored with a record
//! is what was typed.

use crate::Player;
use crate::agent::{AgentConfig, AgentPlayer, Overflow};
use crate::buffer::BufferSize;
use crate::media::Media;
use crate::progressive::{Policy, ProgressiveConfig, ProgressivePlayer, StartRule};
use crate::{Presentation, abr, dash};
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Rate, Ratio};
use std::fmt::Display;
use std::str::FromStr;
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
    /// Segment sizes are drawn from its stream "video/segment_sizes".
    pub seed: RootSeed,
    /// `dash`: chooses the video's representations in place of `abr`.
    pub rule: Option<abr::Prototype>,
}

/// What may be typed for a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A buffer size, or the given word.
    Buffer(Option<&'static str>),
    /// A time, or the given word.
    Time(Option<&'static str>),
    /// A time of 1 ms at least.
    Interval,
    /// A share in per cent.
    Share,
    /// A share below 100 %, or the given word.
    ShareOr(&'static str),
    /// A rate, or the given word.
    RateOr(&'static str),
    /// Rising rates, separated by commas.
    Rates,
    /// An adaptation rule with its parameters, "bola variant=u gp=5", or the given word.
    RuleOr(&'static str),
    /// Use of connections, or the given word.
    ConnectionsOr(&'static str),
    /// A number from, to.
    Number(f64, f64),
    /// One of a few words.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
}

/// A declared parameter.
#[derive(Clone, Copy, Debug)]
pub struct PlayerParam {
    /// Name as typed in a scenario.
    pub name: &'static str,
    /// Default as it would be typed.
    pub default: &'static str,
    /// What may be typed.
    pub kind: ParamKind,
    /// One line for users, with the source of the default.
    pub doc: &'static str,
}

/// Makes a player.
pub type Build = fn(&PlayerContext, &PlayerSettings) -> Result<Box<dyn Player>, String>;

/// What the registry knows of a player.
pub struct PlayerEntry {
    /// `kind` in a scenario.
    pub name: &'static str,
    /// One line for `playpath list player`.
    pub summary: &'static str,
    /// Paper or program.
    pub reference: &'static str,
    /// Declared parameters.
    pub params: &'static [PlayerParam],
    /// A new player. Error: settings that are allowed one by one and not together; one line.
    pub build: Build,
}

/// All players, in the order of `playpath list player`.
pub fn entries() -> &'static [&'static PlayerEntry] {
    static ENTRIES: [&PlayerEntry; 3] = [&PROGRESSIVE, &dash::ENTRY, &AGENT];
    &ENTRIES
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static PlayerEntry> {
    entries().iter().copied().find(|e| e.name == name)
}

/// A full set of values for one kind of player: defaults filled in, every value checked.
#[derive(Clone, Debug)]
pub struct PlayerSettings {
    params: &'static [PlayerParam],
    values: Vec<String>,
}

impl PlayerSettings {
    /// All defaults.
    pub fn defaults(entry: &PlayerEntry) -> PlayerSettings {
        PlayerSettings { params: entry.params, values: entry.params.iter().map(|p| p.default.to_string()).collect() }
    }

    /// Set a parameter. Errors: unknown name, or a value of the wrong kind; one line that says what is allowed.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(i) = self.params.iter().position(|p| p.name == name) else {
            let names: Vec<_> = self.params.iter().map(|p| p.name).collect();
            return Err(format!("unknown parameter `{name}`; allowed: {}", names.join(", ")));
        };
        self.params[i].kind.check(value).map_err(|why| format!("`{name}`: {why}"))?;
        self.values[i] = value.to_string();
        Ok(())
    }

    /// Every parameter with its value, in declared order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static PlayerParam, &str)> {
        self.params.iter().zip(self.values.iter().map(String::as_str))
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.iter().find(|(p, _)| p.name == name);
        found.map(|(_, value)| value).unwrap_or_else(|| panic!("parameter {name} is not declared"))
    }

    /// A checked value. Panics if the player did not declare it so: a broken invariant.
    pub(crate) fn get<T: FromStr>(&self, name: &str) -> T
    where
        T::Err: Display,
    {
        self.text(name).parse().unwrap_or_else(|e| panic!("parameter {name} passed its check: {e}"))
    }

    /// `None` for the word that the parameter allows besides.
    pub(crate) fn optional<T: FromStr>(&self, name: &str) -> Option<T> {
        self.text(name).parse().ok()
    }
}

impl ParamKind {
    /// What may be typed, for lists and error messages.
    pub fn allowed(&self) -> String {
        let or = |word: &Option<&str>| word.map_or(String::new(), |w| format!(", or \"{w}\""));
        match self {
            ParamKind::Buffer(word) => {
                format!("a buffer size, such as \"1 s\", \"300 kB\", \"448 packets\"{}", or(word))
            }
            ParamKind::Time(word) => format!("a time, such as \"50 ms\"{}", or(word)),
            ParamKind::Interval => "a time from \"1 ms\"".into(),
            ParamKind::Share => "a share, such as \"5 %\"".into(),
            ParamKind::ShareOr(word) => format!("a share below 100 %, such as \"80 %\", or \"{word}\""),
            ParamKind::RateOr(word) => format!("a rate, such as \"128 kbit/s\", or \"{word}\""),
            ParamKind::Rates => "rising rates, such as \"300 kbit/s, 1 Mbit/s\"".into(),
            ParamKind::RuleOr(word) => {
                let names: Vec<_> = abr::entries().iter().map(|entry| entry.name).collect();
                format!(
                    "\"{word}\", or a rule with parameters, such as \"bola variant=u\"; rules: {}",
                    names.join(", ")
                )
            }
            ParamKind::ConnectionsOr(word) => {
                format!(
                    "\"persistent\", \"per-segment\", \"series of 30\" (requests each), \"parallel 4\", or \"{word}\""
                )
            }
            ParamKind::Number(low, high) => format!("a number from {low} to {high}"),
            ParamKind::Word(words) => words.join(", "),
            ParamKind::Flag => "true, false".into(),
        }
    }

    fn check(&self, value: &str) -> Result<(), String> {
        let parses = match self {
            ParamKind::Buffer(word) | ParamKind::Time(word) if *word == Some(value) => true,
            ParamKind::ShareOr(word) | ParamKind::RateOr(word) | ParamKind::ConnectionsOr(word) if *word == value => {
                true
            }
            ParamKind::ShareOr(_) => value.parse::<Ratio>().is_ok_and(|share| share.get() < 1.0),
            ParamKind::RateOr(_) => value.parse::<Rate>().is_ok_and(|rate| rate > Rate::default()),
            ParamKind::Rates => dash::parse_rates(value).is_ok(),
            // Its own words are better than a list of what is allowed.
            ParamKind::RuleOr(word) => return if *word == value { Ok(()) } else { abr::parse(value).map(drop) },
            ParamKind::ConnectionsOr(_) => value.parse::<dash::Connections>().is_ok(),
            ParamKind::Buffer(_) => value.parse::<BufferSize>().is_ok(),
            ParamKind::Time(_) => value.parse::<Duration>().is_ok(),
            ParamKind::Interval => value.parse::<Duration>().is_ok_and(|t| t >= Duration::from_millis(1)),
            ParamKind::Share => value.parse::<Ratio>().is_ok(),
            ParamKind::Number(low, high) => value.parse::<f64>().is_ok_and(|x| (*low..=*high).contains(&x)),
            ParamKind::Word(words) => words.contains(&value),
            ParamKind::Flag => value.parse::<bool>().is_ok(),
        };
        if parses { Ok(()) } else { Err(format!("\"{value}\" is not allowed; allowed: {}", self.allowed())) }
    }
}

pub(crate) const fn param(
    name: &'static str,
    default: &'static str,
    kind: ParamKind,
    doc: &'static str,
) -> PlayerParam {
    PlayerParam { name, default, kind, doc }
}

static PROGRESSIVE: PlayerEntry = PlayerEntry {
    name: "progressive",
    summary: "one HTTP response, a cache, and a clock: VLC's catch-up or a browser's rebuffering",
    reference: "Cavendish et al. 2015 (CCP), VLC; HTML5 video",
    params: &[
        param(
            "buffer",
            "1 s",
            ParamKind::Buffer(None),
            "size of the cache; VLC's network cache is 1 s, the CCP papers use 1, 2, 3 s",
        ),
        param(
            "policy",
            "catch-up",
            ParamKind::Word(&["catch-up", "rebuffer"]),
            "late data: run on and discard (VLC), or stop the clock (browsers)",
        ),
        param(
            "start",
            "full",
            ParamKind::Word(&["full", "first-frame"]),
            "the clock starts when the cache is full, or the cache's length after the first picture",
        ),
        param(
            "late_threshold",
            "20 ms",
            ParamKind::Time(None),
            "catch-up: pictures later than this are discarded (VLC)",
        ),
        param("shift_after", "cache", ParamKind::Time(Some("cache")), "catch-up: later than this sets the clock back"),
        param(
            "max_shift",
            "5 s",
            ParamKind::Time(None),
            "catch-up: most that the clock is set back at once (VLC's clock-jitter)",
        ),
        param(
            "resume",
            "cache",
            ParamKind::Buffer(Some("cache")),
            "rebuffer: what must be there for the clock to go on",
        ),
        param(
            "drop_dependents",
            "false",
            ParamKind::Flag,
            "catch-up: also discard pictures that depend on a discarded one",
        ),
    ],
    build: |context, settings| {
        let config = ProgressiveConfig {
            buffer: settings.get("buffer"),
            policy: if settings.text("policy") == "rebuffer" { Policy::Rebuffer } else { Policy::CatchUp },
            start: if settings.text("start") == "full" { StartRule::CacheFull } else { StartRule::FirstFrame },
            late_threshold: settings.get("late_threshold"),
            shift_after: settings.optional("shift_after"),
            max_shift: settings.get("max_shift"),
            resume: settings.optional("resume"),
            drop_dependents: settings.get("drop_dependents"),
            packet_bytes: context.packet_bytes,
            ..ProgressiveConfig::default()
        };
        Ok(Box::new(ProgressivePlayer::new(context.media.clone(), config)))
    },
};

static AGENT: PlayerEntry = PlayerEntry {
    name: "agent",
    summary: "constant-rate media written in chunks and drained at the media rate; counts late packets",
    reference: "Boyden, Mahanti, Williamson 2007 (Vegas), section 4.2",
    params: &[
        param(
            "xfactor",
            "8",
            ParamKind::Number(0.01, 1e6),
            "the server writes so many times the media rate; 1 is constrained (paper: 8)",
        ),
        param("heartbeat", "100 ms", ParamKind::Interval, "interval of the server's writes (the paper does not say)"),
        param("start_share", "5 %", ParamKind::Share, "share of the media that is buffered before the start (paper)"),
        param(
            "buffer",
            "infinite",
            ParamKind::Buffer(Some("infinite")),
            "size of the buffer (paper: larger than needed)",
        ),
        param(
            "overflow",
            "backpressure",
            ParamKind::Word(&["backpressure", "discard"]),
            "a full buffer stops reading, or loses what comes",
        ),
    ],
    build: |context, settings| {
        let config = AgentConfig {
            xfactor: settings.get("xfactor"),
            heartbeat: settings.get("heartbeat"),
            start_share: settings.get::<Ratio>("start_share").get(),
            buffer: settings.optional("buffer"),
            overflow: if settings.text("overflow") == "discard" { Overflow::Discard } else { Overflow::Backpressure },
            packet_bytes: context.packet_bytes,
            ..AgentConfig::new(context.media.mean_rate(), context.media.duration())
        };
        Ok(Box::new(AgentPlayer::new(config)))
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::big_buck_bunny;
    use playpath_units::Time;

    fn context() -> PlayerContext {
        let media = Arc::new(Media::new(&big_buck_bunny()).unwrap());
        PlayerContext { media, packet_bytes: 1000, presentation: None, seed: RootSeed(1), rule: None }
    }

    #[test]
    fn every_default_passes_its_own_check_and_builds() {
        for entry in entries() {
            let defaults = PlayerSettings::defaults(entry);
            let mut typed = PlayerSettings::defaults(entry);
            for (param, value) in defaults.iter() {
                typed.set(param.name, value).unwrap();
            }
            let player = (entry.build)(&context(), &typed).unwrap();
            assert!(!player.is_finished());
        }
    }

    #[test]
    fn wrong_values_give_one_line_with_what_is_allowed() {
        let mut settings = PlayerSettings::defaults(find("progressive").unwrap());
        let unknown = settings.set("bufer", "1 s").unwrap_err();
        assert!(unknown.contains("allowed: buffer, policy"), "{unknown}");
        for (name, value) in [
            ("buffer", "1"),
            ("buffer", "1 bdp"),
            ("policy", "hope"),
            ("late_threshold", "20"),
            ("drop_dependents", "yes"),
        ] {
            let error = settings.set(name, value).unwrap_err();
            assert!(error.contains("allowed: ") && error.contains(value) && error.lines().count() == 1, "{error}");
        }
        let mut agent = PlayerSettings::defaults(find("agent").unwrap());
        assert!(agent.set("heartbeat", "0 s").is_err() && agent.set("start_share", "0.05").is_err());
        assert!(find("cassette").is_none());
    }

    /// Clip: 1 599 600 bit/s; 2 s are 399 900 B. Agent: 5 % of 1 055 736 B.
    #[test]
    fn settings_reach_the_player() {
        let buffer_of = |kind: &str, set: &[(&str, &str)]| {
            let entry = find(kind).unwrap();
            let mut settings = PlayerSettings::defaults(entry);
            for (name, value) in set {
                settings.set(name, value).unwrap();
            }
            (entry.build)(&context(), &settings).unwrap().app_parameters(Time::ZERO).playout_buffer_bytes
        };
        assert_eq!(buffer_of("progressive", &[("buffer", "2 s")]), 399_900);
        assert_eq!(buffer_of("progressive", &[("buffer", "7 packets")]), 7000);
        assert_eq!(buffer_of("agent", &[]), 52_787);
        assert_eq!(buffer_of("agent", &[("buffer", "10 kB"), ("overflow", "discard")]), 10_000);
    }
}
