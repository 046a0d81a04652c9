"""Commands that are separate programs: the arguments after their name are passed on unchanged."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

AS_TYPED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of such a command: all arguments, `--help` included, belong to the program."""


def become(program: str, words: Sequence[str]) -> NoReturn:
    """Replace this process by the program, so that signals reach it and its exit status is ours."""
    sys.stdout.flush()
    os.execv(program, [program, *words])
