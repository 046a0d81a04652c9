"""The commands: one module each, with a `register(app)`. A new command is a file here and a name in `MODULES`."""

from __future__ import annotations

from importlib import import_module

import typer

MODULES = (
    "compare",
    "population",
    "twin",
    "run",
    "report",
    "list",
    "doctor",
    "sweep",
    "tune",
    "relay",
    "reproduce",
    "convert",
    "testbed",
    "cc",
)


def register_all(app: typer.Typer) -> None:
    """Add every command to the application."""
    for name in MODULES:
        import_module(f"{__name__}.{name}").register(app)
