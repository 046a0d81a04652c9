"""`playpath serve`: our own endpoint for ordinary clients. This process is replaced by `playpath-serve`."""

import os
import sys

import typer

_DEMO = "--demo"
SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Of a command that is a separate program: all arguments, `--help` included, belong to the program."""


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
