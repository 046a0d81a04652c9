"""The figures that every study has: which parameters its claims depend on, and which sender is best today.

They are grids of cells that can be read without colour.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from playpath.base.metrics import metric
from playpath.papers.joint_space import Joint
from playpath.papers.modern_senders import Scene
from playpath.papers.study import CurrentSenders
from playpath.plots import INK
from playpath.plots.style import GRID, MUTED, figure

Colour = str | tuple[float, float, float]

# Text colours on cells whose fill does not change in dark mode; INK and white would change with the page.
_ON_LIGHT, _ON_DARK = "#24292e", "#fffffe"

# Fill, text colour, sign: dark, middle and light, also when printed in grey.
_VERDICTS = {
    "reproduced": ("#0067a5", _ON_DARK, "\N{CHECK MARK}"),
    "reproduced by count only": ("#3385b7", _ON_DARK, "c"),
    "rests on our guard": ("#80b3d2", _ON_LIGHT, "g"),
    "nothing to test": ("#e3e3e3", _ON_LIGHT, "="),
    "undecided": ("#bfd9e8", _ON_LIGHT, "?"),
    "not reproduced by count only": ("#ffe0d1", "#b84700", "c"),
    "not reproduced": ("#fff3ee", "#b84700", "\N{BALLOT X}"),
}
_STANDINGS = {
    "best": ("#0067a5", _ON_DARK, ""),
    "alike": ("#80b3d2", _ON_LIGHT, "="),
    "open": ("#d9e8f1", _ON_LIGHT, "?"),
    "behind": ("#ffffff", INK, ""),
}


def joint_grid(found: Joint) -> Figure:
    """Claims down: the share of the joint space in which each reproduces, its verdicts at the base and the best set, and the effects."""
    claims, swept = found.study.claims, found.study.swept
    made, (left, right) = figure(
        3.4 + 0.62 * len(swept), 1.5 + 0.3 * len(claims), ncols=2, width_ratios=(2.2, 0.62 * len(swept))
    )
    base = {claim.claim.id: claim.verdict for claim in found.result.claims}
    best = {} if found.best is None else {claim.claim.id: claim.verdict for claim in found.best.claims}
    for row, claim in enumerate(claims):
        share, low, high = found.share_of(claim.id)
        left.barh(row + 0.5, 100 * share, 0.62, color="#80b3d2", ec=INK, lw=0.6)
        left.plot((100 * low, 100 * high), (row + 0.5,) * 2, "|-", color=INK, lw=1.0, ms=5)
        for x, verdicts in ((108, base), (118, best)):
            if claim.id in verdicts:
                _cell_at(left, x, row, *_VERDICTS[verdicts[claim.id]])
        mains = {e.parameters[0].knob: e.explained for e in found.effects[claim.id] if e.shares}
        for column, parameter in enumerate(swept):
            explained = mains.get(parameter.knob, 0.0)
            fill = (1 - 0.83 * explained**0.5, 1 - 0.64 * explained**0.5, 1 - 0.46 * explained**0.5)
            text = f"{explained:.0%}".rstrip("%") if explained else ""
            _cell(right, column, row, fill, _ON_DARK if explained > 0.35 else _ON_LIGHT, text)
    left.set(xlim=(0, 124), ylim=(len(claims), 0))
    left.set_xticks([0, 50, 100], ["0", "50", "100 %"], fontsize=9)
    for place, name in ((108, "base"), (118, "best set")):
        left.text(place, -0.2, name, rotation=90, ha="center", va="bottom", fontsize=9, color=INK)
    left.set_yticks([row + 0.5 for row in range(len(claims))], [claim.id for claim in claims], fontsize=9)
    left.set_xlabel("of the space reproduce it", fontsize=9, color=INK)
    left.xaxis.set_label_coords(0.4, -0.11 * 8 / len(claims))
    _frame(right, len(swept), len(claims))
    right.set_yticks([])
    right.set_xticks([])
    for column, parameter in enumerate(swept):
        right.text(column + 0.2, -0.2, parameter.name, rotation=32, ha="left", va="bottom", fontsize=9, color=INK)
    right.set_xlabel("explained of where it does (%)", fontsize=9, color=INK)
    for side in ("top", "right"):
        left.spines[side].set_visible(False)
    left.tick_params(length=0, colors=INK)
    _legend(made, [(fill, f"{sign} {name}") for name, (fill, _, sign) in _VERDICTS.items()])
    return made


def _cell_at(ax: Axes, x: float, row: int, fill: str, ink: str, sign: str) -> None:
    ax.add_patch(Rectangle((x - 2, row + 0.1), 9, 0.8, fc=fill, ec=GRID, lw=0.8))
    ax.text(x + 2.5, row + 0.53, sign, ha="center", va="center", fontsize=9, color=ink)


def current_senders_grid(scenes: Sequence[Scene], asked: CurrentSenders) -> Figure:
    """Senders down, scenes across: place, and what the viewer sees."""
    senders = list(dict.fromkeys(sender for scene in scenes for sender in scene.ranker.senders))
    width = 2.1
    made, ax = figure(1.6 + width * len(scenes), 1.2 + 0.42 * len(senders))
    for column, scene in enumerate(scenes):
        for row, sender in enumerate(senders):
            if sender not in scene.ranker.values:
                continue
            fill, ink, sign = _STANDINGS[scene.standing(sender)]
            ax.add_patch(Rectangle((column, row), 1, 1, fc=fill, ec=GRID, lw=0.8))
            place = f"{scene.decision.ranks[sender]}{sign}"
            ax.text(column + 0.05, row + 0.5, place, va="center", fontsize=10, fontweight="bold", color=ink)
            text = "\n".join(scene.figures(sender, name) for name in asked.shown)
            ax.text(column + 0.96, row + 0.5, text, va="center", ha="right", fontsize=7.5, color=ink, linespacing=1.15)
    _frame(ax, len(scenes), len(senders))
    ax.xaxis.tick_top()
    ax.set_xticks([c + 0.5 for c in range(len(scenes))], [_wrapped(s.name) for s in scenes], fontsize=9)
    ax.set_yticks([r + 0.5 for r in range(len(senders))], senders, fontsize=9)
    for label in ax.get_yticklabels():
        label.set_fontstyle("italic" if label.get_text() in asked.ours else "normal")
    shown = " and ".join(metric(name).axis for name in asked.shown)
    made.supxlabel(
        f"place, {shown}: median (95 % interval), and the mean where it is unlike; italic: not in the paper",
        fontsize=8,
        color=INK,
    )
    says = {"best": "best, or leads", "alike": "= alike for the viewer", "open": "? undecided", "behind": "behind"}
    _legend(made, [(fill, says[name]) for name, (fill, _, _) in _STANDINGS.items()])
    return made


def _cell(ax: Axes, x: float, y: float, fill: Colour, ink: str, sign: str) -> None:
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
        ncols=min(len(entries), 3),
        fontsize=8.5,
        frameon=False,
    )


def _wrapped(name: str) -> str:
    """A scene's name over two lines."""
    first, _, rest = name.partition(", ")
    return f"{first}\n{rest}" if rest else name
