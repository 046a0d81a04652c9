"""The packet scripts against Linux's own TCP: those that say so hold for it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import kernel_tcp
import pytest

SCRIPTS = sorted(kernel_tcp.SCRIPTS.glob("*.pkt"))
NEEDS = ()
AT_ONCE = 6
"""Scripts that are played at a time: they wait for timers nearly all of it, each in a namespace of its own."""


def _holds(file: Path) -> str:
    return next(line for line in file.read_text().splitlines() if line.startswith("holds "))


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest) -> Iterator[dict[Path, Future[str]]]:
    """What becomes of each script that this session asks for."""
    calls = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {call.params["file"]: pool.submit(kernel_tcp.outcome, call.params["file"]) for call in calls if call}


@pytest.mark.parametrize(
    "file", [file for file in SCRIPTS if _holds(file) == "holds linux"], ids=lambda file: file.stem
)
def test_it_holds_for_linux(file: Path, played: dict[Path, Future[str]]) -> None:
    # What differs beside others is asked once more alone: time is real here.
    assert (played[file].result() and kernel_tcp.outcome(file)) == ""


def test_a_wrong_script_fails(tmp_path: Path) -> None:
    """The runner itself is under test: a wrong range, a segment too many, a wrong state, a wrong time."""
    good = "config linux mss=1000 timestamps=off\nestablished server rtt=0.1\n+0 write 1000\n+0 > . 1:1001 ack 1\n"
    file = tmp_path / "good.pkt"
    file.write_text(good)
    assert kernel_tcp.outcome(file) == ""
    for wrong in (
        good.replace("1:1001", "1:1000"),
        good.replace("+0 > . 1:1001 ack 1\n", ""),
        good + "+0 expect cwnd=9\n",
        good.replace("+0 >", "+0.1 >"),
    ):
        file.write_text(wrong)
        assert kernel_tcp.outcome(file, attempts=1) != "", wrong


def test_what_the_kernel_cannot_be_set_to_is_named(tmp_path: Path) -> None:
    file = tmp_path / "vegas.pkt"
    file.write_text("config linux cc=vegas\n")
    assert kernel_tcp.outcome(file) == "cannot be set: cc=vegas"


def test_a_process_that_does_not_start_is_an_attempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "vegas.pkt"
    file.write_text("config linux cc=vegas\n")
    starts, start = [], kernel_tcp.subprocess.run

    def refused_once(*words: Any, **settings: Any) -> Any:
        starts.append(words)
        if len(starts) == 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return start(*words, **settings)

    monkeypatch.setattr(kernel_tcp.subprocess, "run", refused_once)
    assert kernel_tcp.outcome(file) == "cannot be set: cc=vegas"
    starts.clear()
    assert kernel_tcp.outcome(file, attempts=1) == "not started: [Errno 11] Resource temporarily unavailable"
