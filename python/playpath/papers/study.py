"""The parts of a study: cases (the grid), figures, claims, unstated parameters, today's senders. `reading.py` reads one."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from playpath.base.declared import Scalar
from playpath.base.engine import Columns
from playpath.base.errors import InputError, unknown_name
from playpath.base.metrics import VIDEO_CRITERIA

Labels = Mapping[str, str | float]
"""The labels of a case in the grid: column → value. Also used to select cases."""

SHOWN, CUT = "shown_percent", "is_cut"
"""Metrics that every session of a study has besides its own: the share of the due video that was shown, and whether it was cut."""

Settings = Mapping[str, Any]
"""Unstated parameters at other values than the study's: knob → value."""

Series = dict[str, Columns]
ControlChoice = dict[str, Scalar]
"""A congestion control: its `name`, and parameters."""
Measure = Callable[[Mapping[str, Any], Series], dict[str, float]]
"""Computes further metrics of a session from its record and, if the case is traced, its time series."""


@dataclass(frozen=True)
class Case:
    """One point of the grid: a scenario with a single sender."""

    labels: Labels
    """Unique in its study; the label `part` is "paper", "today", or a figure's own."""
    scenario: Mapping[str, Any]
    """The scenario, without `[run] seeds` and with exactly one sender."""
    is_traced: bool = False
    """Whether `Study.measure` needs the time series."""
    max_seeds: int | None = None
    """Fewer replications than the study's, for cases in which little or nothing is random."""


@dataclass(frozen=True)
class Term:
    """One number for each seed: a metric over the selected cases."""

    where: Labels
    """Column → value; with `reduce` "only" exactly one case must match."""
    reduce: Literal["only", "mean", "min", "max", "range"] = "only"
    """How several values are combined; "range" is the largest minus the smallest."""
    less: Labels | None = None
    """Subtracts the value of the cases that differ in these labels: how much one thing changes another."""

    @property
    def cases(self) -> list[Labels]:
        """The cases that it needs."""
        return [self.where] if self.less is None else [self.where, {**self.where, **self.less}]


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

    @property
    def cases(self) -> list[Labels]:
        return self.of.cases + ([] if self.against is None else self.against.cases)

    @property
    def wants_difference(self) -> bool:
        """Whether it fails for two equal sides."""
        slack = self.share * self.scale
        return self.is_strict or not self.low - slack <= 1 - self.scale <= self.high + slack

    @property
    def sides(self) -> int:
        """How many bounds it has, and so how many tails of the distribution decide it."""
        return int(math.isfinite(self.low)) + int(math.isfinite(self.high))


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the checks that must all hold.

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
    """The parameter's name as a setting of `Study.cases`; empty if it is not swept."""
    values: Sequence[float | str] = ()
    """Its plausible range in order, `chosen` among them."""
    chosen: float | str = ""
    """The value that the study uses, as written in `values`."""
    unit: str = ""
    source: str = ""
    """The source of the range's bounds: the paper, Linux's values in that year, products sold then."""

    @property
    def is_number(self) -> bool:
        """Whether the range consists of numbers rather than a list of choices."""
        return all(isinstance(value, int | float) for value in self.values)

    @property
    def listed(self) -> str:
        """Its range, for tables and messages; a value that contains a comma is quoted."""
        return ", ".join(f'"{value}"' if "," in str(value) else str(value) for value in self.values)

    @property
    def is_quantity(self) -> bool:
        """Whether the range consists of quantities as in a scenario ("50 packets", "3 s"); then others of the kind are valid as well."""
        return all(str(value)[:1].isdigit() for value in self.values)

    def at(self, position: float) -> float | str:
        """The value at a position from 0 to 1 along the range.

        Each listed choice has the same share. Between two listed numbers the value is interpolated, geometrically if both are
        positive, since ranges are listed in steps of about the same factor; it is rounded to three digits, and to an integer if
        the listed ones are integers.
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
                return text  # the scenario's reader refuses invalid quantities
            other = ", or another value of the kind" if self.is_quantity else ""
            raise ValueError(f"{self.knob} is one of {self.listed}{other}, not '{text}'")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        is_whole = all(isinstance(v, int) for v in self.values)
        if not 0 <= number < math.inf or (is_whole and not number.is_integer()):
            unit = f", in {self.unit}" if self.unit else ""
            raise ValueError(f"{self.knob} is a {'whole ' if is_whole else ''}number, 0 or more{unit}, not '{text}'")
        return int(number) if is_whole else number


@dataclass(frozen=True)
class CurrentSenders:
    """Which sender is best today: scenes of the study's grid, each ranked as `playpath compare` ranks."""

    scenes: Mapping[str, Labels]
    """Name of a scene → the cases of its senders."""
    column: str = "variant"
    """The label that names the sender."""
    ours: Sequence[str] = ()
    """Senders that are not in the paper."""
    shown: Sequence[str] = ("stall_time_s", "discarded_pictures")
    """Two metrics for the figure's cells."""
    criteria: Sequence[str] = VIDEO_CRITERIA


