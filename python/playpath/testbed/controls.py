"""Congestion controls for a run: the kernel's own, or ours, loaded by `playpath-bpf` as long as the run lasts."""

from __future__ import annotations

import difflib
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from playpath import engine
from playpath.testbed.errors import MissingToolError, TestbedError, UnsupportedError
from playpath.testbed.processes import Child

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# What scenarios call a control where Linux has another name for it.
KERNEL_NAMES = {"newreno": "reno", "reno": "reno", "cubic": "cubic", "bbr": "bbr", "vegas-linux": "vegas"}
_MODULES = ("bbr", "vegas", "westwood")
"""Linux's own controls among the simulator's that a kernel need not have."""


def loader() -> str:
    """Path of `playpath-bpf`."""
    own = os.environ.get("PLAYPATH_BPF")
    here = Path(__file__).resolve()
    built = [parent / "crates/bpfload/target/release/playpath-bpf" for parent in here.parents[2:5]]
    candidates = [own] if own else [*map(str, built), shutil.which("playpath-bpf")]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise MissingToolError("playpath-bpf is not built: `make kernel` (bpf/setup.sh installs what it needs)")


@cache
def loadable() -> dict[str, dict[str, Any]]:
    """Our controls by name, with their parameters, as `playpath-bpf list` prints them."""
    return {entry["name"]: entry for entry in json.loads(call("list"))}


def call(*arguments: str) -> str:
    """Run `playpath-bpf`; TestbedError with its words if it fails."""
    done = subprocess.run([loader(), *arguments], check=False, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise TestbedError(done.stderr.strip().removeprefix("playpath-bpf: "))
    return done.stdout


def built_in() -> list[str]:
    """Controls that the running kernel has."""
    return _AVAILABLE.read_text().split()


def native_name(cc: str) -> str | None:
    """What the kernel calls `cc` if it is to be the kernel's own. Ours go before a kernel's of the same name (vegas)."""
    native = KERNEL_NAMES.get(cc, cc)
    ours = cc not in KERNEL_NAMES and cc in loadable()
    return native if native in built_in() and not ours else None


def why_missing(cc: str) -> str | None:
    """One sentence that says why senders with `cc` cannot run on this machine; None if they can."""
    if native_name(cc) is not None or (cc not in KERNEL_NAMES and cc in loadable()):
        return None
    native = KERNEL_NAMES.get(cc, cc)
    if native in _MODULES:
        return f"{cc}: this kernel has no tcp_{native} ready (CONFIG_TCP_CONG_{native.upper()}; as a module: modprobe tcp_{native})"
    there = sorted({*loadable(), *(k for k, v in KERNEL_NAMES.items() if v in built_in())})
    near = (
        difflib.get_close_matches(cc, there, n=1)
        if cc not in {entry["name"] for entry in engine.registry("cc")}
        else []
    )
    hint = f" did you mean '{near[0]}'?" if near else ""
    return f"{cc}: Linux has no such control and it has no eBPF twin;{hint} there are: {', '.join(there)}"


class Control:
    """A control that connections of a run can use under `name`, until `end`."""

    def __init__(self, name: str, child: Child | None, warnings: list[str]) -> None:
        self.name = name
        self.child = child
        self.warnings = warnings

    def end(self) -> None:
        """Unregister what was registered for the run."""
        if self.child is not None:
            self.child.end()

    def connections(self) -> list[dict[str, Any]]:
        """What its live connections published last; empty for the kernel's own controls."""
        return json.loads(call("show", self.name)) if self.child is not None else []


def provide(cc: str, parameters: Mapping[str, float], folder: Path) -> Control:
    """The control `cc` with `parameters`; ours under a name of its own (`cc.x7f`), so that two runs can hold one.

    Raises
    ------
    TestbedError
        Neither the kernel nor we have it, or the kernel refuses it.
    """
    native = native_name(cc)
    if native is not None:
        ignored = [f"{key}={value:g}" for key, value in parameters.items()]
        warnings = [f"{native} is the kernel's own; ignored: {', '.join(ignored)}"] if ignored else []
        return Control(native, None, warnings)
    missing = why_missing(cc)
    if missing is not None:
        raise UnsupportedError(missing)
    known = loadable()
    taken = {p["name"] for p in known[cc]["params"]}
    warnings = [f"{cc}'s kernel twin does not take {key}" for key in parameters if key not in taken]
    options = [word for key, value in parameters.items() if key in taken for word in ("--param", f"{key}={value:g}")]
    for _ in range(_TRIES - 1):
        try:
            return _load(cc, options, warnings, folder)
        except _NameTakenError:
            continue
    return _load(cc, options, warnings, folder)


class _NameTakenError(TestbedError):
    pass


_TRIES = 5


def _load(cc: str, options: list[str], warnings: list[str], folder: Path) -> Control:
    name = f"{cc}.{secrets.token_hex(2)[:3]}"  # 15 characters at most, and newcwvcubic has 11
    child = Child(
        "loader", [loader(), "load", cc, "--as", name, "--hold", "--until-eof", *options], folder, stdin=subprocess.PIPE
    )
    try:
        _wait_until_registered(child)
    except BaseException:
        child.end()
        raise
    return Control(name, child, warnings)


def _wait_until_registered(child: Child, patience: float = 30.0) -> None:
    """The loader prints a line once the control is registered."""
    deadline = time.monotonic() + patience
    while not child.output.read_bytes().endswith(b"\n"):
        if child.process.poll() is not None:
            words = child.log.read_text(errors="replace").strip() or "playpath-bpf ended without a word"
            raise (_NameTakenError if "is registered" in words else TestbedError)(words.removeprefix("playpath-bpf: "))
        if time.monotonic() > deadline:
            raise TestbedError(f"playpath-bpf did not register a control within {patience} s")
        time.sleep(0.01)
