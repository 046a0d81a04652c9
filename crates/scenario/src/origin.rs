//! Where segments come from: `[origin]`. What becomes of a request is in `playpath_video::origin`.

use crate::ScenarioError;
use crate::reader::Table;
use playpath_units::random::RootSeed;
use playpath_units::{Duration, Kind, ParamSpec, Ratio, TableSpec, Time};
use playpath_video::Origin;
use serde_json::{Value, json};

pub const ORIGIN: TableSpec = TableSpec::new(
    "origin",
    "What serves the segments: cache misses, errors, requests that get no response, alternative hosts. Needs `player.kind` = \"dash\".",
    &[
        ParamSpec::text("misses", "0 %", Kind::Share, "Share of segments that the cache must fetch first.")
            .example("\"10 %\"")
            .since("0.2"),
        ParamSpec::text("miss_delay", "200 ms", Kind::PositiveTime, "Delay that a miss adds to the first byte.")
            .since("0.2"),
        ParamSpec::text(
            "law",
            "fixed",
            Kind::Described(&[
                ("fixed", "`miss_delay` for every miss"),
                ("exponential", "`miss_delay` is the mean; drawn for each segment"),
            ]),
            "How long a miss takes.",
        )
        .since("0.2"),
        ParamSpec::text("errors", "0 %", Kind::Share, "Share of requests that are answered with an error.")
            .example("\"1 %\"")
            .since("0.2"),
        ParamSpec::text("hangs", "0 %", Kind::Share, "Share of requests that are never answered.")
            .example("\"0.5 %\"")
            .since("0.2"),
        ParamSpec::new(
            "down",
            Kind::List(&Kind::Time, 2, 2),
            "Start and end, since the start of the run, of a period in which the first host answers with errors only.",
        )
        .otherwise("never")
        .example("[\"30 s\", \"50 s\"]")
        .since("0.2"),
        ParamSpec::whole(
            "hosts",
            1,
            (1, 16),
            "",
            "Number of hosts with the same segments, between which the player can switch.",
        )
        .example("2")
        .since("0.2"),
    ],
);

#[derive(Clone, Debug)]
pub struct OriginSpec {
    origin: Origin,
}

impl OriginSpec {
    /// Reads `[origin]`. Error: an outage that ends before it begins.
    pub(crate) fn read(root: &Table) -> Result<Option<OriginSpec>, ScenarioError> {
        let Some(table) = root.table("origin") else { return Ok(None) };
        let share = |key| table.get::<Ratio>(key).get();
        let down: Option<Vec<Duration>> = table.optional("down");
        let down = down.map(|times| (Time::ZERO + times[0], Time::ZERO + times[1]));
        if down.is_some_and(|(from, until)| from >= until) {
            return Err(table.error("down", "its end is not after its beginning"));
        }
        let misses = share("misses");
        let origin = Origin {
            misses,
            miss_delay: if misses > 0.0 { table.get("miss_delay") } else { Duration::from_millis(200) },
            is_drawn: misses > 0.0 && table.word("law") == Some("exponential"),
            errors: share("errors"),
            hangs: share("hangs"),
            down,
            hosts: table.get::<u32>("hosts") as u8,
            seed: RootSeed(0),
        };
        Ok(Some(OriginSpec { origin }))
    }

    pub fn of(&self, seed: RootSeed) -> Origin {
        Origin { seed, ..self.origin.clone() }
    }

    pub(crate) fn to_json(&self) -> Value {
        let share = |value: f64| Ratio::new(value).expect("was one").to_string();
        let Origin { misses, miss_delay, is_drawn, errors, hangs, down, hosts, .. } = &self.origin;
        let (has_misses, since) = (*misses > 0.0, |time: Time| (time - Time::ZERO).to_string());
        json!({
            "misses": share(*misses),
            "miss_delay": has_misses.then(|| miss_delay.to_string()),
            "law": has_misses.then_some(if *is_drawn { "exponential" } else { "fixed" }),
            "errors": share(*errors),
            "hangs": share(*hangs),
            "down": down.map(|(from, until)| [since(from), since(until)]),
            "hosts": hosts,
        })
    }
}
