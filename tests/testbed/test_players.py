"""Real players: each plays a short clip from nginx over an emulated path, and what goes wrong is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import FAST, scenario, sender

from playpath.base.errors import InputError
from playpath.real.testbed import media, players
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import MissingToolError, TestbedError, UnsupportedError
from playpath.real.testbed.players import scene
from playpath.real.testbed.runner import run_kernel
from playpath.real.testbed.tools import execute

pytestmark = pytest.mark.usefixtures("nothing_left")

CLIP = {"rate": "2 Mbit/s", "duration": "5 s", "fps": 25, "seed": 1}
LADDER = {"kind": "dash", "ladder": "400 kbit/s, 1 Mbit/s, 2 Mbit/s", "segment": "1 s"}
LOOSE = "100 ms"
"""What is tested holds on a busy machine too: lateness of the link does not matter here."""


def dash(**changes: Any) -> dict[str, Any]:
    return scenario(video=CLIP, player=LADDER) | changes


def progressive(**changes: Any) -> dict[str, Any]:
    return scenario(video=CLIP, player={"kind": "progressive", "buffer": "500 ms"}) | changes


def play(
    wanted: dict[str, Any],
    cc: str,
    player: str,
    logs: Path | None = None,
    during: Callable[[Testbed], None] | None = None,
) -> dict[str, Any]:
    """A record; skipped where the player's program, ffmpeg or the clip is missing."""
    try:
        players.player(player).check(wanted)
        if player in ("vlc", "dashjs"):
            media.clip()
    except MissingToolError as error:
        pytest.skip(str(error))
    if during is None:
        return run_kernel(wanted, sender(cc), 1, tolerance=LOOSE, player=player, logs=logs)
    enter = Testbed.__enter__

    def entered(bed: Testbed) -> Testbed:
        enter(bed)
        threading.Thread(target=during, args=(bed,), daemon=True).start()
        return bed

    Testbed.__enter__ = entered  # type: ignore[method-assign]
    try:
        return run_kernel(wanted, sender(cc), 1, tolerance=LOOSE, player=player, logs=logs)
    finally:
        Testbed.__enter__ = enter  # type: ignore[method-assign]


def wait_for(found: Callable[[], Any], patience: float = 20.0) -> Any:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_vlc_plays_a_file_and_its_own_counters_are_the_record(tmp_path: Path) -> None:
    record = play(progressive(), "vegas", "vlc", tmp_path)
    metrics = record["metrics"]
    assert record["flows"][-1]["cc"] == "vegas"
    # 5 s at 25 pictures a second; VLC's counters are renewed some times a second, so the last second's are missing.
    assert metrics["displayed_pictures"] + metrics["discarded_pictures"] >= 100
    assert 0.05 < metrics["startup_delay_s"] < 5
    assert [e["event"] for e in record["events"][:3]] == ["session_started", "buffer_filled", "playback_started"]
    assert record["events"][-1]["reason"] == "played"
    # 2 Mbit/s for 5 s are 1.25 MB, within the tenth that an encoder misses on so short a clip.
    log = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
    assert 1.1e6 < max(line["bytes"] for line in log) < 1.4e6
    said = (tmp_path / "vlc.log").read_text(errors="replace")
    assert "Stream buffering done" in said
    # It took the setting that keeps it from reading the whole file ahead.
    assert "using 65536 bytes buffer" in said
    assert (tmp_path / "vlc-status.jsonl").stat().st_size > 0


def test_vlc_says_when_the_path_is_too_slow() -> None:
    # 2 Mbit/s of media over 1 Mbit/s: of the 5 s that the clip is shown, it waits about as long.
    slow = FAST | {"rate": "1 Mbit/s", "queue": {"kind": "droptail", "limit": "20 kB"}}
    metrics = play(progressive(path=[slow]), "cubic", "vlc")["metrics"]
    assert metrics["stall_count"] >= 1
    assert metrics["stall_time_s"] > 1
    assert metrics["underflow_events"] == metrics["stall_count"]


