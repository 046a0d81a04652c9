"""Bad input and a bad surrounding: one line and an exit status, never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, playpath_command

import playpath
from playpath import cli as command_line
from playpath.base.errors import InputError
from playpath.scenario import LAST_SEED
from playpath.sweep import load_design

ALONE = [sys.executable, "-m", "playpath"]
AXIS = '[[axis]]\nkey = "path.loss"\nvalues = ["1 %"]\n'
RANGE = '[[axis]]\nkey = "path.rtt"\nfrom = "1 ms"\nto = "5 ms"\n'


@pytest.mark.parametrize(
    "text",
    [
        "scenario = 5\n" + AXIS,
        "scenario = []\n" + AXIS,
        'scenario = "/dev/zero"\n' + AXIS,
        "cc = 5\n" + AXIS,
        "cc = [5]\n" + AXIS,
        "scheduler = 3\n" + AXIS,
        "seeds = true\n" + AXIS,
        "seeds = 99999999999999999\n" + AXIS,
        '[[axis]]\nkey = ["path.loss"]\nvalues = [1]\n',
        "[[axis]]\nkeys = 5\nvalues = [1]\n",
        "[[axis]]\nkeys = []\nvalues = [[]]\n",
        '[[axis]]\nkey = "path.loss"\nvalues = [1979-05-27]\n',
        AXIS + AXIS,
        RANGE + "steps = 1000000000\n",
        RANGE + "steps = true\n",
        "sample = 5\n" + AXIS,
        AXIS + '[sample]\nkind = "random"\npoints = true\n',
        AXIS + '[sample]\nkind = "random"\npoints = 9000000000000\n',
        AXIS + '[sample]\nkind = "random"\npoints = 3\nseed = "x"\n',
        AXIS + '[sample]\nkind = "random"\npoints = 3\nseed = -1\n',
        AXIS + '[sample]\nkind = "random"\npoints = 3\nseed = nan\n',
        "a = " + "[" * 20_000,
    ],
)
def test_a_malformed_design_is_an_input_error(text, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "d.toml").write_text(text if text.startswith("scenario") else 'scenario = "small.toml"\n' + text)
    with pytest.raises(InputError):
        load_design(tmp_path / "d.toml")


def test_seeds_end_where_the_columns_do(cli, small):
    cli("compare", small, "--seeds", "2", "--set", f"run.first_seed={LAST_SEED}").assert_refused()
    cli("run", small, "--sender", "cubic", "--seed", str(LAST_SEED + 1)).assert_refused()
    found = playpath.compare(SMALL, cc=["cubic"], seeds=1, set={"run.first_seed": LAST_SEED})
    assert found.seeds == [LAST_SEED]


@pytest.mark.slow
def test_wrong_options_are_one_line(cli, small):
    done = cli("compare", small, "--tolerance", "1 ms")
    done.assert_refused()
    assert "links in the world 'sim' are never late" in done.err
    for no_time in ("1 Mbit/s", "30 kB", "-1 ms", "soon"):
        cli("run", small, "--tolerance", no_time, "--sender", "cubic").assert_refused()
    cli("tune", small, "--param", "ccplb.pob_rate=1..2", "--seed", "-1").assert_refused()
    for value in ("[" * 100_000, "NaN", "1\n2", "\x1b[2J"):
        done = cli("compare", small, "--set", f"path.loss={value}")
        done.assert_refused()
        assert "\x1b" not in done.err
    cli("compare", "no\nsuch\nfile").assert_refused()


@pytest.mark.slow
def test_figures_beyond_use_and_names_that_no_file_can_have_are_one_line(cli, small, tmp_path):
    for price in ("nan", "inf", "1e308", "-1"):
        cli("compare", small, "--price-per-gb", price, "--json").assert_refused()
    for width in ("0", "-5", "nan", "1e300"):
        cli("convert", "--generate", "lte", "--bin", width, "--to", "csv").assert_refused()
    for name in ("", ".", "..", "x" * 300):
        cli("init", name, "--defaults").assert_refused()
        cli("compare", small, "--out", "x" * 300).assert_refused()


@pytest.mark.slow
def test_what_never_ends_is_not_read(cli, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sparse").open("wb").truncate(10**12)
    for name in ("/dev/zero", "pipe", "sparse", "."):
        commands = (["compare"], ["sweep"], ["convert"], ["population", "compare"], ["verify"])
        for command in ([*words, name] for words in commands):
            cli(*command).assert_refused()
        cli("population", "import", name, "--out", "users.csv").assert_refused()


def test_links_to_nothing_are_no_folders(cli, small, tmp_path):
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "gone").symlink_to("nowhere")
    for name in ("round", "gone", "gone/below"):
        cli("compare", small, "--out", name).assert_refused("not a folder")


@pytest.mark.slow
def test_a_damaged_result_is_one_line(cli, small, tmp_path):
    for damaged in ("sessions.parquet", "timelines/cubic/player.parquet", "comparison.json"):
        assert cli("compare", small, "--seeds", "1", "--out", "o").status == 0  # damaged, so nothing is lost
        (tmp_path / "o" / damaged).write_bytes(b"[]")
        done = cli("report", "o")
        done.assert_refused()
        assert "damaged or of another version" in done.err
    os.mkfifo(tmp_path / "o" / "pipe")
    for command in ("report", "export"):
        cli(command, "o").assert_refused("is a device, a pipe or a socket")


def test_a_long_value_is_not_repeated_whole(cli):
    done = cli("compare", "--set", f"path.loss={'x' * 3000}", "wireless")
    done.assert_refused()
    assert len(done.err) < 600


def shell(line: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line.replace("playpath", " ".join(ALONE))],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **variables},
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_a_full_or_closed_output_is_one_line(small, tmp_path):
    done = shell("playpath list queue > /dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (1, "error: cannot write the output: No space left on device\n")
    assert shell("playpath compare small.toml --json > /dev/full 2> /dev/full", tmp_path).returncode == 1
    # Text for a full stderr that is still in the buffer at the end.
    waiting = "import sys; from playpath import cli; sys.stderr.write('x'); cli._leave(1)"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["sh", "-c", f'{sys.executable} -c "{waiting}" 2> /dev/full'], check=False, env=buffered)
    assert done.returncode == 1
    for command, closed in (
        ("list queue", ">&-"),
        ("show small.toml", ">&- 2>&-"),
        ("compare small.toml --seeds 1 --out o", "<&- >&- 2>&-"),
    ):
        done = shell(f"playpath {command} {closed}", tmp_path)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (tmp_path / "o" / "report.html").exists()


@pytest.mark.slow
def test_no_surrounding_is_too_poor(small, tmp_path):
    for number, variables in enumerate(
        [{"PYTHONIOENCODING": "ascii", "HOME": "/nowhere"}, {"COLUMNS": "20", "FORCE_COLOR": "1"}]
    ):
        done = shell(f"playpath compare small.toml --seeds 2 --out o{number}", tmp_path, **variables)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    done = shell("playpath compare small.toml --seeds 1 --json", tmp_path, PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["seeds"] == 1
    assert shell("env -i playpath compare small.toml --seeds 1 --out o", tmp_path).returncode == 0


def test_the_last_resort_is_one_line_and_a_file(monkeypatch, tmp_path, capsys):
    def fail(**_):
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(command_line, "app", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    assert ended.value.code == 1
    (log,) = tmp_path.iterdir()
    captured = capsys.readouterr().err
    assert captured == f"error: ZeroDivisionError: one\\ntwo; this is a bug in playpath; details are in {log}\n"
    assert "Traceback" in log.read_text()


INTERRUPTED_AT = """
import runpy, signal, sys
class Find:
    def find_spec(self, name, *_):
        if name in WANTED:
            WANTED.remove(name)
            signal.raise_signal(2)  # here and now; kill may come to another thread, and to this one any time later
