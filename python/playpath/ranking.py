"""Who is best, how sure that is, and the sentence that says so.

The rule (docs/guide.md tells it to users):

1. Criteria are looked at in a fixed order: what the viewer sees first, then what the network pays.
2. At a criterion two senders are
   - *alike* when the interval of their paired difference lies within the criterion's margin (what nobody would notice);
   - *apart* when they are not alike and the difference is significant after Holm's correction;
   - *open* otherwise.
3. The best sender is found by elimination: at each criterion the smallest mean (largest, where more is better) leads,
   and only senders alike with the leader stay for the next criterion. So a lucky mean never wins over a less important
   criterion, and a difference nobody would notice never hides one that everybody would. The next rank is found the same
   way among the rest. Senders alike in every criterion share a rank.
4. The verdict holds the best against each other sender at the first criterion where they are not alike. If that
   difference is open, the verdict says "undecided" and how many runs would probably settle it.

A value that is missing (a session that never started to play has no start-up delay) counts as worse than any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from playpath import stats
from playpath.metrics import Metric, metric

Values = Mapping[str, Mapping[str, Sequence[float | None]]]
"""Sender name → metric name → one value a seed, the seeds in the same order for every sender."""

Relation = Literal["alike", "apart", "open"]


@dataclass(frozen=True)
class Difference:
    """A sender against the best one in one metric, paired by seed.

    Attributes
    ----------
    sender, best, metric : str
    mean : float
        Mean of sender minus best, in the metric's unit.
    ci95 : tuple of float or None
        Student t interval of that mean, not corrected for multiple comparisons; None for fewer than two pairs.
    p, p_holm : float or None
        Paired t test, uncorrected and corrected over all pairs of senders.
    significant : bool
        `p_holm` below 0.05.
    n : int
        Pairs.
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
    p_holm: float | None
    significant: bool
    n: int
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
    """

    ranking: list[str]
    ranks: dict[str, int]
    beaten: list[str]
    tied: list[str]
    open: list[str]
    deciding: dict[str, str]
    more_runs: int | None

    @property
    def is_decided(self) -> bool:
        """No comparison with the best is open."""
        return not self.open

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {**self.__dict__, "is_decided": self.is_decided}


class Ranker:
    """All pairwise comparisons of a set of senders, computed once.

    Parameters
    ----------
    values : Values
        Every sender has the same seeds in the same order.
    criteria : sequence of str
        Metric names, most important first; those that no sender has are left out.
    significance : float
        Level of a corrected test; smaller where the same data are judged several times.
    """

    def __init__(self, values: Values, criteria: Sequence[str], significance: float = stats.SIGNIFICANCE) -> None:
        self.values = values
        self.significance = significance
        self.senders = list(values)
        self.names = _metric_names(values)
        self.criteria = [name for name in criteria if name in self.names]
        self.seeds = max((len(v) for metrics in values.values() for v in metrics.values()), default=0)
        self._corrected = {name: self._correct(name) for name in self.names}

    def column(self, sender: str, name: str) -> list[float | None]:
        """A sender's values of a metric, one a seed."""
        return list(self.values[sender].get(name, [None] * self.seeds))

    def mean(self, sender: str, name: str) -> float | None:
        """Mean over the seeds that have a value."""
        summary = stats.summarise([v for v in self.column(sender, name) if v is not None])
        return None if summary is None else summary.mean

    def margin(self, sender: str, other: str, name: str) -> float:
        """The largest difference of two senders in a metric that counts as alike."""
        entry: Metric = metric(name)
        return entry.margin(*(m for m in (self.mean(sender, name), self.mean(other, name)) if m is not None))

    def difference(self, sender: str, other: str, name: str) -> Difference | None:
        """`sender` minus `other` in a metric; None when no seed has both."""
        paired = self._paired(sender, other, name)
        if paired is None:
            return None
        p_holm = self._corrected[name].get(frozenset((sender, other)))
        significant = p_holm is not None and p_holm < self.significance
        margin = self.margin(sender, other, name)
        relation = _relation(paired, significant, margin)
        more = None
        if relation == "open":
            needed = stats.runs_needed(paired, margin, comparisons=len(self._corrected[name]))
            more = None if needed is None else max(1, needed - paired.n)
        return Difference(
            sender, other, name, paired.mean, paired.ci95, paired.p, p_holm, significant, paired.n, relation, more
        )

    def relation(self, sender: str, other: str, name: str) -> Relation:
        """How two senders stand at one criterion, missing values included."""
        missing = [self.column(s, name).count(None) for s in (sender, other)]
        if missing[0] != missing[1]:
            return "open"
        found = self.difference(sender, other, name)
        return "alike" if found is None else found.relation

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
            self._more_runs(best, groups["open"], deciding),
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
        """Step 3 of the rule: those alike with the leader of every criterion, in the order given."""
        stay = list(senders)
        for name in self.criteria:
            leader = min(stay, key=lambda s: self._badness(s, name))
            stay = [s for s in stay if s == leader or self._looks_alike(s, leader, name)]
        return stay

    def _looks_alike(self, sender: str, leader: str, name: str) -> bool:
        """Alike; with one run only, which has no interval, alike by its values."""
        if self.seeds > 1 or self.column(sender, name) == self.column(leader, name):
            return self.relation(sender, leader, name) == "alike" or self.seeds < 2
        found = self.difference(sender, leader, name)
        return found is not None and abs(found.mean) <= self.margin(sender, leader, name)

    def _first_difference(self, sender: str, best: str) -> tuple[Relation, str | None]:
        """The first criterion where the two are not alike, and how they stand there."""
        for name in self.criteria:
            relation = self.relation(sender, best, name)
            if relation != "alike":
                ahead = self._badness(sender, name) < self._badness(best, name)
                return ("open" if ahead else relation), name
        return "alike", None

    def _more_runs(self, best: str, undecided: list[str], deciding: Mapping[str, str]) -> int | None:
        estimates = [self.difference(other, best, deciding[other]) for other in undecided]
        counts = [None if d is None else d.more_runs for d in estimates]
        return max((c for c in counts if c is not None), default=None) if None not in counts else None

    def _badness(self, sender: str, name: str) -> tuple[int, float]:
        """Sort key, smaller is better: missing values first, then the mean in the metric's direction."""
        mean = self.mean(sender, name)
        sign = -1.0 if metric(name).better == "higher" else 1.0
        return self.column(sender, name).count(None), 0.0 if mean is None else sign * mean

    def _paired(self, sender: str, other: str, name: str) -> stats.PairedDifference | None:
        pairs = zip(self.column(sender, name), self.column(other, name), strict=True)
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        return stats.paired_difference([a for a, _ in both], [b for _, b in both])

    def _correct(self, name: str) -> dict[frozenset[str], float]:
        pairs, p_values = [], []
        for i, sender in enumerate(self.senders):
            for other in self.senders[i + 1 :]:
                paired = self._paired(sender, other, name)
                if paired is not None and paired.p is not None:
                    pairs.append(frozenset((sender, other)))
                    p_values.append(paired.p)
        return dict(zip(pairs, stats.holm(p_values), strict=True))


def _metric_names(values: Values) -> list[str]:
    names: dict[str, None] = {}
    for metrics in values.values():
        names.update(dict.fromkeys(metrics))
    return list(names)


def _relation(paired: stats.PairedDifference, significant: bool, margin: float) -> Relation:
    if paired.ci95 is None:
        return "open"
    if -margin <= paired.ci95[0] and paired.ci95[1] <= margin:
        return "alike"
    return "apart" if significant else "open"
