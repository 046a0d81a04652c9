"""The commands, one module each: with a function `command`, or a group `commands`. A new one is a file and a line in `GROUPS`."""

import gc
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

AS_TYPED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of a command that is a separate program: all arguments, `--help` included, belong to the program."""

GROUPS = {
    "Ask": {
        "demo": "Rank six senders on a lossy path and write a report.",
        "init": "Write a scenario of your own, from a few answers.",
        "compare": "Rank the senders of a scenario.",
        "population": "Answer for many paths and viewers, or from your logs.",
        "sweep": "Run a design of many points, senders and seeds.",
        "tune": "Find parameters of a congestion control.",
        "explore": "Change a path in the browser and watch the senders.",
    },
    "Look": {
        "run": "Run one session and print its metrics, flows, links.",
        "report": "Draw one self-contained HTML file from stored results.",
        "show": "Show a scenario on one page, with every default.",
        "list": "List controls, schedulers, queues, players, metrics.",
        "help": "Explain a key of a scenario, or a metric.",
        "convert": "Recognise, check, preview and convert traces.",
        "schema": "Print the JSON Schema of a scenario, for editors.",
    },
    "Keep": {
        "export": "Bundle an experiment into one archive.",
        "verify": "Play an archive again and compare.",
        "reproduce": "Play what a paper's claims look at, and judge them.",
    },
    "Real networks": {
        "twin": "Run a scenario in both worlds, simulator and kernel.",
        "serve": "Serve a folder with our TCP, MPTCP and QUIC.",
        "testbed": "The kernel world: clean up, show, calibrate, run.",
        "cc": "Load, list, show, set, unload kernel controls.",
    },
    "Your own": {
        "doctor": "Say what this machine can run, and what is missing.",
        "completions": "Print the Tab completion of bash, zsh or fish.",
    },
}
"""What `playpath --help` shows; a command's own help is imported with its module. Each text fits a line of 80 characters."""

COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}

EXAMPLES = {
    "playpath demo": "a report in seconds",
    "playpath compare wireless --cc cubic,bbr3": "a shipped path, your senders",
    "playpath init evening.toml": "a path of your own",
}


class Stopped(Exception):
    """Ctrl-C during a command; the parser would turn a KeyboardInterrupt into a silent exit."""


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called: `--help` needs none of them."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as ctrl_c:
            raise Stopped from ctrl_c

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, the most used first."""
        return [*COMMANDS]  # the name `list` is a command in this module

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        app = typer.Typer(rich_markup_mode=None)
        # A callback makes it a group even with a single command.
        app.callback()(lambda: None)
        module: Any = import_module(f"{__name__}.{cmd_name}")
        if hasattr(module, "commands"):
            app.add_typer(module.commands, name=cmd_name)
        else:
            app.command(cmd_name, context_settings=getattr(module, "SETTINGS", None))(module.command)
        if not gc.isenabled():  # disabled by `__main__` during imports
            gc.freeze()  # later collections skip the imported objects
            gc.enable()
        return typer.main.get_group(app).commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command called; for a wrong name an error with the nearest one."""
        names: Any = dict.fromkeys(COMMANDS)  # only used to find the name nearest to a wrong one
        self.commands = names
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The names with what they do, grouped by purpose."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([*commands.items()])
        with formatter.section("Examples"):
            formatter.write_dl([*EXAMPLES.items()], col_max=50)
