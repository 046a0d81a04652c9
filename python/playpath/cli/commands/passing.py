"""Commands that are programs of their own: what follows their name is handed on as it is."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

AS_TYPED = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
"""Settings of a command whose words are the program's, `--help` too."""


def become(program: str, words: Sequence[str]) -> NoReturn:
    """This process becomes the program. Not a child: signals, and how it ends, are the program's own."""
    sys.stdout.flush()
    os.execv(program, [program, *words])
