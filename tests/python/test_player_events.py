"""What VLC and dash.js say, turned into the record's events and figures: worked by hand, without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from playpath.base import engine
from playpath.base.errors import RunError
from playpath.real.testbed.players import chromium, vlc
from playpath.real.testbed.players.events import EventLog
from playpath.real.testbed.players.scene import describe_ladder, ladder_of

SCENARIO = {"player": {"kind": "dash", "ladder": "1 Mbit/s, 2 Mbit/s", "segment": "2 s"}, "video": {"duration": "8 s"}}


class Clock:
    """A watch that a test sets."""

    elapsed = 0.0


def session(module: Any, folder: Path, *names: str) -> Any:
    log = folder / "player.log"
    log.write_text("")
    bed = SimpleNamespace(folder=folder, children={}, check=lambda: None)
    scene = SimpleNamespace(bed=bed, scenario=SCENARIO, until_s=60.0, described={"duration_s": 8.0})
    made = module._Session(scene, SimpleNamespace(log=log, name="player", is_stopped=False), *names)
    made._watch = Clock()
    return made


def figures(events: list[dict[str, Any]]) -> dict[str, float | None]:
    """The viewer's metrics of a log."""
    made = engine.record({"sessions": [{"name": "video", "events": events}]})
    metrics: dict[str, float | None] = made["metrics"]
    assert made["events"] == events
    return metrics


def test_figures_follow_from_events() -> None:
    log = EventLog()
    log.begin(0.0, {"duration_s": 6.0})
    log.moves(0.5)
    for segment, representation, rate in ((0, 0, 1.0), (1, 1, 2.0), (0, 1, 2.0), (2, 0, 1.0)):
        log.add(
            "segment_downloaded",
            1.0,
            request=segment,
            kind="video",
            segment=segment,
            representation=representation,
            rate_mbps=rate,
            body_bytes=1000,
            media_duration_s=2.0,
            download_time_s=0.1,
        )
    log.stands_still(3.0)
    log.moves(4.5)
    log.add("pictures_discarded", 4.6, first=0, count=3, cause="late")
    log.finish(8.0, "played", 6.0)
    found = figures(log.events)
    assert found["startup_delay_s"] == 0.5
    assert found["stall_count"] == 1
    # 1.5 s stalled of 7.5 s watched; one stall in 7.5 s are 8 a minute.
    assert found["stall_ratio"] == 0.2
    assert found["stalls_per_minute"] == 8
    assert found["discarded_pictures"] == 3
    assert found["underflow_events"] == 1
    # Segment 0 came twice: it counts as it came last. 2, 2 and 1 Mbit/s; one change, from segment 1 to 2.
    assert found["mean_rate_kbps"] == pytest.approx(5000 / 3)
    assert found["switches"] == 1
    # It had shown 2.5 s when it stopped: the media clock is the log's own.
    assert next(e for e in log.events if e["event"] == "stall_start")["position_s"] == 2.5


def test_a_session_that_never_starts_has_waited_all_along() -> None:
    log = EventLog()
    log.begin(0.0, {"duration_s": 6.0})
    log.finish(9.0, "stopped", 0.0)
    found = figures(log.events)
    assert found["startup_delay_s"] == 9.0
    assert found["stall_ratio"] is None
    assert "mean_rate_kbps" not in found


def test_a_plain_download_has_no_viewer_and_its_own_figures() -> None:
    made = engine.record({"sessions": [{"name": "video", "reported": {"first_byte_s": 0.25}}]})
    assert made["metrics"] == {"first_byte_s": 0.25, "goodput_mbps": 0.0}
    with pytest.raises(RunError, match='there is no metric "first_bite_s"'):
        engine.record({"sessions": [{"name": "video", "reported": {"first_bite_s": 0.25}}]})


def test_vlc_s_words_become_events(tmp_path: Path) -> None:
    made = session(vlc, tmp_path)
    made._begin = 0.0
    made._log.begin(0.0, {"duration_s": 8.0})
    # VLC 3.0 prints the first two before it plays: a late reference is no underflow then.
    said = [
        (0.2, "main input error: ES_OUT_SET_(GROUP_)PCR  is called too late (pts_delay increased to 300 ms)"),
        (0.9, "main input debug: Stream buffering done (750 ms in 435 ms)"),
        (2.0, "main video output warning: picture is too late to be displayed (missing 50 ms)"),
        (2.0, "main video output warning: picture is too late to be displayed (missing 22 ms)"),
        (2.1, "main input error: ES_OUT_SET_(GROUP_)PCR  is called too late (pts_delay increased to 500 ms)"),
        (2.2, "main input error: ES_OUT_SET_(GROUP_)PCR  is called too late (pts_delay increased to 700 ms)"),
        (3.6, "main input debug: Stream buffering done (750 ms in 1545 ms)"),
    ]
    for at, line in said:
        made._watch.elapsed = at
        with made._child.log.open("a") as file:
            file.write(f"[00007f9c54000c90] {line}\n")
        made._take_log()
    made._watch.elapsed = 9.7
    played = made._played("played")
    found = figures(played.events)
    assert found["startup_delay_s"] == 0.9
    assert found["stall_count"] == 1
    assert found["stall_time_s"] == pytest.approx(1.5)
    assert found["underflow_events"] == 1
    assert found["discarded_pictures"] == 2
    # Two pictures of 40 ms of the 8 s were not shown.
    assert found["played_s"] == pytest.approx(7.92)
    assert [e["event"] for e in played.events][-4:] == ["stall_start", "underflow_end", "stall_end", "finished"]


