"""`playpath cc`: our congestion controls in this machine's kernel. Hands everything to `playpath-bpf`."""

from __future__ import annotations

import subprocess

import typer

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cc", context_settings=_ANYTHING)(command)


def command(context: typer.Context) -> int:
    """Load, list, show, set and unload kernel congestion controls: `playpath cc help` says how."""
    from playpath.testbed.controls import loader

    return subprocess.run([loader(), *(context.args or ["help"])], check=False).returncode
