"""Studies in two worlds: the table of figures side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from playpath.errors import InputError
from playpath.studies import NAMES, Options, study
from playpath.studies.beside import run_beside


@pytest.mark.parametrize("name", [name for name in NAMES if study(name).beside is not None])
def test_a_world_beside_itself_shows_the_same_figures(name: str, tmp_path: Path) -> None:
    whole = study(name)
    assert whole.beside is not None
    short = replace(whole, beside=replace(whole.beside, share=0.01))
    result = run_beside(short, Options(tmp_path, seeds=2, world="sim"))
    rows = result.rows()
    assert len(rows) == len(whole.beside.cases(0.01)) * len(whole.beside.metrics)
    for row in rows:
        # The simulator is deterministic; a metric that both lack would compare nothing.
        assert row["sim"] is not None, row
        assert row["sim"] == row["kernel"]
        assert row["sim_min"] <= row["sim"] <= row["sim_max"]
    assert {row["variant"] for row in rows} == {case.labels["variant"] for case in whole.beside.cases(0.01)}
    saved = pl.read_csv(result.save(tmp_path / "out"))
    assert saved.height == len(rows)
    sessions = pl.read_csv(tmp_path / "out" / "beside-sessions.csv")
    assert sessions.height == 2 * 2 * len(whole.beside.cases(0.01))


def test_a_study_without_such_a_part_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"study 'sticky' has no part for the kernel world; these have: ccp, newcwv"):
        run_beside(study("sticky"), Options(tmp_path, world="kernel"))
