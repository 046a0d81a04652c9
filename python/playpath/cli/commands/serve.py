"""`playpath serve`: our own endpoint for stock clients. This process becomes `playpath-serve`."""

from __future__ import annotations

import typer

from playpath.cli.commands.passing import AS_TYPED, become


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", context_settings=AS_TYPED)(command)


def command(context: typer.Context) -> None:
    """Serve a folder with the simulator's own TCP and MPTCP: any control and scheduler; `playpath serve --help` says how."""
    from playpath.real.testbed.wire import program

    become(program(), context.args or ["--help"])
