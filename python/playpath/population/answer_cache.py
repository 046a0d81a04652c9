"""Stores the engine's answers during an inference, so that after an interruption no question is asked twice."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from playpath import __version__


class AnswerCache:
    """A file of answers that grows while an inference runs and is removed at its end.

    Each line holds the hash of a question and its answer. Only the lines' offsets are kept in memory.
    """

    def __init__(self, file: Path) -> None:
        self._path = file
        self._lock = Lock()
        self._places: dict[str, int] = {}

    def __enter__(self) -> AnswerCache:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        self._file.seek(0)
        end = 0
        for line in self._file:
            if not line.endswith(b"\n"):
                break
            self._places[line[:64].decode("ascii", "replace")] = end
            end += len(line)
        self._file.truncate(end)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        if error is None or not self._path.stat().st_size:
            self._path.unlink(missing_ok=True)

    def get(self, asked: str) -> dict[str, Any] | None:
        """This version's stored answer to a question; None if there is none."""
        with self._lock:
            place = self._places.get(_key(asked))
            if place is None:
                return None
            self._file.seek(place)
            return json.loads(self._file.readline()[65:])

    def add(self, asked: str, answer: dict[str, Any]) -> None:
        with self._lock:
            self._file.write(f"{_key(asked)} {json.dumps(answer)}\n".encode())
            self._file.flush()


def _key(asked: str) -> str:
    return hashlib.sha256(f"{__version__} {asked}".encode()).hexdigest()
