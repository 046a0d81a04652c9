"""Which sender is best, how sure that is, and the evidence for it, as computed by `crates/verdict`.

The rule is in `crates/verdict/src/ranking.rs`, what counts as proven in `evidence.rs` next to it, the sentences in `sentence.rs`;
docs/manual/verdict.md explains them to users.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playpath import _engine

Values = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Sender name → metric name → one value a seed, the seeds in the same order for every sender."""

Relation = Literal["alike", "apart", "open"]


@dataclass(frozen=True)
class Difference:
    """A sender against the best one in one metric, paired by seed."""

    sender: str
    best: str
    metric: str
    mean: float
    """Mean of sender minus best, in the metric's unit."""
    median: float | None
    """Median of the differences; None from versions before 0.3."""
    ci95: tuple[float, float] | None
    """95 % interval of that median, not corrected for other comparisons; None for fewer than six runs."""
    p: float | None
    """p value of "no difference", by the same procedure: below 0.05 if `ci95` excludes zero. None without an interval."""
    p_adjusted: float | None
    """p value of "no further apart than the margin", corrected for all pairs of senders."""
    significant: bool
    """Whether the relation is "apart": `p_adjusted` is at most the level for this number of runs and this criterion."""
    n: int
    noticed: int
    """`n` and `noticed`: the number of pairs, and of those that differ by more than the margin."""
    relation: Relation
    more_runs: int | None
    """Estimated number of further runs that would settle an open difference."""

    @property
    def middle(self) -> float:
        """The value shown with `ci95`: the median; without an interval the mean."""
        return self.mean if self.ci95 is None or self.median is None else self.median

    def to_dict(self) -> dict[str, object]:
        ci95 = None if self.ci95 is None else list(self.ci95)
        return {**self.__dict__, "ci95": ci95}

    @staticmethod
    def from_dict(found: dict[str, Any]) -> Difference:
        return Difference(**{"median": None, **found, "ci95": found["ci95"] and tuple(found["ci95"])})


@dataclass(frozen=True)
class Judged:
    """A sender against the best one at one criterion, judged on its own, whatever the other criteria say."""

    metric: str
    judged: Literal["better", "worse", "alike", "open"]
    """Proven noticeably better or worse than the best ("better", "worse"), proven not noticeably different ("alike"), or not
    proven ("open")."""
    mean: float | None
    best: float | None
    """`mean` and `best`: the sender's mean and that of the best."""
    at_most: float | None
    """If open: the end of the median difference's 95 % interval that is farther from zero; None below six runs. If a race has
    proven the two alike: how far apart they may be on average, each session's difference capped at six times the margin."""
    share_at_most: float | None
    """The largest share of sessions that may differ noticeably, at 95 % confidence; None if nothing is random."""


@dataclass(frozen=True)
class Decision:
    """How the best sender stands against the others."""

    ranking: list[str]
    """Best first."""
    ranks: dict[str, int]
    """1 for the best; senders alike in everything that counts share a rank."""
    places: dict[str, tuple[int, int]]
    """The first and the last place that each may have, given what is proven; senders whose order is not proven share places."""
    criteria: dict[str, list[Judged]]
    """Each other sender against the best, every criterion judged on its own."""
    weighed: dict[str, Literal["better", "worse", "alike", "open"]]
    """The same for the weighted sum of picture and stalls, if these are weighed against each other: a difference of the sum may
    be proven when none of its parts is."""
    beaten: list[str]
    tied: list[str]
    open: list[str]
    """`beaten`, `tied` and `open`: the other senders: apart from the best, alike with it, undecided."""
    unnoticed: list[str]
    """Of the open ones those of which no viewer would have noticed a difference from the best in any session."""
    against: dict[str, str]
    """For each other sender that is not tied, the sender that `deciding` compares it with: the best, or, if it left a race
    because another was proven better, that other one."""
    deciding: dict[str, str]
    """The criterion where it first differs from that one; where several are weighed against each other, the one that makes most of
    the difference that one notices, which may be the switches of quality."""
    p_values: dict[str, float]
    """The p value of that comparison, corrected for all pairs of senders; where several are weighed against each other, that of
    what they sum up to. Empty where nothing is random."""
    depends: dict[str, float]
    """The open senders that are proven better for some viewers and worse for others, each with the weight at which that
    changes: a second of stall, in seconds of a picture one step worse."""
    more_runs: int | None
    """Estimate of the further runs that would settle all open comparisons; None when it is not known."""
    more_runs_of: dict[str, int]
    """The same for each open one by itself, where it is known."""
    more_runs_for_viewer: int | None
    """`more_runs` for what the viewer sees alone, without the network's costs."""

    @property
    def is_decided(self) -> bool:
        """No comparison with the best is open."""
        return set(self.open) <= set(self.depends)

    def place(self, sender: str) -> str:
        """A sender's place, for tables: "2", or "1–3" if these places are still possible."""
        first, last = self.places[sender]
        return str(first) if first == last else f"{first}–{last}"

    def standing(self, sender: str) -> str:
        """Another sender's standing, for tables: "alike", "undecided", "worse", or "worse than" a sender other than the best."""
        if sender in self.tied:
            return "alike"
        if sender in self.open:
            return "undecided"
        other = self.against[sender]
        return "worse" if other == self.ranking[0] else f"worse than {other}"

    def to_dict(self) -> dict[str, object]:
        criteria = {sender: [dict(judged.__dict__) for judged in found] for sender, found in self.criteria.items()}
        places = {sender: list(place) for sender, place in self.places.items()}
        return {**self.__dict__, "places": places, "criteria": criteria, "is_decided": self.is_decided}


