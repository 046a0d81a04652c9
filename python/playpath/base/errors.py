"""Errors with an exit status: 2 for wrong input, 1 for a run that failed, 130 for a run stopped by Ctrl-C."""

import re
from collections.abc import Iterable

_TABLES = "set|vary"
_PLAIN = "cc|scheduler|abr|seeds|jobs|paths|sessions|until_decided"


class PlaypathError(Exception):
    """An error that is shown to the user in one line, without a traceback."""

    exit_status = 1


class RunError(PlaypathError):
    """The input was valid, but the run failed."""


class Interrupted(RunError):
    """Ctrl-C came before there was a result to show."""

    exit_status = 130


class InputError(PlaypathError, ValueError):
    """The input is wrong. The message says what, where, what is allowed, and the nearest name."""

    exit_status = 2


def in_python(message: str) -> str:
    """Replace the command-line option at the start of a message by the corresponding Python argument.

    >>> in_python("--set path.rtt: is wrong")
    'set["path.rtt"]: is wrong'
    """
    message = re.sub(rf"^--({_TABLES}) (.+?)(?=: )", r'\1["\2"]', message)
    return re.sub(rf"^--({_PLAIN})(?=: )", r"\1", message)


def as_typed(message: str) -> str:
    """Replace the Python arguments in a message by the corresponding command-line options.

    >>> as_typed('set["path.rtt"]: is wrong')
    '--set path.rtt: is wrong'
    >>> as_typed("until_decided 4: must be above 8")
    '--most 4: must be above 8'
    """
    message = message.replace('set["verdict.prefer"]', "--prefer")  # the option that sets this key
    message = re.sub(rf'\b({_TABLES})\["(.+?)"\]', r"--\1 \2", message).replace("give `cc`", "give --cc")
    found = re.match(rf"({_PLAIN}|{_TABLES})(?=: | -?\d+: )", message)
    if not found:
        return message
    name = {"until_decided": "most"}.get(found[0], found[0])  # on the command line --most takes the number
    return f"--{name}{message[found.end() :]}"


def unknown_name(what: str, name: str, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in `allowed`, with the nearest one; the engine makes the sentence.

    >>> str(unknown_name("sender", "cubik", ["cubic", "vegas"]))
    'unknown sender "cubik"; did you mean "cubic"? allowed: cubic, vegas'
    """
    from playpath import _engine  # engine.py imports this module

    return InputError(_engine.unknown_name(what, name, list(allowed)))
