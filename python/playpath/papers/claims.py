"""Evaluates claims: from the table of a study to "reproduced", "not reproduced" or "undecided".

A check asks whether a quantity lies within bounds. The quantity has one value a seed (paired by seed where two cases are
compared); the interval is Student's t at 95 %, and one-sided where the check has one bound: then both ends shown are 95 %
bounds, together a 90 % interval. Values of a rare event (`_room`) that are all equal have no spread from which to estimate
one: their interval has the exact binomial bound (Clopper and Pearson 1934) for how many sessions may be otherwise.

- interval inside the bounds: reproduced
- the two cases equal in every seed: *nothing to test*, whether the check asks for a difference or for likeness
- interval outside the bounds: not reproduced, if that is still significant by Holm's procedure over the checks of the claim
  (one failure among k checks refutes it, and each of k fails by chance)
- otherwise, or if all seeds gave the same run: undecided

A claim is reproduced if all its checks are, not reproduced if one is not, undecided if one is open. There is nothing to test
in it if that is so of a check that asks for a difference, or of all checks. It *rests on our guard* if it fails without our
additions to the paper's algorithm (`runner.run_study`). There is no correction for the number of claims: each is judged on its
own, as in the papers.

The paper's counts are complemented by what the viewer sees: a case with fewer discards or underflows than another must not
stall noticeably longer, nor show noticeably less of the video. A claim that holds by its counts but fails this test is
*reproduced by count only*: for instance, fewer frames are discarded because the picture stands still. A claim whose refuting
counts all fail it is *not reproduced by count only*.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import polars as pl

from playpath.base.metrics import format_value, metric
from playpath.judge import stats
from playpath.papers.study import SHOWN, Case, Check, Claim, Labels, Term

Verdict = Literal[
    "reproduced",
    "reproduced by count only",
    "rests on our guard",
    "nothing to test",
    "undecided",
    "not reproduced by count only",
    "not reproduced",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""From the best to the worst."""
HOLDS: frozenset[Verdict] = frozenset({"reproduced", "reproduced by count only", "rests on our guard"})
"""The verdicts of a claim that holds."""
_COUNTS = ("discarded_pictures", "underflow_events")
_SHARES = {"late_percent": 100.0, "is_starved": 1.0, SHOWN: 100.0}
"""Metric that is a share of a session → the whole."""
SEEN = {"stall_time_s": "stalled", SHOWN: "shown of what was due", "goodput_mbps": "goodput"}
"""What the viewer sees, and the goodput it takes: metric → word."""
_NOTICED_PERCENT = 1.0


@dataclass(frozen=True)
class CheckResult:
    """A judged check.

    Attributes:
        distance: How far the mean lies outside the bounds (0 inside), in the unit of the metric.
    """

    check: Check
    verdict: Verdict
    mean: float
    ci95: tuple[float, float] | None
    """None with one seed: then the check is undecided. Of a check with one bound both ends are one-sided."""
    of_mean: float
    against_mean: float | None
    """`of_mean` and `against_mean`: the means of the two cases that are compared."""
    low: float
    high: float
    p: float = 1.0
    """How probable a mean so far outside is if the truth lies on the bound."""
    unseen: "CheckResult | None" = None
    """The comparison of what the viewer sees that contradicts this comparison of counts, if any."""

    @property
    def distance(self) -> float:
        """How far the mean lies outside the bounds; zero inside, or without a value."""
        return 0.0 if math.isnan(self.mean) else max(0.0, self.low - self.mean, self.mean - self.high)

    def figures(self) -> str:
        """The deciding figures in words."""
        if math.isnan(self.mean):
            return f"no session has a value of {metric(self.check.metric).label}"
        unit = metric(self.check.metric).unit
        interval = "no interval" if self.ci95 is None else f"{_number(self.ci95[0])} to {_number(self.ci95[1])}"
        if self.against_mean is None:
            return f"{_number(self.of_mean)} {unit} ({interval})".replace("  ", " ")
        scaled = "" if self.check.scale == 1 else f"{self.check.scale:g} × "
        return (
            f"{_number(self.of_mean)} against {scaled}{_number(self.against_mean)} {unit}: "
            f"difference {_number(self.mean)} ({interval})"
        ).replace(" :", ":")

    def to_dict(self) -> dict[str, object]:
        return {
            "says": self.check.says,
            "metric": self.check.metric,
            "verdict": self.verdict,
            "mean": None if math.isnan(self.mean) else self.mean,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "of": None if math.isnan(self.of_mean) else self.of_mean,
            "against": self.against_mean,
            "low": None if math.isinf(self.low) else self.low,
            "high": None if math.isinf(self.high) else self.high,
            "distance": self.distance,
            "unseen": None if self.unseen is None else self.unseen.to_dict(),
        }


