"""Draws the figures of a study for a column width of 8.5 cm, with letters of at least 6 points.

Nothing depends on colour alone: bars have hatches, lines have markers and dashes, traces differ in dashes and weight.
"""

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from playpath.judge import stats
from playpath.papers.claims import select
from playpath.papers.runner import Ran
from playpath.papers.study import FigureSpec, Labels, Panel
from playpath.plots import INK, SenderStyle, sender_styles
from playpath.plots.style import COLOURS, dress, figure

_WIDTH, _HEIGHT, _ACROSS = 5.0, 1.9, 2
_LEGEND_COLUMNS = 4
_DASHES: Any = ("-", "--", ":", "-.")
_OVERLAID = (INK, *COLOURS[:3])
_LEGIBLE = 0.03
"""A bar lower than this share of its axis has its value written above it."""
_TRACE_LINES = (("-", INK, 1.0), ("-", COLOURS[0], 0.7), (":", COLOURS[1], 1.0))


def draw(ran: Ran, spec: FigureSpec) -> Figure:
    """Draw a figure of the study's grid, on the paper's axes."""
    if spec.kind == "traces":
        return _traces(ran, spec)
    rows = select(ran.table, spec.where)
    across = min(_ACROSS, len(spec.panels))
    down = -(-len(spec.panels) // across)
    made, axes = figure(_WIDTH, 0.3 + _HEIGHT * down, nrows=down, ncols=across, squeeze=False)
    for ax in axes.flat[len(spec.panels) :]:
        ax.set_visible(False)
    for panel, ax in zip(spec.panels, axes.flat, strict=False):
        (_bars if spec.kind == "bars" else _lines)(rows, spec, panel, ax)
        _scale(ax, panel)
    if axes.flat[0].get_legend_handles_labels()[0]:
        _legend(made, axes.flat[0], "outside upper left")
    return made


def _scale(ax: Axes, panel: Panel) -> None:
    top = ax.get_ylim()[1]
    if panel.ticks:
        ax.set_ylim(0, panel.ticks[-1])
        ax.set_yticks(panel.ticks)
    elif top < 0.1:  # all values are zero: avoid an axis of hundredths
        ax.set_ylim(0, 1)
    ax.set_ylabel(fill(panel.label, 21))


def _groups(rows: pl.DataFrame, column: str) -> list[Any]:
    return rows[column].unique(maintain_order=True).drop_nulls().to_list()


def _styles(names: Sequence[Any]) -> dict[Any, SenderStyle]:
    return dict(zip(names, sender_styles([str(n) for n in names]).values(), strict=True))


def _bars(rows: pl.DataFrame, spec: FigureSpec, panel: Panel, ax: Axes) -> None:
    places, groups = _groups(rows, spec.x), _groups(rows, spec.group)
    styles = _styles(groups)
    is_grouped = spec.x != spec.group
    width = 0.8 / len(groups) if is_grouped else 0.6
    for i, group in enumerate(groups):
        for j, place in enumerate(places):
            if not is_grouped and place != group:
                continue
            values = _values(rows, {spec.x: place, spec.group: group}, panel.metric)
            mean = stats.mean(values)
            if mean is None:
                continue
            x = j + (i - (len(groups) - 1) / 2) * width if is_grouped else j
            style = styles[group]
            label = str(group) if is_grouped and j == 0 else None
            ax.bar(x, mean, width, color=style.colour, hatch=style.hatch, edgecolor=INK, linewidth=0.6, label=label)
            _whisker(ax, x, values, spec)
            top = panel.ticks[-1] if panel.ticks else math.inf
            if mean > top:
                _write(ax, x, top, mean)
            elif max(values) == 0 or (panel.ticks and mean < _LEGIBLE * top):
                # A bar of no height would look like a missing one.
                _write(ax, x, mean, mean)
    ax.set_xticks(range(len(places)), [_text(p) for p in places])
    if len(places) > 3:
        ax.tick_params(axis="x", rotation=40)
        for tick in ax.get_xticklabels():
            tick.set(ha="right", rotation_mode="anchor")
    ax.set_xlabel(spec.x_label)
    ax.set_ylim(bottom=0)
    dress(ax, grid="y")


def _lines(rows: pl.DataFrame, spec: FigureSpec, panel: Panel, ax: Axes) -> None:
    groups = _groups(rows, spec.group)
    styles = _styles(groups)
    places = _groups(rows, spec.x)
    is_numeric = all(isinstance(p, int | float) for p in places)
    places = sorted(places) if is_numeric else places
    at = {place: place if is_numeric else i for i, place in enumerate(places)}
    for i, group in enumerate(groups):
        found = [(at[p], _values(rows, {spec.x: p, spec.group: group}, panel.metric)) for p in places]
        drawn = [(x, values, mean) for x, values in found if (mean := stats.mean(values)) is not None]
        style = styles[group]
        xs, means = [x for x, _, _ in drawn], [mean for _, _, mean in drawn]
        ax.plot(
            xs, means, _DASHES[i % 4], marker=style.marker, ms=5, lw=1.2, color=style.colour, mec=INK, label=str(group)
        )
        for x, values, _ in drawn:
            _whisker(ax, x, values, spec)
    if is_numeric and min(places) > 0 and max(places) > 20 * min(places):
        ax.set_xscale("log", base=2)
    ax.set_xticks(list(at.values()), [_text(p) for p in places], rotation=60 if len(places) > 5 else 0)
    ax.minorticks_off()
    ax.set_xlabel(spec.x_label or spec.x)
    ax.set_ylim(bottom=0)
    dress(ax, grid="both")


def _values(rows: pl.DataFrame, where: Labels, name: str) -> list[float]:
    return select(rows, where)[name].drop_nulls().to_list() if name in rows.columns else []


def _write(ax: Axes, x: float, y: float, value: float) -> None:
    ax.annotate(f"{value:.0f}", (x, y), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8, color=INK)


def _whisker(ax: Axes, x: float, values: list[float], spec: FigureSpec) -> None:
    """The range, or the interval of the mean that is drawn; without spread only its caps are visible."""
    ends = (min(values), max(values)) if spec.whisker == "range" else stats.mean_interval(values)
    if ends is not None:
        ax.plot((x, x), ends, "_-", color=INK, lw=1.1, ms=6, zorder=5)


def _traces(ran: Ran, spec: FigureSpec) -> Figure:
    """Stacked panels on common axes, one for each case; or all cases in one panel."""
    drawn = [spec.trace] if isinstance(spec.trace, str) else list(spec.trace)
    labelled = [(dict(zip(ran.labels, key, strict=True)), traces) for key, traces in ran.traces.items()]
    wanted = [
        (labels, traces)
        for labels, traces in labelled
        if set(drawn) <= set(traces) and all(labels.get(k) == v for k, v in spec.where.items())
    ]
    if spec.is_overlaid:
        return _overlaid(wanted, drawn[0], spec)
    rows = max(1, len(wanted))
    made, axes = figure(_WIDTH, 0.6 + 1.0 * rows, nrows=rows, sharex=True, squeeze=False)
    for (labels, traces), ax in zip(wanted, axes[:, 0], strict=False):
        for name, (dashes, colour, width) in zip(drawn, _TRACE_LINES, strict=False):
            ax.plot(*_within(traces[name], spec.span), ls=dashes, color=colour, lw=width, label=name)
        ax.set_title(", ".join(str(labels[k]) for k in dict.fromkeys((spec.x, spec.group))), fontsize=9, loc="left")
        _dress_trace(ax)
    if len(drawn) > 1:
        _legend(made, axes[0, 0], "outside upper right")
    axes[-1, 0].set_xlabel(spec.x_label or "time (s)")
    made.supylabel(spec.panels[0].label, fontsize=9, color=INK)
    return made


def _overlaid(wanted: Sequence[tuple[Labels, Any]], name: str, spec: FigureSpec) -> Figure:
    """An axis for each value of x, with a line for each of the group."""
    places = list(dict.fromkeys(labels[spec.x] for labels, _ in wanted))
    groups = list(dict.fromkeys(labels[spec.group] for labels, _ in wanted))
    down = max(1, len(places))
    made, axes = figure(_WIDTH, 2.6 if down == 1 else 0.9 + 0.95 * down, nrows=down, sharex=True, squeeze=False)
    for labels, traces in wanted:
        i, ax = groups.index(labels[spec.group]), axes[places.index(labels[spec.x]), 0]
        style = {"ls": _DASHES[i % 4], "color": _OVERLAID[i % 4], "lw": 1.2, "label": str(groups[i])}
        ax.plot(*_within(traces[name], spec.span), **style)
        if down > 1:
            ax.set_title(spec.place.format(labels[spec.x]), fontsize=9, loc="left", pad=2)
    for ax in axes[:, 0]:
        _dress_trace(ax)
    axes[-1, 0].set_xlabel(spec.x_label or "time (s)")
    made.supylabel(spec.panels[0].label, fontsize=9, color=INK)
    _legend(made, axes[0, 0], "outside upper left")
    return made


def _dress_trace(ax: Axes) -> None:
    ax.set_ylim(bottom=0)
    ax.margins(x=0.005)
    dress(ax, grid="both")


def _legend(made: Figure, ax: Axes, place: Any) -> None:
    handles, names = ax.get_legend_handles_labels()
    made.legend(handles, names, loc=place, ncols=min(len(names), _LEGEND_COLUMNS), fontsize=9, frameon=False)


def _within(
    trace: tuple[list[float], list[float]], span: tuple[float, float] | None
) -> tuple[list[float], list[float]]:
    if span is None:
        return trace
    points = [(x, y) for x, y in zip(*trace, strict=True) if span[0] <= x <= span[1]]
    return [x for x, _ in points], [y for _, y in points]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
