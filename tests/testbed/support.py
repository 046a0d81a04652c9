"""What the tests of the kernel world share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playpath.real.testbed import controls, namespaces, state

FAST = {
    "name": "path",
    "rate": "20 Mbit/s",
    "rtt": "20 ms",
    "loss": None,
    "queue": {"kind": "droptail", "limit": "50 kB"},
}


def traces() -> dict[str, list[str]]:
    """What runs of ours could leave behind on this machine. Runs of other programs, which go on beside, are left out."""
    strangers = [
        run for run in state.all_runs() if run.owner is not None and run.is_alive and not _is_ours(run.owner.pid)
    ]
    names = tuple(f"{run.name}-" for run in strangers)
    namespace_folder = namespaces.NETNS_FOLDER
    present = os.listdir(namespace_folder) if namespace_folder.exists() else []
    folders = sorted(p.name for p in state.FOLDER.iterdir()) if state.FOLDER.exists() else []
    theirs = {name for run in strangers for name in _controls_of(run)}
    return {
        "namespaces": sorted(n for n in present if n.startswith(f"{namespaces.PREFIX}-") and not n.startswith(names)),
        "folders": [name for name in folders if name not in {run.name for run in strangers} and _may_be_ours(name)],
        # Those of runs have a suffix; what somebody loaded for the whole machine has none.
        "controls": sorted({name for name in controls.built_in() if "." in name} - theirs),
        "devices": sorted(name for name in os.listdir("/sys/class/net") if name.rstrip("0123456789") in ("down", "up")),
        "processes": sorted(f"{pid} {name}" for pid, name in _ours()),
        "pinned": sorted(_pinned()),
    }


def _may_be_ours(folder: str) -> bool:
    """A folder that is not named yet (`.pp-PID-N`) is of the process in its name."""
    pid = folder.split("-")[1] if folder.startswith(".") else None
    return pid is None or not Path(f"/proc/{pid}").exists() or _is_ours(int(pid))


def _pinned() -> list[str]:
    """Files of eBPF objects that bear our name, where the file system for them is mounted."""
    folder = Path("/sys/fs/bpf")
    return [str(path) for path in folder.rglob("*") if "playpath" in path.name] if folder.exists() else []


def _is_ours(pid: int) -> bool:
    """Whether a process is this one or descends from it."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def _controls_of(run: state.RunState) -> Iterator[str]:
    try:
        yield str(json.loads((run.folder / "loader.out").read_text())["registered"])
    except (OSError, ValueError):
        return


# Every program that a test starts inherits it, also one that outlives its parent.
os.environ["PLAYPATH_TESTS"] = str(os.getpid())


def _ours() -> Iterator[tuple[int, str]]:
    """Programs that the tests of this process have started."""
    mark = f"PLAYPATH_TESTS={os.getpid()}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            is_marked = mark in (path / "environ").read_bytes().split(b"\0")
            is_zombie = ") Z " in (path / "stat").read_text()  # of a killed parent, if init collects nothing
        except OSError:
            continue
        if is_marked and not is_zombie and int(path.name) != os.getpid():
            yield int(path.name), name


def scenario(**changes: Any) -> dict[str, Any]:
    """A clip of 1.5 s at 4 Mbit/s over 20 Mbit/s."""
    return {
        "name": "short",
        "video": {"rate": "4 Mbit/s", "duration": "1.5 s", "fps": 30, "seed": 1},
        "player": {"kind": "progressive", "buffer": "500 ms"},
        "path": [FAST],
        "link": [],
        "traffic": [],
        "run": {"duration": None, "seeds": 1},
    } | changes


def sender(cc: str, **changes: Any) -> dict[str, Any]:
    """A resolved sender."""
    return {"name": cc, "cc": {"name": cc}, "validation": "none", "pacing": "off", "mss": 1448} | changes
