"""Any choice as the treatment: `compare --vary`."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from conftest import SMALL

import playpath
from playpath.base.errors import InputError
from playpath.cli.commands.compare import _print_act_on
from playpath.judge.ranking import Ranker
from playpath.results.archive.question import Question, question_of
from playpath.results.archive.stored import wrong_answer
from playpath.results.comparison import Comparison
from playpath.results.effects import effects, sentence
from playpath.sweep import SweepResult, load_design

QUEUES = {"path.queue": ["droptail", "fq_codel"]}
LIMIT = playpath.load(SMALL).resolved["path"][0]["queue"]["limit"]
"""A kind keeps the limit of the queue in its place."""


@pytest.fixture(scope="module")
def varied() -> Comparison:
    return playpath.compare(SMALL, cc=["cubic"], vary=QUEUES, seeds=3)


def test_a_choice_is_the_scenario_with_that_setting(varied):
    assert varied.senders == ["droptail", "fq_codel"]
    for value in varied.senders:
        for written in (value, {"kind": value, "limit": LIMIT}):
            alone = playpath.compare(SMALL, cc=["cubic"], set={"path.queue": written}, seeds=3)
            for name in alone.metric_names:
                assert varied.values(value, name) == alone.values("cubic", name)


def test_names_are_in_ranking_sentence_and_json(varied):
    assert set(varied.ranking) == {"droptail", "fq_codel"}
    assert "droptail" in varied.headline
    loaded = json.loads(varied.to_json())
    assert [sender["name"] for sender in loaded["senders"]] == ["droptail", "fq_codel"]
    assert loaded["manifest"]["choices"]["fq_codel"] == {
        "sender": "cubic",
        "value": "fq_codel",
        "settings": {"path.queue": "fq_codel"},
    }
    assert loaded["manifest"]["variants"]["fq_codel"]["path"][0]["queue"]["kind"] == "fq_codel"


def test_more_seeds_and_settings_keep_the_choices(varied):
    more = playpath.load(varied.scenario, seeds=5, set={"path.loss": "1 %"})
    assert (more.senders, len(more.seeds)) == (["droptail", "fq_codel"], 5)
    assert more.playing("fq_codel").resolved["path"][0] != more.playing("droptail").resolved["path"][0]


def test_every_combination_plays_for_every_sender():
    loaded = playpath.load(SMALL, cc="cubic,bbr", vary={"path.queue": "droptail,pie", "player.buffer": "1 s,2 s"})
    assert loaded.senders[:2] == ["cubic · droptail + buffer 1 s", "bbr · droptail + buffer 1 s"]
    assert len(set(loaded.senders)) == 8
    for name in loaded.senders:
        assert [entry["name"] for entry in loaded.playing(name).resolved["sender"]] == [name]


def test_what_is_saved_knows_its_choices(varied, tmp_path):
    varied.save(tmp_path)
    again = Comparison.load(tmp_path)
    assert again.scenario.choices == varied.scenario.choices
    assert again.scenario.playing("fq_codel").resolved == varied.scenario.playing("fq_codel").resolved
    assert again.to_dict() == varied.to_dict()


@pytest.mark.slow
def test_an_archive_of_choices_is_verified_and_a_forged_one_is_found(cli, small, tmp_path):
    vary = ["--cc", "cubic,bbr", "--vary", "path.queue=droptail,pie", "--seeds", 2]
    assert cli("compare", small, *vary, "--out", tmp_path / "results").status == 0
    assert cli("export", tmp_path / "results", "--out", tmp_path / "queues.zip").status == 0
    found = cli("verify", tmp_path / "queues.zip")
    assert (found.status, found.err) == (0, "")
    assert "8 sessions" in found.out
    result = Comparison.load(tmp_path / "results")
    asked = Question.from_dict(question_of(result, None).to_dict())
    changed = {**asked.choices, "cubic · pie": asked.choices["cubic · droptail"]}
    lines = list(wrong_answer(tmp_path, result, replace(asked, choices=changed)))
    assert any("its choices are not those" in line for line in lines)


@pytest.mark.slow
def test_more_seeds_are_the_same_question(cli, small, tmp_path):
    vary = ["--cc", "cubic", "--vary", "path.queue=droptail,pie", "--out", tmp_path / "out"]
    assert cli("compare", small, *vary, "--seeds", 1).status == 0
    found = cli("compare", small, *vary, "--seeds", 2)
    assert found.status == 0, found.err
    found = cli("compare", small, *vary, "--seeds", 2, "--until-decided", "--most", 3)
    assert found.status == 0, found.err


def test_results_from_before_archives_held_choices_are_refused_in_one_line(varied):
    older = replace(varied, scenario=replace(varied.scenario, variants={}))
    with pytest.raises(InputError, match="run it again"):
        question_of(older, None)


def test_for_whom_a_choice_is_better():
    """Stalls of 10 s against hardly any in each of 200 runs, the other way round for the second sender, equal ones for the third.

    Their means are 10 + 199/160 = 11.24 and 199/20 000 = 0.01.
    """
    long, none = (
        {"stall_time_s": [10.0 + i / 80 for i in range(200)]},
        {"stall_time_s": [i / 10_000 for i in range(200)]},
    )
    values = {"a1": long, "a2": none, "b1": none, "b2": long, "c1": none, "c2": none}
    choices = {
        name: SimpleNamespace(sender=name[0], value="old" if name[1] == "1" else "new", settings={}) for name in values
    }
    found = effects(choices, Ranker(values, ["stall_time_s"]))
    assert [(effect.sender, effect.outcome) for effect in found] == [("a", "better"), ("b", "worse"), ("c", "alike")]
    assert sentence(found) == (
        "new instead of old: better for a (stall time 0.00995 s, not 11.2 s); worse for b (stall time 11.2 s, not 0.00995 s); "
        "no noticeable difference for c."
    )


def test_over_two_transports_it_is_asked_who_is_best():
    """The transport is part of a sender's name: no sender has two choices, so the headline ranks all of them."""
    over_both = {"sender.transport": ["tcp", "quic"]}
    result = playpath.compare(SMALL, cc=["cubic", "bbr"], vary=over_both, seeds=3)
    assert not result.scenario.asks_for_whom
    assert result.headline == result.ranker.headline != ""
    assert any(name in result.headline for name in result.senders)


