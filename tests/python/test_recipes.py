"""The recipes are true: each is followed in a scratch copy of the workspace."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scratch import ROOT, Scratch

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")

PRELOAD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("playpath._engine", sys.argv.pop(1))
engine = sys.modules["playpath._engine"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engine)
"""
LIST = "print(engine.registry(sys.argv[1]))"
REFERENCE = "print(*engine.record_reference())"
COMMAND = "from playpath.cli import main; main()"


def scratch_python(code: str, *words: str) -> str:
    """What Python prints, with the engine of the scratch copy that was just built."""
    library = str(ROOT / "target/debug/lib_engine.so")
    command = [sys.executable, "-c", PRELOAD + code, library, *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def registered(kind: str) -> list[str]:
    """What that engine lists of a kind."""
    return [entry["name"] for entry in json.loads(scratch_python(LIST, kind))]


def test_a_congestion_control_is_a_new_file_and_a_line() -> None:
    scratch = Scratch("control")
    controls = scratch.folder / "crates/cc/src/controls.rs"
    # The example is compiled by the crate's own tests, too: there it is not registered.
    before, example = controls.read_text().split("\n#[cfg(test)]\n", 1)
    assert "recipes/scalable.rs" in example
    # Steps 1 and 2 of docs/recipes/add-a-congestion-control.md.
    shutil.copy2(ROOT / "docs/recipes/scalable.rs", controls.with_name("controls") / "scalable.rs")
    controls.write_text(before.replace("mod newreno;\n", "mod newreno;\nmod scalable;\n"))
    scratch.cargo("test", "-p", "playpath-cc", "--lib", "--test", "contract", "--test", "allocation")
    scratch.cargo("build", "-p", "playpath-python")
    assert "scalable" in registered("cc")


STALLS = """
video = { rate = "1 Mbit/s", duration = "10 s" }
player = { kind = "progressive", buffer = "1 s", policy = "rebuffer" }
path = [{ name = "a", rate = "600 kbit/s", rtt = "20 ms" }]
sender = [{ cc = "cubic" }]
"""


@pytest.mark.slow
def test_a_metric_is_one_entry(tmp_path: Path) -> None:
    scratch = Scratch("metric")
    (entry,) = re.findall(r"```rust\n(.*?)```", (ROOT / "docs/recipes/add-a-metric.md").read_text(), re.DOTALL)
    viewer = scratch.folder / "crates/record/src/registry/viewer.rs"
    head = "pub const METRICS: &[Metric] = &[\n"
    text = viewer.read_text()
    assert head in text
    viewer.write_text(text.replace(head, head + entry))
    scratch.cargo("test", "-p", "playpath-record", "--test", "registry")
    scratch.cargo("build", "-p", "playpath-python")
    scenario = tmp_path / "stalls.toml"
    scenario.write_text(STALLS)
    found = json.loads(scratch_python(COMMAND, "run", str(scenario), "--json"))["metrics"]
    assert found["mean_stall_s"] == pytest.approx(found["stall_time_s"] / found["stall_count"])
    assert "mean stall" in scratch_python(COMMAND, "run", str(scenario))
    reference = scratch_python(REFERENCE)
    assert '"mean_stall_s": {' in reference  # the schema
    assert "| `mean_stall_s` | s | lower | 0.1, 5 % | – | Mean length of a stall. |" in reference


@pytest.mark.slow
def test_a_scheduler_is_a_new_file_and_a_line() -> None:
    scratch = Scratch("scheduler")
    schedulers = scratch.folder / "crates/transport/src/mptcp/scheduler/mod.rs"
    before, _, rest = schedulers.read_text().partition("\n#[cfg(test)]\n#[path")
    assert "recipes/fastest.rs" in rest.splitlines()[0]
    # Steps 1 and 2 of docs/recipes/add-a-scheduler.md.
    shutil.copy2(ROOT / "docs/recipes/fastest.rs", schedulers.with_name("fastest.rs"))
    assert "mod roundrobin;\n" in before
    schedulers.write_text(
        before.replace("mod roundrobin;\n", "mod roundrobin;\nmod fastest;\n") + rest.split("\n", 2)[2]
    )
    scratch.cargo(
        "test", "-p", "playpath-transport", "--lib", "--test", "schedulers", "--test", "level", "--test", "mptcp"
    )
    scratch.cargo("build", "-p", "playpath-python")
    assert "fastest" in registered("scheduler")


PATH = {
    "name": "p",
    "rate": "10 Mbit/s",
    "rtt": "20 ms",
    "queue": {"kind": "bounded", "limit": "20 packets"},
    "loss": {"kind": "every_nth", "n": 20},
}
SCENARIO = {"path": [PATH], "traffic": [{"kind": "bulk"}], "run": {"duration": "1 s"}}


@pytest.mark.slow
def test_a_queue_and_a_loss_model_are_a_new_file_and_a_line_each(tmp_path: Path) -> None:
    scratch = Scratch("queue")
    for folder, name, last, line in (
        ("queue", "bounded", "    Pie(PieConfig) in pie,\n", "    Bounded(BoundedConfig) in bounded,\n"),
        (
            "loss",
            "every_nth",
            "    Pattern(PatternConfig) in pattern,\n",
            "    EveryNth(EveryNthConfig) in every_nth,\n",
        ),
    ):
        models = scratch.folder / "crates/link/src" / folder
        shutil.copy2(ROOT / f"docs/recipes/{name}.rs", models / f"{name}.rs")
        text = (models / "mod.rs").read_text()
        assert text.count(last) == 1
        (models / "mod.rs").write_text(text.replace(last, last + line))
    scratch.cargo("test", "-p", "playpath-link", "--test", "registry")
    scratch.cargo("build", "-p", "playpath-python", "-p", "playpath-emulator")
    assert "bounded" in registered("queue")
    assert "every_nth" in registered("loss")
    # The simulator plays it, and resolves it to what the emulator takes: only the namespace is missing there.
    file = tmp_path / "recipe.json"
    file.write_text(json.dumps(SCENARIO))
    shown = json.loads(scratch_python(COMMAND, "run", str(file), "--sender", "cubic", "--json"))
    assert shown["links"][0]["dropped_packets"]["loss"] > 0
    ends = {side: {"namespace": "no-such-namespace", "device": side} for side in ("server", "client")}
    config = tmp_path / "emulator.json"
    config.write_text(json.dumps({"scenario": SCENARIO, "ends": [{"path": "p", **ends}]}))
    emulator = [ROOT / "target/debug/playpath-emulator", config]
    refused = subprocess.run(emulator, check=False, capture_output=True, text=True)
    assert refused.returncode == 1, refused.stderr
    assert "no-such-namespace" in refused.stderr


CLEAN = {"name": "p", "rate": "10 Mbit/s", "rtt": "20 ms"}


@pytest.mark.slow
def test_a_player_and_an_abr_rule_are_a_new_file_and_a_line_each(tmp_path: Path) -> None:
    scratch = Scratch("player")
    for list_of_modules, folder, name, last in (
        ("players.rs", "players", "complete", "pub mod agent;\n"),
        ("abr/mod.rs", "abr", "careful", "mod mpc;\n"),
    ):
        modules = scratch.folder / "crates/video/src" / list_of_modules
        before, _, rest = modules.read_text().partition("\n#[cfg(test)]\n#[path")
        assert f"recipes/{name}.rs" in rest.splitlines()[0]
        # Steps 1 and 2 of docs/recipes/add-a-player.md and add-an-abr-rule.md.
        shutil.copy2(ROOT / f"docs/recipes/{name}.rs", scratch.folder / f"crates/video/src/{folder}/{name}.rs")
        assert before.count(last) == 1
        modules.write_text(before.replace(last, f"{last}mod {name};\n") + rest.split("\n", 2)[2])
    contracts = ("--test", "player_contract", "--test", "abr_contract", "--test", "abr_allocation")
    scratch.cargo("test", "-p", "playpath-video", "--lib", *contracts)
    scratch.cargo("build", "-p", "playpath-python")
    assert "complete" in registered("player")
    assert "careful" in registered("abr")
    scenario = tmp_path / "recipe.json"
    for player, shown in (
        ({"kind": "complete"}, {"stall_count": 0}),
        ({"kind": "dash", "abr": "careful share=0.8", "segment": "1 s", "full_level": "4 s"}, {}),
    ):
        text = {"path": [CLEAN], "video": {"rate": "1 Mbit/s", "duration": "10 s"}, "player": player}
        scenario.write_text(json.dumps(text))
        found = json.loads(scratch_python(COMMAND, "run", str(scenario), "--sender", "cubic", "--json"))["metrics"]
        assert found["played_s"] == pytest.approx(10, abs=0.1)
        assert found.items() >= shown.items()
