//! The verdict in a few sentences: who is best for the viewer, who of these is kindest to the network, who comes next.

use crate::criteria::{GUARD, is_cost};
use crate::decision::{Decision, Difference, Relation};
use crate::metric::metric;
use crate::neighbours;
use crate::ranking::Ranker;
use crate::standing::{Standing, share_at_most};
use playpath_record::registry::Metric;

/// Criteria that describe the best sender.
const DESCRIBED: usize = 2;
/// The viewer's side has a number of its own where that takes clearly fewer runs than all.
const CLEARLY_FEWER: f64 = 0.9;
/// Senders that a headline names; the others it counts.
const NAMED: usize = 3;
const STALL: &str = "stall_time_s";
const RATE: &str = "mean_rate_kbps";
const HOUR_S: f64 = 3600.0;

/// Who keeps the video playing and who does not, and what that does to the frames of neighbours, for someone who reads one line.
pub fn headline(ranker: &Ranker, decision: &Decision) -> String {
    let viewers = of_viewers(ranker, decision);
    match neighbours::frames(ranker, decision).filter(|_| ranker.seeds > 1) {
        Some(frames) => format!("{}; {frames}.", viewers.trim_end_matches('.')),
        None => viewers,
    }
}

fn of_viewers(ranker: &Ranker, decision: &Decision) -> String {
    if decision.ranking.len() == 1 || ranker.seeds < 2 {
        return sentence(ranker, decision);
    }
    let teller = Teller { ranker, decision, best: &decision.ranking[0], told: String::new() };
    let Sides { leaders, doubtful, behind } = teller.sides();
    let (trailing, seeds) = (teller.trailing(&behind), ranker.seeds);
    if !doubtful.is_empty() && doubtful.iter().all(|sender| decision.depends.contains_key(*sender)) {
        return format!("{}{trailing}.", teller.depends(doubtful[0]));
    }
    if let Some(&first) = doubtful.first() {
        let (best, metric) = (teller.best, metric(&decision.deciding[first]));
        let told = teller.mean(best, metric).map_or(String::new(), |mean| format!(" and {}", outcome(metric, &[mean])));
        let between = some(&[&leaders[..], &doubtful].concat());
        let certain = teller.proven(&doubtful, |_, _| true);
        let certain = if certain.is_empty() { certain } else { format!("; certain is {certain}") };
        return format!("Undecided after {seeds} runs between {between}; {best} leads{told}{trailing}{certain}.");
    }
    let Some(first) = behind.first() else {
        let judge = if teller.has_viewer() { "a viewer" } else { "anybody" };
        return format!("No difference in {seeds} runs that {judge} would notice between {}.", some(&leaders));
    };
    let metric = metric(&decision.deciding[*first]);
    let means: Option<Vec<f64>> = leaders.iter().map(|sender| teller.mean(sender, metric)).collect();
    let said = means.map_or(if leaders.len() == 1 { "leads".into() } else { "lead".into() }, |m| outcome(metric, &m));
    let but = teller.but(&behind);
    format!("{} {said}{trailing}{but}.", some(&leaders))
}

/// What the comparison says, in words that a streaming engineer would use.
pub fn sentence(ranker: &Ranker, decision: &Decision) -> String {
    let told = describe(ranker, &decision.ranking[0]);
    let best = &decision.ranking[0];
    if decision.ranking.len() == 1 {
        return format!("{best}{told}; there is nothing to compare it with.");
    }
    if ranker.seeds < 2 {
        let colon = if told.is_empty() { "" } else { ":" };
        let leaders = leaders(ranker, decision);
        return format!("Undecided: one run has no interval. In it {leaders}{colon}{told}. Run more seeds.");
    }
    let teller = Teller { ranker, decision, best, told };
    let sentences = [teller.first(), teller.cost(), teller.next(), teller.besides(), teller.runs()];
    sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Who did best in a single run, or that nobody did.
fn leaders(ranker: &Ranker, decision: &Decision) -> String {
    let best: Vec<&String> = decision.ranking.iter().filter(|sender| decision.ranks[*sender] == 1).collect();
    if best.len() == 1 {
        return format!("{} did best", best[0]);
    }
    let column = |sender: &str| -> Vec<_> {
        ranker.criteria.iter().map(|metric| ranker.column(ranker.index(sender), metric.name)).collect()
    };
    let how = if best.iter().all(|sender| column(sender) == column(best[0])) { "equal" } else { "alike" };
    let ahead = if best.len() == decision.ranking.len() { "" } else { ", and ahead" };
    format!("{} are {how}{ahead}", join(&best))
}

struct Teller<'a> {
    ranker: &'a Ranker,
    decision: &'a Decision,
    best: &'a String,
    told: String,
}

