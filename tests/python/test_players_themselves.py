"""The players' own code (Node) beside our models, segment by segment, over the same deliveries.

Needs Node and the packages of `tests/players` (`npm install` there, done here if the registry answers); skipped otherwise. The traces
are generated; `PLAYPATH_TRACES` names a folder of measured ones (Sabre's JSON) to be played as well.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import playpath

HERE = Path(__file__).parent.parent / "players"
KBPS = [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800]
SEGMENT_S = 4
SEGMENTS = 60
PLAYERS = ["dash.js", "hls.js", "shaka"]
"""Clients whose code is a package."""

Step = dict[str, Any]
Trace = list[Step]


@pytest.fixture(scope="module")
def node() -> str:
    """The interpreter, with the players' packages installed."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("needs Node.js")
    if not (HERE / "node_modules" / "dashjs").exists():
        npm = shutil.which("npm")
        command = [npm or "npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
        if npm is None or subprocess.run(command, cwd=HERE, capture_output=True, timeout=300, check=False).returncode:
            pytest.skip("needs the packages of tests/players: npm ci there")
    return found


def _walk(seed: int, mean_kbps: float, swing: float, step_ms: int, latency_ms: int) -> Trace:
    """A rate that wanders around its mean, with an outage now and then."""
    rnd = random.Random(seed)
    kbps, trace = mean_kbps, []
    for _ in range(400_000 // step_ms):
        kbps = min(max(kbps * rnd.lognormvariate(0, swing), 0.15 * mean_kbps), 6 * mean_kbps)
        kbps += 0.1 * (mean_kbps - kbps)
        rate = 0 if rnd.random() < 0.01 * swing else round(kbps)
        trace.append({"duration_ms": step_ms, "bandwidth_kbps": rate, "latency_ms": latency_ms})
    return trace


def _traces() -> Iterator[tuple[str, Trace]]:
    for seed in range(3):
        yield f"3g-{seed}", _walk(seed, 1400, 0.45, 1000, 100)
        yield f"4g-{seed}", _walk(seed + 100, 9000, 0.5, 1000, 40)
        yield f"fixed-{seed}", _walk(seed + 200, 3500, 0.15, 5000, 20)
    folder = os.environ.get("PLAYPATH_TRACES")
    for file in sorted(Path(folder).rglob("*.json"))[::10] if folder else []:
        yield "-".join(file.relative_to(folder or "").parts), json.loads(file.read_text())


def _sizes() -> list[list[int]]:
    """Bytes of each segment in each rung: hard and easy scenes, common to the rungs for the most part."""
    rnd = random.Random(7)
    rows = []
    for _ in range(SEGMENTS):
        scene = rnd.gauss(0, 0.15)
        rows.append([int(kbps * 125 * SEGMENT_S * 2.718281828 ** (scene + rnd.gauss(0, 0.08))) for kbps in KBPS])
    return rows


def _by_itself(node: str, player: str, trace: Trace, sizes: list[list[int]]) -> list[tuple[int, int]]:
    job = {
        "player": player,
        "steps": [
            {
                "ns": step["duration_ms"] * 1_000_000,
                "rate": round(step["bandwidth_kbps"] * 1000),
                "latency": step["latency_ms"] * 1_000_000,
            }
            for step in trace
        ],
        "rates": [kbps * 1000 for kbps in KBPS],
        "sizes": sizes,
        "duration": SEGMENT_S * 1_000_000_000,
    }
    done = subprocess.run(
        [node, "play.mjs"], cwd=HERE, input=json.dumps(job), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer["ended"], "the player did not come to the end"
    return [(d["segment"], d["rung"]) for d in answer["decisions"]]


def _by_model(player: str, trace: Trace, folder: Path, sizes: list[list[int]]) -> list[tuple[int, int]]:
    movie = {
        "segment_duration_ms": SEGMENT_S * 1000,
        "bitrates_kbps": KBPS,
        "segment_sizes_bits": [[8 * size for size in row] for row in sizes],
    }
    (folder / "movie.json").write_text(json.dumps(movie))
    (folder / "trace.json").write_text(json.dumps(trace))
    session = playpath.run(
        {
            "video": {"manifest": str(folder / "movie.json")},
            "player": {"kind": "dash", "client": player},
            "path": [{"trace": str(folder / "trace.json"), "rtt": "0 ms"}],
            "run": {"transport": "ideal", "duration": "3000 s"},
        }
    )
    decisions = (event for event in session.events if event["event"] == "segment_decision")
    return [(event["segment"], event["representation"]) for event in decisions]


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.slow
def test_the_model_asks_for_what_the_player_asks_for(player: str, node: str, tmp_path: Path) -> None:
    """At least 98 of 100 requests are the same; after a first difference the two are in different situations."""
    sizes = _sizes()

    def both(named: tuple[str, Trace]) -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
        name, trace = named
        folder = tmp_path / name
        folder.mkdir()
        return name, _by_itself(node, player, trace, sizes), _by_model(player, trace, folder, sizes)

    same = total = again = 0
    differing = []
    with ThreadPoolExecutor(2) as pool:
        for name, own, model in pool.map(both, _traces()):
            agree = sum(a == b for a, b in zip(own, model, strict=False))
            same, total = same + agree, total + max(len(own), len(model))
            again += len(own) - len({segment for segment, _ in own})
            if own != model:
                first = next((i for i, (a, b) in enumerate(zip(own, model, strict=False)) if a != b), len(model))
                differing.append(f"{name}: {agree} of {len(own)}, first at request {first}")
    assert total > 400
    assert same >= 0.98 * total, f"{same} of {total} requests; {differing}"
    if player == "dash.js":
        assert again > 0.1 * total, "fast switch was not seen at work"


@pytest.mark.slow
def test_live_rules_and_speeds_are_still_what_the_player_says(node: str) -> None:
    """The answers that the rules `lol+` and `l2a` and the laws of speed are held to (crates/video) are dash.js's."""
    loaded = json.loads((HERE.parent.parent / "crates/video/tests/data/dashjs_live.json").read_text())
    done = subprocess.run(
        [node, "laws.mjs"],
        cwd=HERE,
        input=json.dumps(loaded["questions"]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == loaded["answers"]
