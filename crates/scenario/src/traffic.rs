//! Cross traffic: `[[traffic]]`.

use crate::ScenarioError;
use crate::reader::Table;
use crate::sender::{SENDER, SenderSpec};
use crate::words::{Words, described, meaning, word_of};
use playpath_link::EcnField;
use playpath_units::random::{RootSeed, Stream};
use playpath_units::{Bytes, Choice, Duration, Kind, ParamSpec, Rate, Ratio, TableSpec, Time, Variant};
use playpath_video::traffic::{Arrivals, FrameModel, Length, OnOffModel, WebModel};
use serde_json::{Value, json};

/// How starts lie in their window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartLaw {
    /// Equally likely everywhere: Poisson arrivals, given their number.
    Uniform,
    /// Their density rises from 0 at the window's beginning.
    Rising,
    /// It falls to 0 at the window's end.
    Falling,
}

const START_LAWS: Words<StartLaw, 3> = [
    ("uniform", "uniform: Poisson arrivals, given their number", StartLaw::Uniform),
    ("rising", "the arrival rate rises from zero", StartLaw::Rising),
    ("falling", "the arrival rate falls to zero", StartLaw::Falling),
];

impl StartLaw {
    /// The place in the window that a uniform draw stands for: the inverse of the distribution, u, √u or 1 - √(1 - u).
    fn place(self, uniform: f64) -> f64 {
        match self {
            StartLaw::Uniform => uniform,
            StartLaw::Rising => uniform.sqrt(),
            StartLaw::Falling => 1.0 - (1.0 - uniform).sqrt(),
        }
    }
}

pub const TRAFFIC: TableSpec = TableSpec::new(
    "traffic",
    "A group of identical sources of cross traffic. It also has the keys of a sender.",
    &[
        ParamSpec::whole("count", 1, (1, 100_000), "", "Number of sources.").example("3").in_kernel("200 in all at most"),
        ParamSpec::text("start", "0 s", Kind::Time, "Start of the first source, since the start of the run.").example("\"20 s\""),
        ParamSpec::text("start_spread", "0 s", Kind::Time, "Each source starts at `start` plus a random share of this.")
            .example("\"10 s\""),
        ParamSpec::text(
            "start_law",
            "uniform",
            Kind::Described(&described(&START_LAWS)),
            "How the starts are distributed within `start_spread`: a flash crowd rises or falls.",
        )
        .since("0.2"),
        ParamSpec::new("stop", Kind::Time, "End of all sources, since the start of the run; after `start`.")
            .otherwise("the end of the run")
            .example("\"80 s\""),
        ParamSpec::text(
            "rtt",
            "0 s",
            Kind::Either(&[Kind::Time, Kind::Table(&RTT)]),
            "Round trip of each source on top of the path's, or a table to draw it from.",
        )
        .example("{ uniform = [\"20 ms\", \"440 ms\"], whole = true }"),
    ],
)
.with(&[&SENDER])
.choosing(Choice {
    tag: "kind",
    what: "value",
    noun: "key",
    default: "",
    otherwise: "",
    variants: || {
        let variant = |(name, summary, keys)| Variant { name, aliases: &[], summary, keys };
        vec![
            variant(("bulk", "an endless transfer, such as FTP: sends whatever the window allows", &[])),
            variant((
                "web",
                "fetches objects with Pareto-distributed sizes over one connection: after a think time, or with exponential inter-arrival times",
                WEB,
            )),
            variant((
                "frames",
                "a cloud game, a call or a camera: sends a picture at a fixed interval and never waits; the delay of each is measured",
                FRAMES,
            )),
            variant(("udp", "packets at a constant rate, on and off; does not react to loss", UDP)),
            variant(("video", "a competing video session: the same video and player", &[])),
        ]
    },
});

const WEB: &[ParamSpec] = &[
    ParamSpec::text(
        "think_time",
        "500 ms",
        Kind::PositiveTime,
        "Mean of the exponentially distributed time from an object to the next request.",
    )
    .example("\"3 s\""),
    ParamSpec::new(
        "inter_arrival",
        Kind::PositiveTime,
        "Mean of the exponentially distributed time from request to request; instead of `think_time`.",
    )
    .otherwise("`think_time`")
    .example("\"700 ms\""),
    // Boyden et al. 2006, section 4.3; the printed median is impossible with this mean and shape.
    ParamSpec::text("mean_size", "50 kB", Kind::Size, "Mean size of an object (Boyden et al. 2006, section 4.3)."),
    ParamSpec::number("shape", 1.2, (1.01, 10.0), "", "Shape of the Pareto distribution of sizes."),
];