CHOICE = '[[choice]]\nkey = "path.queue"\nvalues = ["droptail", "fq_codel"]\n'


def test_choices_of_the_file_are_those_of_the_option(varied):
    result = playpath.compare(SMALL + CHOICE, cc=["cubic"], seeds=3)
    assert result.to_dict()["manifest"]["choices"] == varied.to_dict()["manifest"]["choices"]
    assert result.digest == varied.digest
    more = playpath.load(playpath.load(SMALL + CHOICE, cc="cubic"), vary={"player.buffer": "1 s,2 s"}, seeds=2)
    assert more.senders == ["buffer 1 s", "buffer 2 s"]


def test_an_option_stands_in_for_the_files_choice_of_the_same_key():
    loaded = playpath.load(SMALL + CHOICE, cc="cubic", vary={"path.queue": "pie,red"})
    assert loaded.senders == ["pie", "red"]


@pytest.mark.slow
def test_a_sweep_of_choices_plays_each_point_with_each(cli, small, tmp_path):
    (tmp_path / "base.toml").write_text(SMALL)
    axis = '[[axis]]\nkey = "path.loss"\nvalues = ["0.5 %", "2 %"]\n'
    (tmp_path / "design.toml").write_text(f'scenario = "base.toml"\nseeds = 2\n{axis}')
    options = ("--cc", "cubic,bbr", "--vary", "path.queue=droptail,fq_codel", "--out", tmp_path / "out")
    done = cli("sweep", tmp_path / "design.toml", *options)
    assert done.status == 0, done.err
    assert done.out.startswith("fq_codel instead of droptail, at 2 points: for cubic ")
    kept = SweepResult.load(tmp_path / "out")
    assert {effect.sender for effect in kept.effects[0]} == {"cubic", "bbr"}
    alone = playpath.compare(
        SMALL, cc="cubic", seeds=2, set={"path.loss": "2 %", "path.queue": {"kind": "fq_codel", "limit": LIMIT}}
    )
    row = kept.table.filter(point=1, sender="cubic · fq_codel").sort("seed")
    assert row["stall_time_s"].to_list() == alone.values("cubic", "stall_time_s")
    again = cli("sweep", tmp_path / "design.toml", "--vary", "path.queue=droptail,pie", *options[:2], *options[4:])
    assert (again.status, "another question" in again.err) == (2, True)
    assert cli("export", tmp_path / "out", "--out", tmp_path / "queues.zip").status == 0
    checked = cli("verify", tmp_path / "queues.zip")
    assert checked.status == 0, checked.err


@pytest.mark.slow
def test_a_population_of_choices_tells_for_whom(tmp_path):
    drawn = SMALL.replace('loss = "', 'rtt = { uniform = ["20 ms", "80 ms"] }\nloss = "').replace(
        'rtt = "', '# rtt = "'
    )
    found = playpath.population(drawn + CHOICE, cc="cubic,bbr", paths=3, sessions=1, store=tmp_path / "store")
    assert found.senders == ["cubic · droptail", "bbr · droptail", "cubic · fq_codel", "bbr · fq_codel"]
    assert [(effect.sender, effect.value) for effect in found.effects] == [("cubic", "fq_codel"), ("bbr", "fq_codel")]
    assert found.headline.startswith("fq_codel instead of droptail: ")
    found.save(tmp_path / "kept")
    assert type(found).load(tmp_path / "kept").to_dict()["effects"] == found.to_dict()["effects"]