@pytest.mark.parametrize("player", ["vlc", "dashjs"])
def test_a_ladder_is_played_and_its_best_quality_reached(player: str, tmp_path: Path) -> None:
    record = play(dash(), "ccp", player, tmp_path)
    segments = [e for e in record["events"] if e["event"] == "segment_downloaded"]
    # 20 Mbit/s carry the ladder's 2 Mbit/s; the first segment is fetched before anything is known.
    assert {e["segment"] for e in segments} == set(range(5))
    assert max(e["representation"] for e in segments) == 2
    assert 400 <= record["metrics"]["mean_rate_kbps"] <= 2000
    assert record["metrics"]["stall_count"] == 0
    assert record["events"][-1]["event"] == "finished"
    assert record["metrics"]["played_s"] == pytest.approx(5, abs=0.2)


def test_dash_js_tells_the_control_by_cmcd() -> None:
    seen: list[dict[str, Any]] = []
    own: list[Path] = []

    def look(bed: Testbed) -> None:
        def outcome() -> bool:
            own.extend(bed.folder.glob("chromium-home/org.chromium.*"))
            running = [c for c in bed._controls if c.name.startswith("ccplb")]
            seen.extend(row for c in running for row in c.connections() if row["params"]["pob_bytes"] > 0)
            return bool(seen)

        wait_for(outcome)

    # Room for what CCPLB adds to the window on account of the buffer.
    roomy = FAST | {"queue": {"kind": "droptail", "limit": "500 kB"}}
    record = play(dash(path=[roomy]), "ccplb", "dashjs", during=look)
    assert record["metrics"]["played_s"] == pytest.approx(5, abs=0.2)
    # Before the second segment at least 1 s is in the buffer, of at least 400 kbit/s: 50 kB; of 2 Mbit/s, 60 s at most.
    assert 25_000 <= seen[-1]["params"]["pob_bytes"] <= 15_000_000
    # The folder of its socket, which it leaves when it is ended, is the run's.
    assert own


@pytest.mark.parametrize("player", ["curl", "iperf3"])
def test_bulk_fills_the_path(player: str) -> None:
    record = play(scenario(run={"duration": "2 s", "seeds": 1}), "newreno", player)
    # 1448 of 1500 bytes of 20 Mbit/s are 19.3; less slow start.
    assert 14 < record["metrics"]["goodput_mbps"] < 19.4
    assert {flow["cc"] for flow in record["flows"]} == {"reno"}


@pytest.mark.parametrize(("player", "program"), [("own", "player"), ("vlc", "vlc")])
def test_a_player_that_hangs_fails_the_run(player: str, program: str, tmp_path: Path) -> None:
    def stop(bed: Testbed) -> None:
        child = wait_for(lambda: bed.children.get(program))
        time.sleep(1.0)
        os.kill(child.process.pid, signal.SIGSTOP)

    with pytest.raises(TestbedError, match=f"^{program} hangs: it is stopped"):
        play(progressive(), "cubic", player, tmp_path, during=stop)
    failed = json.loads((tmp_path / "failed.json").read_text())
    assert failed["failed"].startswith(f"{program} hangs")
    assert failed["player"] == player


def test_a_browser_goes_with_its_helpers_when_the_server_dies() -> None:
    def kill(bed: Testbed) -> None:
        log = bed.folder / "access.log"
        wait_for(lambda: log.exists() and "0-1.m4s" in log.read_text())
        nginx = next(child for child in bed._pillars if child.name == "nginx")
        os.kill(nginx.process.pid, signal.SIGKILL)

    # Chromium starts a dozen processes; `nothing_left` counts them.
    with pytest.raises(TestbedError, match=r"^nginx was killed by signal 9"):
        play(dash(), "cubic", "dashjs", during=kill)


def test_the_bridge_dies_and_the_video_flows_on(tmp_path: Path) -> None:
    def kill(bed: Testbed) -> None:
        bridge = wait_for(lambda: bed.children.get("agent"))
        log = bed.folder / "access.log"
        wait_for(lambda: log.exists() and "0-1.m4s" in log.read_text())
        os.kill(bridge.process.pid, signal.SIGKILL)

    record = play(dash(), "ccplb", "dashjs", tmp_path, during=kill)
    assert record["metrics"]["played_s"] == pytest.approx(5, abs=0.2)
    assert {e["segment"] for e in record["events"] if e["event"] == "segment_downloaded"} == set(range(5))


