"""Both worlds beside each other, with kernel records that are made up: no root needed."""

import json
import subprocess
import sys
from dataclasses import replace

import polars as pl
import pytest
from conftest import SMALL, figures_of

import playpath
from playpath.base.errors import InputError, RunError
from playpath.real.twin import Twin, judge, margin_of
from playpath.real.twin_run import _with_traffic, twin, unsupported
from playpath.run.session_store import of_other_builds, session_key
from playpath.run.worlds import SimWorld
from playpath.show.report.twin_page import twin_page


class FakeKernel:
    """The simulator's sessions with some metrics changed."""

    name = "kernel"
    is_parallel = False

    def __init__(self, change, fail_at=None):
        self.change, self.fail_at, self.played, self.prepared = change, fail_at, [], 0

    def keeping(self, logs):
        return self

    def prepare(self, scenario, at_once):
        self.prepared += 1

    def session(self, scenario, sender, seed, *, trace):
        if len(self.played) == self.fail_at:
            raise KeyboardInterrupt
        self.played.append((sender, seed))
        session = SimWorld().session(scenario, sender, seed, trace=trace)
        return replace(session, world="kernel", metrics=self.change(sender, seed, dict(session.metrics)))


def same(sender, seed, metrics):
    return metrics


def scaled(name, factor):
    return lambda sender, seed, metrics: metrics | {name: metrics[name] * factor}


def run(change=same, scenario=SMALL, **options):
    return twin(scenario, kernel=FakeKernel(change), left_out=lambda s: {}, **options)


def test_the_verdict_on_an_interval():
    # Margin 3: inside, inside without zero, at the edge, outside on either side, across the margin without zero, across both, none.
    cases = [
        ((-1, 2), "alike"),
        ((1, 2), "alike"),
        ((-3, 3), "alike"),
        ((3.1, 9), "differ"),
        ((-9, -3.1), "differ"),
        ((2, 4), "differ"),
        ((-2.05, -0.45), "alike"),
        ((-5, -0.45), "differ"),
        ((-1, 4), "open"),
    ]
    for interval, verdict in [*cases, (None, "open")]:
        assert judge(interval, 3.0) == verdict


def test_margins_are_shares_of_the_simulators_mean():
    assert margin_of("goodput_mbps", 8.0, 100.0) == pytest.approx(0.4)  # 5 %
    assert margin_of("mean_rtt_ms", 50.0, 1.0) == pytest.approx(5.0)  # 10 %
    assert margin_of("stall_time_s", 0.0, 0.0) == 0.1  # what nobody would notice


def test_equal_worlds_are_alike():
    result = run()
    assert {m.verdict for m in result.metrics} == {"alike"}
    assert all(m.mean == 0.0 and m.ci95 == (0.0, 0.0) for m in result.metrics)
    assert result.counted()["opposite"] == 0
    assert [row.sender for row in result.of("goodput_mbps")] == ["newreno", "cubic"]


def test_a_tenth_less_goodput_differs_and_the_interval_says_so():
    result = run(scaled("goodput_mbps", 0.9), seeds=6)
    for found in result.of("goodput_mbps"):
        assert found.verdict == "differ"
        pairs = result.sim.values(found.sender, "goodput_mbps")[:6]
        assert (found.kernel.n, found.sim.n) == (6, 60)
        assert found.mean == pytest.approx(-0.1 * sum(pairs) / 6)
        assert found.ci95[0] < found.mean < found.ci95[1] < -found.margin
    assert {m.verdict for m in result.of("mean_rtt_ms")} == {"alike"}


def test_with_few_seeds_only_the_pairs_count():
    result = run(scaled("goodput_mbps", 0.9), seeds=3)
    for found in result.of("goodput_mbps"):
        assert (found.kernel.n, found.sim.n) == (3, 3)
        assert found.mean == pytest.approx(-0.1 * found.sim.mean)


def test_one_seed_decides_nothing():
    result = run(seeds=1)
    assert {m.verdict for m in result.metrics} == {"open"}
    assert result.ranking_verdict == "open"


def test_a_value_that_one_world_lacks_is_no_agreement():
    result = run(lambda sender, seed, metrics: metrics | {"startup_delay_s": None if seed == 2 else 0.1})
    assert {m.verdict for m in result.of("startup_delay_s")} == {"open"}


