"""Sweeps: designs, stable ids, the store, resuming, executors, and the answer."""

import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from conftest import SMALL, figures_of, playpath_command

import playpath
from playpath.base import engine
from playpath.base.errors import Interrupted, RunError
from playpath.base.signals import hold_ctrl_c
from playpath.cli.commands.sweep import print_sweep
from playpath.results.effects import Effect
from playpath.scenario import Scenario, at
from playpath.show.report import write_report
from playpath.show.report.sweep_page import sweep_page
from playpath.sweep import Store, SweepResult, load_design, runner, sweep
from playpath.sweep.cells import cells
from playpath.sweep.design import at_point
from playpath.sweep.executors import Place
from playpath.sweep.headline import _for_whom, _leader, counts
from playpath.sweep.levels import by_axis, levels
from playpath.sweep.result import shown_difference
from playpath.sweep.worker import Done, run_chunk

pytestmark = pytest.mark.slow

TINY = SMALL.replace('duration = "10 s"', 'duration = "2 s"')
DESIGN = {
    "scenario": TINY,
    "seeds": 2,
    "axis": [
        {"key": "path.loss", "values": ["0.5 %", "2 %"]},
        {"key": "path.rtt", "from": "20 ms", "to": "80 ms", "steps": 2},
    ],
}
DESIGN_FILE = """
scenario = "tiny.toml"
seeds = 3
[[axis]]
key = "path.loss"
values = ["0.5 %", "1 %", "2 %"]
[[axis]]
key = "path.rtt"
values = ["20 ms", "40 ms", "60 ms", "80 ms"]
"""


def test_a_row_holds_metrics_and_digest_of_the_whole_record():
    scenario = playpath.load(TINY)
    record, _ = engine.run(scenario.text, "cubic", 3, trace=False)
    assert engine.run_metrics(scenario.text, "cubic", 3) == (record["metrics"], record["digest"])


