"""A run's state on disk, written before anything is created, so that `clean` can remove what a killed run left behind.

`/run/playpath/NAME/` holds `owner.json` (the process that owns the run), a line in `processes` per child, and the run's
temporary files. Everything else that belongs to the run is found by its name.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from playpath.real.testbed import namespaces
from playpath.real.testbed.errors import MissingToolError, TestbedError
from playpath.real.testbed.processes import Identity, end, identify
from playpath.real.testbed.sockdiag import Diag

FOLDER = Path("/run/playpath")
_counter = itertools.count()


@dataclass(frozen=True)
class RunState:
    """A run's name and folder."""

    name: str
    folder: Path

    @classmethod
    def new(cls) -> RunState:
        """Claim an unused name."""
        me = identify(os.getpid())
        assert me is not None
        while True:
            name = f"{namespaces.PREFIX}-{me.pid}-{next(_counter)}"
            folder, draft = FOLDER / name, FOLDER / f".{name}"
            try:
                FOLDER.mkdir(exist_ok=True)
                draft.mkdir()
                (draft / "owner.json").write_text(json.dumps({"pid": me.pid, "started": me.started}))
                draft.rename(folder)  # immediately, since a folder without an owner looks left behind
            except FileNotFoundError:  # another run that ended has just removed the empty FOLDER
                continue
            except PermissionError:
                raise MissingToolError(
                    "the kernel world needs root: it creates network namespaces and TUN devices"
                ) from None
            except OSError as error:
                raise TestbedError(f"cannot write to {FOLDER}: {error.strerror}") from None
            return cls(name, folder)

    def namespace(self, side: str) -> str:
        return f"{self.name}-{side}"

    def note(self, child: Identity) -> None:
        with (self.folder / "processes").open("a") as file:
            file.write(f"{child.pid} {child.started}\n")

    @property
    def owner(self) -> Identity | None:
        try:
            stored = json.loads((self.folder / "owner.json").read_text())
            return Identity(int(stored["pid"]), int(stored["started"]))
        except (OSError, ValueError, KeyError):
            return None

    @property
    def is_alive(self) -> bool:
        """Whether its owner is still running."""
        owner = self.owner  # read once: a run that ends now removes the file
        return owner is not None and owner.is_alive

    def children(self) -> list[Identity]:
        try:
            lines = (self.folder / "processes").read_text().splitlines()
        except OSError:
            return []
        pairs = (line.split() for line in lines)
        return [Identity(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]

    def namespaces(self) -> list[str]:
        if not namespaces.NETNS_FOLDER.exists():
            return []
        return sorted(p.name for p in namespaces.NETNS_FOLDER.iterdir() if p.name.startswith(f"{self.name}-"))

    def remove(self) -> list[str]:
        """End its processes, delete its namespaces and files. Returns one line for each item removed."""
        removed = []
        for child in self.children():
            if child.is_alive:
                end(child)
                removed.append(f"process {child.pid}")
        for name in self.namespaces():
            removed += [f"process {pid}" for pid in delete_namespace(name)]
            removed.append(f"namespace {name}")
        shutil.rmtree(self.folder, ignore_errors=True)
        removed.append(f"folder {self.folder}")
        with contextlib.suppress(OSError):  # other runs have their folders there
            FOLDER.rmdir()
        return removed


def delete_namespace(name: str) -> list[int]:
    """Delete a namespace with its processes, whose ids are returned, and its connections."""
    strays = [stray for stray in map(identify, namespaces.processes_in(name)) if stray is not None]
    for stray in strays:
        end(stray)
    with contextlib.suppress(FileNotFoundError, TestbedError):  # another run that cleans up may be faster
        diag = Diag(name)
        diag.destroy_all()
        diag.close()
    namespaces.delete(name)
    return [stray.pid for stray in strays]


def all_runs() -> list[RunState]:
    """Runs under way, and runs whose owner is gone."""
    return [RunState(folder.name, folder) for folder in _folders(f"{namespaces.PREFIX}-*")]


def clean() -> list[str]:
    """Remove what killed runs left behind. Live runs are not touched."""
    return [line for run in [*all_runs(), *_drafts()] if not run.is_alive for line in run.remove()]


def _drafts() -> list[RunState]:
    """Folders of runs that were killed before they had a name: their process is gone, or its id has been reused."""
    drafts = _folders(f".{namespaces.PREFIX}-*-*")
    return [RunState(folder.name, folder) for folder in drafts if identify(int(folder.name.split("-")[1])) is None]


def _folders(pattern: str) -> list[Path]:
    """Folders of runs; empty if the last run to end removes FOLDER in the meantime."""
    try:
        return sorted(FOLDER.glob(pattern))
    except FileNotFoundError:
        return []
