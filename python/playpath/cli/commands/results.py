"""Folders of results: each holds the answer to one question, and one run at a time writes into it.

A question is the resolved scenario with its senders, the world, and what a sweep varies or a population draws. How many seeds, paths
or sessions it is asked with is no part of it: the same question with more of them replaces the answer, another one never does.
"""

import fcntl
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playpath.base.errors import InputError
from playpath.base.files import check_writable
from playpath.base.signals import exit_on_signals
from playpath.results.record import slug
from playpath.show import console

Question = Mapping[str, Any]

_PARTS = {
    "comparison.json": ("manifest.scenario", "manifest.choices", "world"),
    "record.json": ("manifest.scenario", "sender", "world"),
    "sweep.json": ("manifest.scenario", "manifest.choices", "manifest.design"),
    "population.json": ("manifest.scenario", "manifest.choices", "manifest.population", "baseline"),
    "tune.json": ("params", "scenarios"),
    "twin.json": ("sim.manifest.scenario",),
    "claims.json": ("study", "media_share"),
    "question.json": ("logs", "asked", "kind", "log_format", "fields", "keep_names"),
}
"""What of a stored result is its question, by its file."""
_REPLICATIONS = {
    "run": ("seeds", "first_seed"),
    "population": ("paths", "sessions", "group"),
    "": ("seeds", "draws", "kept"),
}
"""Keys that only say how many runs are played, how many paths are drawn or how the answer is shown, by their table."""
_LOCK = ".playpath.lock"


@contextmanager
def results_folder(
    given: Path | None, name: str, file: str, question: Question, option: str = "--out"
) -> Iterator[Path]:
    """The folder that results go to, held against other runs until the block ends: `given`, or one in `out`.

    Args:
        given: What `option` says. Without it, the first of out/NAME, out/NAME-2, … that holds nothing or the same
            question.
        name: For people; the folder is named by a safe form of it.
        file: The result's own file, a key of `_PARTS`.
        question: As the result's file stores it, so far as `_PARTS` asks.
    """
    folder = given or _default(slug(name), file, question)
    check_writable(folder, option)
    with exit_on_signals(), _held(folder, option):
        _check_question(folder, file, question, option)
        yield folder


def _check_question(folder: Path, file: str, question: Question, option: str = "--out") -> None:
    """Make sure that `folder` holds no answer to another question."""
    if differs := _difference(folder, file, question):
        raise InputError(
            f"{option} {folder}: holds results of another question ({differs}), which are kept; give another {option}"
        )


def _default(name: str, file: str, question: Question) -> Path:
    first = Path("out") / name
    numbered = (first.with_name(f"{name}-{number}") for number in itertools.count(2))
    folder = next(path for path in itertools.chain((first,), numbered) if not _difference(path, file, question))
    if folder != first:
        console.message(f"{first}: holds results of another question, which are kept; these go to {folder}")
    return folder


def _difference(folder: Path, file: str, question: Question) -> str:
    """What tells the question of the results in `folder` from this one; empty if nothing does, or there are none."""
    for name in _PARTS:
        try:
            stored = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # not there, or damaged
        if not any(_parts(name, stored).values()):
            continue
        if name != file:
            return f"found: {name}"
        if keys := _differing(_parts(name, stored), _parts(file, question)):
            return f"differs in: {', '.join(keys)}"
    return ""


def _parts(file: str, stored: Question) -> dict[str, object]:
    """The question as plain data: tables of the scenario and the other parts by name."""
    found: dict[str, object] = {}
    for place in _PARTS[file]:
        value: Any = stored
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        found |= _plain(value) if isinstance(value, Mapping) else {place: value}
    return found


def _plain(table: Mapping[str, object]) -> dict[str, object]:
    """A table as JSON stores it, without the numbers of replications."""
    plain: dict[str, object] = json.loads(json.dumps(table, default=str))
    for name, keys in _REPLICATIONS.items():
        inner: Any = plain.get(name) if name else plain
        for key in keys if isinstance(inner, dict) else ():
            inner.pop(key, None)
    return plain


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


@contextmanager
def _held(folder: Path, option: str) -> Iterator[None]:
    """Hold `folder`. The system frees the lock of a process that ends, however it ends, so none is ever stale."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / _LOCK
    handle = _locked(lock, option)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)
        for path in made:
            try:
                path.rmdir()
            except OSError:
                break  # holds results


def _locked(lock: Path, option: str) -> int:
    """A handle that holds the lock file; the file tells the process to others."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.read(handle, 20).decode(errors="replace")
            os.close(handle)
            raise InputError(
                f"{option} {lock.parent}: process {process} writes its results there; wait for it, or give another {option}"
            ) from None
        except OSError:
            pass  # a file system without locks
        # Whoever held it before may have removed the file between the two calls.
        if lock.exists() and os.path.samestat(os.fstat(handle), lock.stat()):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            return handle
        os.close(handle)
