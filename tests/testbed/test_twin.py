"""Both worlds from the command line, on the real kernel."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("nothing_left")

DUMBBELL = """
[[path]]
name = "bottleneck"
rate = "10 Mbit/s"
rtt = "20 ms"
queue = "1 bdp"
[[traffic]]
name = "newreno"
kind = "bulk"
count = 2
cc = "newreno"
[[traffic]]
name = "cubic"
kind = "bulk"
count = 2
cc = "cubic"
[run]
duration = "4 s"
seeds = 2
"""


@pytest.fixture
def scenario(short_scenario: Callable[..., Path]) -> Path:
    return short_scenario('"cubic"', '"ccp"', '"ledbatpp"', seeds=2)


def start(scenario: Path) -> subprocess.Popen[str]:
    out = scenario.parent / "out"
    command = [sys.executable, "-m", "playpath", "twin", str(scenario), "--json", "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def records(folder: Path) -> dict[str, int]:
    """Stored kernel sessions, with the time each was written."""
    return {str(path): path.stat().st_mtime_ns for path in folder.glob("out/sessions/*/*/record.json")}


def test_both_worlds_and_a_second_call_from_the_store(tmp_path: Path, scenario: Path) -> None:
    first = start(scenario)
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    result = json.loads(out)
    assert result["senders"] == ["cubic", "ccp"]
    assert list(result["left_out"]) == ["ledbatpp"]
    assert {m["metric"] for m in result["metrics"]} >= {"stall_time_s", "goodput_mbps", "mean_rtt_ms"}
    assert len(result["ranking"]["pairs"]) == 1
    before = records(tmp_path)
    assert len(before) == 4
    again = start(scenario)
    assert json.loads(again.communicate(timeout=60)[0])["kernel"]["digest"] == result["kernel"]["digest"]
    assert records(tmp_path) == before
    assert "data-figure=" in (tmp_path / "out/report.html").read_text()


def test_ctrl_c_keeps_what_is_finished_and_leaves_nothing_behind(tmp_path: Path, scenario: Path) -> None:
    run = start(scenario)
    deadline = time.monotonic() + 60
    while len(records(tmp_path)) < 2:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert json.loads(out)["seeds"] == [1]
    assert "run the same command again to resume" in err
    assert len(records(tmp_path)) in (2, 3)


def test_a_dumbbell_without_a_video_is_compared_by_groups_of_traffic(tmp_path: Path) -> None:
    scenario = tmp_path / "dumbbell.toml"
    scenario.write_text(DUMBBELL)
    run = start(scenario)
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    result = json.loads(out)
    assert (result["judged"], result["senders"]) == ("traffic", ["newreno", "cubic"])
    found = {(m["sender"], m["metric"]): m for m in result["metrics"]}
    for group in ("newreno", "cubic"):
        # Four flows share 10 Mbit/s less headers, 9.65: two of a group cannot have more than half of it each.
        for world in ("sim", "kernel"):
            assert 0.2 < found[group, "goodput_mbps"][world]["mean"] < 9.65 / 2
            # A path of 20 ms with a queue of as much again; and what TCP's own bursts and the machine add.
            assert 20 < found[group, "mean_rtt_ms"][world]["mean"] < 60
    for world in ("sim", "kernel"):
        # Slow start and the first losses cost little in 4 s of a queue of one bandwidth-delay product.
        assert 8 < found["all flows", "total_goodput_mbps"][world]["mean"] < 9.7
        assert 0.85 < found["path bottleneck", "utilisation"][world]["mean"] <= 1.001
        assert 0.25 <= found["all flows", "flow_jain_index"][world]["mean"] <= 1
