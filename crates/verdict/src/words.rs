//! Figures and names for people to read: a sender's values, in the same statistic as in the tables.

use crate::decision::{Difference, Relation};
use crate::metric::metric;
use crate::ranking::Ranker;
use crate::standing::share_at_most;
use crate::stats;
use playpath_record::registry::Metric;

/// Senders that a headline names; the others it counts.
pub(crate) const NAMED: usize = 3;
pub(crate) const STALL: &str = "stall_time_s";
const RATE: &str = "mean_rate_kbps";

/// A sender's value at a criterion, as in tables: the median run, and the mean if it is different; without an interval only the mean.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub middle: f64,
    /// Set if a few runs are unlike the others.
    mean: Option<f64>,
}

impl Shown {
    pub(crate) fn of(ranker: &Ranker, sender: &str, metric: &Metric) -> Option<Shown> {
        let values: Vec<f64> = ranker.column(ranker.index(sender), metric.name).into_iter().flatten().collect();
        let found = stats::summarise(&values)?;
        let Some([low, high]) = found.ci95.filter(|_| ranker.is_random) else {
            return Some(Shown { middle: found.mean, mean: None });
        };
        let hides = found.mean < low || found.mean > high || found.median == 0.0;
        let is_other = format_value(Some(found.mean)) != format_value(Some(found.median));
        Some(Shown { middle: found.median, mean: Some(found.mean).filter(|_| hides && is_other) })
    }

    /// With the mean in any case: medians may be equal where means are apart.
    pub(crate) fn with_mean(self, ranker: &Ranker, sender: &str, metric: &Metric) -> Shown {
        Shown { mean: ranker.mean(ranker.index(sender), metric.name), ..self }
    }

    fn is_zero(&self) -> bool {
        self.middle == 0.0 && self.mean.is_none()
    }
}

pub(crate) fn quantity(ranker: &Ranker) -> &'static str {
    match (ranker.is_random, ranker.seeds >= stats::MIN_FOR_INTERVAL) {
        (false, _) => "",
        (true, true) => " in the median run",
        (true, false) => " on average",
    }
}

/// What viewers get, as the predicate of one sender or of several; `of` follows a figure.
pub(crate) fn outcome(metric: &Metric, shown: &[Shown], of: &str) -> String {
    let pick = |one, more| if shown.len() == 1 { one } else { more };
    if metric.name == STALL && shown.iter().all(Shown::is_zero) {
        return pick("does not stall", "do not stall").into();
    }
    let (figure, means) = (figure(metric, shown), means(metric, shown));
    match metric.name {
        STALL if shown.iter().all(|shown| shown.middle == 0.0) => {
            format!("{} in the median run{means}", pick("does not stall", "do not stall"))
        }
        STALL => format!("{} for {figure}{of}{means}", pick("stalls", "stall")),
        RATE => format!("{} {figure} of video{of}{means}", pick("shows", "show")),
        _ => format!("{} {figure} {}{of}{means}", pick("has", "have"), label(metric)),
    }
}

/// What a metric is called beside a number: "late packets (share)", which tables have with a comma.
pub(crate) fn label(metric: &Metric) -> String {
    metric.label.split_once(", ").map_or(metric.label.into(), |(what, of)| format!("{what} ({of})"))
}

/// A figure with its unit, or the range of several, and the means where those are unlike them.
pub(crate) fn amount(metric: &Metric, shown: &[Shown]) -> String {
    figure(metric, shown) + &means(metric, shown)
}

fn figure(metric: &Metric, shown: &[Shown]) -> String {
    range(metric, &shown.iter().map(|shown| shown.middle).collect::<Vec<_>>())
}

fn means(metric: &Metric, shown: &[Shown]) -> String {
    if shown.iter().all(|shown| shown.mean.is_none()) {
        return String::new();
    }
    let all: Vec<f64> = shown.iter().map(|shown| shown.mean.unwrap_or(shown.middle)).collect();
    format!(" (mean {})", range(metric, &all))
}

/// The least and the greatest; rates of many kbit/s in Mbit/s.
pub(crate) fn range(metric: &Metric, values: &[f64]) -> String {
    sized(metric, values, values.iter().fold(0.0, |most, value| most.max(value.abs())))
}

/// The same in the unit that suits `size`.
fn sized(metric: &Metric, values: &[f64], size: f64) -> String {
    let is_large = metric.unit == "kbit/s" && size >= 1000.0;
    let (unit, size) = if is_large { ("Mbit/s", 1000.0) } else { (metric.unit, 1.0) };
    let end = |pick: fn(f64, f64) -> f64| format_value(values.iter().map(|value| value / size).reduce(pick));
    let (low, high) = (end(f64::min), end(f64::max));
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if low == high { format!("{low}{unit}") } else { format!("{low} to {high}{unit}") }
}

