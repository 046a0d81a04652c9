//! The verdict in a few sentences: which sender is best for the viewer, which of these costs the network least, which comes next.

use crate::criteria::{GUARD, is_cost};
use crate::decision::{Decision, Difference, Relation};
use crate::evidence::MIN_RUNS;
use crate::metric::metric;
use crate::neighbours;
use crate::ranking::{Proof, Ranker};
use crate::standing::Standing;
use crate::words::{
    NAMED, STALL, Shown, about, amount, compared, format_value, has, join, label, more_runs, outcome, quantity, range,
    some, unnoticed, values,
};
use playpath_record::registry::Metric;
use std::cell::RefCell;

/// Criteria that describe the best sender.
const DESCRIBED: usize = 2;
/// The number of runs for the viewer's criteria is given separately if it is clearly smaller than that for all.
const CLEARLY_FEWER: f64 = 0.9;
const HOUR_S: f64 = 3600.0;

/// In one line: which senders keep the video playing and which do not, and the effect on the neighbours' frames.
pub fn headline(ranker: &Ranker, decision: &Decision) -> String {
    let viewers = of_viewers(ranker, decision);
    match neighbours::frames(ranker, decision).filter(|_| ranker.seeds > 1) {
        Some(frames) => format!("{}; {frames}.", viewers.trim_end_matches('.')),
        None => viewers,
    }
}

fn of_viewers(ranker: &Ranker, decision: &Decision) -> String {
    if decision.ranking.len() == 1 || ranker.seeds < 2 || shows_nothing(ranker, decision) {
        return sentence(ranker, decision);
    }
    Wording::new(ranker, decision).headline()
}

fn shows_nothing(ranker: &Ranker, decision: &Decision) -> bool {
    decision.ranking.iter().all(|sender| ranker.mean(ranker.index(sender), GUARD) == Some(0.0))
}

/// The basis of the headline, and what it leaves out, in a streaming engineer's words.
pub fn sentence(ranker: &Ranker, decision: &Decision) -> String {
    if shows_nothing(ranker, decision) {
        let runs = if ranker.seeds == 1 { "the run".into() } else { format!("any of {} runs", ranker.seeds) };
        return format!("No video is shown in {runs}: there is nothing to compare.");
    }
    let wording = Wording::new(ranker, decision);
    let (best, figures) = (wording.best, wording.describe());
    if decision.ranking.len() == 1 {
        return format!(
            "{best}{}{figures}; there is nothing to compare it with.",
            if figures.is_empty() { "" } else { ": " }
        );
    }
    if ranker.seeds == 0 {
        return "Undecided: no run. Run some seeds.".into();
    }
    if ranker.seeds < 2 {
        let colon = if figures.is_empty() { "" } else { ": " };
        let leaders = leaders(ranker, decision);
        return format!("Undecided: one run has no interval. In it {leaders}{colon}{figures}. Run more seeds.");
    }
    let headline = wording.headline();
    let sentences = [wording.first(), wording.cost(), wording.next(), wording.besides(), wording.runs()];
    let text = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect::<Vec<_>>().join(" ");
    if text.is_empty() { headline } else { text }
}

/// Which sender did best in a single run, or that several were equal.
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

struct Wording<'a> {
    ranker: &'a Ranker,
    decision: &'a Decision,
    best: &'a String,
    of: &'static str,
    /// Senders and the criteria of which the headline has their figures.
    described: RefCell<Vec<(String, &'static str)>>,
}

/// Which senders are ahead, as far as is noticeable, which may be, and which are behind, by what the viewer sees.
struct Sides<'a> {
    leaders: Vec<&'a String>,
    doubtful: Vec<&'a String>,
    behind: Vec<&'a String>,
}

