"""What an answer is acted on with: costs of an hour, the size of a real trial, a LaTeX table."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from conftest import SMALL

import playpath
from playpath.base.metrics import about_runs
from playpath.cli.commands.compare import _causes, _print_act_on
from playpath.judge.trial import doubt, viewers_per_arm
from playpath.results.comparison import Comparison
from playpath.results.costs import hourly_costs
from playpath.results.latex import escaped
from playpath.results.neighbours import Neighbours, neighbours
from playpath.run.session_store import session_key
from playpath.show import console
from playpath.show.report.comparison_page import against_best, comparison_page


@pytest.fixture(scope="module")
def small_result() -> Comparison:
    return playpath.compare(SMALL, cc="newreno,cubic", seeds=3)


def test_what_is_left_to_the_others_on_the_path():
    """Of 100 and 300 packets of two other flows 10 and 10 are lost: 5 %; the video's own losses are not theirs."""
    flow = {"sender": "a", "name": "cross", "sent_packets": 100, "loss_ratio": 0.1}
    more = {**flow, "name": "bulk", "sent_packets": 300, "loss_ratio": 1 / 30}
    own = {**flow, "name": "video", "loss_ratio": 0.5}
    later = {**own, "name": "video.2"}
    table = pl.DataFrame({"sender": ["a", "a", "b"], "neighbours_goodput_mbps": [1.0, 3.0, None]})
    assert neighbours(table, pl.DataFrame([flow, more, own, later])) == [Neighbours("a", 2.0, pytest.approx(0.05))]
    assert neighbours(table.select("sender"), pl.DataFrame([flow])) == []


@pytest.mark.slow
def test_a_comparison_beside_traffic_tells_what_is_left_to_it(cli, tmp_path):
    file = tmp_path / "shared.toml"
    file.write_text(SMALL + '\n[[traffic]]\nkind = "bulk"\ncc = "cubic"\n')
    found = cli("compare", file, "--seeds", 2, "--out", tmp_path / "out")
    assert found.status == 0, found.err
    assert "the other flows on the path" in found.out
    shown = Comparison.load(tmp_path / "out").to_dict()["neighbours"]
    assert {entry["sender"] for entry in shown} == {"newreno", "cubic"}
    assert all(entry["goodput_mbps"] > 0 and 0 < entry["loss_ratio"] < 1 for entry in shown)


def test_an_hour_costs_what_was_sent_in_it():
    """Ten packets of 1000 bytes, one dropped and sent again, in 36 s of video: a hundredth of an hour."""
    flow = {
        "sender": "a",
        "name": "video",
        "throughput_mbps": 9 * 8000 / 36 / 1e6,
        "sent_packets": 10,
        "retransmitted_packets": 1,
        "loss_ratio": 0.1,
        "start_s": 4.0,
        "end_s": 40.0,
    }
    beside = {**flow, "name": "cross", "sent_packets": 1000}
    table = pl.DataFrame({"sender": ["a", "b"], "played_s": [36.0, 0.0]})
    (cost,) = hourly_costs(table, pl.DataFrame([flow, beside]), price_per_gb=2.0)
    assert (cost.sender, cost.sent_gb, cost.retransmitted_gb) == ("a", pytest.approx(1e-3), pytest.approx(1e-4))
    assert cost.price == pytest.approx(2e-3)
    # The viewer's later connections cost as much.
    (both,) = hourly_costs(table, pl.DataFrame([flow, {**flow, "name": "video.2"}, beside]), None)
    assert both.sent_gb == pytest.approx(2e-3)


def test_an_hour_of_a_comparison_is_that_of_its_film(small_result):
    """4 Mbit/s are 1.8 GB an hour; headers and what is sent again come on top."""
    for cost in small_result.costs():
        assert 1.8 < cost.sent_gb < 2.2
        assert 0 < cost.retransmitted_gb < 0.1 * cost.sent_gb
    assert [cost.sender for cost in small_result.costs()] == small_result.senders


def test_trials_are_for_senders_that_are_told_apart():
    result = playpath.compare(SMALL, cc="newreno,bbr", set={"path.loss": "3 %"}, seeds=30)
    (trial,) = result.trials
    assert [trial.best, trial.sender] == result.ranking
    values = [[v for v in result.values(name, trial.metric) if v is not None] for name in (trial.sender, trial.best)]
    pairs = [a - b for a, b in zip(*values, strict=True)]
    assert trial.viewers_per_arm == viewers_per_arm(*values, less=doubt(pairs)) > 1
    assert result.to_dict()["trials"] == [trial.to_dict()]


