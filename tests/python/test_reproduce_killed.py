"""`playpath reproduce`, killed at any moment, goes on where it stopped: the same digest, and no finished cell run again."""

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from playpath.sweep.store import Store

pytestmark = pytest.mark.slow

KILLS = 4
STUDY = "newcwv"
# The command as it is; each session that begins, and each that is stored, is told to a log that survives SIGKILL.
TOLD = """
import os, sys
from playpath import cli
from playpath.studies import runner

log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
run_and_store = runner._run_and_store

def told(study, store, cell, world):
    os.write(log, f"begin {cell.id}\\n".encode())
    run_and_store(study, store, cell, world)
    os.write(log, f"end {cell.id}\\n".encode())

runner._run_and_store = told
cli.main()
"""


def command(folder, log):
    return [sys.executable, "-c", TOLD, str(log), "reproduce", STUDY, "--quick", "--json", "--out", str(folder)]


def finish(folder, log):
    done = subprocess.run(command(folder, log), capture_output=True, text=True, timeout=300, check=True)
    (result,) = json.loads(done.stdout)
    return result


def shards(folder):
    return len(list((folder / STUDY / "store" / "shards").glob("*.parquet")))


def kill_after(folder, log, cells, delay):
    """Kill the command some time after it has stored so many cells in all; False if it was done before."""
    process = subprocess.Popen(command(folder, log), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and shards(folder) < cells:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    return process.wait(timeout=60) == -signal.SIGKILL


def test_killed_at_random_moments_it_finishes_with_the_same_digest(tmp_path):
    whole = finish(tmp_path / "whole", tmp_path / "whole.log")
    total = shards(tmp_path / "whole")
    again = finish(tmp_path / "again", tmp_path / "again.log")
    assert again["digest"] == whole["digest"]

    draw = random.Random(6)
    folder, begun_again = tmp_path / "killed", []
    for target in sorted(draw.sample(range(1, total - 4), KILLS)):
        stored = Store(folder / STUDY / "store").cells()
        log = tmp_path / f"killed-{target}.log"
        assert kill_after(folder, log, target, draw.uniform(0, 0.05))
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
    # The tables are the same bytes; so are those of two runs that nobody killed.
    tables = {
        hashlib.sha256((tmp_path / n / STUDY / "table.csv").read_bytes()).digest() for n in ("whole", "again", "killed")
    }
    assert len(tables) == 1


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def begun(log):
    return [line[6:] for line in lines(log) if line.startswith("begin ")]
