"""What is told before a run, and what is not."""

import pytest
from conftest import SCENARIOS, SMALL

import playpath
from playpath.population.spec import load_population
from playpath.run.sanity import doubts, doubts_of_design, doubts_of_population
from playpath.sweep import load_design

PATH = """
[video]
rate = "{rate}"
duration = "10 s"
[player]
kind = "progressive"
buffer = "{buffer}"
[[path]]
name = "one"
rate = "6 Mbit/s"
rtt = "60 ms"
queue = "{queue}"
[[sender]]
cc = "cubic"
"""
SECOND = """
[[path]]
name = "two"
rate = "6 Mbit/s"
rtt = "60 ms"
"""


def outcome(more="", **changes):
    return doubts(
        playpath.load(PATH.format(**{"rate": "4 Mbit/s", "buffer": "1 s", "queue": "1 bdp"} | changes) + more)
    )


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda file: file.stem)
def test_shipped_scenarios_raise_no_doubt(scenario):
    assert doubts(playpath.load(scenario)) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": "8 Mbit/s"}, "the video's 8 Mbit/s are more than the path carries (6 Mbit/s)"),
        ({"rate": "8000 kbit/s"}, "the video's 8 Mbit/s are more than the path carries (6 Mbit/s)"),
        ({"buffer": "20 s"}, "the player's buffer of 20 s is longer than the video of 10 s"),
        ({"buffer": "6000 kB"}, "the player's buffer of 6000 kB is longer than the video of 10 s"),  # 12 s at 4 Mbit/s
        ({"queue": "2 kB"}, "path one: the queue of 2 kB holds less than two packets"),
        ({"queue": "1 packets"}, "path one: the queue of 1 packets holds less than two packets"),
    ],
)
def test_each_doubt_is_one_sentence(changes, says):
    (text,) = outcome(**changes)
    assert text.startswith(says)
    assert "\n" not in text


@pytest.mark.parametrize(
    "changes", [{}, {"rate": "6 Mbit/s"}, {"buffer": "10 s"}, {"queue": "2 packets"}, {"queue": "3 kB"}]
)
def test_what_may_be_meant_is_not_doubted(changes):
    assert outcome(**changes) == []


@pytest.mark.parametrize(
    ("ladder", "says"), [("1 Mbit/s, 8 Mbit/s", []), ("7 Mbit/s, 8 Mbit/s", ["the video's 7 Mbit/s"])]
)
def test_an_adaptive_video_needs_its_lowest_rate(ladder, says):
    video = {"video": {"duration": "10 s"}, "player": {"kind": "dash", "ladder": ladder}}
    path = {"path": [{"rate": "6 Mbit/s", "rtt": "60 ms"}], "sender": [{"cc": "cubic"}]}
    assert [text[: len(part)] for text, part in zip(doubts(playpath.load(video | path)), says, strict=True)] == says


def test_several_paths_count_together():
    assert outcome(SECOND, rate="8 Mbit/s") == []
    (text,) = outcome(SECOND, rate="13 Mbit/s")
    assert "all 2 paths carry together (12 Mbit/s)" in text


BULK = '[[traffic]]\nkind = "bulk"\ncc = "newreno"\n'


def test_flows_in_step_with_a_full_queue_are_told():
    (text,) = outcome(BULK)
    assert text.startswith("path one: flows share a drop-tail queue and all delays are fixed")
    assert 'jitter = "1 ms"' in text  # half of 12 kbit at 6 Mbit/s
    drawn = BULK + 'rtt = { uniform = ["20 ms", "440 ms"] }\n'
    jittery = PATH.replace('rtt = "60 ms"', 'rtt = "60 ms"\njitter = "1 ms"')
    others = (
        PATH.replace('"{queue}"', '{{ kind = "codel" }}') + BULK,
        jittery + BULK,
        PATH + drawn.replace("{", "{{").replace("}", "}}"),
    )
    for scenario in others:
        assert doubts(playpath.load(scenario.format(rate="4 Mbit/s", buffer="1 s", queue="1 bdp"))) == []


