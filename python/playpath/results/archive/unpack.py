"""Open an untrusted archive: nothing is written outside its folder, and its size is bounded."""

import errno
import hashlib
import json
import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import cast

from playpath.base.errors import InputError, RunError
from playpath.base.files import is_special
from playpath.results.archive.bundle import FORMAT, MANIFEST, Manifest

MAX_FILES = 10_000
MAX_BYTES = 2_000_000_000
_MAX_MANIFEST = 20_000_000
_CHUNK = 1 << 20
_VERSIONS = ("playpath_version", "engine_version")


def unpack(archive: Path, folder: Path) -> Manifest:
    """Unpack an archive into an empty folder, check every file against its SHA-256, and return the manifest."""
    if is_special(archive):
        raise InputError(f"{archive}: is a device, a pipe or a socket; give an archive of `playpath export`")
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = {entry.filename: entry for entry in _safe(opened)}
            manifest = _manifest(opened, entries)
            left = MAX_BYTES
            for name, wanted in manifest["files"].items():
                left -= _extract(opened, entries[name], folder / name, wanted, left)
    except InputError as error:
        raise InputError(f"{archive}: {error}") from None
    except IsADirectoryError:
        raise InputError(f"{archive}: is a folder; `playpath export {archive}` makes the archive to verify") from None
    except FileNotFoundError:
        raise InputError(f"{archive}: no such file; give an archive of `playpath export`") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            raise RunError(f"cannot unpack {archive} in {folder.parent}: {reason}") from None
        raise InputError(f"{archive}: is not a playpath archive, or damaged ({reason})") from None
    return manifest


def _safe(opened: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """The entries; InputError unless each is a plain file with a unique path inside the folder."""
    found = opened.infolist()
    if len(found) > MAX_FILES:
        raise InputError(f"holds {len(found)} files; allowed: up to {MAX_FILES}")
    if sum(entry.file_size for entry in found) > MAX_BYTES:
        raise InputError(f"holds more than {MAX_BYTES // 10**9} GB")
    seen: set[str] = set()
    for entry in found:
        path = PurePosixPath(entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if not path.parts:  # "", "." and "./"
            raise InputError(f"'{entry.filename}' is not a file name")
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename or ":" in path.parts[0]:
            raise InputError(f"'{entry.filename}' would leave the folder")
        if entry.is_dir() or kind not in (0, stat.S_IFREG) or entry.filename != str(path):
            raise InputError(f"'{entry.filename}' is not a plain file")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"'{entry.filename}' uses another compression method; allowed: stored, deflated")
        if entry.filename in seen:
            raise InputError(f"'{entry.filename}' occurs twice")
        seen.add(entry.filename)
        yield entry


def _manifest(opened: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> Manifest:
    if MANIFEST not in entries:
        raise InputError(f"is not a playpath archive: {MANIFEST} is missing")
    with opened.open(entries[MANIFEST]) as file:
        content = file.read(_MAX_MANIFEST + 1)
    if len(content) > _MAX_MANIFEST:
        raise InputError(f"{MANIFEST} is larger than {_MAX_MANIFEST // 10**6} MB")
    try:
        found = json.loads(content)
        version, files = found["format"], found["files"]
        listed = {str(name): str(wanted) for name, wanted in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{MANIFEST} is damaged") from None
    if version != FORMAT:
        raise InputError(f"has format {version}, which this version does not support; allowed: {FORMAT}")
    made = found.get("made_with")
    if not isinstance(made, dict) or not all(isinstance(made.get(key), str) for key in _VERSIONS):
        raise InputError(f"{MANIFEST} is damaged: `made_with` must hold {' and '.join(_VERSIONS)} as text")
    if not isinstance(found.get("digest"), str):
        raise InputError(f"{MANIFEST} is damaged: `digest` must be text")
    if odd := sorted(entries.keys() - listed.keys() - {MANIFEST}) or sorted(listed.keys() - entries.keys()):
        raise InputError(f"'{odd[0]}' is {'not listed' if odd[0] in entries else 'missing'}")
    return cast("Manifest", {**found, "files": listed})


def _extract(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, wanted: str, most: int) -> int:
    """Write one file and return its length. The length in its header is not trusted."""
    target.parent.mkdir(parents=True, exist_ok=True)
    length, checksum = 0, hashlib.sha256()
    with opened.open(entry) as source, target.open("xb") as file:
        while part := source.read(_CHUNK):
            length += len(part)
            if length > min(most, entry.file_size):
                raise InputError(f"'{entry.filename}' is larger than it says")
            checksum.update(part)
            file.write(part)
    if checksum.hexdigest() != wanted:
        raise InputError(f"'{entry.filename}' has been changed: its SHA-256 is not the one in {MANIFEST}")
    return length
