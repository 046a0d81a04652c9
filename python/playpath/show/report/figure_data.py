"""What a drawn figure shows, as text at places: for tips under the cursor, and as a table to take away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator

from playpath.base.metrics import format_value

_MOST_POINTS = 4000
_POINTS_PER_INCH = 72  # of SVG drawings


@dataclass(frozen=True)
class Mark:
    """Something drawn at a place of an axis pair; `told` is what it is."""

    x: float
    y: float
    told: str
    what: str
    shown: tuple[str, str]


def figure_data(figure: Figure, name: str) -> dict[str, object]:
    """What the report's script asks of a figure that has been laid out.

    Returns
    -------
    dict
        `name`: for files; `points`: `[x, y, text]` in units of the SVG drawing; `table`: rows of text, the head first.
    """
    points: list[tuple[float, float, str]] = []
    table = [["panel", "what", "x", "y"]]
    height = figure.get_figheight() * _POINTS_PER_INCH
    for number, ax in enumerate(a for a in figure.axes if a.get_visible()):
        panel = ax.get_title(loc="left") or ax.get_ylabel() or str(number + 1)
        for mark in _marks(ax):
            x, y = ax.transData.transform((mark.x, mark.y)) * _POINTS_PER_INCH / figure.dpi
            if np.isfinite(x) and np.isfinite(y):
                points.append((round(float(x), 1), round(height - float(y), 1), mark.told))
                table.append([_line(panel), mark.what, *mark.shown])
    return {"name": _file_name(name), "points": points[:_MOST_POINTS], "table": table}


def _marks(ax: Axes) -> Iterable[Mark]:
    frame = _Frame(ax, _Scale.of(ax.xaxis), _Scale.of(ax.yaxis))
    yield from frame.texts()
    labels = {found[0]: str(found.get_label()) for found in ax.containers if isinstance(found, ErrorbarContainer)}
    for line in ax.lines:
        # Lines across the whole figure (at zero, say) are no data.
        if line.get_visible() and line.get_transform().contains_branch_seperately(ax.transData) == (True, True):
            yield from frame.of_line(line, labels.get(line, str(line.get_label())))
    for container in ax.containers:
        for bar in getattr(container, "patches", ()):
            if isinstance(bar, Rectangle):
                yield from frame.of_bar(bar)


@dataclass(frozen=True)
class _Scale:
    """What an axis says of a number: its label, its unit, and the names of its places, where it has any."""

    label: str
    unit: str
    places: np.ndarray
    names: Sequence[str]

    @classmethod
    def of(cls, axis: Axis) -> _Scale:
        text = _line(axis.get_label_text())
        unit = re.search(r"\(([^()]*)\)$", text)
        places = np.asarray(axis.get_majorticklocs(), dtype=float)
        named = isinstance(axis.get_major_locator(), FixedLocator) and len(places) > 0
        names = [_line(name) for name in axis.get_major_formatter().format_ticks(list(places))] if named else []
        names = names if any(name and not _is_number(name) for name in names) else []
        return cls(re.sub(r"\s*\([^()]*\)$", "", text), unit[1] if unit else "", places, names)

    def value(self, number: float) -> str:
        """The nearest name; else the number."""
        if not self.names:
            return format_value(float(number))
        return self.names[int(np.argmin(np.abs(self.places - number)))]


@dataclass(frozen=True)
class _Frame:
    """A pair of axes."""

    ax: Axes
    x: _Scale
    y: _Scale

    def of_line(self, line: Line2D, name: str) -> Iterable[Mark]:
        label = "" if name.startswith("_") else name
        xs, ys = (np.asarray(values, dtype=float) for values in line.get_data())
        if line.get_marker() in ("|", "_", "|-") and len(xs) == 2:
            yield self._interval(label, xs, ys)
            return
        seed = "a seed" if line.get_markerfacecolor() == "none" else ""
        for x, y in zip(xs, ys, strict=True):
            if np.isfinite(x) and np.isfinite(y):
                yield self._mark(float(x), float(y), label or seed)

    def of_bar(self, bar: Rectangle) -> Iterable[Mark]:
        """A bar's end. A tile is told by its text."""
        (x, y), width, height = bar.get_xy(), bar.get_width(), bar.get_height()
        if not (width and height) or (self.x.names and self.y.names):
            return
        yield self._mark(*((x + width, y + height / 2) if self.y.names else (x + width / 2, y + height)), "")

    def texts(self) -> Iterable[Mark]:
        """Words at places of two axes of names: tiles and cells."""
        if not (self.x.names and self.y.names):
            return
        for text in self.ax.texts:
            if text.get_transform() == self.ax.transData and text.get_text():
                x, y = (float(value) for value in text.get_position())
                shown, told = (self.x.value(x), self.y.value(y)), _line(text.get_text())
                yield Mark(x, y, f"{shown[0]}, {shown[1]}: {told}", told, shown)

    def _interval(self, label: str, xs: np.ndarray, ys: np.ndarray) -> Mark:
        is_flat = ys[0] == ys[1]
        scale, ends = (self.x, xs) if is_flat else (self.y, ys)
        told = f"{format_value(float(min(ends)))} to {format_value(float(max(ends)))} {scale.unit}".strip()
        x, y = float(xs.mean()), float(ys.mean())
        where = self.y.value(y) if is_flat else self.x.value(x)
        shown = (told, where) if is_flat else (where, told)
        return Mark(x, y, f"{label or where}: 95 % interval {told}", "95 % interval", shown)

    def _mark(self, x: float, y: float, label: str) -> Mark:
        shown = (self.x.value(x), self.y.value(y))
        if self.y.names:
            told = f"{shown[1]}: {shown[0]} {self.x.unit}"
        elif self.x.names:
            told = f"{shown[0]}: {shown[1]} {self.y.unit}"
        else:
            told = f"{self.x.label} {shown[0]} {self.x.unit}; {self.y.label} {shown[1]} {self.y.unit}"
        told = _line(told)
        return Mark(float(x), float(y), f"{label}: {told}" if label else told, label, shown)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line(text: str) -> str:
    return " ".join(text.split())


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:80] or "figure"
