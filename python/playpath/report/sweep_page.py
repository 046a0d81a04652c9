"""The page of a sweep: who wins where, by how much, where it is undecided, and how the metrics respond."""

from __future__ import annotations

import itertools
import json
from html import escape
from typing import Any

import polars as pl

from playpath.metrics import format_value, metric
from playpath.plots import figure, sender_styles
from playpath.plots.sweep import is_numeric, levels, response, winner_map, winner_points
from playpath.report import html
from playpath.report.marker import marker_svg
from playpath.sweep.result import SweepResult

_MOST_FACETS = 6
_MOST_ROWS = 300
_TILE_WIDTH, _TILE_HEIGHT = 0.95, 0.5


def sweep_page(result: SweepResult) -> str:
    """The whole page as text."""
    sections = [
        _head(result),
        _wins(result),
        _maps(result),
        _curves(result),
        _table(result),
        _errors(result),
        _manifest(result),
    ]
    return html.page(f"{result.name}: which sender wins where?", sections, interactive=False)


def _head(result: SweepResult) -> str:
    decided = result.decisions["is_decided"].sum() if result.decisions.height else 0
    total = result.decisions.height
    verdict = f"{_leader(result)} Decided at {decided} of {total} points."
    missing = (
        "<p class='note'>Interrupted: cells are missing; run the same sweep again to go on.</p>"
        if result.interrupted
        else ""
    )
    facts = f"{result.table.height} cells, {result.errors.height} of them failed; settings: {', '.join(result.keys)}"
    state = "decided" if decided == total else "undecided"
    return (
        f"<header><p class='kicker'>playpath sweep</p><h1>{escape(result.name)}</h1>"
        f"<p class='verdict {state}'>{escape(verdict)}</p><p class='note'>{escape(facts)}</p>{missing}</header>"
    )


def _leader(result: SweepResult) -> str:
    counts = _counts(result)
    if not counts:
        return "No point has a result."
    best, (won, _) = max(counts.items(), key=lambda item: item[1])
    if won == 0:
        return f"{best} leads most often, but wins nowhere for certain."
    return f"{best} wins most often: at {won} points for certain."


def _counts(result: SweepResult) -> dict[str, tuple[int, int]]:
    """For each sender the points it wins for certain, and those where it leads without a decision."""
    found: dict[str, tuple[int, int]] = {}
    for row in result.decisions.iter_rows(named=True):
        for sender in (row["tied"] or row["best"]).split("+"):
            sure, maybe = found.get(sender, (0, 0))
            found[sender] = (sure + row["is_decided"], maybe + (not row["is_decided"]))
    return found


def _wins(result: SweepResult) -> str:
    styles = sender_styles(result.base.senders)
    counts = sorted(_counts(result).items(), key=lambda item: item[1], reverse=True)
    rows = [[marker_svg(styles[s]) + escape(s), str(sure), str(maybe)] for s, (sure, maybe) in counts if s in styles]
    head = ["sender", "wins (shared ones count)", "leads, undecided"]
    return html.section("How often each wins", html.table(head, rows, classes="cards")) if rows else ""


def _maps(result: SweepResult) -> str:
    keys = [key for key in result.keys if result.decisions.height and result.decisions[key].n_unique() > 1]
    if len(keys) < 2:
        return ""
    x, y, *others = keys
    note = "Colour, hatch and name: the winner; pale with a question mark: undecided. Below: by how much it wins."
    if result.decisions.height < result.decisions[x].n_unique() * result.decisions[y].n_unique():
        drawn, ax = figure(4.8, 3.8)
        winner_points(result, x, y, ax)
        note = "Marker: the winner at each drawn point; hollow: undecided."
        return html.section("Who wins where", html.figures([html.figure_svg(drawn, "winners")]), note=note)
    width = max(3.2, 1.0 + _TILE_WIDTH * len(levels(result.decisions, x)))
    height = max(2.2, 0.8 + _TILE_HEIGHT * len(levels(result.decisions, y)))
    parts = []
    for where in _facets(result, others):
        drawn, ax = figure(width, height)
        winner_map(result, x, y, ax, where=where)
        ax.set_title(_facet_title(where), fontsize=9, loc="left")
        parts.append(
            html.figure_svg(drawn, f"winners {_facet_title(where)}", is_full=len(levels(result.decisions, x)) > 3)
        )
    return html.section("Who wins where", html.figures(parts), note=note)


