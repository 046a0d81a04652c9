"""Figures with a row for each sender of a comparison (web/src/view/rows.ts)."""

from typing import Literal

from playpath.base.metrics import metric
from playpath.judge.ranking import is_clear
from playpath.results.comparison import Comparison
from playpath.show.report.component import colour_place, component


def values_figure(result: Comparison, name: str, kind: Literal["bar", "dot"]) -> str:
    """Median with its interval and single seeds of a metric, in the order of the ranking."""
    rows = []
    for sender in result.ranking:
        summary = result.summary(sender, name)
        values = [value for value in result.values(sender, name) if value is not None]
        rows.append(
            {
                **_row(result, sender),
                "value": summary and summary.middle,
                "ci95": summary and summary.ci95,
                "seeds": values,
            }
        )
    return _figure(name, metric(name).label, kind, rows)


def differences_figure(result: Comparison, name: str) -> str:
    """Each other sender minus the best, with the margin that nobody would notice, and whether the difference is proven."""
    best, *others = result.ranking
    rows = []
    for sender in others:
        found = result.ranker.difference(sender, best, name)
        margin = result.ranker.margin(sender, best, name)
        state = "proven" if found and found.significant else "clear" if found and is_clear(found, margin) else "open"
        rows.append(
            {
                **_row(result, sender),
                "value": found and found.middle,
                "ci95": found and found.ci95,
                "seeds": [],
                "state": state,
                "margin": margin,
            }
        )
    return _figure(name, f"{metric(name).label}, minus that of {best}", "difference", rows)


def _row(result: Comparison, sender: str) -> dict[str, object]:
    return {"name": sender, "place": colour_place(result.senders, sender)}


def _figure(name: str, title: str, kind: str, rows: list[dict[str, object]]) -> str:
    entry = metric(name)
    id_ = f"{name}-differences" if kind == "difference" else name
    return component("rows", title, {"id": id_, "unit": entry.unit, "kind": kind, "least": entry.least, "rows": rows})
