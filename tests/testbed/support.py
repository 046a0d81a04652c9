"""What the tests of the kernel world share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playpath.testbed import controls, namespaces, state

FAST = {
    "name": "path",
    "rate": "20 Mbit/s",
    "rtt": "20 ms",
    "loss": None,
    "queue": {"kind": "droptail", "limit": "50 kB"},
}


def traces() -> dict[str, list[str]]:
    """What runs of ours could leave behind on this machine; others may work on it at the same time."""
    namespace_folder = namespaces.NETNS_FOLDER
    present = os.listdir(namespace_folder) if namespace_folder.exists() else []
    return {
        "namespaces": sorted(name for name in present if name.startswith(f"{namespaces.PREFIX}-")),
        "folders": sorted(p.name for p in state.FOLDER.iterdir()) if state.FOLDER.exists() else [],
        "controls": sorted(controls.built_in()),
        "devices": sorted(name for name in os.listdir("/sys/class/net") if name.rstrip("0123456789") in ("down", "up")),
        "processes": sorted(_ours()),
    }


def _ours() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            name = (path / "comm").read_text().strip()
            command = (path / "cmdline").read_bytes().decode(errors="replace")
            is_zombie = ") Z " in (path / "stat").read_text()  # of a killed parent, if init collects nothing
        except OSError:
            continue
        of_a_run = name in ("playpath-bpf", "playpath-client") or f"{state.FOLDER}/" in command
        if of_a_run and not is_zombie:
            yield f"{path.name} {name}"


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