/// Who is ahead as far as anybody noticed, who may be, and who is behind, by what the viewer sees.
struct Sides<'a> {
    leaders: Vec<&'a String>,
    doubtful: Vec<&'a String>,
    behind: Vec<&'a String>,
}

impl<'a> Teller<'a> {
    fn sides(&self) -> Sides<'a> {
        let decision = self.decision;
        let is_unnoticed = |sender: &String| self.deciding(sender).is_some_and(|found| found.noticed == 0);
        let is_doubtful = |sender: &&String| !self.is_by_cost(sender) && !is_unnoticed(sender);
        let doubtful: Vec<&String> = decision.open.iter().filter(is_doubtful).collect();
        let is_behind = |sender: &&String| decision.beaten.contains(sender) && !self.is_by_cost(sender);
        let behind: Vec<&String> = decision.ranking.iter().filter(is_behind).collect();
        let is_ahead = |sender: &&String| !doubtful.contains(sender) && !behind.contains(sender);
        Sides { leaders: decision.ranking.iter().filter(is_ahead).collect(), doubtful, behind }
    }

    /// The first of those behind, and the last by the same criterion.
    fn trailing(&self, behind: &[&String]) -> String {
        let Some(first) = behind.first() else { return String::new() };
        let name = &self.decision.deciding[*first];
        let metric = metric(name);
        let Some(mean) = self.mean(first, metric) else {
            let is = if behind.len() == 1 { "is" } else { "are" };
            return format!("; {} {is} behind", some(behind));
        };
        let last =
            behind.iter().rfind(|sender| self.decision.deciding[**sender] == *name).filter(|last| *last != first);
        let more =
            last.and_then(|last| Some((last, self.mean(last, metric)?))).map_or(String::new(), |(last, mean)| {
                format!(", {last} {}{}", if name == STALL { "for " } else { "" }, amount(metric, &[mean]))
            });
        format!("; {first} {}{more}", outcome(metric, &[mean]))
    }

    fn mean(&self, sender: &str, metric: &Metric) -> Option<f64> {
        self.ranker.mean(self.ranker.index(sender), metric.name)
    }

    fn has_viewer(&self) -> bool {
        self.ranker.criteria.iter().any(|metric| !is_cost(metric))
    }

    /// Who is best, or between whom it is open, before the network's costs are looked at.
    fn first(&self) -> String {
        let (best, decision) = (self.best, self.decision);
        let told = if self.told.is_empty() { String::new() } else { format!(":{}", self.told) };
        let open: Vec<&String> = decision.open.iter().filter(|sender| !self.is_by_cost(sender)).collect();
        let is_with = |sender: &&String| decision.tied.contains(sender) || self.is_by_cost(sender);
        let together: Vec<&String> =
            std::iter::once(best).chain(decision.ranking[1..].iter().filter(is_with)).collect();
        if !open.is_empty() {
            return self.between(&together, &open, &told);
        }
        if together.len() == 1 {
            return format!("{best} does best{told}.");
        }
        let within = self.within(&together);
        if decision.tied.len() == decision.ranking.len() - 1 {
            return format!("No difference that counts between {}{told}.{within}", join(&together));
        }
        let viewer = if self.has_viewer() { " for the viewer" } else { "" };
        format!("{} are alike{viewer}{told}.{within}", join(&together))
    }

    /// How far apart a race leaves those that are alike, at the first criterion of which that can be told.
    fn within(&self, together: &[&String]) -> String {
        let best = self.ranker.index(self.best);
        let others = || together.iter().map(|sender| self.ranker.index(sender)).filter(|sender| *sender != best);
        let at = |metric: &&'static Metric| {
            let each: Option<Vec<[f64; 2]>> =
                others().map(|other| self.ranker.at_most_apart(other, best, metric)).collect();
            Some((*metric, each?.into_iter().reduce(|a, b| if a[0] < b[0] { b } else { a })?))
        };
        let mut seen = self.ranker.criteria.iter().filter(|metric| metric.name != GUARD);
        let Some((metric, [most, session])) = seen.find_map(at) else { return String::new() };
        let told = |value: f64| amount(metric, &[value]);
        let played = self.ranker.mean(best, GUARD).filter(|played| *played > 0.0);
        let hour =
            played.map_or(String::new(), |played| format!(", {} in an hour of video", told(most * HOUR_S / played)));
        format!(
            " Their {} differs by at most {} a session on average{hour}, if none counts for more than {}.",
            metric.label,
            told(most),
            told(session)
        )
    }

    fn between(&self, together: &[&String], open: &[&String], told: &str) -> String {
        let all: Vec<&String> = together.iter().chain(open).copied().collect();
        let (between, seeds, best, decision) = (join(&all), self.ranker.seeds, self.best, self.decision);
        let found = self.deciding(open[0]);
        let is_unnoticed = |sender: &&String| self.deciding(sender).is_some_and(|found| found.noticed == 0);
        if let Some(found) = found.as_ref().filter(|_| open.iter().all(is_unnoticed)) {
            let said = format!("{between} are not told apart: {}. {best}{told}.", difference(found));
            let later = self.later(open);
            return said + &if later.is_empty() { self.cheapest(&all) } else { later };
        }
        if open.iter().all(|sender| decision.depends.contains_key(*sender)) {
            return self.depends(open[0]) + ".";
        }
        let why = found.map_or(String::new(), |found| format!(" ({})", difference(&found)));
        format!("Undecided after {seeds} runs between {between}{why}. {best} leads{told}.")
    }

    /// A sender against the best where the two first differ.
    fn deciding(&self, sender: &str) -> Option<Difference> {
        let metric = metric(self.decision.deciding.get(sender)?);
        self.ranker.difference(self.ranker.index(sender), self.ranker.index(self.best), metric)
    }

    /// What does differ for certain in what the network pays.
    fn later(&self, open: &[&String]) -> String {
        let best = self.ranker.index(self.best);
        for sender in open {
            let index = self.ranker.index(sender);
            let after = self.ranker.criteria.iter().filter(|metric| is_cost(metric));
            let mut after = after.copied();
            let apart = after.find(|metric| self.ranker.relation(index, best, metric) == Relation::Apart);
            if let Some(found) = apart.and_then(|metric| self.ranker.difference(index, best, metric)) {
                return format!(" What does differ: {sender} has {}.", difference(&found));
            }
        }
        String::new()
    }

    /// What is proven of the others and the best, besides what has been told, as far as viewers notice it: with both values.
    fn besides(&self) -> String {
        let others: Vec<&String> = self.decision.ranking[1..].iter().collect();
        let found = self.proven(&others, |_, _| true);
        if found.is_empty() { String::new() } else { format!("Proven besides: {found}.") }
    }

    /// What speaks for those that are behind, all the same.
    fn but(&self, behind: &[&String]) -> String {
        let best = self.ranker.index(self.best);
        let found = self.proven(behind, |sender, metric| self.ranker.is_better(sender, best, metric));
        if found.is_empty() { String::new() } else { format!(", though {found}") }
    }

    /// Criterion by criterion, the means of all of these senders that are apart from the best there.
    fn proven(&self, senders: &[&String], counts: impl Fn(usize, &Metric) -> bool) -> String {
        let best = self.ranker.index(self.best);
        let next = self.next_behind();
        let is_told = |sender: &String, name: &str| next == Some(sender) && self.decision.deciding[sender] == name;
        let part = |metric: &&'static Metric| {
            let bests = self.ranker.mean(best, metric.name)?;
            let is_proven = |sender: usize| {
                matches!(self.ranker.standing(sender, best, metric), Standing::Better | Standing::Worse)
            };
            let is_wanted = |sender: &String| {
                let index = self.ranker.index(sender);
                !is_told(sender, metric.name) && is_proven(index) && counts(index, metric)
            };
            let wanted = senders.iter().copied().filter(|sender| is_wanted(sender));
            let mut found: Vec<(f64, &String)> =
                wanted.filter_map(|sender| Some((self.mean(sender, metric)?, sender))).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
            let told = values(metric, &found)?;
            Some(format!("{} {told} against {} with {}", metric.label, amount(metric, &[bests]), self.best))
        };
        let seen: Vec<&'static Metric> =
            self.ranker.criteria.iter().copied().filter(|metric| !is_cost(metric)).collect();
        seen.iter().filter_map(part).collect::<Vec<_>>().join("; ")
    }

    /// Better for some viewers, worse for others, both proven.
    fn depends(&self, sender: &String) -> String {
        let weight = self.decision.depends[sender];
        let (one, best) = (self.ranker.index(sender), self.ranker.index(self.best));
        let preference = self.ranker.preference.as_ref().expect("only a weighing depends");
        let stalls_less = self.ranker.is_better(one, best, metric("stall_time_s"));
        let (picture, calm) = if stalls_less { (self.best, sender) } else { (sender, self.best) };
        let told = |sender: &str| {
            let part = |name: &str| self.mean(sender, metric(name)).map(|mean| outcome(metric(name), &[mean]));
            [part(preference.picture()), part("stall_time_s")].into_iter().flatten().collect::<Vec<_>>().join(" and ")
        };
        format!(
            "It depends on the viewer: {picture}, unless a second of stall weighs more than {} s at {}, then {calm}; {picture} {}, \
             {calm} {}",
            format_value(Some(weight)),
            preference.step(),
            told(picture),
            told(calm),
        )
    }

    /// Who of them retransmits least, and most, so far; nothing where that is close.
    fn cheapest(&self, senders: &[&String]) -> String {
        let metric = metric("retransmitted_packets");
        let mean =
            |sender: &&String| Some((self.ranker.mean(self.ranker.index(sender), metric.name)?, (*sender).clone()));
        let mut means: Vec<(f64, String)> = senders.iter().filter_map(mean).collect();
        means.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let (Some((least, first)), Some((most, last))) = (means.first(), means.last()) else { return String::new() };
        if means.len() < 2 || most - least <= metric.least.max(metric.least_share * most.abs()) {
            return String::new();
        }
        let (least, most) = (format_value(Some(*least)), format_value(Some(*most)));
        format!(" So far {first} retransmits least, {least} packets a session, and {last} most, {most}.")
    }

    /// Who of those alike for the viewer costs the network least.
    fn cost(&self) -> String {
        let behind = || self.decision.ranking[1..].iter().filter(|sender| self.is_by_cost(sender));
        let mut unsure = behind().filter(|sender| self.decision.open.contains(sender)).peekable();
        let is_unsure = unsure.peek().is_some();
        let Some(shown) = unsure.next().or_else(|| behind().next()) else { return String::new() };
        let detail = self.deciding(shown).map_or(String::new(), |d| format!(": {shown} has {}", difference(&d)));
        if is_unsure {
            return format!("Which of them costs the network least is open{detail}.");
        }
        let least: Vec<&String> = std::iter::once(self.best).chain(&self.decision.tied).collect();
        let verb = if least.len() == 1 { "costs" } else { "cost" };
        format!("Of these {} {verb} the network least{detail}.", join(&least))
    }

    /// The first that is behind for certain, for the viewer.
    fn next_behind(&self) -> Option<&'a String> {
        let is_behind = |sender: &&String| self.decision.beaten.contains(sender) && !self.is_by_cost(sender);
        self.decision.ranking.iter().find(is_behind)
    }

    fn next(&self) -> String {
        let Some(behind) = self.next_behind() else { return String::new() };
        match self.deciding(behind) {
            Some(found) => {
                format!("The next is {behind}: {}.", difference(&found))
            }
            None => {
                let label = metric(&self.decision.deciding[behind]).label;
                format!("The next is {behind}, some of whose sessions have no {label}.")
            }
        }
    }

    fn runs(&self) -> String {
        if self.decision.open.iter().all(|sender| self.decision.depends.contains_key(sender)) {
            return String::new();
        }
        let (for_viewer, for_all) = (self.decision.more_runs_for_viewer, self.decision.more_runs);
        match for_viewer.filter(|viewer| for_all.is_none_or(|all| (*viewer as f64) < CLEARLY_FEWER * all as f64)) {
            None => for_all.map_or("More runs are unlikely to decide soon.".into(), |count| {
                format!("About {} would probably decide.", more_runs(count))
            }),
            Some(viewer) => {
                let costs =
                    for_all.map_or("are unlikely to be decided soon".into(), |count| format!("take about {count}"));
                let viewer = more_runs(viewer);
                format!("About {viewer} would probably settle what the viewer sees; the network's costs {costs}.")
            }
        }
    }

    /// Alike in all that the viewer sees; told apart, or open, by what the network pays.
    fn is_by_cost(&self, sender: &str) -> bool {
        self.decision.deciding.get(sender).is_some_and(|name| is_cost(metric(name)))
    }
}

