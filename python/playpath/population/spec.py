"""A population: its paths and viewers, and how many sessions are played on each.

A scenario is a population as soon as something in it is drawn:

- a path's `trace` is a set of files (a glob, a folder, a list, an index with weights);
- a quantity is a distribution (`distributions.py`);
- `[population] users = "users.csv"` names a table with a row for each user.

`[population]` may also say how much is played:

    [population]
    paths = 200            # default: every trace or user once, or 100 paths
    sessions = 3           # on each path
    seed = 1               # for the draws
    users = "users.csv"
    group = ["operator"]   # columns of the index or the users' table
    baseline = "cubic"     # the sender that viewers have today; default: the first sender
    complete = true        # there are no other links or users: a race is about these alone

A session begins at a random point of its link's trace (`start = "random"`, the same for every sender), unless the path has a
`start`.

The **unit of inference** is the link or user: paths that share a trace or a user are one unit, however many of them are
drawn. Without such a set every path is a unit.
"""

import hashlib
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from playpath.base import engine
from playpath.base.errors import InputError, unknown_name
from playpath.base.files import read_text
from playpath.population import distributions, sets
from playpath.population.distributions import Distribution
from playpath.population.sets import Unit
from playpath.scenario import Choices, Scenario, load, shipped

_DEFAULT_PATHS = 100
_DEFAULT_SESSIONS = 3
MAX_SESSIONS = 1000
"""Limit of sessions on a path; the seeds of path i begin at i times this."""


@dataclass(frozen=True)
class DrawnPath:
    """A path of the population, with its viewer."""

    index: int
    unit: int
    """Number of the link or user that the path is a draw of."""
    name: str
    """Name of the link or user; `path 7` without a set."""
    weight: float
    """How many members of the population it represents."""
    settings: Mapping[str, Any]
    """Dotted setting → value."""
    groups: Mapping[str, str]
    """The set's columns to group by."""


@dataclass(frozen=True)
class Population:
    """The paths and viewers that the answer is for."""

    name: str
    base: Scenario
    """The scenario resolved at the first path, for everything that is not drawn."""
    draws: Mapping[str, Distribution]
    units: Sequence[Unit]
    """Links or users; empty if everything is drawn from distributions."""
    paths: int
    sessions: int
    seed: int
    group: tuple[str, ...] = ()
    baseline: str = ""
    """Label of the sender that the others are compared with."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """The document as read, for the manifest."""
    unit_word: str = "paths"
    """The units of intervals: `links or users`, or `paths`."""
    is_shuffled: bool = False
    """Whether units are taken in random order even if all are used, so that the first paths are a sample of them."""
    max_units: float = math.inf
    """Total number of units; infinite if paths are drawn from distributions."""
    is_complete: bool = False
    """Whether the units are the whole population rather than a sample of it."""
    heaviest: float = 1.0
    """The largest weight of a unit."""

    @property
    def unit_count(self) -> int:
        """The number of links or users (or, without a set, paths) that intervals are over."""
        if not self.units:
            return self.paths
        return len({self.viewers[number] for number in self._order[: self.paths]})

    @cached_property
    def viewers(self) -> list[int]:
        """For each unit, the number of the first unit of the same viewer."""
        first: dict[str, int] = {}
        return [first.setdefault(unit.viewer or f"/{number}", number) for number, unit in enumerate(self.units)]

    @cached_property
    def _rows(self) -> Counter[int]:
        """For each viewer, by the number of its first unit, how many units are its."""
        return Counter(self.viewers)

    def drawn(self) -> Iterator[DrawnPath]:
        """The paths. They are always the same, and a smaller number of paths is a prefix of a larger one that is less than all units."""
        return (self.path(index) for index in range(self.paths))

    def path(self, index: int) -> DrawnPath:
        settings = {key: d.at(self._share(key, index)) for key, d in self.draws.items()}
        if not self.units:
            return DrawnPath(index, index, f"path {index + 1}", 1.0, settings, {})
        number = self._order[index % len(self.units)]
        unit = self.units[number]
        copies = (self.paths - index % len(self.units) - 1) // len(self.units) + 1
        drawn = {**settings, **unit.settings}
        viewer = self.viewers[number]
        # Rows of one viewer count as one, however many there are.
        weight = unit.weight / copies / self._rows[viewer]
        return DrawnPath(index, viewer, unit.name, weight, drawn, unit.groups)

    def explain(self, index: int, message: str, changed: Container[str] = ()) -> str:
        """What is wrong with a setting of the path of that number, told of where it is written, not of an option or an axis; other
        messages, and those of settings that were `changed`, as they are.
        """
        path = self.path(index)
        found = re.match(r'(?:set\["|axis )([^"\s]+?)(?:"\])?: ', message)
        if found is None or found[1] not in path.settings or found[1] in changed:
            return message
        places = self.units[self._order[index % len(self.units)]].places if self.units else {}
        return f"{places.get(found[1], f'{path.name}: {found[1]}')}: {message[found.end() :]}"

    def seeds(self, index: int) -> range:
        """The seeds of a path's sessions; no two paths share a seed, so that their randomness is independent."""
        first = self.base.seeds[0] + index * MAX_SESSIONS
        return range(first, first + self.sessions)

    @cached_property
    def _order(self) -> list[int]:
        """The order in which units are taken: as given if all are used at once, otherwise random."""
        numbers = list(range(len(self.units)))
        return (
            numbers
            if self.paths >= len(numbers) and not self.is_shuffled
            else sorted(numbers, key=lambda i: self._share("unit", i))
        )

    def in_drawn_order(self, paths: Iterable[int]) -> list[int]:
        """Numbers of paths in the order in which they are played: tables are sorted by something, and what is there after Ctrl-C must
        be a sample.
        """
        return sorted(paths, key=lambda index: self._share("play", index))

    def _share(self, key: str, index: int) -> float:
        """A number in (0, 1) that depends only on the seed, the name and the number."""
        digest = hashlib.sha256(f"{self.seed}/{key}/{index}".encode()).digest()
        return (int.from_bytes(digest[:8], "big") + 0.5) / 2.0**64


