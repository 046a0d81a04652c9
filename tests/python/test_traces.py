"""Bandwidth traces: recognised, checked, previewed, converted, generated."""

import json

import pytest
from conftest import ROOT, SMALL, playpath_command

import playpath
from playpath.base import engine
from playpath.scenario import Scenario, traces

# 12 Mbit/s: an opportunity of 1500 bytes in each millisecond, for 1 s.
STEADY = "\n".join(str(i) for i in range(1, 1001)) + "\n"


def test_a_mahimahi_trace_is_recognised_and_measured():
    found = traces.preview(STEADY)
    assert found.format == "mahimahi"
    assert found.period_s == 1.0
    # 1000 opportunities * 1500 bytes * 8 bits in 1 s
    assert found.mean_mbps == pytest.approx(12.0)
    assert found.outage_share == 0.0


@pytest.mark.parametrize("target", ["pensieve", "sabre", "csv"])
def test_conversions_keep_the_mean(target):
    converted = traces.convert(STEADY, target)
    assert traces.preview(converted).format == target
    assert traces.preview(converted).mean_mbps == pytest.approx(12.0, rel=0.01)
    back = traces.convert(converted, "mahimahi")
    assert traces.preview(back).mean_mbps == pytest.approx(12.0, rel=0.01)


def test_sabre_is_json():
    steps = json.loads(traces.convert(STEADY, "sabre"))
    assert {"duration_ms", "bandwidth_kbps"} <= set(steps[0])


SETTINGS = {
    "constant": {"rate": "5 Mbit/s"},
    "steps": {"rates": "5 Mbit/s, 1 Mbit/s", "step": "2 s"},
    "markov": {"rates": "1 Mbit/s, 2 Mbit/s, 4 Mbit/s", "duration": "60 s"},
    "lte": {"mean_rate": "6 Mbit/s", "duration": "60 s"},
    "wifi": {"max_rate": "20 Mbit/s", "duration": "60 s", "contention": "20 %"},
}


@pytest.mark.parametrize("kind", traces.GENERATORS)
def test_generators_repeat_and_depend_on_the_seed(kind):
    first, again, other = (traces.generate(kind, SETTINGS[kind], seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first == other) == (kind in ("constant", "steps"))
    assert 1 < traces.preview(first).mean_mbps < 20


def test_wrong_traces_say_what_and_where():
    for text, message in (("", "empty"), ("5\n3\n", "line 2"), ("1.5\n", "ambiguous"), ("a b c d", "line 1")):
        with pytest.raises(playpath.InputError, match=message):
            traces.preview(text)
    with pytest.raises(playpath.InputError, match='did you mean "sabre"'):
        traces.convert(STEADY, "sabr")
    with pytest.raises(playpath.InputError, match="above 0"):
        traces.convert(STEADY, "csv", bin_ms=0)
    with pytest.raises(playpath.InputError, match='`mean_rate`: "10" has no unit'):
        traces.generate("lte", {"mean_rate": "10"})
    with pytest.raises(playpath.InputError, match="colour"):
        traces.generate("constant", {"rate": "1 Mbit/s", "colour": "red"})


def test_command_line(tmp_path):
    (tmp_path / "steady.mahi").write_text(STEADY)
    shown = playpath_command("convert", "steady.mahi", cwd=tmp_path)
    assert "mean 12 Mbit/s" in shown.out
    assert playpath_command("convert", "steady.mahi", "--json", cwd=tmp_path).json["format"] == "mahimahi"
    piped = playpath_command("convert", "steady.mahi", "--to", "csv", cwd=tmp_path)
    assert traces.preview(piped.out).mean_mbps == pytest.approx(12.0, rel=0.01)
    written = playpath_command("convert", "steady.mahi", "--out", "steady.csv", cwd=tmp_path)
    assert written.status == 0, written.err
    assert (tmp_path / "steady.csv").read_text() == piped.out


def test_wrong_command_lines(tmp_path):
    (tmp_path / "bad.mahi").write_text("5\n3\n")
    playpath_command("convert", "bad.mahi", cwd=tmp_path).assert_refused("bad.mahi: ")
    playpath_command("convert", "nowhere.mahi", cwd=tmp_path).assert_refused("nowhere.mahi")
    playpath_command("convert", cwd=tmp_path).assert_refused("either")
    playpath_command("convert", "bad.mahi", "--out", "x.what", cwd=tmp_path).assert_refused("--to")


def test_the_shipped_traces_come_from_their_commands():
    settings = {
        "mean_rate": "4.5 Mbit/s",
        "duration": "180 s",
        "variation": "0.6",
        "time_between_outages": "30 s",
    }
    made = traces.generate("lte", settings, seed=3, to="mahimahi")
    assert (ROOT / "scenarios" / "traces" / "lte-like.mahi").read_text() == made
    settings = {"mean_rate": "25 Mbit/s", "duration": "180 s", "time_between_outages": "0 s"}
    made = traces.generate("lte", settings, seed=1, to="csv")
    assert (ROOT / "scenarios" / "traces" / "lte-21.csv").read_text() == made


def test_series_that_are_not_wanted_are_not_recorded_and_change_nothing():
    resolved = Scenario.from_toml(SMALL).text
    whole, everything = engine.run(resolved, "cubic", 1, trace=True)
    part, flows = engine.run(resolved, "cubic", 1, trace=True, series=("flow.", "link.x"))
    assert set(flows) == {name for name in everything if name.startswith("flow.")} != set(everything)
    for name, columns in flows.items():
        for column, values in columns.items():
            assert values.tobytes() == everything[name][column].tobytes()
    assert part["digest"] == whole["digest"]
    assert whole["window_events"]
    assert "window_events" not in part or not any(part["window_events"].values())
