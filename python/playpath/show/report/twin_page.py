"""The page of a twin run: both worlds side by side."""

from collections.abc import Sequence
from html import escape

from playpath.base.metrics import format_value, metric
from playpath.judge.stats import Summary
from playpath.real.twin import SHARES, MetricTwin, Twin
from playpath.results.comparison import format_summary
from playpath.show.report import html
from playpath.show.report.component import colour_place, component

_FIGURES = ("stall_time_s", "discarded_pictures", "goodput_mbps", "mean_rtt_ms", "retransmitted_packets")


def twin_page(result: Twin) -> str:
    sections = [
        _head(result), _figures(result), _pairs(result), _metrics(result), _cross_traffic(result), _manifest(result),
    ]  # fmt: skip
    return html.page(f"{result.sim.scenario.name}: simulator and {result.kernel.world}", sections)


def _head(result: Twin) -> str:
    scenario = result.sim.scenario
    state = "decided" if result.ranking_verdict == "alike" else "undecided"
    lead = f"<p class='lead'>{escape(scenario.description)}</p>" if scenario.description else ""
    seeds = len(result.seeds)
    rows = "groups of traffic" if result.judges_traffic else "senders"
    more = f", {len(result.sim.seeds)} in the simulator" if len(result.sim.seeds) > seeds else ""
    facts = f"{len(result.senders)} {rows}, {seeds} seed{'s' if seeds > 1 else ''} each, in both worlds{more}"
    notes = [*result.left_out.values(), *result.kernel.warnings]
    listed = "".join(f"<li>{escape(text)}</li>" for text in notes)
    warnings = f"<details class='warnings'><summary>Warnings</summary><ul>{listed}</ul></details>" if notes else ""
    return (
        f"<header><p class='kicker'>playpath twin</p><h1>{escape(scenario.name)}</h1>{lead}"
        f"<p class='verdict {state}'>{escape(result.sentence)}</p><p class='note'>{facts}</p></header>{warnings}"
    )


def _figures(result: Twin) -> str:
    parts = [_pair_figure(result, name) for name in _FIGURES if result.of(name)]
    note = (
        f"Open circle: simulator; filled square: {result.kernel.world}; both at medians; whiskers: their 95 % intervals; on the right "
        "the verdict."
    )
    if result.judges_traffic:
        note += " A group of traffic is shown by the mean of its flows."
    return html.section("Both worlds", html.figures(parts), note=note)


def _pair_figure(result: Twin, name: str) -> str:
    """A metric in both worlds, one row for each sender."""
    found = result.of(name)
    senders = list(dict.fromkeys([*result.senders, *(row.sender for row in found)]))
    entry = metric(name)
    rows = [
        {
            "name": row.sender,
            "place": colour_place(senders, row.sender),
            **_measured(row.sim),
            "seeds": [],
            "second": None if row.kernel is None else _measured(row.kernel),
            "verdict": row.verdict,
            "lines": [
                f"{row.sender}: {row.verdict}",
                html.typeset(f"simulator {format_summary(row.sim)} {entry.unit}"),
                html.typeset(f"{result.kernel.world} {format_summary(row.kernel)} {entry.unit}"),
            ],
        }
        for row in found
    ]
    given = {"unit": entry.unit, "kind": "pair", "least": entry.least, "of": _what(result), "rows": rows}
    return component("rows", entry.label, {"id": name, **given})


def _measured(found: Summary | None) -> dict[str, object]:
    return {"value": found and found.middle, "ci95": found and found.ci95}


def _what(result: Twin) -> str:
    return "group of traffic" if result.judges_traffic else "sender"


def _pairs(result: Twin) -> str:
    if not result.pairs:
        return ""
    rows = [[f"{escape(p.first)}, {escape(p.second)}", _order(p.sim), _order(p.kernel), p.order] for p in result.pairs]
    what = "groups of traffic" if result.judges_traffic else "senders"
    note = f"The better of each pair of {what}, by {metric(result.criterion).label}, in each world."
    table = html.table(["pair", "simulator", result.kernel.world, "the worlds"], rows, classes="cards")
    return html.section(f"Ranking: {result.ranking_verdict}", html.details("All pairs", table), note=note)


def _order(better: str | None) -> str:
    return "open" if better is None else escape(better) or "alike"


def _metrics(result: Twin) -> str:
    known = {m.metric for m in result.metrics}
    shares = ", ".join(f"{metric(name).label} {100 * share:.0f} %" for name, share in SHARES.items() if name in known)
    note = (
        f"{result.kernel.world.capitalize()} minus simulator, paired by seed. alike: the interval lies within the margin; "
        f"differ: else, and it excludes zero; open: it holds zero. Margins: {shares} of the simulator's mean; else what nobody "
        "would notice."
    )
    return html.section("Every figure", _table(result.metrics, _what(result), result.kernel.world), note=note)


def _cross_traffic(result: Twin) -> str:
    if not result.cross_traffic:
        return ""
    note = "The mean of each group's flows, next to each sender; not counted in the verdict above."
    table = _table(result.cross_traffic, "traffic", result.kernel.world)
    return html.section("Cross traffic", html.details("Every figure of the traffic", table), note=note)


def _table(rows: Sequence[MetricTwin], what: str, world: str) -> str:
    head = [what, "metric", "simulator", world, "difference", "95 % interval", "margin", "verdict"]
    return html.table(head, [_row(m) for m in rows], classes="cards")


def _row(found: MetricTwin) -> list[str]:
    entry = metric(found.metric)
    interval = "–" if found.ci95 is None else f"{format_value(found.ci95[0])} to {format_value(found.ci95[1])}"
    cells = [format_summary(found.sim), format_summary(found.kernel), format_value(found.mean), interval]
    return [
        escape(found.sender),
        escape(entry.axis),
        *map(escape, cells),
        f"± {format_value(found.margin)}",
        found.verdict,
    ]


def _manifest(result: Twin) -> str:
    return html.section("What it depends on", html.details("Manifest", html.document(result.kernel.manifest)))
