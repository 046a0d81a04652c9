"""Sets of units that make up a population: measured links (trace files) or users (rows of a table).

A set of traces is written in place of a path's `trace`: a glob, a folder, a list of files, or an index (a CSV whose header
has the column `file`, and may have `weight` and columns to group by). Users are a CSV with a header and one user per row; its
columns are settings of the scenario.
"""

import glob
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playpath.base.errors import InputError, unknown_name
from playpath.base.files import read_text, rows_of
from playpath.population import known_from
from playpath.scenario import place, traces

_ENDINGS = (".mahi", ".mahimahi", ".csv", ".json", ".txt", ".down", ".up")

COLUMNS: Mapping[str, tuple[str, str]] = {
    "rate_mbps": ("path.rate", "Mbit/s"),
    "rate_kbps": ("path.rate", "kbit/s"),
    "rtt_ms": ("path.rtt", "ms"),
    "rtt_s": ("path.rtt", "s"),
    "loss_percent": ("path.loss", "%"),
    "jitter_ms": ("path.jitter", "ms"),
    "buffer_s": ("player.buffer", "s"),
    "trace": ("path.trace", ""),
}
"""Columns of a users' table with a unit in their name → (setting, unit). `path.rtt` with a unit in each cell works as well."""
VIEWER = "viewer"
"""Column of a users' table: whose path a row is a draw of."""
_OWN = (*(name for name in COLUMNS if "_" in name), "weight", VIEWER, known_from.COLUMN)
"""Columns of which a misspelled one is no column to group by; one by chance like `name` or `trace` may be."""
WITHOUT_UNIT = ("rate", "rtt", "loss", "jitter", "buffer")
"""Names that are refused as columns to group by: their author means a quantity, which without a unit would have no effect."""


@dataclass(frozen=True)
class Unit:
    """One link or one user of a set."""

    name: str
    weight: float = 1.0
    """How many of the population it stands for."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Dotted setting → value."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Column → value, for grouping results."""
    lap_s: float = math.inf
    """Length of its trace, which repeats; infinite without one."""
    known_from: str = ""
    """The source of its path (`known_from.py`); empty if not given."""
    viewer: str = ""
    """Whose path it is a draw of, or whose session: units of one viewer are counted as one; empty: its own."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Dotted setting → file, line and column that say it."""


def is_trace_set(value: Any, folder: Path) -> bool:
    """Whether a path's `trace` names several files."""
    if isinstance(value, list):
        return True
    if not isinstance(value, str):
        return False
    place = folder / value
    return any(c in value for c in "*?[") or place.is_dir() or (place.suffix == ".csv" and _is_index(place))


def trace_set(value: str | Sequence[str], key: str, folder: Path) -> list[Unit]:
    """The links named by a glob, a folder, a list or an index, sorted by name or in the order of the list."""
    if isinstance(value, str) and (folder / value).suffix == ".csv" and _is_index(folder / value):
        return _indexed(folder / value, key)
    files = _files(value, key, folder)
    if len({file.resolve() for file in files}) < len(files):
        raise InputError(
            f"`{key}`: a file is named twice; give weights in an index (a CSV with the columns file, weight)"
        )
    return [_link(file, key) for file in files]


def _files(value: str | Sequence[str], key: str, folder: Path) -> list[Path]:
    if isinstance(value, str):
        place = folder / value
        if place.is_dir():
            found = sorted(p for p in place.iterdir() if p.suffix.lower() in _ENDINGS and p.is_file())
            what = f"the folder has no trace (a file with the ending {', '.join(_ENDINGS)})"
        else:
            found = sorted(p for p in map(Path, glob.glob(str(place), recursive=True)) if p.is_file())
            what = "no file matches"
        if not found:
            raise InputError(f'`{key}` = "{value}": {what}')
        return found
    if not value:
        raise InputError(f"`{key}`: the list of traces is empty")
    for name in value:
        if not isinstance(name, str):
            raise InputError(f"`{key}`: {name} is not the name of a trace")
    return [folder / name for name in value]


def _link(file: Path, key: str, name: str | None = None) -> Unit:
    text = read_text(file, where=f"`{key}`: ")
    try:
        seen = traces.preview(text)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return Unit(name or file.name, settings={key: {"content": text}}, lap_s=seen.period_s)


