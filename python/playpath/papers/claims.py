"""Evaluates claims: from the table of a study to "reproduced", "not reproduced" or "undecided".

A check asks whether a quantity lies within bounds. The quantity has one value a seed (paired by seed where two cases are
compared); the interval is Student's t, 95 %.

- interval inside the bounds: reproduced; *reproduced vacuously* if the two cases are equal in every seed, so that there was
  no difference to test
- interval outside the bounds: not reproduced
- interval across a bound, or all seeds gave the same run: undecided

A claim is reproduced if all its checks are, not reproduced if one is not, undecided otherwise. It is reproduced vacuously
if none of its checks had a difference to test, and *rests on our guard* if it fails without our additions to the paper's
algorithm (`runner.run_study`). There is no correction for the number of claims: each is judged on its own, as in the papers.

The paper's counts are complemented by what the viewer sees: a case with fewer discards or underflows than another must not
stall noticeably longer, nor show noticeably less of the video. A claim that holds by its counts but fails this test is
*reproduced by count only*: for instance, fewer frames are discarded because the picture stands still.
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
    "reproduced vacuously",
    "rests on our guard",
    "undecided",
    "not reproduced",
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""From the best to the worst."""
HOLDS: frozenset[Verdict] = frozenset({"reproduced", "reproduced by count only", "rests on our guard"})
"""The verdicts of a claim that holds; "reproduced vacuously" is not among them."""
_COUNTS = ("discarded_pictures", "underflow_events")
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
    """Mean of the quantity."""
    ci95: tuple[float, float] | None
    """None with one seed: then the check is undecided."""
    of_mean: float
    against_mean: float | None
    """`of_mean` and `against_mean`: the means of the two cases that are compared."""
    low: float
    high: float

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
        }


@dataclass(frozen=True)
class ClaimResult:
    claim: Claim
    checks: Sequence[CheckResult]
    unguarded: CheckResult | None = None
    """For a claim that holds: the check that fails without our additions to the paper's algorithm, if any."""
    viewing: Sequence[CheckResult] = ()
    """The checks that compare counts, repeated with what the viewer sees."""
    seen: str = ""
    """What the viewer sees in the cases that decide the verdict, in words."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of all checks together."""
        verdict = self.deciding.verdict
        if verdict != "reproduced":
            return verdict
        if self.unguarded is not None:
            return "rests on our guard"
        return verdict if self.unseen is None else "reproduced by count only"

    @property
    def unseen(self) -> CheckResult | None:
        """The first comparison of counts that what the viewer sees contradicts."""
        return next((result for result in self.viewing if result.verdict == "not reproduced"), None)

    @property
    def missed(self) -> float:
        """The share of the checks that do not hold."""
        held = sum(result.verdict in ("reproduced", "reproduced vacuously") for result in self.checks)
        return 1 - held / len(self.checks)

    @property
    def deciding(self) -> CheckResult:
        """The check that decides: the first that failed, else the first undecided, else the first that is not vacuous."""
        found = {result.verdict: result for result in reversed(self.checks)}
        order: tuple[Verdict, ...] = ("not reproduced", "undecided", "reproduced", "reproduced vacuously")
        return next(found[verdict] for verdict in order if verdict in found)

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.claim.id,
            "statement": self.claim.statement,
            "reading": self.claim.reading,
            "verdict": self.verdict,
            "checks": [result.to_dict() for result in self.checks],
            "viewing": [result.to_dict() for result in self.viewing],
            "seen": self.seen,
            "unguarded": None if self.unguarded is None else self.unguarded.to_dict(),
        }


def evaluate(claim: Claim, table: pl.DataFrame) -> ClaimResult:
    """Judge a claim from the tidy table of its study."""
    viewing = [seen for check in claim.checks for seen in _by_viewing(check) if seen.metric in table.columns]
    found = ClaimResult(
        claim, [judge(check, table) for check in claim.checks], viewing=[judge(check, table) for check in viewing]
    )
    return replace(found, seen=_seen(found.deciding.check, table))


def _by_viewing(check: Check) -> list[Check]:
    """A comparison of counts as comparisons of stall time and of the share shown; empty for other checks."""
    if check.metric not in _COUNTS or check.against is None or not check.is_strict:
        return []
    stall = metric("stall_time_s")
    of, against = check.of, check.against
    longer, less = f"{check.says}: stalls no longer", f"{check.says}: shows no less"
    return [
        Check(stall.name, of, longer, against, high=stall.least, share=stall.least_share),
        Check(SHOWN, of, less, against, low=-_NOTICED_PERCENT),
    ]


