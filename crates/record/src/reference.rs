//! docs/reference/metrics.md, from the registry.

use crate::registry::{Better, Figure, Metric, metrics};
use std::fmt::Write;

const HEAD: &str = "\
# Metrics

Made from the registry (`crates/record/src/registry`) by `make reference`; do not edit. `playpath list metric` prints it too; the whole
record has a [JSON Schema](record.schema.json).

- **better**: what a viewer or the network prefers.
- **alike**: differences up to this count as alike; a share is of the larger mean. The larger of the two holds.
- **rank**: place among the criteria of a [ranking](../manual/verdict.md#what-decides), with a video (v) and without one (b).

A metric without a value in a session (no start, no start-up delay) is `null` or missing, and counts as worse than any value.
";

pub fn page() -> String {
    let mut page = HEAD.to_string();
    let mut parts: Vec<&str> = Vec::new();
    for metric in metrics() {
        let part = heading(metric.figure);
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    for part in parts {
        let _ = write!(
            page,
            "\n## {part}\n\n| metric | unit | better | alike | rank | meaning |\n|---|---|---|---|---|---|\n"
        );
        for metric in metrics().filter(|metric| heading(metric.figure) == part) {
            let _ = writeln!(page, "{}", row(metric));
        }
    }
    page
}

fn heading(figure: Figure) -> &'static str {
    match figure {
        Figure::Viewer(_) => "What a viewer sees",
        Figure::Fairness(_) => "Several viewers",
        Figure::Transport(_) => "The connections of the main session (of all flows without a video)",
        Figure::Paths(_) => "Several paths",
        Figure::Neighbours(_) => "Neighbours: the flows of the cross traffic",
        Figure::Frames(_) => "Sources of frames: `[[traffic]]` of `kind = \"frames\"`",
        Figure::Bottleneck(_) => "The queue in front of the first path's `down` link",
        Figure::Reported => "Reported by a real player of the kernel world",
        Figure::FlowsAndLinks => "All flows, and each link: `playpath twin` where nobody watches",
    }
}

fn row(metric: &Metric) -> String {
    let or_dash = |text: String| if text.is_empty() { "–".to_string() } else { text };
    let better = match metric.better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "–",
    };
    let margin = match metric.least {
        0.0 => format!("{} %", metric.least_share * 100.0),
        least => format!("{least}, {} %", metric.least_share * 100.0),
    };
    let place = |mark: &str, rank: Option<u8>| rank.map(|rank| format!("{mark} {rank}"));
    let ranks: Vec<String> =
        [place("v", metric.video_rank), place("b", metric.bulk_rank)].into_iter().flatten().collect();
    let (unit, ranks) = (or_dash(metric.unit.into()), or_dash(ranks.join(", ")));
    format!("| `{}` | {unit} | {better} | {margin} | {ranks} | {} |", metric.name, metric.summary)
}
