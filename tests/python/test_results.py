"""The Python interface: results objects, figures, report."""

import re
from dataclasses import replace

import matplotlib
import numpy as np
import polars as pl
import pytest
from conftest import SMALL
from matplotlib.figure import Figure

import playpath
from playpath import plots
from playpath.base.metrics import format_more_runs, format_value
from playpath.results.record import file_names
from playpath.scenario import parse_choice, parse_value, split_outside
from playpath.show.report import write_report

matplotlib.use("Agg")


def test_criteria_that_the_player_does_not_have_are_not_shown(comparison):
    assert "late_packet_ratio" in comparison.metric_names
    assert "late_packet_ratio" not in comparison.shown_criteria
    assert "mean_rate_kbps" not in comparison.shown_criteria
    assert {"stall_time_s", "startup_delay_s"} <= set(comparison.shown_criteria)


@pytest.mark.slow
def test_comparison_as_tables(comparison):
    table = comparison.to_polars()
    assert table.height == 6
    assert table["seed"].to_list() == [1, 1, 2, 2, 3, 3]
    assert comparison.to_pandas().shape == table.shape
    assert pl.DataFrame(comparison).equals(table)
    assert set(comparison.flows["sender"]) == {"newreno", "cubic"}
    assert not comparison.links.is_empty()


def test_session_as_tables(comparison):
    session = comparison.timelines["cubic"]
    assert set(session.to_polars().columns) == {"metric", "value", "unit"}
    assert session.frame("player").columns[0] == "time_s"
    assert "cubic" in session._repr_html_()
    assert pl.DataFrame(session).height == len(session.metrics)


def test_notebook_view_is_escaped(comparison):
    assert "<table>" in comparison._repr_html_()
    assert comparison.verdict.split(" ")[0] in comparison._repr_html_()


def test_comparison_survives_the_disk(comparison, tmp_path):
    comparison.save(tmp_path)
    again = playpath.Comparison.load(tmp_path)
    assert again.to_json() == comparison.to_json()
    assert set(again.timelines) == set(comparison.timelines)
    for name, columns in comparison.timelines["cubic"].series.items():
        stored = again.timelines["cubic"].series[name]
        assert all(np.array_equal(columns[c], stored[c], equal_nan=True) for c in columns)


def test_scenario_from_dict_text_and_file(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SMALL)
    from_file, from_text = playpath.load(file), playpath.load(SMALL)
    from_dict = playpath.load(dict(from_text.resolved))
    assert from_file.text == from_text.text == from_dict.text
    assert playpath.load(from_text, seeds=7).seeds == list(range(1, 8))


def test_scenario_without_a_name_is_called_as_its_file(tmp_path):
    file = tmp_path / "nameless.toml"
    file.write_text(SMALL.replace('name = "small"', ""))
    assert playpath.load(file).name == "nameless"


