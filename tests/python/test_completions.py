"""The Tab key in the shells themselves; a shell that is not installed is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
BEGIN = {
    "bash": 'eval "$(playpath completions bash)"',
    "fish": "playpath completions fish | source",
    # zsh completes only while a line is being edited; what it would offer is in the arguments of _arguments.
    "zsh": """
compdef() { true }
_arguments() { print -l -- $@ }
_files() { true }
eval "$(playpath completions zsh)"
""",
}
"""What a shell is told when it starts."""
ASK = {
    # What bash does at Tab: call the function that was registered, and read COMPREPLY.
    "bash": """
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_playpath_completion playpath; printf '%s\\n' "${{COMPREPLY[@]}}"
""",
    "fish": "complete --do-complete '{words}'",
    "zsh": "words=({words}); CURRENT=${{#words}}; _playpath_completion",
}
NEXT = "---"


def complete(shell: str, lines: list[str], cwd: Path) -> list[str]:
    """What the shell offers after each of these lines."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    asked = f"\necho '{NEXT}'\n".join(ASK[shell].format(words=words) for words in lines)
    done = subprocess.run(
        [shell, *flags, "-c", f"{BEGIN[shell]}\n{asked}"],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, "PATH": PATH},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split(f"{NEXT}\n")


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.slow
def test_a_shell_completes_commands_options_and_names(shell, tmp_path):
    cases = {
        "playpath rep": (("report", "reproduce"), ("run",)),
        "playpath convert --gen": (("--generate",), ("--to",)),
        "playpath compare wireless --cc cubic,bb": (("cubic,bbr", "cubic,bbr3"), ("cubic,cubic",)),
        "playpath show wire": (("wireless",), ("mobile",)),
    }
    answers = complete(shell, list(cases), tmp_path)
    for offered, (words, (wanted, unwanted)) in zip(answers, cases.items(), strict=True):
        for name in wanted:
            assert name in offered, (words, offered)
        for name in unwanted:
            assert name not in offered.split(), (words, offered)


@pytest.mark.slow
def test_a_file_is_left_to_the_shell(tmp_path):
    (tmp_path / "results").mkdir()
    assert complete("bash", ["playpath report res"], tmp_path) == ["\n"]
    assert "complete -o default" in subprocess.run(
        [sys.executable, "-m", "playpath", "completions", "bash"], capture_output=True, text=True
    ).stdout  # fmt: skip


@pytest.mark.slow
def test_an_unknown_shell_is_one_line():
    done = subprocess.run([sys.executable, "-m", "playpath", "completions", "fsh"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == 'error: unknown shell "fsh"; did you mean "fish"? allowed: bash, fish, zsh\n'
