"""Who is best, how sure that is, and what the sentence about it rests on.

The rule (docs/guide.md tells it to users):

1. Criteria are looked at in a fixed order: what the viewer sees first, then what the network pays.
2. At a criterion two senders are *alike*, *apart* or *open*, by what `playpath.evidence` calls proven. Where nothing is
   random (all replicas of a run are identical) one run tells all, and they are alike within the margin or apart.
3. The order is found by elimination: at each criterion the best mean leads, and only senders whose mean lies within the
   margin of the leader's stay for the next criterion. So a lucky mean never wins over a less important criterion, and a
   difference nobody would notice never hides one that everybody would. The next rank is found in the same way among the
   rest. Senders that stay to the end share a rank.
4. The verdict holds the first of the order against each other sender at the first criterion where they are not alike. If
   they are apart there, it beats the other. If that is open, the verdict says "undecided" and how many runs would
   probably settle it.

The first criterion at which any two senders differ at all is tested at the full level of "apart". The others, which are
reached only after many runs, share `_LATER` of it. A value that is missing (a session that never started to play has no
start-up delay) counts as worse than any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from playpath import stats
from playpath.evidence import Evidence, apart_level
from playpath.metrics import NETWORK_CRITERIA, YIELDS_TO, Metric, metric

Values = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Sender name → metric name → one value a seed, the seeds in the same order for every sender."""

Relation = Literal["alike", "apart", "open"]

GUARDS = frozenset({"played_s"})
"""Criteria that only keep a session that shows nothing from winning: passed where no two runs differ."""

_LATER = 0.4


@dataclass(frozen=True)
class Difference:
    """A sender against the best one in one metric, paired by seed.

    Attributes
    ----------
    sender, best, metric : str
    mean : float
        Mean of sender minus best, in the metric's unit.
    ci95 : tuple of float or None
        95 % interval of the median difference, not corrected for other comparisons; None for fewer than six runs.
    p : float or None
        Of "no difference", by the same procedure: below 0.05 where `ci95` leaves zero out. None without an interval.
    p_adjusted : float or None
        Of "no further apart than the margin", corrected for all pairs of senders.
    significant : bool
        The relation is "apart": `p_adjusted` is at most the level that this number of runs and this criterion have.
    n, noticed : int
        Pairs, and those that differ by more than the margin.
    relation : {"alike", "apart", "open"}
    more_runs : int or None
        Estimate of the further runs that would settle an open difference.
    """

    sender: str
    best: str
    metric: str
    mean: float
    ci95: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None
    significant: bool
    n: int
    noticed: int
    relation: Relation
    more_runs: int | None

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        ci95 = None if self.ci95 is None else list(self.ci95)
        return {**self.__dict__, "ci95": ci95}


@dataclass(frozen=True)
class Decision:
    """How the best sender stands against the others.

    Attributes
    ----------
    ranking : list of str
        Best first.
    ranks : dict of str to int
        1 for the best; senders alike in everything that counts share a rank.
    beaten, tied, open : list of str
        The other senders: apart from the best, alike with it, undecided.
    deciding : dict of str to str
        For each other sender not tied, the criterion where it first differs from the best.
    more_runs : int or None
        Estimate of the further runs that would settle all open comparisons; None when it cannot be told.
    more_runs_for_viewer : int or None
        The same for what the viewer sees alone, without the network's costs.
    """

    ranking: list[str]
    ranks: dict[str, int]
    beaten: list[str]
    tied: list[str]
    open: list[str]
    deciding: dict[str, str]
    more_runs: int | None
    more_runs_for_viewer: int | None

    @property
    def is_decided(self) -> bool:
        """No comparison with the best is open."""
        return not self.open

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {**self.__dict__, "is_decided": self.is_decided}


