"""`playpath show`: what is given and what is a default."""

from conftest import SMALL

import playpath
from playpath.scenario import read
from playpath.show.overview import blocks

SCENARIO = """
[video]
rate = "4 Mbit/s"
duration = "10 s"
[player]
kind = "progressive"
buffer = "1 s"
[[path]]
name = "wifi"
rate = "6 Mbit/s"
rtt = "60 ms"
queue = "20 packets"
jitter = "0.05 ms"
[[sender]]
cc = "cubic"
[[sender]]
cc = { name = "ccplb", pob_rate = 2 }
mss = 1000
"""


def page():
    loaded = playpath.load(SCENARIO)
    return {block.title: block for block in blocks(read(SCENARIO), loaded.resolved)}


def test_what_is_given_stands_as_typed_and_is_no_default():
    path = page()["path wifi"]
    assert path.given == {"rate": "6 Mbit/s", "rtt": "60 ms", "queue": "20 packets", "jitter": "0.05 ms"}
    assert {"rate", "rtt", "queue.limit", "jitter.amplitude", "name"}.isdisjoint(path.defaults)
    # a text for a table fills the place that it is for, the others are defaults
    assert path.defaults["queue.kind"] == "droptail"
    assert path.defaults["jitter.distribution"] == "uniform"
    assert path.defaults["loss"] == "0 %"


def test_a_sender_gives_its_name_and_parameters():
    found = page()
    sender = next(block for title, block in found.items() if "ccplb" in title)
    assert sender.given == {"cc.name": "ccplb", "cc.pob_rate": "2", "mss": "1000"}
    assert {"cc.name", "cc.pob_rate", "mss"}.isdisjoint(sender.defaults)
    assert "cc.kp" in sender.defaults


def test_a_parameter_that_is_not_in_force_is_no_default():
    """CCP's mode `paper` has no guard, no cap and no floor; a capacity counts where it is told."""
    guards = {"cc.loss_guard", "cc.rtt_max_cap", "cc.floor_gain", "cc.rtt_max_window"}

    def defaults(**cc):
        text = SCENARIO.replace(
            'cc = "cubic"', "cc = { name = 'ccp', " + ", ".join(f"{k} = '{v}'" for k, v in cc.items()) + " }"
        )
        found = blocks(read(text), playpath.load(text).resolved)
        own = (
            b for b in found if b.title == "every sender" or (b.title.startswith("sender ccp") and "lb" not in b.title)
        )
        return {key for block in own for key in block.defaults}

    assert guards <= defaults(mode="default")
    assert guards.isdisjoint(defaults(mode="paper"))
    assert "cc.capacity" not in defaults(mode="paper")
    assert "cc.capacity" in defaults(estimator="given")


def test_settings_are_shown_as_given(cli):
    done = cli("show", "wireless", "--set", "player.buffer=7 s", "--json")
    (player,) = (block for block in done.json["blocks"] if block["title"] == "player")
    assert player["given"]["buffer"] == "7 s"
    assert "buffer" not in player["defaults"]
    wrong = cli("show", "wireless", "--set", "player.bufer=7 s")
    assert (wrong.status, len(wrong.err.strip().splitlines())) == (2, 1)
    assert 'did you mean "buffer"' in wrong.err


def test_a_table_is_set_where_the_file_has_a_word(cli):
    done = cli("show", "wireless", "--set", "path.queue.limit=30 packets", "--json")
    assert done.status == 0, done.err
    assert [block for block in done.json["blocks"] if "30 packets" in str(block["given"])]


def test_seeds_are_those_that_compare_plays(cli, tmp_path):
    (tmp_path / "raced.toml").write_text(SMALL.replace("seeds = 3", ""))
    shown = [cli("show", tmp_path / "raced.toml", *given).out for given in ((), ("--set", "run.seeds=4"))]
    assert ["seeds until decided" in text for text in shown] == [True, False]


def test_defaults_of_all_senders_stand_once():
    found = page()
    assert found["every sender"].defaults["sack"] == "true"
    assert not any("sack" in block.defaults for title, block in found.items() if title.startswith("sender "))
    assert found["sender cubic"].defaults["mss"] == "1448"


def test_every_value_of_a_scenario_is_given_or_a_default():
    resolved = playpath.load(SCENARIO).resolved
    player = page()["player"]
    assert set(resolved["player"]) == {*player.given, *player.defaults}