_BY_SENDER: dict[str, Callable[[Any], Any]] = {
    "ranks": int,
    "places": tuple,
    "criteria": lambda found: [Judged(**judged) for judged in found],
    "weighed": str,
    "against": str,
    "deciding": str,
    "p_values": float,
    "more_runs_of": int,
}
"""The fields of a decision that hold a value for each sender, and how to read that value from JSON."""


class Ranker:
    """All pairwise comparisons of a set of senders.

    Args:
        values: Every sender has the same seeds in the same order.
        criteria: Metric names, most important first; those that no sender has are left out, and so are those that yield to
            one that is present.
        is_random: False if all replicas of a run are identical.
        is_race: Senders may have fewer runs than others, and proofs are by betting (`crates/verdict/src/race.rs`), which
            holds however often one looks.
        prefer: "range": what holds for every viewer whose weights lie in the range found in the literature
            (`crates/verdict/src/preference.rs`); or what comes first: "stalls", "picture", "start", or the name of a
            metric.
    """

    def __init__(
        self,
        values: Values,
        criteria: Sequence[str],
        *,
        is_random: bool = True,
        prefer: str = "range",
        is_race: bool = False,
    ) -> None:
        self.values = values
        self.is_random = is_random
        self._rule = (list(criteria), prefer, is_race)
        self.senders = list(values)
        columns = [
            (sender, {name: list(column) for name, column in metrics.items()}) for sender, metrics in values.items()
        ]
        self._judge = _engine.Judge(columns, list(criteria), is_random, prefer, is_race)
        self.criteria: list[str] = self._judge.criteria
        self.seeds: int = self._judge.seeds
        self._decided: dict[str, Any] | None = None

    def among(self, values: Values) -> Ranker:
        """A ranker of other values by the same rule."""
        criteria, prefer, is_race = self._rule
        return Ranker(values, criteria, is_random=not identical_replicas(values), prefer=prefer, is_race=is_race)

    def column(self, sender: str, name: str) -> list[float | None]:
        """A sender's values of a metric, one for each seed that it played."""
        played = max(map(len, self.values[sender].values()), default=0)
        return list(self.values[sender].get(name, [None] * played))

    def mean(self, sender: str, name: str) -> float | None:
        return self._judge.mean(sender, name)

    def margin(self, sender: str, other: str, name: str) -> float:
        """The largest difference between two senders in a metric that counts as alike."""
        return self._judge.margin(sender, other, name)

    def difference(self, sender: str, other: str, name: str) -> Difference | None:
        """`sender` minus `other` in a metric; None when no seed has both."""
        found = json.loads(self._judge.difference(sender, other, name))
        return None if found is None else Difference.from_dict(found)

    def relation(self, sender: str, other: str, name: str) -> Relation:
        """The relation of two senders at one criterion, missing values included."""
        return self._judge.relation(sender, other, name)

    def decide(self) -> Decision:
        """Rank all senders and compare the best with each of the others."""
        return _decision(self._judged["decision"])

    def effects(self, choices: Sequence[tuple[str, str, str]]) -> list[dict[str, Any]]:
        """The effect of choices (name, sender, value) on each sender, relative to the first, judged on all of them together."""
        return json.loads(self._judge.effects(list(choices)))

    @property
    def headline(self) -> str:
        """Which senders keep the video playing and which do not, in one line."""
        return str(self._judged["headline"])

    @property
    def verdict(self) -> str:
        """The verdict of the comparison, in a streaming engineer's words."""
        return str(self._judged["verdict"])

    @property
    def _judged(self) -> dict[str, Any]:
        if self._decided is None:
            self._decided = json.loads(self._judge.decide())
        return self._decided


def _decision(raw: dict[str, Any]) -> Decision:
    """Read a decision from the engine's JSON, with everything in the order of the ranking."""
    in_order = {
        key: {s: read(raw[key][s]) for s in raw["ranking"] if s in raw[key]} for key, read in _BY_SENDER.items()
    }
    return Decision(**{**raw, **in_order})


def is_clear(found: Difference, margin: float) -> bool:
    """Whether the interval lies beyond the margin although the difference is not proven: a proof takes more runs the more senders
    and criteria there are.
    """
    return not found.significant and found.ci95 is not None and (found.ci95[0] > margin or found.ci95[1] < -margin)


def identical_replicas(values: Values) -> bool:
    """Whether all runs of every sender gave equal values in every metric: nothing is random, and more runs add nothing.

    A single run cannot show this.
    """
    columns = [column for metrics in values.values() for column in metrics.values()]
    return all(len(column) > 1 and len(set(column)) == 1 for column in columns)
