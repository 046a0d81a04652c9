"""`playpath completions`: what makes a shell complete playpath's commands, options and names."""

from typing import Annotated

import typer

from playpath.base.errors import unknown_name
from playpath.cli.commands import completing

_SHELLS = ("bash", "zsh", "fish")


def command(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=completing.words(*_SHELLS))
    ],
) -> None:
    """Print the script that completes commands, options, scenarios and controls at the Tab key.

    bash: eval "$(playpath completions bash)" in ~/.bashrc

    zsh: eval "$(playpath completions zsh)" in ~/.zshrc, after compinit

    fish: playpath completions fish > ~/.config/fish/completions/playpath.fish
    """
    if shell not in _SHELLS:
        raise unknown_name("shell", shell, _SHELLS)
    from typer._completion_shared import get_completion_script

    print(get_completion_script(prog_name="playpath", complete_var="_PLAYPATH_COMPLETE", shell=shell))