def test_the_page_holds_every_part(cli):
    done = cli("show", "mobile")
    assert done.status == 0, done.err
    for part in ("video ", "player ", "path cell ", "every sender ", "sender copa ", "run "):
        assert f"\n{part}" in done.out, part
    assert "trace traces/lte-like.mahi" in done.out
    assert max(map(len, done.out.splitlines())) <= 200, "no content of a trace"


def test_a_population_shows_what_is_drawn(cli):
    done = cli("show", "home-users")
    assert done.status == 0, done.err
    assert "drawn: path.0.rate: log-normal" in done.out
    assert "rate.lognormal.median 6 Mbit/s" in done.out


def test_what_differs_between_users_is_neither_a_value_nor_a_default(cli, tmp_path):
    (tmp_path / "users.csv").write_text("name,rate_mbps,path.home.jitter,isp\nann,4,1 ms,a\nbob,9,2 ms,b\n")
    text = SCENARIO.replace('"wifi"', '"home"') + '[population]\nusers = "users.csv"\n'
    (tmp_path / "mine.toml").write_text(text)
    done = cli("show", tmp_path / "mine.toml", "--json")
    assert done.status == 0, done.err
    path = next(block for block in done.json["blocks"] if block["title"] == "path home")
    assert path["given"]["rate"] == path["given"]["jitter"] == "of each user (users.csv)"
    assert path["given"]["rtt"] == "60 ms"
    # `up.rate` follows the path's, which is each user's own; `up.loss` is everybody's.
    assert {"rate", "up.rate", "jitter.amplitude"}.isdisjoint(path["defaults"])
    assert path["defaults"]["up.loss"] == "0 %"


def test_a_users_column_without_a_path_is_of_all_paths(cli, tmp_path):
    (tmp_path / "users.csv").write_text("name,rate_mbps\nann,4\nbob,9\n")
    second = '[[path]]\nname = "dsl"\nrate = "2 Mbit/s"\nrtt = "30 ms"\n'
    (tmp_path / "mine.toml").write_text(f'{SCENARIO}\n{second}[population]\nusers = "users.csv"\n')
    done = cli("show", tmp_path / "mine.toml", "--json")
    assert done.status == 0, done.err
    paths = [block for block in done.json["blocks"] if block["title"].startswith("path ")]
    assert [path["given"]["rate"] for path in paths] == ["of each user (users.csv)"] * 2


def test_a_design_is_sent_to_its_command(cli):
    done = cli("show", "loss-and-delay")
    assert (done.status, done.out) == (2, "")
    assert "`playpath sweep loss-and-delay`" in done.err


MPD = """<MPD type="static" mediaPresentationDuration="PT8S"><Period>
<AdaptationSet contentType="video" mimeType="video/mp4">
<SegmentTemplate timescale="1" duration="2" media="$RepresentationID$-$Number$.m4s"/>
<Representation id="low" bandwidth="300000"/><Representation id="high" bandwidth="2000000"/></AdaptationSet>
<AdaptationSet contentType="audio" mimeType="audio/mp4">
<SegmentTemplate timescale="1" duration="2" media="$RepresentationID$-$Number$.m4s"/>
<Representation id="sound" bandwidth="64000"/></AdaptationSet>
</Period></MPD>"""


def test_what_files_say_is_told_in_figures(cli, tmp_path):
    (tmp_path / "film.mpd").write_text(MPD)
    (tmp_path / "link.csv").write_text("time_s,rate_mbps\n0,2\n1,4\n2,0\n")
    text = '[video]\nmanifest = "film.mpd"\n[player]\nkind = "dash"\n[[path]]\ntrace = "link.csv"\nrtt = "50 ms"\n'
    (tmp_path / "mine.toml").write_text(text + '[[sender]]\ncc = "cubic"\n')
    done = cli("show", tmp_path / "mine.toml")
    assert done.status == 0, done.err
    assert "film: 8 s in 4 segments, 2 rungs of 300, 2000 kbit/s; separate audio of 64 kbit/s" in done.out
    assert "a trace of 2 Mbit/s on average" in done.out
    loaded = cli("show", "wireless", "--json").json["understood"]
    assert loaded == ["film: 624 s of 5.24 Mbit/s on average, 25 pictures a second"]
