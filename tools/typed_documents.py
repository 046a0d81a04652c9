"""The documents as typed dictionaries in Python: as one writes them, and as the engine resolves them.

A table that is read with another one's keys inherits its class; a class that is the same in both modules is imported by the second.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playpath.scenario import keys
from playpath.scenario.keys import class_name

PACKAGE = Path(__file__).parents[1] / "python" / "playpath"
AS_MAPPINGS = ("loss", "queue", "cc", "scheduler", "transport")
"""Tables without a class: a mapping of parameters."""
INDENTS = ("initial_indent", "subsequent_indent")
PLAIN = {
    "number": "float",
    "whole number": "int",
    "switch": "bool",
    "file": "str | Mapping[str, str]",
    "text or list of texts": "str | Sequence[str]",
    "list": "Sequence[Any]",
    "any": "Any",
    "number with a unit": "str | float",
    "name or table": "str | Mapping[str, Any]",
    "name of your own": "str | Mapping[str, Any]",
}
"""Type of a key → type in Python; every other one is a text."""
RESOLVED = PLAIN | {
    "text or list of texts": "Sequence[str]",
    "name or table": "Mapping[str, Any]",
    "name of your own": "Mapping[str, Any]",
    "queue limit": "Mapping[str, Any]",
}
"""The same, of a resolved document."""


@dataclass(frozen=True)
class Form:
    """One module: what it is for, whether it is what the engine makes of a document, and its tables."""

    file: Path
    about: str
    is_resolved: bool
    tables: tuple[str, ...]


def modules() -> dict[Path, str]:
    """Both modules: file → text."""
    inner_first = [name for name in reversed([*keys.tables()]) if name not in AS_MAPPINGS]
    order = tuple(dict.fromkeys(part for name in inner_first for part in bases_first(name)))
    written = Form(
        PACKAGE / "scenario/document.pyi",
        'The documents as one writes them, typed: made by name, `Path(rate="20 Mbit/s", rtt="50 ms")`.',
        False,
        order,
    )
    resolved = Form(
        PACKAGE / "scenario/resolved.pyi",
        "A scenario as the engine resolves it, typed: every default is written out, names of components are tables.",
        True,
        tuple(name for name in order if name in reached("scenario")),
    )
    there = classes(written)
    return {
        written.file: module(written, there, ()),
        resolved.file: module(resolved, classes(resolved), shared(there, resolved)),
    }


def classes(form: Form) -> dict[str, list[str]]:
    """Each table's class, line by line."""
    return {name: typed_class(name, form) for name in form.tables}


def shared(there: Mapping[str, list[str]], form: Form) -> list[str]:
    """The tables whose class in `form` says the same as the one `there`, and so do those of all that they hold."""
    differ = {name for name, lines in classes(form).items() if lines != there[name]}
    return [name for name in form.tables if not reached(name) & differ]


def bases_first(table: str) -> Iterator[str]:
    """A table behind those whose keys it has, too."""
    for base in keys.tables()[table]["with"]:
        yield from bases_first(base)
    yield table


def reached(table: str) -> set[str]:
    """A table, those that it holds, and those whose keys it has."""
    inner = {key["table"] for key in own_keys(table) if key["table"]} | {*keys.tables()[table]["with"]} - {table}
    return {table}.union(*map(reached, inner))


def own_keys(table: str) -> list[Mapping[str, Any]]:
    """The keys of a table and of each of its kinds, without those that it has of others."""
    choice = keys.tables()[table]["choice"]
    return [*common_keys(table), *(key for of in (choice["variants"] if choice else []) for key in of["keys"])]


def common_keys(table: str) -> list[Mapping[str, Any]]:
    """Those of a table's own keys that each of its kinds has; first the one that names the kind."""
    choice = keys.tables()[table]["choice"]
    return [*([keys.tag_key(choice)] if choice else []), *keys.tables()[table]["keys"]]


