"""What a study is, as data: cases (the grid), figures, claims, and the parameters that its paper leaves unstated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Labels = Mapping[str, str | float]
"""Where a case lies in the grid: column → value. A case and a selection of cases are both written so."""

Series = dict[str, dict[str, Any]]
Measure = Callable[[Mapping[str, Any], Series], dict[str, float]]
"""Further metrics of a session from its record and, if the case is traced, its time series."""


@dataclass(frozen=True)
class Case:
    """One point of the grid: a scenario with a single sender.

    Attributes
    ----------
    labels : mapping
        Unique in its study; `part` is "paper", or the name of the unstated parameter that is varied.
    scenario : mapping
        Without `[run] seeds`; exactly one sender.
    is_traced : bool
        The time series are needed for `Study.measure`.
    most_seeds : int, optional
        Fewer replications than the study's: sensitivity sweeps, cases without anything random.
    """

    labels: Labels
    scenario: Mapping[str, Any]
    is_traced: bool = False
    most_seeds: int | None = None


@dataclass(frozen=True)
class Term:
    """A number per seed: a metric over the selected cases.

    Attributes
    ----------
    where : mapping
        Column → value; with `reduce` "only" exactly one case must match.
    reduce : str
        "range" is the largest minus the smallest.
    """

    where: Labels
    reduce: Literal["only", "mean", "min", "max", "range"] = "only"


@dataclass(frozen=True)
class Check:
    """An inequality on q = of − scale·against (or on `of` alone), per seed: low ≤ q ≤ high.

    A ratio is checked without dividing: "of at most 0.7 times against" is scale 0.7, high 0.

    Attributes
    ----------
    metric : str
    of, against : Term
    low, high : float
        Bounds in the unit of the metric; strict where `is_strict`.
    share : float
        Widens the bounds by this share of the mean of `against`: the tolerance of "alike".
    says : str
        The inequality in words, for tables.
    """

    metric: str
    of: Term
    says: str
    against: Term | None = None
    scale: float = 1.0
    low: float = float("-inf")
    high: float = float("inf")
    share: float = 0.0
    is_strict: bool = False


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the checks that must all hold for it.

    `reading` says how the sentence was made precise.
    """

    id: str
    statement: str
    reading: str
    checks: Sequence[Check]


@dataclass(frozen=True)
class Unstated:
    """A parameter that the paper does not state.

    Attributes
    ----------
    name, value, reason : str
    part : str
        Cases of the sensitivity sweep carry this `part`; empty if its effect is not swept.
    column : str
        The label that varies in those cases.
    """

    name: str
    value: str
    reason: str
    part: str = ""
    column: str = ""


@dataclass(frozen=True)
class Panel:
    """One set of axes of a figure."""

    metric: str
    label: str
    is_log: bool = False


@dataclass(frozen=True)
class FigureSpec:
    """A figure of the paper, or a sensitivity figure.

    Attributes
    ----------
    id, title : str
    kind : str
        "bars" (a bar per value of `x`), "lines" (`x` numeric) or "traces" (one session's series, stacked panels).
    where : mapping
        Cases to draw.
    x, group : str
        Columns: along the axis, and distinguished by style.
    whisker : str
        "range" (min and max, as the paper has) or "ci95".
    trace : str
        Name of the trace, for "traces".
    """

    id: str
    title: str
    kind: Literal["bars", "lines", "traces"]
    panels: Sequence[Panel]
    where: Labels = field(default_factory=dict)
    x: str = "variant"
    group: str = "variant"
    x_label: str = ""
    whisker: Literal["range", "ci95"] = "range"
    trace: str = ""


@dataclass(frozen=True)
class Study:
    """A paper's experiment.

    Attributes
    ----------
    name, title, paper : str
    seeds : int
        The paper's number of trials.
    cases : callable
        Gives the cases; its argument is the share of the media's length to play (1 for the paper's).
    measure : callable, optional
        Metrics of the study's own; `traces` of its answer come from `trace`.
    trace : callable, optional
        Thinned series of the first seed of a traced case, for figures: name → (x values, y values).
    revision : int
        Raised when `measure` or `trace` changes, so that stored cells are not taken for new ones.
    """

    name: str
    title: str
    paper: str
    seeds: int
    cases: Callable[[float], Sequence[Case]]
    claims: Sequence[Claim]
    figures: Sequence[FigureSpec]
    unstated: Sequence[Unstated]
    measure: Measure | None = None
    trace: Callable[[Mapping[str, Any], Series], dict[str, tuple[list[float], list[float]]]] | None = None
    revision: int = 1
    notes: str = ""
