"""Whatever people call scenarios, senders, paths and series: it is text in tables, plots, pages and stored files, never markup."""

import io
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from conftest import SMALL
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

import playpath
from playpath.cli.commands.run import print_session
from playpath.cli.commands.sweep import print_sweep
from playpath.plots import INK, figure, metric_bars
from playpath.results.comparison import Comparison
from playpath.results.record import Session
from playpath.scenario import Scenario
from playpath.show import console
from playpath.show.report import comparison_page
from playpath.show.report.drawings import figure_svg
from playpath.show.report.session_page import session_page
from playpath.show.report.sweep_page import sweep_page
from playpath.sweep import sweep

HOSTILE = ["[/b]", "[/nope]", "[bold", "\\", "x\\", "$\\frac{$", "$", "a\nb", "\x1b[2J", "\0", "..", "../x", "<script>"]
HOSTILE += ["<!--", "</script>", "'\"&", "n" * 300, "\u202etxt", "é" * 100, "名", "%s{}", "flow.a/b", "-x", " "]
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
QUICK = settings(max_examples=2, suppress_health_check=list(HealthCheck))
CONTROLS = ["newreno", "cubic", "compound", "vegas", "westwood", "bbr", "copa", "ccp"]
"""A sender for each of an example's names but the last, which is the scenario's, its path's and its series'."""


@cache
def plain_result() -> Comparison:
    return playpath.compare(SMALL, cc=CONTROLS, seeds=2, timelines=True, set={"video.duration": "3 s"})


def renamed(names: list[str]) -> Comparison:
    """A comparison whose senders, scenario, path, and series are called so."""
    result = plain_result()
    called = dict(zip(result.senders, names, strict=False))
    resolved = {
        **result.scenario.resolved,
        "name": names[-1],
        "sender": [{**entry, "name": called[entry["name"]]} for entry in result.scenario.resolved["sender"]],
    }
    timelines = {called[s]: _session(session, called[s], names[-1]) for s, session in result.timelines.items()}
    return replace(
        result,
        scenario=Scenario(resolved, result.scenario.text),
        table=result.table.with_columns(pl.col("sender").replace(called)),
        notes=[f"{name}: warned" for name in names],
        timelines=timelines,
    )


def _session(session: Session, sender: str, name: str) -> Session:
    series = {**session.series, f"flow.{name}": session.series["flow.video"], f"link.{name}": session.series["player"]}
    links = [{**link, "name": name} for link in session.links]
    return replace(session, scenario=name, sender=sender, links=links, series=series, warnings=[name])


@pytest.fixture
def screen(monkeypatch):
    """What is printed, as a terminal of 80 columns gets it."""
    text = io.StringIO()
    for name in ("out", "err"):
        monkeypatch.setattr(console, name, Console(file=text, width=80, highlight=False))
    return text


@pytest.mark.filterwarnings("ignore:Glyph")
@QUICK
@given(st.lists(NAMES, min_size=9, max_size=9, unique=True))
@example(HOSTILE[:9])
@example(HOSTILE[9:18])
@example(HOSTILE[-9:])
@pytest.mark.slow
def test_any_name_is_text_everywhere(screen, names):
    result = renamed(names)
    console.print_comparison(result)
    session = next(iter(result.timelines.values()))
    print_session(session)
    shown = screen.getvalue()
    assert not set("\x1b\0\u202e") & set(shown)
    for page in (comparison_page(result), session_page(session)):
        for name in names:
            assert "<" not in name or f">{name}" not in page.replace("<script>\n", "")
        assert page.count("<script") == page.count("</script>")
    metric_bars(result, "stall_time_s").figure.savefig(io.BytesIO(), format="png")
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "o")
        assert sorted(Comparison.load(Path(folder) / "o").timelines) == sorted(result.timelines)
        assert [path.name for path in Path(folder).iterdir()] == ["o"]


@pytest.mark.slow
@pytest.mark.parametrize("names", [("[/b]", "$\\frac{$"), ("\x1b[2J", "</script>")])
def test_names_of_a_sweep_are_text(screen, names, tmp_path):
    raw = playpath.load(SMALL).resolved
    scenario = {**raw, "sender": [{**entry, "name": n} for entry, n in zip(raw["sender"], names, strict=True)]}
    axes = [{"key": "path.loss", "values": ["0 %", "1 %"]}, {"key": "path.rtt", "values": ["20 ms", "60 ms"]}]
    result = sweep({"scenario": scenario, "name": names[0], "seeds": 2, "axis": axes}, store=tmp_path, jobs=1)
    print_sweep(result)
    assert "\x1b" not in screen.getvalue()
    page = sweep_page(result)
    assert page.count("<script") == page.count("</script>")


@pytest.mark.slow
def test_numbers_of_logarithmic_axes_stay_powers():
    drawn, ax = figure()
    ax.set_xscale("log")
    ax.plot([1, 1e6], [0, 1], color=INK)
    assert ">$\\mathdefault" not in figure_svg(drawn, "powers")
