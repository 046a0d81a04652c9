"""Figures of a sweep: who wins where, and how a metric responds to a setting."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes

from playpath.base.metrics import format_value, metric
from playpath.base.tabular import Named
from playpath.judge import stats
from playpath.plots.style import INK, MUTED, PAPER, SenderStyle, dress, legend, own_axes, sender_styles

if TYPE_CHECKING:
    from playpath.sweep import SweepResult
    from playpath.sweep.design import Point

_NUMBER = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


def winner_map(result: SweepResult, x: str, y: str, ax: Axes | None = None, *, where: Point | None = None) -> Axes:
    """Who wins at each point of two settings: colour and hatch of the winner, its name, and by how much.

    Filled: a win that the viewer feels. Outlined: the viewer feels none, the winner costs the network least. Pale with a
    question mark: undecided. A name in brackets: nothing is random there, one run tells all.

    Parameters
    ----------
    result : SweepResult
        Of a grid.
    x, y : str
        Settings of the design.
    ax : matplotlib.axes.Axes, optional
    where : dict, optional
        Values of the other settings; by default all points are drawn, the last one on top.
    """
    ax = own_axes(ax, 3.4)
    decisions = filtered(result.decisions, where)
    columns, rows = levels(decisions, x), levels(decisions, y)
    styles = sender_styles(result.base.senders)
    for row in decisions.iter_rows(named=True):
        _tile(ax, columns.index(row[x]), rows.index(row[y]), row, styles[row["best"]])
    ax.set_xticks(range(len(columns)), [str(v) for v in columns])
    ax.set_yticks(range(len(rows)), [str(v) for v in rows])
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(-0.5, len(rows) - 0.5)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    dress(ax)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    return ax


def _tile(ax: Axes, x: int, y: int, row: Named, style: SenderStyle) -> None:
    is_felt = row["is_decided"] and row["level"] == "viewer"
    if row["is_decided"] and not is_felt:
        ax.bar(x, 0.88, 0.88, bottom=y - 0.44, color=PAPER, edgecolor=style.colour, lw=1.6)
    else:
        strength = 0.75 if is_felt else 0.25
        ax.bar(
            x, 0.94, 0.94, bottom=y - 0.47, color=style.colour, alpha=strength, hatch=style.hatch, edgecolor=PAPER, lw=0
        )
    others = len(row["winners"]) - 1
    name = row["best"] if others == 0 else f"{row['best']} + {others} alike"
    name = name if row["is_random"] else f"({name})"
    name += "" if row["is_decided"] else " ?"
    gap = f"\n{_gap(row)}" if row["difference"] else ""
    ax.text(x, y, name + gap, ha="center", va="center", fontsize=7.5, color=INK,
            bbox={"boxstyle": "round,pad=0.15", "fc": PAPER, "ec": "none", "alpha": 0.85})  # fmt: skip


def _gap(row: Named) -> str:
    unit = metric(row["criterion"]).unit
    return f"by {format_value(abs(row['difference']), 2)} {unit}".strip()


def winner_points(result: SweepResult, x: str, y: str, ax: Axes | None = None) -> Axes:
    """Who wins at each drawn point of two settings: marker of the winner, hollow where no win is decided that the viewer feels."""
    ax = own_axes(ax, 3.4)
    styles = sender_styles(result.base.senders)
    for sender in result.base.senders:
        for felt, face in ((True, styles[sender].colour), (False, PAPER)):
            is_felt = pl.col("is_decided") & pl.col("level").eq_missing("viewer")
            rows = result.decisions.filter((pl.col("best") == sender) & (is_felt == felt))
            if rows.height:
                ax.plot(
                    [number(v) for v in rows[x]], [number(v) for v in rows[y]], styles[sender].marker, ls="none", ms=6,
                    mfc=face, mec=INK, mew=0.7, label=sender if felt else f"{sender}, not felt or open",
                )  # fmt: skip
    ax.set_xlabel(_axis_label(x, result.decisions[x].to_list()))
    ax.set_ylabel(_axis_label(y, result.decisions[y].to_list()))
    legend(ax, 3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    dress(ax, grid="both")
    return ax


def response(result: SweepResult, name: str, x: str, ax: Axes | None = None, *, where: Point | None = None) -> Axes:
    """A metric of every sender against a setting: means over the seeds, and 95 % intervals of the median.

    Parameters
    ----------
    name : str
        A metric.
    x : str
        A setting of the design.
    where : dict, optional
        Values of the other settings; without it, seeds and other settings are averaged together.
    """
    ax = own_axes(ax, 3.0)
    table = filtered(result.table, where)
    columns = levels(table, x)
    styles = sender_styles(result.base.senders)
    for i, sender in enumerate(result.base.senders):
        part = table.filter(pl.col("sender") == sender)
        summaries = [stats.summarise(part.filter(pl.col(x) == v)[name].drop_nulls().to_list()) for v in columns]
        _curve(ax, [number(v) for v in columns], summaries, styles[sender], sender, i)
    if not (table[name].drop_nulls() != 0).any():
        ax.set_ylim(0, 1)  # nothing but zeros: an axis around them would reach below zero
    numbers = [number(v) for v in columns]
    if min(numbers) > 0 and max(numbers) / min(numbers) >= 20:
        ax.set_xscale("log")
    ax.set_xticks(numbers, [_bare(v) for v in columns])
    ax.minorticks_off()
    ax.set_xlabel(_axis_label(x, columns))
    ax.set_ylabel(metric(name).axis)
    legend(ax, 3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    dress(ax, grid="both")
    return ax


def _curve(
    ax: Axes, x: list[float], summaries: Sequence[stats.Summary | None], style: SenderStyle, label: str, index: int
) -> None:
    points = [(a, s) for a, s in zip(x, summaries, strict=True) if s is not None]
    means = [s.mean for _, s in points]
    ends = [s.ci95 or (s.mean, s.mean) for _, s in points]
    # The median's interval need not hold the mean: the bar then reaches from one to the other.
    halves = [[max(0.0, m - low) for m, (low, _) in zip(means, ends, strict=True)],
              [max(0.0, high - m) for m, (_, high) in zip(means, ends, strict=True)]]  # fmt: skip
    drawn = [a for a, _ in points]
    ax.errorbar(
        drawn, means, yerr=halves, label=label, zorder=3 + index,
        fmt=style.marker + style.line, color=style.colour, lw=1.2, ms=5, mec=INK, mew=0.6,
        capsize=2.5, elinewidth=0.9, ecolor=MUTED,
    )  # fmt: skip


def filtered(table: pl.DataFrame, where: Point | None) -> pl.DataFrame:
    """The rows with these values of settings."""
    for key, value in (where or {}).items():
        table = table.filter(pl.col(key) == value)
    return table


def levels(table: pl.DataFrame, key: str) -> list[Any]:
    """The values of a setting, in numeric order where they are numbers."""
    found = table[key].unique(maintain_order=True).to_list()
    try:
        return sorted(found, key=number)
    except ValueError:
        return found


def number(value: Any) -> float:
    """The number of a quantity: 50 for `"50 ms"`."""
    if isinstance(value, int | float):
        return float(value)
    found = _NUMBER.match(str(value))
    if found is None:
        raise ValueError(f"'{value}' does not begin with a number")
    return float(found[0])


def is_numeric(table: pl.DataFrame, key: str) -> bool:
    """Whether all values of a setting are quantities of one unit."""
    try:
        for value in table[key].unique().to_list():
            number(value)
    except ValueError:
        return False
    return len({_unit(v) for v in table[key].unique().to_list()}) == 1


def _unit(value: Any) -> str:
    return "" if isinstance(value, int | float) else _NUMBER.sub("", str(value), count=1).strip()


def _bare(value: Any) -> str:
    found = _NUMBER.match(str(value))
    return found[0] if found else str(value)


def _axis_label(key: str, values: Sequence[Any]) -> str:
    unit = _unit(values[0]) if values else ""
    return f"{key} ({unit})" if unit else key
