"""Sessions of the kernel world beside one another."""

from __future__ import annotations

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
        if "the link was not what was asked for" not in str(error):
            raise
        pytest.skip(f"two test beds are too much for this machine now: {error}")
    assert set(result.senders) == {"cubic", "ccp"}
    assert result.table["stall_count"].to_list() == [0, 0]
