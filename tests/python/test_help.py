"""Help, manual and tables: one meaning a flag, 80 columns, no markup eaten, narrow terminals."""

from __future__ import annotations

import importlib.util
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import typer
from conftest import SMALL
from rich.console import Console

import playpath
from playpath.cli import app
from playpath.cli.commands.list import KINDS
from playpath.show import console

ROOT = Path(__file__).parents[2]
LABELS = 24
"""Columns beside a file's name in the tables of `doctor`."""
MAN = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location("man", ROOT / "tools/man.py"))
spec.loader.exec_module(MAN)
COMMANDS = dict(MAN.commands())
MEANINGS = {
    # A flag that takes something else elsewhere; everything not named here takes the same everywhere.
    "--out": {"DIR", "FILE"},  # where the result goes
    "--cc": {"LIST", "NAME"},  # the control; one where only one can be
    "--sender": {"LIST", "NAME"},  # likewise: which was deployed; a log may hold several
    "--set": {"KEY=VALUE", "NAME=VALUE"},
    "--transport": {"LIST", "NAME"},  # of one session there can be one only
    "--trace": {"DIR", "FILE"},  # time series; where a scenario is made, the key that is called so
}


def help_of(name: str, width: int) -> str:
    context = typer.Context(COMMANDS[name], info_name=name, terminal_width=width, max_content_width=width)
    return COMMANDS[name].get_help(context)


def test_the_same_flag_takes_the_same_everywhere():
    found = defaultdict(set)
    for command in COMMANDS.values():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                found[parameter.opts[0]].add("" if parameter.is_flag else parameter.metavar)
    assert {"--out", "--json", "--trace", "--until-decided"} <= found.keys()
    differing = {flag: metavars for flag, metavars in found.items() if len(metavars) > 1}
    assert all(metavars <= MEANINGS.get(flag, set()) for flag, metavars in differing.items()), differing
    assert not {"--output", "--file", "--dest"} & found.keys(), "results go to --out"
    assert found["--json"] == {""}
    assert found["--baseline"] == {"SENDER"}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_whole_at_80_columns_and_does_not_fail_at_20(name):
    text = help_of(name, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert help_of(name, 20)
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name == "option" and parameter.name != "help":
            assert parameter.opts[0] in text
            assert parameter.help, f"{name} {parameter.opts[0]} says nothing"
    assert "[dim]" not in text
    assert "[/" not in text


def test_brackets_stay_brackets():
    assert "init [OPTIONS] [FILE]" in help_of("playpath init", 80)


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
@pytest.mark.slow
def test_every_command_has_a_page_that_man_shows_without_a_warning(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/man.py", tmp_path], check=True)
    pages = sorted(tmp_path.iterdir())
    assert len(pages) == len(COMMANDS) + 1
    for page in pages:
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", page],
            capture_output=True,
            text=True,
            env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin"},
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name
        assert "NAME" in done.stdout
    shown = (tmp_path / "playpath-compare.1").read_text()
    assert r"\-\-until\-decided" in shown
    assert r"\-\-most N" in shown


@pytest.fixture(scope="module")
def comparison():
    return playpath.compare("wireless", cc="cubic,ccplb,vegas", seeds=8, set={"video.duration": "20 s"})


def shown(comparison, monkeypatch, width: int) -> str:
    file = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=file, width=width, highlight=False, color_system=None))
    console.print_comparison(comparison)
    return file.getvalue()


def test_tables_fit_80_columns_and_break_no_word(comparison, monkeypatch):
    text = shown(comparison, monkeypatch, 80)
    tables = text.split(comparison.headline)[0].splitlines()
    assert max(map(len, tables)) <= 80
    for word in ("retransmitted", "underflows", "discarded", "start-up", "Mbit/s", "packets", "ccplb"):
        assert word in text
    stall = comparison.summary("cubic", "stall_time_s")
    assert stall.ci95 is None or f"{console.format_value(stall.ci95[0])}…{console.format_value(stall.ci95[1])}" in text


@pytest.mark.parametrize("width", [40, 20, 1])
def test_a_narrow_terminal_gets_whole_words(comparison, monkeypatch, width):
    text = shown(comparison, monkeypatch, width)
    for word in ("retransmitted", "underflows", "ccplb"):
        assert word in text


DESIGN = """
scenario = "wireless"
cc = ["cubic", "ccplb(pob_rate=2)"]
seeds = 2
[[axis]]
key = "path.wifi.loss"
values = ["0.1 %", "0.2 %"]
[[axis]]
key = "video.duration"
values = ["2 s", "4 s"]
"""


