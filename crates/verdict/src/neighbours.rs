//! The end of a headline: how the delay of the neighbours' frames depends on the sender.

use crate::decision::Decision;
use crate::metric::metric;
use crate::ranking::Ranker;
use crate::words::{Shown, amount};

const FRAMES: &str = "frame_delay_p99_ms";

/// The senders next to which the neighbours' frames have the shortest and the longest delay; `None` if the difference is not proven, or
/// nobody sends frames.
pub(crate) fn frames(ranker: &Ranker, decision: &Decision) -> Option<String> {
    let shown = |sender: &String| Some((Shown::of(ranker, sender, metric(FRAMES))?, sender.clone()));
    let mut found: Vec<(Shown, String)> = decision.ranking.iter().filter_map(shown).collect();
    found.sort_by(|a, b| a.0.middle.total_cmp(&b.0.middle));
    let (least, most) = (found.first()?, found.last()?);
    if !ranker.is_apart_in(ranker.index(&least.1), ranker.index(&most.1), metric(FRAMES)) {
        return None;
    }
    let figure = |(shown, sender): &(Shown, String)| format!("{} with {sender}", amount(metric(FRAMES), &[*shown]));
    Some(format!("99 of 100 of the neighbours' frames take at most {}, {}", figure(least), figure(most)))
}