@dataclass(frozen=True)
class ClaimResult:
    claim: Claim
    checks: Sequence[CheckResult]
    unguarded: CheckResult | None = None
    """For a claim that holds: the check that fails without our additions to the paper's algorithm, if any."""
    seen: str = ""
    """What the viewer sees in the cases that decide the verdict, in words."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of all checks together."""
        verdict = self.deciding.verdict
        if verdict == "not reproduced":
            is_seen = any(result.unseen is None for result in self._with(verdict))
            return verdict if is_seen else "not reproduced by count only"
        if verdict != "reproduced":
            return verdict
        if self.unguarded is not None:
            return "rests on our guard"
        return verdict if self.unseen is None else "reproduced by count only"

    @property
    def unseen(self) -> CheckResult | None:
        """What the viewer sees that first contradicts a check with the deciding verdict."""
        return next((r.unseen for r in self._with(self.deciding.verdict) if r.unseen is not None), None)

    def _with(self, verdict: Verdict) -> list[CheckResult]:
        return [result for result in self.checks if result.verdict == verdict]

    @property
    def missed(self) -> float:
        """The share of the checks that do not hold."""
        held = sum(_ORDER[_standing(result)] in _HELD for result in self.checks)
        return 1 - held / len(self.checks)

    @property
    def deciding(self) -> CheckResult:
        """The check that decides: the first that failed, else the first undecided, else the first that asks for a difference where
        there is none to test, else the first that holds, else the first.
        """
        return min(self.checks, key=_standing)

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.claim.id,
            "statement": self.claim.statement,
            "reading": self.claim.reading,
            "verdict": self.verdict,
            "checks": [result.to_dict() for result in self.checks],
            "seen": self.seen,
            "unguarded": None if self.unguarded is None else self.unguarded.to_dict(),
        }


_ORDER = ("not reproduced", "undecided", "no difference to test", "reproduced", "nothing to test")
_HELD = ("reproduced", "nothing to test")


def _standing(result: CheckResult) -> int:
    """Its place in `_ORDER`."""
    is_missing = result.verdict == "nothing to test" and result.check.wants_difference
    return _ORDER.index("no difference to test" if is_missing else result.verdict)


def evaluate(claim: Claim, table: pl.DataFrame) -> ClaimResult:
    """Judge a claim from the tidy table of its study."""
    checks = _corrected([judge(check, table) for check in claim.checks])
    found = ClaimResult(claim, [replace(result, unseen=_unseen(result, table)) for result in checks])
    return replace(found, seen=_seen(found.deciding.check, table))


def _corrected(results: Sequence[CheckResult]) -> list[CheckResult]:
    """A check refutes its claim only if it is significant among all that were tested (Holm 1979)."""
    tested = [i for i, result in enumerate(results) if result.verdict != "nothing to test"]
    p = dict(zip(tested, stats.holm([results[i].p for i in tested]), strict=True))
    return [
        replace(result, verdict="undecided")
        if result.verdict == "not reproduced" and p[i] >= stats.SIGNIFICANCE
        else result
        for i, result in enumerate(results)
    ]


def _unseen(result: CheckResult, table: pl.DataFrame) -> CheckResult | None:
    """Without a correction for the number of comparisons: it can only soften a verdict."""
    seen = (judge(check, table) for check in _by_viewing(result) if check.metric in table.columns)
    return next((found for found in seen if found.verdict == "not reproduced"), None)


def _by_viewing(result: CheckResult) -> list[Check]:
    """A decided comparison of counts as comparisons of stall time and of the share shown, of the side with fewer against the
    other; empty for other checks.
    """
    check = result.check
    if check.metric not in _COUNTS or check.against is None or not check.is_strict:
        return []
    stall = metric("stall_time_s")
    of, against, who = check.of, check.against, ""
    if result.verdict == "not reproduced":
        of, against, who = against, of, "the other "
    elif result.verdict != "reproduced":
        return []
    longer, less = f"{check.says}: {who}stalls no longer", f"{check.says}: {who}shows no less"
    return [
        Check(stall.name, of, longer, against, high=stall.least, share=stall.least_share),
        Check(SHOWN, of, less, against, low=-_NOTICED_PERCENT),
    ]


def _seen(check: Check, table: pl.DataFrame) -> str:
    rows = [select(table, where) for where in check.cases]
    parts = []
    for name, word in SEEN.items():
        means = [found[name].mean() if name in table.columns else None for found in rows]
        values = [format_value(float(mean)) for mean in means if isinstance(mean, int | float)]
        if len(values) == len(rows):
            parts.append(f"{word} {' against '.join(values)} {metric(name).unit}")
    return "; ".join(parts)


def is_judged(claims: Sequence[Claim], case: Case) -> bool:
    """Whether any claim needs this case."""
    wanted = (where for claim in claims for check in claim.checks for where in check.cases)
    return any(all(case.labels.get(name) == value for name, value in where.items()) for where in wanted)