def stalls(sim, kernel):
    """A twin of newreno and cubic with these stall times, sender → a value a seed."""
    result = run()

    def world(comparison, values):
        column = [values[row["sender"]][row["seed"] - 1] for row in comparison.table.iter_rows(named=True)]
        return replace(
            comparison,
            table=comparison.table.with_columns(stall_time_s=pl.Series(column, dtype=pl.Float64, strict=False)),
        )

    return Twin(world(result.sim, sim), world(result.kernel, kernel), {})


@pytest.mark.parametrize(
    ("sim", "kernel", "order", "verdict"),
    [
        # Three seeds, differences of 5 with a spread of 0.2: apart. Equal values: alike. A spread of 5: open.
        (([1, 1, 1], [6, 6.2, 5.8]), ([2, 2, 2], [9, 9.2, 8.8]), "alike", "alike"),
        (([1, 1, 1], [6, 6.2, 5.8]), ([9, 9.2, 8.8], [2, 2, 2]), "opposite", "differ"),
        (([1, 1, 1], [6, 6.2, 5.8]), ([2, 2, 2], [2, 2, 2]), "opposite", "differ"),
        (([1, 1, 1], [1, 1, 1]), ([2, 2, 2], [2, 2, 2]), "alike", "alike"),
        (([1, 1, 1], [6, 6.2, 5.8]), ([2, 2, 2], [1, 9, 3]), "open", "open"),
    ],
)
def test_pairs_of_senders(sim, kernel, order, verdict):
    result = stalls(*(dict(zip(("newreno", "cubic"), world, strict=True)) for world in (sim, kernel)))
    (pair,) = result.pairs
    assert (pair.order, result.ranking_verdict) == (order, verdict)
    assert f"Ranking by stall time: {verdict}" in result.sentence


def test_senders_without_a_twin_are_left_out_with_a_reason():
    result = twin(SMALL, kernel=FakeKernel(same), left_out=lambda s: {"cubic": "cubic: not here"})
    assert result.senders == result.sim.senders == result.kernel.senders == ["newreno"]
    assert result.to_dict()["left_out"] == {"cubic": "cubic: not here"}
    with pytest.raises(InputError, match="not here"):
        twin(SMALL, kernel=FakeKernel(same), left_out=lambda s: dict.fromkeys(s.senders, "not here"))


def test_finished_sessions_are_taken_from_the_store(tmp_path):
    first, second = FakeKernel(same), FakeKernel(same)
    options = {"left_out": lambda s: {}, "store": tmp_path}
    before = twin(SMALL, kernel=first, seeds=2, **options)
    after = twin(SMALL, kernel=second, seeds=3, **options)
    assert (len(first.played), second.played) == (4, [("newreno", 3), ("cubic", 3)])
    assert after.kernel.seeds == [1, 2, 3]
    # The machine is tried only where something is played.
    unused = FakeKernel(same)
    twin(SMALL, kernel=unused, seeds=3, **options)
    assert (first.prepared, second.prepared, unused.prepared, unused.played) == (1, 1, 0, [])
    assert before.of("goodput_mbps")[0].kernel.n == 2
    # Another path is another session.
    third = FakeKernel(same)
    twin(SMALL, kernel=third, seeds=1, set={"path.rtt": "80 ms"}, **options)
    assert len(third.played) == 2


def test_a_damaged_session_is_run_again(tmp_path):
    options = {"left_out": lambda s: {}, "store": tmp_path, "seeds": 1}
    twin(SMALL, kernel=FakeKernel(same), **options)
    next(tmp_path.glob("newreno-*/1/record.json")).write_text('{"scenario": ')
    again = FakeKernel(same)
    twin(SMALL, kernel=again, **options)
    assert (again.played, again.prepared) == ([("newreno", 1)], 1)


def test_a_session_of_another_build_of_the_engine_is_run_again(tmp_path):
    options = {"left_out": lambda s: {}, "store": tmp_path, "seeds": 1}
    twin(SMALL, kernel=FakeKernel(same), **options)
    assert of_other_builds(tmp_path) == 0
    next(tmp_path.glob("newreno-*/1/build")).write_text("another")
    assert of_other_builds(tmp_path) == 1
    again = FakeKernel(same)
    twin(SMALL, kernel=again, **options)
    assert again.played == [("newreno", 1)]