def printed(monkeypatch, width: int, *arguments: str) -> str:
    file = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=file, width=width, highlight=False, color_system=None))
    app(arguments, standalone_mode=False)
    return file.getvalue()


@pytest.mark.parametrize(
    "arguments",
    [
        *(("list", kind) for kind in KINDS),
        ("list",),
        ("show", "sticky-baseline"),
        ("show", "ccp.toml"),
        ("help",),
        ("help", "queue"),
        ("doctor",),
        ("population", "inspect", "home-users"),
        ("population", "compare", "home-users", "--paths", "3", "--sessions", "1", "--set", "video.duration=2 s"),
        ("run", "sticky-baseline", "--sender", "cubic/dft", "--set", "run.duration=5 s"),
        ("sweep", "design.toml"),
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_what_every_command_prints_fits_80_columns_and_breaks_no_word(arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "design.toml").write_text(DESIGN)
    (tmp_path / "ccp.toml").write_text(SMALL + '[[sender]]\ncc = { name = "ccplca", mode = "paper" }\n')
    narrow, wide = (printed(monkeypatch, width, *arguments) for width in (80, 1000))
    prose = (
        "" if arguments[:2] != ("population", "compare") else narrow.partition("\n\n")[0]
    )  # sentences stay in one line
    tables = [line for line in narrow.removeprefix(prose).splitlines() if not line.startswith("3 paths")]
    # A file of this machine is printed whole, however deep it lies: its table may be as wide as it makes it.
    deep = max((len(word) for word in narrow.split() if word.startswith(str(ROOT))), default=0)
    assert max(map(len, tables)) <= max(80, deep + LABELS)
    assert words(narrow) == words(wide)


def words(text: str) -> set[str]:
    return {word.strip("()") for word in text.replace("…", " ").split()} - {"to"}


@pytest.mark.slow
def test_the_width_is_that_of_columns(cli):
    lines = {width: cli("show", "wireless", COLUMNS=width).out.splitlines() for width in ("60", "80", "")}
    assert max(map(len, lines["60"])) <= 60 < max(map(len, lines["80"])) <= 80
    assert lines[""] == lines["80"]


def test_a_wide_terminal_gets_a_line_a_sender(comparison, monkeypatch):
    assert "…" not in shown(comparison, monkeypatch, 200)


def test_what_is_said_by_colour_is_said_by_words_too(comparison, monkeypatch):
    text = shown(comparison, monkeypatch, 120)
    assert "undecided" in text
    assert "\x1b" not in text
    file = io.StringIO()
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = Console(file=file, width=120, highlight=False, force_terminal=True)
    monkeypatch.setattr(console, "out", coloured)
    console.print_comparison(comparison)
    assert "\x1b[3" not in file.getvalue()


@pytest.mark.parametrize("text", ["[red]x", "[/]", "A:smile:B", "[bold]"])
@pytest.mark.parametrize("command", ["help", "show", "report"])
def test_what_is_asked_is_repeated_as_it_was_written(cli, command, text):
    cli(command, text).assert_refused(text)


def test_the_head_of_a_table_is_asked_as_it_is_written(cli):
    assert cli("help", "[[path]]").out == cli("help", "path").out != ""


PAGES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/manual").glob("*.md")),
    *sorted((ROOT / "docs/recipes").glob("*.md")),
)
WRITTEN = [
    (page.relative_to(ROOT).as_posix(), line.split("  #")[0].strip().removesuffix("\\"))
    for page in PAGES
    for block in re.findall(r"```\w*\n(.*?)```", page.read_text(), re.DOTALL)
    for line in block.splitlines()
    if re.match(r"\s*(sudo )?playpath [a-z]", line) and not re.search(r" \| |\[-", line)
]


@pytest.mark.parametrize(("page", "line"), WRITTEN)
def test_commands_of_all_pages_name_commands_and_options_that_there_are(page, line):
    """Also of recipes and pages of the kernel world, where they are not run."""
    words = shlex.split(line.removeprefix("sudo "))
    name = next((name for n in (3, 2) if (name := " ".join(words[:n])) in COMMANDS), None)
    assert name is not None, f"{page}: there is no {line}"
    known = {option for parameter in COMMANDS[name].params for option in (*parameter.opts, *parameter.secondary_opts)}
    own = words[: words.index("--")] if "--" in words else words
    unknown = [word for word in own if word.startswith("-") and word.partition("=")[0] not in known]
    assert not unknown or name == "playpath serve", f"{page}: {line}: {unknown}"
