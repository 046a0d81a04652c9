//! The verdict's rule and wording for Python: one object per comparison, which a report may query for many differences.

use playpath_record::registry::Metric;
use playpath_verdict as verdict;
use playpath_verdict::{Choice, Effect, Prefer, Proof, Ranker, Runs};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

type Columns = BTreeMap<String, Vec<Option<f64>>>;

/// All pairwise comparisons of a set of senders; `playpath.judge.ranking` is its face.
#[pyclass]
pub struct Judge {
    ranker: Ranker,
}

#[pymethods]
impl Judge {
    /// Senders with their columns; names of criteria, most important first. In a race senders may have fewer runs than others.
    #[new]
    fn new(
        values: Vec<(String, Columns)>,
        criteria: Vec<String>,
        is_random: bool,
        prefer: &str,
        is_race: bool,
    ) -> PyResult<Judge> {
        check_lengths(&values, is_race)?;
        let runs = numbers(values)?;
        let criteria: Vec<&'static Metric> = criteria.iter().map(|name| verdict::metric(name)).collect();
        let proof = if is_race { Proof::Bets } else { Proof::Tests };
        Ok(Judge { ranker: Ranker::new(runs, &criteria, is_random, &Prefer::parse(prefer), proof) })
    }

    #[getter]
    fn criteria(&self) -> Vec<&'static str> {
        self.ranker.criteria.iter().map(|metric| metric.name).collect()
    }

    #[getter]
    fn seeds(&self) -> usize {
        self.ranker.seeds
    }

    fn mean(&self, sender: &str, name: &str) -> PyResult<Option<f64>> {
        Ok(self.ranker.mean(self.index(sender)?, name))
    }

    fn margin(&self, sender: &str, other: &str, name: &str) -> PyResult<f64> {
        Ok(self.ranker.margin(self.index(sender)?, self.index(other)?, verdict::metric(name)))
    }

    fn relation(&self, sender: &str, other: &str, name: &str) -> PyResult<String> {
        let found = self.ranker.relation(self.index(sender)?, self.index(other)?, verdict::metric(name));
        Ok(format!("{found:?}").to_lowercase())
    }

    /// JSON; "null" when no seed has both.
    fn difference(&self, sender: &str, other: &str, name: &str) -> PyResult<String> {
        let found = self.ranker.difference(self.index(sender)?, self.index(other)?, verdict::metric(name));
        Ok(json!(found).to_string())
    }

    /// The decision, its headline and its verdict, as JSON.
    fn decide(&self) -> String {
        let decision = self.ranker.decide();
        let (headline, sentence) =
            (verdict::headline(&self.ranker, &decision), verdict::sentence(&self.ranker, &decision));
        json!({"decision": decision, "headline": headline, "verdict": sentence}).to_string()
    }

    /// Effects of the choices for each sender, as JSON; `choices` are names, their senders and values.
    fn effects(&self, choices: Vec<(String, String, String)>) -> String {
        let choice = |(name, sender, value)| Choice { name, sender, value };
        json!(verdict::effects(&self.ranker, &choices.into_iter().map(choice).collect::<Vec<_>>())).to_string()
    }
}

impl Judge {
    fn index(&self, sender: &str) -> PyResult<usize> {
        self.ranker.position(sender).ok_or_else(|| PyKeyError::new_err(sender.to_string()))
    }
}

/// What is not a number is missing; an infinite value cannot be compared.
fn numbers(values: Vec<(String, Columns)>) -> PyResult<Vec<Runs>> {
    if values.is_empty() {
        return Err(PyValueError::new_err("no sender to judge"));
    }
    let is_infinite = |column: &Vec<Option<f64>>| column.iter().flatten().any(|value| value.is_infinite());
    let runs = |(sender, mut columns): (String, Columns)| {
        if let Some((name, _)) = columns.iter().find(|(_, column)| is_infinite(column)) {
            return Err(PyValueError::new_err(format!(
                "{sender}: {name} is infinite; allowed: finite numbers and None"
            )));
        }
        columns.values_mut().flatten().for_each(|value| *value = value.filter(|value| !value.is_nan()));
        Ok(Runs { sender, columns })
    };
    values.into_iter().map(runs).collect()
}