def test_a_flow_alone_is_in_step_with_nobody():
    alone = '[[path]]\nrate = "6 Mbit/s"\nrtt = "60 ms"\n[[traffic]]\nkind = "bulk"\n'
    assert doubts(playpath.load(alone)) == []
    assert len(doubts(playpath.load(f"{alone}count = 2\n"))) == 1


def test_doubts_come_before_the_result(cli, tmp_path):
    file = tmp_path / "doubtful.toml"
    file.write_text(PATH.format(rate="4 Mbit/s", buffer="20 s", queue="1 bdp"))
    for command in ("show", "run"):
        assert "warning: the player's buffer of 20 s is longer" in cli(command, file).err


def test_a_default_sender_is_named():
    text = SMALL.split("[[sender]]")[0]
    (outcome,) = doubts(playpath.load(text))
    assert outcome == "the scenario names no sender: cubic is used; name others with [[sender]] or --cc"
    for named in (SMALL, text + "[[ sender ]]\ncc = 'vegas'\n", "sender = [{cc = 'vegas'}]\n" + text):
        assert doubts(playpath.load(named)) == []
    assert doubts(playpath.load(playpath.load(SMALL).resolved)) == []
    assert doubts(playpath.load(text, cc=["vegas"])) == []


def test_a_sweep_says_at_how_many_points(cli, tmp_path):
    """Rates of 2, 4, 6 Mbit/s under a video of 5: two points stall for certain."""
    (tmp_path / "s.toml").write_text(PATH.format(rate="5 Mbit/s", buffer="1 s", queue="1 bdp"))
    axis = '[[axis]]\nkey = "path.rate"\nvalues = ["2 Mbit/s", "4 Mbit/s", "6 Mbit/s"]\n'
    (tmp_path / "d.toml").write_text('scenario = "s.toml"\nseeds = 1\n' + axis)
    (text,) = doubts_of_design(load_design(tmp_path / "d.toml"))
    assert text == (
        "the video's 5 Mbit/s are more than the path carries (2 Mbit/s): every sender stalls "
        "(at 2 of 3 points; first where path.rate = 2 Mbit/s)"
    )
    assert f"warning: {text}" in cli("sweep", "d.toml", "--dry-run").err


def test_every_shipped_design_and_population_raises_no_doubt():
    for file in sorted((SCENARIOS[0].parent / "sweeps").glob("*.toml")):
        assert doubts_of_design(load_design(file)) == [], file


@pytest.mark.slow
def test_tune_and_population_say_it_too(cli, tmp_path):
    text = PATH.format(rate="8 Mbit/s", buffer="1 s", queue="1 bdp")
    (tmp_path / "s.toml").write_text(text + '[run]\nduration = "1 s"\n')
    done = cli("tune", "s.toml", "--param", "ccplb.pob_rate=1..2", "--budget", 2, "--seeds", 1)
    assert "warning: s: the video's 8 Mbit/s are more than the path carries (6 Mbit/s)" in done.err


@pytest.mark.parametrize(
    ("duration", "start", "share"),
    [("20 s", {}, None), ("45 s", {}, "75 %"), ("90 s", {}, "100 %"), ("90 s", {"start": "0 s"}, None)],
)
def test_sessions_that_pass_from_a_traces_end_to_its_beginning(duration, start, share, tmp_path):
    """A session of T s from a random moment of a lap of L s passes the join with the chance T/L.

    Here L = 60 s: the last step lasts as long as the one before.
    """
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("time_s,rate_mbps\n0,5\n20,6\n40,5\n")
    scenario = {
        "video": {"rate": "2 Mbit/s", "duration": duration},
        "player": {"kind": "progressive", "buffer": "2 s"},
        "path": [{"name": "p", "trace": str(tmp_path / "*.csv"), "rtt": "60 ms", "queue": "1 bdp", **start}],
        "sender": [{"cc": "cubic"}, {"cc": "bbr"}],
    }
    outcome = [
        text for text in doubts_of_population(load_population(scenario)) if "from the end of their trace" in text
    ]
    assert [text.split(" of sessions")[0] for text in outcome] == ([share] if share else [])
