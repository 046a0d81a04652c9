"""`playpath reproduce`, killed at any moment, goes on where it stopped: the same digest, and no finished cell run again."""

import hashlib
import json
import random
import signal
import subprocess
import sys
from collections import Counter

import pytest

from playpath.sweep.store import Store

pytestmark = pytest.mark.slow

KILLS = 4
STUDY = "newcwv"
# The command as it is; each session that begins, and each that is stored, is told to a log that survives SIGKILL. It kills itself a
# time after it has stored so many, so that how busy the machine is says nothing about how far it comes. Its cells are short and
# its page is empty: what is killed and found again is the grid.
TOLD = """
import os, signal, sys, threading
from playpath import cli
from playpath.papers import results, runner

log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
left, delay = int(sys.argv.pop(1)), float(sys.argv.pop(1))
runner.QUICK_SHARE = 0.03
results.study_page = lambda *_: ""
run_and_store = runner._run_and_store

def told(study, store, cell, world):
    global left
    os.write(log, f"begin {cell.id}\\n".encode())
    run_and_store(study, store, cell, world)
    os.write(log, f"end {cell.id}\\n".encode())
    left -= 1
    if left == 0:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

runner._run_and_store = told
cli.main()
"""


def play(folder, log, cells=0, delay=0.0):
    """Play the study, or begin to: killed `delay` seconds after it has stored so many cells."""
    told = [sys.executable, "-c", TOLD, str(log), str(cells), str(delay)]
    command = [*told, "reproduce", STUDY, "--quick", "--figures", "--seeds", "1", "--json", "--out", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def finish(folder, log):
    done = play(folder, log)
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)
    return result


def shards(folder):
    return len(list((folder / STUDY / "store" / "shards").glob("*.parquet")))


def test_killed_at_random_moments_it_finishes_with_the_same_digest(tmp_path):
    whole = finish(tmp_path / "whole", tmp_path / "whole.log")
    total = shards(tmp_path / "whole")
    draw = random.Random(6)
    folder, begun_again = tmp_path / "killed", []
    for target in sorted(draw.sample(range(1, total - 4), KILLS)):
        stored = Store(folder / STUDY / "store").cells()
        log = tmp_path / f"killed-{target}.log"
        done = play(folder, log, max(target - len(stored), 1), draw.uniform(0, 0.05))
        assert done.returncode == -signal.SIGKILL, done.stderr
        begun_again += [line for line in begun(log) if line in stored]
    stored = Store(folder / STUDY / "store").cells()
    assert KILLS <= len(stored) < total
    resumed = finish(folder, tmp_path / "last.log")
    begun_again += [line for line in begun(tmp_path / "last.log") if line in stored]

    assert resumed == whole
    assert begun_again == []
    assert len(begun(tmp_path / "last.log")) == total - len(stored)
    logs = [*tmp_path.glob("killed-*.log"), tmp_path / "last.log"]
    ended = Counter(line[4:] for log in logs for line in lines(log) if line.startswith("end "))
    assert set(ended.values()) == {1}
    # The tables are the same bytes.
    tables = {hashlib.sha256((tmp_path / n / STUDY / "table.csv").read_bytes()).digest() for n in ("whole", "killed")}
    assert len(tables) == 1


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def begun(log):
    return [line[6:] for line in lines(log) if line.startswith("begin ")]
