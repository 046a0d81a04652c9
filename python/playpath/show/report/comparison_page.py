"""The page of a comparison."""

import json
from collections.abc import Mapping
from html import escape

import polars as pl

from playpath.base.manifest import again
from playpath.base.metrics import BULK_CRITERIA, NETWORK_CRITERIA, format_more_runs, format_value, metric
from playpath.judge.ranking import Difference, is_clear
from playpath.judge.stats import MIN_FOR_INTERVAL
from playpath.results.comparison import Comparison, format_summary
from playpath.results.packets import Window
from playpath.results.paths import subflows
from playpath.show.report import html
from playpath.show.report.component import swatch
from playpath.show.report.effects_section import effects_section
from playpath.show.report.paths_section import paths_section
from playpath.show.report.rows import differences_figure, values_figure
from playpath.show.report.sessions import sessions_section

_NETWORK = ("goodput_mbps", "retransmitted_packets", "mean_rtt_ms", "mean_queue_packets")
_MAX_VIEWER_FIGURES = 4
_MAX_ROWS = 200


def comparison_page(result: Comparison, window: Window | None = None) -> str:
    """The page as HTML; `window` (begin and end in seconds) selects the part that is shown packet by packet."""
    sections = [
        _head(result), _ranking(result), effects_section(result.effects, "seed"), _choices(result), _failures(result),
        _timelines(result, window),
        _viewer_figures(result), _causes(result), _sensitivity(result), _differences(result), _paths(result, window),
        _network_figures(result), _costs(result), _flows(result), _all_metrics(result), _manifest(result),
    ]  # fmt: skip
    return html.page(f"{result.scenario.name}: which {_what(result)} keeps the video playing?", sections)


def _what(result: Comparison) -> str:
    """The word for what is compared."""
    return "choice" if result.scenario.choices else "sender"


def _head(result: Comparison) -> str:
    state = "decided" if result.decision.is_decided and len(result.seeds) > 1 else "undecided"
    described = f"<p class='lead'>{escape(result.scenario.description)}</p>" if result.scenario.description else ""
    warnings = "".join(f"<li>{html.prose(text)}</li>" for text in result.warnings)
    listed = f"<details class='warnings' open><summary>Warnings</summary><ul>{warnings}</ul></details>"
    rests_on = f"<p class='note'>{escape(result.verdict)}</p>" if result.verdict != result.headline else ""
    fewer = "".join(f", {sender} stopped after {count}" for sender, count in result.left.items())
    raced = "" if result.most is None else f", a race of {result.table.height} sessions, at most {result.most} seeds"
    played = f"{len(result.senders)} {_what(result)}s, {len(result.seeds)} seeds each{escape(fewer)}{raced}"
    facts = f"{played}, world {escape(result.world)}"
    return (
        f"<header><p class='kicker'>playpath compare</p><h1>{escape(result.scenario.name)}</h1>{described}"
        f"<p class='verdict {state}'>{escape(result.headline)}</p>{rests_on}<p class='note'>{facts}</p></header>"
        + (listed if warnings else "")
    )


def _ranking(result: Comparison) -> str:
    names = [n for n in result.shown_criteria if n not in _NETWORK] or result.shown_criteria
    network = [n for n in _NETWORK[:-1] if n in result.metric_names and n not in names]
    columns = [*names, *network]
    head = [_what(result), "against the best", *(_column_head(n) for n in columns)]
    rows = [
        [_sender(result, s), escape(against_best(result, s)), *(_mean(result, s, n) for n in columns)]
        for s in result.ranking
    ]
    shown = (
        "The median run, and below it its 95 % interval, with the mean if it lies outside."
        if _has_intervals(result)
        else f"The mean of the runs: fewer than {MIN_FOR_INTERVAL} have no interval."
    )
    note = f"Best first. {shown} {_rule(result)}"
    return html.section("Ranking", html.table(head, rows, classes="ranking cards"), note=note, anchor="ranking")


def _rule(result: Comparison) -> str:
    """How the criteria decide."""
    if result.decision.weighed:
        return (
            "Picture with switches of quality, stalls with discarded frames, and the start are weighed against each other; the "
            f"criteria count, from left to right, only between {_what(result)}s that are alike for all who weigh."
        )
    return (
        f"Criteria from left to right, most important first; the next one counts only between {_what(result)}s that are alike in "
        "the one before."
    )


def _choices(result: Comparison) -> str:
    """What each name stands for, if choices other than senders are compared."""
    rows = [
        [_sender(result, name), escape(choice.sender), escape(_written(choice.settings))]
        for name, choice in result.scenario.choices.items()
    ]
    table = html.table(["choice", "sender", "settings"], rows, classes="cards words")
    return html.section("What each name stands for", table, anchor="choices") if rows else ""


def _written(settings: Mapping[str, object]) -> str:
    """Settings as in a scenario: `path.queue = "pie", player.buffer = "2 s"`."""
    return ", ".join(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())


