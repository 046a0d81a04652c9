"""Output folders and files: checked before a run, written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playpath.base.errors import InputError, RunError

if TYPE_CHECKING:  # importing it takes 0.1 s, and `--version` does not need it
    import polars as pl

_MAX_BYTES = 200_000_000
"""Of a file that is read as a whole."""
RESULTS = frozenset(
    f"{kind}.json" for kind in ["comparison", "record", "sweep", "population", "tune", "twin", "claims", "question"]
)
"""The files by which stored results are found again; beside them stand their tables, `*.parquet`."""


def check_writable(folder: Path, option: str = "--out") -> None:
    """Make sure that `folder`, given by `option`, can be made and written to, without making it."""
    _check_name(folder, option)
    if os.path.lexists(folder) and not folder.is_dir():  # a link to nothing, too, is in the way
        raise InputError(f"{option} {folder}: exists and is not a folder")
    parent = folder
    while not os.path.lexists(parent):
        parent = parent.parent
    if not parent.is_dir():
        raise InputError(f"{option} {folder}: {parent} is not a folder")
    try:
        # Only an attempt tells: os.access grants root everything, even on a read-only file system.
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{option} {folder}: cannot write in {parent} ({reason}); give another folder") from None


def check_file(path: Path, option: str, inputs: Iterable[Path] = ()) -> None:
    """Make sure that the file `path`, given by `option`, can be written, in a folder that may yet have to be made, and takes the place of
    no stored result and of none of `inputs`, which the command reads.
    """
    _check_name(path, option)
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; give a file")
    if is_special(path):
        raise InputError(f"{option} {path}: is a device, a pipe or a socket; give a file")
    if path.name in RESULTS or path.suffix == ".parquet":
        raise InputError(f"{option} {path}: is a name of stored results, which are kept; give another file")
    if path.exists() and any(os.path.exists(read) and path.samefile(read) for read in inputs):
        raise InputError(f"{option} {path}: is what the command reads, and is kept; give another file")
    check_writable(path.parent, option)


def _check_name(path: Path, option: str) -> None:
    """Report a name that is too long for the file system or lies in an unreadable folder as an input error."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        name = str(path) if len(str(path)) < 80 else f"{str(path)[:77]}…"
        raise InputError(f"{option} {name}: {(error.strerror or str(error)).lower()}; give another name") from None


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A temporary path next to `path`; it replaces `path` when the block succeeds and is removed when it fails."""
    if is_special(path):  # root would replace it with a regular file
        raise RunError(f"cannot write {path}: is a device, a pipe or a socket")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from None


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """Write a Parquet file, whole or not at all."""
    content = io.BytesIO()  # polars reports a full disk in several ways, some of which do not say so
    frame.write_parquet(content)
    with replaced(path) as temporary:
        temporary.write_bytes(content.getbuffer())


_BEGIN_FORMULAS = (*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20")


def text_cell(text: str) -> str:
    """Make a CSV cell that a spreadsheet treats as text.

    Third parties control what logs contain, and `=`, `+`, `-` and `@`, also in full width, begin formulas (OWASP, CSV Injection).

    >>> text_cell("=1+1"), text_cell("-"), text_cell("-5"), text_cell("a=b")
    ("'=1+1", '-', '-5', 'a=b')
    """
    if not text.startswith(_BEGIN_FORMULAS) or text == "-":  # logs write "-" for "not known"
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def is_special(path: Path) -> bool:
    """Whether it is a device, a pipe or a socket, which may never end."""
    return path.exists() and not path.is_file() and not path.is_dir()


def read_text(path: Path, *, where: str = "", remedy: str = "") -> str:
    """Read the text of a regular file; others are refused."""
    try:
        if path.is_dir():
            reason = "is a folder"
        elif is_special(path):
            reason = "is a device, a pipe or a socket"
        elif path.stat().st_size > _MAX_BYTES:
            reason = f"is larger than {_MAX_BYTES // 10**6} MB"
        else:
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        reason = "not a text file in UTF-8"
    except (OSError, ValueError) as error:  # a name with NUL is a ValueError
        reason = (getattr(error, "strerror", None) or str(error)).lower()
    raise InputError(f"{where}{path}: {reason}{f'; {remedy}' if remedy else ''}")


def rows_of(text: str, where: str = "", *, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV, each with its line number."""
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{where}{': ' if where else ''}line {reader.line_num}: {error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
