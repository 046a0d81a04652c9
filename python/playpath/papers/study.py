"""What a study is: cases (the grid), figures, claims, unstated parameters, and who is best today. `reading.py` reads one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from playpath.base.declared import Scalar
from playpath.base.engine import Columns
from playpath.base.errors import InputError, unknown_name
from playpath.base.metrics import VIDEO_CRITERIA

Labels = Mapping[str, str | float]
"""Where a case lies in the grid: column → value. A case and a selection of cases are both written so."""

SHOWN, CUT = "shown_percent", "is_cut"
"""Metrics that every session of a study has beside its own: of what was due the share that was shown, and whether it was cut."""

Settings = Mapping[str, Any]
"""Unstated parameters at values of one's own: knob → value."""

Series = dict[str, Columns]
ControlChoice = dict[str, Scalar]
"""A congestion control by its `name`, with parameters."""
Measure = Callable[[Mapping[str, Any], Series], dict[str, float]]
"""Further metrics of a session from its record and, if the case is traced, its time series."""


@dataclass(frozen=True)
class Case:
    """One point of the grid: a scenario with a single sender."""

    labels: Labels
    """Unique in its study; `part` is "paper", "today", or a figure's own."""
    scenario: Mapping[str, Any]
    """Without `[run] seeds`; exactly one sender."""
    is_traced: bool = False
    """The time series are needed for `Study.measure`."""
    most_seeds: int | None = None
    """Fewer replications than the study's: sensitivity sweeps, cases without anything random."""


@dataclass(frozen=True)
class Term:
    """A number per seed: a metric over the selected cases."""

    where: Labels
    """Column → value; with `reduce` "only" exactly one case must match."""
    reduce: Literal["only", "mean", "min", "max", "range"] = "only"
    """What becomes of several values; "range" is the largest minus the smallest."""


@dataclass(frozen=True)
class Check:
    """An inequality on q = of − scale·against (or on `of` alone), per seed: low ≤ q ≤ high.

    A ratio is checked without dividing: "of at most 0.7 times against" is scale 0.7, high 0.
    """

    metric: str
    of: Term
    says: str
    """The inequality in words, for tables."""
    against: Term | None = None
    scale: float = 1.0
    low: float = float("-inf")
    high: float = float("inf")
    """`low` and `high`: bounds in the unit of the metric; strict where `is_strict`."""
    share: float = 0.0
    """Widens the bounds by this share of the mean of `against`: the tolerance of "alike"."""
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
    """A parameter that the paper does not state."""

    name: str
    value: str
    reason: str
    knob: str = ""
    """What `Study.vary` calls it; empty if its effect is not swept."""
    values: Sequence[float | str] = ()
    """Its plausible range in order, `chosen` among them."""
    chosen: float | str = ""
    """The value that the study runs with, as `values` has it."""
    unit: str = ""
    """For the axis."""
    source: str = ""
    """What the bounds of the range rest on: the paper, what Linux had in that year, what was sold."""

    @property
    def is_number(self) -> bool:
        """The range is one of numbers, not a list of choices."""
        return all(isinstance(value, int | float) for value in self.values)

    @property
    def is_quantity(self) -> bool:
        """The range is one of quantities as a scenario writes them ("50 packets", "3 s"), so others of the kind are values, too."""
        return all(str(value)[:1].isdigit() for value in self.values)

    def at(self, position: float) -> float | str:
        """The value at a position from 0 to 1 along the range.

        Each listed choice has the same share. Between two listed numbers it is interpolated, geometrically where both are
        positive, since ranges are listed in steps of about the same factor; to three digits, whole if the listed ones are.
        """
        if not self.is_number:
            return self.values[min(int(position * len(self.values)), len(self.values) - 1)]
        numbers = [float(value) for value in self.values]
        place = position * (len(numbers) - 1)
        left = min(int(place), len(numbers) - 2)
        low, high, share = numbers[left], numbers[left + 1], place - left
        found = low * (high / low) ** share if low > 0 else low + (high - low) * share
        return round(found) if all(isinstance(v, int) for v in self.values) else float(f"{found:.3g}")

    def read(self, text: str) -> float | str:
        """A value as someone types it; ValueError says what is allowed."""
        if not self.is_number:
            if text in map(str, self.values) or (self.is_quantity and text[:1].isdigit()):
                return text  # the scenario's reader refuses what is no such quantity
            other = ", or another value of the kind" if self.is_quantity else ""
            raise ValueError(f"{self.knob} is one of {', '.join(map(str, self.values))}{other}, not '{text}'")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 <= number < math.inf:
            unit = f", in {self.unit}" if self.unit else ""
            raise ValueError(f"{self.knob} is a number from 0 on{unit}, not '{text}'")
        return int(number) if all(isinstance(v, int) for v in self.values) else number


@dataclass(frozen=True)
class Today:
    """Which sender is best today: scenes of the study's grid, each ranked as `playpath compare` ranks."""

    scenes: Mapping[str, Labels]
    """What a scene is called → the cases of its senders."""
    column: str = "variant"
    """The label that names the sender."""
    ours: Sequence[str] = ()
    """Senders that the paper does not have."""
    shown: Sequence[str] = ("stall_time_s", "discarded_pictures")
    """Two metrics for the figure's cells."""
    criteria: Sequence[str] = VIDEO_CRITERIA