def _failures(result: Comparison) -> str:
    """The failed sessions of a real-time world, with reasons."""
    if not result.failures:
        return ""
    rows = [[escape(text) for text in row] for row in result.failed_rows]
    note = "They are not in the ranking, nor are the other senders' sessions of the same seed."
    return html.section("Failed sessions", html.table(["sender", "seeds", "reason"], rows), note=note, anchor="failed")


def against_best(result: Comparison, sender: str) -> str:
    """A sender's standing against the best, in a few words."""
    decision = result.decision
    if sender == decision.ranking[0]:
        return "best" if decision.is_decided else "leads"
    word = decision.standing(sender)
    if sender in decision.tied:
        return word
    found = result.ranker.difference(sender, decision.against[sender], decision.deciding[sender])
    if found is None:
        return word
    runs = decision.more_runs_of.get(sender)
    more = f"; about {format_more_runs(runs)}" if runs else ""
    return f"{word}: {metric(found.metric).label} {_signed(found)}{more}"


def _has_intervals(result: Comparison) -> bool:
    return len(result.seeds) >= MIN_FOR_INTERVAL


def _marked(result: Comparison) -> str:
    """The meaning of a figure's marks."""
    return "medians; whiskers: their 95 % intervals" if _has_intervals(result) else "means"


def _viewer_figures(result: Comparison) -> str:
    names = _viewer_criteria(result)[:_MAX_VIEWER_FIGURES]
    if not names:
        return ""
    note = f"Bars: {_marked(result)}; dots below: single seeds."
    parts = [values_figure(result, name, "bar") for name in names]
    return html.section("What the viewer sees", html.figures(parts), note=note, anchor="viewer")


def _viewer_criteria(result: Comparison) -> list[str]:
    """The viewer's criteria, for figures; whether a video was shown at all is in the table."""
    return [n for n in result.shown_criteria if n not in NETWORK_CRITERIA and n not in (*BULK_CRITERIA, "played_s")]


def _differences(result: Comparison) -> str:
    if len(result.ranking) < 2 or len(result.seeds) < 2:
        return ""
    names = (_viewer_criteria(result) or result.shown_criteria)[:_MAX_VIEWER_FIGURES]
    parts = [differences_figure(result, name) for name in names]
    head = [_what(result), *(_column_head(n) for n in names)]
    rows = [[_sender(result, s), *(_difference_cell(result, s, n) for n in names)] for s in result.ranking[1:]]
    numbers = html.details("Differences as numbers", html.table(head, rows, classes="cards"))
    note = (
        f"Each sender minus {result.ranking[0]}, seed by seed, so that randomness common to both cancels. Markers: {_marked(result)}; "
        "filled if the difference is proven, half filled (°) if its interval is beyond the band but a proof needs more runs. Grey "
        "band: too small to notice."
    )
    return html.section("Differences against the best", html.figures(parts) + numbers, note=note, anchor="differences")


def _timelines(result: Comparison, window: Window | None) -> str:
    _, name = result.typical_seed
    why = "" if name is None else f", the one whose {metric(name).label}, summed over the senders, is the median"
    return sessions_section(
        result.timelines,
        result.ranking,
        result.scenario.resolved,
        why=why,
        bands=result.bands,
        seeds=len(result.seeds),
        window=window,
    )


def _paths(result: Comparison, window: Window | None) -> str:
    """The paths of the best and the last sender, if there are several paths."""
    if len(result.scenario.resolved.get("path") or []) < 2:
        return ""
    traced = [result.timelines[name] for name in result.ranking if name in result.timelines]
    several = [session for session in traced if subflows(session)]
    return paths_section(several if len(several) < 3 else [several[0], several[-1]], window)


def _network_figures(result: Comparison) -> str:
    parts = [values_figure(result, name, "dot") for name in _NETWORK if name in result.metric_names]
    note = f"Discs: {_marked(result)}; dots below: single seeds. The axes need not begin at zero."
    return html.section("What it costs the network", html.figures(parts), note=note, anchor="network") if parts else ""


def _costs(result: Comparison) -> str:
    """The cost of an hour of video, and how the other flows on the path fare."""
    neighbours = {found.sender: found for found in result.neighbours}
    head = [_what(result), "sent<br><small>GB</small>", "sent again<br><small>GB</small>"]
    head += (
        ["others: goodput<br><small>Mbit/s</small>", "others: packets lost<br><small>%</small>"] if neighbours else []
    )
    rows = []
    for cost in result.costs():
        row = [_sender(result, cost.sender), format_value(cost.sent_gb), format_value(cost.retransmitted_gb)]
        if neighbours:
            other = neighbours.get(cost.sender)
            row += (
                ["–", "–"]
                if other is None
                else [format_value(other.goodput_mbps), format_value(100 * other.loss_ratio)]
            )
        rows.append(row)
    note = "Bytes that leave the server for each hour of video shown, and those of them that were retransmitted. 1 GB is 10^9 bytes."
    table = html.table(head, rows, classes="cards")
    return html.section("What an hour of video costs", table, note=note, anchor="costs") if rows else ""


