"""A comparison's HTML for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from playpath.base.metrics import metric
from playpath.base.optional import can_draw

if TYPE_CHECKING:
    from playpath.results.comparison import Comparison


def notebook_html(result: Comparison) -> str:
    """The answer, a table of the criteria, and a figure of the first one."""
    from playpath.results.comparison import format_summary  # comparison.py imports this module

    names = result.ranker.criteria
    head = "".join(f"<th>{escape(metric(n).axis)}</th>" for n in names)

    def cells(sender: str) -> str:
        return "".join(f"<td>{escape(format_summary(result.summary(sender, name)))}</td>" for name in names)

    rows = "".join(f"<tr><th>{escape(s)}</th>{cells(s)}</tr>" for s in result.ranking)
    said = f"<p><b>{escape(result.headline)}</b></p><p>{escape(result.verdict)}</p>"
    return f"{said}<table><tr><th>sender</th>{head}</tr>{rows}</table>{_drawn(result)}"


def _drawn(result: Comparison) -> str:
    """A figure of the first criterion; empty if no sender has a value, or without Matplotlib."""
    if not (result.shown_criteria and can_draw()):
        return ""
    from playpath.plots import figure, metric_dots
    from playpath.show.report.drawings import plain_svg

    drawn, ax = figure(5.2, 0.9 + 0.42 * len(result.senders))
    metric_dots(result, result.shown_criteria[0], ax)
    return plain_svg(drawn)