def judge(check: Check, table: pl.DataFrame) -> CheckResult:
    """Judge one inequality by itself."""
    of = _values(check.of, check.metric, table)
    against = None if check.against is None else _values(check.against, check.metric, table)
    seeds = sorted(set(of) if against is None else set(of) & set(against))
    left = [of[seed] for seed in seeds]
    right = None if against is None else [against[seed] for seed in seeds]
    found = stats.differences(left, [0.0] * len(left) if right is None else [check.scale * v for v in right]).tolist()
    mean = stats.mean(found)
    if mean is None:
        # A case of the grid in which the metric has no value: what it measures did not happen, so it decides nothing.
        return CheckResult(check, "undecided", math.nan, None, math.nan, None, check.low, check.high)
    against_mean = None if right is None else math.fsum(right) / len(right)
    slack = check.share * abs(check.scale * against_mean) if against_mean is not None else 0.0
    low, high = check.low - slack, check.high + slack
    interval, p = _interval(check, found), _p(check, found, mean, low, high)
    verdict = _verdict(interval, p, low, high, check.is_strict)
    if _is_one_run(check, table):
        verdict = "undecided"
    elif left == right and len(seeds) > 1:
        verdict = "nothing to test"
    return CheckResult(check, verdict, mean, interval, math.fsum(left) / len(left), against_mean, low, high, p)


def _room(check: Check, values: Sequence[float]) -> tuple[float, float] | None:
    """How far below and above their common value others may lie: for rare events that are equal in all seeds, otherwise None.

    A session that is otherwise may be so in all of its packets or pictures, for metrics that are shares; counts differ by one event.
    Differences that are all equal are either zero, and nothing to test, or no rare event.
    """
    if check.against is not None or max(values) > min(values) or check.metric not in (*_COUNTS, *_SHARES):
        return None
    value, whole = values[0], _SHARES.get(check.metric)
    return (min(value, 1.0), 1.0) if whole is None else (value, whole - value)


def _interval(check: Check, values: Sequence[float]) -> stats.Interval | None:
    confidence = stats.CONFIDENCE if check.sides > 1 else 1 - 2 * stats.SIGNIFICANCE
    room = _room(check, values)
    if room is None or len(values) < 2:
        return stats.mean_interval(values, confidence)
    otherwise = 1 - ((1 - confidence) / 2) ** (1 / len(values))
    return values[0] - otherwise * room[0], values[0] + otherwise * room[1]


def _p(check: Check, values: Sequence[float], mean: float, low: float, high: float) -> float:
    """How probable a mean so far outside is if the truth lies on the bound; 1 inside."""
    distance = max(low - mean, mean - high)
    if distance < 0 or len(values) < 2:
        return 1.0
    room = _room(check, values)
    if room is None:
        return min(1.0, check.sides * stats.mean_beyond(values, distance))
    reach = room[1] if mean < low else room[0]
    return min(1.0, check.sides * max(0.0, 1 - distance / reach) ** len(values)) if reach else 0.0


def _is_one_run(check: Check, table: pl.DataFrame) -> bool:
    """Whether nothing is random in any of the cases: all seeds give the same run, and the zero-width interval means nothing."""
    return all(_is_repeated(select(table, where)) for where in check.cases)


def _is_repeated(rows: pl.DataFrame) -> bool:
    seeds = rows["seed"].n_unique()
    if seeds < 2:
        return False
    # Compared as text, where NaN equals itself.
    columns = [map(repr, rows[name].to_list()) for name in rows.columns if name not in ("seed", "digest")]
    return len(set(zip(*columns, strict=True))) * seeds == rows.height


def _verdict(ci95: stats.Interval | None, p: float, low: float, high: float, is_strict: bool) -> Verdict:
    if ci95 is None:
        return "undecided"
    begin, end = ci95
    if (low < begin and end < high) or (not is_strict and low <= begin and end <= high):
        return "reproduced"
    return "not reproduced" if p < stats.SIGNIFICANCE else "undecided"


def select(table: pl.DataFrame, where: Labels) -> pl.DataFrame:
    """The rows of the cases that match."""
    # Plain column operations: there are thousands of these queries, and polars' lazy engine takes a hundred times as long for each.
    wanted = pl.Series([True]).new_from_index(0, table.height)
    for column, value in where.items():
        wanted &= table[column] == value
    return table[wanted.arg_true()]


_REDUCED: Mapping[str, Callable[[list[float]], float]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "min": min,
    "max": max,
    "range": lambda values: max(values) - min(values),
}


def _values(term: Term, name: str, table: pl.DataFrame) -> dict[int, float]:
    """Seed → value."""
    if name not in table.columns:
        raise ValueError(f"no session has the metric {name}")
    found, *subtracted = (_of_cases(where, term, name, table) for where in term.cases)
    for less in subtracted:
        found = {seed: value - less[seed] for seed, value in found.items() if seed in less}
    return found


def _of_cases(where: Labels, term: Term, name: str, table: pl.DataFrame) -> dict[int, float]:
    cases = select(table, where)
    if cases.is_empty():
        raise ValueError(f"no case of the grid matches {dict(where)}")
    found: dict[int, list[float]] = {}
    for seed, value in zip(cases["seed"].to_list(), cases[name].to_list(), strict=True):
        if value is not None:
            found.setdefault(seed, []).append(value)
    if term.reduce != "only":
        return {seed: _REDUCED[term.reduce](values) for seed, values in found.items()}
    if any(len(values) > 1 for values in found.values()):
        raise ValueError(f"several cases match {dict(where)}")
    return {seed: values[0] for seed, values in found.items()}


def _number(value: float) -> str:
    return format_value(value) if value >= 0 else "−" + format_value(-value)
