//! The judge: statistics of comparisons, the rule by which senders are ranked, and the sentences about it. Python
//! (`playpath.judge.ranking`), the explorer's page and all other callers use this one. Tests: tests/python/test_ranking.py, test_stats.py,
//! test_false_winners.py.

mod betting;
mod criteria;
mod decision;
mod effects;
mod evidence;
mod metric;
mod neighbours;
mod preference;
mod race;
mod ranking;
mod sentence;
mod sessions;
pub mod special;
mod standing;
pub mod stats;
mod words;

pub use betting::Sample;
pub use criteria::{Prefer, criteria, identical_replicas};
pub use decision::{Decision, Difference, Relation};
pub use effects::{Choice, Effect, OUTCOMES, effects, for_whom};
pub use evidence::apart_level;
pub use metric::metric;
pub use ranking::{Proof, Ranker, Runs};
pub use sentence::{headline, sentence};
pub use sessions::Served;
pub use standing::{Judged, Standing};
pub use stats::{Summary, summarise};
pub use words::format_value;

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A comparison judged, as JSON: `{decision, verdict, criteria, senders: {name: {metric: summary}}, differences: {name: difference}}`.
/// `values` is `{sender: {metric: [one a seed]}}`, the seeds in the same order for every sender; a difference is from the
/// one that `decision.against` names, at the criterion that decides. `prefer` is what a viewer puts first; where each of several senders has `choices`, the headline says
/// what these do for whom. Error: what is wrong with the values.
pub fn judge(values: &Value, has_video: bool, prefer: &str, choices: &[Choice]) -> Result<Value, String> {
    let runs = read(values)?;
    let summaries: Map<String, Value> = runs.iter().map(|runs| (runs.sender.clone(), summaries(runs))).collect();
    let is_random = !identical_replicas(&runs);
    let ranker = Ranker::new(runs, &criteria(has_video), is_random, &Prefer::parse(prefer), Proof::Tests);
    let decision = ranker.decide();
    let against = |(sender, name): (&String, &String)| {
        let other = ranker.index(&decision.against[sender]);
        Some((sender.clone(), json!(ranker.difference(ranker.index(sender), other, metric(name))?)))
    };
    let differences: Map<String, Value> = decision.deciding.iter().filter_map(against).collect();
    Ok(json!({
        "headline": if asks_for_whom(choices) { for_whom(&effects(&ranker, choices)) } else { headline(&ranker, &decision) },
        "verdict": sentence(&ranker, &decision),
        "criteria": ranker.criteria.iter().map(|metric| metric.name).collect::<Vec<_>>(),
        "decision": decision,
        "senders": summaries,
        "differences": differences,
    }))
}

/// Whether each of several senders has choices to compare, so that the question is the effect of the choices on each of them. Senders that
/// differ with each value, as with the transport, do not count.
fn asks_for_whom(choices: &[Choice]) -> bool {
    let senders: BTreeSet<&str> = choices.iter().map(|choice| choice.sender.as_str()).collect();
    (2..choices.len()).contains(&senders.len())
}

fn summaries(runs: &Runs) -> Value {
    let of = |column: &Vec<Option<f64>>| summarise(&column.iter().copied().flatten().collect::<Vec<_>>());
    runs.columns.iter().map(|(name, column)| (name.clone(), json!(of(column)))).collect()
}

fn read(values: &Value) -> Result<Vec<Runs>, String> {
    let senders = values.as_object().filter(|senders| !senders.is_empty()).ok_or("no sender to judge")?;
    let column = |(name, list): (&String, &Value)| {
        let list = list.as_array().ok_or(format!("{name}: not a list"))?;
        Ok((name.clone(), list.iter().map(Value::as_f64).collect()))
    };
    let runs = |(sender, metrics): (&String, &Value)| {
        let columns = metrics.as_object().ok_or(format!("{sender}: not a table"))?.iter().map(column);
        Ok(Runs { sender: sender.clone(), columns: columns.collect::<Result<_, String>>()? })
    };
    let read: Vec<Runs> = senders.iter().map(runs).collect::<Result<_, String>>()?;
    let lengths: Vec<usize> = read.iter().flat_map(|runs| runs.columns.values().map(Vec::len)).collect();
    match lengths.first() {
        None | Some(0) => Err("no run to judge".into()),
        Some(first) if lengths.iter().any(|length| length != first) => Err("unequal numbers of runs".into()),
        Some(_) => Ok(read),
    }
}
