"""`playpath relay`: one stream over several TCP connections. This process becomes `playpath-relay`."""

from __future__ import annotations

import typer

from playpath.cli.commands.passing import AS_TYPED, become


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("relay", context_settings=AS_TYPED)(command)


def command(context: typer.Context) -> None:
    """Carry a stream over several paths, a TCP connection each, with our schedulers: `playpath relay help` says how."""
    from playpath.real.testbed.relay import program

    become(program(), context.args or ["help"])