def is_population(source: Any) -> bool:
    """Whether a scenario (a path, a TOML text or a mapping) draws anything; False if it cannot be read."""
    try:
        raw, folder, _ = _read(source)
    except InputError:
        return False
    return draws_anything(raw, folder)


def draws_anything(raw: Mapping[str, Any], folder: Path) -> bool:
    """Whether a document, whose file names are relative to `folder`, draws anything."""
    return "population" in raw or any(True for _ in _drawn_settings(raw, folder))


def load_population(
    source: Any,
    *,
    set: Mapping[str, Any] | None = None,
    paths: int | None = None,
    sessions: int | None = None,
    baseline: str | None = None,
    group: Sequence[str] | None = None,
    **senders: Unpack[Choices],
) -> Population:
    """Read and check a population: a file, a TOML text, or a mapping.

    `paths`, `sessions`, `baseline` and `group` override those of `[population]`.
    """
    if isinstance(source, Population):
        return source
    raw, folder, stem = _read(source)
    if "axis" in raw and (error := shipped.mistaken(raw, folder, _called(source), "population")):
        raise error
    _check(source, raw)
    given = {
        "paths": paths,
        "sessions": sessions,
        "baseline": baseline,
        "group": None if group is None else list(group),
    }
    asked = {"population": {key: value for key, value in given.items() if value is not None}}
    engine.check("population", json.dumps(asked))
    own = {**raw.get("population", {}), **asked["population"]}
    draws, units = _drawn(raw, own, folder)
    if not units and not draws:
        raise InputError(
            '[population]: nothing in the scenario is drawn; give a path several traces (`trace = "traces/*.json"`), '
            "give a quantity a distribution, or name a table of `users`; one path is for `playpath compare`"
        )
    for column in (columns := _names(own.get("group", ()))):
        sets.need_column(column, units)
    changes = dict(set or {})
    chosen = Population(
        name=str(raw.get("name", stem)),
        base=Scenario({}, ""),
        draws={key: d for key, d in draws.items() if key not in changes},
        units=units,
        paths=own.get("paths") or len(units) or _DEFAULT_PATHS,
        sessions=own.get("sessions", _DEFAULT_SESSIONS),
        seed=own.get("seed", 1),
        group=columns,
        source=_plain(
            {**raw, "population": {**raw.get("population", {}), "group": columns}} if group is not None else raw
        ),
        unit_word="links or users" if units else "paths",
        max_units=len({unit.viewer or f"/{number}" for number, unit in enumerate(units)}) or math.inf,
        is_complete=own.get("complete", False),
        heaviest=max((unit.weight for unit in units), default=1.0),
    )
    if chosen.is_complete and not units:
        raise InputError(
            "`population.complete`: paths drawn from distributions have no end; it is for populations of traces or `users`"
        )
    first = {**{key: d.at(0.5) for key, d in draws.items()}, **chosen.path(0).settings, **changes}
    try:
        base = _base(source, raw, folder, first, senders)
    except InputError as error:
        raise InputError(chosen.explain(0, str(error), changes)) from None
    if not base.senders:
        raise InputError(f"scenario '{chosen.name}': no [[sender]] to compare; add one or give `cc`")
    wanted = own.get("baseline") or base.senders[0]
    if wanted not in base.senders:
        raise unknown_name("baseline", str(wanted), base.senders)
    return replace(chosen, base=base, baseline=str(wanted))


