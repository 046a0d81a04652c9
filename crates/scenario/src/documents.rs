//! The documents that Python reads: a sweep's design, and a population, which is a scenario in which quantities may be drawn. Declared
//! here beside the scenario, so that check, schema and reference are the same for all.

use crate::SCENARIO;
use crate::words::{Words, described};
use playpath_units::{Kind, ParamSpec, TableSpec};

const LAST_SEED: u64 = i64::MAX as u64;
const MAX_POINTS: u64 = 10_000_000;
const VALUE: Kind = Kind::Measure("a number with its unit, such as \"50 ms\"");

const SCALES: Words<(), 2> = [("linear", "equal steps", ()), ("log", "equal ratios; both ends above zero", ())];
const SAMPLES: Words<(), 2> = [
    ("latin_hypercube", "every axis divided evenly, the points spread over all of them", ()),
    ("random", "every point independently", ()),
];

pub const SWEEP: TableSpec = TableSpec::new(
    "sweep",
    "What a sweep varies, over which scenario.",
    &[
        ParamSpec::new("name", Kind::Text, "Label in reports.").otherwise("the file's name").example("\"loss\""),
        ParamSpec::new(
            "scenario",
            Kind::Any("a scenario's file, from this one's folder"),
            "The scenario that is varied.",
        )
        .needed()
        .example("\"wireless.toml\""),
        ParamSpec::new(
            "cc",
            Kind::Any("a list of names, each with its parameters in brackets"),
            "Senders that replace the scenario's.",
        )
        .otherwise("the scenario's senders")
        .example("[\"cubic\", \"ccplb(pob_rate=2)\"]"),
        ParamSpec::new(
            "scheduler",
            Kind::Any("a list of names, each with its parameters in brackets"),
            "Schedulers; each sender is played with each of them.",
        )
        .otherwise("the scenario's")
        .example("[\"dft\", \"blest\"]"),
        ParamSpec::new(
            "abr",
            Kind::Any("a list of rules, each with its parameters"),
            "Adaptation rules; each sender is played with each of them.",
        )
        .otherwise("the scenario's")
        .example("[\"bola\", \"throughput\"]")
        .since("0.2"),
        ParamSpec::new("seeds", Kind::Whole { low: 1, high: 1_000_000, unit: "" }, "Replications of each point.")
            .otherwise("the scenario's")
            .example("5"),
        ParamSpec::new("axis", Kind::Tables(&AXIS), AXIS.doc).needed(),
        ParamSpec::new("sample", Kind::Table(&SAMPLE), SAMPLE.doc).otherwise("the full grid"),
    ],
);

const AXIS: TableSpec = TableSpec::new(
    "axis",
    "A setting that varies, or several that vary together: a list of `values`, or a range `from` … `to`.",
    &[
        ParamSpec::new("key", Kind::Text, "The setting, as `--set` takes it. Excludes `keys`.")
            .example("\"path.loss\""),
        ParamSpec::new(
            "keys",
            Kind::List(&Kind::Text, 1, usize::MAX),
            "Settings that change together. Excludes `key`.",
        )
        .example("[\"path.rate\", \"path.queue\"]"),
        ParamSpec::new(
            "values",
            Kind::List(&Kind::Any("a value of the setting"), 1, usize::MAX),
            "The levels; with `keys` each is a list with a value for every key.",
        )
        .example("[\"0 %\", \"0.5 %\", \"2 %\"]"),
        ParamSpec::new("from", VALUE, "One end of a range.").example("\"10 ms\""),
        ParamSpec::new("to", VALUE, "The other end, in the same unit.").example("\"200 ms\""),
        ParamSpec::whole("steps", 2, (2, MAX_POINTS), "", "Levels of a range, its ends included."),
        ParamSpec::text(
            "scale",
            "linear",
            Kind::Described(&described(&SCALES)),
            "How a range is divided and drawn from.",
        ),
    ],
);

const SAMPLE: TableSpec = TableSpec::new(
    "sample",
    "Points drawn from the axes, instead of the full grid.",
    &[
        ParamSpec::new("kind", Kind::Described(&described(&SAMPLES)), "How the points are drawn.")
            .needed()
            .example("\"latin_hypercube\""),
        ParamSpec::new("points", Kind::Whole { low: 1, high: MAX_POINTS, unit: "" }, "How many.")
            .needed()
            .example("100"),
        ParamSpec::whole("seed", 1, (0, LAST_SEED), "", "Random seed of the draws."),
    ],
);

/// A population: a scenario in which quantities may be drawn, and how many sessions are played.
pub const POPULATION: TableSpec = TableSpec::new(
    "population",
    "A scenario in which a path's `trace` is a set of files, quantities are distributions, or users have a table.",
    &[ParamSpec::new("population", Kind::Table(&PLAYED), PLAYED.doc).since("0.2")],
)
.with(&[&SCENARIO]);

