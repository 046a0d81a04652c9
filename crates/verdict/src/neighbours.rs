//! What the neighbours' frames wait for, beside what the viewer gains: the end of a headline.

use crate::decision::Decision;
use crate::metric::metric;
use crate::ranking::Ranker;
use crate::sentence::format_value;

const FRAMES: &str = "frame_delay_p99_ms";

/// The sender beside which the neighbours' frames come soonest, and the one beside which latest; nothing where that is not proven, or
/// nobody sends frames.
pub(crate) fn frames(ranker: &Ranker, decision: &Decision) -> Option<String> {
    let mean = |sender: &String| Some((ranker.mean(ranker.index(sender), FRAMES)?, sender.clone()));
    let mut means: Vec<(f64, String)> = decision.ranking.iter().filter_map(mean).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (means.first()?, means.last()?);
    if !ranker.is_apart_in(ranker.index(&least.1), ranker.index(&most.1), metric(FRAMES)) {
        return None;
    }
    let told = |(mean, sender): &(f64, String)| format!("{} ms with {sender}", format_value(Some(*mean)));
    Some(format!("99 of 100 of the neighbours' frames take at most {}, {}", told(least), told(most)))
}
