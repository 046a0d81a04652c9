"""The command line: `playpath`.

Exit status: 0 done, 1 the run failed, 2 the input is wrong, 130 stopped by Ctrl-C.
"""

import io
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from itertools import pairwise
from typing import Annotated, Any, TextIO, cast

import typer

from playpath.base.errors import InputError, PlaypathError, RunError, as_typed
from playpath.base.printing import AnswersOnly
from playpath.cli.commands import Commands, Stopped

_COMPLETE = "_PLAYPATH_COMPLETE"
_LONG_VALUE = re.compile(r"(\S{100})\S{150,}(\S{50})")
"""Of what somebody gave, which an error repeats: its beginning and its end are enough."""

app = typer.Typer(
    name="playpath",
    cls=Commands,
    rich_markup_mode=None,  # help texts are plain text, in which brackets mean nothing
    help="On this network path, which sender keeps the viewer's video playing?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# The parser's base class of errors in a command line; typer exports only this subclass of it.
_UsageError: Any = typer.BadParameter.__mro__[1]


def _print_version(wanted: bool) -> None:
    if wanted:
        from playpath import __version__
        from playpath.base import engine

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
    _prepare_streams()
    status = 0
    try:
        if _COMPLETE in os.environ:  # the shell asks for completions
            from typer._completion_classes import completion_init

            completion_init()
        _check_none_is_empty(sys.argv)
        # The status of an Exit or of a separate program; or what a command returns to another one that calls it.
        ended = app(standalone_mode=False)
        status = ended if isinstance(ended, int) else 0
        sys.stdout.flush()
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # not exported by typer either
            print(error.format_message())
        else:
            message = error.format_message()
            hint = "; a list has commas and no spaces: --cc cubic,bbr" if "unexpected extra argument" in message else ""
            _print_error(f"error: {_number_of_seeds(sys.argv) or message + hint}")
            status = InputError.exit_status
    except PlaypathError as error:
        _print_error(f"error: {as_typed(str(error))}")
        status = error.exit_status
    except (KeyboardInterrupt, Stopped):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C ends the command without a message
        _print_error("interrupted")
        status = 130
    except SystemExit as error:  # SIGTERM, SIGHUP
        status = error.code if isinstance(error.code, int) else 1
    except BrokenPipeError:
        _drop(sys.stdout)  # the reader has seen enough (`playpath … | head`)
    except BaseException as error:  # a panic of the engine is no Exception
        status = RunError.exit_status
        if isinstance(error, OSError) and error.filename is None:
            _print_error(f"error: cannot write the output: {error.strerror or error}")
            _drop(sys.stdout)
        else:
            _print_error(_last_resort(error))
    _leave(status)


def _number_of_seeds(given: list[str]) -> str:
    """A hint for those who give `--until-decided` a number, which earlier versions took; otherwise empty."""
    option = "--until-decided"
    numbers = [after for before, after in pairwise(given) if before == option and after.isdecimal()]
    return f"{option} {numbers[0]}: takes no number; write {option} --most {numbers[0]}" if numbers else ""


def _check_none_is_empty(given: list[str]) -> None:
    """Refuse an empty option value: usually a script's unset variable, which as a path would mean the current folder."""
    for before, after in pairwise([*given, "-"]):
        option, equals, value = before.partition("=")
        if option.startswith("--") and (not after or (equals and not value)):
            raise InputError(f"{option}: its value is empty; write one, or leave {option} out")


def _print_error(text: str) -> None:
    text = _LONG_VALUE.sub(lambda found: f"{found[1]}…{found[2]} ({len(found[0])} characters)", text)
    try:
        from playpath.show import console  # rich and polars take their time
    except Exception:  # they may be what failed (no memory, no threads, a missing file)
        sys.stderr.write(text.encode("unicode_escape").decode() + "\n")
    else:
        console.message(text)


def _prepare_streams() -> None:
    """Keep closed streams, and encodings that lack a character, from causing failures."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, "r" if name == "stdin" else "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", AnswersOnly(sys.stdout))


def _drop(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _last_resort(error: BaseException) -> str:
    """One line for an unforeseen error; the traceback goes into a file."""
    what = f"error: {type(error).__name__}: {error}"
    try:
        with tempfile.NamedTemporaryFile("w", prefix="playpath-", suffix=".log", delete=False, errors="replace") as log:
            log.write("".join([" ".join(sys.argv), "\n", *traceback.format_exception(error)]))
    except OSError:
        return what
    return f"{what}; this is a bug in playpath; details are in {log.name}"


def _flush_stderr() -> None:
    """Drop output that cannot be written; left in the buffer, it would make the interpreter exit with status 120."""
    try:
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


def _leave(status: int) -> None:
    """Exit. Sessions dropped by a second Ctrl-C are still computing, and the interpreter cannot end their threads cleanly."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C from here on would show a traceback
    if threading.active_count() > 1:
        # Network namespaces and processes outlive the threads. (The module is loaded only if there may be any.)
        if (bed := sys.modules.get("playpath.real.testbed.bed")) is not None:
            bed.close_all()
        sys.stdout.flush()
        _flush_stderr()
        os._exit(status)
    _flush_stderr()
    sys.exit(status)