/// What viewers get, as the predicate of one sender or of several.
fn outcome(metric: &Metric, means: &[f64]) -> String {
    let is_one = means.len() == 1;
    let amount = amount(metric, means);
    match (metric.name, means.iter().all(|mean| *mean == 0.0)) {
        (STALL, true) => if is_one { "does not stall" } else { "do not stall" }.into(),
        (STALL, false) => format!("{} for {amount} a session", if is_one { "stalls" } else { "stall" }),
        (RATE, _) => format!("{} {amount} of video", if is_one { "shows" } else { "show" }),
        _ => format!("{} {amount} {}", if is_one { "has" } else { "have" }, metric.label),
    }
}

/// A mean with its unit, or the range of several.
fn amount(metric: &Metric, means: &[f64]) -> String {
    let is_large = metric.unit == "kbit/s" && means.iter().all(|mean| *mean >= 1000.0);
    let (unit, size) = if is_large { ("Mbit/s", 1000.0) } else { (metric.unit, 1.0) };
    let end = |pick: fn(f64, f64) -> f64| format_value(means.iter().map(|mean| mean / size).reduce(pick));
    let (low, high) = (end(f64::min), end(f64::max));
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if low == high { format!("{low}{unit}") } else { format!("{low} to {high}{unit}") }
}

