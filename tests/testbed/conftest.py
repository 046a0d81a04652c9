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
    """What there is before a test is there after it, and nothing else."""
    before = traces()
    yield
    assert traces() == before