def _is_index(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8-sig") as lines:
            return "file" in [cell.strip() for cell in lines.readline(10_000).split(",")]
    except (OSError, UnicodeDecodeError):
        return False


def _indexed(file: Path, key: str) -> list[Unit]:
    units = []
    for line, row in _rows(file):
        found = _link(file.parent / row.pop("file"), key, row.get("name"))
        row.pop("name", None)
        weight = _weight(row.pop("weight", "1"), file, line)
        units.append(replace(found, weight=weight, groups=row))
    return _unique(units, file)


def users(file: Path, trace_key: str, group: Sequence[str] = ()) -> list[Unit]:
    """The users of a table.

    Columns: `name`, `weight`, `known_from`, `viewer` (rows of one viewer are draws of a path, and count as one), those of `COLUMNS`, dotted
    settings (`path.rtt`, `player.buffer`) with a unit in each cell, and any others, which results can be grouped by; one that is spelled
    almost like those with a meaning must be named in `group`.
    """
    units = []
    rows = _rows(file)
    _check_columns(rows[0][1], group, file)
    for line, row in rows:
        name = row.pop("name", "") or row.pop("user", "") or f"user {line - 1}"
        weight = _weight(row.pop("weight", "1"), file, line)
        known = row.pop(known_from.COLUMN, "")
        settings: dict[str, object] = {}
        places: dict[str, str] = {}
        lap_s = math.inf
        for column in list(row):
            key, unit = COLUMNS.get(column, (column, ""))
            if column == "trace":
                link = _link(file.parent / row.pop(column), trace_key)
                settings, lap_s = {**settings, **link.settings}, link.lap_s
            elif column in COLUMNS:
                settings[key] = f"{_number(row.pop(column), column, file, line):g} {unit}"
            elif "." in column:
                settings[column] = row.pop(column)
            places[key] = f"{file}: line {line}: `{column}`"
        units.append(Unit(name, weight, settings, row, lap_s, known, row.get(VIEWER, ""), places))
    return _unique(units, file)


def _check_columns(head: Iterable[str], group: Sequence[str], file: Path) -> None:
    """Refuse two columns for one setting, and one that is taken for a group though another was meant."""
    known: dict[str, str] = {}
    for column in head:
        key = place(COLUMNS[column][0] if column in COLUMNS else column)
        if key in known:
            raise InputError(
                f"{file}: line 1: `{known[key]}` and `{column}` are one setting, {key}; leave one of them out"
            )
        known[key] = column
        if column.lower() in WITHOUT_UNIT:
            named = " or ".join(name for name in COLUMNS if name.startswith(f"{column.lower()}_"))
            raise InputError(f"{file}: line 1: `{column}`: a column of figures has its unit in its name: {named}")
        error = unknown_name("column", column, _OWN)
        if column not in (*_OWN, *group) and "." not in column and "did you mean" in str(error):
            raise InputError(f"{file}: line 1: {error}; to group by it, name it in `group`")


def _rows(file: Path) -> list[tuple[int, dict[str, str]]]:
    text = read_text(file, where="`users`: ")
    reader = rows_of(text, str(file))
    head = [cell.strip() for cell in next(reader, (1, []))[1]]
    if mark := next((mark for mark in ";\t" if mark in ",".join(head)), ""):
        raise InputError(f"{file}: line 1: {mark!r} in the names of columns; a comma goes between two columns")
    if len(head) < 1 or not all(head) or len(set(head)) < len(head):
        raise InputError(f"{file}: line 1: the first line must name the columns, each once")
    rows = []
    for line, cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            raise InputError(f"{file}: line {line}: {len(cells)} cells for {len(head)} columns")
        rows.append((line, dict(zip(head, (cell.strip() for cell in cells), strict=True))))
    if not rows:
        raise InputError(f"{file}: has no row below its header")
    return rows


def _weight(text: str, file: Path, line: int) -> float:
    weight = _number(text, "weight", file, line)
    if not 0 < weight < math.inf:
        raise InputError(f"{file}: line {line}: weight {text} must be above 0")
    return weight


def _number(text: str, column: str, file: Path, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{file}: line {line}: `{column}`: '{text}' is not a number") from None
    if not 0 <= number < math.inf:
        raise InputError(f"{file}: line {line}: `{column}`: {text} is negative or not finite")
    return number


def _unique(units: list[Unit], file: Path) -> list[Unit]:
    seen: dict[str, int] = {}
    found = []
    for unit in units:
        seen[unit.name] = seen.get(unit.name, 0) + 1
        number = seen[unit.name]
        found.append(unit if number == 1 else replace(unit, name=f"{unit.name} #{number}"))
    return found


def need_column(name: str, units: Sequence[Unit]) -> None:
    """Refuse columns to group by that no unit has."""
    known = list(dict.fromkeys(column for unit in units for column in unit.groups))
    if name not in known:
        raise unknown_name("column to group by", name, known)
