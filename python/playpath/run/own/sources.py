"""Finds the user's own code and computes its hash.

A module is searched for next to the scenario and in the working directory before installed ones. Its hash covers its own file and the
files of the same folder that it imports, found by parsing the import statements, so that a changed helper counts. Files that the code
reads while it runs do not count.
"""

import ast
import hashlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

from playpath.base.errors import InputError

PARSING = threading.Lock()
"""Held while Python parses a source, also by `inspect`: before 3.11.5 two threads must not do so at once (CPython issue 106905)."""

_IMPORTING = threading.RLock()
"""Held while a module is reloaded: it is in `sys.modules` before its code has run, and another thread would find it empty."""

_folders: list[str] = []
_hashes: dict[tuple[str, ...], tuple[tuple[tuple[str, int, int], ...], str]] = {}
_imported: dict[str, str] = {}
"""Module → hash of its source when it was imported here."""


def add_folder(folder: str | Path) -> None:
    """Add a folder to the search path, after those added before."""
    place = str(Path(folder).resolve())
    if place not in _folders:
        _folders.append(place)
        if place not in sys.path:
            sys.path.append(place)  # at the end, so that the user's files never hide an installed module


def folders() -> tuple[str, ...]:
    """The folders of the search path, for workers."""
    return tuple(_folders)


def module(name: str) -> ModuleType:
    """Import a module, again if its source has changed."""
    with _IMPORTING:
        place = _place(name)
        now = digest(name)
        if _imported.get(name, now) != now:
            for other in _files(name, place):
                sys.modules.pop(other, None)
        top = name.partition(".")[0]
        spec = PathFinder.find_spec(top, [str(place)])
        if top not in sys.modules and spec is not None and spec.loader is not None:
            loaded = sys.modules[top] = module_from_spec(spec)
            try:
                spec.loader.exec_module(loaded)
            except BaseException:
                del sys.modules[top]
                raise
        found = importlib.import_module(name)
        _imported[name] = now
        return found


def digest(name: str) -> str:
    """SHA-256, in hexadecimal, of a module and of the modules of its own folder that it imports."""
    return _hash(list(_files(name, _place(name)).items()))


def files(name: str) -> list[Path]:
    """The files that `digest` covers."""
    return list(_files(name, _place(name)).values())


def _hash(found: list[tuple[str, Path]]) -> str:
    key = tuple(str(path) for _, path in found)
    state = tuple((str(path), (stat := path.stat()).st_mtime_ns, stat.st_size) for _, path in found)
    if key in _hashes and _hashes[key][0] == state:
        return _hashes[key][1]
    sum_ = hashlib.sha256()
    for name, path in sorted(found):
        content = path.read_bytes()
        sum_.update(f"{name}\n{len(content)}\n".encode() + content)
    _hashes[key] = (state, sum_.hexdigest())
    return _hashes[key][1]


def _place(name: str) -> Path:
    """The folder that contains the module's topmost package."""
    top = name.partition(".")[0]
    for folder in _folders:
        if PathFinder.find_spec(top, [folder]) is not None:
            return Path(folder)
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise InputError(f"there is no module '{name}' in {_searched()}, nor installed")
    origin = Path(spec.origin)
    return origin.parent.parent if origin.name == "__init__.py" else origin.parent


def _searched() -> str:
    return ", ".join(_short(folder) for folder in _folders) or "the working directory"


def _short(folder: str) -> str:
    relative = os.path.relpath(folder)
    return "the working directory" if relative == "." else min(folder, relative, key=len)


def _files(name: str, place: Path) -> dict[str, Path]:
    """A module and its imports from the same folder, by name; for an installed package only its own modules."""
    is_installed = str(place) not in _folders
    own_package = name.partition(".")[0]
    found: dict[str, Path] = {}
    left = [name]
    while left:
        current = left.pop()
        path = _file(current, place)
        if path is None or current in found or (is_installed and current.partition(".")[0] != own_package):
            continue
        found[current] = path
        left += _imports(path, current, is_package=path.name == "__init__.py")
        if "." in current:
            left.append(current.rpartition(".")[0])
    if name not in found:
        raise InputError(f"there is no module '{name}' in {place}")
    return found


def _file(name: str, place: Path) -> Path | None:
    base = place.joinpath(*name.split("."))
    candidates = (base.with_name(f"{base.name}.py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _imports(path: Path, name: str, *, is_package: bool) -> Iterator[str]:
    try:
        with PARSING:
            tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError):  # the error is reported when the module is imported
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = name.split(".")[
                : None if is_package and node.level == 1 else (1 - node.level if is_package else -node.level)
            ]
            base = ".".join([*(parents if node.level else []), *([node.module] if node.module else [])])
            yield from (part for part in (base, *(f"{base}.{alias.name}" for alias in node.names)) if part)