/// Each figure with its sender; of many the least and the greatest.
pub(crate) fn values(metric: &Metric, found: &[(Shown, &String)]) -> Option<String> {
    let with = |(shown, sender): &(Shown, &String)| format!("{} with {sender}", amount(metric, &[*shown]));
    let (least, most) = (found.first()?, found.last()?);
    if found.len() <= NAMED {
        return Some(found.iter().map(with).collect::<Vec<_>>().join(", "));
    }
    Some(format!("{} to {} ({} senders)", with(least), with(most), found.len()))
}

/// The first of them by name, the others as a number.
pub(crate) fn some(names: &[&String]) -> String {
    if names.len() <= NAMED + 1 {
        return join(names);
    }
    let first: Vec<&str> = names[..NAMED].iter().map(|name| name.as_str()).collect();
    format!("{} and {} more", first.join(", "), names.len() - NAMED)
}

/// An estimate, so to two digits.
pub(crate) fn about(count: usize) -> usize {
    let unit = 10_usize.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (count + unit / 2) / unit * unit
}

pub(crate) fn more_runs(count: usize) -> String {
    format!("{} more run{}", about(count), if count == 1 { "" } else { "s" })
}

/// How a sender stands against another, with the sender as the subject; where no run tells them apart, how much that leaves open.
pub(crate) fn has(found: &Difference) -> String {
    if found.noticed == 0 && found.relation != Relation::Apart {
        return unnoticed(found);
    }
    format!("{} has {}", found.sender, compared(found))
}

pub(crate) fn unnoticed(found: &Difference) -> String {
    format!(
        "in none of {} runs would a viewer notice a difference in {} from {}, which leaves room for one in up to {:.0} % of sessions",
        found.n,
        label(metric(&found.metric)),
        found.best,
        100.0 * share_at_most(0, found.n),
    )
}

/// What a sender has more or less than another.
pub(crate) fn compared(found: &Difference) -> String {
    let metric = metric(&found.metric);
    let (label, best, n) = (label(metric), &found.best, found.n);
    let more = |value: f64| {
        format!("{} {}", range(metric, &[value.abs()]), if value.is_sign_negative() { "less" } else { "more" })
    };
    let compared = |value: f64| format!("{} {label} than {best}", more(value));
    match (found.p_adjusted, found.ci95) {
        (None, None) => compared(found.mean),
        (_, None) => {
            format!("{} on average, noticeably different in {} of {n} runs", compared(found.mean), found.noticed)
        }
        // An interval and its figure are of the same: the median.
        (_, Some(ends)) if found.median == 0.0 => {
            let mean = if found.mean == 0.0 { String::new() } else { format!(", {} on average", more(found.mean)) };
            let interval = range(metric, &ends);
            format!("the same {label} as {best} in the median run{mean} (95 % interval of the median {interval})")
        }
        (_, Some([low, high])) => {
            let ends = if found.median > 0.0 { [low, high] } else { [-high, -low] };
            let interval = sized(metric, &ends, found.median.abs());
            // The proof is about the mean; a sign test of the median is less powerful.
            if found.relation == Relation::Apart && low <= 0.0 && high >= 0.0 {
                let median = more(found.median);
                return format!(
                    "{} on average, {median} in the median run (95 % interval {interval})",
                    compared(found.mean)
                );
            }
            // A few runs are unlike the others.
            let (median, mean) = (more(found.median), more(found.mean));
            if (found.mean < low || found.mean > high) && mean != median {
                return format!(
                    "{} in the median run, {mean} on average (95 % interval of the median {interval})",
                    compared(found.median)
                );
            }
            format!("{} in the median run (95 % interval {interval})", compared(found.median))
        }
    }
}

pub(crate) fn join(names: &[&String]) -> String {
    match names {
        [name] => (*name).clone(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(|name| name.as_str()).collect();
            format!("{} and {last}", first.join(", "))
        }
        [] => String::new(),
    }
}

/// A number for people: about three significant digits, no exponent for everyday sizes.
pub fn format_value(value: Option<f64>) -> String {
    let Some(value) = value else { return "–".into() };
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if value < 0.0 {
        return format!("\u{2212}{}", format_value(Some(size)));
    }
    if size >= 100.0 {
        return format!("{value:.0}");
    }
    if size < 1e-4 {
        let text = format!("{value:.1e}");
        let (mantissa, exponent) = text.split_once('e').expect("an exponent");
        return format!("{mantissa}e-{:0>2}", exponent.trim_start_matches('-'));
    }
    // Three significant digits: the exponent after rounding to them says how many places.
    let rounded = format!("{value:.2e}");
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).expect("an exponent");
    let places = (2 - exponent).max(0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}
