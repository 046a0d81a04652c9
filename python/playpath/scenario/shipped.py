"""The scenarios, designs and populations that come with the package, by name; and the kind of a document, by its content.

`python/playpath/scenarios` links to the repository's folder of that name; a wheel contains its files.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from playpath.base.errors import InputError, unknown_name

Kind = Literal["scenario", "design", "population"]

_FOLDER = Path(__file__).parents[1] / "scenarios"
_COMMANDS: dict[Kind, str] = {
    "scenario": "playpath compare",
    "design": "playpath sweep",
    "population": "playpath population compare",
}


def files() -> dict[str, Path]:
    """Name → file, for all shipped documents."""
    return {path.stem: path for path in (*sorted(_FOLDER.glob("*.toml")), *sorted(_FOLDER.glob("*/*.toml")))}


def find(source: str | Path) -> Path:
    """The file `source`; if it does not exist and is a bare name, the shipped one of that name.

    >>> find("wireless").name
    'wireless.toml'
    """
    path = Path(source)
    is_name = len(path.parts) == 1 and not path.suffix
    is_folder = os.path.isdir(path)  # False for a name that is too long, for which Path raises an error
    if not is_name or (os.path.exists(path) and not is_folder):
        return path
    known = files()
    if path.name in known:
        return known[path.name]
    if is_folder:
        return path
    raise InputError(f"no file '{path}' here, and {unknown_name('shipped scenario', path.name, known)}")


def find_log(source: Path) -> Path:
    """The log `source`; if it does not exist and is a bare name, the shipped one of that name, if there is one.

    >>> find_log(Path("viewers")).name
    'viewers.csv'
    """
    own = _FOLDER / "logs" / f"{source.name}.csv"
    return own if len(source.parts) == 1 and not source.exists() and own.is_file() else source


def mistaken(raw: Mapping[str, Any], folder: Path, name: str | Path, wanted: Kind) -> InputError | None:
    """The error for a document of another kind, with the command to use for it; None if it is of the expected kind.

    Args:
        raw: The document as read.
        folder: Folder that its file names are relative to.
        name: The user's name for it; empty for a document without a file.
        wanted: The expected kind.
    """
    from playpath.population.spec import draws_anything

    if "axis" in raw or "scenario" in raw:
        found: Kind = "design"
    else:
        found = "population" if draws_anything(raw, folder) else "scenario"
    if found == wanted:
        return None
    return InputError(f"{name or 'this'}: is a {found}, not a {wanted}; use `{f'{_COMMANDS[found]} {name}'.strip()}`")


def document(text: str) -> Mapping[str, Any]:
    """Parse TOML, or JSON if it starts with `{`; empty if it is neither."""
    with suppress(ValueError, RecursionError):
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
        return found if isinstance(found, Mapping) else {}
    return {}