@dataclass(frozen=True)
class Panel:
    """One set of axes of a figure."""

    metric: str
    label: str
    is_log: bool = False
    ticks: Sequence[float] = ()
    """Those of the paper's axis, which then ends where the paper's does; what exceeds it is written at its bar."""


@dataclass(frozen=True)
class FigureSpec:
    """A figure of the paper, or a sensitivity figure."""

    id: str
    title: str
    kind: Literal["bars", "lines", "traces"]
    """As "bars" (a bar per value of `x`), "lines" (`x` numeric) or "traces" (one session's series, stacked panels)."""
    panels: Sequence[Panel]
    where: Labels = field(default_factory=dict)
    """Cases to draw."""
    x: str = "variant"
    group: str = "variant"
    """`x` and `group`: columns: along the axis, and distinguished by style."""
    x_label: str = ""
    whisker: Literal["range", "ci95"] = "range"
    """As "range" (min and max, as the paper has) or "ci95"."""
    trace: str | Sequence[str] = ""
    """For "traces": the trace, or several that share the axes of a case, from the boldest to the faintest."""
    is_overlaid: bool = False
    """For "traces": an axis for each value of `x`, with the cases of `group` as lines."""
    place: str = "{}"
    """How a value of `x` is written above its axis."""
    span: tuple[float, float] | None = None
    """For "traces": the part of the session that is drawn, in the unit of x."""


@dataclass(frozen=True)
class TwoWorlds:
    """The part of a study that runs in two worlds, at reduced length."""

    cases: Callable[[float], Sequence[Case]]
    """Share of the media's length → cases whose controls have a kernel control that does the same."""
    metrics: Sequence[str]
    """Columns to put side by side."""
    share: float
    """Of the media's length."""
    notes: str = ""
    """What differs between the worlds besides the world."""


@dataclass(frozen=True)
class Study:
    """A paper's experiment."""

    name: str
    title: str
    paper: str
    seeds: int
    """The paper's number of trials."""
    cases: Callable[[float], Sequence[Case]]
    """Gives the cases; its argument is the share of the media's length to play (1 for the paper's)."""
    claims: Sequence[Claim]
    figures: Sequence[FigureSpec]
    unstated: Sequence[Unstated]
    vary: Callable[[float, Settings], Sequence[Case]] | None = None
    """Share, knob → value: the cases of the claims with these unstated parameters at those values, labelled as in `cases`.
    Cases that the parameters do not touch may be left out."""
    guards: Settings = field(default_factory=dict)
    """Knob → the paper's own value, for what we added to an algorithm to keep it from failing. A claim that reproduces with
    our additions and not without *rests on our guard*."""
    known: Sequence[Settings] = ()
    """Knob → value: sets that a search of another kind found, candidates for the best set beside the joint points. What one does
    not name has the study's value."""
    sweeps: Sequence[FigureSpec] = ()
    """Figures of the sensitivity table, which has the columns `parameter` and `value` besides."""
    sensitivity_seeds: int = 5
    """Trials of a swept case; the chosen value is judged by as many."""
    today: Today | None = None
    beside: TwoWorlds | None = None
    """What of it runs in the kernel world too."""
    measure: Measure | None = None
    """Metrics of the study's own; `traces` of its answer come from `trace`."""
    trace: Callable[[Mapping[str, Any], Series], dict[str, tuple[list[float], list[float]]]] | None = None
    """Thinned series of the first seed of a traced case, for figures: name → (x values, y values)."""
    series: Sequence[str] | None = None
    """How the names of the series begin that `measure` and `trace` read; all by default."""
    revision: int = 1
    """Raised when `measure` or `trace` changes, so that stored cells are not taken for new ones."""
    notes: str = ""

    @property
    def swept(self) -> list[Unstated]:
        """The unstated parameters that have a range."""
        return [parameter for parameter in self.unstated if parameter.knob]

    def settings(self, texts: Sequence[str]) -> Settings:
        """`knob=value` texts as values; InputError for a knob that the study does not have, or a value it cannot take."""
        knobs = {parameter.knob: parameter for parameter in self.swept}
        found: dict[str, object] = {}
        for text in texts:
            knob, equals, value = text.partition("=")
            if knob not in knobs:
                raise unknown_name(f"unstated parameter of {self.name}", knob, list(knobs))
            try:
                if not equals:
                    raise ValueError(f"{knob} needs a value: {knob}={knobs[knob].chosen}")
                found[knob] = knobs[knob].read(value)
            except ValueError as error:
                raise InputError(f"--set: {error}") from None
        return found

    def cases_at(self, share: float, settings: Settings) -> list[Case]:
        """The whole grid, with unstated parameters of the claims' cases at other values."""
        varied = {_key(case): case for case in self.vary(share, settings)} if self.vary and settings else {}
        return [varied.get(_key(case), case) for case in self.cases(share)]


def _key(case: Case) -> tuple[tuple[str, str | float], ...]:
    return tuple(sorted(case.labels.items()))
