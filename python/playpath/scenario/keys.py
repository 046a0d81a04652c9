"""The keys of scenarios, sweeps and populations, as declared by the engine, for `playpath help` and the reference page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from playpath.base import engine
from playpath.base.declared import Choice, DeclaredKey, DeclaredTable
from playpath.base.errors import InputError, unknown_name

ROOTS = {"scenario": "scenario", "sweep": "sweep", "population": "population document"}
"""Document → name of its root table."""
CLASSES = {
    "scenario": "Document",
    "sweep": "Design",
    "population document": "PopulationDocument",
    "video.manifest": "Manifest",
    "path.outage": "Outage",
    "path.rebinding": "Rebinding",
    "traffic.rtt": "TrafficRtt",
    "distribution.lognormal": "Lognormal",
    "distribution.normal": "Normal",
}
"""Declared table → its typed dictionary in Python, if that has a different name."""
_TABLE = re.compile(r"^\[{1,2}([^][]*)\]{1,2}$")
"""The header of a table, such as `[[path]]`."""


@dataclass(frozen=True)
class Key:
    """A declared key at one place."""

    document: str
    """`scenario`, `sweep` or `population`."""
    place: str
    """The dotted key, as in `--set`: `path.up.queue`."""
    of: str
    """The variant that has it, if the table has variants: `progressive` has `player.buffer`."""
    declared: DeclaredKey
    """Its declaration in `engine.declarations`."""

    @property
    def name(self) -> str:
        """The key without its table."""
        return self.declared["name"]

    @property
    def default(self) -> str:
        """Its default as typed, or a sentence if it depends on something."""
        return default_text(self.declared)


def default_text(declared: DeclaredKey) -> str:
    """A default with its unit, or a description of it, or "none".

    >>> default_text({"is_needed": False, "otherwise": "", "default": 1, "unit": "packets"})
    '1 packets'
    """
    if declared["is_needed"]:
        return "must be given"
    if declared["otherwise"]:
        return declared["otherwise"]
    value = declared["default"]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{text} {declared['unit']}".strip() if text else "none"


@cache
def tables() -> dict[str, DeclaredTable]:
    return engine.declarations()


def class_name(table: str) -> str:
    """The name of a declared table's typed dictionary."""
    return CLASSES.get(table, "".join(word.capitalize() for word in table.split("_")))


@cache
def all_keys() -> tuple[Key, ...]:
    """Every key at every place; keys of scenarios come first."""
    found = [Key(d, place, of, key) for d, root in ROOTS.items() for place, of, key in _walk(root, "")]
    # A population also has the keys of a scenario.
    places = {(key.place, key.of) for key in found if key.document == "scenario"}
    kept = [key for key in found if key.document != "population" or (key.place, key.of) not in places]
    drawn = [Key("population", place, of, key) for place, of, key in _walk("distribution", "")]
    return tuple(kept + drawn)


def table_keys(name: str) -> Iterator[DeclaredKey]:
    """The keys of a table, including those shared with other tables; the key that selects its variant comes first."""
    table = tables()[name]
    if table["choice"]:
        yield tag_key(table["choice"])
    yield from table["keys"]
    for other in table["with"]:
        yield from table_keys(other)


def tag_key(choice: Choice) -> DeclaredKey:
    """The key that selects a table's variant, as a declared key."""
    words = [(variant["name"], variant["summary"]) for variant in choice["variants"]]
    return {
        "name": choice["tag"],
        "type": "word",
        "default": choice["default"],
        "otherwise": choice["otherwise"],
        "is_needed": not (choice["default"] or choice["otherwise"]),
        "allowed": ", ".join(word for word, _ in words),
        "words": words,
        "unit": "",
        "since": "0.1",
        "doc": f"Which {choice['what'] if choice['what'] != 'value' else 'kind of traffic'}.",
        "example": f'"{words[0][0]}"',
        "kernel": "",
        "idle_with": [],
        "table": None,
    }


def _walk(table: str, at: str) -> Iterator[tuple[str, str, DeclaredKey]]:
    for key in table_keys(table):
        place = f"{at}{key['name']}"
        yield place, "", key
        if key["table"]:
            yield from _walk(key["table"], f"{place}.")
    choice = tables()[table]["choice"]
    for variant in choice["variants"] if choice else ():
        for key in variant["keys"]:
            yield f"{at}{key['name']}", variant["name"], key


def find(text: str) -> list[Key]:
    """The keys named `text`, by their whole dotted key or its end; for a declaration at several places the simplest one.

    >>> [key.place for key in find("loss")][0], find("run.seeds")[0].default
    ('path.loss', '10')
    """
    asked = _TABLE.sub(r"\1", text.strip()).removeprefix("scenario.")
    found = [key for key in all_keys() if f".{key.place}".endswith(f".{asked}")]
    if not found:
        names = {key.place if "." in asked else key.name for key in all_keys()}
        problem = str(unknown_name("key", text if text.startswith("[") else asked, names)).partition(" allowed: ")[0]
        raise InputError(f"{problem} `playpath help` lists all")
    if any(key.place == asked for key in found) and "." in asked:
        found = [key for key in found if key.place == asked]
    first: dict[tuple[str, str], Key] = {}
    for key in sorted(found, key=_plainness):
        first.setdefault((key.of, repr(key.declared)), key)
    return list(first.values())


def _plainness(key: Key) -> tuple[int, bool, int, str]:
    """Sort key: scenarios first, then a `[[path]]` before shared links and the return direction."""
    parts = key.place.split(".")
    return list(ROOTS).index(key.document), parts[0] == "link" or "up" in parts, len(parts), key.of


def places(key: Key) -> list[str]:
    """Every place with the same declaration."""
    return [other.place for other in all_keys() if (other.of, other.declared) == (key.of, key.declared)]