def test_the_key_is_that_of_one_sender_and_any_number_of_seeds():
    one, more = playpath.load(SMALL), playpath.load(SMALL, cc=["newreno"], seeds=9)
    assert session_key(one, "newreno") == session_key(more, "newreno") != session_key(one, "cubic")
    assert session_key(one, "newreno") != session_key(playpath.load(SMALL, set={"player.buffer": "2 s"}), "newreno")


@pytest.mark.parametrize("finished", [2, 5])
def test_ctrl_c_keeps_whole_seeds(finished, tmp_path):
    lines = []
    options = {"left_out": lambda s: {}, "on_interrupt": lines.append, "store": tmp_path}
    result = twin(SMALL, kernel=FakeKernel(same, fail_at=finished), **options)
    assert (result.interrupted, result.kernel.seeds, lines) == (True, list(range(1, finished // 2 + 1)), [0])
    rest = FakeKernel(same)
    assert not twin(SMALL, kernel=rest, **options).interrupted
    assert len(rest.played) == 6 - finished


def test_ctrl_c_before_the_first_seed_is_an_error(tmp_path):
    with pytest.raises(RunError, match="before the first seed"):
        twin(SMALL, kernel=FakeKernel(same, fail_at=1), left_out=lambda s: {}, store=tmp_path)


def test_several_at_a_time_give_the_same():
    assert run(parallel=3).to_dict()["metrics"] == run().to_dict()["metrics"]


def test_it_is_stored_and_shown(tmp_path):
    result = run(scaled("goodput_mbps", 0.9))
    result.save(tmp_path)
    assert json.loads((tmp_path / "twin.json").read_text()) == json.loads(json.dumps(result.to_dict()))
    assert Twin.load(tmp_path).metrics == result.metrics
    page = twin_page(result)
    goodput = next(one for one in figures_of(page) if one["id"] == "goodput_mbps")
    for row in goodput["rows"]:
        (found,) = (m for m in result.metrics if (m.sender, m.metric) == (row["name"], "goodput_mbps"))
        assert (row["value"], row["second"]["value"], row["verdict"]) == (
            found.sim.middle,
            found.kernel.middle,
            found.verdict,
        )
    assert all(part in page for part in ("differ", "stall time (s)"))


@pytest.mark.slow
def test_without_root_one_line_and_status_2(small):
    code = "import os; os.geteuid = lambda: 1000; from playpath.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "twin", str(small)], capture_output=True, text=True, check=False, cwd=small.parent
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs root" in done.stderr
    assert done.stdout == ""


def test_controls_without_a_twin_are_named(monkeypatch):
    from playpath.real.testbed import controls

    monkeypatch.setattr(controls, "built_in", lambda: ["reno", "cubic"])
    scenario = playpath.load(SMALL, cc=["newreno", "vegas", "sammy", "westwood", "ccp:max_cwnd=2000000"])
    reasons = unsupported(scenario)
    assert list(reasons) == ["sammy", "westwood", "ccp(max_cwnd=2000000)"]
    assert "eBPF programs have this control" in reasons["sammy"]
    assert "this kernel has no tcp_westwood ready" in reasons["westwood"]
    assert reasons["ccp(max_cwnd=2000000)"].startswith("`max_cwnd` = 2000000 is not accepted by the kernel's ccp")


DUMBBELL = """
name = "dumbbell"
[[path]]
name = "bottleneck"
rate = "10 Mbit/s"
rtt = "20 ms"
[[traffic]]
name = "newreno"
kind = "bulk"
count = 2
cc = "newreno"
start_spread = "1 s"
[[traffic]]
name = "cubic"
kind = "bulk"
count = 2
cc = "cubic"
start_spread = "1 s"
[[traffic]]
name = "call"
kind = "udp"
rate = "500 kbit/s"
[run]
duration = "5 s"
seeds = 3
"""


class SlowerGroup(FakeKernel):
    """The simulator's sessions with another goodput for the flows of a group."""

    def __init__(self, group, factor):
        super().__init__(same)
        self.group, self.factor = group, factor

    def session(self, scenario, sender, seed, *, trace):
        session = super().session(scenario, sender, seed, trace=trace)
        flows = [
            flow | {"goodput_mbps": flow["goodput_mbps"] * (self.factor if flow["name"].startswith(self.group) else 1)}
            for flow in session.flows
        ]
        return replace(session, flows=flows)


def traffic_twin(group="none", factor=1.0, scenario=DUMBBELL, **options):
    return twin(scenario, kernel=SlowerGroup(group, factor), left_out=lambda s: {}, **options)


def test_where_nobody_watches_groups_of_traffic_are_compared():
    result = traffic_twin("cubic", 0.8)
    assert result.senders == ["newreno", "cubic", "call"]
    assert {m.sender: m.verdict for m in result.of("goodput_mbps")} == {
        "newreno": "alike", "cubic": "differ", "call": "alike",
    }  # fmt: skip
    # The mean of its two flows, by hand from the simulator's record.
    flows = [playpath.run(DUMBBELL, seed=seed).flows for seed in (1, 2, 3)]
    means = [sum(f["goodput_mbps"] for f in run if f["name"].startswith("cubic.")) / 2 for run in flows]
    cubic = result.of("goodput_mbps")[1]
    assert cubic.sim.mean == pytest.approx(sum(means) / 3)
    assert cubic.mean == pytest.approx(-0.2 * sum(means) / 3)
    # Nothing is sent again for datagrams, and no round trip is measured.
    assert [m.sender for m in result.of("mean_rtt_ms")] == ["newreno", "cubic"]


def test_links_and_all_flows_have_rows_of_their_own():
    result = traffic_twin()
    rows = {m.metric: m for m in result.metrics}
    session = playpath.run(DUMBBELL, seed=1, set={"run.seeds": 1})
    (down,) = [link for link in session.links if link["name"] == "path.bottleneck/down"]
    one = {m.metric: m for m in traffic_twin(seeds=1).metrics}
    got = [flow["goodput_mbps"] for flow in session.flows]
    assert one["utilisation"].sim.mean == pytest.approx(down["utilisation"])
    assert one["mean_queue_packets"].sim.mean == pytest.approx(down["mean_queue_packets"])
    assert one["total_goodput_mbps"].sim.mean == pytest.approx(session.metrics["goodput_mbps"])
    assert one["flow_jain_index"].sim.mean == pytest.approx(sum(got) ** 2 / (5 * sum(x * x for x in got)))
    assert (rows["utilisation"].sender, rows["flow_jain_index"].sender) == ("path bottleneck", "all flows")
    assert {m.verdict for m in result.metrics} == {"alike"}


def test_who_gets_more_stands_in_place_of_a_ranking_by_stalls():
    alike, swapped = traffic_twin(), traffic_twin("call", 20.0, seeds=6)
    assert alike.criterion == "goodput_mbps"
    assert alike.counted()["opposite"] == 0
    assert [pair for pair in swapped.pairs if pair.order == "opposite"]
    for result, verdict in ((alike, alike.ranking_verdict), (swapped, "differ")):
        assert result.sentence.startswith(
            f"There is no video, so nothing is ranked by stalls. Who gets more goodput: {verdict} ("
        )
    one = DUMBBELL.split("[[traffic]]")
    alone = traffic_twin(scenario=one[0] + "[[traffic]]" + one[1] + "[run]" + DUMBBELL.split("[run]")[1])
    assert alone.sentence.startswith("There is no video, so nothing is ranked by stalls. Figures: ")


def test_a_twin_of_traffic_is_stored_and_shown(tmp_path):
    result = traffic_twin("cubic", 0.8)
    result.save(tmp_path)
    stored = json.loads((tmp_path / "twin.json").read_text())
    assert (stored["judged"], stored["senders"]) == ("traffic", ["newreno", "cubic", "call"])
    assert sorted(stored["ranking"]["sim"]) == ["call", "cubic", "newreno"]
    assert Twin.load(tmp_path).metrics == result.metrics
    page = twin_page(result)
    assert all(
        part in page
        for part in ("data-figure", "groups of traffic", "path bottleneck", "all flows", "link utilisation")
    )
    assert "stall time" not in page


def test_groups_of_traffic_are_compared_under_one_sender():
    kernel = SlowerGroup("none", 1.0)
    following = DUMBBELL.replace('cc = "cubic"\n', "")
    result = twin(following, cc=["cubic", "vegas"], kernel=kernel, left_out=lambda s: {})
    assert kernel.played == [("cubic", 1), ("cubic", 2), ("cubic", 3)]
    assert list(result.left_out) == ["vegas"]
    assert "with a single sender (cubic); choose another with --cc" in result.left_out["vegas"]
    # One that does not run here does not stand for the others.
    other = twin(
        following, cc=["cubic", "vegas"], seeds=1, kernel=SlowerGroup("", 1), left_out=lambda s: {"cubic": "no"}
    )
    assert other.kernel.senders == ["vegas"]


def test_cross_traffic_beside_a_video_is_shown_and_not_counted():
    scenario = SMALL + '[[traffic]]\nname = "web"\nkind = "bulk"\ncc = "cubic"\ncount = 2\n'
    result = traffic_twin("web", 0.5, scenario=scenario)
    found = {(m.sender, m.metric): m.verdict for m in result.cross_traffic}
    assert found["web beside newreno", "goodput_mbps"] == found["web beside cubic", "goodput_mbps"] == "differ"
    assert found["web beside cubic", "mean_rtt_ms"] == "alike"
    assert result.senders == ["newreno", "cubic"]
    assert "0 differ" in result.sentence
    assert "web beside cubic" in twin_page(result)
    assert run().cross_traffic == []


PAUSES = """
name = "pauses"
[video]
rate = "1 Mbit/s"
duration = "4 s"
[[path]]
name = "dsl"
rate = "10 Mbit/s"
rtt = "40 ms"
queue = "20 packets"
[[sender]]
name = "restarts"
cc = "newreno"
[[sender]]
name = "keeps"
cc = "newreno"
validation = "newcwv"
[[traffic]]
name = "web"
kind = "web"
count = 3
mean_size = "200 kB"
[run]
duration = "10 s"
seeds = 1
"""


@pytest.mark.parametrize(("world", "kept"), [("kernel", "none"), ("wire", "rfc2861")])
def test_whether_a_pause_costs_cross_traffic_its_window_is_one_switch_of_the_host(world, kept):
    fake = FakeKernel(same)
    fake.name = world
    result = twin(PAUSES, kernel=fake, left_out=lambda s: {})

    def web(sender, validation):
        flows = playpath.run(PAUSES, sender=sender, seed=1, set={"traffic.web.validation": validation}).flows
        return [flow["goodput_mbps"] for flow in flows if flow["name"].startswith("web")]

    assert web("keeps", "none") != web("keeps", "rfc2861")
    for sender, validation in (("restarts", "rfc2861"), ("keeps", kept)):
        mine = result.sim.flows.filter((pl.col("sender") == sender) & pl.col("name").str.starts_with("web"))
        assert mine["goodput_mbps"].to_list() == web(sender, validation)


def test_the_host_s_switch_reaches_every_flow_of_tcp_whatever_its_name():
    more = (
        '[[traffic]]\nname = "news.de"\nkind = "web"\n[[traffic]]\nname = "q"\nkind = "web"\ntransport = "quic"\n[run]'
    )
    scenario = playpath.load(PAUSES.replace("[run]", more))
    assert _with_traffic(scenario, {"validation": "rfc2861", "notsent_lowat": None}) is scenario
    groups = _with_traffic(scenario, {"validation": "none"}).resolved["traffic"]
    assert [(group["name"], group.get("validation")) for group in groups] == [
        ("web", "none"), ("news.de", "none"), ("q", None),
    ]  # fmt: skip


@pytest.mark.parametrize("world", ["kernel", "wire"])
def test_cross_traffic_has_what_a_linux_host_has_once_from_the_sender_beside_it(world):
    """Of ECN a marking queue shows it: with it no packet of the traffic is dropped, without it none is marked."""
    scenario = PAUSES.replace('queue = "20 packets"', 'queue = { kind = "codel", ecn = true }').replace(
        'validation = "newcwv"', "ecn = true\nmss = 1000"
    )
    fake = FakeKernel(same)
    fake.name = world
    links = twin(scenario, kernel=fake, left_out=lambda s: {}).sim.links.filter(pl.col("name") == "path.dsl/down")
    dropped = {row["sender"]: row["dropped_packets.aqm"] for row in links.to_dicts()}
    assert dropped["restarts"] > 0
    assert (dropped["keeps"] == 0) == (world == "kernel")
    groups = _with_traffic(playpath.load(scenario), {"validation": "none", "mss": 1000, "notsent_lowat": "16 kB"})
    (group,) = groups.resolved["traffic"]
    assert [group[key] for key in ("validation", "mss", "notsent_lowat")] == ["none", 1000, "16 kB"]
    (group,) = _with_traffic(groups, {"mss": 1400, "notsent_lowat": None}).resolved["traffic"]
    assert (group["mss"], "notsent_lowat" in group) == (1000, False)
