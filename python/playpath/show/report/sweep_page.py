"""The page of a sweep: who wins where, by how much, where it is undecided, and how the metrics respond."""

from __future__ import annotations

import itertools
import json
from html import escape

import polars as pl

from playpath.base.metrics import about_runs, format_value, metric
from playpath.base.tabular import Named
from playpath.base.words import listing
from playpath.plots import figure, sender_styles
from playpath.plots.sweep import is_numeric, levels, response, winner_map, winner_points
from playpath.show.report import html
from playpath.show.report.drawings import figure_svg
from playpath.show.report.marker import marker_svg
from playpath.sweep.design import Point
from playpath.sweep.headline import counts
from playpath.sweep.result import SweepResult

_MOST_FACETS = 6
_MOST_CURVES = 3
_MOST_LEVELS = 12
_MOST_ROWS = 300
_TILE_WIDTH, _TILE_HEIGHT = 0.95, 0.5


def sweep_page(result: SweepResult) -> str:
    """The whole page as text."""
    sections = [
        _head(result),
        _effects(result),
        *((_wins(result), _maps(result)) if result.is_comparison else ()),
        _curves(result),
        _table(result) if result.is_comparison else _means(result),
        _errors(result),
        _manifest(result),
    ]
    title = f"{result.name}: which sender wins where?" if result.is_comparison else result.name
    return html.page(title, sections)


def _head(result: SweepResult) -> str:
    missing = (
        "<p class='note'>Interrupted: cells are missing; run the same sweep again to go on.</p>"
        if result.interrupted
        else ""
    )
    facts = f"{result.table.height} cells, {result.errors.height} of them failed; settings: {', '.join(result.keys)}"
    state = "undecided" if result.open_points() else "decided"
    return (
        f"<header><p class='kicker'>playpath sweep</p><h1>{escape(result.name)}</h1>"
        f"<p class='verdict {state}'>{escape(result.headline)}</p><p class='note'>{escape(facts)}</p>{missing}</header>"
    )


def _effects(result: SweepResult) -> str:
    """What each value does for each sender, point by point."""
    if not result.base.asks_for_whom:
        return ""
    rows = [
        [
            *(escape(str(row[key])) for key in result.keys),
            *map(escape, (effect.value, effect.against, effect.sender, effect.outcome, effect.detail)),
        ]
        for row in result.decisions.iter_rows(named=True)
        for effect in result.effects[row["point"]]
    ]
    head = [*map(escape, result.keys), "value", "against", "for sender", "outcome", "by"]
    left = f"{len(rows) - _MOST_ROWS} more rows are in sweep.json." if len(rows) > _MOST_ROWS else ""
    return html.section("What a value does for whom", html.table(head, rows[:_MOST_ROWS], classes="cards"), note=left)


