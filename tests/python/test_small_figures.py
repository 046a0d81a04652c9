"""Figures of a paper's column, 3.5 inches wide: nothing that is drawn is outside, however long the names."""

import pytest
from conftest import SMALL
from matplotlib.backends.backend_agg import FigureCanvasAgg

import playpath
from playpath import plots

WIDTH = 3.5
NAMES = ("newreno", "a-sender-with-a-rather-long-name")


def named():
    """The small scenario, whose senders have long names."""
    raw = playpath.load(SMALL).resolved
    return {**raw, "sender": [{**entry, "name": name} for entry, name in zip(raw["sender"], NAMES, strict=True)]}


@pytest.fixture(scope="module")
def result():
    return playpath.compare(named())


def outside(figure):
    """By how many inches something that is drawn lies outside."""
    FigureCanvasAgg(figure).draw()
    box = figure.get_tightbbox()
    return max(-box.x0, -box.y0, box.x1 - figure.get_figwidth(), box.y1 - figure.get_figheight())


@pytest.mark.parametrize("name", ["metric_bars", "metric_dots", "cdf", "box", "ecdf_difference"])
@pytest.mark.parametrize("metric", ["stall_time_s", "retransmitted_packets", "p1203_stalling_factor"])
def test_figures_of_a_metric(result, name, metric):
    figure, ax = plots.figure(WIDTH, 2.2)
    getattr(plots, name)(result, metric, ax)
    assert outside(figure) < 0.02
