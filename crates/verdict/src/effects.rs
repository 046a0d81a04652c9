//! The effect of a choice on each sender, if a comparison varies more than senders: better, worse, alike or open.

use crate::decision::Decision;
use crate::metric::metric;
use crate::ranking::Ranker;
use crate::sentence::headline;
use crate::words::{Shown, amount, join, label};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The meaning of a compared name: its sender, and the combination of values that it plays with.
#[derive(Clone, Debug, Deserialize)]
pub struct Choice {
    /// Its name among all that are compared.
    pub name: String,
    /// In the scenario without choices.
    pub sender: String,
    pub value: String,
}

/// How a value compares with the first one, for one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Better,
    Worse,
    /// A difference that a viewer would notice is ruled out.
    Alike,
    /// Better for some viewers and worse for others, both proven.
    Depends,
    /// Not proven either way.
    Open,
}

/// The outcomes in the order in which they are listed, with their words.
pub const OUTCOMES: [(Outcome, &str); 5] = [
    (Outcome::Better, "better"),
    (Outcome::Worse, "worse"),
    (Outcome::Alike, "no noticeable difference"),
    (Outcome::Depends, "better or worse, depending on how the viewer weighs stalls against the picture,"),
    (Outcome::Open, "undecided"),
];

/// A value against the first one, for one sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Effect {
    pub sender: String,
    pub value: String,
    pub against: String,
    pub outcome: Outcome,
    pub sentence: String,
    /// Both figures, if it is better or worse: `stall time 0.3 s, not 0.45 s`.
    pub detail: String,
}

/// Each value against the first, sender by sender, by the evidence on all. Names that were not played are left out.
pub fn effects(ranker: &Ranker, choices: &[Choice]) -> Vec<Effect> {
    let mut first: BTreeMap<&str, &Choice> = BTreeMap::new();
    let mut found = Vec::new();
    for choice in choices.iter().filter(|choice| ranker.position(&choice.name).is_some()) {
        let baseline = *first.entry(&choice.sender).or_insert(choice);
        if baseline.name == choice.name {
            continue;
        }
        let decision = ranker.decide_among(&[ranker.index(&choice.name), ranker.index(&baseline.name)]);
        let outcome = outcome(&decision, &choice.name);
        let is_apart = matches!(outcome, Outcome::Better | Outcome::Worse);
        let detail = if is_apart { detail(ranker, &decision, choice, baseline) } else { String::new() };
        let sentence = headline(ranker, &decision);
        let (sender, value, against) = (choice.sender.clone(), choice.value.clone(), baseline.value.clone());
        found.push(Effect { sender, value, against, outcome, sentence, detail });
    }
    found
}

fn outcome(decision: &Decision, name: &str) -> Outcome {
    match decision.open.first() {
        Some(open) if decision.depends.contains_key(open) => Outcome::Depends,
        Some(_) => Outcome::Open,
        None if !decision.tied.is_empty() => Outcome::Alike,
        None if decision.ranking[0] == name => Outcome::Better,
        None => Outcome::Worse,
    }
}

/// The values of both at the criterion that decides.
fn detail(ranker: &Ranker, decision: &Decision, one: &Choice, other: &Choice) -> String {
    let Some(name) = decision.deciding.values().next() else { return String::new() };
    let metric = metric(name);
    let figure =
        |of: &Choice| Shown::of(ranker, &of.name, metric).map_or("none".into(), |shown| amount(metric, &[shown]));
    format!("{} {}, not {}", label(metric), figure(one), figure(other))
}

/// For which senders each value is better or worse: "fq_codel instead of droptail: better for cubic (stall time 1 s, not 3 s)".
pub fn for_whom(effects: &[Effect]) -> String {
    let mut values: Vec<&Effect> = Vec::new();
    for effect in effects {
        if values.iter().all(|known| known.value != effect.value) {
            values.push(effect);
        }
    }
    let sentence = |first: &&Effect| {
        let of = |(outcome, word): &(Outcome, &str)| {
            let with = |e: &Effect| {
                if e.detail.is_empty() { e.sender.clone() } else { format!("{} ({})", e.sender, e.detail) }
            };
            let found = effects.iter().filter(|e| e.value == first.value && e.outcome == *outcome).map(with);
            let senders: Vec<String> = found.collect();
            (!senders.is_empty()).then(|| format!("{word} for {}", join(&senders.iter().collect::<Vec<_>>())))
        };
        let parts: Vec<String> = OUTCOMES.iter().filter_map(of).collect();
        format!("{} instead of {}: {}.", first.value, first.against, parts.join("; "))
    };
    values.iter().map(sentence).collect::<Vec<_>>().join(" ")
}
