"""A metric of every sender for the page's script, which draws a row for each (web/src/view/rows.ts)."""

from __future__ import annotations

import json
from typing import Literal

from playpath.base.metrics import metric
from playpath.judge.ranking import is_clear
from playpath.results.comparison import Comparison

_COLOURS = 8  # of web/src/tokens.css


def values_figure(result: Comparison, name: str, kind: Literal["bar", "dot"]) -> str:
    """Mean, interval of the median and single seeds of a metric, in the order of the ranking."""
    rows = []
    for sender in result.ranking:
        summary = result.summary(sender, name)
        values = [value for value in result.values(sender, name) if value is not None]
        rows.append(
            {
                **_row(result, sender),
                "mean": summary and summary.mean,
                "ci95": summary and summary.ci95,
                "seeds": values,
            }
        )
    return _figure(name, metric(name).label, kind, rows)


def differences_figure(result: Comparison, name: str) -> str:
    """Each other sender minus the best, with what nobody would notice, and whether it is proven."""
    best, *others = result.ranking
    rows = []
    for sender in others:
        found = result.ranker.difference(sender, best, name)
        margin = result.ranker.margin(sender, best, name)
        state = "proven" if found and found.significant else "clear" if found and is_clear(found, margin) else "open"
        rows.append(
            {
                **_row(result, sender),
                "mean": found and found.mean,
                "ci95": found and found.ci95,
                "seeds": [],
                "state": state,
                "margin": margin,
            }
        )
    return _figure(f"{name}-differences", f"{metric(name).label}, minus that of {best}", "difference", rows, name)


def swatch(result: Comparison, sender: str) -> str:
    """A sender's colour as a small disc, the same as in the figures."""
    return (
        "<svg class='marker' viewBox='0 0 12 12' width='12' height='12' aria-hidden='true'>"
        f"<circle cx='6' cy='6' r='5' fill='var(--sender{_place(result, sender)})'/></svg>"
    )


def _row(result: Comparison, sender: str) -> dict[str, object]:
    return {"name": sender, "place": _place(result, sender)}


def _place(result: Comparison, sender: str) -> int:
    return result.senders.index(sender) % _COLOURS


def _figure(id_: str, title: str, kind: str, rows: list[dict[str, object]], name: str | None = None) -> str:
    entry = metric(name or id_)
    given = {"id": id_, "title": title, "unit": entry.unit, "kind": kind, "least": entry.least, "rows": rows}
    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"<div data-rows><script type='application/json'>{text}</script></div>"
