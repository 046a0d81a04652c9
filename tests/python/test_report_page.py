"""The report's page: its policy and contents, its script as built from web/src, its sessions in full, its figures' numbers."""

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import BULK, SMALL, figures_of
from test_explorer import CHROMIUM, WEB
from test_population import DRAWN
from test_twin import run as twin_run
from test_twin import scaled

import playpath
from playpath.plots import figure
from playpath.plots.style import COLOURS, INK
from playpath.population import population
from playpath.results import bands
from playpath.run.worlds import SimWorld
from playpath.show.report import drawings, html, write_report
from playpath.show.report.comparison_page import comparison_page
from playpath.show.report.component import swatch
from playpath.show.report.session_page import session_page
from playpath.show.report.twin_page import twin_page
from playpath.sweep import sweep

ASSETS = Path(html.__file__).parent / "assets"


def sessions_of(page):
    """The header and the arrays of the page's sessions, read as the page's script reads them."""
    block = gzip.decompress(base64.b64decode(re.search(r"id='sessions'>([^<]*)<", page)[1]))
    (length,) = struct.unpack("<I", block[:4])
    content = block[4 + length :]

    def array(place):
        offset, count, size = place
        planes = np.frombuffer(content[offset : offset + count * size], dtype=np.uint8).reshape(size, count)
        return np.ascontiguousarray(planes.T).view(f"<f{size}").ravel()

    return json.loads(block[4 : 4 + length]), array


def test_choices_are_told_by_key_and_value_and_for_whom_they_are_better(comparison):
    queues = playpath.compare(SMALL, cc=["cubic", "newreno"], vary={"path.queue": ["droptail", "pie"]}, seeds=2)
    page = comparison_page(queues)
    choices, effects = (
        re.search(rf"<section id='{name}'.*?</section>", page, re.DOTALL)[0] for name in ("choices", "effects")
    )
    for kind in ("pie", "droptail"):
        assert choices.count(f"path.queue = &quot;{kind}&quot;") == 2
    for effect in queues.effects:
        row = next(row for row in effects.split("<tr>") if f">{effect.sender}</td>" in row)
        assert f">{effect.value}</th>" in row
        assert f">{effect.outcome}</td>" in row
        assert html.typeset(html.escape(effect.sentence)) in row
    assert "id='choices'" not in comparison_page(comparison)
    assert "id='effects'" not in comparison_page(comparison)


def test_a_difference_that_only_awaits_runs_is_marked_so():
    values = {"cubic": [1.0 + seed / 100 for seed in range(7)], "newreno": [11.0 + seed / 100 for seed in range(7)]}
    played = playpath.compare(SMALL, cc=list(values), seeds=7)
    stalls = pl.Series("stall_time_s", [values[s][n - 1] for s, n in played.table.select("sender", "seed").iter_rows()])
    page = comparison_page(replace(played, table=played.table.with_columns(stalls)))
    assert "<abbr title='needs more runs'>°</abbr>" in page
    assert "<abbr title='proven'>" not in page


def test_the_ranking_says_by_which_rule_it_is(comparison, switching):
    in_order, weighed = (
        "the next one counts only between senders that are alike",
        "are weighed against each other; the criteria count",
    )
    for result, said, not_said in ((comparison, in_order, weighed), (switching, weighed, in_order)):
        page = comparison_page(result)
        assert said in page
        assert not_said not in page


def test_fewer_runs_than_an_interval_takes_are_shown_by_their_mean_and_said_so():
    page = comparison_page(playpath.compare(SMALL, cc=["cubic", "newreno"], seeds=2))
    assert "The mean of the runs: fewer than 6 have no interval." in page
    assert "medians" not in page
    assert page.count("means; dots below: single seeds") == 2


