"""Figures of how a metric is spread: what is drawn is what was measured."""

import numpy as np
import pytest

from playpath import plots
from playpath.base.errors import InputError
from playpath.results.record import Session


@pytest.mark.slow
def test_a_distribution_function_ends_at_all_and_steps_at_the_values(comparison):
    drawn, ax = plots.figure()
    assert plots.cdf(comparison, "goodput_mbps", ax) is ax
    steps = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert set(steps) == set(comparison.senders)
    for sender, line in steps.items():
        assert line.get_xdata()[1:].tolist() == sorted(comparison.values(sender, "goodput_mbps"))
        assert line.get_ydata()[-1] == 100
    assert drawn._repr_png_().startswith(b"\x89PNG")


def test_a_box_has_the_median(comparison):
    ax = plots.box(comparison, "goodput_mbps")
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == comparison.ranking
    medians = [
        line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1 and line.get_linewidth() == 1.6
    ]
    assert sorted(medians) == sorted(np.median(comparison.values(s, "goodput_mbps")) for s in names)


def test_the_difference_of_two_is_in_points_and_turns_with_the_pair(comparison):
    one, other = comparison.senders
    forth, back = (
        plots.ecdf_difference(comparison, "goodput_mbps", against=reference).lines[0].get_ydata()
        for reference in (one, other)
    )
    assert np.allclose(forth, -back)
    assert abs(forth[-1]) < 1e-9
    assert np.abs(forth).max() <= 100


def test_a_legend_hides_no_curve_and_fits_the_figure(comparison):
    for draw in (plots.cdf, plots.ecdf_difference):
        drawn, ax = plots.figure()
        draw(comparison, "goodput_mbps", ax)
        drawn._repr_png_()
        legend = ax.get_legend().get_window_extent()
        assert legend.y0 >= ax.get_window_extent().y1
        assert (legend.y1 <= drawn.bbox.y1, legend.x1 <= drawn.bbox.x1) == (True, True)


def test_a_notebook_shows_verdict_figure_and_table(comparison):
    shown = comparison._repr_html_()
    assert "<svg" in shown
    assert "<table" in shown


@pytest.mark.slow
def test_without_pandas_the_remedy_is_named(comparison, monkeypatch):
    assert comparison.to_pandas().shape == comparison.table.shape
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setattr("polars.DataFrame.to_pandas", _no_pandas)
    for result in (comparison, next(iter(comparison.timelines.values()))):
        with pytest.raises(InputError, match=r"pip install 'playpath\[pandas\]'"):
            result.to_pandas()
    assert isinstance(next(iter(comparison.timelines.values())), Session)


def _no_pandas(frame):
    raise ModuleNotFoundError("pandas")