impl<'a> Wording<'a> {
    fn new(ranker: &'a Ranker, decision: &'a Decision) -> Wording<'a> {
        let of = quantity(ranker);
        Wording { ranker, decision, best: &decision.ranking[0], of, described: RefCell::default() }
    }

    fn headline(&self) -> String {
        let decision = self.decision;
        let Sides { leaders, doubtful, behind } = self.sides();
        let seeds = self.ranker.seeds;
        if !doubtful.is_empty() && doubtful.iter().all(|sender| decision.depends.contains_key(*sender)) {
            return format!("{}{}.", self.all_depend(&leaders[1..], &doubtful), self.trailing(&behind, ""));
        }
        if let Some(&first) = doubtful.first() {
            let together = [&leaders[..], &doubtful].concat();
            let (between, certain) = (some(&together), self.proven(&doubtful, |_, _| true));
            let certain = if certain.is_empty() { certain } else { format!("; proven: {certain}") };
            let (calm, others): (Vec<&String>, Vec<&String>) =
                together.iter().partition(|sender| self.never_stalls(sender));
            let is_by_stalls = self.ranker.preference.is_none() && decision.deciding[first] == STALL;
            if calm.contains(&self.best) && (is_by_stalls || (others.is_empty() && !behind.is_empty())) {
                return format!("{}{certain}.", self.calm(&calm, &others, &behind));
            }
            // Switches of the leader say little without the others': its picture is told.
            let picture =
                self.ranker.preference.as_ref().filter(|weighed| weighed.switched() == decision.deciding[first]);
            let shown = picture.map_or(decision.deciding[first].as_str(), |weighed| weighed.picture());
            let best = self.best;
            let figures = self.side_by_side(first, metric(shown));
            let trailing = self.trailing(&behind, if figures.contains(self.of) { "" } else { self.of });
            return format!(
                "Undecided after {seeds} runs between {between}; {best} leads{figures}{trailing}{certain}."
            );
        }
        let Some(first) = behind.first() else {
            return self.no_difference(&leaders);
        };
        let lead = if leaders.len() == 1 { "leads" } else { "lead" };
        let said = self.outcome(&leaders, metric(&decision.deciding[*first])).unwrap_or(lead.into());
        let trailing = self.trailing(&behind, if said.contains(self.of) { "" } else { self.of });
        format!("{} {said}{trailing}{}.", some(&leaders), self.but(&behind))
    }

    /// All stand together for the viewer: proven alike, or only not seen to differ so far.
    fn no_difference(&self, senders: &[&String]) -> String {
        let (seeds, who) = (self.ranker.seeds, some(senders));
        if senders.iter().any(|sender| self.decision.unnoticed.contains(*sender) && !self.is_by_cost(sender)) {
            let judge = if self.has_viewer() { "a viewer" } else { "anybody" };
            return format!(
                "Undecided after {seeds} runs: none of them shows a difference between {who} that {judge} would notice."
            );
        }
        let viewer = if self.has_viewer() { " for the viewer" } else { "" };
        format!("{who} are proven alike{viewer} in {seeds} runs.")
    }

    /// The leader's figure and that of the first from which it is not told apart, with the means where medians look equal.
    fn side_by_side(&self, first: &String, metric: &'static Metric) -> String {
        let is_told = self.described.borrow().contains(&(first.clone(), metric.name));
        let Some(figures) = self.outcome(&[self.best], metric) else { return String::new() };
        let shown = |sender: &String| self.shown(sender, metric).filter(|_| !is_told);
        let (Some(own), Some(other)) = (shown(self.best), shown(first)) else { return format!(" and {figures}") };
        let of = |shown: Shown, of: &str| outcome(metric, &[shown], of);
        if of(own, "") != of(other, "") {
            return format!(" and {figures}, {first} {}", of(other, ""));
        }
        let [own, other] = [(own, self.best), (other, first)].map(|(of, who)| of.with_mean(self.ranker, who, metric));
        if of(own, "") == of(other, "") {
            return format!(" and {figures}");
        }
        format!(" and {}, {first} {}", of(own, self.of), of(other, ""))
    }

    /// Which senders never stall, and what is undecided: which of them is best, and whether the others are worse.
    fn calm(&self, calm: &[&String], others: &[&String], behind: &[&String]) -> String {
        self.described.borrow_mut().extend(calm.iter().map(|sender| ((*sender).clone(), STALL)));
        let (count, seeds) = (calm.len(), self.ranker.seeds);
        let verb = if count == 1 { "does" } else { "do" };
        let clear = format!("{} {verb} not stall{}", some(calm), self.trailing(behind, self.of));
        if others.is_empty() {
            return format!("{clear}. Which of the {count} is best is undecided after {seeds} runs");
        }
        let which = if count == 1 { String::new() } else { format!("which of the {count} is best, and ") };
        let is = if others.len() == 1 { "is" } else { "are" };
        let stall = metric(STALL);
        let with = |sender: &&String| {
            self.shown(sender, stall).map(|shown| format!("{sender} with {}", amount(stall, &[shown])))
        };
        let others: Vec<String> = others.iter().filter_map(with).collect();
        let others = some(&others.iter().collect::<Vec<_>>());
        format!("{clear}. Undecided after {seeds} runs: {which}whether {others} {is} worse")
    }

    /// Whether the sender plays without a stall in every run.
    fn never_stalls(&self, sender: &str) -> bool {
        self.ranker.mean(self.ranker.index(sender), STALL) == Some(0.0)
    }

    fn sides(&self) -> Sides<'a> {
        let decision = self.decision;
        let is_doubtful = |sender: &&String| !self.is_by_cost(sender) && !decision.unnoticed.contains(sender);
        let doubtful: Vec<&String> = decision.open.iter().filter(is_doubtful).collect();
        let is_behind = |sender: &&String| decision.beaten.contains(sender) && !self.is_by_cost(sender);
        let behind: Vec<&String> = decision.ranking.iter().filter(is_behind).collect();
        let is_ahead = |sender: &&String| !doubtful.contains(sender) && !behind.contains(sender);
        Sides { leaders: decision.ranking.iter().filter(is_ahead).collect(), doubtful, behind }
    }

    /// The first of those behind, the last by the same criterion (of three all), and the last by another; `of` is said of the first figure.
    fn trailing(&self, behind: &[&String], of: &str) -> String {
        let Some(&first) = behind.first() else { return String::new() };
        let name = &self.decision.deciding[first];
        let metric = metric(name);
        let Some(shown) = self.shown(first, metric) else {
            let is = if behind.len() == 1 { "is" } else { "are" };
            return format!("; {} {is} behind", some(behind));
        };
        self.described.borrow_mut().push((first.clone(), metric.name));
        let same: Vec<&String> =
            behind[1..].iter().copied().filter(|sender| self.decision.deciding[*sender] == *name).collect();
        let named = if same.len() < NAMED { &same[..] } else { &same[same.len() - 1..] };
        let figure = |sender: &&String| {
            let shown = self.shown(sender, metric)?;
            self.described.borrow_mut().push(((*sender).clone(), metric.name));
            Some(format!(", {sender} {}{}", if name == STALL { "for " } else { "" }, amount(metric, &[shown])))
        };
        let more: String = named.iter().filter_map(figure).collect();
        let than = self.than(first, metric);
        format!("; {first} {}{more}{than}{}", outcome(metric, &[shown], of), self.last_but_by(name, behind))
    }

    /// The last of those behind which another criterion decides on.
    fn last_but_by(&self, name: &String, behind: &[&String]) -> String {
        let last = behind.iter().rfind(|sender| self.decision.deciding[**sender] != *name);
        let clause = last.and_then(|last| {
            let metric = metric(&self.decision.deciding[*last]);
            let shown = self.shown(last, metric)?;
            self.described.borrow_mut().push(((*last).clone(), metric.name));
            Some(format!("; {last} {}{}", outcome(metric, &[shown], ""), self.than(last, metric)))
        });
        clause.unwrap_or_default()
    }

    /// The figure of whoever beat a sender, where nothing has told it.
    fn than(&self, sender: &String, metric: &'static Metric) -> String {
        let by = &self.decision.against[sender];
        let told = (by.clone(), metric.name);
        let figure = self.shown(by, metric).filter(|_| !self.described.borrow().contains(&told));
        self.described.borrow_mut().push(told);
        figure.map_or(String::new(), |shown| format!(" against {} with {by}", amount(metric, &[shown])))
    }

    fn shown(&self, sender: &str, metric: &Metric) -> Option<Shown> {
        Shown::of(self.ranker, sender, metric)
    }

    /// The values of these senders at a criterion, in the headline's words.
    fn outcome(&self, senders: &[&String], metric: &'static Metric) -> Option<String> {
        let shown: Option<Vec<Shown>> = senders.iter().map(|sender| self.shown(sender, metric)).collect();
        self.described.borrow_mut().extend(senders.iter().map(|sender| ((*sender).clone(), metric.name)));
        Some(outcome(metric, &shown?, self.of))
    }

    fn has_viewer(&self) -> bool {
        self.ranker.criteria.iter().any(|metric| !is_cost(metric))
    }

    /// Which sender is best, or what is open, before the network's costs are considered.
    fn first(&self) -> String {
        let (best, decision, figures) = (self.best, self.decision, self.describe());
        let open: Vec<&String> = decision.open.iter().filter(|sender| !self.is_by_cost(sender)).collect();
        let is_with = |sender: &&String| decision.tied.contains(sender) || self.is_by_cost(sender);
        let together: Vec<&String> =
            std::iter::once(best).chain(decision.ranking[1..].iter().filter(is_with)).collect();
        let has = if figures.is_empty() { String::new() } else { format!(" {best} has {figures}.") };
        if !open.is_empty() {
            return self.between(&together, &open) + &has;
        }
        if together.len() == 1 {
            return format!(
                "{best} does best{}.",
                if figures.is_empty() { figures } else { format!(", with {figures}") }
            );
        }
        let within = self.within(&together);
        if decision.tied.len() == decision.ranking.len() - 1 {
            return format!("They are proven alike at every criterion.{has}{within}");
        }
        let viewer = if self.has_viewer() { " for the viewer" } else { "" };
        format!("{} are alike{viewer}.{has}{within}", join(&together))
    }

    /// How far apart a race leaves those that are alike, at the first criterion for which that is known.
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
        let amount_of = |value: f64| range(metric, &[value]);
        let played = self.ranker.mean(best, GUARD).filter(|played| *played > 0.0);
        let hour = played
            .map_or(String::new(), |played| format!(", {} in an hour of video", amount_of(most * HOUR_S / played)));
        format!(
            " Their {} differs by at most {} a session on average{hour}, if none counts for more than {}.",
            label(metric),
            amount_of(most),
            amount_of(session)
        )
    }

    fn between(&self, together: &[&String], open: &[&String]) -> String {
        let depends = |sender: &&String| self.decision.depends.contains_key(*sender);
        let open: &[&String] = &open.iter().copied().filter(|sender| !depends(sender)).collect::<Vec<_>>();
        let Some(&first) = open.first() else { return String::new() };
        let found = self.deciding(first);
        let costs = || {
            let later = self.later(open);
            if later.is_empty() { self.cheapest(&[together, open].concat()) } else { later }
        };
        let is_unnoticed = |sender: &&String| self.decision.unnoticed.contains(*sender);
        if let Some(found) = found.as_ref().filter(|_| open.iter().all(is_unnoticed)) {
            return format!("Not proven alike: {}.{}", unnoticed(found), costs());
        }
        let doubtful = open.iter().filter_map(|sender| self.deciding(sender)).find(|found| found.noticed > 0).or(found);
        doubtful.map_or(String::new(), |found| match self.is_proven(&found.sender, metric(&found.metric)) {
            true => format!("{}; whether the other things that viewers weigh outweigh that is open.", has(&found)),
            false if found.noticed == 0 => format!("Undecided: {}.{}", has(&found), costs()),
            false => format!("Undecided: {}.", has(&found)),
        })
    }

    /// Noticeably better or worse than the best, at one criterion.
    fn is_proven(&self, sender: &str, metric: &'static Metric) -> bool {
        let (one, best) = (self.ranker.index(sender), self.ranker.index(self.best));
        if self.ranker.criteria.iter().all(|criterion| criterion.name != metric.name) {
            return self.ranker.is_apart_in(one, best, metric);
        }
        matches!(self.ranker.standing(one, best, metric), Standing::Better | Standing::Worse)
    }

    /// A sender against the best, or who else beat it, where the two first differ.
    fn deciding(&self, sender: &str) -> Option<Difference> {
        let metric = metric(self.decision.deciding.get(sender)?);
        let other = self.ranker.index(&self.decision.against[sender]);
        self.ranker.difference(self.ranker.index(sender), other, metric)
    }

    /// A proven difference in the network's costs, if there is one.
    fn later(&self, open: &[&String]) -> String {
        let best = self.ranker.index(self.best);
        for sender in open {
            let index = self.ranker.index(sender);
            let after = self.ranker.criteria.iter().filter(|metric| is_cost(metric));
            let mut after = after.copied();
            let apart = after.find(|metric| self.ranker.relation(index, best, metric) == Relation::Apart);
            if let Some(found) = apart.and_then(|metric| self.ranker.difference(index, best, metric)) {
                return format!(" What does differ: {}.", has(&found));
            }
        }
        String::new()
    }

    /// Other proven and noticeable differences between the best and the others, with both values.
    fn besides(&self) -> String {
        let others: Vec<&String> = self.decision.ranking[1..].iter().collect();
        let found = self.proven(&others, |_, _| true);
        if found.is_empty() { String::new() } else { format!("Proven besides: {found}.") }
    }

    /// In which criteria the senders behind are nevertheless better.
    fn but(&self, behind: &[&String]) -> String {
        let best = self.ranker.index(self.best);
        let found = self.proven(behind, |sender, metric| self.ranker.is_better(sender, best, metric));
        if found.is_empty() { String::new() } else { format!(", though {found}") }
    }

    /// Who shows noticeably less of the film than the best has fewer stalls for it: no merit, and not told as one.
    fn is_merit(&self, sender: usize, metric: &'static Metric) -> bool {
        let best = self.ranker.index(self.best);
        let is_there = self.ranker.criteria.iter().find(|criterion| criterion.name == GUARD);
        is_there.is_none_or(|guard| self.ranker.looks_alike(sender, best, guard))
            || !self.ranker.is_better(sender, best, metric)
    }

    /// Criterion by criterion, the figures of all of these senders that are apart from the best there, once.
    fn proven(&self, senders: &[&String], counts: impl Fn(usize, &Metric) -> bool) -> String {
        let part = |metric: &&'static Metric| {
            let bests = self.shown(self.best, metric)?;
            let is_wanted = |sender: &&String| {
                self.is_proven(sender, metric)
                    && self.is_merit(self.ranker.index(sender), metric)
                    && counts(self.ranker.index(sender), metric)
                    && !self.described.borrow().contains(&((*sender).clone(), metric.name))
            };
            let wanted = senders.iter().copied().filter(is_wanted);
            let mut found: Vec<(Shown, &String)> =
                wanted.filter_map(|sender| Some((self.shown(sender, metric)?, sender))).collect();
            found.sort_by(|a, b| a.0.middle.total_cmp(&b.0.middle).then_with(|| a.1.cmp(b.1)));
            self.described.borrow_mut().extend(found.iter().map(|(_, sender)| ((*sender).clone(), metric.name)));
            let looks_equal = found.iter().any(|(shown, _)| amount(metric, &[*shown]) == amount(metric, &[bests]));
            let shown = |shown: Shown, sender: &str| {
                if looks_equal { shown.with_mean(self.ranker, sender, metric) } else { shown }
            };
            found.iter_mut().for_each(|(of, sender)| *of = shown(*of, sender));
            let (others, bests) = (values(metric, &found)?, amount(metric, &[shown(bests, self.best)]));
            Some(format!("{} {others} against {bests} with {}", label(metric), self.best))
        };
        let seen: Vec<&'static Metric> =
            self.ranker.criteria.iter().copied().filter(|metric| !is_cost(metric)).collect();
        seen.iter().filter_map(part).collect::<Vec<_>>().join("; ")
    }

    /// Of senders on which viewers would disagree the first with its figures; the others, and those with the best, by name.
    fn all_depend(&self, with_best: &[&String], doubtful: &[&String]) -> String {
        let is = if with_best.len() == 1 { "is" } else { "are" };
        let alike = if with_best.is_empty() {
            String::new()
        } else {
            format!("; {} {is} no different from {} for a viewer", some(with_best), self.best)
        };
        let further = |sender: &&String| {
            format!(
                "; with {sender} it depends likewise, from {} s",
                format_value(Some(self.decision.depends[*sender]))
            )
        };
        let further: String = doubtful[1..].iter().map(further).collect();
        format!("{}{alike}{further}", self.depends(doubtful[0]))
    }

    /// Better for some viewers, worse for others, both proven.
    fn depends(&self, sender: &String) -> String {
        let weight = self.decision.depends[sender];
        let (one, best) = (self.ranker.index(sender), self.ranker.index(self.best));
        let preference = self.ranker.preference.as_ref().expect("only a weighing depends");
        let stalls_less = self.ranker.is_better(one, best, metric(STALL));
        let (picture, calm) = if stalls_less { (self.best, sender) } else { (sender, self.best) };
        let picture_and_stalls = |sender: &str| {
            let sender = sender.to_string();
            let part = |name: &str| self.outcome(&[&sender], metric(name));
            [part(preference.picture()), part(STALL)].into_iter().flatten().collect::<Vec<_>>().join(" and ")
        };
        format!(
            "It depends on the viewer: {picture}, unless a second of stall weighs more than {} s at {}, then {calm}; {picture} {}, \
             {calm} {}",
            format_value(Some(weight)),
            preference.step(),
            picture_and_stalls(picture),
            picture_and_stalls(calm),
        )
    }

    /// Which of them retransmits least and most so far; empty if that is close.
    fn cheapest(&self, senders: &[&String]) -> String {
        let metric = metric("retransmitted_packets");
        let shown = |sender: &&String| Some((self.shown(sender, metric)?.middle, (*sender).clone()));
        let mut found: Vec<(f64, String)> = senders.iter().filter_map(shown).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        let (Some((least, first)), Some((most, last))) = (found.first(), found.last()) else { return String::new() };
        if found.len() < 2 || most - least <= metric.least.max(metric.least_share * most.abs()) {
            return String::new();
        }
        let (least, most) = (format_value(Some(*least)), format_value(Some(*most)));
        format!(" So far {first} retransmits least, {least} packets{}, and {last} most, {most}.", self.of)
    }

    /// Which of the senders that are alike for the viewer costs the network least.
    fn cost(&self) -> String {
        let behind = || self.decision.ranking[1..].iter().filter(|sender| self.is_by_cost(sender));
        let mut unsure = behind().filter(|sender| self.decision.open.contains(sender)).peekable();
        let is_unsure = unsure.peek().is_some();
        let Some(shown) = unsure.next().or_else(|| behind().next()) else { return String::new() };
        let detail = self.deciding(shown).map_or(String::new(), |found| format!(": {}", has(&found)));
        if is_unsure {
            return format!("Which of them costs the network least is undecided{detail}.");
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
                format!("The next is {behind}: {}.", compared(&found))
            }
            None => {
                let label = label(metric(&self.decision.deciding[behind]));
                format!("The next is {behind}, some of whose sessions have no {label}.")
            }
        }
    }

    fn runs(&self) -> String {
        if self.decision.open.iter().all(|sender| self.decision.depends.contains_key(sender)) {
            return String::new();
        }
        let is_few = self.ranker.is_random && self.ranker.proof == Proof::Tests && self.ranker.seeds < MIN_RUNS;
        let few = if is_few { format!("Fewer than {MIN_RUNS} runs prove nothing. ") } else { String::new() };
        let (for_viewer, for_all) = (self.decision.more_runs_for_viewer, self.decision.more_runs);
        few + &match for_viewer.filter(|viewer| for_all.is_none_or(|all| (*viewer as f64) < CLEARLY_FEWER * all as f64))
        {
            None => for_all.map_or("More runs are unlikely to decide soon.".into(), |count| {
                format!("About {} like these would decide.", more_runs(count))
            }),
            Some(viewer) => {
                let costs = for_all
                    .map_or("are unlikely to be decided soon".into(), |count| format!("take about {}", about(count)));
                let viewer = more_runs(viewer);
                format!("About {viewer} like these would settle what the viewer sees; the network's costs {costs}.")
            }
        }
    }

    /// The figures that matter most to viewers and that the headline has not given, for example "stall time 2.1 s, discarded frames 14 in
    /// the median run".
    fn describe(&self) -> String {
        let weighed = self.ranker.preference.as_ref().map(|preference| [STALL, preference.picture()]);
        let is_asked = |metric: &&&'static Metric| match weighed {
            Some(names) => names.contains(&metric.name),
            None => metric.name != GUARD,
        };
        let is_described = |metric: &Metric| self.described.borrow().contains(&(self.best.clone(), metric.name));
        let shown = self.ranker.criteria.iter().filter(is_asked).take(DESCRIBED).filter(|metric| !is_described(metric));
        let part = |metric: &&'static Metric| {
            let figure = amount(metric, &[self.shown(self.best, metric)?]);
            let is_count = metric.unit.is_empty();
            Some(if is_count { format!("{figure} {}", label(metric)) } else { format!("{} {figure}", label(metric)) })
        };
        let parts: Vec<String> = shown.filter_map(part).collect();
        if parts.is_empty() {
            String::new()
        } else {
            parts.join(", ") + if self.ranker.seeds < 2 { "" } else { self.of }
        }
    }

    /// Whether the sender is alike in everything that the viewer sees, so that the network's cost decides or leaves it open.
    fn is_by_cost(&self, sender: &str) -> bool {
        self.decision.deciding.get(sender).is_some_and(|name| is_cost(metric(name)))
    }
}
