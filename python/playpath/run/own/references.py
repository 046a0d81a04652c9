"""Names for Python objects, by which a scenario, or a worker, can find them again."""

import functools
import hashlib
import inspect
import marshal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from playpath.base.errors import InputError
from playpath.run.own import sources

HERE = "here:"
"""Prefix of names of objects that are not in a file: a class in a notebook, or inside a function."""

_objects: dict[str, Callable[..., Any]] = {}


def reference_of(name: str, target: Any) -> str:
    """The command-line form of an entry of `controllers` or `abrs`.

    Args:
        name: The label.
        target: `"bbr"`, `"module:Mine(gain=2)"`, a mapping with `name` and parameters, a class, a function that makes
            objects, or a `functools.partial` of one.
    """
    from playpath.scenario import parse_choice

    if isinstance(target, str | Mapping):
        return parse_choice(target)
    params: dict[str, object] = {}
    while isinstance(target, functools.partial) and not target.args:
        params, target = {**target.keywords, **params}, target.func
    if not callable(target):
        raise InputError(f"'{name}': {target!r} is neither a class, a function that makes objects, nor a name")
    for key, value in params.items():
        if not isinstance(value, bool | int | float | str) or set(str(value)) & set(",()="):
            raise InputError(f"'{name}': {key}={value!r} is not a number, a flag or plain text")
    return parse_choice({"name": _name(target, name), **params})


def handed_over(reference: str) -> Callable[..., Any] | None:
    """The object registered by this name in this process."""
    return _objects.get(reference)


def here_digest(reference: str) -> str:
    """SHA-256 of the source of an object that is not in a file."""
    if (target := _objects.get(reference)) is None:
        raise InputError("was defined in a program that has ended; it cannot be loaded again")
    return hashlib.sha256(_source(target)).hexdigest()


def _name(target: Callable[..., Any], label: str) -> str:
    module, qualified = getattr(target, "__module__", ""), getattr(target, "__qualname__", "")
    found = f"{HERE}{''.join(c if c.isalnum() else '_' for c in qualified or label)}"
    if module and qualified.replace(".", "_").isidentifier() and (place := _place(module)):
        sources.add_folder(place[1])
        found = f"{place[0]}:{qualified}"
    _objects[found] = target
    return found


def _place(module: str) -> tuple[str, Path] | None:
    """The module's importable name, and the folder of its topmost package. A script is named after its file."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not file.endswith(".py") or not Path(file).is_file():
        return None
    path = Path(file).resolve()
    if module in ("__main__", "__mp_main__"):
        return path.stem, path.parent
    up = module.count(".") + (path.name == "__init__.py")
    return module, path.parents[up]


def _source(target: Callable[..., Any]) -> bytes:
    """The source text, or the compiled code if Python does not keep the source."""
    try:
        with sources.PARSING:
            return inspect.getsource(target).encode()
    except (OSError, TypeError):
        functions = [f for f in (target, *vars(target).values()) if isinstance(f, FunctionType)]
        return b"".join(_text(function) for function in functions)


def _text(function: FunctionType) -> bytes:
    try:
        with sources.PARSING:
            return inspect.getsource(function).encode()
    except (OSError, TypeError):
        return marshal.dumps(function.__code__.replace(co_filename="", co_firstlineno=1))