def test_an_error_in_a_file_names_it_and_the_line(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('[video]\nrat = "2 Mbit/s"\n')
    with pytest.raises(
        playpath.InputError, match=rf'^{file}: line 2: `video.rat`: unknown key "rat"; did you mean "rate"\?'
    ):
        playpath.load(file)


def test_wrong_python_input():
    with pytest.raises(playpath.InputError, match='unknown sender "nobody"'):
        playpath.run(SMALL, sender="nobody")
    with pytest.raises(playpath.InputError, match="jobs 0"):
        playpath.compare(SMALL, jobs=0)
    with pytest.raises(playpath.InputError, match="seed"):
        playpath.run(SMALL, sender="cubic", seed=-1)
    with pytest.raises(ValueError, match="bufer"):
        playpath.load(SMALL, set={"player.bufer": "1 s"})


def test_unknown_names_are_told_with_the_nearest_and_numbers_of_numpy_are_numbers(comparison):
    for asked in (
        lambda: comparison.summary("cubik", "stall_time_s"),
        lambda: comparison.summary("cubic", "stall_time"),
    ):
        with pytest.raises(playpath.InputError, match="did you mean"):
            asked()
    with pytest.raises(playpath.InputError, match="is empty"):
        playpath.load(SMALL, cc=[])
    with pytest.raises(playpath.InputError, match=r'set\["path.loss"\]: nan is not a finite number'):
        playpath.load(SMALL, set={"path.loss": float("nan")})
    assert playpath.load(SMALL, seeds=np.int64(2)).seeds == [1, 2]


def test_plots_draw_on_the_axes_given(comparison):
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plots.metric_bars(comparison, "stall_time_s", axes[0]) is axes[0]
    assert plots.metric_dots(comparison, "goodput_mbps", axes[1]) is axes[1]
    assert "(s)" in axes[0].get_xlabel()
    assert "(Mbit/s)" in axes[1].get_xlabel()
    assert [t.get_text() for t in axes[0].get_yticklabels()] == comparison.ranking


def test_senders_differ_without_colour():
    styles = plots.sender_styles([f"s{i}" for i in range(24)]).values()
    assert len({(s.marker, s.line) for s in styles}) == 24
    assert len({(s.colour, s.hatch) for s in styles}) == 24


def test_report_is_one_file_without_references(comparison, tmp_path):
    page = write_report(comparison, tmp_path / "r.html").read_text()
    # Nothing is fetched: links are to places in the page, or namespaces.
    fetched = re.findall(r"(?:src|href)\s*=\s*[\"'](?!#|data:)([^\"']+)", page)
    assert fetched == []
    assert "@import" not in page
    assert playpath.__version__ in page
    assert comparison.digest in page
    assert comparison.scenario.description in page
    identifiers = re.findall(r'\sid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))


def test_report_promises_equal_figures_of_the_simulator_only(comparison, tmp_path):
    assert "bit for bit" in write_report(comparison, tmp_path / "sim.html").read_text()
    page = write_report(replace(comparison, world="kernel"), tmp_path / "kernel.html").read_text()
    assert "bit for bit" not in page
    assert "similar figures, not the same ones" in page


def test_report_of_wild_names_is_escaped(tmp_path):
    text = SMALL.replace('cc = "cubic"', 'cc = "cubic"\nname = "<script>alert(1)</script>&"')
    result = playpath.compare(text, seeds=2, timelines=True)
    page = write_report(result, tmp_path / "r.html").read_text()
    assert "<script>alert" not in page
    result.save(tmp_path)
    assert playpath.Comparison.load(tmp_path).to_json() == result.to_json()


def test_file_names_differ():
    assert file_names(["a/b", "a_b", "a b"]) == {"a/b": "a_b", "a_b": "a_b.2", "a b": "a_b.3"}


def test_choices_and_values_as_typed():
    assert split_outside("cubic, ccplb(a=1,b=2) ,") == ["cubic", "ccplb(a=1,b=2)"]
    assert parse_choice(" ccplb(pob_rate=0.5) ") == "ccplb:pob_rate=0.5"
    assert parse_choice({"name": "ccplb", "kp": 2, "on": True}) == "ccplb:kp=2,on=true"
    assert parse_value(" 2 s") == "2 s"
    assert parse_value("2") == 2
    assert parse_value('"2"') == "2"
    assert parse_value("true") is True


def test_numbers_for_people():
    assert [format_value(x) for x in (0, None, 1234.56, 0.01234, -3.14159, 1e-7)] == [
        "0", "–", "1235", "0.0123", "−3.14", "1.0e-07",
    ]  # fmt: skip
    assert [format_more_runs(n) for n in (1, 98, 612, 995)] == [
        "1 more run",
        "98 more runs",
        "610 more runs",
        "1000 more runs",
    ]


def test_results_are_equal_by_what_they_say():
    first, again, other = (playpath.compare(SMALL, cc=["cubic"], seeds=seeds) for seeds in (1, 1, 2))
    assert first == again
    assert first != other
    one, two = (playpath.run(SMALL, sender="cubic", trace=True) for _ in range(2))
    assert one == two
    assert one != first
