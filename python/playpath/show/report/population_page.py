"""The page of a population: the answer, which viewers it helps and harms, how viewers differ, where the answer reverses, the table."""

import math
from html import escape

import numpy as np

from playpath.base.metrics import format_value, metric, signed
from playpath.population.answer import PopulationResult
from playpath.population.groups import group_title
from playpath.population.headline import neighbours
from playpath.population.intervals import Estimate
from playpath.population.versus import Versus
from playpath.show.report import html
from playpath.show.report.component import colour_place, component
from playpath.show.report.effects_section import effects_section

_MAX_FIGURES = 4
_LEVELS = np.linspace(0.005, 0.995, 100)
_MARKED = np.searchsorted(_LEVELS, [0.25, 0.5, 0.75, 0.95]).tolist()
_HELPED, _HARMED = 2, 1
"""Numbers of the colours for viewers served better and worse."""
_ALIKE = 5.0
"""Net benefit, in points, that counts as none."""
_NEIGHBOURS = ("neighbours_goodput_mbps", "neighbours_retransmitted_packets", "neighbours_stall_time_s")
_LOG_FROM = 8
"""An axis whose values span at least this factor is logarithmic."""
_RELATIONS = {"better": "better", "worse": "worse", "alike": "alike", "open": "undecided"}