def _facets(result: SweepResult, keys: list[str]) -> list[dict[str, Any]]:
    """The first few combinations of the other settings."""
    choices = [levels(result.decisions, key) for key in keys]
    combined = itertools.islice(itertools.product(*choices), _MOST_FACETS)
    return [dict(zip(keys, values, strict=True)) for values in combined]


def _facet_title(where: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in where.items())


def _curves(result: SweepResult) -> str:
    keys = [k for k in result.keys if result.table[k].n_unique() > 1 and is_numeric(result.table, k)]
    keys = [k for k in keys if result.table[k].n_unique() * 4 <= max(8, result.table["point"].n_unique() * 4)]
    first = result.ranker(int(result.decisions["point"][0])) if result.decisions.height else None
    if not keys or first is None:
        return ""
    parts = []
    for key, name in itertools.product(keys[:3], first.criteria[:3]):
        if result.table[key].n_unique() > 12:
            continue
        drawn, ax = figure(4.6, 3.1)
        response(result, name, key, ax)
        parts.append(html.figure_svg(drawn, f"{metric(name).label} against {key}"))
    note = "Means with 95 % intervals; seeds and all other settings are averaged together."
    return html.section("How the metrics respond", html.figures(parts), note=note) if parts else ""


def _table(result: SweepResult) -> str:
    head = [
        *(escape(k) for k in result.keys),
        "best",
        "decided",
        "second",
        "criterion",
        "second minus best",
        "more runs",
    ]
    rows = [_row(result, row) for row in result.decisions.head(_MOST_ROWS).iter_rows(named=True)]
    left = result.decisions.height - len(rows)
    note = f"{left} more points are in decisions.parquet." if left > 0 else ""
    return html.section("Decision table", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _row(result: SweepResult, row: dict[str, Any]) -> list[str]:
    gap = ""
    if row["difference"] is not None:
        unit = metric(row["criterion"]).unit
        low, high = format_value(row["ci95_low"]), format_value(row["ci95_high"])
        gap = f"{format_value(row['difference'])} {unit}<br><small>{low} to {high}</small>"
    cells = [
        row["tied"] or row["best"],
        "yes" if row["is_decided"] else "no",
        row["second"] or "–",
        metric(row["criterion"]).label if row["criterion"] else "–",
    ]
    more = str(row["more_runs"]) if row["more_runs"] else "–"
    return [*(escape(str(row[k])) for k in result.keys), *(escape(c) for c in cells), gap or "–", more]


def _errors(result: SweepResult) -> str:
    if result.errors.is_empty():
        return ""
    counted = result.errors.group_by("error").agg(pl.len().alias("cells")).sort("cells", descending=True).head(20)
    rows = [[escape(row["error"]), str(row["cells"])] for row in counted.iter_rows(named=True)]
    return html.section("Cells that failed", html.table(["error", "cells"], rows, classes="cards"))


def _manifest(result: SweepResult) -> str:
    stored = result.to_dict()
    text = json.dumps({**stored["manifest"], "digest": stored["digest"]}, indent=1, ensure_ascii=False)
    sql = "select * from 'sweep.parquet' where sender = 'cubic'"
    body = html.details("Design, scenario, versions, digest", html.pre(text)) + (
        f'<p>All cells are one table: <code>duckdb -c "{escape(sql)}"</code></p>'
    )
    return html.section("How to get this again", body)