def test_the_size_of_a_trial_counts_viewers_by_their_weight():
    """Values of weight 3 are three viewers: the same means, and one variance of fewer values."""
    heavy = viewers_per_arm([0.0, 10.0], [5.0, 20.0], weights=([3.0, 1.0], [3.0, 1.0]))
    copied = viewers_per_arm([0.0] * 3 + [10.0], [5.0] * 3 + [20.0])
    assert heavy is not None
    assert copied is not None
    assert heavy > copied
    assert viewers_per_arm([0.0, 10.0], [5.0, 20.0], weights=([7.0, 7.0], [1.0, 1.0])) == viewers_per_arm(
        [0, 10], [5, 20]
    )


def test_where_nothing_is_proven_a_trial_finds_what_one_notices():
    result = playpath.compare(SMALL, cc="cubic", vary={"path.queue": "droptail,pie"}, seeds=3)
    (trial,) = result.trials
    assert not trial.is_proven
    assert trial.difference == result.ranker.margin(trial.sender, trial.best, trial.metric)
    values = [result.values(name, trial.metric) for name in (trial.sender, trial.best)]
    assert trial.viewers_per_arm == viewers_per_arm(*values, trial.difference) > 1
    assert viewers_per_arm([0.0, 0.0], [0.0, 0.0], 0.1) is None  # nobody stalled: how viewers differ was not seen


def test_the_table_has_the_p_value_of_what_viewers_weigh(switching):
    assert switching.decision.deciding == {"cubic": "switched_doublings"}
    cells = console._difference_cells(switching, "cubic")
    assert cells == ["quality switches, in doublings of the rate", "+24", "24 to 24", "<0.001", "worse"]


def test_table_and_report_have_the_runs_of_the_sentence():
    """Nobody stalls, which 34 more runs prove alike; what the network pays takes more."""
    random = np.random.default_rng(3)
    played = playpath.compare(SMALL, cc="newreno,cubic", seeds=10)
    rows = played.table.height
    columns = {
        **{
            name: [0.0] * rows for name in ("stall_time_s", "discarded_pictures", "underflow_events", "startup_delay_s")
        },
        "retransmitted_packets": random.normal(200, 90, rows).tolist(),
    }
    result = replace(played, table=played.table.with_columns(pl.Series(name, found) for name, found in columns.items()))
    (other,) = result.decision.open
    about = about_runs(result.decision.more_runs)
    assert result.ranker.difference(other, result.ranking[0], "stall_time_s").more_runs == 34 < about
    assert result.verdict.endswith(f"the network's costs take about {about}.")
    assert console._difference_cells(result, other)[-1] == f"~{about}"
    assert f"about {about} more runs" in against_best(result, other)


def test_a_trial_is_of_what_makes_a_sender_worse(switching):
    """What speaks for a sender that is worse is no reason for a trial that finds it better."""
    (trial,) = switching.trials
    assert switching.decision.beaten == [trial.sender] == ["cubic"]
    assert (trial.metric, trial.difference) == ("switched_doublings", 24.0)
    assert trial.difference_text == "24 more quality switches (in doublings of the rate)"


def test_where_nothing_is_random_no_trial_has_a_size():
    film = SMALL.replace("loss", "# loss")
    result = playpath.compare(film, cc="newreno,cubic", seeds=3)
    assert not result.ranker.is_random
    assert result.trials == []


@pytest.mark.parametrize(("number", "told"), [(4, 0), (5, 0), (6, 2)])
def test_causes_that_are_not_shown_are_counted(number, told):
    lines = [f"sender {one}" for one in range(number)]
    shown = _causes(lines)
    assert shown == (lines if not told else [*lines[:3], f"{told} more, in the report", lines[-1]])


def test_measurements_of_the_path_are_not_called_causes(capsys):
    """Without the losses that they name first the rate was higher in 20 of 35 cases only."""
    result = playpath.compare("adaptive", cc="cubic,bbr", set={"video.duration": "20 s"}, seeds=2)
    assert result.causes
    _print_act_on(result, None)
    shown = capsys.readouterr().out + comparison_page(result)
    assert "measured on the path" in shown
    assert "limited the rate" not in shown