def population_page(result: PopulationResult) -> str:
    is_compared = len(result.senders) > 1
    sections = [
        _head(result),
        effects_section(result.effects, "viewer"),
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
    points = "<br><small>points</small>"
    head = [
        "sender",
        "better served",
        "worse served",
        f"helped minus harmed{points}",
        f"network{points}",
        "retransmits",
        "decided",
    ]
    rows = [[escape(name), *_share_cells(v)] for name, v in versus.items()]
    if any(v.neighbours for v in versus.values()):
        head.append("neighbours")
        rows = [[*row, escape(neighbours(v).strip())] for row, v in zip(rows, versus.values(), strict=True)]
    note = f"Every viewer plays once with {result.baseline} and once with the other sender, on the same path at the same moment."
    body = html.figures([_shares_figure(result)]) + html.table(head, rows, classes="cards")
    return html.section(f"Whom each sender helps and harms, against {result.baseline}", body, note=note)


def _shares_figure(result: PopulationResult) -> str:
    """For every sender the shares of viewers that it serves better and worse than the baseline."""
    rows = []
    for name, versus in result.against_baseline.items():
        better, worse = _in_percent(versus.helped), _in_percent(versus.harmed, sign=-1)
        lines = [
            f"{name}: {word} served {html.typeset(f'{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})')}"
            for word, share in (("better", versus.helped), ("worse", versus.harmed))
        ]
        rows.append({"name": name, "place": 0, **better, "seeds": [], "second": worse, "lines": lines})
    title = f"Viewers served worse (left) and better (right) than by {result.baseline}"
    return component("rows", title, {"unit": "%", "kind": "shares", "least": 5, "rows": rows})


def _in_percent(share: Estimate, sign: int = 1) -> dict[str, object]:
    ends = sorted((100 * sign * share.low, 100 * sign * share.high))
    return {"value": 100 * sign * share.value, "ci95": ends}


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
    return f"{signed(100 * net.value)}<br><small>{signed(100 * net.low)} to {signed(100 * net.high)}</small>"


def _distributions(result: PopulationResult) -> str:
    names = [n for n in result.viewer_criteria if n != "played_s" and _varies(result, n)][:_MAX_FIGURES]
    parts = [_distribution(result, name) for name in names]
    note = "Marks: 25, 50, 75 and 95 % of viewers. Bands: 95 %, over links or users."
    return html.section("How viewers differ", html.figures(parts), note=note) if parts else ""


def _distribution(result: PopulationResult, name: str) -> str:
    """The share of viewers with at most a given value of a metric, for the best sender and the baseline."""
    series = []
    for sender in dict.fromkeys([result.best, result.baseline]):
        found = result.quantiles(sender, name, _LEVELS)
        if found is not None:
            points = [list(map(float, row)) for row in zip(found[0], 100 * _LEVELS, found[1], found[2], strict=True)]
            place = colour_place(result.senders, sender)
            series.append({"name": sender, "place": place, "points": points, "isLine": True, "marked": _MARKED})
    entry = metric(name)
    y = {"label": "viewers with at most this", "unit": "%", "range": [0, 100]}
    given = {"x": {"label": entry.label, "unit": entry.unit}, "y": y, "spread": "band", "series": series}
    return component("plane", f"{entry.label} over viewers", given)


def _varies(result: PopulationResult, name: str) -> bool:
    return any(len(set(result.values(sender, name)[:5000].tolist())) > 1 for sender in result.senders)


def _groups(result: PopulationResult) -> str:
    parts = [_groups_figure(result, column) for column in result.group_columns()]
    note = (
        f"{result.contender} against {result.baseline}; in brackets the number of links or users. Filled: the interval excludes zero. "
        "Grey: alike. Intervals are for each group on its own, not corrected for the number of groups."
    )
    tables = "".join(_group_table(result, f"group.{name}") for name in result.population.group)
    if tables:
        tables = (
            f"<p class='note'>Each sender against {escape(result.baseline)}, helped minus harmed, points:</p>{tables}"
        )
    return html.section("Which viewers", html.figures(parts) + tables, note=note) if parts else ""


def _groups_figure(result: PopulationResult, column: str) -> str:
    """Helped minus harmed in each group of viewers."""
    rows = []
    for label, units, _, _, net in result.by_group(column, result.contender, result.baseline):
        is_clear = net.low > 0 or net.high < 0
        lines = [
            f"{label}: {html.typeset(signed(100 * net.value))} points",
            html.typeset(f"95 % interval: {signed(100 * net.low)} to {signed(100 * net.high)}"),
            f"{units} {result.population.unit_word}",
        ]
        rows.append(
            {
                "name": f"{label} ({units})",
                "place": _HARMED if net.high < 0 else _HELPED,
                **_in_percent(net),
                "seeds": [],
                "state": "proven" if is_clear else "open",
                "margin": _ALIKE,
                "lines": lines,
            }
        )
    title = f"Helped minus harmed in points, by {group_title(column)}"
    return component("rows", title, {"unit": "", "kind": "difference", "least": 5, "of": "group", "rows": rows})


def _group_table(result: PopulationResult, column: str) -> str:
    """Every sender's net benefit in each group, if several are compared with the baseline."""
    if len(result.against_baseline) < 2:
        return ""
    found = [result.by_group(column, sender, result.baseline) for sender in result.against_baseline]
    rows = [[escape(own[0][0]), str(own[0][1]), *(_points(net) for *_, net in own)] for own in zip(*found, strict=True)]
    head = [escape(group_title(column)), result.population.unit_word, *map(escape, result.against_baseline)]
    return html.table(head, rows, classes="cards")


def _turning(result: PopulationResult) -> str:
    worst = result.worst_paths(result.best, result.baseline)
    has_rates = "rate_mbps" in result.paths.columns and result.paths["rate_mbps"].null_count() == 0
    parts = [_turning_figure(result)] if has_rates else []
    shown = [n for n in worst.columns if n not in ("path", "unit", "weight", "net", "name")]
    head = ["path", f"{escape(result.best)} better minus worse", *(escape(_column_title(n)) for n in shown)]
    rows = [
        [escape(str(row["name"])), signed(100 * row["net"]), *(escape(_cell(row[n])) for n in shown)]
        for row in worst.iter_rows(named=True)
    ]
    body = html.figures(parts) + (html.table(head, rows, classes="cards") if rows else "<p>There is no such path.</p>")
    note = f"Paths on which {result.baseline} serves more viewers better; the metrics are {result.best} minus {result.baseline}."
    return html.section("Where the answer reverses", body, note=note)


def _turning_figure(result: PopulationResult) -> str:
    """Each path's net benefit of the best sender over the baseline against its mean rate."""
    scores = result.judged(result.best, result.baseline).score
    means = (
        result.keys.head(len(scores))
        .with_columns(net=scores.astype(float))
        .group_by("path", maintain_order=True)
        .mean()
    )
    frame = result.paths.join(means.select("path", "net"), on="path", how="left", maintain_order="left")
    rate, net = frame["rate_mbps"].to_numpy(), 100 * frame["net"].to_numpy()
    kinds = (
        (net > 0, "more served better", _HELPED),
        (net < 0, "more served worse", _HARMED),
        (net == 0, "as many", None),
    )
    series = [
        {
            "name": name,
            "place": place,
            "points": [[float(a), float(b), None, None] for a, b in zip(rate[wanted], net[wanted], strict=True)],
            "isLine": False,
            "isHollow": place is None,
            "names": [f"path {path}" for path in frame.filter(wanted)["path"].to_list()],
        }
        for wanted, name, place in kinds
        if wanted.any()
    ]
    is_log = bool(rate.min() > 0 and rate.max() > _LOG_FROM * rate.min())
    y = {
        "label": f"{result.best} better minus worse",
        "unit": "points",
        "range": [-108, 108],
        "ticks": [-100, -50, 0, 50, 100],
    }
    x = {"label": "mean rate of the path", "unit": "Mbit/s", "isLog": is_log}
    title = f"{result.best} against {result.baseline}, by the path's rate"
    return component("plane", title, {"x": x, "y": y, "spread": "interval", "series": series})


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
    note = (
        "Mean over viewers, its 95 % interval over links or users, and below these the median and the 95th percentile."
    )
    return html.section("All senders", html.table(head, rows, classes="cards"), note=note)


def _mean_cell(result: PopulationResult, sender: str, name: str) -> str:
    mean, bands = result.mean(sender, name), result.quantiles(sender, name)
    if mean is None or bands is None:
        return "–"
    value, low, high = map(format_value, (mean.value, mean.low, mean.high))
    interval = f"{low} to {high}" if math.isfinite(mean.high) else "no interval"
    middle, most = (format_value(float(bands[0][at])) for at in (0, 2))
    return f"{value}<br><small>{interval}<br>{middle}; {most}</small>"


def _manifest(result: PopulationResult) -> str:
    stored = {**result.manifest, "digest": result.digest}
    stored["scenario"] = "in population.json"
    body = html.details("Population, versions, digest", html.document(stored))
    return html.section("How to reproduce this", body)
