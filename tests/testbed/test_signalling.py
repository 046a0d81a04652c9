"""Client data over real connections: CMCD version 2 with reports, in both real worlds and with dash.js."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import FAST, scenario

import playpath
from playpath.base import engine
from playpath.real.testbed import media, players, wire
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import MissingToolError, UnsupportedError
from playpath.real.testbed.players.dashjs import settings_of
from playpath.real.testbed.runner import run_kernel
from playpath.real.testbed.signalling import COLLECTOR_PATH, COLLECTOR_PORT, REPORTS, Signalling, check, unheard

pytestmark = pytest.mark.usefixtures("nothing_left")

LADDER = {"kind": "dash", "ladder": "400 kbit/s, 1 Mbit/s, 2 Mbit/s", "segment": "1 s", "audio": "96 kbit/s"}
TELLING = {"cmcd": "v2", "cmcd_events": "ps, t, rr", "cmcd_interval": "1 s"}


def loaded(**player: Any) -> playpath.Scenario:
    return playpath.load(
        {
            "video": {"rate": "2 Mbit/s", "duration": "5 s"},
            "player": LADDER | player,
            "path": [{"name": "wifi", "rate": "20 Mbit/s", "rtt": "20 ms"}],
            "sender": [{"cc": "ccplb"}],
        }
    )


def play(world: str, player: str, logs: Path, **settings: Any) -> dict[str, Any]:
    """A record; skipped where a program is missing."""
    wanted = loaded(**settings)
    try:
        if world == "wire":
            wire.program()
        players.player(player).check(wanted.resolved)
        if player == "dashjs":
            media.clip()
    except MissingToolError as error:
        pytest.skip(str(error))
    return run_kernel(
        wanted.resolved, wanted.sender("ccplb"), 1, tolerance="100 ms", player=player, logs=logs, world=world
    )


def reports(folder: Path) -> list[dict[str, Any]]:
    """As collected, each read by the CMCD reader; `sid` and `ts` besides, which that does not give."""
    lines = [json.loads(line)["report"] for line in (folder / REPORTS).read_text().splitlines()]
    return [{"text": line, **engine.parse_cmcd(line)} for line in lines]


def rungs(record: dict[str, Any]) -> list[int]:
    """Of the video segments, in the order of their arrival."""
    loads = [event for event in record["events"] if event["event"] == "segment_downloaded"]
    return [event["representation"] for event in loads if event["kind"] == "video"]


def with_event(found: list[dict[str, Any]], event: str) -> list[str]:
    return [report["text"] for report in found if f"e={event}," in report["text"]]


@pytest.mark.parametrize("world", ["kernel", "wire"])
def test_the_own_player_reports(world: str, tmp_path: Path) -> None:
    record = play(world, "own", tmp_path, **TELLING)
    simulated = playpath.run(loaded(**TELLING)).to_dict()
    assert record["warnings"] == []
    assert record["metrics"].keys() == simulated["metrics"].keys()
    # The reports' connection carries no media: it is no flow.
    assert [flow["name"] for flow in record["flows"]] == [flow["name"] for flow in simulated["flows"]]
    found = reports(tmp_path)
    assert all('sid="playpath-1"' in report["text"] and "v=2" in report["text"] for report in found)
    # As many as the log has: a report for each segment of both kinds, one for the start; by the clock at 0, 1, … s.
    loads = [event for event in record["events"] if event["event"] == "segment_downloaded"]
    assert len(with_event(found, "rr")) == len(loads) == 10
    assert len(with_event(found, "ps")) == 1
    assert 5 <= len(with_event(found, "t")) <= 6


def test_dash_js_reports_in_version_2(tmp_path: Path) -> None:
    record = play("kernel", "dashjs", tmp_path, **TELLING)
    assert record["metrics"]["played_s"] == pytest.approx(5, abs=0.3)
    found = reports(tmp_path)
    with_level = [report for report in found if report.get("bl_ms")]
    assert with_level, "a report tells the buffer's level"
    assert len(with_event(found, "rr")) >= 10
    assert with_event(found, "ps")
    assert len(with_event(found, "t")) >= 4
    assert all("v=2" in report["text"] and "sid=" in report["text"] for report in found)
    asked = [json.loads(line)["request"] for line in (tmp_path / "access.log").read_text().splitlines()]
    assert any("CMCD=" in line and "v%3D2" in line for line in asked), "and so do its requests"


def test_a_report_reaches_the_control_in_the_middle_of_a_download() -> None:
    with Testbed(network([FAST])) as bed:
        control = bed.use_control("bpf:ccplb")
        server = bed.start_server(bridge_to=control, signalling=Signalling(requests=True, reports=True))
        server.serve_zeros("zeros", 1 << 24)
        address = bed.ends[0].server_address
        asking = "CMCD=br%3D1000%2Cbl%3D1000%2Csid%3D%22a%22"
        media_url = f"http://{address}:{server.port}/zeros?{asking}"
        download = bed.start("media", "client", ["curl", "-s", "-o", "/dev/null", media_url])

        def known() -> float:
            (row,) = [row for row in control.connections() if row["local_port"] == server.port]
            return float(row["params"]["pob_bytes"])

        def post(name: str, sid: str, path: str = COLLECTOR_PATH) -> str:
            report = f'bl=(1000),br=(1000),e=ps,sid="{sid}",sta=p,tbl=(4000),v=2\n'
            command = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Content-Type: application/cmcd"]
            command += ["--data-binary", report, f"http://{address}:{COLLECTOR_PORT}{path}"]
            child = bed.start(name, "client", command)
            assert child.process.wait(timeout=10) == 0
            return child.output.read_text()

        time.sleep(1.0)
        # 1 s of 1 Mbit/s; the report says that 4 s are the target. A stranger's changes nothing.
        assert known() == 125_000
        assert post("stranger", "b") == "204"
        assert known() == 125_000
        assert post("report", "a") == "204"
        assert known() == 500_000
        assert download.process.poll() is None, "the download went on all the while"
        assert post("elsewhere", "a", "/carriers") == "404"
        kept = [json.loads(line)["report"] for line in (bed.folder / REPORTS).read_text().splitlines()]
        assert ['sid="b"' in line for line in kept] == [True, False]


def test_dash_js_is_set_as_the_scenario_says() -> None:
    described = loaded(**TELLING).resolved
    found = settings_of(described, "http://10.0.0.1:8082")
    (target,) = found["cmcd"].pop("eventTargets")  # type: ignore[attr-defined]
    assert found == {"cmcd": {"enabled": True, "version": 2, "mode": "query"}}
    assert (target["url"], target["events"], target["interval"]) == (
        "http://10.0.0.1:8082/cmcd",
        ["ps", "t", "rr"],
        1.0,
    )
    assert settings_of(loaded().resolved, "") == {"cmcd": {"enabled": True, "version": 1, "mode": "query"}}


def test_what_cannot_be_told_is_refused() -> None:
    own, vlc, dashjs = (players.player(name) for name in ("own", "vlc", "dashjs"))
    shown: dict[str, Any] = {"kind": "dash", "cmcd": "v2", "cmcd_events": "ps, bc"}
    for described, player, words in (
        ({"player": shown}, vlc, '`player.cmcd_events` = "ps, bc": vlc sends no reports; own and dashjs do'),
        ({"player": shown | {"low_latency": "chunks"}}, own, "allowed: without `low_latency`"),
        ({"player": shown, "origin": {"miss": "10 %"}}, own, r"allowed: without \[origin\]"),
        ({"player": shown, "traffic": [{"kind": "video"}]}, own, r"allowed: \[\[traffic\]\] of other kinds"),
        ({"player": shown | {"cmcd": "off"}}, own, 'allowed here: with `cmcd` = "v2"'),
    ):
        with pytest.raises(UnsupportedError, match=words):
            check(described, player)
    check({"player": shown}, own)
    check({"player": {"kind": "dash"}}, vlc)
    with pytest.raises(UnsupportedError, match=r"dash.js 5.2.1 reports no bc; allowed with it: ps, t, e, rr"):
        dashjs.check(scenario(player=LADDER | {"cmcd_events": "ps, bc"}))


def test_client_data_that_the_own_origin_does_not_hand_on_are_named() -> None:
    own, dashjs = players.player("own"), players.player("dashjs")
    shown: dict[str, Any] = {"kind": "dash", "cmcd": "v1"}
    for described, what in (
        ({"player": shown, "origin": {"misses": "10 %"}}, "[origin]"),
        ({"player": shown | {"low_latency": "chunks"}}, "`low_latency`"),
    ):
        assert unheard(described, own).startswith(
            f'`player.cmcd` = "v1": the server that {what} needs hands nothing on'
        )
        assert unheard(described, dashjs) == unheard(described | {"player": {"kind": "dash"}}, own) == ""
    assert unheard({"player": shown}, own) == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('http = "h2"', '`player.http` = "h2" is the simulator\'s; allowed here: apart, http/1.1'),
        ('cmcd_events = "t"', 'allowed here: with `cmcd` = "v2"'),
    ],
)
def test_a_refusal_is_one_line_with_status_2(settings: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "wanted.toml"
    file.write_text(
        '[video]\nrate = "1 Mbit/s"\nduration = "2 s"\n'
        f'[player]\nkind = "dash"\nladder = "1 Mbit/s"\n{settings}\n'
        '[[path]]\nrate = "5 Mbit/s"\nrtt = "20 ms"\n[[sender]]\ncc = "cubic"\n'
    )
    command = [sys.executable, "-m", "playpath", "run", str(file), "--world", "kernel"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    said = done.stderr.strip()
    assert words in " ".join(said.split()), said
    assert not list(tmp_path.glob("*.json"))
