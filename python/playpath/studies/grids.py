"""Two figures that every study has, for the width of a page: what its claims hang on, and who is best today.

Grids of cells that read without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from playpath.metrics import metric
from playpath.plots import INK
from playpath.plots.style import GRID, MUTED, figure
from playpath.studies.sensitivity import Sensitivity
from playpath.studies.study import Today, Unstated
from playpath.studies.today import Scene

# Fill, ink on it, sign: dark, middle and light also in grey.
_VERDICTS = {
    "reproduced": ("#2b5c8a", "white", "\N{CHECK MARK}"),
    "undecided": ("#b8cfe0", INK, "?"),
    "not reproduced": ("#fff3ee", "#a8321e", "\N{BALLOT X}"),
}
_STANDINGS = {
    "best": ("#2b5c8a", "white", ""),
    "alike": ("#7fa6c9", INK, "="),
    "open": ("#d5e3ee", INK, "?"),
    "behind": ("#ffffff", INK, ""),
}
_CELL, _GAP, _ROW = 0.34, 0.5, 0.26
_MOST_COLUMNS = 22
_SLANT = 2.4  # what a slanted title needs beyond the last column


def sensitivity_grid(found: Sensitivity) -> Figure:
    """Claims down, the values of each unstated parameter across, in as many rows as a page is narrow; the chosen value is framed."""
    rows: list[list[Unstated]] = [[]]
    for parameter in found.swept:
        if sum(len(u.values) for u in [*rows[-1], parameter]) > _MOST_COLUMNS and rows[-1]:
            rows.append([])
        rows[-1].append(parameter)
    columns = max(sum(len(u.values) for u in row) + _GAP * (len(row) - 1) for row in rows)
    height = 2.0 + _ROW * len(found.study.claims)
    made, axes = figure(1.1 + _CELL * (columns + _SLANT), height * len(rows), nrows=len(rows), squeeze=False)
    for row, ax in zip(rows, axes[:, 0], strict=True):
        _sensitivity_row(found, row, ax, columns)
    _legend(made, [(fill, f"{sign} {name}") for name, (fill, _, sign) in _VERDICTS.items()])
    return made


def _sensitivity_row(found: Sensitivity, parameters: Sequence[Unstated], ax: Axes, width: float) -> None:
    claims = [claim.id for claim in found.study.claims]
    left = 0.0
    ticks: list[tuple[float, str, bool]] = []
    for parameter in parameters:
        for offset, value in enumerate(parameter.values):
            for row, claim in enumerate(claims):
                _cell(ax, left + offset, row, *_VERDICTS[found.verdicts[parameter.knob, value][claim]])
            ticks.append((left + offset + 0.5, _text(value), value == parameter.chosen))
            if value == parameter.chosen:
                ax.add_patch(Rectangle((left + offset, 0), 1, len(claims), fill=False, ec=INK, lw=2.0, zorder=4))
        title = parameter.name + (f" ({parameter.unit})" if parameter.unit else "")
        ax.text(left, -0.25, title, rotation=28, ha="left", va="bottom", fontsize=9, color=INK)
        left += len(parameter.values) + _GAP
    _frame(ax, width + _SLANT, len(claims))
    ax.set_xticks([x for x, _, _ in ticks], [text for _, text, _ in ticks], rotation=90, fontsize=9)
    for label, (_, _, is_chosen) in zip(ax.get_xticklabels(), ticks, strict=True):
        label.set_fontweight("bold" if is_chosen else "normal")
    ax.set_yticks([row + 0.5 for row in range(len(claims))], claims, fontsize=9)


def today_grid(scenes: Sequence[Scene], today: Today) -> Figure:
    """Senders down, scenes across: place, and what the viewer sees."""
    senders = list(dict.fromkeys(sender for scene in scenes for sender in scene.ranker.senders))
    width = 1.3
    made, ax = figure(1.6 + width * len(scenes), 1.2 + 0.42 * len(senders))
    for column, scene in enumerate(scenes):
        for row, sender in enumerate(senders):
            if sender not in scene.ranker.values:
                continue
            fill, ink, sign = _STANDINGS[scene.standing(sender)]
            ax.add_patch(Rectangle((column, row), 1, 1, fc=fill, ec=GRID, lw=0.8))
            place = f"{scene.decision.ranks[sender]}{sign}"
            ax.text(column + 0.05, row + 0.5, place, va="center", fontsize=10, fontweight="bold", color=ink)
            text = "\n".join(scene.figures(sender, name) for name in today.shown)
            ax.text(column + 0.96, row + 0.5, text, va="center", ha="right", fontsize=7.5, color=ink, linespacing=1.15)
    _frame(ax, len(scenes), len(senders))
    ax.xaxis.tick_top()
    ax.set_xticks([c + 0.5 for c in range(len(scenes))], [_wrapped(s.name) for s in scenes], fontsize=9)
    ax.set_yticks([r + 0.5 for r in range(len(senders))], senders, fontsize=9)
    for label in ax.get_yticklabels():
        label.set_fontstyle("italic" if label.get_text() in today.ours else "normal")
    shown = " and ".join(metric(name).axis for name in today.shown)
    made.supxlabel(
        f"place, {shown}; mean (95 % interval of the median); italic: not in the paper", fontsize=8, color=INK
    )
    says = {"best": "best, or leads", "alike": "= alike for the viewer", "open": "? undecided", "behind": "behind"}
    _legend(made, [(fill, says[name]) for name, (fill, _, _) in _STANDINGS.items()])
    return made


def _cell(ax: Axes, x: float, y: float, fill: str, ink: str, sign: str) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, fc=fill, ec=GRID, lw=0.8))
    ax.text(x + 0.5, y + 0.53, sign, ha="center", va="center", fontsize=9, color=ink)


def _frame(ax: Axes, width: float, height: float) -> None:
    ax.set_xlim(-0.05, width + 0.05)
    ax.set_ylim(height + 0.05, -0.05)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0, colors=INK)


def _legend(made: Figure, entries: Sequence[tuple[str, str]]) -> None:
    handles = [Rectangle((0, 0), 1, 1, fc=fill, ec=MUTED, lw=0.8) for fill, _ in entries]
    made.legend(
        handles,
        [text for _, text in entries],
        loc="outside upper left",
        ncols=len(entries),
        fontsize=8.5,
        frameon=False,
    )


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _wrapped(name: str) -> str:
    """A scene's name over two lines."""
    first, _, rest = name.partition(", ")
    return f"{first}\n{rest}" if rest else name