def _seen(check: Check, table: pl.DataFrame) -> str:
    terms = [check.of, *([] if check.against is None else [check.against])]
    rows = [select(table, term.where) for term in terms]
    parts = []
    for name, word in SEEN.items():
        means = [found[name].mean() if name in table.columns else None for found in rows]
        values = [format_value(float(mean)) for mean in means if isinstance(mean, int | float)]
        if len(values) == len(rows):
            parts.append(f"{word} {' against '.join(values)} {metric(name).unit}")
    return "; ".join(parts)


def is_judged(claims: Sequence[Claim], case: Case) -> bool:
    """Whether any claim needs this case."""
    terms = (term for claim in claims for check in claim.checks for term in (check.of, check.against) if term)
    return any(all(case.labels.get(name) == value for name, value in term.where.items()) for term in terms)


def judge(check: Check, table: pl.DataFrame) -> CheckResult:
    """Judge one inequality."""
    of = _values(check.of, check.metric, table)
    against = None if check.against is None else _values(check.against, check.metric, table)
    seeds = sorted(set(of) if against is None else set(of) & set(against))
    left = [of[seed] for seed in seeds]
    right = None if against is None else [against[seed] for seed in seeds]
    found = stats.differences(left, [0.0] * len(left) if right is None else [check.scale * v for v in right]).tolist()
    mean, interval = stats.mean(found), stats.mean_interval(found)
    if mean is None:
        # A case of the grid in which the metric has no value: what it measures did not happen, so it decides nothing.
        return CheckResult(check, "undecided", math.nan, None, math.nan, None, check.low, check.high)
    against_mean = None if right is None else math.fsum(right) / len(right)
    slack = check.share * abs(check.scale * against_mean) if against_mean is not None else 0.0
    low, high = check.low - slack, check.high + slack
    verdict = _verdict(interval, low, high, check.is_strict)
    if _is_one_run(check, table):
        verdict = "undecided"
    elif verdict == "reproduced" and right is not None and left == right:
        verdict = "reproduced vacuously"
    return CheckResult(check, verdict, mean, interval, math.fsum(left) / len(left), against_mean, low, high)


def _is_one_run(check: Check, table: pl.DataFrame) -> bool:
    """Whether nothing is random in any of the cases: all seeds give the same run, and the zero-width interval means nothing."""
    terms = [check.of, *([] if check.against is None else [check.against])]
    return all(_is_repeated(select(table, term.where)) for term in terms)


def _is_repeated(rows: pl.DataFrame) -> bool:
    seeds = rows["seed"].n_unique()
    if seeds < 2:
        return False
    # Compared as text, where NaN equals itself.
    columns = [map(repr, rows[name].to_list()) for name in rows.columns if name not in ("seed", "digest")]
    return len(set(zip(*columns, strict=True))) * seeds == rows.height


def _verdict(ci95: tuple[float, float] | None, low: float, high: float, is_strict: bool) -> Verdict:
    if ci95 is None:
        return "undecided"
    begin, end = ci95
    if is_strict:
        if low < begin and end < high:
            return "reproduced"
        # Also for equal values without any variation: "fewer" does not include "as many".
        return "not reproduced" if end <= low or begin >= high else "undecided"
    if low <= begin and end <= high:
        return "reproduced"
    return "not reproduced" if end < low or begin > high else "undecided"


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
    if name not in table.columns:
        raise ValueError(f"no session has the metric {name}")
    cases = select(table, term.where)
    if cases.is_empty():
        raise ValueError(f"no case of the grid matches {dict(term.where)}")
    found: dict[int, list[float]] = {}
    for seed, value in zip(cases["seed"].to_list(), cases[name].to_list(), strict=True):
        if value is not None:
            found.setdefault(seed, []).append(value)
    if term.reduce != "only":
        return {seed: _REDUCED[term.reduce](values) for seed, values in found.items()}
    if any(len(values) > 1 for values in found.values()):
        raise ValueError(f"several cases match {dict(term.where)}")
    return {seed: values[0] for seed, values in found.items()}


def _number(value: float) -> str:
    return format_value(value) if value >= 0 else "−" + format_value(-value)