WANTED = sys.argv.pop(1).split()
sys.meta_path.insert(0, Find())
runpy.run_module("playpath", run_name="__main__", alter_sys=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "modules",
    [
        "polars",
        "playpath.judge.stats",
        "typer",
        "playpath.cli.commands.tune",
        "playpath.run.tune",
        # Twice: again while what tells of the first one is loaded.
        "playpath.run.tune playpath.show.console",
        "playpath.cli.commands.tune rich.console",
    ],
)
def test_ctrl_c_while_modules_load_is_no_traceback(modules, small, tmp_path):
    command = [sys.executable, "-c", INTERRUPTED_AT, modules, "tune", "small.toml", "--param", "ccplb.kp=1..2"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False), done.stderr


@pytest.mark.slow
def test_names_are_text_in_the_terminal(tmp_path):
    raw = playpath.load(SMALL).resolved
    names = ["[/b]", "[/nope]", "a\nb", "\x1b[2J", "$\\frac{$", "x\\"]
    (tmp_path / "s.json").write_text(
        json.dumps({**raw, "name": "[/c]", "sender": [{**raw["sender"][0], "name": name} for name in names]})
    )
    done = playpath_command("compare", "s.json", "--seeds", "2", "--out", "o", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "\x1b" not in done.out + done.err
    assert "[/b]" in done.out
    assert playpath_command("run", "s.json", "--sender", "[/b]", cwd=tmp_path).status == 0


@pytest.mark.parametrize("wrong", [{"jobs": "2"}, {"jobs": 1.5}, {"world": None}, {"world": 5}])
def test_a_value_of_another_type_is_an_input_error(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        playpath.compare(SMALL, cc=["cubic"], seeds=1, **wrong)


@pytest.mark.parametrize("seed", ["1", 1.0, None])
def test_a_seed_of_another_type_is_an_input_error(seed):
    with pytest.raises(InputError, match="must be a whole number from 0 to"):
        playpath.run(SMALL, sender="cubic", seed=seed)
