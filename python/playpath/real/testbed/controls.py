"""Congestion controls for a run: the kernel's own, or ours, which `playpath-bpf` loads for the duration of the run."""

import json
import secrets
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playpath.real.testbed import programs
from playpath.real.testbed.errors import TestbedError, UnsupportedError
from playpath.real.testbed.processes import Child
from playpath.real.testbed.programs import JsonObject

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_OURS = "bpf:"
"""Prefix of our controls in the registry (`bpf:vegas`), as opposed to the kernel's own (`vegas`)."""


def loader() -> str:
    return programs.find("playpath-bpf")


def call(*arguments: str) -> str:
    """Run `playpath-bpf`; TestbedError with its message if it fails."""
    done = subprocess.run([loader(), *arguments], check=False, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise TestbedError(done.stderr.strip().removeprefix("playpath-bpf: "))
    return done.stdout


def built_in() -> list[str]:
    """Controls that the running kernel has."""
    return _AVAILABLE.read_text().split()


def why_missing(cc: str) -> str | None:
    """Why this machine lacks the control `cc` (by its name in the registry), in one sentence; None if it has it."""
    if cc.startswith(_OURS) or cc in built_in():
        return None
    return f"this kernel has no tcp_{cc} ready (CONFIG_TCP_CONG_{cc.upper()}; as a module: modprobe tcp_{cc})"


class ProvidedControl:
    """A control that a run's connections can use by `name`, until `end`."""

    def __init__(self, name: str, child: Child | None) -> None:
        self.name = name
        self.child = child

    def end(self) -> None:
        """Unregister the control if it was registered for the run."""
        if self.child is not None:
            self.child.end()

    def connections(self) -> list[JsonObject]:
        """The state last published by its live connections; empty for the kernel's own controls."""
        return json.loads(call("show", self.name)) if self.child is not None else []


def provide(cc: str, parameters: Mapping[str, Any], folder: Path) -> ProvidedControl:
    """The control `cc` (`reno`, or `bpf:vegas` for ours) with `parameters`; ours gets a unique name (`vegas.x7f`), so that two runs
    can each have one.
    """
    missing = why_missing(cc)
    if missing is not None:
        raise UnsupportedError(missing)
    if not cc.startswith(_OURS):
        return ProvidedControl(cc, None)
    options = [word for key, value in parameters.items() for word in ("--param", f"{key}={_text(value)}")]
    for _ in range(_TRIES - 1):
        try:
            return _load(cc.removeprefix(_OURS), options, folder)
        except _NameTakenError:
            continue
    return _load(cc.removeprefix(_OURS), options, folder)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _NameTakenError(TestbedError):
    pass


_TRIES = 5


def _load(cc: str, options: list[str], folder: Path) -> ProvidedControl:
    name = f"{cc}.{secrets.token_hex(2)[:3]}"  # the kernel allows 15 characters, and newcwvcubic has 11
    child = Child(
        "loader", [loader(), "load", cc, "--as", name, "--hold", "--until-eof", *options], folder, stdin=subprocess.PIPE
    )
    try:
        _wait_until_registered(child)
    except BaseException:
        child.end()
        raise
    return ProvidedControl(name, child)


def _wait_until_registered(child: Child, patience: float = 30.0) -> None:
    """Wait until the loader prints a line, which it does once the control is registered."""
    deadline = time.monotonic() + patience
    while not child.output.read_bytes().endswith(b"\n"):
        if child.process.poll() is not None:
            words = child.log.read_text(errors="replace").strip() or "playpath-bpf ended without a message"
            raise (_NameTakenError if "is registered" in words else TestbedError)(words.removeprefix("playpath-bpf: "))
        if time.monotonic() > deadline:
            raise TestbedError(f"playpath-bpf did not register a control within {patience} s")
        time.sleep(0.01)
