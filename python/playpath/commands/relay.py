"""`playpath relay`: one stream over several TCP connections. This process becomes `playpath-relay`."""

from __future__ import annotations

import os
import sys

import typer

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("relay", context_settings=_ANYTHING)(command)


def command(context: typer.Context) -> None:
    """Carry a stream over several paths, a TCP connection each, with our schedulers: `playpath relay help` says how."""
    from playpath.testbed.relay import program

    path = program()
    sys.stdout.flush()
    # Not a child: signals, and how it ends, are the relay's own.
    os.execv(path, [path, *(context.args or ["help"])])
