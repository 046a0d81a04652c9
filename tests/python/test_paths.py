"""Sessions over several paths: the switches in the record, their figures and the report's section."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from conftest import figures_of

import playpath
from playpath.base.errors import InputError
from playpath.results.packets import shown_window, trimmed
from playpath.results.paths import binned_goodput, runs, shown_runs, subflows, switch_reasons
from playpath.results.record import Session
from playpath.show.report.session_page import session_page

SCENARIO = """
[video]
rate = "3 Mbit/s"
duration = "20 s"
[player]
kind = "progressive"
buffer = "2 s"
[[path]]
name = "wifi"
rate = "3 Mbit/s"
rtt = "30 ms"
[[path]]
name = "wired"
rate = "3 Mbit/s"
rtt = "90 ms"
[[sender]]
scheduler = { name = "dft", penalise = false }
receive_buffer = "200 kB"
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    file = tmp_path_factory.mktemp("paths") / "two.toml"
    file.write_text(SCENARIO)
    return playpath.run(file, trace=True)


def test_the_switches_are_a_series(session, tmp_path):
    switches = session.series["switches.video"]
    assert len(switches["time_s"]) == session.metrics["path_switches"]
    assert np.sum(~switches["is_forced"]) == session.metrics["switches_from_open_path"]
    assert set(switches["to"]) == {"wifi", "wired"} == set(subflows(session))
    session.save(tmp_path)
    loaded = Session.load(tmp_path).series["switches.video"]
    assert {k: v.tolist() for k, v in loaded.items()} == {k: v.tolist() for k, v in switches.items()}


def test_runs_lie_between_the_switches(session):
    """Each run ends before the next begins, on the other path; together they carry what lies between first and last switch."""
    found, switches = runs(session), session.series["switches.video"]
    assert all(a.begin_s <= a.end_s <= b.begin_s and a.path != b.path for a, b in pairwise(found))
    carried = switches["data_offset"][-1] - switches["data_offset"][0]
    assert sum(run.packets for run in found) * switches["mss"][0] == pytest.approx(carried)
    reasons = switch_reasons(session)
    assert [why for why, _, _ in reasons] == ["lowest RTT with room"]
    assert reasons[0][1] + reasons[0][2] == session.metrics["path_switches"]


def test_stacked_goodput_is_what_the_subflows_carried(session):
    """The area under the top edge, in megabits, is that of all samples (0.1 s apart unless set)."""
    times = next(iter(subflows(session).values()))["time_s"]
    edges = np.linspace(0.0, times[-1], 161)
    values = sum(binned_goodput(columns, edges) for columns in subflows(session).values())
    samples = [columns["goodput_mbps"] for columns in subflows(session).values()]
    assert np.sum(values * np.diff(edges)) == pytest.approx(
        sum(np.sum(s) for s in samples) * (times[1] - times[0]), rel=0.03
    )


def test_the_lanes_mark_choices(session):
    shown = shown_runs(session)
    assert {run.path for run in shown} == {"wifi", "wired"}
    assert len(shown) == 44
    assert any(not run.is_forced for run in shown), "the part shown has a switch of the scheduler's own will"


def test_the_page_has_the_section_only_with_several_paths(session, tmp_path):
    assert "id='paths'" in session_page(session)
    one = SCENARIO.replace('[[path]]\nname = "wired"\nrate = "3 Mbit/s"\nrtt = "90 ms"\n', "")
    file = tmp_path / "one.toml"
    file.write_text(one.replace('scheduler = { name = "dft", penalise = false }\n', ""))
    assert "id='paths'" not in session_page(playpath.run(file, trace=True))


def test_packets_are_what_the_paths_carried(session):
    """New packets cover the stream once, without gap or overlap; the others are those that the record counts."""
    packets = session.series["packets.video"]
    new = packets["kind"] == 0
    offsets = packets["data_offset"][new]
    mss = session.series["switches.video"]["mss"][0]
    steps = np.diff(offsets)
    assert np.all(steps > 0)
    assert np.max(steps) == mss
    (flow,) = (f for f in session.flows if f["name"] == "video")
    assert np.sum(packets["kind"] == 2) == session.metrics["reinjections"]
    assert np.sum(packets["kind"] == 1) == flow["retransmitted_packets"]
    # Each switch is the first packet on the path entered.
    switches = session.series["switches.video"]
    names = np.array(list(subflows(session)))
    by_offset = dict(zip(offsets, names[packets["path"][new].astype(int)], strict=True))
    base = switches["data_offset"][0] - next(iter(offsets[packets["time_s"][new] >= switches["time_s"][0]]))
    assert [by_offset[at - base] for at in switches["data_offset"]] == list(switches["to"])


def test_the_window_shown_holds_some_packets_or_is_the_one_asked_for(session):
    packets = session.series["packets.video"]
    begin, end = shown_window(session)
    # As many as leave at the same instant as the last one come with it.
    assert 120 <= np.sum((packets["time_s"] >= begin) & (packets["time_s"] <= end)) < 130
    assert shown_window(session, (3.0, 3.2)) == (3.0, 3.2)
    with pytest.raises(InputError, match=r"packets of .* are kept from"):
        shown_window(session, (500.0, 501.0))


def test_a_comparison_keeps_ten_seconds_of_packets(session):
    kept = trimmed(session).series["packets.video"]["time_s"]
    assert 9.0 < kept[-1] - kept[0] <= 10.0 < session.series["packets.video"]["time_s"][-1]


def test_the_window_of_the_report(session, tmp_path, cli):
    session.save(tmp_path / "t")
    done = cli("report", "t", "--window", "3..3.2")
    assert done.status == 0, done.err
    packets = figures_of((tmp_path / "t" / "report.html").read_text())[-1]
    assert packets["view"] == [3.0, 3.2]
    times = session.series["packets.video"]["time_s"]
    assert len(packets["strokes"]) == np.sum((times >= 3.0) & (times <= 3.2)) > 0
    for wrong in ("3", "4..3", "a..b", "-1..2", "500..501", "nan..3"):
        cli("report", "t", f"--window={wrong}").assert_refused(f"--window {wrong}")
