"""The Tab key in the shells themselves; a shell that is not installed is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
ASK = {
    # What bash does at Tab: call the function that was registered, and read COMPREPLY.
    "bash": """
eval "$(playpath completions bash)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_playpath_completion playpath; printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "fish": """
playpath completions fish | source
complete --do-complete '{words}'
""",
    # zsh completes only while a line is being edited; what it would offer is in the arguments of _arguments.
    "zsh": """
compdef() {{ true }}
_arguments() {{ print -l -- $@ }}
_files() {{ true }}
eval "$(playpath completions zsh)"
words=({words}); CURRENT=${{#words}}
_playpath_completion
""",
}


def complete(shell: str, words: str, cwd: Path) -> str:
    """What the shell offers after these words."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    script = ASK[shell].format(words=words)
    done = subprocess.run(
        [shell, *flags, "-c", script], capture_output=True, text=True, cwd=cwd, env={**os.environ, "PATH": PATH}
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_commands_options_and_names(shell, tmp_path):
    for words, wanted, unwanted in (
        ("playpath rep", ("report", "reproduce"), ("run",)),
        ("playpath compare --unt", ("--until-decided",), ("--cc",)),
        ("playpath compare wireless --cc cubic,bb", ("cubic,bbr", "cubic,bbr3"), ("cubic,cubic",)),
        ("playpath show wire", ("wireless",), ("mobile",)),
    ):
        offered = complete(shell, words, tmp_path)
        for name in wanted:
            assert name in offered, (words, offered)
        for name in unwanted:
            assert name not in offered.split(), (words, offered)


def test_a_file_is_left_to_the_shell(tmp_path):
    (tmp_path / "results").mkdir()
    assert complete("bash", "playpath report res", tmp_path).strip() == ""
    assert "complete -o default" in subprocess.run(
        [sys.executable, "-m", "playpath", "completions", "bash"], capture_output=True, text=True
    ).stdout  # fmt: skip


def test_an_unknown_shell_is_one_line():
    done = subprocess.run([sys.executable, "-m", "playpath", "completions", "fsh"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == 'error: unknown shell "fsh"; did you mean "fish"? allowed: bash, fish, zsh\n'
