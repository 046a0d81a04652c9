"""The user's own congestion controls and ABR rules, in addition to those of the registries.

A scenario, an option or `controllers={"mine": Mine}` names them by location: `module:Mine` or `folder/mine.py:Mine`. The resolved
scenario keeps the name, the parameters and the hash of the source; from these `factory` loads the code again, in this process or in
a worker, and refuses code that has changed.

- `sources.py`: folders, imports, hashes; `references.py`: names for Python objects; `blame.py`: errors in own code as one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playpath.base.errors import InputError, RunError
from playpath.base.printing import own_code_runs
from playpath.run.own import sources
from playpath.run.own.blame import blamed
from playpath.run.own.references import HERE, handed_over, here_digest, reference_of
from playpath.scenario import Component, own_code, own_entries
from playpath.scenario.resolved import Document

if TYPE_CHECKING:
    from playpath.scenario import Scenario


__all__ = ["complete", "factory", "failure", "reference_of", "require_importable", "sources"]

_HASH = "source_sha256"
_METHODS = {"control": "on_report", "rule": "choose"}
_made: set[tuple[str, str, str]] = set()
"""(reference, parameters, hash) that are known to work."""


def complete(resolved: Document, base: str) -> None:
    """Find all of the user's own code that a resolved scenario names, try it, and record its hash.

    Args:
        resolved: Changed in place: file names become module names.
        base: Folder of the scenario.
    """
    for where, kind, entry in own_entries(resolved):
        _into_search(entry, base)
        try:
            found = _check(kind, entry)
        except InputError as error:
            raise InputError(f"{where} '{entry['name']}': {error}") from error.__cause__
        if entry.setdefault(_HASH, found) != found:
            raise InputError(f"{where} '{entry['name']}': the source has changed since this result")


def require_importable(scenario: Scenario) -> None:
    """Refuse own code that workers cannot load because it is defined in a notebook, a prompt or a function."""
    for name in own_code(scenario.resolved):
        if name.startswith(HERE):
            raise InputError(
                f"'{name.removeprefix(HERE)}' is defined in a notebook, a prompt or a function, where workers cannot import it; "
                "write it into a file (in a notebook: %%writefile mine.py) and import it from there"
            )


def factory(kind: str, reference: str, params_json: str, sha256: str) -> Callable[[], Any]:
    """For the engine: a callable that makes objects from the code that a scenario names.

    Args:
        reference: `module:Name`.
        params_json: Keyword arguments.
        sha256: The expected hash of the source.
    """
    params = json.loads(params_json)
    if _digest(reference) != sha256:
        raise InputError(f"'{reference}': the source here differs from the one requested")
    target = _target(reference)
    return lambda: target(**params)


def _check(kind: str, entry: Mapping[str, Any]) -> str:
    """The hash of the source; the first time, also check that objects can be made."""
    reference = entry["name"]
    params = {key: value for key, value in entry.items() if key not in ("name", _HASH)}
    found = _digest(reference)
    key = (reference, json.dumps(params, sort_keys=True), found)
    if key not in _made:
        target = _target(reference)
        try:
            with own_code_runs():
                made = target(**params)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # including its `sys.exit`
            raise InputError(blamed(error, target)) from error
        if not callable(getattr(made, method := _METHODS[kind], None)):
            raise InputError(f"its objects have no method `{method}`; see docs/recipes")
        _made.add(key)
    return found


def _digest(reference: str) -> str:
    return here_digest(reference) if reference.startswith(HERE) else sources.digest(reference.partition(":")[0])


def _target(reference: str) -> Callable[..., Any]:
    if (known := handed_over(reference)) is not None:
        return known
    if reference.startswith(HERE):
        raise InputError("was defined in a program that has ended; it cannot be loaded again")
    source, _, name = reference.partition(":")
    found: Any
    try:
        with own_code_runs():
            found = sources.module(source)
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise InputError(blamed(error)) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(_missing(found, part, source))
        found = getattr(found, part)
    if not callable(found):
        raise InputError("is neither a class nor a function")
    return found


def _missing(place: Any, name: str, source: str) -> str:
    from playpath.base.errors import unknown_name

    public = [key for key, value in vars(place).items() if callable(value) and not key.startswith("_")]
    own = [key for key in public if getattr(getattr(place, key), "__module__", None) == source]
    return str(unknown_name(f"name in {source}", name, own or public))


def _into_search(entry: Component, base: str) -> None:
    """Replace a file name by the module's name, and add its folder to the search path."""
    source, _, name = entry["name"].partition(":")
    if entry["name"].startswith(HERE):
        return
    if "/" in source or source.endswith(".py"):
        path = Path(base, source)
        if not path.is_file() and not Path(source).is_file():
            if (found := next((f for f in sources.folders() if Path(f, source).is_file()), None)) is None:
                raise InputError(f"'{entry['name']}': there is no file {source}")
            path = Path(found, source)
        path = path if path.is_file() else Path(source)
        sources.add_folder(path.parent)
        entry["name"] = f"{path.stem}:{name}"
    sources.add_folder(base)
    sources.add_folder(".")


def failure(sender: str, seed: int, code: str | Callable[[], Any], method: str, cause: BaseException) -> RunError:
    """The error of a run in which own code failed, with sender, seed, location and cause."""
    target: Callable[..., Any] | None = None
    with suppress(InputError):
        target = _target(code) if isinstance(code, str) else code
    return RunError(f"{sender}, seed {seed}: {blamed(cause, target, method)}")