class Ranker:
    """All pairwise comparisons of a set of senders.

    Parameters
    ----------
    values : Values
        Every sender has the same seeds in the same order.
    criteria : sequence of str
        Metric names, most important first; those that no sender has are left out, and those that yield to one that is there.
    is_random : bool
        False where all replicas of a run are identical.
    """

    def __init__(self, values: Values, criteria: Sequence[str], *, is_random: bool = True) -> None:
        self.values = values
        self.is_random = is_random
        self.senders = list(values)
        names = {
            n for metrics in values.values() for n, column in metrics.items() if any(v is not None for v in column)
        }
        self.criteria = [name for name in criteria if name in names and not YIELDS_TO.get(name, frozenset()) & names]
        self.seeds = max((len(v) for metrics in values.values() for v in metrics.values()), default=0)
        self._means: dict[tuple[str, str], float | None] = {}
        self._evidence: dict[tuple[str, int], tuple[list[str], Evidence | None]] = {}
        self._shares = self._share_level()

    def column(self, sender: str, name: str) -> list[float | None]:
        """A sender's values of a metric, one a seed."""
        return list(self.values[sender].get(name, [None] * self.seeds))

    def mean(self, sender: str, name: str) -> float | None:
        """Mean over the seeds that have a value."""
        key = sender, name
        if key not in self._means:
            self._means[key] = stats.mean([v for v in self.column(sender, name) if v is not None])
        return self._means[key]

    def margin(self, sender: str, other: str, name: str) -> float:
        """The largest difference of two senders in a metric that counts as alike."""
        entry: Metric = metric(name)
        return entry.margin(*(m for m in (self.mean(sender, name), self.mean(other, name)) if m is not None))

    def difference(self, sender: str, other: str, name: str) -> Difference | None:
        """`sender` minus `other` in a metric; None when no seed has both."""
        pairs = zip(self.column(sender, name), self.column(other, name), strict=True)
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        paired = stats.paired_difference([a for a, _ in both], [b for _, b in both])
        if paired is None:
            return None
        margin = self.margin(sender, other, name)
        interval, p = (paired.ci95, paired.p) if self.is_random else (None, None)
        p_adjusted = self._p_adjusted(sender, other, name) if self.is_random and name in self.criteria else None
        relation = self.relation(sender, other, name)
        needed = self._needs(sender, other, name) if relation == "open" else None
        return Difference(
            sender, other, name, paired.mean, interval, p, p_adjusted, relation == "apart", len(both),
            sum(abs(a - b) > margin for a, b in both), relation, None if needed is None else needed[0] - self.seeds,
        )  # fmt: skip

    def relation(self, sender: str, other: str, name: str) -> Relation:
        """How two senders stand at one criterion, missing values included."""
        place = self._pair(sender, other, name)
        if place is None:
            nobody = self.mean(sender, name) is None and self.mean(other, name) is None
            return "alike" if nobody else "open"
        found, one, two = place
        margin = self.margin(sender, other, name)
        if not self.is_random:
            return "apart" if found.noticed(one, two, margin) else "alike"
        is_passed = name in GUARDS and self.seeds > 1 and not found.noticed(one, two, margin)
        if is_passed or found.are_alike(one, two, margin):
            return "alike"
        level = self._level(name)
        return "apart" if level > 0 and found.p_apart(one, two, margin) <= level else "open"

    def decide(self) -> Decision:
        """Rank everybody and hold the best against each."""
        ranking, ranks = self._rank_all()
        best = ranking[0]
        groups: dict[Relation, list[str]] = {"apart": [], "alike": [], "open": []}
        deciding: dict[str, str] = {}
        for other in ranking[1:]:
            relation, name = self._first_difference(other, best)
            groups[relation].append(other)
            if name is not None:
                deciding[other] = name
        return Decision(
            ranking, ranks, groups["apart"], groups["alike"], groups["open"], deciding,
            self._more_runs(best, groups["open"], self.criteria),
            self._more_runs(best, groups["open"], [name for name in self.criteria if name not in NETWORK_CRITERIA]),
        )  # fmt: skip

    def _rank_all(self) -> tuple[list[str], dict[str, int]]:
        rest = list(self.senders)
        ranking: list[str] = []
        ranks: dict[str, int] = {}
        while rest:
            group = self._best_of(rest)
            for sender in group:
                ranks[sender] = len(ranking) + 1
            ranking += group
            rest = [s for s in rest if s not in group]
        return ranking, ranks

    def _best_of(self, senders: list[str]) -> list[str]:
        """Step 3 of the rule: those whose mean is within the margin of the leader's at every criterion, in the order given."""
        stay = list(senders)
        for name in self.criteria:
            leader = min(stay, key=lambda s: self._badness(s, name))
            stay = [s for s in stay if self._looks_alike(s, leader, name)]
        return stay

    def _looks_alike(self, sender: str, leader: str, name: str) -> bool:
        (missing, mean), (fewest, best) = self._badness(sender, name), self._badness(leader, name)
        return missing == fewest and (mean == best or mean - best <= self.margin(sender, leader, name))

    def _first_difference(self, sender: str, best: str) -> tuple[Relation, str | None]:
        """The first criterion where the two are not alike, and how they stand there."""
        for name in self.criteria:
            relation = self._relation_to_best(sender, best, name)
            if relation != "alike":
                ahead = self._badness(sender, name) < self._badness(best, name)
                return ("open" if ahead else relation), name
        return "alike", None

    def _relation_to_best(self, sender: str, best: str, name: str) -> Relation:
        """As `relation`; an open guard at which the best is never behind does not hide what comes after it."""
        relation = self.relation(sender, best, name)
        if relation != "open" or name not in GUARDS or self.seeds < 2:
            return relation
        margin, place = self.margin(sender, best, name), self._pair(sender, best, name)
        sign = -1.0 if metric(name).better == "higher" else 1.0
        return relation if place is None or np.any(-sign * place[0].differences(*place[1:]) > margin) else "alike"

    def _more_runs(self, best: str, undecided: list[str], criteria: Sequence[str]) -> int | None:
        """Runs until all open comparisons are settled: each at its criterion, and at those that follow until one tells."""
        most = 0
        for other in undecided:
            for name in criteria:
                if self._relation_to_best(other, best, name) == "alike":
                    continue
                found = self._needs(other, best, name)
                if found is None:
                    return None
                most = max(most, found[0] - self.seeds)
                if found[1]:
                    break
        return most or None

    def _badness(self, sender: str, name: str) -> tuple[int, float]:
        """Sort key, smaller is better: missing values first, then the mean in the metric's direction."""
        mean = self.mean(sender, name)
        sign = -1.0 if metric(name).better == "higher" else 1.0
        return self.column(sender, name).count(None), 0.0 if mean is None else sign * mean

    def _noticed(self, sender: str, other: str, name: str) -> bool:
        place = self._pair(sender, other, name)
        return place is None or place[0].noticed(*place[1:], self.margin(sender, other, name)) > 0

    def _p_adjusted(self, sender: str, other: str, name: str) -> float | None:
        place = self._pair(sender, other, name)
        return None if place is None else place[0].p_apart(*place[1:], self.margin(sender, other, name))

    def _needs(self, sender: str, other: str, name: str) -> tuple[int, bool] | None:
        place = self._pair(sender, other, name)
        if place is None or name not in self._shares:
            return None
        return place[0].needs(*place[1:], self.margin(sender, other, name), self._shares[name])

    def _level(self, name: str) -> float:
        return apart_level(self.seeds) * self._shares.get(name, 0.0)

    def _share_level(self) -> dict[str, float]:
        """Criterion → its part of the level of "apart"."""
        differing = [name for name in self.criteria if self._differs(name)]
        parts = [1.0, *(_LATER / (len(differing) - 1) for _ in differing[1:])]
        return dict.fromkeys(self.criteria, 0.0) | dict(zip(differing, parts, strict=False))

    def _differs(self, name: str) -> bool:
        """Whether any two senders differ at a criterion in any run."""
        first = self.senders[0]
        if name in GUARDS:
            return any(self._noticed(first, s, name) for s in self.senders)
        return any(self.column(s, name) != self.column(first, name) for s in self.senders)

    def _pair(self, sender: str, other: str, name: str) -> tuple[Evidence, int, int] | None:
        """The evidence on all senders with as few missing values as these two, and their places in it."""
        missing = self.column(sender, name).count(None)
        if self.column(other, name).count(None) != missing:
            return None
        key = name, missing
        if key not in self._evidence:
            group = [s for s in self.senders if self.column(s, name).count(None) == missing]
            rows = [row for row in zip(*(self.column(s, name) for s in group), strict=True) if None not in row]
            self._evidence[key] = group, Evidence(np.array(rows, dtype=float).T) if rows else None
        group, found = self._evidence[key]
        return None if found is None else (found, group.index(sender), group.index(other))


def identical_replicas(values: Values) -> bool:
    """Whether all runs of every sender gave the same in every metric: nothing is random, and more runs tell nothing more.

    One run alone cannot tell.
    """
    columns = [column for metrics in values.values() for column in metrics.values()]
    return all(len(column) > 1 and len(set(column)) == 1 for column in columns)
