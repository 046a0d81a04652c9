"""The page of a sweep: which sender wins where, by how much, where it is undecided, and how the metrics respond."""

import itertools
import math
from html import escape

import polars as pl

from playpath.base.metrics import about_runs, format_value, metric
from playpath.base.tabular import Named
from playpath.base.words import listing
from playpath.judge import stats
from playpath.show.report import html
from playpath.show.report.component import colour_place, component, swatch
from playpath.sweep.design import Point
from playpath.sweep.headline import counts
from playpath.sweep.levels import Levels, at_values, by_axis, levels
from playpath.sweep.result import SweepResult, shown_difference

_MAX_FACETS = 6
_MAX_CURVES = 3
_MAX_AT_ONCE = 9
"""If there are more figures than this, those of all metrics except the first are collapsed."""
_MAX_LEVELS = 12
_MAX_ROWS = 300
_MANY_COLUMNS = 4
_LOG_FROM = 20
"""An axis whose values span at least this factor is logarithmic."""


def sweep_page(result: SweepResult) -> str:
    result = by_axis(result)
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
        "<p class='note'>Interrupted: cells are missing; run the same sweep again to resume.</p>"
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
    """The effect of each value on each sender, point by point."""
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
    left = f"{len(rows) - _MAX_ROWS} more rows are in sweep.json." if len(rows) > _MAX_ROWS else ""
    return html.section("What a value does for whom", html.table(head, rows[:_MAX_ROWS], classes="cards"), note=left)