def test_equal_arms_without_spread_or_difference():
    assert viewers_per_arm([1.0, 1.0], [2.0, 2.0]) == 2
    assert viewers_per_arm([1.0], [2.0, 3.0]) is None
    assert viewers_per_arm([1.0, 3.0], [2.0, 4.0], less=1.5) is None
    assert viewers_per_arm([1.0, 3.0], [2.0, 4.0], less=0.5) == viewers_per_arm([1.0, 3.0], [2.0, 4.0], 0.5) == 127


def test_latex_has_every_sender_and_no_bare_character(small_result):
    text = small_result.to_latex()
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert [row.split(" & ")[0] for row in rows] == ["sender", *small_result.ranking]
    assert len({row.count(" & ") for row in rows}) == 1
    assert escaped(r"a_b \ 5 % · {x}") == r"a\_b \textbackslash{} 5 \% \textperiodcentered{} \{x\}"


def test_a_kept_session_is_known_by_what_it_played():
    one, other = (
        playpath.load(SMALL, cc="cubic", vary={key: "droptail,pie"}) for key in ("path.queue", "path.up.queue")
    )
    assert one.senders == other.senders
    assert session_key(one, "pie") != session_key(other, "pie")


@pytest.mark.slow
def test_on_the_command_line(cli, small, tmp_path):
    table = tmp_path / "table.tex"
    options = ("--seeds", 2, "--price-per-gb", "0.02", "--latex", table)
    done = cli("compare", small, "--cc", "cubic,newreno", *options, "--json")
    for cost in json.loads(done.out)["costs_per_hour"]:
        assert cost["price"] == pytest.approx(0.02 * cost["sent_gb"])
    assert table.read_text().startswith(r"\begin{table}")
    output = cli("compare", small, "--cc", "cubic", *options, "--out", tmp_path / "out")
    assert "for each hour of video shown" in output.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--transport", "tcp,zork"), 'sender.transport: unknown transport "zork"'),
        (("--transport", "zork"), '--set sender.transport: unknown transport "zork"'),
        (("--transport", "tcp,zork", "--vary", "sender.transport=tcp,zork"), "given twice"),
        (("--transport", "quic", "--set", "sender.transport={ name = 'quic', stack = 'quinn' }"), "given twice"),
        (("--set", "path.rate=5 Mbit/s", "--set", "path.rate=6 Mbit/s"), "--set path.rate: given twice"),
        (("--set", "sender.cc=newreno"), "--set sender.cc: --cc gives the senders another `cc`"),
        (("--price-per-gb", "inf"), "give a number"),
        (("--price-per-gb", "-1"), "--price-per-gb"),
    ],
)
def test_wrong_options_are_one_line(cli, small, options, says):
    wrong = cli("compare", small, "--cc", "cubic", *options)
    assert (wrong.status, says in wrong.err) == (2, True)


def test_the_transport_of_one_session(cli, small):
    played = cli("run", small, "--cc", "cubic", "--transport", "quic", "--json")
    assert json.loads(played.out)["sender"] == "cubic/quic"
    keys = ("--set", "sender.transport.stack=quinn")
    played = cli("run", small, "--cc", "cubic", *keys, "--transport", "quic", "--json")
    assert json.loads(played.out)["sender"] == "cubic/quic(stack=quinn)"
    wrong = cli("run", small, "--cc", "cubic", "--transport", "tcp,quic")
    assert (wrong.status, "one session has one transport" in wrong.err) == (2, True)


@pytest.mark.slow
def test_a_population_over_two_transports(cli, tmp_path):
    options = ("--cc", "cubic", "--transport", "tcp,quic", "--paths", 2, "--sessions", 1, "--out", tmp_path, "--json")
    played = cli("population", "compare", "home-users", *options)
    assert set(json.loads(played.out)["manifest"]["choices"]) == {"cubic+tls", "cubic/quic"}


def test_two_choices_of_one_name_are_two_questions(cli, small, tmp_path):
    """Both are called droptail and pie; the results of the first are kept."""
    first, second = (("--cc", "cubic", "--vary", f"path.{key}=droptail,pie") for key in ("queue", "up.queue"))
    assert cli("compare", small, *first, "--seeds", 2, "--out", tmp_path).status == 0
    wrong = cli("compare", small, *second, "--seeds", 2, "--out", tmp_path)
    assert (wrong.status, "another question" in wrong.err) == (2, True)
