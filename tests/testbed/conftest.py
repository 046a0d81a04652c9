"""Tests on the real kernel. Each says why it is skipped where a right or a program is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import traces

from playpath.testbed import controls, emulator, runner
from playpath.testbed.errors import MissingToolError


@pytest.fixture(autouse=True, scope="session")
def _needs() -> None:
    """Skip where the kernel world cannot run."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if not Path("/sys/kernel/btf/vmlinux").exists():
        pytest.skip("the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)")
    if not Path("/dev/net/tun").exists():
        pytest.skip("no /dev/net/tun")
    try:
        emulator.program()
        controls.loader()
        runner.client()
    except MissingToolError as error:
        pytest.skip(str(error))


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """After a test there is nothing that was not there before it."""
    before = traces()
    yield
    # What other people's runs took away meanwhile is not missed.
    assert {kind: sorted(set(left) - set(before[kind])) for kind, left in traces().items()} == {k: [] for k in before}