def _wins(result: SweepResult) -> str:
    styles = sender_styles(result.base.senders)
    found = sorted(counts(result).items(), key=lambda item: item[1], reverse=True)
    rows = [[marker_svg(styles[s]) + escape(s), *map(str, numbers)] for s, numbers in found if s in styles]
    head = ["sender", "wins that the viewer feels", "wins by the network's cost, or all alike", "leads, undecided"]
    note = "A win that several share counts for each."
    return html.section("How often each wins", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _maps(result: SweepResult) -> str:
    keys = [key for key in result.keys if result.decisions.height and result.decisions[key].n_unique() > 1]
    if len(keys) < 2:
        return ""
    x, y, *others = keys
    note = (
        "Colour and name: the winner. Filled: the viewer feels it. Outlined: the viewer does not; the winner costs the network "
        "least, or all are alike. Pale with a question mark: undecided. In brackets: nothing is random there, one run tells "
        "all. Below the name: by how much it wins."
    )
    if result.decisions.height < result.decisions[x].n_unique() * result.decisions[y].n_unique():
        drawn, ax = figure(4.8, 3.8)
        winner_points(result, x, y, ax)
        note = "Marker: the winner at each drawn point; filled: decided, and the viewer feels it."
        return html.section("Who wins where", html.figures([figure_svg(drawn, "winners")]), note=note)
    width = max(3.2, 1.0 + _TILE_WIDTH * len(levels(result.decisions, x)))
    height = max(2.2, 0.8 + _TILE_HEIGHT * len(levels(result.decisions, y)))
    parts = []
    for where in _facets(result, others):
        drawn, ax = figure(width, height)
        winner_map(result, x, y, ax, where=where)
        ax.set_title(_facet_title(where), fontsize=9, loc="left")
        parts.append(figure_svg(drawn, f"winners {_facet_title(where)}", is_full=len(levels(result.decisions, x)) > 3))
    return html.section("Who wins where", html.figures(parts), note=note)


def _facets(result: SweepResult, keys: list[str]) -> list[Point]:
    """The first few combinations of the other settings."""
    choices = [levels(result.decisions, key) for key in keys]
    combined = itertools.islice(itertools.product(*choices), _MOST_FACETS)
    return [dict(zip(keys, values, strict=True)) for values in combined]


def _facet_title(where: Point) -> str:
    return ", ".join(f"{key} = {value}" for key, value in where.items())


def _curves(result: SweepResult) -> str:
    keys = [k for k in result.keys if result.table[k].n_unique() > 1 and is_numeric(result.table, k)]
    keys = [k for k in keys if result.table[k].n_unique() * 4 <= max(8, result.table["point"].n_unique() * 4)]
    parts = []
    pooled: set[str] = set()
    for key, name in itertools.product(keys[:3], _shown_metrics(result)):
        if result.table[key].n_unique() > _MOST_LEVELS:
            continue
        split = _split_by(result, key)
        pooled.update(k for k in result.keys if k not in (key, *split) and result.table[k].n_unique() > 1)
        for where in _facets(result, split):
            drawn, ax = figure(4.6, 3.3)
            response(result, name, key, ax, where=where)
            title = f"{metric(name).label} against {key}"
            if where:
                ax.set_xlabel(f"{ax.get_xlabel()}, where {_facet_title(where)}")
                title += f" where {_facet_title(where)}"
            parts.append(figure_svg(drawn, title))
    together = f"seeds and values of {listing(sorted(pooled))} are" if pooled else "seeds are"
    note = f"Means, with 95 % intervals of the median; {together} taken together."
    return html.section("How the metrics respond", html.figures(parts), note=note) if parts else ""


def _split_by(result: SweepResult, x: str) -> list[str]:
    """The other settings that a figure over `x` is split by: all, as long as there are no more figures than `_MOST_FACETS`."""
    found: list[str] = []
    count = 1
    for key in result.keys:
        values = result.table[key].n_unique()
        if key != x and values > 1 and count * values <= _MOST_FACETS:
            found.append(key)
            count *= values
    return found


def _shown_metrics(result: SweepResult) -> list[str]:
    """Those that decide most often, then the first criteria that vary."""
    if result.decisions.is_empty():
        return []
    decide = result.decisions["criterion"].drop_nulls().value_counts(sort=True)["criterion"].to_list()
    criteria = result.ranker(int(result.decisions["point"][0])).criteria
    varied = [name for name in criteria if result.table[name].drop_nulls().n_unique() > 1]
    return list(dict.fromkeys((*decide, *varied)))[:_MOST_CURVES]


def _table(result: SweepResult) -> str:
    head = [
        *(escape(k) for k in result.keys),
        "best",
        "decided",
        "seeds",
        "second",
        "criterion",
        "second minus best",
        "more runs",
    ]
    rows = [_row(result, row) for row in result.decisions.head(_MOST_ROWS).iter_rows(named=True)]
    left = result.decisions.height - len(rows)
    note = f"{left} more points are in decisions.parquet." if left > 0 else ""
    return html.section("Decision table", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _means(result: SweepResult) -> str:
    """What a sender alone did at each point."""
    means = result.means()
    head = [*map(escape, result.keys), "sender", "seeds", *(escape(metric(name).axis) for name in result.varied)]
    rows = [
        [
            *(escape(str(row[key])) for key in (*result.keys, "sender", "seeds")),
            *("–" if row[name] is None else format_value(row[name]) for name in result.varied),
        ]
        for row in means.head(_MOST_ROWS).iter_rows(named=True)
    ]
    left = means.height - len(rows)
    note = f"{left} more points are in sweep.parquet." if left > 0 else ""
    return html.section("Means at each point", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _row(result: SweepResult, row: Named) -> list[str]:
    gap = ""
    if row["difference"] is not None:
        unit = metric(row["criterion"]).unit
        gap = f"{format_value(row['difference'])} {unit}"
        if row["ci95_low"] is not None:
            gap += f"<br><small>median {format_value(row['ci95_low'])} to {format_value(row['ci95_high'])}</small>"
    cells = [
        ", ".join(row["winners"]),
        _decided(row),
        str(row["seeds"]),
        row["second"] or "–",
        metric(row["criterion"]).label if row["criterion"] else "–",
    ]
    more = str(about_runs(row["more_runs"])) if row["more_runs"] else "–"
    return [*(escape(str(row[k])) for k in result.keys), *(escape(c) for c in cells), gap or "–", more]


def _decided(row: Named) -> str:
    """Whether a point is decided, and who feels it."""
    if not row["is_decided"]:
        return "no"
    felt = {"viewer": "yes, felt by the viewer", "network": "yes, by the network's cost", None: "yes, all alike"}
    return felt[row["level"]] + ("" if row["is_random"] else "; nothing is random")


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
