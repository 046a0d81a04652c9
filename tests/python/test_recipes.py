"""The recipes are true: all are followed in one scratch copy of the workspace, which is built once."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from scratch import ROOT, Scratch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed"),
]

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


def put_line(file: Path, after: str, line: str) -> None:
    """Put `line` behind the only `after` of a file."""
    text = file.read_text()
    assert text.count(after) == 1, (file, after)
    file.write_text(text.replace(after, after + line))


def register(scratch: Scratch, listed: str, example: str, after: str) -> None:
    """Steps 1 and 2 of a recipe: the example beside the others of its kind, and its line in their list."""
    name = Path(example).stem
    file = scratch.folder / listed
    # The example is compiled by the crate's own tests, too: there it is not registered.
    before, test, rest = file.read_text().partition("\n#[cfg(test)]\n#[path")
    if test:
        assert f"recipes/{name}.rs" in rest.splitlines()[0]
        rest = rest.split("\n", 2)[2]
    file.write_text(before + rest)
    shutil.copy2(ROOT / "docs/recipes" / f"{name}.rs", scratch.folder / example)
    put_line(file, after, f"mod {name};\n")


def follow(scratch: Scratch) -> None:
    """What the recipes say, each a new file and a line; the one of a metric is an entry."""
    register(scratch, "crates/cc/src/controls.rs", "crates/cc/src/controls/scalable.rs", "mod newreno;\n")
    schedulers = "crates/transport/src/mptcp/scheduler"
    register(scratch, f"{schedulers}/mod.rs", f"{schedulers}/fastest.rs", "mod roundrobin;\n")
    transports = "crates/transport/src/transports"
    register(scratch, f"{transports}/mod.rs", f"{transports}/stop_and_wait.rs", "pub mod tcp;\n")
    register(scratch, "crates/video/src/players.rs", "crates/video/src/players/complete.rs", "pub mod agent;\n")
    register(scratch, "crates/video/src/abr/mod.rs", "crates/video/src/abr/careful.rs", "mod mpc;\n")
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
        put_line(models / "mod.rs", last, line)
    (entry,) = re.findall(r"```rust\n(.*?)```", (ROOT / "docs/recipes/add-a-metric.md").read_text(), re.DOTALL)
    put_line(scratch.folder / "crates/record/src/registry/viewer.rs", "pub const METRICS: &[Metric] = &[\n", entry)
    add_transport_key(scratch)


def add_transport_key(scratch: Scratch) -> None:
    """The three places of a key of a transport."""
    recipe = (ROOT / "docs/recipes/add-a-transport-key.md").read_text()
    field, value, entry = (
        textwrap.dedent(code) + "\n" for code in re.findall(r"```rust\n(.*?)\n   ```", recipe, re.DOTALL)
    )
    put_line(scratch.folder / "crates/transport/src/tcp/config.rs", "    pub timestamps: bool,\n", field)
    profiles = scratch.folder / "crates/transport/src/tcp/profile.rs"
    put_line(profiles, "            sack: true,\n", value)
    keys = scratch.folder / "crates/scenario/src/transport.rs"
    text = keys.read_text()
    (length,) = re.findall(r"const TCP: \[Field; (\d+)\] = \[\n", text)
    opening = f"const TCP: [Field; {length}] = [\n"
    assert text.count(opening) == 1
    keys.write_text(text.replace(opening, f"const TCP: [Field; {int(length) + 1}] = [\n{entry}"))


@pytest.fixture(scope="module", autouse=True)
def followed() -> None:
    """All that the recipes have you run passes, and the engine with all of them is built."""
    scratch = Scratch("followed")
    follow(scratch)
    own = (
        "contract",
        "allocation",
        "schedulers",
        "level",
        "mptcp",
        "player_contract",
        "abr_contract",
        "abr_allocation",
    )
    tests = [word for name in own for word in ("--test", name)]
    scratch.cargo("test", "-p", "playpath-cc", "-p", "playpath-transport", "-p", "playpath-video", "--lib", *tests)
    scratch.cargo("test", "-p", "playpath-link", "-p", "playpath-record", "--test", "registry")
    # With the tests' profile: the crates below are built so already.
    scratch.cargo("build", "--profile", "test", "-p", "playpath-python", "-p", "playpath-emulator")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("cc", "scalable"),
        ("scheduler", "fastest"),
        ("queue", "bounded"),
        ("loss", "every_nth"),
        ("player", "complete"),
        ("abr", "careful"),
    ],
)
def test_a_model_is_a_new_file_and_a_line(kind: str, name: str) -> None:
    assert name in registered(kind)


STALLS = """
video = { rate = "1 Mbit/s", duration = "10 s" }
player = { kind = "progressive", buffer = "1 s", policy = "rebuffer" }
path = [{ name = "a", rate = "600 kbit/s", rtt = "20 ms" }]
sender = [{ cc = "cubic" }]
"""


def test_a_metric_is_one_entry(tmp_path: Path) -> None:
    scenario = tmp_path / "stalls.toml"
    scenario.write_text(STALLS)
    found = json.loads(scratch_python(COMMAND, "run", str(scenario), "--json"))["metrics"]
    assert found["mean_stall_s"] == pytest.approx(found["stall_time_s"] / found["stall_count"])
    assert "mean stall" in scratch_python(COMMAND, "run", str(scenario))
    reference = scratch_python(REFERENCE)
    assert '"mean_stall_s": {' in reference  # the schema
    assert "| `mean_stall_s` | s | lower | 0.1, 5 % | – | Mean length of a stall. |" in reference


def test_a_transport_key_is_three_places(tmp_path: Path) -> None:
    scenario = tmp_path / "keys.toml"
    keys = 'sender = [{ cc = "cubic", transport = { name = "tcp", keep_alive = 60 } }]'
    scenario.write_text(STALLS.replace('sender = [{ cc = "cubic" }]', keys))
    found = json.loads(scratch_python(COMMAND, "run", str(scenario), "--json"))
    assert found["manifest"]["scenario"]["sender"][0]["keep_alive"] == 60
    assert "Time between keep-alives." in scratch_python(COMMAND, "help", "sender.keep_alive")
    assert '"keep_alive"' in scratch_python(COMMAND, "schema")


TOY = """
video = { rate = "200 kbit/s", duration = "10 s" }
player = { kind = "progressive", buffer = "2 s", policy = "rebuffer" }
path = [{ name = "a", rate = "10 Mbit/s", rtt = "20 ms" }]
traffic = [{ kind = "bulk", cc = "cubic", transport = { name = "toy", packet = 500 } }]
sender = [{ cc = "cubic", transport = "toy" }, { cc = "cubic" }]
"""


def test_a_transport_is_a_new_file_and_a_line(tmp_path: Path) -> None:
    """It plays, is recorded and reported: the bulk flow brings its 500 bytes in each round trip of a little more than 20 ms."""
    scenario = tmp_path / "toy.toml"
    scenario.write_text(TOY)
    played = ("run", str(scenario), "--sender", "cubic/toy", "--json")
    found = json.loads(scratch_python(COMMAND, *played, "--trace", str(tmp_path / "trace")))
    assert found["metrics"]["played_s"] == pytest.approx(10, abs=0.1)
    video, bulk = found["flows"]
    assert video["retransmitted_packets"] == bulk["retransmitted_packets"] == 0
    # 500 bytes and 36 of headers take 0.4288 ms at 10 Mbit/s, the answer's 36 bytes 0.0288 ms.
    assert bulk["min_rtt_ms"] == pytest.approx(20.4576)
    assert bulk["goodput_mbps"] == pytest.approx(500 * 8e-3 / bulk["mean_rtt_ms"], rel=0.02)
    assert found["manifest"]["scenario"]["sender"][0]["transport"] == {
        "name": "toy",
        "packet": 1200,
        "timeout_ms": 1000,
    }
    results = tmp_path / "results"
    scratch_python(COMMAND, "compare", str(scenario), "--seeds", "2", "--out", str(results))
    scratch_python(COMMAND, "report", str(results), "--out", str(tmp_path / "report.html"))
    assert "cubic/toy" in (tmp_path / "report.html").read_text()
    refused = scenario.read_text().replace('transport = "toy" }', 'transport = "toy", sack = true }')
    scenario.write_text(refused)
    with pytest.raises(AssertionError, match="is a key of TCP, and the transport here is toy"):
        scratch_python(COMMAND, *played)


PATH = {
    "name": "p",
    "rate": "10 Mbit/s",
    "rtt": "20 ms",
    "queue": {"kind": "bounded", "limit": "20 packets"},
    "loss": {"kind": "every_nth", "n": 20},
}
SCENARIO = {"path": [PATH], "traffic": [{"kind": "bulk"}], "run": {"duration": "1 s"}}


def test_the_simulator_and_the_emulator_take_a_new_queue_and_a_new_loss_model(tmp_path: Path) -> None:
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


def test_a_new_player_and_a_new_abr_rule_play(tmp_path: Path) -> None:
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