const UDP: &[ParamSpec] = &[
    ParamSpec::new("rate", Kind::Rate, "Rate while it sends.").needed().example("\"1 Mbit/s\""),
    ParamSpec::whole("packet_bytes", 1000, (29, 65_000), "bytes", "Size of a datagram with its headers."),
    ParamSpec::new(
        "on",
        Kind::PositiveTime,
        "Mean length of the exponentially distributed periods in which it sends; needs `off`.",
    )
    .otherwise("always on")
    .example("\"1 s\""),
    ParamSpec::new("off", Kind::PositiveTime, "Mean length of the pauses between them; needs `on`.")
        .otherwise("always on")
        .example("\"2 s\""),
    ParamSpec::text("field", "not_ect", Kind::Described(&described(&FIELDS)), "ECN field of its packets.")
        .example("\"ect1\"")
        .since("0.3"),
];

const FRAMES: &[ParamSpec] = &[
    ParamSpec::new("rate", Kind::Rate, "Mean rate of the pictures.").needed().example("\"8 Mbit/s\"").since("0.3"),
    ParamSpec::number("fps", 60.0, (1.0, 1000.0), "1/s", "Pictures per second.").since("0.3"),
    ParamSpec::text("size_sd", "20 %", Kind::Share, "Standard deviation of a picture's size, as a share of the mean.")
        .since("0.3"),
];

const FIELDS: Words<EcnField, 3> = [
    ("not_ect", "not ECN-capable", EcnField::NotEct),
    ("ect0", "as a classic sender", EcnField::Ect0),
    ("ect1", "as a scalable sender, although it does not react to marks", EcnField::Ect1),
];

const RTT: TableSpec = TableSpec::new(
    "traffic.rtt",
    "A round trip that is drawn for each source.",
    &[
        ParamSpec::new("uniform", Kind::List(&Kind::Time, 2, 2), "Smallest and largest value.")
            .needed()
            .example("[\"20 ms\", \"440 ms\"]"),
        ParamSpec::flag(
            "whole",
            false,
            "The drawn value is the whole round trip, or the path's if that is longer; otherwise it is added to the path's.",
        ),
    ],
);

#[derive(Clone, Debug, PartialEq)]
pub enum TrafficKind {
    /// A transfer without end.
    Bulk,
    /// Objects of Pareto sizes over one connection.
    Web {
        arrivals: Arrivals,
        /// Mean of the exponential times that `arrivals` speaks of.
        mean_time: Duration,
        /// Mean size of an object.
        mean_size: Bytes,
        /// Of the Pareto distribution.
        shape: f64,
    },
    /// Datagrams at a constant rate.
    Udp {
        rate: Rate,
        packet_bytes: u32,
        /// Mean lengths of exponential on and off periods; always on without them.
        on_off: Option<(Duration, Duration)>,
        field: EcnField,
    },
    /// Pictures at a fixed interval over one connection, each with its delay.
    Frames {
        /// Mean rate.
        rate: Rate,
        /// Per second.
        fps: f64,
        /// Standard deviation of the sizes.
        size_sd: Ratio,
    },
    /// A competing session of the same video and player.
    Video,
}

/// Round-trip delay of each flow of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RttSpec {
    Fixed(Duration),
    /// Drawn once per flow, and added to the path's; with `is_whole` it is the whole of it, the path's if that is longer.
    Uniform {
        low: Duration,
        high: Duration,
        is_whole: bool,
    },
}

