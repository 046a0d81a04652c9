"""Folders of results: each holds the answer to one question, and only one run at a time writes into it.

A question is the resolved scenario with its senders, the world, and what a sweep varies or a population draws. The number of seeds,
paths or sessions is not part of it: a run of the same question with more of them replaces the answer; a run of another never does.
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
    """The folder that results go to: `given`, or one in `out`. It is locked against other runs until the block ends.

    Args:
        given: The value of `option`. If None, the first of out/NAME, out/NAME-2, … that is empty or holds results of
            the same question.
        name: Display name; the folder's name is a safe form of it.
        file: The result's own file, a key of `_PARTS`.
        question: The question as the result's file stores it; only the keys in `_PARTS` are needed.
    """
    folder = given or _default(slug(name), file, question)
    check_writable(folder, option)
    with exit_on_signals(), _held(folder, option):
        _check_question(folder, file, question, option)
        yield folder


def _check_question(folder: Path, file: str, question: Question, option: str = "--out") -> None:
    """Make sure that `folder` does not hold results of another question."""
    if differs := _difference(folder, file, question):
        raise InputError(
            f"{option} {folder}: holds results of another question ({differs}), which are not overwritten; give another {option}"
        )


def _default(name: str, file: str, question: Question) -> Path:
    first = Path("out") / name
    numbered = (first.with_name(f"{name}-{number}") for number in itertools.count(2))
    folder = next(path for path in itertools.chain((first,), numbered) if not _difference(path, file, question))
    if folder != first:
        console.message(
            f"{first}: holds results of another question, which are not overwritten; the new ones go to {folder}"
        )
    return folder


def _difference(folder: Path, file: str, question: Question) -> str:
    """How the question of the results in `folder` differs from this one; empty if it does not, or if there are no results."""
    for name in _PARTS:
        try:
            stored = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue  # missing or damaged
        if not any(_parts(name, stored).values()):
            continue
        if name != file:
            return f"found: {name}"
        if keys := _differing(_parts(name, stored), _parts(file, question)):
            return f"differs in: {', '.join(keys)}"
    return ""


def _parts(file: str, stored: Question) -> dict[str, object]:
    """The question as plain data: the scenario's tables and the other parts, by name."""
    found: dict[str, object] = {}
    for place in _PARTS[file]:
        value: Any = stored
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        found |= _plain(value) if isinstance(value, Mapping) else {place: value}
    return found


def _plain(table: Mapping[str, object]) -> dict[str, object]:
    """A table as stored in JSON, without the numbers of replications."""
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
    """Lock `folder`. The system releases the lock when the process ends, however it ends, so no lock is ever stale."""
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
                break  # not empty


def _locked(lock: Path, option: str) -> int:
    """Lock the file and return its handle; the file holds the number of the process, for the messages of other runs."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.read(handle, 20).decode(errors="replace")
            os.close(handle)
            raise InputError(
                f"{option} {lock.parent}: process {process} is writing its results there; wait for it, or give another {option}"
            ) from None
        except OSError:
            pass  # a file system without locks
        # The previous holder may have removed the file between the two calls.
        if lock.exists() and os.path.samestat(os.fstat(handle), lock.stat()):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
            return handle
        os.close(handle)
