"""`playpath serve`: our own endpoint for ordinary clients. This process is replaced by `playpath-serve`."""

import os
import sys

import typer

from playpath.cli.commands import AS_TYPED

_DEMO = "--demo"
SETTINGS = AS_TYPED


def command(context: typer.Context) -> None:
    """Serve a folder with the simulator's own TCP, MPTCP or QUIC (`--demo`: a film to watch); see `playpath serve --help`."""
    from playpath.real.testbed.wire import program
    from playpath.show import console

    words = list(context.args) or ["--help"]
    if _DEMO in words:
        from playpath.real.testbed import media

        words = [str(media.demo(console.message)), *(word for word in words if word != _DEMO)]
    sys.stdout.flush()
    os.execv(program(), [program(), *words])  # signals reach it, and its exit status is ours