def test_what_is_drawn_or_an_axis_is_not_compared_as_well():
    with pytest.raises(InputError, match=r'vary\["path.loss"\]: `path.0.loss` also has a fixed value'):
        playpath.load(SMALL, cc="cubic", vary={"path.loss": "0 %,1 %"}, set={"path.0.loss": "2 %"})
    design = {"scenario": playpath.load(SMALL, cc="cubic", vary={"path.loss": "0 %,1 %"}),
              "axis": [{"key": "path.loss", "values": ["0 %", "2 %"]}]}  # fmt: skip
    with pytest.raises(InputError, match=r'vary\["path.loss"\]: .* an axis'):
        load_design(design)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[choice]]\nkey = "path.queue"\n', "choice[0].values"),
        ('[[choice]]\nkey = "path.queue"\nvalues = ["pie"]\n', "a list of two or more"),
        ('[[choice]]\nkey = "path.queue"\nvalues = ["pie", "zork"]\n', '[[choice]] path.queue: unknown queue "zork"'),
        ('[[choice]]\nkey = "path.queu"\nvalues = ["pie", "red"]\n', 'did you mean "queue"'),
        ('[[choice]]\nkei = "path.queue"\nvalues = ["pie", "red"]\n', 'did you mean "key"'),
        (CHOICE + CHOICE, "has two [[choice]]"),
        ('[[choice]]\nkey = "run.seeds"\nvalues = [1, 2]\n', "is the same for everything that is compared"),
    ],
)
def test_a_wrong_choice_of_the_file_is_one_line(cli, tmp_path, text, says):
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL + text)
    found = cli("compare", file, "--cc", "cubic")
    found.assert_refused(says)


@pytest.mark.parametrize(
    ("vary", "says"),
    [
        ({"path.queu": "a,b"}, 'did you mean "queue"'),
        ({"path.queue": "pie"}, "give at least two values"),
        ({"path.queue": "pie,pie"}, "pie is given twice"),
        ({"path.queue": "pie,zork"}, 'unknown queue "zork"'),
        ({"path.queue": 3}, "must be a list of values"),
        ({"player.buffer": [f"{n} s" for n in range(1, 130)]}, "allowed: up to 120 at once"),
        ({"run.seeds": "1,2"}, "is the same for everything that is compared"),
        (["path.queue"], "is not a mapping of settings"),
        ({3: "pie,red"}, "is not a mapping of settings"),
        ({"": "pie,red"}, "is not a mapping of settings"),
    ],
)
def test_what_is_wrong_is_one_line(vary, says):
    with pytest.raises(InputError, match=says):
        playpath.load(SMALL, cc="cubic", vary=vary)


def test_costs_are_those_of_choices(varied, capsys):
    _print_act_on(varied, None)
    assert re.match(r"\s*for each hour of video shown\s+choice ", capsys.readouterr().out)


def test_on_the_command_line(cli, small):
    done = cli(
        "compare", small, "--cc", "cubic", "--vary", "path.queue=droptail,{kind = 'pie'}", "--seeds", 2, "--json"
    )
    assert [sender["name"] for sender in json.loads(done.out)["senders"]] == ["droptail", "pie"]
    for given, says in (("path.queue", "expected KEY=A,B"), ("path.queue=", "expected KEY=A,B")):
        wrong = cli("compare", small, "--vary", given)
        assert (wrong.status, says in wrong.err) == (2, True)
    twice = cli("compare", small, "--vary", "path.queue=pie,red", "--vary", "path.queue=pie,red")
    assert "given twice" in twice.err


@pytest.mark.parametrize(
    ("given", "in_python", "typed"),
    [
        ({"cc": ["zork"]}, "cc: unknown", ("--cc", "zork")),
        ({"abr": "zork"}, "abr: unknown", ("--abr", "zork")),
        ({"seeds": 1_000_001}, "seeds: 1000001 is out of range", ("--seeds", "1000001")),
        ({"set": {"path.queue": "zork"}}, 'set["path.queue"]: unknown', ("--set", "path.queue=zork")),
        ({"vary": {"path.queue": "pie,zork"}}, 'vary["path.queue"]: unknown', ("--vary", "path.queue=pie,zork")),
        ({"vary": {"path.queue": "pie"}}, 'vary["path.queue"]: give at least two values', ("--vary", "path.queue=pie")),
    ],
)
def test_an_error_names_what_was_given_where_it_was_given(cli, small, given, in_python, typed):
    """Python its argument, the command line its option."""
    with pytest.raises(InputError) as raised:
        playpath.compare(SMALL, **given)
    assert str(raised.value).startswith(in_python)
    assert "--" not in str(raised.value)
    option = f"{typed[0]} path.queue" if "=" in typed[1] else typed[0]
    typed_wrong = cli("compare", small, *typed)
    assert typed_wrong.status == 2
    assert typed_wrong.err.startswith(f"error: {option}: ")
    assert '["' not in typed_wrong.err


def test_a_table_that_there_is_not_is_told_with_the_option(cli, small):
    done = cli("compare", small, "--cc", "cubic", "--vary", "pathh.queue=droptail,pie")
    assert done.err.startswith('error: --vary pathh.queue: `pathh`: unknown key "pathh"; did you mean "path"?')


def test_a_setting_beside_a_choice_is_told_as_a_setting(cli, small):
    done = cli("compare", small, "--transport", "tcp,quic", "--set", 'sender.receive_buffer="1 MiB"')
    assert done.status == 2
    assert done.err.startswith("error: --set sender.receive_buffer: is a key of TCP")
