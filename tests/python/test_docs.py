"""What the documents say works, and what they name exists."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from operator import attrgetter
from pathlib import Path

import pytest
from conftest import ROOT, SCENARIOS, playpath_command
from typer.main import get_command

import playpath
from playpath import cli
from playpath.base import engine
from playpath.base.metrics import BULK_CRITERIA, VIDEO_CRITERIA
from playpath.cli import commands
from playpath.cli.commands.list import KINDS
from playpath.scenario.traces import GENERATORS
from playpath.sweep import load_design

pytestmark = pytest.mark.slow


def shell_blocks(page):
    """Of a page: the commands of each block, which run one after the other in a folder."""
    for block in re.findall(r"```(?:console)?\n(.*?)```", page.read_text(), re.DOTALL):
        if lines := [line for line in block.splitlines() if line.startswith("playpath ")]:
            yield lines


def shell_lines(page):
    return [line for block in shell_blocks(page) for line in block]


README = ROOT / "README.md"
GUIDE = ROOT / "docs" / "guide.md"
MANUAL = ROOT / "docs" / "manual"
PAGES = (README, GUIDE, *(ROOT / "docs" / f"{name}.md" for name in ("multipath", "population", "quic")))
BLOCKS = [block for page in PAGES for block in shell_blocks(page)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0])
def test_commands_of_the_readme_and_of_pages_for_readers_run(block, tmp_path):
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for line in block:
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "compare":  # the beginning of it; `playpath demo` is played whole
            words += ["--set", "run.duration=20 s", *([] if "--seeds" in words else ["--seeds", "2"])]
        if words[:2] == ["population", "compare"]:
            words += ["--paths", "4", "--sessions", "1"]
        done = playpath_command(*words, cwd=tmp_path)
        assert done.status == 0, done.err


def test_the_answer_of_the_guide_is_what_the_command_says():
    """`python docs/verdicts.py` writes it anew."""
    answer = re.search(r"## Read the answer\n\n```\n(.*?)```", GUIDE.read_text(), re.DOTALL).group(1)
    result = playpath.compare("adaptive", cc="cubic,bbr")
    assert " ".join(answer.split()) == f"{result.headline} {result.verdict}"


def test_commands_of_the_page_on_logs_run_one_after_the_other(tmp_path):
    lines = list(shell_lines(ROOT / "docs" / "logs.md"))
    assert len(lines) == 3
    for line in lines:
        words = shlex.split(line)[1:]
        short = [] if "replay" in words else ["--set", "video.duration=12 s"]
        done = playpath_command(*words, *short, cwd=tmp_path)
        assert done.status == 0, done.err
    assert (tmp_path / "decision" / "answer" / "report.html").is_file()


def printed(page):
    """Every command in a page's blocks and sentences: its words without `playpath`."""
    text = page.read_text().replace("\\\n", " ")
    for line in re.findall(r"(?:`|^ *(?:sudo )?)playpath ([a-z]+\b[^`]*?)(?:`|$)", text, re.MULTILINE):
        with contextlib.suppress(ValueError):  # a quotation that goes on in the next line
            yield shlex.split(line, comments=True)


def test_every_printed_command_has_the_options_that_it_is_given():
    app, checked = get_command(cli.app), 0
    for page in (README, *ROOT.glob("docs/**/*.md")):
        for name, *words in printed(page):
            if name not in commands.COMMANDS:  # a sentence that begins with playpath, or a command that was removed
                continue
            command = app.get_command(None, name)
            while words and words[0] in getattr(command, "commands", ()):
                command = command.commands[words.pop(0)]
            if command.context_settings:  # its words are another program's
                continue
            known = {"--help"}.union(*((*option.opts, *option.secondary_opts) for option in command.params))
            given = words[: words.index("--")] if "--" in words else words
            options = {word.partition("=")[0] for word in given if re.match(r"--?[a-z]", word)}
            assert options <= known, f"{page.name}: playpath {name} {' '.join(words)}"
            checked += 1
    assert checked >= 150


def test_readers_have_twelve_pages_of_at_most_three_screens():
    table = README.read_text().partition("| to | read |")[2].partition("\n\n")[0]
    pages = re.findall(r"\]\(([^)]+\.md)\)", table)
    assert len(pages) == len(set(pages)) <= 12
    for page in pages:
        seen = re.sub(r"<!--.*?-->|\]\([^)]*\)", "", (ROOT / page).read_text(), flags=re.DOTALL)
        assert len(re.findall(r"\S*\w\S*", seen)) <= 1600, page


