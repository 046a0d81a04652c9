"""Commands without their start: `playpath` is loaded once, and each command is a fork of the process that has it.

What a command does, prints and leaves is as in a process of its own; only the half second of processor time is saved that loading
takes. The start itself is what `test_start.py` looks at.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_PATIENCE_S = 300


class Forks:
    """The process that has it loaded."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        # -P: a command finds modules beside where it is called, not beside this file.
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, arguments: Sequence[str], folder: Path) -> tuple[int, str, str]:
        """Exit status (negative: the signal that ended it), standard output and error of `playpath` with these arguments."""
        with tempfile.TemporaryDirectory() as place:
            files = [str(Path(place, name)) for name in ("out", "err")]
            request = {"arguments": arguments, "folder": str(folder), "environment": dict(os.environ), "files": files}
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            return status, *(Path(file).read_text(encoding="utf-8") for file in files)


@cache
def forks(columns: str) -> Forks:
    """For terminals of this width, which is read when the command line is loaded."""
    return Forks(os.environ | {"COLUMNS": columns})


def _serve() -> None:
    """Fork for each line of standard input, and print how the child ended."""
    requests, answers = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "r"), (1, "w")))
    for number in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _load()
    for line in requests:
        pid = os.fork()
        if pid == 0:
            requests.close()
            answers.close()
            os._exit(_become(**json.loads(line)))
        _, status = os.waitpid(pid, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _load() -> None:
    """What commands import, out of reach of the collector, so that a fork shares its memory."""
    from playpath import cli, plots  # noqa: F401
    from playpath.cli import commands
    from playpath.show import report  # noqa: F401

    for module in pkgutil.iter_modules(commands.__path__):
        importlib.import_module(f"playpath.cli.commands.{module.name}")
    cli.app(["list", "cc", "--json"], standalone_mode=False)  # what the parser of command lines loads on its way
    gc.freeze()


def _become(arguments: list[str], folder: str, environment: dict[str, str], files: list[str]) -> int:
    """Be the command; its exit status. What is loaded is not taken down again, which would cost as much as loading it."""
    os.chdir(folder)
    columns = os.environ["COLUMNS"]
    os.environ.clear()
    os.environ.update(environment | {"COLUMNS": columns})
    for number, name in enumerate((os.devnull, *files)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    sys.path.insert(0, folder)
    sys.argv[1:] = arguments
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(_PATIENCE_S)
    from playpath.__main__ import main

    try:
        main()
        status = 0
    except SystemExit as ended:
        status = ended.code
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    _serve()
