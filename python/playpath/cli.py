"""The command line: `playpath`.

Exit status: 0 done, 1 the run failed, 2 the input is wrong, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Annotated, Any

import typer

from playpath.commands import Commands
from playpath.errors import InputError, PlaypathError

app = typer.Typer(
    name="playpath",
    cls=Commands,
    rich_markup_mode=None,  # help is text: brackets are brackets
    help="On this network path, which sender keeps the viewer's video playing?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The parser's own error for a wrong command line; typer exports only this subclass of it.
_UsageError: Any = typer.BadParameter.__mro__[1]


def _print_version(wanted: bool) -> None:
    if wanted:
        from playpath import __version__, engine

        print(f"playpath {__version__} (engine {engine.version()})")
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
            _tell(f"error: {error.format_message()}")
        status = InputError.exit_status
    except PlaypathError as error:
        _tell(f"error: {error}")
        status = error.exit_status
    except KeyboardInterrupt:
        _tell("interrupted")
        status = 130
    except SystemExit as error:  # SIGTERM, SIGHUP
        status = error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:
        # The reader has seen enough (`playpath … | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _leave(status)


def _tell(text: str) -> None:
    from playpath import console  # rich and polars take their time

    console.message(text)


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
