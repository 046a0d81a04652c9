"""The command line: `playpath`.

Exit status: 0 done, 1 the run failed, 2 the input is wrong, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Annotated, Any

import typer

from playpath import console
from playpath.commands import register_all
from playpath.errors import InputError, PlaypathError
from playpath.manifest import package_version

app = typer.Typer(
    name="playpath",
    help="On this network path, which sender keeps the viewer's video playing?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
register_all(app)

# The parser's own error for a wrong command line; typer exports only this subclass of it.
_UsageError: Any = typer.BadParameter.__mro__[1]


def _print_version(wanted: bool) -> None:
    if wanted:
        from playpath import engine

        console.out.print(f"playpath {package_version()} (engine {engine.version()})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; errors become one line on stderr and an exit status."""
    status = 0
    try:
        status = app(standalone_mode=False) or 0
    except _UsageError as error:
        if error.format_message():  # empty when help was printed for want of a command
            console.message(f"error: {error.format_message()}")
        status = InputError.exit_status
    except PlaypathError as error:
        console.message(f"error: {error}")
        status = error.exit_status
    except KeyboardInterrupt:
        console.message("interrupted")
        status = 130
    except SystemExit as error:  # SIGTERM, SIGHUP
        status = error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:
        # The reader has seen enough (`playpath … | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _leave(status)


def _leave(status: int) -> None:
    """Exit; sessions dropped by a second Ctrl-C still compute, and the interpreter cannot end their threads cleanly."""
    if threading.active_count() > 1:
        # What the threads have on the machine does not end with them. (Nothing else brings the module in.)
        if (bed := sys.modules.get("playpath.testbed.bed")) is not None:
            bed.close_all()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
