"""`playpath serve`: our own endpoint for stock clients. This process becomes `playpath-serve`."""

from __future__ import annotations

import os
import sys

import typer

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", context_settings=_ANYTHING)(command)


def command(context: typer.Context) -> None:
    """Serve a folder with the simulator's own TCP and MPTCP: any control and scheduler; `playpath serve --help` says how."""
    from playpath.testbed.wire import program

    path = program()
    sys.stdout.flush()
    # Not a child: signals, and how it ends, are the server's own.
    os.execv(path, [path, *(context.args or ["--help"])])