@pytest.fixture
def design_file(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    file = tmp_path / "grid.toml"
    file.write_text(DESIGN_FILE)
    return file


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    with ThreadPoolExecutor(2) as pool:
        return sweep(DESIGN, store=tmp_path_factory.mktemp("store"), executor=pool)


def test_a_grid_has_every_combination():
    design = load_design(DESIGN)
    assert design.size == 4
    assert list(design.points())[1] == {"path.loss": "0.5 %", "path.rtt": "80 ms"}
    assert design.keys == ["path.loss", "path.rtt"]


def test_ranges_are_divided_as_asked():
    axis = {"key": "path.rtt", "from": "1 ms", "to": "100 ms", "steps": 3}
    linear = load_design({**DESIGN, "axis": [axis]})
    assert [p["path.rtt"] for p in linear.points()] == ["1 ms", "50.5 ms", "100 ms"]
    log = load_design({**DESIGN, "axis": [{**axis, "scale": "log"}]})
    assert [p["path.rtt"] for p in log.points()] == ["1 ms", "10 ms", "100 ms"]


def test_settings_may_change_together():
    axis = {"keys": ["path.rtt", "path.loss"], "values": [["20 ms", "1 %"], ["40 ms", "2 %"]]}
    assert list(load_design({**DESIGN, "axis": [axis]}).points())[1] == {"path.rtt": "40 ms", "path.loss": "2 %"}


@pytest.mark.parametrize("kind", ["latin_hypercube", "random"])
def test_drawn_points_repeat_and_fill_the_range(kind):
    drawn = {**DESIGN, "sample": {"kind": kind, "points": 20}}
    points = list(load_design(drawn).points())
    assert points == list(load_design(drawn).points())
    rtts = levels(pl.DataFrame(points), "path.rtt").numbers
    assert 20 <= min(rtts) < 35
    assert 65 < max(rtts) <= 80
    if kind == "latin_hypercube":
        # One point in each twentieth of the range of 60 ms.
        assert sorted(int((rtt - 20) / 3) for rtt in rtts) == list(range(20))


WRONG_DESIGNS = [
    ({"axis": []}, "no \\[\\[axis\\]\\]"),
    ({"axes": []}, 'did you mean "axis"'),
    ({"axis": [{"key": "path.rtt"}]}, "give `values`"),
    ({"axis": [{"key": "path.rtt", "values": []}]}, "at least one"),
    ({"axis": [{"key": "path.rtt", "from": "1 ms", "to": "1 s"}]}, "use one unit"),
    ({"axis": [{"key": "path.rtt", "from": "0 ms", "to": "1 ms", "scale": "log"}]}, "above zero"),
    ({"axis": [{"key": "path.rt", "values": ["1 ms"]}]}, "rtt"),
    ({"axis": [{"keys": ["a", "b"], "values": [[1]]}]}, "1 values for 2 keys"),
    ({"axis": [{"key": "path.loss", "values": ["1 %", "2 %", "1 %"]}]}, 'axis 1: "1 %" stands twice in its values'),
    ({"axis": [{"key": "path.rtt", "values": ["-1 ms"]}]}, "^axis path.rtt: "),
    ({"axis": [{"key": "run.first_seed", "values": [1, 101]}]}, '`key` = "run.first_seed": cannot vary'),
    ({"seeds": 0}, "from 1 to"),
    ({"seeds": 2_000_000}, "^`seeds`: 2000000 is out of range"),
    ({"sample": {"kind": "grit", "points": 3}}, "latin_hypercube"),
    ({"sample": {"kind": "random", "points": 0}}, "from 1 to"),
    ({"scenario": "nowhere.toml"}, "nowhere.toml"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_DESIGNS, ids=[w[1] for w in WRONG_DESIGNS])
def test_wrong_designs(change, message):
    with pytest.raises(playpath.InputError, match=message) as error:
        load_design({**DESIGN, **change})
    assert "\n" not in str(error.value)


def test_ids_depend_on_what_decides_the_result_and_nothing_else():
    ids = [cell.id for cell in cells(load_design(DESIGN))]
    assert len(set(ids)) == len(ids) == 16
    renamed = {**DESIGN, "scenario": TINY.replace('name = "small"', 'name = "other"')}
    assert [cell.id for cell in cells(load_design(renamed))] == ids
    more_seeds = [cell.id for cell in cells(load_design({**DESIGN, "seeds": 3}))]
    assert set(ids) < set(more_seeds)
    other_path = {**DESIGN, "scenario": TINY.replace("6 Mbit/s", "7 Mbit/s")}
    assert not set(ids) & {cell.id for cell in cells(load_design(other_path))}


def test_sweep_agrees_with_compare(result):
    table = result.table
    assert table.height == 16
    assert result.errors.is_empty()
    assert table["point"].to_list() == sorted(table["point"].to_list())
    changed = {"path.loss": "2 %", "path.rtt": "80 ms"}
    compared = playpath.compare(TINY, seeds=2, set=changed)
    for sender in ("newreno", "cubic"):
        rows = table.filter((pl.col("point") == 3) & (pl.col("sender") == sender))
        assert rows["goodput_mbps"].to_list() == compared.values(sender, "goodput_mbps")


def test_sweep_survives_the_disk_and_has_a_report(result, tmp_path):
    result.save(tmp_path)
    again = SweepResult.load(tmp_path)
    assert again.digest == result.digest
    assert again.decisions.equals(result.decisions)
    page = write_report(again, tmp_path / "report.html").read_text()
    assert "Who wins where" in page
    assert result.digest in page


def test_figures_of_a_sweep(result):
    winners, *curves = figures_of(sweep_page(result))
    assert (winners["columns"], winners["rows"]) == (["0.5 %", "2 %"], ["20 ms", "80 ms"])
    assert len(winners["tiles"]) == 4
    for tile in winners["tiles"]:
        point = {"path.loss": winners["columns"][tile["column"]], "path.rtt": winners["rows"][tile["row"]]}
        row = result.decisions.row(by_predicate=pl.all_horizontal(pl.col(k) == v for k, v in point.items()), named=True)
        assert tile["name"].removesuffix(" ?").strip("()").startswith(row["best"])
        assert (tile["state"] == "open") == (not row["is_decided"])
        assert tile["place"] == result.base.senders.index(row["best"])
    stalls = next(one for one in curves if one["title"] == "stall time against path.loss, path.rtt = 20 ms")
    assert (stalls["x"]["unit"], stalls["x"]["ticks"], stalls["x"]["words"]) == ("%", [0.5, 2.0], ["0.5", "2"])
    for series in stalls["series"]:
        for loss, mean, *_ in series["points"]:
            here = {"sender": series["name"], "path.loss": f"{loss:g} %", "path.rtt": "20 ms"}
            cells = result.table.filter(pl.all_horizontal(pl.col(key) == value for key, value in here.items()))
            assert mean == pytest.approx(cells["stall_time_s"].mean())


def test_points_that_are_no_grid_are_a_cloud(result):
    few = replace(result, table=result.table.filter(pl.col("point") != 3))
    winners = figures_of(sweep_page(few))[0]
    assert winners["drawn"] == "plane"
    assert sorted(point[:2] for series in winners["series"] for point in series["points"]) == [
        [0.5, 20],
        [0.5, 80],
        [2, 20],
    ]


def page_of(store, **changed):
    """The figures of a sweep's page."""
    with ThreadPoolExecutor(2) as pool:
        return figures_of(sweep_page(sweep({**DESIGN, "seeds": 1, **changed}, store=store, executor=pool)))


LINKED = {"keys": ["path.rate", "path.queue"], "values": [["5 Mbit/s", "50 kB"], ["20 Mbit/s", "200 kB"]]}


def test_settings_that_change_together_are_one_axis_of_the_figures(tmp_path):
    winners, *curves = page_of(tmp_path, axis=[DESIGN["axis"][0], LINKED])
    assert winners["rows"] == ["5 Mbit/s, 50 kB", "20 Mbit/s, 200 kB"]
    assert len(winners["tiles"]) == 4
    assert curves[0]["title"].endswith("against path.loss, path.rate, path.queue = 5 Mbit/s, 50 kB")


def test_a_small_sample_has_figures_of_what_was_drawn(tmp_path):
    axes = [LINKED, *DESIGN["axis"], {"key": "player.buffer", "values": ["1 s", "2 s"]}]
    figures = page_of(tmp_path, axis=axes, sample={"kind": "random", "points": 4})
    assert sum(len(one.get("tiles", ())) for one in figures) == 4


def test_drawn_points_lie_where_their_units_say(tmp_path):
    rates = {"key": "path.rate", "values": ["12 Mbit/s", "900 kbit/s"]}
    queues = {"key": "path.queue", "values": ["droptail", "fq_codel"]}
    for first, places in ((rates, {12, 0.9}), (queues, {0, 1})):
        winners, *_ = page_of(tmp_path, axis=[first, DESIGN["axis"][1]], sample={"kind": "random", "points": 5})
        drawn = {point[0] for series in winners["series"] for point in series["points"]}
        assert drawn == places or (winners["x"]["unit"], drawn) == ("kbit/s", {12_000, 900})
    assert sorted(winners["x"]["words"]) == ["droptail", "fq_codel"]


def test_levels_are_in_the_order_of_their_quantities(tmp_path):
    axes = [
        {"key": "path.rate", "values": ["900 kbit/s", "4 Mbit/s"]},
        {"key": "path.rtt", "values": ["0.1 s", "50 ms"]},
    ]
    winners, *curves = page_of(tmp_path, axis=axes)
    assert (winners["columns"], winners["rows"]) == (["900 kbit/s", "4 Mbit/s"], ["50 ms", "0.1 s"])
    rates = next(one for one in curves if "against path.rate" in one["title"])["x"]
    assert (rates["unit"], rates["ticks"], rates["words"]) == ("kbit/s", [900, 4000], ["900", "4 Mbit/s"])


def test_what_is_stored_is_not_run_again(tmp_path, monkeypatch):
    with ThreadPoolExecutor(2) as pool:
        first = sweep(DESIGN, store=tmp_path, executor=pool)
        shards = sorted(tmp_path.glob("shards/*"))
        again = sweep(DESIGN, store=tmp_path, executor=pool)
        assert sorted(tmp_path.glob("shards/*")) == shards
        longer = sweep({**DESIGN, "seeds": 3}, store=tmp_path, executor=pool)
    assert again.digest == first.digest
    assert longer.table.height == 24
    stored = pl.concat([pl.read_parquet(p, columns=["cell"]) for p in tmp_path.glob("shards/*.parquet")])
    assert stored["cell"].n_unique() == stored.height == 24


def test_what_another_build_of_the_engine_stored_is_run_again(tmp_path, monkeypatch):
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(engine, "build", lambda: "another")
        first = sweep(DESIGN, store=tmp_path, executor=pool)
        count = len(list(tmp_path.glob("shards/*")))
        assert Store(tmp_path).of_other_builds() == 0
        monkeypatch.undo()
        assert (Store(tmp_path).of_other_builds(), Store(tmp_path).cells()) == (count, set())
        again = sweep(DESIGN, store=tmp_path, executor=pool)
    assert again.digest == first.digest, "the build is no part of a result"
    assert len(list(tmp_path.glob("shards/*"))) > count
    assert Store(tmp_path).of_other_builds() == 0, "said once"


def test_damaged_shards_are_set_aside_and_run_again(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        first = sweep(DESIGN, store=tmp_path, executor=pool)
        shards = sorted(tmp_path.glob("shards/*.parquet"))
        content = bytearray(shards[0].read_bytes())
        content[len(content) // 2] ^= 1
        shards[0].write_bytes(content)
        shards[1].write_bytes(shards[1].read_bytes()[:50])
        (tmp_path / "shards" / ".x.parquet.abc.part").write_bytes(b"half")
        again = sweep(DESIGN, store=tmp_path, executor=pool)
    assert again.digest == first.digest
    assert len(list(tmp_path.glob("shards/*.corrupt"))) == 2


def test_a_failed_cell_is_a_row_with_its_error(tmp_path):
    wrong = {**DESIGN, "axis": [{"key": "path.rtt", "values": ["20 ms", "-5 ms"]}]}
    with ThreadPoolExecutor(2) as pool:
        result = sweep(wrong, store=tmp_path, executor=pool)
    assert result.table.height == 8
    assert result.errors.height == 4
    assert "rtt" in result.errors["error"][0]
    assert result.decisions["point"].to_list() == [0]


def test_seeds_are_added_only_where_it_is_open(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        result = sweep(DESIGN, store=tmp_path, executor=pool, until_decided=20)
    assert result.looks == [2, 4, 8, 20]
    stopping = result.to_dict()["manifest"]["stopping"]
    assert (stopping["looks"], stopping["most"]) == ([2, 4, 8, 20], 20)
    for row in result.decisions.iter_rows(named=True):
        assert row["seeds"] == 20 or row["is_decided"]


def test_senders_that_are_called_otherwise_at_each_point_are_all_played(tmp_path):
    alone = SMALL[: SMALL.index("[[sender]]")] + '[[sender]]\ncc = "cubic"\n'
    axis = {"key": "sender.cc", "values": ["cubic", "bbr"]}
    found = sweep({"scenario": alone, "seeds": 1, "axis": [axis]}, store=tmp_path)
    assert found.table["sender"].to_list() == ["cubic", "bbr"]


def test_who_is_beaten_at_a_point_plays_no_more_there(tmp_path):
    # 16 kB in 100 or 140 ms are a third or less of the video's rate.
    scenario = SMALL + '\n[[sender]]\nname = "small"\ncc = "cubic"\nsend_buffer = "16 kB"\n'
    design = {**DESIGN, "scenario": scenario, "axis": [{"key": "path.rtt", "values": ["100 ms", "140 ms"]}]}
    with ThreadPoolExecutor(2) as pool:
        result = sweep(design, store=tmp_path, seeds=10, executor=pool, until_decided=20)
        again = sweep(design, store=tmp_path, seeds=10, executor=pool, until_decided=20)
    seeds = {key[:2]: len(found) for key, found in result.table.group_by("point", "sender")}
    assert seeds[0, "small"] == seeds[1, "small"] == 10
    assert seeds[0, "cubic"] == result.decisions["seeds"][0] > 10
    assert "small" not in set(result.decisions["winners"].explode())
    assert again.digest == result.digest
    result.save(tmp_path / "saved")
    assert SweepResult.load(tmp_path / "saved").decisions.equals(result.decisions)


def test_labels_with_a_plus_are_names(tmp_path):
    # The page split labels at the sign: the winner was "cubic+pacing", its headline "cubic".
    scenario = TINY.replace('cc = "cubic"', 'cc = "cubic"\nname = "cubic+pacing"')
    with ThreadPoolExecutor(2) as pool:
        result = sweep({**DESIGN, "scenario": scenario}, store=tmp_path, executor=pool)
    assert set(result.decisions["winners"].explode()) <= {"cubic+pacing", "newreno"}
    page = sweep_page(result)
    assert "cubic+pacing" in page
    assert "cubic leads" not in page


def test_a_point_is_as_random_as_all_of_its_path_and_its_report_says_the_same(tmp_path):
    # Some twenty packets, none of which is corrupted: seeds are alike, and only the settings tell that they need not be.
    scenario = TINY.replace('rate = "4 Mbit/s"', 'rate = "100 kbit/s"').replace(
        'loss = "1 %"', 'corruption = "0.001 %"'
    )
    assert "corruption" in scenario
    axis = {"keys": ["path.loss", "path.rate"], "values": [["0 %", "4 Mbit/s"], ["0 %", "6 Mbit/s"]]}
    with ThreadPoolExecutor(2) as pool:
        result = sweep({"scenario": scenario, "seeds": 2, "axis": [axis]}, store=tmp_path, executor=pool)
    assert result.decisions["is_random"].to_list() == [True, True]
    assert by_axis(result).decisions["is_random"].to_list() == [True, True]
    still = load_design({"scenario": scenario, "axis": [{"key": "path.corruption", "values": ["0 %", "1 %"]}]}).base
    assert [still.has_chance({"path.corruption": value}) for value in ("0 %", "1 %")] == [False, True]


def test_tables_as_values_stay_apart_and_can_be_exported(tmp_path):
    queues = [{"kind": "codel", "target": "5 ms"}, {"kind": "codel", "interval": "5 ms"}]
    written = ['{kind = "codel", target = "5 ms"}', '{kind = "codel", interval = "5 ms"}']
    losses = [{"kind": "gilbert_elliott", "p": "0.0001 %", "r": "10 %"}]
    for more in ([], ["droptail"]):
        axes = [{"key": "path.queue", "values": [*queues, *more]}, {"key": "path.loss", "values": losses}]
        design = {"scenario": TINY, "cc": ["newreno"], "seeds": 2, "axis": axes}
        with ThreadPoolExecutor(2) as pool:
            result = sweep(design, store=tmp_path / "store", executor=pool)
        assert result.decisions["path.queue"].to_list() == [*written, *more]
        assert all(result.decisions["is_random"])
        result.save(tmp_path / "out")
        assert playpath_command("export", "out", "--out", "sweep.zip", cwd=tmp_path).status == 0
        (tmp_path / "sweep.zip").unlink()


def test_a_store_that_vanishes_is_told(tmp_path):
    class Vanishing(ThreadPoolExecutor):
        def submit(self, *given):
            for shard in (tmp_path / "store").rglob("*.parquet"):
                shard.unlink()
            return super().submit(*given)

    with Vanishing(1) as pool, pytest.raises(RunError, match="cells that were run are missing"):
        sweep(DESIGN, store=tmp_path / "store", executor=pool)


def test_points_where_nothing_is_random_say_so(tmp_path):
    fixed = {**DESIGN, "axis": [{"key": "path.loss", "values": ["0 %", "2 %"]}]}
    with ThreadPoolExecutor(2) as pool:
        result = sweep(fixed, store=tmp_path, executor=pool)
    certain, random_ = result.decisions.iter_rows(named=True)
    assert (certain["is_random"], random_["is_random"]) == (False, True)
    assert certain["is_decided"]
    assert certain["ci95_low"] is None
    assert "nothing is random" in sweep_page(result)


def test_wins_that_no_viewer_feels_are_counted_apart():
    rows = [
        {
            "point": p,
            "winners": ["a"],
            "best": "a",
            "is_decided": True,
            "is_random": True,
            "level": level,
            "p": 1e-4,
            "seeds": 20,
        }
        for p, level in enumerate(("viewer", "network", "network", None))
    ]
    result = SimpleNamespace(decisions=pl.DataFrame(rows))
    assert counts(result) == {"a": (1, 3, 0)}
    assert _leader(result) == "Proven wins that the viewer notices: a at 1 point."
    result = SimpleNamespace(decisions=pl.DataFrame(rows[1:]))
    assert _leader(result).startswith("No win that a viewer notices is proven; a costs the network least")
    opened = [{**row, "is_decided": False, "winners": [name]} for row, name in zip(rows[:2], "ab", strict=True)]
    result = SimpleNamespace(decisions=pl.DataFrame(opened))
    assert _leader(result) == "a and b lead equally often; no win is proven anywhere."


def headline_of(*winners, points=60, level="viewer", p=0.01, is_random=True):
    """Of 20 seeds, at so many points, of which the first are won by these."""
    rows = [
        {"winners": names, "is_decided": bool(names), "is_random": is_random, "level": level, "p": p, "seeds": 20}
        for names in [*([name] for name in winners), *[[]] * (points - len(winners))]
    ]
    return _leader(SimpleNamespace(decisions=pl.DataFrame(rows, schema_overrides={"p": pl.Float64})))


def test_the_headline_has_everybody_who_wins_and_what_chance_may_do():
    """60 points of which each may err in 5 %: 95 % of sweeps have no more than 6 false winners, of 12 points no more than 2."""
    won = headline_of(*"ab" * 7)
    assert won == "Proven wins that the viewer notices: a at 7 points and b at 7 points."
    chance = (
        "may be chance, which gives equal senders up to 6 wins at 60 points, and more in one of twenty such sweeps."
    )
    assert headline_of(*"aab").endswith(f" So few {chance}")
    assert headline_of(*"aaaaaaab").endswith(f" Those of b {chance}")
    assert "up to 2 wins at 12 points" in headline_of(*"ab", points=12)
    assert "; a and b cost the network least, or are alike" in headline_of("a", "b", level="network")


def test_a_win_that_stays_proven_among_all_points_is_not_laid_to_chance():
    """Holm's correction of 12 points at the level of 20 seeds, 1.65 %: a single p of 0.1 % passes, one of 0.2 % does not."""
    assert "chance" not in headline_of("a", points=12, p=0.001)
    assert "chance" in headline_of("a", points=12, p=0.002)
    assert "chance" not in headline_of("a", points=1, p=0.016)
    assert "chance" not in headline_of("a", points=12, p=None, is_random=False)


def test_few_effects_of_a_choice_may_be_chance():
    """Of 20 points, 3 may err."""

    def said(better, points=20):
        outcomes = ["better"] * better + ["open"] * (points - better)
        effects = {p: [Effect("a", "new", "old", outcome, "")] for p, outcome in enumerate(outcomes)}
        return _for_whom(SimpleNamespace(effects=effects, decisions=pl.DataFrame({"is_random": [True] * points})))

    assert said(3) == (
        "new instead of old, at 20 points: for a better at 3 and undecided at 17. Better or worse at up to 3 may be chance."
    )
    assert "chance" not in said(4)
    assert "chance" not in said(0)


def dying_chunk(chunk, *rest):
    """A chunk whose second seed kills its worker."""
    if any(cell.seed == 2 and cell.variant.sender == "cubic" and cell.point == 1 for cell in chunk):
        os._exit(1)
    return run_chunk(chunk, *rest)


@pytest.fixture
def importable(monkeypatch):
    """Workers can import this file."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))


def test_the_bound_of_added_seeds_is_above_those_of_the_design(tmp_path):
    with pytest.raises(playpath.InputError, match="until_decided 2: must be above the 3 seeds to begin with"):
        sweep(DESIGN, store=tmp_path, seeds=3, until_decided=2)


def test_a_cell_that_kills_its_worker_costs_only_itself(tmp_path, monkeypatch, importable):
    monkeypatch.setattr(runner, "run_chunk", dying_chunk)
    result = sweep(DESIGN, store=tmp_path, jobs=2)
    assert result.table.height == 16
    assert result.errors.select("point", "sender", "seed").rows() == [(1, "cubic", 2)]
    assert "worker died" in result.errors["error"][0]


def dying_first_chunk(chunk, *rest):
    """The design's first cell kills its worker."""
    if any(cell.seed == 1 and cell.variant.sender == "cubic" and cell.point == 0 for cell in chunk):
        os._exit(1)
    return run_chunk(chunk, *rest)


def test_when_all_chunks_under_way_die_the_others_still_run(tmp_path, monkeypatch, importable):
    monkeypatch.setattr(runner, "run_chunk", dying_first_chunk)
    result = sweep(DESIGN, store=tmp_path, jobs=1)
    assert result.table.height == 16
    assert result.errors.select("point", "sender", "seed").rows() == [(0, "cubic", 1)]


def test_a_script_from_standard_input_has_workers(tmp_path):
    """There is no file that a spawned worker could import; it needs none."""
    script = f"from playpath.sweep import sweep\nsweep({DESIGN!r}, store={str(tmp_path / 'store')!r}, jobs=2)"
    done = subprocess.run(
        [sys.executable, "-"], input=script, text=True, capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_workers_that_cannot_start_are_told(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n'--multiprocessing-fork' in sys.orig_argv and os._exit(3)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(
        f"from playpath.sweep import sweep\nif __name__ == '__main__':\n"
        f"    sweep({DESIGN!r}, store={str(tmp_path / 'store')!r}, jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 1
    assert "workers die as they start (BrokenProcessPool)" in done.stderr


def test_command_line(design_file, tmp_path):
    done = playpath_command("sweep", design_file, "--seeds", 2, "--json", cwd=tmp_path)
    assert done.status == 0, done.err
    assert done.json["cells"] == 48
    assert done.json["failed_cells"] == 0
    assert {p.name for p in (tmp_path / "out" / "grid").iterdir()} == {
        "sweep.json", "sweep.parquet", "decisions.parquet", "report.html", "store",
    }  # fmt: skip
    estimate = playpath_command("sweep", design_file, "--dry-run", "--json", cwd=tmp_path).json
    assert estimate["cells"] == 72
    assert playpath_command("report", "out/grid", cwd=tmp_path).status == 0
    playpath_command("sweep", design_file, "--executor", "rye", cwd=tmp_path).assert_refused("rye")


def measured(design, monkeypatch, once_s, cell_s):
    """The estimate where a chunk costs `once_s` and each cell of it `cell_s`; and how many cells each chunk had."""
    chunks = []

    def run_chunk(chunk):
        chunks.append(len(chunk))
        return Done(b"", len(chunk), once_s + cell_s * len(chunk))

    monkeypatch.setattr(runner, "run_chunk", run_chunk)
    return runner.estimate(design, jobs=2), chunks


def test_the_estimate_is_not_that_of_opening_a_shard(monkeypatch):
    # 28 ms once and 0.5 ms a cell: 2 cells take 29 ms, 8: 32, 32: 44, 128: 92, 512: 284; then 2048 take 1.052 s, 0.514 ms each.
    design = load_design({**DESIGN, "seeds": 600})
    estimate, chunks = measured(design, monkeypatch, 0.028, 0.0005)
    assert chunks == [2, 8, 32, 128, 512, 2048]
    assert estimate["cell_s"] == pytest.approx(1.052 / 2048)
    assert estimate["total_s"] == pytest.approx(4 * 2 * 600 * 1.052 / 2048 / 2)
    # Long cells: one of each sender is enough. Few cells: all of them.
    assert measured(design, monkeypatch, 0.028, 5.0)[1] == [2]
    few, chunks = measured(load_design({**DESIGN, "seeds": 1}), monkeypatch, 0.028, 0.0005)
    assert (chunks, few["cells"]) == ([2, 8], 8)


def test_killed_again_and_again_finishes_with_the_same_digest(design_file, tmp_path):
    """Each time a moment after it has stored something more, until nothing is left to be killed."""
    undisturbed = playpath_command("sweep", design_file, "--store", "other", "--json", cwd=tmp_path).json["digest"]
    chance = random.Random(11)

    def shards():
        return len(list((tmp_path / "killed").glob("shards/*.parquet")))

    command = [sys.executable, "-m", "playpath", "sweep", str(design_file), "--store", "killed", "--json"]
    for _ in range(4):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        stored = shards()
        while process.poll() is None and shards() == stored:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.05))
        with contextlib.suppress(ProcessLookupError):  # it was done
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    finished = playpath_command("sweep", design_file, "--store", "killed", "--json", cwd=tmp_path).json
    assert finished["digest"] == undisturbed
    assert finished["cells"] == 72


def test_ctrl_c_keeps_cells_and_resumes(tmp_path, design_file):
    design_file.write_text(DESIGN_FILE.replace("seeds = 3", "seeds = 5000"))
    command = [sys.executable, "-m", "playpath", "sweep", str(design_file)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "out" / "grid" / "store").glob("shards/*.parquet")):
        time.sleep(0.1)
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "run the same command again" in err
    assert len(Store(tmp_path / "out" / "grid" / "store").cells()) > 0


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_sweep_however_it_ends(tmp_path, design_file, end):
    design_file.write_text(DESIGN_FILE.replace("seeds = 3", "seeds = 5000"))
    command = [sys.executable, "-m", "playpath", "sweep", str(design_file)]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    while not list((tmp_path / "out" / "grid" / "store").glob("shards/*.parquet")):
        time.sleep(0.1)
        assert process.poll() is None
    process.send_signal(end)
    # Its standard output ends when the last process that holds it has ended.
    process.communicate(timeout=300)
    assert process.returncode != 0


def test_workers_are_let_go_while_a_call_is_handed_over():
    """The call is longer than a pipe holds, and its worker is killed before it reads it."""
    code = """
import multiprocessing, time
from playpath.sweep.executors import _Workers
workers = _Workers(1, mp_context=multiprocessing.get_context("spawn"))
workers.submit(time.sleep, 600)
handed_over = workers.submit(len, bytes(1 << 20))
while not handed_over.running():
    time.sleep(0.01)
workers.shutdown(wait=False, cancel_futures=True)
"""
    subprocess.run([sys.executable, "-c", code], timeout=100, check=True)


def test_workers_end_with_a_sweep_whose_disk_is_full(tmp_path, design_file):
    """No file may be longer than 512 bytes, which a write reports as a full disk does."""
    command = f"ulimit -f 1; exec {sys.executable} -B -m playpath sweep {design_file}"
    done = subprocess.run(
        # Its standard output ends when the last worker has ended.
        ["sh", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert re.fullmatch(r"error: cannot write .*\.parquet: File too large\n", done.stderr), done.stderr
    assert not list(tmp_path.glob("**/*.parquet"))


def test_two_ctrl_c_while_workers_start_are_no_traceback(tmp_path, design_file):
    command = [sys.executable, "-m", "playpath", "sweep", str(design_file), "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not children.read_text():
        assert process.poll() is None
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)  # else the two are one
    # Their ends close when the last worker has ended.
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, ""), err
    assert "Traceback" not in err


def test_a_ctrl_c_that_another_thread_takes_lets_a_worker_start_whole():
    """Threads of libraries do not block it, and whoever takes it, Python interrupts the main thread."""
    started = []
    asked = threading.Event()

    def take_it():
        asked.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    other = threading.Thread(target=take_it)
    other.start()

    def start():
        with hold_ctrl_c():
            asked.set()
            other.join()
            started.append("worker")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert started == ["worker"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_a_second_ctrl_c_does_not_wait_for_a_long_cell(tmp_path, monkeypatch):
    waited = []

    class Endless(Executor):
        def submit(self, *_):
            return Future()

        def shutdown(self, wait=True, *, cancel_futures=False):
            waited.append(wait)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "place", lambda *_: Place(Endless, 2, 1.0))
    with pytest.raises(Interrupted, match="stopped before the first cell was finished"):
        sweep(DESIGN, store=tmp_path, progress=interrupt)
    assert waited == [False]


def test_submitit_gives_the_same_bytes(tmp_path, result):
    pytest.importorskip("submitit")
    from playpath.sweep.executors import SlurmExecutor

    executor = SlurmExecutor(tmp_path / "jobs", cluster="local")
    found = sweep({**DESIGN, "seeds": 1}, store=tmp_path / "store", executor=executor, jobs=2)
    executor.shutdown()
    assert found.table.equals(result.table.filter(pl.col("seed") == 1))


def test_shards_do_not_depend_on_the_order_of_design_points():
    design = load_design(DESIGN)
    assert [c.point for c in itertools.islice(cells(design), 5)] == [0, 0, 0, 0, 1]


FOLLOWS = """
[video]
rate = "1 Mbit/s"
duration = "4 s"
[player]
buffer = "1 s"
[[path]]
name = "home"
trace = "link.csv"
rtt = "50 ms"
[[sender]]
cc = "cubic"
"""


@pytest.mark.parametrize(
    ("key", "value", "follows"),
    [
        ("path.rate", "3 Mbit/s", ("path.0.up.rate", "3 Mbit/s")),
        ("run.profile", "ns2", ("sender.0.loss_detection", "newreno")),
        ("sender.profile", "ns2", ("sender.0.sack", False)),
        ("run.mss", 800, ("sender.0.mss", 800)),
    ],
)
def test_what_follows_from_a_setting_follows_at_every_point(key, value, follows):
    """As with --set: a default of the base scenario is no value that was given."""
    given = FOLLOWS.replace('trace = "link.csv"', 'rate = "9 Mbit/s"')
    design = load_design({"scenario": given, "cc": ["newreno", "bbr"], "axis": [{"key": key, "values": [value]}]})
    there, wanted = follows
    (point,) = design.points()
    changed = at_point(design.base, point)
    assert at(changed.resolved, there) == wanted
    assert changed.text == playpath.load(given, cc=["newreno", "bbr"], set=point).text
    again = playpath.load(playpath.load(given, seeds=3), cc=["newreno", "bbr"], set=point)
    assert at(again.resolved, there) == wanted


def test_a_scenario_takes_its_files_and_options_along(tmp_path, monkeypatch):
    (tmp_path / "link.csv").write_text("time_s,rate_mbps\n0,2\n1,4\n")
    (tmp_path / "other.csv").write_text("time_s,rate_mbps\n0,7\n1,7\n")
    (tmp_path / "mine.toml").write_text(FOLLOWS)
    loaded = playpath.load(tmp_path / "mine.toml", set={"path.trace": "other.csv"}, cc=["vegas(alpha=2)", "bbr"])
    (tmp_path / "link.csv").unlink()
    (tmp_path / "other.csv").unlink()
    changed = playpath.load(loaded, set={"player.buffer": "2 s"}, seeds=2)
    assert changed.senders == ["vegas(alpha=2)", "bbr"]
    assert changed.resolved["path"] == loaded.resolved["path"]
    stored = Scenario.stored(loaded.resolved, json.loads(json.dumps(loaded.written)))
    assert playpath.load(stored, set={"player.buffer": "2 s"}, seeds=2).text == changed.text
    assert playpath.load(stored, cc=["cubic"]).senders == ["cubic"]


def test_a_sender_alone_has_means_and_no_best(tmp_path, capsys):
    flows = '[[path]]\nrate = "5 Mbit/s"\nrtt = "30 ms"\n[[traffic]]\nkind = "bulk"\ncc = "cubic"\n[run]\nduration = "3 s"\n'
    axis = {"key": "traffic.cc", "values": ["cubic", "vegas"]}
    result = sweep({"scenario": flows + '[[sender]]\ncc = "bbr"\n', "axis": [axis], "seeds": 2}, store=tmp_path, jobs=1)
    assert not result.is_comparison
    print_sweep(result)
    printed = capsys.readouterr().out
    assert "bbr was played alone: there is nothing to compare with" in printed
    assert "best" not in printed
    assert result.means()["goodput_mbps"].to_list() == [
        pytest.approx(part["goodput_mbps"].mean()) for part in result.table.partition_by("point", maintain_order=True)
    ]
    page = sweep_page(result)
    assert "Means at each point" in page
    assert "wins" not in page
    assert "played alone" in repr(result)


def test_terminal_and_report_show_the_difference_of_the_median_run():
    row = {"difference": 63.8, "median": 65.1}
    assert shown_difference(row) == 65.1
    assert shown_difference(row | {"median": None}) == 63.8  # fewer than six runs
