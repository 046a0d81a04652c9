"""Child processes of a run: their output is kept, and they are ended by an id that cannot be confused with a reused one."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from playpath.real.testbed.errors import MissingToolError, TestbedError

_PRIORITY = 5
"""SCHED_FIFO priority, below the emulator's 10 (`crates/emulator/src/sys.rs`)."""


@dataclass(frozen=True)
class Identity:
    """A process id with its start time, to detect a reused id."""

    pid: int
    started: int

    @property
    def is_alive(self) -> bool:
        """Whether this process is still running (a zombie is not)."""
        stat = _stat(self.pid)
        return stat is not None and stat[1] == self.started and stat[0] not in "ZX"


def identify(pid: int) -> Identity | None:
    stat = _stat(pid)
    return None if stat is None else Identity(pid, stat[1])


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start time in clock ticks since boot."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[19])


def end(identity: Identity, patience: float = 2.0) -> None:
    """End a process: SIGTERM, then SIGKILL if it does not react."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not identity.is_alive:
            return
        try:
            os.kill(identity.pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience
        while identity.is_alive and time.monotonic() < deadline:
            time.sleep(0.01)


def _run_before_others(pid: int) -> None:
    """Give a process, and whatever it starts from now on, precedence over ordinary ones, if that is allowed.

    The link emulator keeps a higher priority, or SCHED_DEADLINE. On a busy machine an ordinary server or player waits for a processor
    while its link is punctual: with that wait, Compound over three paths stalled for 0.7 to 1.6 s more than without it.
    """
    with contextlib.suppress(OSError):
        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(_PRIORITY))


class Child:
    """A child process whose output goes to a log file."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        *,
        stdin: int | None = subprocess.DEVNULL,
        realtime: bool = False,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.output = folder / f"{name}.out"
        self._files: list[IO[bytes]] = []
        try:
            self._files = [self.output.open("wb"), self.log.open("wb")]
            self.process = subprocess.Popen(
                command, stdin=stdin, stdout=self._files[0], stderr=self._files[1], start_new_session=True
            )
        except FileNotFoundError as error:
            self._close()
            raise MissingToolError(f"{error.filename} is missing (bpf/setup.sh names the packages)") from None
        except OSError as error:
            self._close()
            raise TestbedError(f"cannot start {name}: {error}") from None
        if realtime:
            _run_before_others(self.process.pid)
        found = identify(self.process.pid)
        self.identity = found if found is not None else Identity(self.process.pid, 0)

    def words(self, lines: int = 5) -> str:
        """Its last lines on standard error, joined into one."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return ""
        said = " | ".join(text.strip().splitlines()[-lines:])
        # A program that could not write its message may have failed for the same reason.
        if not said and os.statvfs(self.log.parent).f_bavail == 0:
            return f"no space left in {self.log.parent}"
        return said

    def check(self) -> None:
        """Raise TestbedError if it has ended."""
        status = self.process.poll()
        if status is not None:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            raise TestbedError(f"{self.name} {how}" + (f": {self.words()}" if self.words() else ""))

    def wait_until_ready(self, patience: float = 5.0) -> None:
        """Wait until it has printed its first line."""
        deadline = time.monotonic() + patience
        while b"\n" not in self.output.read_bytes():
            self.check()
            if time.monotonic() > deadline:
                raise TestbedError(f"{self.name} is not ready after {patience:g} s: {self.words()}")
            time.sleep(0.01)

    @property
    def is_stopped(self) -> bool:
        """Whether it is stopped by a signal (or a debugger)."""
        stat = _stat(self.process.pid)
        return stat is not None and stat[0] in "Tt"

    def end(self) -> None:
        """End it and everything in its process group (a browser's helpers), and reap it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.returncode is None:
            end(self.identity)  # not reaped yet, so that its id, which is also its group's, cannot have been reused
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def _close(self) -> None:
        for file in self._files:
            file.close()