const PLAYED: TableSpec = TableSpec::new(
    "population",
    "How many paths and sessions are played, and who the users are.",
    &[
        ParamSpec::new("paths", Kind::Whole { low: 2, high: 1_000_000, unit: "" }, "Paths that are drawn.")
            .otherwise("every trace or user once, or 100")
            .example("200")
            .since("0.2"),
        ParamSpec::whole("sessions", 3, (1, 1000), "", "Sessions on each path.").since("0.2"),
        ParamSpec::whole("seed", 1, (0, LAST_SEED), "", "Random seed of the draws.").since("0.2"),
        ParamSpec::new("users", Kind::Text, "A table (CSV) with one user per row: settings, weight, groups.")
            .otherwise("none")
            .example("\"users.csv\"")
            .since("0.2"),
        ParamSpec::new("group", Kind::Texts, "Columns of the index or users' table by which results are broken down.")
            .otherwise("none")
            .example("[\"operator\"]")
            .since("0.2"),
        ParamSpec::new("baseline", Kind::Text, "Sender in use today, with which the others are compared.")
            .otherwise("the first sender")
            .example("\"cubic\"")
            .since("0.2"),
        ParamSpec::flag(
            "complete",
            false,
            "The links or users are the whole population and not a sample of it: a race is about them alone.",
        )
        .since("0.3"),
    ],
);

/// What a quantity of a population may be instead of a value.
pub const DISTRIBUTION: TableSpec = TableSpec::new(
    "distribution",
    "Where a quantity of a population is drawn from, for each path: one of the five kinds, cut at `min` and `max`.",
    &[
        ParamSpec::new("lognormal", Kind::Table(&LOGNORMAL), LOGNORMAL.doc)
            .example("{ median = \"60 ms\", sigma = 0.5 }")
            .since("0.2"),
        ParamSpec::new("normal", Kind::Table(&NORMAL), NORMAL.doc)
            .example("{ mean = \"60 ms\", sd = \"10 ms\" }")
            .since("0.2"),
        ParamSpec::new("uniform", Kind::List(&VALUE, 2, 2), "Uniform between two values.")
            .example("[\"20 ms\", \"200 ms\"]")
            .since("0.2"),
        ParamSpec::new(
            "log_uniform",
            Kind::List(&VALUE, 2, 2),
            "Between two values above zero, uniform in the logarithm.",
        )
        .example("[\"1 Mbit/s\", \"50 Mbit/s\"]")
        .since("0.2"),
        ParamSpec::new(
            "choice",
            Kind::List(&Kind::Any("a value of the setting"), 1, usize::MAX),
            "One of several values.",
        )
        .example("[\"0 %\", \"2 %\"]")
        .since("0.2"),
        ParamSpec::new(
            "weights",
            Kind::List(&Kind::Number { low: f64::MIN_POSITIVE, high: f64::MAX, unit: "" }, 1, usize::MAX),
            "Relative probability of each value of `choice`.",
        )
        .otherwise("equal")
        .example("[6, 1]")
        .since("0.2"),
        ParamSpec::new("min", VALUE, "Lower bound; not with `choice`.")
            .otherwise("no bound")
            .example("\"5 ms\"")
            .since("0.2"),
        ParamSpec::new("max", VALUE, "Upper bound; not with `choice`.")
            .otherwise("no bound")
            .example("\"800 ms\"")
            .since("0.2"),
    ],
);

const LOGNORMAL: TableSpec = TableSpec::new(
    "distribution.lognormal",
    "Log-normal.",
    &[
        ParamSpec::new("median", VALUE, "Median: half of the paths have less.")
            .needed()
            .example("\"60 ms\"")
            .since("0.2"),
        ParamSpec::new("sigma", VALUE, "Standard deviation of the logarithm, without a unit.")
            .needed()
            .example("0.5")
            .since("0.2"),
    ],
);

const NORMAL: TableSpec = TableSpec::new(
    "distribution.normal",
    "Normal.",
    &[
        ParamSpec::new("mean", VALUE, "Mean.").needed().example("\"60 ms\"").since("0.2"),
        ParamSpec::new("sd", VALUE, "Standard deviation, in the mean's unit.")
            .needed()
            .example("\"10 ms\"")
            .since("0.2"),
    ],
);

/// Whether a value is meant as a distribution.
pub fn is_distribution(value: &serde_json::Value) -> bool {
    ["lognormal", "normal", "uniform", "log_uniform", "choice"].iter().any(|kind| value.get(kind).is_some())
}
