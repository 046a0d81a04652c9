"""Finds the kernel world's own programs: named by the user, in the package, in the source tree, on the PATH."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playpath.real.testbed.errors import MissingToolError

JsonObject = dict[str, Any]
"""JSON printed by one of our programs or pages; the crate or script that prints it documents its fields."""

NAMES = ("playpath-emulator", "playpath-client", "playpath-serve", "playpath-bpf")
_PACKAGE = Path(__file__).parents[2]


def find(name: str, package: Path = _PACKAGE) -> str:
    variable = name.upper().replace("-", "_")
    if own := os.environ.get(variable):
        if os.access(own, os.X_OK):
            return own
        raise MissingToolError(f"{variable}: '{own}' is not a program")
    for candidate in _places(name, package):
        if os.access(candidate, os.X_OK):
            return str(candidate)
    if (found := shutil.which(name)) is not None:
        return found
    raise MissingToolError(f"{name} is missing: {remedy(name, package)}")


def remedy(name: str, package: Path = _PACKAGE) -> str:
    """How to get one of our programs.

    >>> remedy("playpath-serve", Path("/usr/lib/python3/dist-packages/playpath"))
    'this package was built without the programs of the kernel world; install a wheel of `make wheel`'
    """
    if (_tree(package) / "bpf").is_dir():
        if name == "playpath-serve":  # it is useful without the kernel world
            return f"`cargo build --release -p {name}` in {_tree(package)} builds it, `make kernel` all of them"
        return "`make kernel` builds it (bpf/setup.sh installs what that needs)"
    return "this package was built without the programs of the kernel world; install a wheel of `make wheel`"


def _places(name: str, package: Path) -> Iterator[Path]:
    yield package / "bin" / name
    for target in ("target", "crates/bpfload/target"):
        yield _tree(package) / target / "release" / name


def _tree(package: Path) -> Path:
    """The source tree, if the package is its python/playpath."""
    return package.parents[1]