@dataclass(frozen=True)
class Panel:
    """One set of axes of a figure."""

    metric: str
    label: str
    ticks: Sequence[float] = ()
    """The limits of the paper's axis, which are then used; a value that exceeds them is written at its bar."""


@dataclass(frozen=True)
class FigureSpec:
    id: str
    title: str
    kind: Literal["bars", "lines", "traces"]
    """One of "bars" (a bar for each value of `x`), "lines" (`x` numeric) or "traces" (one session's series, stacked panels)."""
    panels: Sequence[Panel]
    where: Labels = field(default_factory=dict)
    """Cases to draw."""
    x: str = "variant"
    group: str = "variant"
    """`x` and `group` are columns: along the axis, and distinguished by style."""
    x_label: str = ""
    whisker: Literal["range", "ci95"] = "range"
    """One of "range" (minimum and maximum) or "ci95" (interval of the mean), as in the paper."""
    trace: str | Sequence[str] = ""
    """For "traces": the trace, or several that share the axes of a case, from the boldest to the faintest."""
    is_overlaid: bool = False
    """For "traces": an axis for each value of `x`, with the cases of `group` as lines."""
    place: str = "{}"
    """Format of the value of `x` above its axis."""
    span: tuple[float, float] | None = None
    """For "traces": the part of the session that is drawn, in the unit of `x`."""


@dataclass(frozen=True)
class TwoWorlds:
    """The part of a study that runs in two worlds, at reduced length."""

    cases: Callable[[float], Sequence[Case]]
    """Share of the media's length → cases whose congestion controls have an equivalent in the kernel."""
    metrics: Sequence[str]
    share: float
    """Share of the media's length."""
    notes: str = ""
    """Known differences between the two worlds' set-ups."""


@dataclass(frozen=True)
class Study:
    """A paper's experiment."""

    name: str
    title: str
    paper: str
    seeds: int
    """The paper's number of trials."""
    cases: Callable[..., Sequence[Case]]
    """(share, knob=value, ...): returns the cases. `share` is that of the media's length to play (1 for the paper's); unstated
    parameters that are named have these values in every case they apply to, labelled as without."""
    claims: Sequence[Claim]
    figures: Sequence[FigureSpec]
    unstated: Sequence[Unstated]
    guards: Settings = field(default_factory=dict)
    """Knob → the paper's own value, for our additions that keep an algorithm from failing. A claim that reproduces only with
    our additions *rests on our guard*."""
    known: Sequence[Settings] = ()
    """Sets (knob → value) found by other searches, which are candidates for the best set in addition to the joint points. Knobs
    that a set does not name have the study's value."""
    current_senders: CurrentSenders | None = None
    two_worlds: TwoWorlds | None = None
    """The part that also runs in the kernel world."""
    measure: Measure | None = None
    trace: Callable[[Mapping[str, Any], Series], dict[str, tuple[list[float], list[float]]]] | None = None
    """Computes thinned series of the first seed of a traced case, for figures: name → (x values, y values)."""
    series: Sequence[str] | None = None
    """Prefixes of the series that `measure` and `trace` read; by default all series."""
    revision: int = 1
    """Increased when `measure` or `trace` changes, so that old stored cells are not reused."""
    short: str = ""
    """What the short media of a quick run cannot judge."""

    @property
    def swept(self) -> list[Unstated]:
        """The unstated parameters that have a range."""
        return [parameter for parameter in self.unstated if parameter.knob]

    def settings(self, texts: Sequence[str]) -> Settings:
        """Parse `knob=value` texts; InputError for an unknown knob or an invalid value."""
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