def _check(source: Any, raw: Mapping[str, Any]) -> None:
    """Check keys, types and ranges against the declaration."""
    text = _text(source)
    try:
        engine.check("population", json.dumps(raw, default=str) if text is None else text)
    except InputError as error:
        called = _called(source)
        raise InputError(f"{called}: {error}" if called else str(error)) from None


def _drawn(raw: Mapping[str, Any], own: Mapping[str, Any], folder: Path) -> tuple[dict[str, Distribution], list[Unit]]:
    """The distributions by setting, and the set of links or users."""
    draws: dict[str, Distribution] = {}
    units: list[Unit] = []
    for key, value in _drawn_settings(raw, folder):
        if distributions.is_distribution(value):
            draws[key] = distributions.read(value, key)
        elif units:
            raise InputError(f"`{key}`: a second set of traces; only one path's traces can make up the population")
        else:
            units = sets.trace_set(value, key, folder)
    if "users" in own:
        if units:
            raise InputError(
                "[population]: has both `users` and a set of traces; put the traces into the table, as a column `trace`"
            )
        units = sets.users(folder / str(own["users"]), "path.0.trace", _names(own.get("group", ())))
    return draws, [_started_anywhere(unit, raw) for unit in units]


def _started_anywhere(unit: Unit, raw: Mapping[str, Any]) -> Unit:
    """Sessions start at a random point of a measured link's trace, unless the scenario says otherwise."""
    starts = {
        key.removesuffix("trace") + "start": "random"
        for key in unit.settings
        if key.endswith(".trace") and not _has(raw, key.removesuffix("trace") + "start")
    }
    return replace(unit, settings={**unit.settings, **starts})


def _has(raw: Any, key: str) -> bool:
    """Whether a document contains a dotted setting."""
    for part in key.split("."):
        if isinstance(raw, list) and part.isdigit() and int(part) < len(raw):
            raw = raw[int(part)]
        elif isinstance(raw, Mapping) and part in raw:
            raw = raw[part]
        else:
            return False
    return True


def _base(
    source: Any,
    raw: Mapping[str, Any],
    folder: Path,
    settings: Mapping[str, Any],
    senders: Choices,
) -> Scenario:
    """The scenario at one path. The text keeps its line numbers, so that errors refer to the lines of the file."""
    text = _text(source)
    if text is None:
        plain = {key: value for key, value in raw.items() if key != "population"}
        return load(plain, folder=folder, set=settings, **senders)
    try:
        found = load(_without_population(text) + "\n", folder=folder, set=settings, **senders)
    except InputError as error:
        if str(error).startswith("line ") and not _is_text(source):
            raise InputError(f"{source}: {error}") from None
        raise
    return found


def _without_population(text: str) -> str:
    """The text with the lines of [population] blanked."""
    lines, inside = [], False
    for line in text.splitlines():
        if header := re.match(r"\s*\[{1,2}\s*([A-Za-z0-9_.\"'-]+)", line):
            inside = header[1].split(".")[0] == "population"
        lines.append("" if inside else line)
    return "\n".join(lines)


def _drawn_settings(raw: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, Any]]:
    """Dotted settings of the scenario that are distributions or sets of traces."""
    for key, value in _leaves({k: v for k, v in raw.items() if k not in ("population", "choice")}, ""):
        if distributions.is_distribution(value) or (
            re.fullmatch(r"path\.\d+(\.up)?\.trace", key) and sets.is_trace_set(value, folder)
        ):
            yield key, value


def _leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Values with their dotted keys; a distribution counts as one value, and so does a list of plain values."""
    if isinstance(value, Mapping) and not distributions.is_distribution(value):
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}.{key}" if at else key)
    elif isinstance(value, list) and value and all(isinstance(inner, Mapping) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{at}.{number}")
    else:
        yield at, value


def _read(source: Any) -> tuple[Mapping[str, Any], Path, str]:
    """The document, the folder that file names are relative to, and a name."""
    if isinstance(source, Mapping):
        return source, Path(), "population"
    if isinstance(source, Scenario):
        return source.resolved, Path(), source.name
    text = _text(source)
    file = Path("population") if _is_text(source) else shipped.find(source)
    folder, stem = file.parent, file.stem
    try:
        found = json.loads(str(text)) if str(text).lstrip().startswith("{") else tomllib.loads(str(text))
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{stem}: {error}") from None
    return found, folder, stem


def _is_text(source: Any) -> bool:
    return isinstance(source, str) and "\n" in source


def _called(source: Any) -> str:
    return "" if isinstance(source, Mapping | Scenario) or _is_text(source) else str(source)


def _text(source: Any) -> str | None:
    if isinstance(source, Mapping | Scenario):
        return None
    return source if _is_text(source) else read_text(shipped.find(source), remedy="give the path of a scenario file")


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _plain(raw: Mapping[str, Any]) -> dict[str, object]:
    """The document as read, for the manifest."""
    return json.loads(json.dumps(raw, default=str))