impl RttSpec {
    pub fn draw(self, stream: &mut Stream) -> FlowRtt {
        match self {
            RttSpec::Fixed(rtt) => FlowRtt::Extra(rtt),
            RttSpec::Uniform { low, high, is_whole } => {
                let drawn = Duration::from_secs_f64(stream.uniform_in(low.as_secs_f64(), high.as_secs_f64()));
                if is_whole { FlowRtt::Whole(drawn) } else { FlowRtt::Extra(drawn) }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowRtt {
    Extra(Duration),
    /// The whole of it; the path's if that is longer.
    Whole(Duration),
}

impl FlowRtt {
    /// Nothing of its own.
    pub const THE_PATHS: FlowRtt = FlowRtt::Extra(Duration::ZERO);

    /// What the flow's own access link adds to a path's round trip.
    pub fn beyond(self, path_rtt: Duration) -> Duration {
        match self {
            FlowRtt::Extra(extra) => extra,
            FlowRtt::Whole(whole) => whole.saturating_sub(path_rtt),
        }
    }
}

impl TrafficKind {
    /// What a web user does; `None` of other kinds.
    pub fn web_model(&self) -> Option<WebModel> {
        let TrafficKind::Web { arrivals, mean_time, mean_size, shape } = *self else { return None };
        Some(WebModel { arrivals, mean_time, mean_bytes: mean_size.0 as f64, shape })
    }

    /// What a source of datagrams does; `None` of other kinds.
    pub fn on_off_model(&self) -> Option<OnOffModel> {
        let TrafficKind::Udp { rate, packet_bytes, on_off, .. } = *self else { return None };
        let (on, off) = match on_off {
            Some((on, off)) => (Length::Exponential(on), Length::Exponential(off)),
            None => (Length::Constant(Duration::MAX), Length::Constant(Duration::ZERO)),
        };
        Some(OnOffModel { on, off, rate, packet_bytes })
    }
}

impl TrafficKind {
    /// What a source of frames does; `None` of other kinds.
    pub fn frame_model(&self) -> Option<FrameModel> {
        let TrafficKind::Frames { rate, fps, size_sd } = *self else { return None };
        let mean_bytes = rate.as_bits_per_sec() as f64 / 8.0 / fps;
        Some(FrameModel { interval: Duration::from_secs_f64(1.0 / fps), mean_bytes, deviation: size_sd.get() })
    }

    /// ECN field of what a source of datagrams sends.
    pub fn field(&self) -> EcnField {
        if let TrafficKind::Udp { field, .. } = *self { field } else { EcnField::NotEct }
    }
}

/// One source of a group, with what is drawn for it.
pub struct Source {
    /// The group's, with a number if it has several sources.
    pub name: String,
    pub start_at: Time,
    pub rtt: FlowRtt,
    pub stream: Stream,
}

#[derive(Clone)]
pub struct TrafficSpec {
    pub kind: TrafficKind,
    pub count: u32,
    pub start: Time,
    /// Each source starts at `start` plus a random share of this.
    pub start_spread: Duration,
    pub start_law: StartLaw,
    /// End of all, if before the end of the run.
    pub stop: Option<Time>,
    pub rtt: RttSpec,
    pub sender: SenderSpec,
    /// Nothing but the traffic is carried, and it names no congestion control: it has that of the sender that is compared.
    pub follows: bool,
}

impl TrafficSpec {
    pub(crate) fn read(
        table: &Table,
        profile: &'static str,
        mss: Option<u32>,
        has_video: bool,
    ) -> Result<TrafficSpec, ScenarioError> {
        let word = table.chosen().expect("must be given");
        let kind = match word {
            "web" => read_web(table)?,
            "udp" => read_udp(table)?,
            "frames" => {
                TrafficKind::Frames { rate: table.get("rate"), fps: table.get("fps"), size_sd: table.get("size_sd") }
            }
            "video" => TrafficKind::Video,
            _ => TrafficKind::Bulk,
        };
        let start = time(table, "start").unwrap_or(Time::ZERO);
        let stop = time(table, "stop");
        if stop.is_some_and(|stop| stop <= start) {
            return Err(table.error("stop", "is not after `start`"));
        }
        let mut sender = SenderSpec::read(table, profile, mss)?;
        if kind != TrafficKind::Video && sender.handover.is_any() {
            return Err(table.error("handover", "is what a video's player does; allowed with `kind` = \"video\" alone"));
        }
        if !table.has("name") {
            sender.name = word.to_string();
        }
        Ok(TrafficSpec {
            kind,
            count: table.get("count"),
            start,
            start_spread: table.get("start_spread"),
            start_law: meaning(&START_LAWS, table.word("start_law")).expect("has a default"),
            stop,
            rtt: read_rtt(table)?,
            follows: !has_video && word != "udp" && !table.has("cc"),
            sender,
        })
    }

    /// Its transport in a run of `compared`. Error: it cannot have that one's congestion control.
    pub fn resolved_sender(&self, compared: &SenderSpec) -> Result<SenderSpec, String> {
        let cc = if self.follows { &compared.cc } else { &self.sender.cc };
        self.sender.with_cc(cc.clone())
    }

    /// The names that its sources have if the group is called `label`.
    pub(crate) fn names_as<'a>(&'a self, label: &'a str) -> impl Iterator<Item = String> + 'a {
        let name = move |i| if self.count == 1 { label.to_string() } else { format!("{label}.{}", i + 1) };
        (0..self.count).map(name)
    }

    /// The sources of this group, which is entry `number` of the traffic; one whose start is not before `stop` does not begin.
    pub fn sources(&self, number: usize, seed: RootSeed) -> impl Iterator<Item = Source> + '_ {
        let mut draw = seed.stream(&format!("traffic.{number}/setup"));
        let sources = self.names_as(&self.sender.name).map(move |name| Source {
            start_at: self.start + self.start_spread.mul_f64(self.start_law.place(draw.uniform())),
            rtt: self.rtt.draw(&mut draw),
            stream: seed.stream(&format!("traffic.{name}")),
            name,
        });
        sources.filter(|source| self.stop.is_none_or(|stop| source.start_at < stop))
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut json = self.sender.to_json();
        let map = json.as_object_mut().expect("a sender is an object");
        if self.follows {
            map.remove("cc");
        }
        let mut put = |key: &str, value: Value| map.insert(key.into(), value);
        put("count", json!(self.count));
        put("start", json!(self.start.to_string()));
        put("start_spread", json!(self.start_spread.to_string()));
        if self.start_law != StartLaw::Uniform {
            put("start_law", json!(word_of(&START_LAWS, self.start_law)));
        }
        put("stop", json!(self.stop.map(|t| t.to_string())));
        put(
            "rtt",
            match self.rtt {
                RttSpec::Fixed(rtt) => json!(rtt.to_string()),
                RttSpec::Uniform { low, high, is_whole } => {
                    json!({ "uniform": [low.to_string(), high.to_string()], "whole": is_whole })
                }
            },
        );
        match &self.kind {
            TrafficKind::Bulk => drop(put("kind", json!("bulk"))),
            TrafficKind::Video => drop(put("kind", json!("video"))),
            TrafficKind::Web { arrivals, mean_time, mean_size, shape } => {
                put("kind", json!("web"));
                put(arrivals_key(*arrivals), json!(mean_time.to_string()));
                put("mean_size", json!(mean_size.to_string()));
                put("shape", json!(shape));
            }
            TrafficKind::Frames { rate, fps, size_sd } => {
                put("kind", json!("frames"));
                put("rate", json!(rate.to_string()));
                put("fps", json!(fps));
                put("size_sd", json!(size_sd.to_string()));
            }
            TrafficKind::Udp { rate, packet_bytes, on_off, field } => {
                put("kind", json!("udp"));
                put("rate", json!(rate.to_string()));
                put("packet_bytes", json!(packet_bytes));
                put("on", json!(on_off.map(|(on, _)| on.to_string())));
                put("off", json!(on_off.map(|(_, off)| off.to_string())));
                put("field", json!(word_of(&FIELDS, *field)));
            }
        }
        json
    }
}

fn arrivals_key(arrivals: Arrivals) -> &'static str {
    match arrivals {
        Arrivals::ThinkTime => "think_time",
        Arrivals::InterArrival => "inter_arrival",
    }
}

fn read_web(table: &Table) -> Result<TrafficKind, ScenarioError> {
    if table.has("think_time") && table.has("inter_arrival") {
        return Err(table.error("inter_arrival", "is instead of `think_time`: give one of them"));
    }
    let (arrivals, mean_time) = match table.optional("inter_arrival") {
        Some(time) => (Arrivals::InterArrival, time),
        None => (Arrivals::ThinkTime, table.get("think_time")),
    };
    Ok(TrafficKind::Web { arrivals, mean_time, mean_size: table.get("mean_size"), shape: table.get("shape") })
}

fn read_udp(table: &Table) -> Result<TrafficKind, ScenarioError> {
    let on_off = match (table.optional("on"), table.optional("off")) {
        (Some(on), Some(off)) => Some((on, off)),
        (None, None) => None,
        _ => return Err(table.error("on", "`on` and `off` belong together")),
    };
    let field = meaning(&FIELDS, table.word("field")).expect("has a default");
    Ok(TrafficKind::Udp { rate: table.get("rate"), packet_bytes: table.get("packet_bytes"), on_off, field })
}

/// `rtt = "80 ms"`, `rtt = { uniform = ["20 ms", "440 ms"], whole = true }`.
fn read_rtt(table: &Table) -> Result<RttSpec, ScenarioError> {
    let Some(own) = table.table("rtt") else { return Ok(RttSpec::Fixed(table.get("rtt"))) };
    let bounds: Vec<Duration> = own.get("uniform");
    let (low, high) = (bounds[0], bounds[1]);
    if low > high {
        return Err(own.error("uniform", format!("{low} is above {high}")));
    }
    Ok(RttSpec::Uniform { low, high, is_whole: own.get("whole") })
}

/// A point of time, written as the time since the start of the run.
fn time(table: &Table, key: &'static str) -> Option<Time> {
    table.optional::<Duration>(key).map(|since| Time::ZERO + since)
}

#[cfg(test)]
mod tests;
