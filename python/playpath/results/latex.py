"""A comparison as a LaTeX table: needs the package `booktabs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from playpath.base.metrics import metric

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "·": r"\textperiodcentered{}",
    "–": "--",
    "\u2212": "$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_table(result: Comparison) -> str:
    """The ranking with the median of each criterion and its interval, as a `table`; the headline is its caption."""
    from playpath.results.comparison import format_summary, played_of  # comparison.py imports this module

    names = result.shown_criteria
    head = ["choice" if result.scenario.choices else "sender", *(metric(name).axis for name in names)]
    rows = [[name, *(format_summary(result.summary(name, n)) for n in names)] for name in result.ranking]
    fewer = "".join(f" ({sender}: {count})" for sender, count in result.left.items())
    seeds = f"{played_of(len(result.seeds))}{fewer}."
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(result.headline)} {escaped(seeds)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(names)}}}",
        r"\toprule",
        _row(head),
        r"\midrule",
        *map(_row, rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> escaped("fq_codel & 5 %")
    'fq\\_codel \\& 5 \\%'
    """
    return re.sub("|".join(map(re.escape, _ESCAPES)), lambda found: _ESCAPES[found[0]], text)


def _row(cells: Iterable[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"
