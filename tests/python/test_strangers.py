"""What comes from others does no harm: plug-ins that print or exit, logs with formulas and throughputs of nothing, scripts without
a guard, machines without rights.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import polars as pl
import pytest
from conftest import playpath_command

from playpath.population.logs import read_logs
from playpath.real import doctor
from playpath.results.archive.bundle import _csv

SCENARIO = """
name = "small"
[video]
rate = "2 Mbit/s"
duration = "4 s"
[player]
kind = "progressive"
[[path]]
rate = "3 Mbit/s"
rtt = "40 ms"
loss = "1 %"
[[sender]]
cc = "mine.py:Mine"
[[sender]]
cc = "newreno"
[run]
seeds = 2
"""
TALKS = """
import atexit, os, sys
print("imported")
print("past the guard", file=sys.__stdout__)
os.write(1, b"by number")
os.system("echo another process")
atexit.register(print, "at the end")
class Mine:
    def __init__(self):
        print("made")
    def on_report(self, report):
        print("asked")
        return {"cwnd": 20}
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_what_a_plug_in_prints_is_no_part_of_the_answer(tmp_path, command):
    (tmp_path / "mine.py").write_text(TALKS)
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "design.toml").write_text(
        'scenario = "small.toml"\nseeds = 2\n[[axis]]\nkey = "path.rate"\nvalues = ["3 Mbit/s"]\n'
    )
    arguments = {"run": ["small.toml", "--sender", "Mine"], "compare": ["small.toml"], "sweep": ["design.toml"]}
    done = playpath_command(command, *arguments[command], "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert isinstance(json.loads(done.out), dict)
    for words in ("made", "past the guard", "by number", "another process", "at the end"):
        assert words in done.err, "it is not lost"


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("import sys\nsys.exit(3)\n", "in <module>"),
        (
            "import sys\nclass Mine:\n  def __init__(self):\n    sys.exit(3)\n  def on_report(self, r): ...\n",
            "in __init__",
        ),
        ("import sys\nclass Mine:\n  def on_report(self, r):\n    sys.exit(3)\n", "in on_report"),
    ],
)
def test_a_plug_in_that_exits_ends_with_a_word(tmp_path, code, place):
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "small.toml").write_text(SCENARIO)
    done = playpath_command("run", "small.toml", "--sender", "Mine", cwd=tmp_path)
    assert done.status in (1, 2)
    assert f"{place}: SystemExit: 3" in done.err
    assert done.err.count("\n") == 1


def test_one_viewer_without_throughput_does_not_spoil_the_table(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("session,mtp\na,3000\nb,0\nc,-5\nd,2000\nd,0\n")
    found = read_logs([log], keep_names=True)
    assert [(row["name"], row["rate_mbps"]) for row in found.rows] == [("a", 3.0), ("d", 2.0)]
    assert any(note.startswith("2 samples have a throughput of 0") for note in found.notes)


def test_no_cell_of_a_log_becomes_a_formula(tmp_path):
    log = tmp_path / "log.csv"
    names = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "＝1+1", "－2+3", "a=b"]
    log.write_text("session,mtp,country\n" + "".join(f'"{name}",3000,"=x"\n' for name in names))
    table = list(csv.DictReader(read_logs([log], keep="country", keep_names=True).to_csv().splitlines()))
    assert [row["name"] for row in table] == ["'=1+1", "'+cmd|x", "'-2+3", "'@SUM(A1)", "'＝1+1", "'－2+3", "a=b"]
    assert {row["country"] for row in table} == {"'=x"}
    assert _csv(pl.DataFrame({"sender": ["=1+1"], "cc": ["-"]})) == b"sender,cc\n'=1+1,-\n"


@pytest.mark.slow
def test_a_script_without_a_guard_asks_a_population_once(tmp_path):
    users = SCENARIO.replace("mine.py:Mine", "cubic").replace('"3 Mbit/s"', '{ uniform = ["3 Mbit/s", "4 Mbit/s"] }')
    (tmp_path / "users.toml").write_text(users + "[population]\npaths = 2\n")
    (tmp_path / "script.py").write_text(
        'import playpath\nprint(playpath.population("users.toml", store="kept", jobs=2).table.height)\n'
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_the_doctor_says_that_namespaces_cannot_be_made(monkeypatch):
    monkeypatch.setattr(doctor, "_CLONE_NEWNET", -1)  # a flag that no kernel takes
    found = next(check for check in doctor.examine() if check.name == "right to create namespaces")
    assert not found.is_there
    assert "CAP_SYS_ADMIN" in found.remedy
    assert not doctor.can_run(doctor.examine())[doctor.EMULATION]
