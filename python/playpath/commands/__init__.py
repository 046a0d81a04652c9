"""The commands: one module each, with a `register(app)`. A new command is a file here and a line in `COMMANDS`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "demo": "Rank six senders on a lossy wireless path and write a report.",
    "init": "Write a scenario of your own, from a few answers.",
    "compare": "Rank the senders of a scenario.",
    "explore": "Turn a path in the browser and see which sender keeps playing.",
    "population": "Answer for a population of paths and viewers instead of one path.",
    "twin": "Run a scenario in both worlds, the simulator and the kernel.",
    "run": "Run one session and print its metrics, flows and links.",
    "report": "Draw one self-contained HTML file from stored results.",
    "show": "Show a scenario on one page, with every default.",
    "list": "List congestion controls, schedulers, queues, players, metrics.",
    "help": "Say what a key of a scenario, sweep or population does.",
    "schema": "Print the JSON Schema of a scenario, for editors.",
    "doctor": "Say what this machine can run, and what is missing.",
    "sweep": "Run a design of many points, senders and seeds.",
    "tune": "Find parameters of a congestion control.",
    "relay": "Carry a stream over several paths, a TCP connection each.",
    "serve": "Serve a folder to stock clients with the simulator's own TCP and MPTCP.",
    "reproduce": "Run a paper's whole grid and judge its claims.",
    "export": "Bundle an experiment into one archive.",
    "verify": "Play an archive again and compare.",
    "convert": "Recognise, check, preview and convert bandwidth traces.",
    "completions": "Print the Tab completion of bash, zsh or fish.",
    "testbed": "The kernel world: clean up, show, calibrate, run a program.",
    "new": "Write the crate of a congestion control of your own.",
    "cc": "Load, list, show, set, unload kernel congestion controls.",
}
"""What `playpath --help` shows; a module's own help is imported with the module."""


class Stopped(Exception):
    """Ctrl-C, of which the parser would make an end without a word."""


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called: `--help` needs none of them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as ctrl_c:
            raise Stopped from ctrl_c

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, the most wanted first."""
        return [*COMMANDS]  # `list` is a command here

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported; None if there is no such."""
        if cmd_name not in COMMANDS:
            return None
        app = typer.Typer(rich_markup_mode=None)
        # A callback makes it a group, whatever it holds.
        app.callback()(lambda: None)
        import_module(f"{__name__}.{cmd_name}").register(app)
        return typer.main.get_group(app).commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command called; the nearest name for a wrong one."""
        names: Any = dict.fromkeys(COMMANDS)  # all that is asked of them: which is nearest to a wrong one
        self.commands = names
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The names with what they do."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])