def _wins(result: SweepResult) -> str:
    senders = result.base.senders
    found = sorted(counts(result).items(), key=lambda item: item[1], reverse=True)
    rows = [[swatch(senders, s) + escape(s), *map(str, numbers)] for s, numbers in found if s in senders]
    head = ["sender", "wins that the viewer notices", "wins by network cost, or all alike", "leads, undecided"]
    note = "A win that several senders share counts for each of them."
    return html.section("How often each wins", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _maps(result: SweepResult) -> str:
    keys = [key for key in result.keys if result.decisions.height and result.decisions[key].n_unique() > 1]
    if len(keys) < 2:
        return ""
    x, y, *others = keys
    drawn = [levels(result.decisions, key) for key in (x, y)]
    if result.decisions.height < math.prod(len(one.values) for one in drawn) and any(one.is_numeric for one in drawn):
        note = "Mark: the winner at each drawn point; filled: decided, and the viewer notices it."
        return html.section("Who wins where", html.figures([_cloud(result, x, y)]), note=note)
    note = (
        "Colour and name: the winner. Filled: the viewer notices. Outlined: the viewer does not; the winner costs the network "
        "least, or all are alike. Pale with a question mark: undecided. In brackets: nothing is random there, so one run is "
        "enough. Below the name: by how much it wins."
    )
    parts = [_field(result, x, y, where) for where in _facets(result, others)]
    return html.section("Who wins where", html.figures(parts), note=note)


def _field(result: SweepResult, x: str, y: str, where: Point) -> str:
    """The winner at each point of two settings, with the others fixed at `where`."""
    decisions = at_values(result.decisions, where)
    columns, rows = levels(decisions, x).values, levels(decisions, y).values
    given = {
        "x": x,
        "y": y,
        "columns": [str(value) for value in columns],
        "rows": [str(value) for value in rows],
        "tiles": [
            {"column": columns.index(row[x]), "row": rows.index(row[y]), **_tile(result, row)}
            for row in decisions.iter_rows(named=True)
        ],
        "head": [x, y, "winner", "by", "state"],
    }
    title = f"Winner, {_facet_title(where)}" if where else "Winner"
    return component("field", title, given, full=len(columns) > _MANY_COLUMNS)


def _tile(result: SweepResult, row: Named) -> dict[str, object]:
    others = len(row["winners"]) - 1
    name = row["best"] if others == 0 else f"{row['best']} + {others} alike"
    name = name if row["is_random"] else f"({name})"
    state = ("felt" if row["level"] == "viewer" else "unfelt") if row["is_decided"] else "open"
    return {
        "name": name if row["is_decided"] else f"{name} ?",
        "more": _gap(row),
        "place": colour_place(result.base.senders, row["best"]),
        "state": state,
    }


def _gap(row: Named) -> str:
    gap = shown_difference(row)
    return f"by {format_value(abs(gap), 2)} {metric(row['criterion']).unit}".strip() if gap else ""


def _cloud(result: SweepResult, *keys: str) -> str:
    """The winner at each drawn point of two settings; hollow unless a win is decided that the viewer notices.

    Quantities are across the words, which only the horizontal axis shows.
    """
    x, y = sorted(keys, key=lambda key: levels(result.decisions, key).is_numeric)
    places = [levels(result.decisions, key) for key in (x, y)]
    at_x, at_y = (dict(zip(place.values, place.numbers, strict=True)) for place in places)
    series = []
    for sender, is_felt in itertools.product(result.base.senders, (True, False)):
        felt = pl.col("is_decided") & pl.col("level").eq_missing("viewer")
        rows = result.decisions.filter((pl.col("best") == sender) & (felt == is_felt))
        points = [[at_x[a], at_y[b], None, None] for a, b in rows.select(x, y).iter_rows()]
        place = colour_place(result.base.senders, sender)
        name = sender if is_felt else f"{sender}, not noticed or open"
        series.append({"name": name, "place": place, "points": points, "isLine": False, "isHollow": not is_felt})
    axes = {
        name: {"label": key, "unit": place.unit} | ({} if place.is_numeric else _ticks(place))
        for name, key, place in zip("xy", (x, y), places, strict=True)
    }
    return component("plane", "Winner", {**axes, "spread": "interval", "series": [s for s in series if s["points"]]})


def _ticks(place: Levels) -> dict[str, object]:
    return {"ticks": place.numbers, "words": place.words}


def _facets(result: SweepResult, keys: list[str]) -> list[Point]:
    """The first few combinations of the other settings that were played."""
    if not keys:
        return [{}]
    return result.decisions.select(keys).unique(maintain_order=True).head(_MAX_FACETS).to_dicts()


def _facet_title(where: Point) -> str:
    return ", ".join(f"{key} = {value}" for key, value in where.items())


def _curves(result: SweepResult) -> str:
    keys = [k for k in result.keys if result.table[k].n_unique() > 1 and levels(result.table, k).is_numeric]
    keys = [k for k in keys if result.table[k].n_unique() * 4 <= max(8, result.table["point"].n_unique() * 4)]
    shown: dict[str, list[str]] = {name: [] for name in _shown_metrics(result)}
    pooled: set[str] = set()
    for key, name in itertools.product(keys[:3], shown):
        if result.table[key].n_unique() > _MAX_LEVELS:
            continue
        split = _split_by(result, key)
        pooled.update(k for k in result.keys if k not in (key, *split) and result.table[k].n_unique() > 1)
        shown[name] += [_response(result, name, key, where) for where in _facets(result, split)]
    first, *others = shown.values() if shown else [[]]
    rest = [figure for own in others for figure in own]
    is_long = len(first) + len(rest) > _MAX_AT_ONCE
    body = html.figures(first if is_long else first + rest)
    body += html.details("The other metrics", html.figures(rest)) if is_long and rest else ""
    together = f"seeds and values of {listing(sorted(pooled))} are" if pooled else "seeds are"
    note = f"Medians with their 95 % intervals, or means of fewer than six runs; {together} taken together."
    return html.section("How the metrics respond", body, note=note) if first or rest else ""


def _split_by(result: SweepResult, x: str) -> list[str]:
    """The other settings by which a figure over `x` is split: all, unless there would be more figures than `_MAX_FACETS`."""
    found: list[str] = []
    count = 1
    for key in result.keys:
        values = result.table[key].n_unique()
        if key != x and values > 1 and count * values <= _MAX_FACETS:
            found.append(key)
            count *= values
    return found


def _response(result: SweepResult, name: str, key: str, where: Point) -> str:
    """A metric of every sender against a setting, with the others fixed at `where`."""
    table = at_values(result.table, where)
    places = levels(table, key)
    numbers = places.numbers
    series = []
    for sender in result.base.senders:
        part = table.filter(pl.col("sender") == sender)
        found = [stats.summarise(part.filter(pl.col(key) == v)[name].drop_nulls().to_list()) for v in places.values]
        points = [
            [at, one.middle, *(one.ci95 or (None, None))]
            for at, one in zip(numbers, found, strict=True)
            if one is not None
        ]
        if points:
            place = colour_place(result.base.senders, sender)
            series.append({"name": sender, "place": place, "points": points, "isLine": True})
    is_log = min(numbers) > 0 and max(numbers) / min(numbers) >= _LOG_FROM
    entry = metric(name)
    x = {"label": key, "unit": places.unit, "isLog": is_log, **_ticks(places)}
    given = {"x": x, "y": {"label": entry.label, "unit": entry.unit}, "spread": "interval", "series": series}
    title = f"{entry.label} against {key}"
    return component("plane", f"{title}, {_facet_title(where)}" if where else title, given)


def _shown_metrics(result: SweepResult) -> list[str]:
    """The metrics that decide most often, then the first criteria that vary."""
    if result.decisions.is_empty():
        return []
    decide = result.decisions["criterion"].drop_nulls().value_counts(sort=True)["criterion"].to_list()
    criteria = result.ranker(int(result.decisions["point"][0])).criteria
    varied = [name for name in criteria if result.table[name].drop_nulls().n_unique() > 1]
    return list(dict.fromkeys((*decide, *varied)))[:_MAX_CURVES]


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
    rows = [_row(result, row) for row in result.decisions.head(_MAX_ROWS).iter_rows(named=True)]
    left = result.decisions.height - len(rows)
    note = f"{left} more points are in decisions.parquet." if left > 0 else ""
    return html.section("Decision table", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _means(result: SweepResult) -> str:
    """The results of a single sender at each point."""
    means = result.means()
    head = [*map(escape, result.keys), "sender", "seeds", *(escape(metric(name).axis) for name in result.varied)]
    rows = [
        [
            *(escape(str(row[key])) for key in (*result.keys, "sender", "seeds")),
            *("–" if row[name] is None else format_value(row[name]) for name in result.varied),
        ]
        for row in means.head(_MAX_ROWS).iter_rows(named=True)
    ]
    left = means.height - len(rows)
    note = f"{left} more points are in sweep.parquet." if left > 0 else ""
    return html.section("Means at each point", html.table(head, rows, classes="cards"), note=note) if rows else ""


def _row(result: SweepResult, row: Named) -> list[str]:
    gap = ""
    if (shown := shown_difference(row)) is not None:
        gap = f"{format_value(shown)} {metric(row['criterion']).unit}"
        if row["ci95_low"] is not None:
            gap += f"<br><small>{format_value(row['ci95_low'])} to {format_value(row['ci95_high'])}</small>"
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
    """Whether a point is decided, and whether by the viewer or by the network's cost."""
    if not row["is_decided"]:
        return "no"
    felt = {"viewer": "yes, noticed by the viewer", "network": "yes, by the network's cost", None: "yes, all alike"}
    return felt[row["level"]] + ("" if row["is_random"] else "; nothing is random")


def _errors(result: SweepResult) -> str:
    if result.errors.is_empty():
        return ""
    counted = (
        result.errors.group_by("error")
        .agg(pl.len().alias("cells"))
        .sort("cells", "error", descending=[True, False])
        .head(20)
    )
    rows = [[escape(row["error"]), str(row["cells"])] for row in counted.iter_rows(named=True)]
    return html.section("Cells that failed", html.table(["error", "cells"], rows, classes="cards"))


def _manifest(result: SweepResult) -> str:
    stored = result.to_dict()
    manifest = {**stored["manifest"], "digest": stored["digest"]}
    sql = "select * from 'sweep.parquet' where sender = 'cubic'"
    body = html.details("Design, scenario, versions, digest", html.document(manifest)) + (
        f'<p>All cells are one table: <code>duckdb -c "{escape(sql)}"</code></p>'
    )
    return html.section("How to reproduce this", body)
