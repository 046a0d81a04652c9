"""What a new user meets first: the cost of `--help`, the names of `playpath`, how results print."""

import ast
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT, SCENARIOS, SMALL

import playpath
from playpath.base.errors import InputError
from playpath.cli.commands import COMMANDS, Commands
from playpath.population import load_population
from playpath.scenario import shipped
from playpath.sweep import load_design

HEAVY = ("matplotlib", "numpy", "playpath.run.compare", "polars", "rich", "scipy")


def modules_after(*arguments):
    """What a `playpath` process has imported at its end."""
    code = f"import sys; sys.argv = ['playpath', *{arguments!r}]\nfrom playpath.cli import main\n" + (
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stderr.splitlines()[-1].split()


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_help_and_version_import_nothing_heavy(option):
    assert not set(HEAVY) & set(modules_after(option))


def test_a_line_of_error_waits_for_no_statistics():
    imported = set(modules_after("completions", "fsh"))
    assert "playpath.show.console" in imported
    assert not imported & {"numpy", "polars", "scipy"}


@pytest.mark.slow
def test_sessions_wait_for_no_table():
    code = "import sys, playpath.cli.commands.compare; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"polars", "playpath.sweep"} & set(done.stdout.split())


@pytest.mark.slow
def test_a_comparison_without_a_report_draws_nothing(small):
    imported = modules_after("compare", str(small), "--json")
    assert "polars" in imported
    assert not {"matplotlib", "scipy"} & set(imported)


@pytest.mark.slow
def test_without_matplotlib_all_goes_on_but_what_draws_with_it(small, tmp_path):
    """A finder in front of all others hides it, as an installation without `playpath[plots]` has it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'matplotlib' else found(name, *rest)\n"
        "sys.modules['matplotlib'] = None\n"
    )

    def run(*words):
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, cwd=tmp_path)

    done = run("-m", "playpath", "compare", str(small), "--out", "here")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here" / "report.html").stat().st_size > 0
    code = "import sys, playpath; result = playpath.compare(sys.argv[1]); assert '<table>' in result._repr_html_(); playpath.plots"
    remedy = "Matplotlib is not installed; pip install 'playpath[plots]'"
    assert run("-c", code, str(small)).stderr.strip().endswith(f"playpath.plots: {remedy}")
    done = run("-m", "playpath", "reproduce", "ccp")
    assert (done.returncode, done.stderr) == (2, f"error: reproduce: {remedy}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_found_under_its_name(name):
    assert Commands(name="playpath").get_command(None, name).name == name


@pytest.mark.parametrize("command", [[], ["testbed"], ["population"]])
def test_a_command_that_wants_more_shows_its_help(cli, command):
    done = cli(*command)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Usage: ")
    assert "\\n" not in done.out


def test_the_commands_are_one_line_each():
    shown = [f"  {name:<11}  {reported}" for name, reported in COMMANDS.items()]
    assert max(map(len, shown)) < 80


def test_a_metric_is_found_by_its_words(cli):
    assert "stall_time_s  metric: stall time, in s; less is better" in cli("help", "stall").out
    assert '"name": "startup_delay_s"' in cli("help", "start-up delay", "--json").out
    assert cli("help", "zork").status == 2


def test_a_log_and_a_transport_are_told_where_they_belong(cli):
    log = cli("compare", "player.csv")
    assert log.status == 2
    assert "`playpath population answer player.csv" in log.err
    quic = cli("compare", "wireless", "--cc", "quic")
    assert quic.status == 2
    assert "is a transport, not a congestion control" in quic.err
    assert "cubic" not in quic.err


def test_names_of_users_are_no_emoji(cli):
    assert "A:smile:B" in cli("compare", "A:smile:B").err


def test_a_wrong_command_names_the_nearest(cli):
    done = cli("compar")
    assert done.status == 2
    assert "Did you mean 'compare'?" in done.err


@pytest.mark.slow
def test_verbs_stay_functions_whatever_is_imported():
    code = (
        "import playpath.run.compare, playpath.sweep.runner, playpath.population.play, playpath.run.tune, playpath, types\n"
        "for name in playpath.__all__: assert isinstance(getattr(playpath, name), types.ModuleType) == (name == 'plots'), name"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        playpath.nothing  # noqa: B018


def test_results_print_on_one_line(comparison):
    for shown in (comparison, comparison.scenario, *comparison.timelines.values()):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 600
    assert comparison.headline in repr(comparison)


@pytest.mark.slow
def test_a_sweep_prints_on_one_line_even_where_all_failed(tmp_path):
    design = {"scenario": SMALL, "axis": [{"key": "path.loss", "values": ["0 %", "1 %"]}]}
    result = playpath.sweep(design, store=tmp_path, seeds=1)
    assert repr(result).startswith("<SweepResult sweep: 4 cells; ")
    failed = replace(result, table=result.table.with_columns(error=pl.lit("no")))
    assert repr(failed).endswith("No point has a result.>")


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["short", "whole"])
def test_the_demo_runs_in_any_folder(whole, cli, tmp_path):
    if not whole:  # a file of that name goes before what is shipped
        shipped = (ROOT / "scenarios/wireless.toml").read_text()
        (tmp_path / "wireless").write_text(shipped.replace('duration = "624 s"', 'duration = "20 s"'))
    done = cli("demo")
    assert done.status == 0, done.err
    assert (tmp_path / "out" / "wireless" / "report.html").is_file()
    assert "bbr" in done.out


def test_a_bare_name_is_a_list_of_one(small):
    assert playpath.load(small, cc="cubic").senders == ["cubic"]
    assert playpath.load(small, cc="cubic, ccplb(pob_rate=2)").senders == ["cubic", "ccplb(pob_rate=2)"]


SHIPPED = sorted(file.stem for file in (ROOT / "scenarios").rglob("*.toml"))


def test_every_shipped_file_has_a_name_of_its_own():
    assert sorted(shipped.files()) == SHIPPED


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda file: file.stem)
def test_a_shipped_scenario_is_found_by_name(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert playpath.load(scenario.stem).digest == playpath.load(scenario).digest


def test_designs_and_populations_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_design("loss-and-delay").base.name == "wireless"
    assert load_population("home-users").name == "home users"


def test_a_file_goes_before_a_shipped_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wireless").write_text(SMALL)
    assert playpath.load("wireless").name == "small"


def test_an_unknown_name_is_told_with_the_nearest():
    for take in (playpath.load, load_design, load_population):
        with pytest.raises(InputError, match=r"^no file 'wirless' here, .*did you mean .wireless.\?"):
            take("wirless")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "..", "", "/nowhere", "sub/wireless", "wireless.json"])
@pytest.mark.parametrize("take", [playpath.load, load_design, load_population])
def test_a_hostile_name_is_wrong_input(take, name):
    with pytest.raises(InputError):
        take(name)


@pytest.mark.parametrize(
    "text", ["[" * 100_000 + "\n", '{"a":' * 100_000 + "\n", "axis = 1\n", "scenario = []\npopulation = 3\n"]
)
def test_a_hostile_document_is_wrong_input(text):
    with pytest.raises(InputError):
        playpath.load(text)


@pytest.mark.parametrize(
    ("take", "name", "remedy"),
    [
        (playpath.load, "loss-and-delay", "is a design, not a scenario; use `playpath sweep loss-and-delay`"),
        (playpath.load, "home-users", "is a population, not a scenario; use `playpath population compare home-users`"),
        (load_design, "wireless", "is a scenario, not a design; use `playpath compare wireless`"),
        (load_design, "home-users", "is a population, not a design; use `playpath population compare home-users`"),
        (load_population, "loss-and-delay", "is a design, not a population; use `playpath sweep loss-and-delay`"),
    ],
)
def test_what_was_taken_for_another_kind_names_its_command(take, name, remedy):
    with pytest.raises(InputError) as shown:
        take(name)
    assert str(shown.value) == f"{name}: {remedy}"


def test_a_wheel_holds_every_shipped_file():
    patterns = [
        entry["path"] for entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    ]
    packed = {file.resolve() for pattern in patterns for file in ROOT.glob(pattern)}
    assert {file for file in (ROOT / "scenarios").rglob("*") if file.is_file()} <= packed


def test_type_checkers_see_the_names_that_are_there():
    stub = ast.parse(Path(playpath.__file__).with_suffix(".pyi").read_text())
    imported = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported | {"__version__"} == set(playpath.__all__)
