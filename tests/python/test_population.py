"""Populations: what is drawn, what is refused, who is helped and harmed, and that a run goes on where it stopped."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from conftest import figures_of

import playpath
from playpath.base.errors import InputError
from playpath.base.metrics import format_value
from playpath.judge.trial import doubt, viewers_per_arm
from playpath.population import headline, is_population, load_population, population
from playpath.population.answer import PopulationResult
from playpath.population.distributions import read
from playpath.population.groups import group_labels
from playpath.population.judging import judge
from playpath.population.paths import path_table
from playpath.population.play import population_cells
from playpath.run.sanity import doubts_of_population
from playpath.show.report.population_page import population_page

SCENARIO = """
name = "users"
[video]
rate = "1 Mbit/s"
duration = "8 s"
fps = 25
[player]
buffer = "1 s"
[[path]]
name = "cell"
rtt = {rtt}
{rate}
loss = {loss}
queue = "30 packets"
[[sender]]
cc = "cubic"
[[sender]]
cc = "bbr"
[population]
{own}
"""


def scenario(rtt='"50 ms"', rate='rate = "2 Mbit/s"', loss='"0 %"', own="paths = 6\nsessions = 2") -> str:
    return SCENARIO.format(rtt=rtt, rate=rate, loss=loss, own=own)


DRAWN = scenario(
    rtt='{ lognormal = { median = "60 ms", sigma = 0.5 }, min = "10 ms", max = "300 ms" }',
    loss='{ choice = ["0 %", "0.5 %", "3 %"], weights = [2, 1, 1] }',
)


def test_the_paths_are_the_same_ones_again_and_fewer_are_the_first_of_more():
    few, many = load_population(DRAWN, paths=5), load_population(DRAWN, paths=9)
    assert [few.path(i).settings for i in range(5)] == [many.path(i).settings for i in range(5)]
    assert len({json.dumps(p.settings) for p in many.drawn()}) > 5


def test_no_two_paths_share_a_seed():
    found = load_population(DRAWN)
    seeds = [seed for i in range(found.paths) for seed in found.seeds(i)]
    assert len(set(seeds)) == len(seeds) == 12


@pytest.mark.parametrize(
    ("value", "median", "low", "high"),
    [
        ({"lognormal": {"median": "60 ms", "sigma": 0.5}}, 60, 60 * np.exp(-0.5 * 1.2816), 60 * np.exp(0.5 * 1.2816)),
        ({"normal": {"mean": "60 ms", "sd": "10 ms"}}, 60, 60 - 12.816, 60 + 12.816),
        ({"uniform": ["20 ms", "120 ms"]}, 70, 30, 110),
        ({"log_uniform": ["1 ms", "100 ms"]}, 10, 10**0.2, 10**1.8),
    ],
)
def test_a_distribution_has_the_quantiles_of_its_definition(value, median, low, high):
    """The 10th, 50th and 90th percentile by hand: 1.2816 is the normal quantile of 0.9."""
    found = [float(str(read(value, "rtt").at(p)).split()[0]) for p in (0.5, 0.1, 0.9)]
    assert found == pytest.approx([median, low, high], rel=1e-3)


def test_bounds_cut_a_distribution_and_do_not_pile_up():
    bounded = read({"normal": {"mean": "60 ms", "sd": "30 ms"}, "min": "50 ms", "max": "90 ms"}, "rtt")
    found = [float(str(bounded.at((i + 0.5) / 1000)).split()[0]) for i in range(1000)]
    assert min(found) >= 50
    assert max(found) <= 90
    assert sum(x <= 50.1 for x in found) < 10


def test_choices_come_as_often_as_their_weights_say():
    found = read({"choice": ["a", "b"], "weights": [3, 1]}, "loss")
    assert sum(found.at((i + 0.5) / 1000) == "a" for i in range(1000)) == 750


def _trace(folder: Path, name: str, mbps: float) -> None:
    (folder / name).write_text(f"time_s,rate_mbps\n0,{mbps}\n10,{mbps}\n", encoding="utf-8")


@pytest.fixture
def links(tmp_path: Path) -> Path:
    for number in range(3):
        _trace(tmp_path, f"link{number}.csv", 1 + number)
    return tmp_path


@pytest.mark.parametrize("written", ['"*.csv"', '["link0.csv", "link1.csv", "link2.csv"]'])
def test_a_glob_or_a_list_of_traces_is_a_population_of_links(links, written):
    file = links / "users.toml"
    file.write_text(scenario(rate=f"trace = {written}", own="sessions = 1"), encoding="utf-8")
    assert is_population(file)
    found = load_population(file)
    assert found.paths == found.unit_count == 3
    assert [p.name for p in found.drawn()] == ["link0.csv", "link1.csv", "link2.csv"]


def test_sessions_begin_anywhere_in_a_trace_unless_told_where(links):
    file = links / "users.toml"
    for written, starts in (('trace = "*.csv"', {"random"}), ('trace = "*.csv"\nstart = "3 s"', {None})):
        file.write_text(scenario(rate=written, own="sessions = 1"), encoding="utf-8")
        found = load_population(file)
        assert {p.settings.get("path.0.start") for p in found.drawn()} == starts
        assert found.base.resolved["path"][0]["start"] == ("random" if starts == {"random"} else "3 s")


@pytest.mark.parametrize(("start", "is_told"), [("", True), ('start = "3 s"', True), ('start = "random"', False)])
def test_one_moment_of_one_trace_is_told(start, is_told):
    """The verdict over seeds of one replay turned with the second at which the viewer pressed play, without a warning."""
    trace = '{ content = "time_s,rate_mbps\\n0,1\\n5,4\\n10,2\\n" }'
    text = scenario(rate=f"trace = {trace}\n{start}", own="").replace("[population]", "")
    found = playpath.compare(text, seeds=2, jobs=1)
    assert any("the same point of the same trace" in warning for warning in found.warnings) == is_told


@pytest.mark.parametrize(("spread", "is_told"), [("", True), (', spread = "2 s"', False)])
def test_an_outage_at_one_second_is_told(spread, is_told):
    """Seeds of an outage at a fixed second all met it in the same phase of their timers, without a warning."""
    text = scenario(rate=f'rate = "5 Mbit/s"\noutage = {{ from = "2 s", until = "3 s"{spread} }}', own="")
    found = playpath.compare(text.replace("[population]", ""), seeds=2, jobs=1)
    assert any("its outage at the same second" in warning for warning in found.warnings) == is_told


def test_links_drawn_several_times_are_still_as_many_units(links):
    file = links / "users.toml"
    file.write_text(scenario(rate='trace = "*.csv"', own="paths = 7\nsessions = 1"), encoding="utf-8")
    paths = list(load_population(file).drawn())
    assert [p.unit for p in paths] == [0, 1, 2, 0, 1, 2, 0]
    assert sum(p.weight for p in paths if p.unit == 0) == pytest.approx(1)


def test_rows_of_one_viewer_count_as_one(tmp_path):
    (tmp_path / "users.csv").write_text("viewer,rate_mbps\na,1\na,2\na,3\nb,1\n", encoding="utf-8")
    file = tmp_path / "population.toml"
    file.write_text(scenario(own='users = "users.csv"\nsessions = 1'), encoding="utf-8")
    paths = list(load_population(file).drawn())
    assert [sum(p.weight for p in paths if p.unit == unit) for unit in (0, 3)] == pytest.approx([1, 1])


def test_paths_are_played_in_drawn_order_and_told_in_that_of_the_table(links):
    """After Ctrl-C those that were played must be a sample, and tables are sorted by something."""
    for number in range(3, 12):
        _trace(links, f"link{number}.csv", 2)
    file = links / "users.toml"
    file.write_text(scenario(rate='trace = "*.csv"', own="sessions = 1"), encoding="utf-8")
    found = load_population(file)
    played = list(dict.fromkeys(cell.point for cell in population_cells(found, 0, found.base.senders)))
    assert played != sorted(played) == list(range(12))


def test_an_index_gives_weights_and_columns(links):
    (links / "index.csv").write_text("file,weight,operator\nlink0.csv,3,red\nlink2.csv,1,blue\n", encoding="utf-8")
    file = links / "users.toml"
    file.write_text(scenario(rate='trace = "index.csv"', own='group = ["operator"]'), encoding="utf-8")
    first, second = itertools.islice(load_population(file, paths=2).drawn(), 2)
    assert (first.weight, second.weight) == (3, 1)
    assert second.groups == {"operator": "blue"}


def test_users_bring_settings_with_units(links):
    (links / "users.csv").write_text(
        "name,rtt_ms,trace,player.buffer,city\nann,20,link1.csv,2 s,Ghent\n", encoding="utf-8"
    )
    file = links / "users.toml"
    file.write_text(scenario(rate='trace = "link0.csv"', own='users = "users.csv"\npaths = 2'), encoding="utf-8")
    (user,) = load_population(file).units
    assert user.name == "ann"
    assert user.settings["path.rtt"] == "20 ms"
    assert user.settings["player.buffer"] == "2 s"
    assert user.groups == {"city": "Ghent"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rate": 'trace = "nothing/*.csv"'}, "no file matches"),
        ({"rate": "trace = []"}, "the list of traces is empty"),
        (
            {"own": "paths = 1", "loss": '{ choice = ["0 %"] }'},
            "`population.paths`: 1 is out of range; allowed: whole numbers from 2",
        ),
        ({"own": "pahts = 3"}, 'did you mean "paths"'),
        ({"own": 'baseline = "cubik"\npaths = 3', "loss": '{ choice = ["0 %"] }'}, 'did you mean "cubic"'),
        ({"rtt": '{ lognormal = { median = "60 ms", sigma = 0 } }'}, "must be above 0"),
        ({"rtt": '{ lognormal = { median = "60 ms" } }'}, "`sigma` is missing"),
        ({"rtt": '{ uniform = ["60 ms", "0.01 s"] }'}, "use one unit"),
        ({"rtt": '{ uniform = ["60 ms", "20 ms"] }'}, "is not below"),
        (
            {"loss": '{ choice = ["0 %", "1 %"], weights = [1, 0] }'},
            "`path[0].loss.weights[1]`: 0 is out of range; allowed: above 0",
        ),
        ({"loss": '{ choice = ["0 %", "1 %"], weights = [1] }'}, "a list of 2 numbers"),
        ({"rtt": '{ uniform = ["20 ms", "60 ms"], mean = 3 }'}, '`path[0].rtt.mean`: unknown key "mean"'),
        ({}, "one path is for `playpath compare`"),
        ({"loss": '{ choice = ["0 %", "wet"] }'}, "path 3: path.0.loss"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, change, said):
    file = tmp_path / "users.toml"
    file.write_text(scenario(**change), encoding="utf-8")
    with pytest.raises(InputError) as error:
        population(file, store=tmp_path / "store", jobs=1)
    assert not (tmp_path / "store").exists()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("file,weight\nlink0.csv,0\n", "line 2: weight 0 must be above 0"),
        ("file,weight\nlink0.csv,heavy\n", "'heavy' is not a number"),
        ("file,weight\nlink0.csv\n", "line 2: 1 cells for 2 columns"),
        ("file,weight\n", "no row below its head"),
        ("file\nmissing.csv\n", "no such file"),
        ("file\nwrong.csv\n", "trace"),
    ],
)
def test_a_wrong_index_is_said_in_one_line(links, text, said):
    (links / "wrong.csv").write_text("time_s,rate_mbps\n-1,5\n", encoding="utf-8")
    (links / "index.csv").write_text(text, encoding="utf-8")
    file = links / "users.toml"
    file.write_text(scenario(rate='trace = "index.csv"', own="paths = 2"), encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_population(file)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_sessions_are_judged_by_the_first_criterion_that_differs():
    first = {"stall_time_s": np.array([0.0, 1.0, 0.05, np.nan]), "mean_rate_kbps": np.array([500.0, 900, 1000, 1000])}
    second = {"stall_time_s": np.array([1.0, 0.0, 0.0, 0.0]), "mean_rate_kbps": np.array([900.0, 500, 500, 500])}
    found = judge(first, second, ("stall_time_s", "mean_rate_kbps"))
    # Stalls decide the first two; 0.05 s is within the margin of 0.1 s, so the rate does; no value is worse than any.
    assert found.score.tolist() == [1, -1, 1, -1]
    assert found.reasons(1) == {"stall_time_s": 0.5, "mean_rate_kbps": 0.5}


def test_a_viewer_weighs_stalls_against_the_picture():
    """Half the rate of a film of 100 s weighs 100 s, a second of stall 8 to 16 s at 3 Mbit/s: 1 s is less for everybody,
    20 s more, 8 s between.
    """
    shown = {"played_s": np.full(3, 100.0)}
    first = {"stall_time_s": np.array([1.0, 20.0, 8.0]), "mean_rate_kbps": np.full(3, 4000.0), **shown}
    second = {"stall_time_s": np.zeros(3), "mean_rate_kbps": np.full(3, 2000.0), **shown}
    criteria = ("played_s", "stall_time_s", "mean_rate_kbps")
    found = judge(first, second, criteria)
    assert found.score.tolist() == [1, -1, 0]
    assert found.reasons(1) == {"mean_rate_kbps": 1.0}
    assert judge(first, second, criteria, "stalls").score.tolist() == [-1, -1, -1]
    assert judge(first, second, criteria, "picture").score.tolist() == [1, 1, 1]


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> PopulationResult:
    return population(DRAWN, store=tmp_path_factory.mktemp("store"), jobs=1)


@pytest.mark.slow
def test_the_answer_is_whole(played):
    outcome = played.to_dict()
    assert outcome["paths"] == 6
    assert outcome["units"] == 6
    assert outcome["headline"].endswith((".", "packets.", "it."))
    versus = played.against_baseline["bbr"]
    assert versus.helped.value - versus.harmed.value == pytest.approx(versus.net.value)
    assert versus.helped.low <= versus.helped.value <= versus.helped.high
    assert any("fewer than 20" in text for text in played.warnings)
    json.dumps(outcome, allow_nan=False)


SHARED = DRAWN + '\n[[traffic]]\nkind = "bulk"\ncc = "cubic"\n[[traffic]]\nkind = "video"\ncc = "cubic"\n'


@pytest.mark.slow
def test_what_neighbours_pay_is_told(tmp_path):
    found = population(SHARED, store=tmp_path, paths=3, jobs=1)
    versus = found.against_baseline["bbr"]
    mine, theirs = (found.values(sender, "neighbours_retransmitted_packets").mean() for sender in ("bbr", "cubic"))
    assert versus.neighbours["retransmission_ratio"] == pytest.approx(mine / theirs)
    assert {"goodput_ratio", "stall_s_with_sender", "stall_s_with_other"} <= versus.neighbours.keys()
    assert "Its neighbours " in found.headline
    assert "Its neighbours " in population_page(found)


def test_every_open_candidate_is_in_the_headline(played):
    versus = replace(played.versus("bbr", "cubic"), relation="open")
    stand_in = SimpleNamespace(
        best="bbr",
        baseline="cubic",
        senders=["bbr", "bbr3", "cubic"],
        versus=lambda *_: versus,
        undecided=[replace(versus, other="bbr3"), versus],
        population=played.population,
        units=played.units,
        network_criteria=[],
    )
    assert headline._verdict(stand_in).startswith("Undecided between bbr, cubic and bbr3. ")


def test_intervals_of_the_table_are_those_of_the_data(played):
    """They need not lie evenly about the mean, and none of what is timed or counted is below zero: it was "0.7 ± 4.3 s" of stall."""
    page = population_page(played)
    assert "±" not in page
    mean = played.mean("cubic", "stall_time_s")
    low, high = map(format_value, (mean.low, mean.high))
    assert low == "0"
    assert f">{format_value(mean.value)}<br><small>{low} to {high}<br>" in page


def test_points_have_their_unit(played):
    page = population_page(played)
    for column in ("helped minus harmed", "network"):
        assert f"{column}<br><small>points</small></th>" in page


@pytest.mark.slow
def test_more_paths_than_there_are_settle_nothing(played):
    few = replace(played, population=replace(played.population, max_units=8, unit_word="links"))
    versus = replace(played.versus("bbr", "cubic"), more_paths=40)
    assert headline._more(few, versus) == " Even all 8 links would probably not settle it: others are needed."
    assert headline._more(played, versus) == " About 40 more paths would probably settle it."
    assert headline._more(few, replace(versus, more_paths=2)) == " About 2 more paths would probably settle it."


def with_figures(played, paths, figures):
    """The answer if these are all that distinguishes the sessions: metric → sender → values, one a path."""
    columns = {name: [*sides["cubic"], *sides["bbr"]] for name, sides in figures.items()}
    keys = {"path": [*range(paths)] * 2, "sender": ["cubic"] * paths + ["bbr"] * paths, "seed": [1] * (2 * paths)}
    table = pl.DataFrame({**keys, "cell": "", "cc": "", "digest": "", "played_s": 60.0, **columns})
    units = pl.DataFrame({"path": range(paths), "unit": range(paths), "name": "", "weight": 1.0, "rate_mbps": 5.0})
    return replace(played, table=table, paths=units, population=replace(played.population, paths=paths, sessions=1))


@pytest.mark.slow
def test_a_trial_is_planned_for_what_decides(played):
    """bbr spares nine viewers of ten a second or so of stall. A start that is a little faster on average decides nothing."""
    chance = np.random.default_rng(1)
    stalls = np.where(chance.random(60) < 0.9, chance.uniform(0.5, 1.5, 60), 0.0)
    starts = chance.uniform(0.3, 0.4, 60)
    start = {"cubic": starts, "bbr": starts - chance.uniform(0.0, 0.1, 60)}
    trial = with_figures(
        played, 60, {"stall_time_s": {"cubic": stalls, "bbr": 0 * stalls}, "startup_delay_s": start}
    ).trial
    assert trial.is_proven
    assert (trial.metric, trial.difference) == ("stall_time_s", pytest.approx(-stalls.mean()))
    assert trial.viewers_per_arm == viewers_per_arm(stalls.tolist(), [0.0] * 60, less=doubt(stalls.tolist()))
    noticed = with_figures(
        played, 60, {"stall_time_s": {"cubic": 0 * starts, "bbr": 0 * starts}, "startup_delay_s": start}
    )
    assert noticed.difference("bbr", "cubic", "startup_delay_s").high < 0  # which the former rule planned for
    assert noticed.trial is None  # nobody stalls: nothing is known of how stalls vary


def test_neighbours_are_put_in_words(played):
    def outcome(**neighbours):
        return headline.neighbours(replace(played.versus("bbr", "cubic"), neighbours=neighbours))

    assert outcome() == ""
    assert outcome(goodput_ratio=0.97, retransmission_ratio=1.2) == " Its neighbours notice nothing."
    assert outcome(goodput_ratio=0.8, retransmission_ratio=2.0, stall_s_with_other=1.0, stall_s_with_sender=3.0) == (
        " Its neighbours retransmit 2 times as much, get 20 % less throughput and stall for 3 s instead of 1 s."
    )


def test_turning_the_pair_round_turns_the_answer_round(played):
    forth, back = played.versus("bbr", "cubic"), played.versus("cubic", "bbr")
    assert forth.helped == back.harmed
    assert forth.net.value == -back.net.value
    opposite = {"better": "worse", "worse": "better"}
    assert back.relation == opposite.get(forth.relation, forth.relation)


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(played, tmp_path):
    assert population(DRAWN, store=tmp_path, jobs=2).digest == played.digest


@pytest.mark.slow
def test_finished_sessions_are_not_played_again(tmp_path):
    first = population(DRAWN, store=tmp_path, paths=4, jobs=1)
    shards = {p.name for p in tmp_path.rglob("*.parquet")}
    more = population(DRAWN, store=tmp_path, jobs=1)
    assert shards < {p.name for p in tmp_path.rglob("*.parquet")}
    assert first.table["digest"].to_list() == more.table.filter(more.table["path"] < 4)["digest"].to_list()


@pytest.mark.slow
def test_without_resuming_everything_is_played_again(played, tmp_path):
    again = [population(DRAWN, store=tmp_path, jobs=1, resume=False).digest for _ in range(2)]
    assert again == [played.digest] * 2


@pytest.mark.slow
def test_a_saved_answer_loads_and_says_the_same(played, tmp_path):
    played.save(tmp_path)
    again = PopulationResult.load(tmp_path)
    assert again.to_dict() == played.to_dict()


@pytest.mark.slow
def test_paths_are_added_until_it_is_decided(tmp_path):
    # CUBIC stalls on most paths of 3 % loss, BBR on none: 20 paths are enough.
    clear = scenario(rtt='{ uniform = ["60 ms", "90 ms"] }', loss='"3 %"', own="paths = 4\nsessions = 1")
    found = population(clear, store=tmp_path, until_decided=64, jobs=2)
    assert found.is_decided
    assert found.best == "bbr"
    assert (list(found.looks), found.paths.height) == ([20], 20)
    outcome = found.to_dict()
    assert (outcome["stopping"]["looks"], outcome["stopping"]["most"]) == ([20], 64)
    assert "A race: checked after 20 of at most 64 paths." in found.fine_print
    found.save(tmp_path / "saved")
    assert PopulationResult.load(tmp_path / "saved").to_dict() == outcome
    with pytest.raises(InputError, match="must be above the 20 paths to begin with"):
        population(clear, store=tmp_path, until_decided=20)


@pytest.mark.slow
def test_links_are_added_in_an_order_that_is_drawn_and_none_is_played_twice(tmp_path):
    for number in range(40):
        _trace(tmp_path, f"link{number:02}.csv", 2.0)
    file = tmp_path / "people.toml"
    alike = scenario(rate='trace = "link*.csv"', own="paths = 2\nsessions = 1").replace('"bbr"', '"newreno"')
    file.write_text(alike)
    found = population(file, store=tmp_path / "store", until_decided=48, jobs=2)
    assert list(found.looks) == [20, 25, 31, 38, 40]
    names = found.paths["name"].to_list()
    assert len(set(names)) == len(names) == 40
    assert names != sorted(names)
    stored = sum(pl.read_parquet(p).height for p in (tmp_path / "store").rglob("*.parquet"))
    assert stored == found.table.height == 80


@pytest.mark.slow
def test_with_all_links_played_only_others_could_settle_it(links, tmp_path):
    file = links / "people.toml"
    file.write_text(scenario(rate='trace = "*.csv"', own="sessions = 1"))
    found = population(file, store=tmp_path / "store", jobs=1)
    assert not found.is_decided
    assert "only others could settle it" in found.headline


@pytest.mark.slow
def test_the_answer_is_told_for_groups_of_users(cli, tmp_path):
    users = [f"u{i},{rate},{isp}" for i, (rate, isp) in enumerate(itertools.product((1, 3), ("a|x", "b<i>", "")))]
    (tmp_path / "users.csv").write_text("\n".join(["name,rate_mbps,isp", *users]) + "\n")
    (tmp_path / "mine.toml").write_text(scenario(rate="", own='users = "users.csv"\nsessions = 1'))
    asked = ("population", "compare", tmp_path / "mine.toml", "--out", tmp_path / "out")
    done = cli(*asked, "--group", "isp", "--json")
    assert done.status == 0, done.err
    groups = [(g["group"], g["sender"], g["units"]) for g in done.json["groups"] if g["column"] == "group.isp"]
    assert groups == [("(empty)", "bbr", 2), ("a|x", "bbr", 2), ("b<i>", "bbr", 2)]
    # Another grouping is the same question: its sessions are there, and the folder is the same.
    again = cli(*asked)
    assert again.status == 0, again.err
    assert "group.isp" not in {
        g["column"] for g in json.loads((tmp_path / "out" / "population.json").read_text())["groups"]
    }
    printed = cli(*asked, "--group", "isp")
    assert "by isp: helped minus harmed" in printed.out
    assert "b<i>" in printed.out
    refused = cli(*asked, "--group", "ips")
    assert (refused.status, 'did you mean "isp"?' in refused.err) == (2, True)


def test_of_many_names_the_frequent_ones_are_groups():
    names = [f"isp {i:02}" for i in range(40) for _ in range(1 + (i >= 20))] + [None]
    found = group_labels(pl.DataFrame({"path": range(len(names)), "isp": names}), "isp")
    counted = dict(found["label"].drop_nulls().value_counts().iter_rows())
    # Of 40 the 20 that are there twice, and the first three of the others.
    assert {name: counted[name] for name in ("isp 20", "isp 02", "17 others")} == {
        "isp 20": 2,
        "isp 02": 1,
        "17 others": 17,
    }
    assert found.sort("order")["label"].drop_nulls().unique(maintain_order=True).to_list()[-1] == "17 others"


def test_the_page_is_whole_and_escapes_names(played, tmp_path):
    from playpath.show.report import write_report

    text = write_report(played, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Whom each sender helps and harms" in text
    assert text.count("<section") >= 3
    shares, *others = figures_of(text)
    for row in shares["rows"]:
        versus = played.against_baseline[row["name"]]
        assert (row["value"], row["second"]["value"]) == (100 * versus.helped.value, -100 * versus.harmed.value)
    groups = next(one for one in others if one["title"] == "Helped minus harmed in points, by random loss (%)")
    nets = played.by_group("loss_percent", played.contender, played.baseline)
    assert [row["value"] for row in groups["rows"]] == [100 * net.value for *_, net in nets]


@pytest.mark.slow
def test_one_user_alone_has_an_answer_and_a_page(tmp_path):
    (tmp_path / "users.csv").write_text("rate_mbps,place\n5,home\n")
    file = tmp_path / "one.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"'))
    found = population(file, store=tmp_path / "store", jobs=1)
    page = population_page(found)
    assert "<small>no interval<br>" in page
    assert " inf" not in page.partition("<script")[0]
    assert "only 1 link or user:" in found.warnings[0]


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("name;rate_mbps", "line 1: ';' in the names of columns; a comma goes between two columns"),
        ("name\trate_mbps", "line 1: '\\t' in the names of columns; a comma goes between two columns"),
        (
            "rate_mbps,path.0.rate",
            "line 1: `rate_mbps` and `path.0.rate` are one setting, path.rate; leave one of them out",
        ),
        (
            "rate_mbps,rate_kbps",
            "line 1: `rate_mbps` and `rate_kbps` are one setting, path.rate; leave one of them out",
        ),
        ("rate_mbs,city", 'line 1: unknown column "rate_mbs"; did you mean "rate_mbps"? allowed: '),
        ("rate_mbps,wieght", "; to group by it, name it in `group`"),
    ],
)
def test_a_table_of_users_that_is_not_understood_is_refused(head, said, tmp_path):
    (tmp_path / "users.csv").write_text(f"{head}\n5{',6' * head.count(',')}\n")
    file = tmp_path / "users.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"'))
    with pytest.raises(InputError) as error:
        load_population(file)
    assert str(error.value).startswith(f"{tmp_path / 'users.csv'}: ")
    assert said in str(error.value)


def test_a_column_to_group_by_may_be_spelled_like_another(tmp_path):
    (tmp_path / "users.csv").write_text("rtt_ms,rtt_mss\n20,short\n")
    file = tmp_path / "users.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"\ngroup = ["rtt_mss"]'))
    assert load_population(file).units[0].groups == {"rtt_mss": "short"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("loss_percent\n101\n1\n", 'users.csv: line 2: `loss_percent`: "101 %" is outside 0 % to 100 %'),
        ("loss_percent\n1\n101\n", 'users.csv: line 3: `loss_percent`: "101 %" is outside 0 % to 100 %'),
        ("path.loss\n1 %\nwet\n", 'users.csv: line 3: `path.loss`: "wet" '),
        ("path.los\n1 %\n", "users.csv: line 2: `path.los`: "),
    ],
)
def test_what_is_wrong_in_a_cell_is_told_of_the_cell(rows, said, tmp_path):
    (tmp_path / "users.csv").write_text(rows)
    file = tmp_path / "users.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"'))
    with pytest.raises(InputError) as error:
        path_table(found := load_population(file), range(found.paths))
    assert said in str(error.value)


def test_what_is_wrong_in_the_first_draw_is_no_fault_of_an_option(tmp_path):
    file = tmp_path / "users.toml"
    file.write_text(scenario(loss='{ choice = ["wet"] }'))
    with pytest.raises(InputError, match=r"^path 1: path.0.loss: "):
        load_population(file)


def test_a_table_that_gives_no_user_a_path_is_doubted(tmp_path):
    (tmp_path / "users.csv").write_text("name,city\nann,Ghent\n")
    file = tmp_path / "users.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"'))
    assert [text for text in doubts_of_population(load_population(file)) if "no column is a setting" in text]


def test_a_figure_without_its_unit_is_no_group(tmp_path):
    (tmp_path / "users.csv").write_text("rate_mbps,loss\n5,1\n")
    file = tmp_path / "one.toml"
    file.write_text(scenario(rate='rate = "5 Mbit/s"', own='users = "users.csv"'))
    with pytest.raises(InputError, match=r"line 1: `loss`: .* unit in its name: loss_percent"):
        load_population(file)
