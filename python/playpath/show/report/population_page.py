"""The page of a population: the answer, whom it helps and harms, how viewers differ, where the answer turns, and the table."""

from __future__ import annotations

import json
from html import escape

from playpath.base.metrics import format_interval, format_value, metric
from playpath.plots import figure
from playpath.plots.population import distribution, group_title, groups, helped_and_harmed, turning
from playpath.population.answer import PopulationResult
from playpath.population.groups import group_labels
from playpath.population.headline import neighbours
from playpath.population.intervals import Estimate
from playpath.population.versus import Versus
from playpath.show.report import html
from playpath.show.report.drawings import figure_svg

_MOST_FIGURES = 4
_ROW_HEIGHT = 0.3
_NEIGHBOURS = ("neighbours_goodput_mbps", "neighbours_retransmitted_packets", "neighbours_stall_time_s")
_RELATIONS = {"better": "better", "worse": "worse", "alike": "alike", "open": "undecided"}


def population_page(result: PopulationResult) -> str:
    """The whole page as text."""
    is_compared = len(result.senders) > 1
    sections = [
        _head(result),
        _shares(result) if is_compared else "",
        _distributions(result),
        _groups(result) if is_compared else "",
        _turning(result) if is_compared and result.best != result.baseline else "",
        _table(result),
        _manifest(result),
    ]
    return html.page(f"{result.name}: which sender for whom?", sections)


def _head(result: PopulationResult) -> str:
    state = "decided" if result.is_decided else "undecided"
    notes = "".join(f"<p class='note'>{escape(text)}</p>" for text in result.warnings)
    return (
        f"<header><p class='kicker'>playpath population</p><h1>{escape(result.name)}</h1>"
        f"<p class='verdict {state}'>{escape(result.headline)}</p><p class='note'>{escape(result.fine_print)}</p>{notes}</header>"
    )


def _shares(result: PopulationResult) -> str:
    versus = result.against_baseline
    if not versus:
        return ""
    drawn, ax = figure(5.2, 0.9 + 0.42 * len(versus))
    helped_and_harmed(result, ax)
    head = ["sender", "better served", "worse served", "helped minus harmed", "network", "retransmits", "decided"]
    rows = [[escape(name), *_share_cells(v)] for name, v in versus.items()]
    if any(v.neighbours for v in versus.values()):
        head.append("neighbours")
        rows = [[*row, escape(neighbours(v).strip())] for row, v in zip(rows, versus.values(), strict=True)]
    note = (
        f"Every viewer once with {result.baseline} and once with the other sender, on the same path at the same moment."
    )
    body = html.figures([figure_svg(drawn, "helped and harmed")]) + html.table(head, rows, classes="cards")
    return html.section(f"Whom each sender helps and harms, against {result.baseline}", body, note=note)


def _share_cells(versus: Versus) -> list[str]:
    ratio = versus.retransmission_ratio
    reasons = ", ".join(metric(name).label for name in list(versus.helped_by)[:2])
    why = f"<br><small>by {escape(reasons)}</small>" if reasons else ""
    level = f" ({versus.decided_by})" if versus.decided_by else ""
    return [
        _percent(versus.helped) + why,
        _percent(versus.harmed),
        _points(versus.net),
        _points(versus.network),
        "–" if ratio is None else f"× {format_value(ratio, 2)}",
        _RELATIONS[versus.relation] + level,
    ]


def _percent(share: Estimate) -> str:
    return f"{100 * share.value:.0f} %<br><small>{100 * share.low:.0f} to {100 * share.high:.0f}</small>"


def _points(net: Estimate) -> str:
    return f"{100 * net.value:+.0f}<br><small>{100 * net.low:+.0f} to {100 * net.high:+.0f}</small>"


def _distributions(result: PopulationResult) -> str:
    names = [n for n in result.viewer_criteria if n != "played_s" and _varies(result, n)][:_MOST_FIGURES]
    parts = []
    for name in names:
        drawn, ax = figure(4.6, 3.1)
        distribution(result, name, ax)
        parts.append(figure_svg(drawn, f"distribution of {metric(name).label}"))
    note = "Marks: 25, 50, 75 and 95 % of viewers. Bands: 95 %, over links or users."
    return html.section("How viewers differ", html.figures(parts), note=note) if parts else ""