def test_a_buffer_that_vlc_refills_at_once_is_an_underflow_and_no_stall(tmp_path: Path) -> None:
    """As VLC 3.0 does over DASH, from a segment that it has: twice the reference is late, then `in 2 ms`. 40 ms are a picture."""
    made = session(vlc, tmp_path)
    made._begin = 0.0
    made._log.begin(0.0, {"duration_s": 8.0})
    late = "main input error: ES_OUT_SET_(GROUP_)PCR  is called too late (pts_delay increased to 1000 ms)\n"
    for at, said in (
        (0.9, "main input debug: Stream buffering done (1020 ms in 900 ms)\n"),
        (2.0, late + late + "main input debug: Stream buffering done (1020 ms in 2 ms)\n"),
        (3.0, late + "main input debug: Stream buffering done (1020 ms in 40 ms)\n"),
    ):
        made._watch.elapsed = at
        with made._child.log.open("a") as file:
            file.write(said)
        made._take_log()
    made._log.finish(9.0, "played", 8.0)
    found = figures(made._log.events)
    assert found["underflow_events"] == 2
    assert found["stall_count"] == 1


def test_a_half_written_line_waits_for_its_rest(tmp_path: Path) -> None:
    made = session(vlc, tmp_path)
    made._begin = 0.0
    made._child.log.write_text("main input debug: Stream buff")
    made._take_log()
    assert made._log.times("playback_started") == []
    with made._child.log.open("a") as file:
        file.write("ering done (750 ms in 435 ms)\n")
    made._take_log()
    assert len(made._log.times("playback_started")) == 1


def test_the_page_s_lines_become_events(tmp_path: Path) -> None:
    made = session(chromium, tmp_path, "dashjs", "dash.js")

    def line(event: str, at_s: float, **more: Any) -> str:
        text = json.dumps({"event": event, "at_s": at_s, **more})
        return f'[4355:4355:1121/080219.6:INFO:CONSOLE:8] "playpath {text}", source: file:///page.html (8)\n'

    def loaded(at_s: float, index: int, kbps: float, position_s: float = 0.0) -> str:
        more = {
            "type": "MediaSegment",
            "media": "video",
            "index": index,
            "kbps": kbps,
            "bytes": 1000,
            "begins_s": 2 * index,
            "duration_s": 2,
            "position_s": position_s,
            "took_s": 0.1,
        }
        return line("loaded", at_s, error=None, **more)

    made._child.log.write_text(
        "[4355] ERROR:dbus/bus.cc:405] Failed to connect\n"
        + line("start", 0.01, version="5.2.1")
        + line("waiting", 0.3, position_s=0)  # before the first picture: start-up, not a stall
        + loaded(0.6, 0, 1003.2)
        + line("playing", 0.7, position_s=0)
        + loaded(0.8, 1, 1003.2, 0.1)
        + loaded(0.9, 1, 1973.8, 0.2)  # again, before it is on
        + loaded(1.0, 0, 1973.8, 0.3)  # again, while it is on: what was there is shown
        + line("waiting", 4.0, position_s=3.3)
        + line("playing", 4.25, position_s=3.3)
        + line("alive", 5.0, position_s=4.05, buffer_s=1.0, total=100, dropped=4)
        + line("waiting", 8.9, position_s=7.95)  # the end of the video is no stall
        + line("ended", 8.95, position_s=8.0)
    )
    ends = [made._take(received) for received in made._lines()]
    assert ends[-1] == "played"
    played = made._played("played")
    found = figures(played.events)
    assert found["startup_delay_s"] == 0.7
    assert found["stall_count"] == 1
    assert found["stall_time_s"] == pytest.approx(0.25)
    assert found["mean_rate_kbps"] == 1500
    assert played.reported["displayed_pictures"] == 96
    assert found["discarded_pictures"] == 4
    assert played.reported["mean_buffer_s"] == 1.0
    assert played.body_bytes == 4000
    assert len((tmp_path / "dashjs.jsonl").read_text().splitlines()) == 12


def test_a_page_that_forgets_its_end_is_told_from_one_that_waits(tmp_path: Path) -> None:
    made = session(chromium, tmp_path, "dashjs", "dash.js")
    made._take({"event": "playing", "at_s": 0.5, "position_s": 0})

    def alive(at_s: float, position_s: float, buffer_s: float) -> str:
        shown = {"position_s": position_s, "buffer_s": buffer_s, "total": 9, "dropped": 0}
        return str(made._take({"event": "alive", "at_s": at_s, **shown}))

    # The last picture is missing: it waits, and may do so for long.
    assert alive(8.0, 7.6, 0.1) == ""
    assert alive(20.0, 7.6, 0.1) == ""
    # All is there and it stands still: over after a second.
    assert alive(21.0, 7.9, 0.1) == ""
    assert alive(21.5, 7.9, 0.1) == ""
    assert alive(22.25, 7.9, 0.1) == "played"
    # Here 12 s passed without a word: a busy machine.
    starved = "the machine was too busy for Chromium, which froze for 12.0 s: stalls may be due to that"
    assert made._played("played").warnings == ["dash.js did not end by itself although all data were there", starved]


def test_ladders_are_read() -> None:
    assert ladder_of(SCENARIO) == ([1e6, 2e6], 2.0)
    assert describe_ladder(SCENARIO) == {"playout_buffer_bytes": 0.0, "video_kbps": 2000.0, "duration_s": 8.0}
