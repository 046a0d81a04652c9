"""Tests on the real kernel. Each says why it is skipped where a right or a program is missing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import traces

from playpath.real.testbed import controls, emulator, runner
from playpath.real.testbed.errors import MissingToolError

_SHORT = """
[video]
rate = "4 Mbit/s"
duration = "1.5 s"
[player]
kind = "progressive"
buffer = "500 ms"
[[path]]
name = "wifi"
rate = "20 Mbit/s"
rtt = "20 ms"
[run]
seeds = {seeds}
"""


@pytest.fixture
def short_scenario(tmp_path: Path) -> Callable[..., Path]:
    """Writes a short video over one path into a file, for senders as TOML has them."""

    def write(*senders: str, seeds: int = 1) -> Path:
        file = tmp_path / "short.toml"
        file.write_text(_SHORT.format(seeds=seeds) + "".join(f"[[sender]]\ncc = {cc}\n" for cc in senders))
        return file

    return write


_PROGRAMS: dict[str, Callable[[], object]] = {
    "emulator": emulator.program,
    "controls": controls.loader,
    "client": runner.client,
}


@pytest.fixture(autouse=True, scope="module")
def _needs(request: pytest.FixtureRequest) -> None:
    """Skip where the tests of a module cannot run. A module says in ``NEEDS`` which programs it takes; without that, all."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if not Path("/dev/net/tun").exists():
        pytest.skip("no /dev/net/tun")
    needs = getattr(request.module, "NEEDS", tuple(_PROGRAMS))
    if "controls" in needs and not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)")
    try:
        for program in needs:
            _PROGRAMS[program]()
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After a test there is nothing that was not there before it."""
    before = traces()
    yield
    # A run of other people's that has just ended is no stranger any more, while the kernel still takes its control away.
    patience = time.monotonic() + 60
    while (left := _new(traces(), before)) and time.monotonic() < patience:
        time.sleep(0.1)
    assert left == {}


def _new(traces: dict[str, list[str]], before: dict[str, list[str]]) -> dict[str, list[str]]:
    """What was not there before. What other people's runs took away meanwhile is not missed."""
    new = {kind: sorted(set(there) - set(before[kind])) for kind, there in traces.items()}
    return {kind: names for kind, names in new.items() if names}