/// Each mean with its sender; of many the least and the greatest.
fn values(metric: &Metric, found: &[(f64, &String)]) -> Option<String> {
    let with = |(mean, sender): &(f64, &String)| format!("{} with {sender}", amount(metric, &[*mean]));
    let (least, most) = (found.first()?, found.last()?);
    if found.len() <= NAMED {
        return Some(found.iter().map(with).collect::<Vec<_>>().join(", "));
    }
    Some(format!("{} to {} ({} senders)", with(least), with(most), found.len()))
}

/// The first of them by name, the others as a number.
fn some(names: &[&String]) -> String {
    if names.len() <= NAMED + 1 {
        return join(names);
    }
    let first: Vec<&str> = names[..NAMED].iter().map(|name| name.as_str()).collect();
    format!("{} and {} more", first.join(", "), names.len() - NAMED)
}

/// An estimate, so to two digits.
fn more_runs(count: usize) -> String {
    let unit = 10_usize.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    let about = (count + unit / 2) / unit * unit;
    format!("{about} more run{}", if count == 1 { "" } else { "s" })
}

fn difference(found: &Difference) -> String {
    let metric = metric(&found.metric);
    let (label, best, n) = (metric.label, &found.best, found.n);
    if found.noticed == 0 && found.relation == Relation::Open {
        let room = 100.0 * share_at_most(0, n);
        return format!(
            "in none of {n} runs would a viewer notice a difference in {label} from {best}, which leaves room for one in up to \
             {room:.0} % of sessions"
        );
    }
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
    let sized = |value: f64| {
        let more = if value.is_sign_negative() { "less" } else { "more" };
        format!("{}{unit} {more} {label} than {best}", format_value(Some(value.abs())))
    };
    match (found.p_adjusted, found.ci95) {
        (None, _) => sized(found.mean),
        (_, None) => format!("{} on average, noticeably different in {} of {n} runs", sized(found.mean), found.noticed),
        // An interval and its figure are of the same: the median.
        (_, Some([low, high])) => {
            let toward = if found.median != 0.0 { found.median } else { low + high };
            let [low, high] = if toward >= 0.0 { [low, high] } else { [-high, -low] };
            let median = if found.median == 0.0 { 0.0_f64.copysign(toward) } else { found.median };
            let [low, high] = [low, high].map(|value| format_value(Some(value)));
            format!("{} in the median run, 95 % interval {low} to {high}", sized(median))
        }
    }
}

/// What a viewer asks first, for example " stall time 2.1 s, discarded frames 14 a session on average".
fn describe(ranker: &Ranker, sender: &str) -> String {
    let index = ranker.index(sender);
    let weighed = ranker.preference.as_ref().map(|preference| [STALL, preference.picture()]);
    let is_asked = |metric: &&&'static Metric| match weighed {
        Some(names) => names.contains(&metric.name),
        None => metric.name != "played_s",
    };
    let shown = ranker.criteria.iter().filter(is_asked).take(DESCRIBED);
    let part = |metric: &&&'static Metric| {
        let mean = ranker.mean(index, metric.name)?;
        let unit = if metric.unit.is_empty() { String::new() } else { format!(" {}", metric.unit) };
        Some(format!("{} {}{unit}", metric.label, format_value(Some(mean))))
    };
    let parts: Vec<String> = shown.collect::<Vec<_>>().iter().filter_map(part).collect();
    if parts.is_empty() { String::new() } else { format!(" {} a session on average", parts.join(", ")) }
}

fn join(names: &[&String]) -> String {
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