def module(form: Form, found: Mapping[str, list[str]], imported: Collection[str]) -> str:
    """The text of a module with the classes `found`; those `imported` are the first module's."""
    text = [
        f'"""{form.about}',
        "",
        "Made from the engine's declarations by `tools/typed_forms.py`. A quantity is a text with its unit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal, Required, TypedDict",
        "",
    ]
    if imported:
        text += [
            f"from playpath.scenario.document import {', '.join(map(class_name, imported))}",
            f"__all__ = {[class_name(name) for name in found]}",
        ]
    for name, lines in found.items():
        if name not in imported:
            text += ["", "", *lines]
    return "\n".join(text) + "\n"


def typed_class(table: str, form: Form) -> list[str]:
    """One typed dictionary."""
    found: dict[str, set[str]] = {}
    docs: dict[str, str] = {}
    for key in own_keys(table):
        found.setdefault(key["name"], set()).add(typed_key(key, table, form))
        docs.setdefault(key["name"], key["doc"])
    types = {name: union(of) for name, of in found.items()}
    needed = {key["name"] for key in common_keys(table) if key["is_needed"]}
    types = {name: f"Required[{of}]" if name in needed else of for name, of in types.items()}
    doc = keys.tables()[table]["doc"]
    if "from" in types:  # no name of Python
        fields = ", ".join(f'"{name}": {quoted(of)}' for name, of in types.items())
        made = f'{class_name(table)} = TypedDict("{class_name(table)}", {{{fields}}}, total=False)'
        return [made, f'"""{doc}"""']
    bases = ", ".join([class_name(other) for other in keys.tables()[table]["with"]] or ["TypedDict"])
    lines = [f"class {class_name(table)}({bases}, total=False):", f'    """{doc}"""']
    for name, of in types.items():
        lines += ["", f"    {name}: {of}", textwrap.fill(f'"""{docs[name]}"""', 116, **dict.fromkeys(INDENTS, "    "))]
    return lines


def union(types: Iterable[str]) -> str:
    """Several types as one, None last."""
    parts = {part for of in types for part in of.split(" | ")}
    return " | ".join(sorted(parts, key=lambda part: (part == "None", part)))


def quoted(of: str) -> str:
    """A type that stands in an expression."""
    return of if of.startswith("Required") else repr(of)


def typed_key(key: Mapping[str, Any], table: str, form: Form) -> str:
    """The type of a key's value."""
    parts = [part for kind in key["type"].split(", ") for part in typed_kind(kind, key, form).split(" | ")]
    if ', or "' in key["allowed"]:
        parts.append("str")
    if may_be_none(key, table, form):
        parts.append("None")
    return " | ".join(dict.fromkeys(parts))


def typed_kind(kind: str, key: Mapping[str, Any], form: Form) -> str:
    """The type of one of the kinds that a key's value may be of."""
    if kind == "word":
        allowed = re.split("[,;] ", key["allowed"])  # told are the words, and the keys of a table besides
        words = [word for word, _ in key["words"] if word in allowed] or key["allowed"].split(", ")
        return f"Literal[{', '.join(json.dumps(word) for word in words)}]"
    if kind in ("table", "list of tables"):
        inner = key["table"]
        of = class_name(inner) if inner and inner not in AS_MAPPINGS else "Mapping[str, Any]"
        return of if kind == "table" else f"Sequence[{of}]"
    return (RESOLVED if form.is_resolved else PLAIN).get(kind, "str")


def may_be_none(key: Mapping[str, Any], table: str, form: Form) -> bool:
    """Whether its value can be None: not given, and nothing fills it."""
    if key["default"] != "" or key["is_needed"]:
        return False
    return not (form.is_resolved and is_filled(key, table))


def is_filled(key: Mapping[str, Any], table: str) -> bool:
    """Whether the engine fills it where it is not given: names, lists, components, the way back, a sender's habits."""
    is_habit = table != "run" and key["otherwise"].endswith(("the profile's", "`run.profile`"))
    is_listed = any((part in RESOLVED and part not in PLAIN) or "list" in part for part in key["type"].split(", "))
    return is_habit or is_listed or "name or table" in key["type"] or key["name"] in ("name", "run", "up")
