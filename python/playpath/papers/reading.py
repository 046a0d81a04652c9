"""Reads a study: its data (claims, figures, unstated parameters, scenes) from `studies/NAME.toml`, its grid from the module `NAME`.

In a check of a claim, `of` gives the labels of a case, and `against` those labels in which the other case differs; with `reduce`
each side may be several cases; with `less` each side is its value minus that of the case which differs in these labels. The check
holds if `of` is `fewer`, lies `within` so much (plus a `share` of the other), is `at_most_times` or `at_least_times` the other, or
lies between `low` and `high`.
"""

import math
import tomllib
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from typing import Any

from playpath.papers.study import Check, Claim, CurrentSenders, FigureSpec, Panel, Study, Term, TwoWorlds, Unstated

_OF_THE_GRID = ("cases", "measure", "trace")
"""What the module of a study defines; only the first is required."""


def study(name: str) -> Study:
    data = tomllib.loads((files(__package__) / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
    grid = import_module(f"{__package__}.{name}")
    claims = [Claim(**{**entry, "checks": [check(**one) for one in entry["checks"]]}) for entry in data.pop("claim")]
    return Study(
        name=name,
        claims=claims,
        figures=[_figure(entry) for entry in data.pop("figure")],
        unstated=[Unstated(**entry) for entry in data.pop("parameter")],
        current_senders=CurrentSenders(**data.pop("current_senders")),
        two_worlds=TwoWorlds(cases=grid.side_by_side_cases, **data.pop("two_worlds")),
        **{part: found for part in _OF_THE_GRID if (found := getattr(grid, part, None))},
        **data,
    )


def check(
    metric: str,
    of: Mapping[str, Any],
    says: str = "",
    *,
    against: Mapping[str, Any] | None = None,
    reduce: Any = "only",
    less: Mapping[str, Any] | None = None,
    fewer: bool = False,
    within: float | None = None,
    at_most_times: float | None = None,
    at_least_times: float | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    share: float = 0.0,
) -> Check:
    """Build a check from its entry in the TOML file. Ratios are checked without dividing."""
    other = None if against is None else Term({**of, **against}, reduce, less)
    scale = 1.0
    if fewer:
        high = 0.0
    elif within is not None:
        low, high = -within, within
    elif at_most_times is not None:
        scale, high = at_most_times, 0.0
    elif at_least_times is not None:
        scale, low = at_least_times, 0.0
    return Check(metric, Term(of, reduce, less), says, other, scale, low, high, share, is_strict=fewer)


def _figure(entry: Mapping[str, Any]) -> FigureSpec:
    span = {"span": tuple(entry["span"])} if "span" in entry else {}
    return FigureSpec(**{**entry, **span, "panels": [Panel(**panel) for panel in entry["panels"]]})