@pytest.mark.long
@pytest.mark.parametrize("line", list(shell_lines(README)))
def test_commands_of_the_readme_run_as_they_are_written(line, tmp_path):
    done = playpath_command(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.status == 0, done.err


def test_every_other_command_of_the_readme_is_one_that_is_tried():
    """`make` itself is what runs these tests; `make wheel-check` installs the file that pip, uv and pipx are given."""
    verbs = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wheel = re.compile(r"(pip|uv tool|pipx) install out/dist/playpath-[0-9.]+-cp311-abi3-manylinux_2_28_x86_64\.whl")
    for block in re.findall(r"```\n(.*?)```", README.read_text(), re.DOTALL):
        for line in block.splitlines():
            if not line.startswith("playpath "):
                assert wheel.fullmatch(line) or set(line.split()[1:]) <= verbs, line
    for verb, more in re.findall(r"`make ([a-z-]+)([^`]*)`", README.read_text()):
        assert verb in verbs
        assert more.partition("=")[0].strip() in {"", "TARGET"}


def test_what_the_readme_says_within_its_sentences_runs(tmp_path):
    text = README.read_text()
    assert '`eval "$(playpath completions bash)"`' in text
    done = subprocess.run(
        ["bash", "-c", 'eval "$(playpath completions bash)" && complete -p playpath'],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '`playpath.compare("wireless").verdict`' in text
    assert playpath.compare("wireless", set={"run.duration": "10 s"}, seeds=1).verdict


def test_python_example_of_the_manual_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    (example,) = re.findall(r"```python\n(.*?)```", (MANUAL / "python.md").read_text(), re.DOTALL)
    exec(compile(example, "python.md", "exec"), {})


def test_every_command_is_in_the_manual():
    page = (MANUAL / "commands.md").read_text()
    for name in commands.COMMANDS:
        assert f"`playpath {name}" in page, name


def test_what_pages_name_of_commands_and_functions_exists():
    text = "\n".join(page.read_text() for page in (README, *ROOT.glob("docs/**/*.md")))
    assert set(re.findall(r"`playpath list ([a-z]+)`", text)) <= set(KINDS)
    assert set(re.findall(r"--generate ([a-z_]+)", text)) <= set(GENERATORS)
    for name in set(re.findall(r"`playpath\.([a-z_.]+)\(", text)):
        assert callable(attrgetter(name)(playpath)), name


def test_the_readme_names_every_control_that_linux_lacks():
    missing = README.read_text().split("- **Missing**")[1]
    assert {entry["name"] for entry in engine.registry("cc") if not entry["in_kernel"]} <= set(
        re.findall(r"`(\w+)`", missing)
    )


def test_what_the_reference_says_of_profiles_can_be_typed():
    page = (ROOT / "docs/reference/scenario.md").read_text()
    head, _, *rows = re.search(r"What the profiles set:\n\n((?:\|.*\n)+)", page).group(1).splitlines()
    assert len(rows) >= 10
    for column, profile in enumerate(re.findall(r"`(\w+)`", head), 1):
        cells = ([cell.strip("` ") for cell in row.strip("|").split("|")] for row in rows)
        words = [word for row in cells for word in ("--set", f"sender.{row[0]}={row[column]}")]
        done = playpath_command("show", "wireless", "--set", f"run.profile={profile}", *words)
        assert done.status == 0, done.err


def test_every_crate_stands_in_the_drawing():
    drawing = (ROOT / "docs/images/crates.svg").read_text()
    only_tests = {"laws", "manifest-peers", "quic-peers"}
    crates = {manifest.parent.name for manifest in ROOT.glob("crates/*/Cargo.toml")} - only_tests
    assert {name for name in crates if f">{name}</text>" not in drawing} == set()


def test_the_walks_of_the_architecture_name_what_is_in_their_files():
    walks = (ROOT / "docs/architecture.md").read_text().split("## Three walks")[1]
    checked = []
    for step in re.findall(r"^\d\. .*(?:\n   .*)*", walks, re.MULTILINE):
        files = "".join((ROOT / "docs" / link).read_text() for link in re.findall(r"\]\(([^)]+\.\w+)\)", step))
        # Of code: with an underscore, of a type, or a capital first.
        for name in re.findall(r"`(\w+_\w+|[A-Z]\w+(?:::\w+)?)`", step):
            assert re.search(rf"\b{name.rpartition('::')[2]}\b", files), f"{name}, in: {step}"
            checked.append(name)
    assert len(checked) >= 5


def test_criteria_of_the_manual_are_those_of_the_code():
    page = (MANUAL / "verdict.md").read_text()
    numbered = re.findall(r"^\| (\d+) +\|", page, re.MULTILINE)
    assert len(numbered) == len(VIDEO_CRITERIA)
    assert len(BULK_CRITERIA) == 4


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_scenarios_are_described_and_named_as_their_files(file):
    scenario = playpath.load(file)
    assert scenario.name == file.stem
    assert scenario.description.endswith((".", "?"))
    assert len(scenario.senders) > 1 or not scenario.has_video


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios" / "designs").glob("*.toml")), ids=lambda file: file.stem)
def test_designs_load(file):
    assert load_design(file).size > 1


def test_every_place_says_the_same_version():
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == version
    assert re.search(r"^## (?!Unreleased)(\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version
    assert f"Version {version}." in (ROOT / "README.md").read_text()
    assert set(re.findall(r"playpath-([0-9.]+)-cp311", (ROOT / "README.md").read_text())) == {version}
    assert f'version = "{version}"' in (ROOT / "crates/bpfload/Cargo.toml").read_text()


def test_package_data_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["scripts"]["playpath"] == "playpath.__main__:main"
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")
