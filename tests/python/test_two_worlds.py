"""Studies in two worlds: the table of figures side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from playpath.base.errors import InputError
from playpath.papers import NAMES, Options, study
from playpath.papers.runner import _on_grid
from playpath.papers.two_worlds import run_side_by_side


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if study(name).two_worlds is not None])
def test_a_world_beside_itself_shows_the_same_figures(name: str, tmp_path: Path) -> None:
    whole = study(name)
    assert whole.two_worlds is not None
    short = replace(whole, two_worlds=replace(whole.two_worlds, share=0.01))
    result = run_side_by_side(short, Options(tmp_path, seeds=2, world="sim"))
    rows = result.rows()
    assert len(rows) == len(whole.two_worlds.cases(0.01)) * len(whole.two_worlds.metrics)
    for row in rows:
        # The simulator is deterministic; a metric that both lack would compare nothing.
        assert row["sim"] is not None, row
        assert row["sim"] == row["sim again"]
        assert row["sim_min"] <= row["sim"] <= row["sim_max"]
    assert {row["variant"] for row in rows} == {case.labels["variant"] for case in whole.two_worlds.cases(0.01)}
    saved = pl.read_csv(result.save(tmp_path / "out"))
    assert saved.height == len(rows)
    sessions = pl.read_csv(tmp_path / "out" / "beside-sessions.csv")
    assert sessions.height == 2 * 2 * len(whole.two_worlds.cases(0.01))


def test_a_study_without_such_a_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study 'vegas' has no part for the kernel world"):
        run_side_by_side(replace(study("vegas"), two_worlds=None), Options(tmp_path, world="kernel"))


def test_a_clock_s_samples_come_onto_the_grid() -> None:
    # Steps of 100 ms: two samples in the first, one in the second, none in the third, one in the fourth.
    columns = {"time_s": [0.03, 0.08, 0.2, 0.36], "snd_cwnd": [10, 12, 14, 7], "goodput_mbps": [1.0, 3.0, 5.0, 4.0]}
    found = {name: list(values) for name, values in _on_grid(columns, 0.1).items()}
    assert found["time_s"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert found["snd_cwnd"] == [12, 14, 14, 7]
    # The mean of a span's samples; nothing went through where nothing was sampled.
    assert found["goodput_mbps"] == [2.0, 5.0, 0.0, 4.0]
    assert _on_grid({"time_s": []}, 0.1) == {"time_s": []}