def _causes(result: Comparison) -> str:
    """What was measured on the path under each sender, one line each."""
    rows = [[_sender(result, cause.sender), escape(cause.sentence)] for cause in result.causes]
    note = "Means over all sessions. Whether one of these limits the rate, only a comparison without it shows."
    table = html.table([_what(result), "measured"], rows, classes="cards words")
    return html.section("Measured on the path", table, note=note, anchor="causes") if rows else ""


def _sensitivity(result: Comparison) -> str:
    """The answer for variations of the path."""
    found = result.sensitivity
    if found is None:
        return ""
    rows = [
        [
            escape(t)
            for t in (
                shift.setting,
                shift.was,
                shift.now,
                shift.leads,
                found.difference_text(shift),
                format_value(shift.p, 2),
            )
        ]
        for shift in found.shifts
    ]
    entry = metric(found.metric)
    head = [
        "setting",
        "from",
        "to",
        "leads",
        f"{escape(entry.label)}, {escape(found.rival)} minus {escape(found.best)}",
        "p of no change",
    ]
    note = f"{found.sentence} One setting at a time, {found.seeds} seeds each, the same as here."
    return html.section(
        "What the answer depends on", html.table(head, rows, classes="cards"), note=note, anchor="sensitivity"
    )


def _flows(result: Comparison) -> str:
    """Goodput of every flow and use of every link, averaged over the seeds."""
    parts = []
    wanted = ("goodput_mbps", "retransmitted_packets", "mean_rtt_ms", "min_rtt_ms")
    parts.append(_long_table(result, "flows", wanted))
    wanted = ("utilisation", "mean_queue_packets", "sd_queue_packets", "offered_packets")
    parts.append(_long_table(result, "links", wanted))
    body = "".join(part for part in parts if part)
    return html.section("Flows and links", html.details("Means of every flow and link", body)) if body else ""


def _long_table(result: Comparison, part: str, wanted: tuple[str, ...]) -> str:
    frame = result.flows if part == "flows" else result.links
    names = [name for name in wanted if name in frame.columns]
    if frame.is_empty() or not names:
        return ""
    means = frame.group_by("sender", "name", maintain_order=True).agg(pl.col(names).mean())
    rows = [
        [escape(row["sender"]), escape(row["name"]), *(format_value(row[name]) for name in names)]
        for row in means.head(_MAX_ROWS).iter_rows(named=True)
    ]
    head = ["sender", part.removesuffix("s"), *(_column_head(n) for n in names)]
    return html.table(head, rows, classes="cards")


def _all_metrics(result: Comparison) -> str:
    head = ["metric", *(escape(s) for s in result.ranking)]
    rows = [
        [f"{escape(metric(n).axis)}<br><small>{escape(n)}</small>", *(_mean(result, s, n) for s in result.ranking)]
        for n in result.metric_names
    ]
    return html.section("All figures", html.details("Every metric", html.table(head, rows, classes="cards")))


def _manifest(result: Comparison) -> str:
    stored = dict(result.manifest)
    scenario = stored.pop("scenario")
    stored["digest"] = result.digest
    body = (
        f"<p>{again(result.world)}</p>"
        + html.details("Versions, seeds, digest", html.document(stored))
        + html.details("Resolved scenario, every default written out", html.document(scenario))
    )
    return html.section("How to reproduce this", body, anchor="manifest")


def _sender(result: Comparison, sender: str) -> str:
    place = result.decision.place(sender) if sender in result.ranking else "–"
    # All of its sessions may have failed.
    disc = swatch(result.senders, sender) if sender in result.senders else ""
    return f"<span class='rank'>{place}</span>{disc}{escape(sender)}"


def _column_head(name: str) -> str:
    entry = metric(name)
    unit = f"<br><small>{escape(entry.unit)}</small>" if entry.unit else ""
    return f"{escape(entry.label)}{unit}"


def _mean(result: Comparison, sender: str, name: str) -> str:
    """The median, and below it its interval."""
    median, bracket, interval = escape(format_summary(result.summary(sender, name))).partition(" (")
    return f"{median}<br><small>{interval.removesuffix(')')}</small>" if bracket else median


def _difference_cell(result: Comparison, sender: str, name: str) -> str:
    found = result.ranker.difference(sender, result.ranking[0], name)
    if found is None:
        return "–"
    margin = result.ranker.margin(sender, result.ranking[0], name)
    star = " <abbr title='proven'>*</abbr>" if found.significant else ""
    star = " <abbr title='needs more runs'>°</abbr>" if is_clear(found, margin) else star
    if found.ci95 is None:
        return f"{_signed(found)}{star}"
    low, high = (format_value(x) for x in found.ci95)
    return f"{_signed(found)}{star}<br><small>{low} to {high}</small>"


def _signed(found: Difference) -> str:
    entry = metric(found.metric)
    figure = format_value(found.middle)
    sign = "+" if found.middle > 0 and figure != "0" else ""
    return f"{sign}{figure} {entry.unit}".strip()