fn check_lengths(values: &[(String, Columns)], is_race: bool) -> PyResult<()> {
    let unequal = |first: usize| {
        Err(PyValueError::new_err(format!("paired values must be equally many, and not all columns have {first}")))
    };
    let mut wanted = None;
    for (_, columns) in values {
        wanted = if is_race { None } else { wanted };
        for length in columns.values().map(Vec::len) {
            if *wanted.get_or_insert(length) != length {
                return unequal(wanted.unwrap_or(length));
            }
        }
    }
    Ok(())
}

/// For which senders each value is better and for which it is not; effects as JSON.
#[pyfunction]
pub fn for_whom(effects: &str) -> PyResult<String> {
    let found: Vec<Effect> = serde_json::from_str(effects).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(verdict::for_whom(&found))
}

/// Outcome → its wording, in the order in which outcomes are listed.
#[pyfunction]
pub fn outcome_words() -> Vec<(String, &'static str)> {
    verdict::OUTCOMES.iter().map(|(outcome, word)| (format!("{outcome:?}").to_lowercase(), *word)).collect()
}

#[pyfunction]
pub fn apart_level(runs: usize) -> f64 {
    verdict::apart_level(runs)
}

/// The interval of the median of ordered values; none where they are too few.
#[pyfunction]
pub fn median_interval(ordered: Vec<f64>) -> Option<(f64, f64)> {
    verdict::stats::median_interval(&ordered).map(Into::into)
}

#[pyfunction]
pub fn student_quantile(df: f64, p: f64) -> f64 {
    verdict::special::student_quantile(df, p)
}

/// Probability that Student's t lies further from zero than `x`, on either side.
#[pyfunction]
pub fn student_beyond(df: f64, x: f64) -> f64 {
    verdict::special::student_beyond(df, x)
}

/// Wealth of the bets on the mean of outcomes in [0, 1]: against "at most `mean`" and against "at least `mean`".
#[pyfunction]
pub fn bets_won(outcomes: Vec<f64>, weights: Vec<f64>, of: Option<usize>, mean: f64) -> (f64, f64) {
    let sample = verdict::Sample { outcomes: &outcomes, weights: &weights, of, times: 1.0 };
    (sample.against_at_most(mean), sample.against_at_least(mean))
}

/// The interval that bets leave of the mean of outcomes in [0, 1], at any number of them.
#[pyfunction]
pub fn bets_interval(outcomes: Vec<f64>, weights: Vec<f64>, of: Option<usize>, level: f64) -> (f64, f64) {
    let [low, high] = verdict::Sample { outcomes: &outcomes, weights: &weights, of, times: 1.0 }.interval(level);
    (low, high)
}

/// Two senders session by session: 1 where the first serves the viewer better, -1 where worse, 0 alike, and the criterion that decides.
/// Columns have one value a session, NaN where there is none.
#[pyfunction]
pub fn served(
    first: BTreeMap<String, Vec<f64>>,
    second: BTreeMap<String, Vec<f64>>,
    criteria: Vec<String>,
    prefer: &str,
) -> (Vec<i8>, Vec<Option<&'static str>>) {
    let there = |value: f64| (!value.is_nan()).then_some(value);
    let runs = |sender: &str, columns: BTreeMap<String, Vec<f64>>| Runs {
        sender: sender.into(),
        columns: columns.into_iter().map(|(name, column)| (name, column.into_iter().map(there).collect())).collect(),
    };
    let criteria: Vec<&'static Metric> = criteria.iter().map(|name| verdict::metric(name)).collect();
    let both = vec![runs("first", first), runs("second", second)];
    let ranker = Ranker::new(both, &criteria, true, &Prefer::parse(prefer), Proof::Tests);
    let found = ranker.served(ranker.index("first"), ranker.index("second"));
    found.into_iter().map(|served| (served.by as i8, served.criterion)).unzip()
}
