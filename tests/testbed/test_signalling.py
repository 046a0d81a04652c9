"""Client data and server data over real connections: CMCD version 2 with reports, CMSD, in both real worlds and with dash.js."""

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
from playpath.real.testbed.signalling import COLLECTOR_PATH, COLLECTOR_PORT, REPORTS, Signalling, check, why_unused

pytestmark = pytest.mark.usefixtures("nothing_left")

LADDER = {"kind": "dash", "ladder": "400 kbit/s, 1 Mbit/s, 2 Mbit/s", "segment": "1 s", "audio": "96 kbit/s"}
SUGGESTED = {"cmsd": True, "cmsd_mb": "1.2 Mbit/s", "apply_mb": True}
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
def test_the_own_player_reports_and_follows_the_servers_suggestion(world: str, tmp_path: Path) -> None:
    record = play(world, "own", tmp_path, **TELLING, **SUGGESTED)
    simulated = playpath.run(loaded(**TELLING, **SUGGESTED)).to_dict()
    # 1.2 Mbit/s less the audio's 96 kbit/s leave 1 Mbit/s; without a suggestion 20 Mbit/s carry the 2.
    assert set(rungs(record)) == {1} == set(rungs(simulated))
    assert 2 in rungs(play(world, "own", tmp_path / "free", **(SUGGESTED | {"apply_mb": False})))
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


def test_dash_js_reports_in_version_2_and_follows_the_servers_suggestion(tmp_path: Path) -> None:
    record = play("kernel", "dashjs", tmp_path, **TELLING, **SUGGESTED)
    # Its first segment is asked for before a header has come; from then on 1 Mbit/s is the best that it knows.
    assert max(rungs(record)) == 1
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
    assert max(rungs(play("kernel", "dashjs", tmp_path / "free", **(SUGGESTED | {"apply_mb": False})))) == 2


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


def test_nginx_tells_what_the_kernels_tcp_has_measured_under_any_control() -> None:
    with Testbed(network([FAST])) as bed:
        bed.use_control("cubic")
        server = bed.start_server(signalling=Signalling(server_data=True, max_rate="3 Mbit/s"))
        server.serve_zeros("zeros", 1_000_000)
        url = f"http://{bed.ends[0].server_address}:{server.port}/zeros"
        child = bed.start("curl", "client", ["curl", "-s", "-D", "-", "-o", "/dev/null", url, url])
        assert child.process.wait(timeout=20) == 0
        heads = [line for line in child.output.read_text().splitlines() if line.lower().startswith("cmsd-dynamic: ")]
        lines = [dict(part.split("=") for part in head.split(";")[1:]) for head in heads]
        assert [row["mb"] for row in lines] == ["3000", "3000"]
        # The base RTT is 20 ms; at the second request the first megabyte has filled the queue of 50 kB (20 ms more) at 20 Mbit/s.
        assert 20 <= int(lines[0]["rtt"]) < 40
        assert "etp" not in lines[0]
        assert 5_000 < int(lines[1]["etp"]) < 40_000


def test_dash_js_is_set_as_the_scenario_says() -> None:
    described = loaded(**TELLING, **SUGGESTED, etp_weight="25 %").resolved
    found = settings_of(described, "http://10.0.0.1:8082")
    (target,) = found["cmcd"].pop("eventTargets")  # type: ignore[attr-defined]
    assert found == {
        "cmcd": {"enabled": True, "version": 2, "mode": "query"},
        "cmsd": {"enabled": True, "abr": {"applyMb": True, "etpWeightRatio": 0.25}},
    }
    assert (target["url"], target["events"], target["interval"]) == (
        "http://10.0.0.1:8082/cmcd",
        ["ps", "t", "rr"],
        1.0,
    )
    plain = settings_of(loaded().resolved, "")
    assert plain["cmcd"] == {"enabled": True, "version": 1, "mode": "query"}
    assert plain["cmsd"] == {"enabled": False, "abr": {"applyMb": False, "etpWeightRatio": 0.0}}


def test_what_cannot_be_told_is_refused() -> None:
    own, vlc, dashjs = (players.player(name) for name in ("own", "vlc", "dashjs"))
    shown: dict[str, Any] = {"kind": "dash", "cmcd": "v2", "cmcd_events": "ps, bc", "cmsd": True}
    for described, player, paths, words in (
        (
            {"player": shown},
            vlc,
            1,
            "`player.cmsd` = true: vlc neither sends reports nor reads server data; own and dashjs do",
        ),
        ({"player": shown}, own, 2, "over several paths: .*; allowed: one path, or the world wire"),
        ({"player": shown | {"low_latency": "chunks"}}, own, 1, "allowed: without `low_latency`"),
        ({"player": shown, "origin": {"miss": "10 %"}}, own, 1, r"allowed: without \[origin\]"),
        ({"player": shown, "traffic": [{"kind": "video"}]}, own, 1, r"allowed: \[\[traffic\]\] of other kinds"),
        ({"player": shown | {"cmcd": "off", "cmsd": False}}, own, 1, 'allowed here: with `cmcd` = "v2"'),
    ):
        with pytest.raises(UnsupportedError, match=words):
            check(described, player, "kernel", paths)
    check({"player": shown}, own, "wire", 2)
    check({"player": {"kind": "dash"}}, vlc, "kernel", 2)
    with pytest.raises(UnsupportedError, match=r"dash.js 5.2.1 reports no bc; allowed with it: ps, t, e, rr"):
        dashjs.check(scenario(player=LADDER | {"cmcd_events": "ps, bc"}))
    with pytest.raises(UnsupportedError, match=r"ignores the suggestion if there is no audio; give `audio`"):
        dashjs.check(scenario(player=LADDER | SUGGESTED | {"audio": "none"}))


def test_client_data_that_the_own_origin_does_not_hand_on_are_named() -> None:
    own, dashjs = players.player("own"), players.player("dashjs")
    shown: dict[str, Any] = {"kind": "dash", "cmcd": "v1"}
    for described, what in (
        ({"player": shown, "origin": {"misses": "10 %"}}, "[origin]"),
        ({"player": shown | {"low_latency": "chunks"}}, "`low_latency`"),
    ):
        assert why_unused(described, own).startswith(
            f'`player.cmcd` = "v1": the server that {what} needs passes nothing on'
        )
        assert why_unused(described, dashjs) == why_unused(described | {"player": {"kind": "dash"}}, own) == ""
    assert why_unused({"player": shown}, own) == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('http = "h2"', '`player.http` = "h2" is for the simulator; allowed here: apart, http/1.1'),
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