def test_media_are_made_once_and_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        media.clip()
        media._ffmpeg_version()
    except MissingToolError as error:
        pytest.skip(str(error))
    first = media.progressive(600e3, 2)
    assert media.progressive(600e3, 2) == first
    content = first.read_bytes()
    # The index stands in front of the data, so that a player can start.
    assert content.index(b"moov") < content.index(b"mdat")
    monkeypatch.setattr(media, "cache_folder", lambda: tmp_path)
    again = media.progressive(600e3, 2)
    assert again != first
    assert again.parent.name == first.parent.name
    assert again.read_bytes() == content


def test_what_a_player_cannot_play_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match=r"player dashjs: \[player\] kind = 'progressive'; allowed: dash"):
        players.player("dashjs").check(progressive())
    with pytest.raises(InputError, match=r"ladder = None: a real player needs rates"):
        scene.ladder_of({"player": {"kind": "dash"}})
    with pytest.raises(InputError, match='unknown player of the kernel world "vcl"; did you mean "vlc"'):
        players.player("vcl")


def test_what_only_the_playpath_player_does_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    live = dash() | {"player": dash()["player"] | {"latency_target": "4 s"}}
    with pytest.raises(UnsupportedError, match=r"dashjs plays on demand here: `player.latency_target` = \"4 s\""):
        run_kernel(live, sender("cubic"), 1, player="dashjs")
    with pytest.raises(UnsupportedError, match=r"P.1203 input .* leave out --p1203"):
        run_kernel(progressive(), sender("cubic"), 1, player="curl", p1203=tmp_path / "p.json")


def test_settings_that_a_player_does_not_take_are_named() -> None:
    for player, wanted, asked, named in (
        ("dashjs", dash(), {"abr": "fixed", "connections": "per-segment", "cmsd": True}, 'abr = "fixed", connections = "per-segment"'),
        ("shaka", dash(), {"audio": "96 kbit/s", "client": "shaka"}, ""),
        ("vlc", progressive(), {"policy": "rebuffer", "start": "first-frame"}, 'policy = "rebuffer", start = "first-frame"'),
        ("curl", progressive(), {"kind": "agent", "buffer": "infinite", "overflow": "drop"}, 'overflow = "drop"'),
    ):  # fmt: skip
        found = scene.not_taken(wanted | {"player": wanted["player"] | asked}, players.player(player))
        assert found == ([f"{player} has its own, so without effect: {named}"] if named else [])


def test_nginx_speaks_mptcp_and_a_player_without_it_is_served() -> None:
    with Testbed(network([FAST])) as bed:
        try:
            server = bed.start_server(mptcp_under="cubic")
        except MissingToolError as error:
            pytest.skip(str(error))
        server.serve_zeros("zeros", 100_000)
        url = f"http://{bed.ends[0].server_address}:{server.port}/zeros"
        curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", url]
        for command in (curl, ["mptcpize", "run", *curl]):
            child = bed.start("curl", "client", command)
            assert child.process.wait(timeout=10) == 0
            assert child.output.read_text() == "100000"
        counters = subprocess.run(
            ["nsenter", f"--net=/run/netns/{bed.server}", "nstat", "-az", "MPTcpExtMPCapableSYNRX"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        # Only the second client asked for it.
        assert counters.stdout.split()[-2] == "1"


@pytest.mark.parametrize(("wanted", "starts"), [(progressive, b"ftyp"), (dash, b"<MPD")], ids=["file", "ladder"])
def test_any_program_finds_the_video_behind_the_path(
    wanted: Callable[[], dict[str, Any]], starts: bytes, tmp_path: Path
) -> None:
    got = tmp_path / "got"
    try:
        status = execute(wanted(), ["sh", "-c", f'curl -s -o {got} "$PLAYPATH_VIDEO"'], media=True)
    except MissingToolError as error:
        pytest.skip(str(error))
    assert status == 0
    assert starts in got.read_bytes()[:200]
