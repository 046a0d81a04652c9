//! Who watches: `[viewer]`. What they do is in `playpath_video::viewer`.

use crate::ScenarioError;
use crate::reader::Table;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Kind, ParamSpec, Ratio, TableSpec};
use playpath_video::Player;
use playpath_video::viewer::{RandomSeeks, Seek, Viewer, ViewerConfig};
use serde_json::{Value, json};

const SEEKS: Kind = Kind::Form(
    "seeks such as \"at 30 s to 90 s\" (time since pressing play) and \"from 60 s by -20 s\" (place in the video)",
    |text| Seek::parse_list(text).map(drop),
);

pub const VIEWER: TableSpec = TableSpec::new(
    "viewer",
    "What the viewer does: seeks, and leaving before the end. Applies to competing video sessions as well, each with its own random draws.",
    &[
        ParamSpec::new("leaves_after", Kind::PositiveTime, "The viewer leaves this long after pressing play.")
            .otherwise("watches to the end")
            .example("\"90 s\"")
            .in_kernel("of the playpath player")
            .since("0.2"),
        ParamSpec::new(
            "patience",
            Kind::PositiveTime,
            "The viewer leaves after waiting this long for playback: at start-up, in a stall or after a seek.",
        )
        .otherwise("waits for ever")
        .example("\"8 s\"")
        .in_kernel("of the playpath player")
        .since("0.2"),
        ParamSpec::new("stall_limit", Kind::PositiveTime, "The viewer leaves when the stalls add up to this time.")
            .otherwise("none")
            .example("\"20 s\"")
            .in_kernel("of the playpath player")
            .since("0.2"),
        ParamSpec::text(
            "law",
            "fixed",
            Kind::Described(&[
                ("fixed", "`leaves_after` and `patience` are those of every viewer"),
                ("exponential", "they are means; each viewer's are drawn"),
            ]),
            "How long viewers stay and wait.",
        )
        .since("0.2"),
        ParamSpec::new("seeks", SEEKS, "Seeks, one after the other; needs `player.kind` = \"dash\", on demand.")
            .otherwise("none")
            .example("[\"at 30 s to 90 s\", \"from 110 s by -40 s\"]")
            .in_kernel("of the playpath player")
            .since("0.2"),
        ParamSpec::new(
            "seek_every",
            Kind::PositiveTime,
            "Random seeks: mean of the exponentially distributed time between two.",
        )
        .otherwise("never")
        .example("\"40 s\"")
        .in_kernel("of the playpath player")
        .since("0.2"),
        ParamSpec::text(
            "seek_length",
            "30 s",
            Kind::PositiveTime,
            "Random seeks: mean of their exponentially distributed length.",
        )
        .since("0.2"),
        ParamSpec::text("seek_back", "30 %", Kind::Share, "Random seeks: share of those that go backwards.")
            .since("0.2"),
    ],
);

/// What viewers do; nothing but watching by default.
#[derive(Clone, Debug, Default)]
pub struct ViewerSpec {
    config: ViewerConfig,
    /// As given, for the resolved scenario.
    seeks: Vec<String>,
}

impl ViewerSpec {
    /// Reads `[viewer]`. Error: seeks for a player that cannot seek.
    pub(crate) fn read(root: &Table, can_seek: bool) -> Result<ViewerSpec, ScenarioError> {
        let Some(table) = root.table("viewer") else { return Ok(ViewerSpec::default()) };
        let seeks: Vec<String> = table.optional("seeks").unwrap_or_default();
        let (leaves_after, patience) = (table.optional("leaves_after"), table.optional("patience"));
        let has_times = leaves_after.is_some() || patience.is_some();
        let random_seeks = |every| RandomSeeks {
            every,
            length: table.get("seek_length"),
            back: table.get::<Ratio>("seek_back").get(),
        };
        let config = ViewerConfig {
            leaves_after,
            patience,
            stall_limit: table.optional("stall_limit"),
            is_drawn: has_times && table.word("law") == Some("exponential"),
            seeks: seeks.iter().flat_map(|text| Seek::parse_list(text).expect("checked")).collect(),
            random_seeks: table.optional("seek_every").map(random_seeks),
        };
        if config.has_seeks() && !can_seek {
            let key = if seeks.is_empty() { "seek_every" } else { "seeks" };
            return Err(table.error(key, "needs `player.kind` = \"dash\" without `latency_target`"));
        }
        Ok(ViewerSpec { config, seeks })
    }

    /// The player as the viewer called `name` uses it.
    pub fn watching(&self, player: Box<dyn Player>, name: &str, seed: RootSeed) -> Box<dyn Player> {
        if !self.config.is_any() {
            return player;
        }
        Box::new(Viewer::new(player, &self.config, seed.stream(&format!("viewer.{name}"))))
    }

    /// `None` where viewers do nothing but watch.
    pub(crate) fn to_json(&self) -> Option<Value> {
        let ViewerConfig { leaves_after, patience, stall_limit, is_drawn, random_seeks, .. } = &self.config;
        let text = |time: &Option<Duration>| time.map(|time| time.to_string());
        let back = random_seeks.and_then(|random_seeks| Ratio::new(random_seeks.back));
        self.config.is_any().then(|| {
            json!({
                "leaves_after": text(leaves_after),
                "patience": text(patience),
                "stall_limit": text(stall_limit),
                "law": is_drawn.then_some("exponential"),
                "seeks": Some(&self.seeks).filter(|seeks| !seeks.is_empty()),
                "seek_every": text(&random_seeks.map(|random_seeks| random_seeks.every)),
                "seek_length": text(&random_seeks.map(|random_seeks| random_seeks.length)),
                "seek_back": back.map(|back| back.to_string()),
            })
        })
    }
}
