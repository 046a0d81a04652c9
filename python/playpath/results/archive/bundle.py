"""Write an archive: equal results give equal bytes."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

import polars as pl

from playpath.base.errors import InputError
from playpath.base.files import replaced, text_cell
from playpath.base.worlds import DEFAULT
from playpath.results.archive.question import Question, Result

FORMAT = 1
"""Version of the archive format; newer ones are refused."""
MANIFEST, QUESTION, RESULTS = "archive.json", "question.json", "results"
_LEFT_OUT = ("store", "sessions")
"""Folders that are left out because they can be recreated: cells of a sweep, logs of the kernel world."""
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_README = """An experiment of playpath in one file.

  question.json   the question: scenario with every default, points, traces and manifests
  results/        the answer: report.html opens in a browser; the tables are Parquet
  tables/         the same tables as CSV
  archive.json    versions, seeds, digest, and SHA-256 of every file here

`playpath verify THIS_FILE` plays every session again and compares.
"""


class Manifest(TypedDict):
    """The manifest of an archive, with file name → SHA-256 of every other file."""

    format: int
    kind: str
    name: str
    made_with: dict[str, str]
    world: str
    seeds: list[int]
    sessions: int
    digest: str
    files: dict[str, str]


def export(folder: Path, result: Result, question: Question, target: Path) -> None:
    """Bundle a folder of results into an archive. InputError if the results cannot be played again."""
    files = dict(sorted(_files(folder, result, question)))
    manifest: Manifest = {
        "format": FORMAT,
        "kind": question.kind,
        "name": str(question.scenario.get("name", "")),
        "made_with": {key: value for key, value in result.to_dict()["manifest"].items() if key.endswith("_version")},
        "world": getattr(result, "world", DEFAULT),
        "seeds": sorted({int(seed) for seed in result.table["seed"].to_list()}),
        "sessions": result.table.height,
        "digest": result.digest,
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    with replaced(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in {MANIFEST: _json(manifest), **files}.items():
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


def _files(folder: Path, result: Result, question: Question) -> Iterator[tuple[str, bytes]]:
    yield QUESTION, _json(question.to_dict())
    yield from derived_files(result)
    for path in sorted(folder.rglob("*")):
        part = path.relative_to(folder)
        if (
            path.is_file()
            and not path.is_symlink()
            and part.parts[0] not in _LEFT_OUT
            and not path.name.startswith(".")
        ):
            yield f"{RESULTS}/{part.as_posix()}", path.read_bytes()


def derived_files(result: Result) -> Iterator[tuple[str, bytes]]:
    """Files derived from the results, for people who open the archive."""
    yield "README.txt", _README.encode()
    yield "tables/sessions.csv", _csv(result.table)
    if isinstance(getattr(result, "decisions", None), pl.DataFrame):
        yield "tables/decisions.csv", _csv(result.decisions)  # type: ignore[union-attr]


def _csv(frame: pl.DataFrame) -> bytes:
    """Prepare a table for CSV: lists become text, and no text is a formula."""
    flat = frame.with_columns(pl.col(pl.List).cast(pl.List(pl.String)).list.join("; "))
    flat = flat.with_columns(pl.col(pl.String).map_elements(text_cell, return_dtype=pl.String))
    buffer = io.BytesIO()
    flat.write_csv(buffer)
    return buffer.getvalue()


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, default=str) + "\n").encode()


def check_kind(result: object, folder: Path) -> Result:
    """The result, if it can be played again."""
    if not hasattr(result, "digest") or not hasattr(result, "table"):
        raise InputError(f"{folder}: is one session; give a folder written by compare, sweep or population")
    if getattr(result, "interrupted", False):
        raise InputError(f"{folder}: was interrupted; run it to its end first")
    return result  # type: ignore[return-value]
