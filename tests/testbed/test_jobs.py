"""Sessions of the kernel world beside one another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import playpath

pytestmark = pytest.mark.usefixtures("nothing_left")

SCENARIO = {
    "video": {"rate": "2 Mbit/s", "duration": "1 s"},
    "player": {"kind": "progressive", "buffer": "300 ms"},
    "path": [{"rate": "10 Mbit/s", "rtt": "20 ms"}],
    "sender": [{"cc": "cubic"}, {"cc": "ccp"}],
}


@pytest.mark.parametrize("jobs", [None, 2])
def test_senders_run_one_after_another_or_at_once(jobs: int | None) -> None:
    try:
        result = playpath.compare(SCENARIO, seeds=1, world="kernel", jobs=jobs)
    except playpath.RunError as error:
        if "the link did not behave as configured" not in str(error):
            raise
        pytest.skip(f"two test beds are too much for this machine now: {error}")
    assert set(result.senders) == {"cubic", "ccp"}
    assert result.table["stall_count"].to_list() == [0, 0]


def test_a_session_that_fails_is_kept_with_its_reason_and_the_others_are_ranked(tmp_path: Path) -> None:
    scenario = SCENARIO | {"sender": [{"cc": "cubic"}, {"cc": "sammy"}]}  # Sammy is not in the kernel
    result = playpath.compare(scenario, seeds=1, world="kernel", store=tmp_path)
    assert result.ranking == ["cubic"]
    (failure,) = result.failures
    assert (failure.sender, failure.seed) == ("sammy", 1)
    assert failure.reason.startswith("sammy: neither Linux nor playpath's eBPF programs have this control; available: ")
    marked = json.loads(next(tmp_path.glob("sammy-*/1/logs/failed.json")).read_text())
    assert marked == {"failed": failure.reason, "sender": "sammy", "seed": 1, "player": "own"}
    kept = {path.name for path in next(tmp_path.glob("cubic-*/1/logs")).iterdir()}
    assert {"player.out", "access.log"} <= kept