def _varies(result: PopulationResult, name: str) -> bool:
    return any(len(set(result.values(sender, name)[:5000].tolist())) > 1 for sender in result.senders)


def _groups(result: PopulationResult) -> str:
    parts = []
    for column in result.group_columns():
        rows = group_labels(result.paths, column)["label"].n_unique()
        drawn, ax = figure(4.6, max(2.6, 0.9 + _ROW_HEIGHT * rows))
        groups(result, column, ax)
        parts.append(figure_svg(drawn, f"groups by {group_title(column)}"))
    note = (
        f"{result.contender} against {result.baseline}; in brackets how many links or users. Filled: the interval is on one side of zero. "
        "Grey: alike. Intervals are for each group by itself, not corrected for their number."
    )
    tables = "".join(_group_table(result, f"group.{name}") for name in result.population.group)
    if tables:
        tables = (
            f"<p class='note'>Each sender against {escape(result.baseline)}, helped minus harmed, points:</p>{tables}"
        )
    return html.section("Which viewers", html.figures(parts) + tables, note=note) if parts else ""


def _group_table(result: PopulationResult, column: str) -> str:
    """Every sender's net benefit in each group, where there are several to hold against the baseline."""
    if len(result.against_baseline) < 2:
        return ""
    found = [result.by_group(column, sender, result.baseline) for sender in result.against_baseline]
    rows = [[escape(own[0][0]), str(own[0][1]), *(_points(net) for *_, net in own)] for own in zip(*found, strict=True)]
    head = [escape(group_title(column)), result.population.unit_word, *map(escape, result.against_baseline)]
    return html.table(head, rows, classes="cards")


def _turning(result: PopulationResult) -> str:
    worst = result.worst_paths(result.best, result.baseline)
    parts = []
    if "rate_mbps" in result.paths.columns and result.paths["rate_mbps"].null_count() == 0:
        drawn, ax = figure(4.6, 3.1)
        turning(result, ax)
        parts.append(figure_svg(drawn, "net benefit against rate"))
    told = [n for n in worst.columns if n not in ("path", "unit", "weight", "net", "name")]
    head = ["path", f"{escape(result.best)} better minus worse", *(escape(_column_title(n)) for n in told)]
    rows = [
        [escape(str(row["name"])), f"{100 * row['net']:+.0f}", *(escape(_cell(row[n])) for n in told)]
        for row in worst.iter_rows(named=True)
    ]
    body = html.figures(parts) + (html.table(head, rows, classes="cards") if rows else "<p>There is no such path.</p>")
    note = f"Paths where {result.baseline} serves more of the viewers better; the metrics are {result.best} minus {result.baseline}."
    return html.section("Where the answer turns", body, note=note)


def _column_title(name: str) -> str:
    entry = metric(name)
    return entry.axis if entry.better != "neither" else group_title(name)


def _cell(value: object) -> str:
    return format_value(value) if isinstance(value, float) else str(value)


def _table(result: PopulationResult) -> str:
    names = [
        *result.viewer_criteria,
        *(
            n
            for n in ("goodput_mbps", "retransmitted_packets", "mean_rtt_ms", *_NEIGHBOURS)
            if n in result.metric_names
        ),
    ]
    head = [
        "sender",
        *(f"{escape(metric(n).label)}<br><small>{escape(metric(n).unit)}</small>" for n in dict.fromkeys(names)),
    ]
    rows = [[escape(s), *(_mean_cell(result, s, n) for n in dict.fromkeys(names))] for s in result.ranking]
    note = "Mean over viewers with its 95 % interval over links or users; below it the median and the 95th percentile."
    return html.section("All senders", html.table(head, rows, classes="cards"), note=note)


def _mean_cell(result: PopulationResult, sender: str, name: str) -> str:
    mean, bands = result.mean(sender, name), result.quantiles(sender, name)
    if mean is None or bands is None:
        return "–"
    text = format_interval(mean.value, (mean.high - mean.low) / 2)
    return f"{text}<br><small>{format_value(float(bands[0][0]))}; {format_value(float(bands[0][2]))}</small>"


def _manifest(result: PopulationResult) -> str:
    stored = {**result.manifest, "digest": result.digest}
    stored["scenario"] = "in population.json"
    body = html.details("Population, versions, digest", html.pre(json.dumps(stored, indent=1, ensure_ascii=False)))
    return html.section("How to get this again", body)