def test_the_policy_names_style_and_script_and_nothing_else(comparison):
    page = comparison_page(comparison)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]
    for kind, text in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"unsafe|https?:", policy)
    # The policy would not obey them.
    assert not re.search(r"<[a-z][^>]*\s(style|on\w+)=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_the_contents_list_names_every_section(comparison):
    page = comparison_page(comparison)
    linked = re.findall(r"<li><a href='#([^']+)'>", page)
    assert linked == re.findall(r"<section id='([^']+)'", page)
    assert {"ranking", "session", "viewer", "manifest"} <= set(linked)


def test_sessions_are_there_in_full(comparison):
    header, array = sessions_of(comparison_page(comparison))
    assert [shown["sender"] for shown in header["sessions"]] == comparison.ranking
    for shown in header["sessions"]:
        session = comparison.timelines[shown["sender"]]
        stored = shown["series"]["flow.video"]
        assert np.array_equal(array(stored["time_s"]), session.series["flow.video"]["time_s"])
        window = session.series["flow.video"]["snd_cwnd"]
        assert np.array_equal(array(stored["snd_cwnd"]), window.astype(np.float32), equal_nan=True)
        assert shown["record"]["window_events"] == session.window_events
        assert session.window_events["video"]
    assert header["places"] == [comparison.senders.index(sender) for sender in comparison.ranking]


def test_a_band_is_numpy_s_quantile_of_the_seeds_that_still_play():
    rng = np.random.default_rng(1)
    seeds = [rng.normal(size=length) for length in (9, 7, 7, 4, 2)]
    seeds[0][3] = np.nan  # not measured in that second
    found = bands.bands({("a", seed): {("player", "level"): values} for seed, values in enumerate(seeds)})
    whole = np.full((5, 9), np.nan)
    for row, values in zip(whole, seeds, strict=True):
        row[: len(values)] = values
    expected = np.nanquantile(whole[:, :7], [bands.LOW, bands.HIGH], axis=0)  # two seeds or more until second 7
    assert found["time_s"].to_list() == [1, 2, 3, 4, 5, 6, 7]
    assert np.array_equal([found["low"], found["high"]], expected)


def test_a_path_s_capacity_is_told_only_where_it_is_known():
    constant, _ = sessions_of(session_page(playpath.run(SMALL, sender="cubic", trace=True)))
    assert constant["traces"] == [None]
    assert constant["paths"][0]["rate_mbps"] > 0
    mobile = playpath.load("mobile", set={"run.duration": "3 s"})
    followed, _ = sessions_of(session_page(playpath.run(mobile, sender="cubic", trace=True)))
    assert followed["paths"][0]["rate_mbps"] is None
    assert np.mean(followed["traces"][0]["bins_mbps"]) == pytest.approx(4.5, rel=0.05)


def test_bands_hold_the_middle_of_the_seeds(comparison, tmp_path):
    shown = comparison.bands.filter((pl.col("sender") == "cubic") & (pl.col("column") == "buffer_level_s"))
    assert shown["time_s"].to_list() == [float(i + 1) for i in range(shown.height)]
    assert (shown["low"] <= shown["high"]).all()
    assert set(comparison.bands["column"]) == {"snd_cwnd", "rtt_ms", "goodput_mbps", "buffer_level_s", "queue_packets"}
    comparison.save(tmp_path)
    assert playpath.Comparison.load(tmp_path).bands.equals(comparison.bands)
    (tmp_path / "bands.parquet").unlink()
    assert playpath.Comparison.load(tmp_path).bands.is_empty()


def test_an_outline_is_the_same_of_a_session_that_records_only_what_it_needs():
    scenario = playpath.load("mobile", set={"run.duration": "20 s"})
    whole, part = (SimWorld().session(scenario, "cubic", 1, trace=trace) for trace in (True, "outline"))
    assert whole.digest == part.digest
    assert len(part.series["player"]["time_s"]) < len(whole.series["player"]["time_s"]) / 9
    expected, found = bands.outline(whole), bands.outline(part)
    assert set(found) == set(expected)
    for key, values in found.items():
        assert len(values) in (len(expected[key]), len(expected[key]) + 1)  # the second in which the last byte came
        # Goodput's first second is the mean since the flow opened there, and of the whole second here.
        seconds = slice(key[1] == "goodput_mbps", len(expected[key]))
        np.testing.assert_allclose(values[seconds], expected[key][seconds], rtol=1e-5, equal_nan=True)


def test_bands_by_hand():
    """Seeds 0, 1, …, 10 at one second: quantiles 0.1 and 0.9 are 1 and 9. At two seconds one seed alone: no band."""
    key = ("flow.video", "snd_cwnd")
    outlines = {("a", seed): {key: np.array([float(seed)] + ([5.0] if seed == 3 else []))} for seed in range(11)}
    assert bands.bands(outlines).rows() == [("a", *key, 1.0, 1.0, 9.0)]


def test_bands_are_of_each_path_and_of_flows_without_a_video():
    paths = "".join(f'[[path]]\nname = "{n}"\nrate = "3 Mbit/s"\nrtt = "30 ms"\n' for n in ("wifi", "lte"))
    several = f'[video]\nrate = "3 Mbit/s"\nduration = "4 s"\n{paths}[[sender]]\ncc = "lia"\n[run]\nseeds = 2\n'
    reported = playpath.compare(several, timelines=True).bands
    assert set(reported["series"]) == {
        "player", "flow.video/wifi", "flow.video/lte", "link.path.wifi/down", "link.path.lte/down"
    }  # fmt: skip
    # Chance says which flow begins first: it must not say which ones are shown.
    two = "".join(f'[[traffic]]\nname = "{n}"\nkind = "bulk"\ncount = 4\nstart_spread = "2 s"\n' for n in "ba")
    path, _, run = BULK.partition("[[traffic]]")
    compared = playpath.compare(f"{path}{two}[run]{run.partition('[run]')[2]}", timelines=True)
    shown = {f"{group}.{number}" for group in "ab" for number in (1, 2, 3)}
    alone = compared.bands
    assert set(alone["series"]) == {*(f"flow.{name}" for name in shown), "link.path.path1/down"}
    assert set(alone.filter(pl.col("series") == "flow.a.1")["column"]) == {"snd_cwnd", "rtt_ms", "goodput_mbps"}
    (session,) = compared.timelines.values()
    assert {name for name in session.series if name.startswith("packets.")} == {f"packets.{name}" for name in shown}


def test_what_follows_the_last_byte_was_not_measured():
    flow = {"time_s": np.arange(4.0), "unacked": np.array([2, 1, 0, 0]), "goodput_mbps": np.array([0, 1.0, 1.0, 0])}
    assert bands.until_last_byte(flow)["time_s"].tolist() == [0.0, 1.0, 2.0]


def test_goodput_of_a_second_is_its_mean():
    columns = {"time_s": np.array([0.5, 1.0, 1.5, 2.0]), "goodput_mbps": np.array([2.0, 4.0, 0.0, 8.0])}
    assert bands.at_seconds(columns, "goodput_mbps").tolist() == [3.0, 4.0]


def test_no_two_of_sixteen_senders_have_the_same_mark():
    senders = [f"sender {one}" for one in range(16)]
    assert len({swatch(senders, sender) for sender in senders}) == 16


def test_figures_have_the_page_s_colours():
    light = (WEB / "src/tokens.css").read_text().split("@media")[0]
    tokens = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", light))
    assert list(COLOURS) == [tokens[f"sender{i}"] for i in range(len(COLOURS))]
    drawn, ax = figure(4, 2)
    ax.barh([0], [1.0], color=COLOURS[0], edgecolor=INK)
    ax.set_xlabel("x")
    svg = drawings.figure_svg(drawn, "a bar")
    assert "var(--sender0)" in svg
    assert "var(--text)" in svg
    assert not {*COLOURS, INK} & set(re.findall(r"#[0-9a-f]{6}", svg))


@pytest.mark.slow
def test_a_comparison_is_drawn_without_matplotlib(comparison, tmp_path):
    comparison.save(tmp_path)
    code = "import sys; from playpath.cli import app; app(standalone_mode=False); sys.exit('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "report", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_matplotlib_is_for_the_papers_alone():
    pages = ", ".join(f"{kind}_page" for kind in ("comparison", "session", "sweep", "population", "twin"))
    code = f"import sys; from playpath.show.report import {pages}; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_hold_what_the_comparison_says(comparison):
    given = figures_of(comparison_page(comparison))
    stall = next(one for one in given if one["id"] == "stall_time_s")
    assert [row["name"] for row in stall["rows"]] == comparison.ranking
    for row in stall["rows"]:
        assert row["value"] == comparison.summary(row["name"], "stall_time_s").middle
        assert row["seeds"] == comparison.values(row["name"], "stall_time_s")
        assert row["place"] == comparison.senders.index(row["name"])
    differences = next(one for one in given if one["id"] == "stall_time_s-differences")
    for row in differences["rows"]:
        found = comparison.ranker.difference(row["name"], comparison.ranking[0], "stall_time_s")
        assert (row["value"], row["state"] == "proven") == (found.middle, found.significant)


def test_numbers_stay_with_their_units_and_have_minus_signs():
    assert html.typeset("<p title='9 %'>9 % of -2.5 Mbit/s, sticky-3p-50, 2026-11-25, 3 spoons</p>") == (
        "<p title='9 %'>9\u00a0% of \u22122.5\u00a0Mbit/s, sticky-3p-50, 2026-11-25, 3 spoons</p>"
    )
    kept = "<pre>-1 s</pre><script>x = -1 %</script><code>--set x=-1 s</code>"
    assert html.typeset(kept) == kept


@pytest.mark.skipif(
    shutil.which("node") is None or not (WEB / "node_modules/esbuild").is_dir(),
    reason="needs Node and web/node_modules: make web",
)
def test_the_report_s_script_is_the_one_that_its_sources_give(tmp_path):
    subprocess.run(["node", "build.mjs", "report", tmp_path], cwd=WEB, check=True, capture_output=True)
    for name in ("report.js", "report.css"):
        assert (ASSETS / name).read_text() == (tmp_path / name).read_text(), f"make report builds {name} anew"


@pytest.mark.skipif(
    CHROMIUM is None or not (WEB / "node_modules/playwright-core").is_dir(), reason="needs Chromium, and make web"
)
@pytest.mark.slow
def test_reports_work_in_a_real_browser(comparison, tmp_path):
    write_report(comparison, tmp_path / "compare.html")
    hostile = {s: f"<img src=x onerror=alert({i})>" for i, s in enumerate(comparison.senders)}
    renamed = {hostile[s]: replace(session, sender=hostile[s]) for s, session in comparison.timelines.items()}
    table = comparison.table.with_columns(pl.col("sender").replace(hostile))
    write_report(replace(comparison, table=table, timelines=renamed), tmp_path / "hostile.html")
    two = "".join(f'[[path]]\nname = "{n}"\nrate = "3 Mbit/s"\nrtt = "30 ms"\n' for n in ("wifi", "lte"))
    several = f'[video]\nrate = "3 Mbit/s"\nduration = "5 s"\n{two}[[sender]]\ncc = "lia"\n'
    write_report(playpath.run(several, trace=True), tmp_path / "run.html")
    long = playpath.compare("wireless", cc=["cubic", "bbr"], seeds=1, timelines=True)
    assert long.timelines["cubic"].metrics["stall_count"] > 1
    write_report(long, tmp_path / "long.html")
    axes = [{"key": "path.loss", "values": ["0 %", "2 %"]}, {"key": "path.rtt", "values": ["20 ms", "80 ms"]}]
    grid = {"scenario": SMALL, "name": "grid", "seeds": 2, "axis": axes}
    write_report(sweep(grid, store=tmp_path / "cells", jobs=1), tmp_path / "sweep.html")
    viewers = population(DRAWN, store=tmp_path / "sessions", jobs=1)
    write_report(viewers, tmp_path / "population.html")
    (tmp_path / "twin.html").write_text(twin_page(twin_run(scaled("goodput_mbps", 0.9))))
    environment = os.environ | {"PLAYPATH_CHROMIUM": str(CHROMIUM), "PLAYPATH_REPORTS": str(tmp_path)}
    done = subprocess.run(
        ["node", "--test", "browser/report.test.mjs"], cwd=WEB, env=environment, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
