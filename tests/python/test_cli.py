"""The command line: what it prints, where, and with which exit status."""

import json

import polars as pl
import pytest

from playpath.real import doctor
from playpath.show import console

pytestmark = pytest.mark.slow

METRICS = {
    "stall_count", "stall_time_s", "stall_ratio", "startup_delay_s", "discarded_pictures", "underflow_events",
    "late_packet_ratio", "buffer_fill_time_s", "goodput_mbps", "throughput_mbps", "retransmitted_packets", "rto_count",
    "loss_ratio", "mean_rtt_ms", "mean_queue_packets", "sd_queue_packets",
}  # fmt: skip


def test_compare_json_holds_the_interface(cli, small):
    done = cli("compare", small, "--json")
    assert done.status == 0, done.err
    result = done.json
    assert result["scenario"] == "small"
    assert result["world"] == "sim"
    assert result["seeds"] == 3
    assert {s["name"] for s in result["senders"]} == {"newreno", "cubic"} == set(result["ranking"])
    for sender in result["senders"]:
        assert set(sender["metrics"]) >= METRICS
        for summary in sender["metrics"].values():
            assert set(summary) == {"mean", "median", "ci95", "min", "max", "n"}
            if summary["n"] == 0:  # A figure that this kind of player does not have
                assert summary["mean"] is None
                continue
            assert summary["min"] <= summary["mean"] <= summary["max"]
            assert summary["ci95"] is None  # three runs are too few for one
    for difference in result["differences"]:
        assert {"metric", "mean", "ci95", "significant"} <= set(difference)
    assert isinstance(result["verdict"], str)
    assert result["manifest"]["scenario"]["name"] == "small"
    assert result["manifest"]["seeds"] == [1, 2, 3]
    assert isinstance(result["warnings"], list)
    assert done.out.count("\n") == 1


def test_json_without_out_writes_no_file(cli, small, tmp_path):
    cli("compare", small, "--json")
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


def test_compare_writes_report_and_data(cli, small, tmp_path):
    done = cli("compare", small, "--seeds", 2)
    assert done.status == 0, done.err
    folder = tmp_path / "out" / "small"
    assert {p.name for p in folder.iterdir()} == {
        "report.html", "comparison.json", "sessions.parquet", "flows.parquet", "links.parquet", "bands.parquet", "timelines",
    }  # fmt: skip
    assert pl.read_parquet(folder / "sessions.parquet").height == 4
    assert "what the viewer sees" in done.out
    assert "what it costs the network" in done.out
    assert str(folder.relative_to(tmp_path) / "report.html") in done.err


def test_run_json_holds_the_interface(cli, small):
    done = cli("run", small, "--sender", "cubic", "--seed", 2, "--json")
    assert done.status == 0, done.err
    session = done.json
    assert session["seed"] == 2
    assert all(value is None or isinstance(value, int | float) for value in session["metrics"].values())
    flow = session["flows"][0]
    assert {"name", "cc", "goodput_mbps", "sent_packets", "retransmitted_packets", "mean_rtt_ms", "min_rtt_ms"} <= set(
        flow
    )
    link = session["links"][0]
    assert {"name", "utilisation", "offered_packets", "mean_queue_packets", "sd_queue_packets"} <= set(link)
    assert isinstance(link["dropped_packets"], dict)


def test_run_agrees_with_compare(cli, small):
    session = cli("run", small, "--sender", "cubic", "--seed", 1, "--json").json
    compared = cli("compare", small, "--seeds", 1, "--json").json
    cubic = next(s for s in compared["senders"] if s["name"] == "cubic")
    assert cubic["metrics"]["goodput_mbps"]["mean"] == session["metrics"]["goodput_mbps"]
    assert cubic["metrics"]["goodput_mbps"]["ci95"] is None


def test_run_trace_writes_series(cli, small, tmp_path):
    done = cli("run", small, "--sender", "cubic", "--trace", "t", "--json")
    assert done.status == 0, done.err
    record = json.loads((tmp_path / "t" / "record.json").read_text())
    assert record["digest"] == done.json["digest"]
    player = pl.read_parquet(tmp_path / "t" / "player.parquet")
    assert {"time_s", "buffer_level_s"} <= set(player.columns)
    flow = pl.read_parquet(next((tmp_path / "t").glob("flow.*.parquet")))
    assert {"time_s", "snd_cwnd", "snd_ssthresh", "rtt_ms"} <= set(flow.columns)
    assert flow["time_s"].is_sorted()
    report = cli("report", "t")
    assert report.status == 0, report.err
    assert (tmp_path / "t" / "report.html").exists()


def test_report_can_be_drawn_again(cli, small, tmp_path):
    cli("compare", small, "--out", "o")
    first = (tmp_path / "o" / "report.html").read_text()
    (tmp_path / "o" / "report.html").unlink()
    assert cli("report", "o").status == 0
    assert (tmp_path / "o" / "report.html").read_text() == first


def test_traffic_without_video(cli, bulk):
    session = cli("run", bulk, "--json")
    assert session.status == 0, session.err
    assert len(session.json["flows"]) == 2
    assert "stall_time_s" not in session.json["metrics"]
    alone = cli("compare", bulk, "--json")
    assert 'the row "cubic" is for all flows together' in alone.err
    cli("compare", bulk, "--cc", "newreno,vegas", "--json").assert_refused("the senders have nothing to send")


def test_bulk_flows_are_compared_where_they_follow_the_sender(cli, bulk):
    bulk.write_text(bulk.read_text().replace('cc = "newreno"\n', ""))
    compared = cli("compare", bulk, "--cc", "newreno,vegas", "--seeds", 1, "--json")
    assert compared.status == 0, compared.err
    reno, vegas = (sender["metrics"]["mean_queue_packets"]["mean"] for sender in compared.json["senders"])
    assert reno > 2 * vegas, "NewReno fills the queue, Vegas leaves it empty"
    assert "all flows together" not in compared.err
    session = cli("run", bulk, "--cc", "newreno,vegas", "--sender", "vegas", "--json")
    assert {flow["cc"] for flow in session.json["flows"]} == {"vegas"}


def test_parameters_on_the_command_line(cli, small):
    done = cli(
        "compare", small, "--cc", "newreno,cubic(beta=0.5)", "--seeds", 2, "--set", "player.buffer=2 s", "--json"
    )
    assert done.status == 0, done.err
    assert [s["name"] for s in done.json["senders"]] == ["newreno", "cubic(beta=0.5)"]
    assert done.json["manifest"]["scenario"]["player"]["buffer"] == "2 s"


def test_schedulers_take_parameters_as_controls_do(cli, small):
    choice = "--scheduler=dft,dft(penalise=false)"
    done = cli("compare", small, "--cc", "cubic", choice, "--seeds", 1, "--set", "video.duration=2 s", "--json")
    assert done.status == 0, done.err
    assert {s["name"] for s in done.json["senders"]} == {"cubic/dft", "cubic/dft(penalise=false)"}
    for option, wrong in (("--scheduler", "dft(penalise=false"), ("--scheduler", "dft)"), ("--cc", "cubic(beta=0.5")):
        cli("compare", small, option, wrong).assert_refused("NAME(PARAMETER=VALUE")


def test_progress_without_a_terminal_is_a_line_now_and_then(capsys):
    now = [0.0]
    outcome = console.ProgressLines("sessions", clock=lambda: now[0])
    for second in range(26):
        now[0] = float(second)
        outcome(second + 0.2, 100)
    assert capsys.readouterr().err.splitlines() == ["sessions: 10 of 100 after 10 s", "sessions: 20 of 100 after 20 s"]
    now[0] = 36.0
    outcome(3, 0)
    assert capsys.readouterr().err.splitlines() == ["sessions: 3 after 36 s"]
    with console.progress("sessions") as progress:
        assert isinstance(progress, console.ProgressLines)


WRONG = [
    ("unknown key", ('rtt = "60 ms"', 'rtt = "60 ms"\nrat = "1 Mbit/s"'), "rat"),
    ("missing unit", ('rate = "6 Mbit/s"', "rate = 6"), "rate"),
    ("missing unit in text", ('rtt = "60 ms"', 'rtt = "60"'), "rtt"),
    ("negative rate", ('rate = "6 Mbit/s"', 'rate = "-6 Mbit/s"'), "rate"),
    ("unknown control", ('cc = "cubic"', 'cc = "cubik"'), "cubic"),
    ("missing trace", ('rate = "6 Mbit/s"', 'trace = "nothing.mahi"'), "nothing.mahi"),
    ("empty trace", ('rate = "6 Mbit/s"', 'trace = "empty.mahi"'), "trace"),
    ("truncated video", ('rate = "4 Mbit/s"\nduration = "10 s"\nfps = 25', 'source = "cut.mp4"'), "cut.mp4"),
    ("not TOML", ("[video]", "[video"), "line"),
]


@pytest.mark.parametrize(("what", "change", "named"), WRONG, ids=[w[0] for w in WRONG])
def test_wrong_scenario_is_one_line_and_exit_2(cli, small, tmp_path, what, change, named):
    (tmp_path / "empty.mahi").write_text("")
    (tmp_path / "cut.mp4").write_bytes(b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00isom")
    text = small.read_text()
    assert change[0] in text
    small.write_text(text.replace(*change))
    before = sorted(tmp_path.iterdir())
    done = cli("compare", small, "--out", "o")
    done.assert_refused(named)
    assert sorted(tmp_path.iterdir()) == before


def test_unknown_sender_names_the_nearest(cli, small):
    cli("run", small, "--sender", "cubik").assert_refused('did you mean "cubic"')


def test_real_players_are_for_the_kernel_world(cli, small):
    cli("compare", small, "--player", "vlc").assert_refused(
        "--player vlc: real players run in the worlds kernel and wire only"
    )
    cli("compare", small, "--world", "kernel", "--player", "vcl").assert_refused('did you mean "vlc"')
    cli("compare", small, "--world", "kernel:vlc", "--player", "vlc").assert_refused("names a player already")
    cli("compare", small, "--world", "sim:vlc").assert_refused("only the worlds kernel and wire have real players")


def test_several_senders_need_a_choice(cli, small):
    cli("run", small).assert_refused("newreno, cubic")


def test_missing_scenario(cli):
    cli("compare", "nowhere.toml").assert_refused("nowhere.toml")


def test_a_list_with_spaces(cli, small):
    cli("compare", small, "--cc", "cubic", "bbr").assert_refused("a list has commas and no spaces: --cc cubic,bbr")


def test_unknown_world(cli, small):
    cli("compare", small, "--world", "moon").assert_refused("sim")


def test_wrong_options(cli, small):
    cli("run", small, "--sender", "cubic", "--seed", 2**64).assert_refused("--seed")
    cli("compare", small, "--seeds", 0).assert_refused("--seeds")
    many = cli("compare", small, "--seeds", 99_999_999)
    many.assert_refused("error: --seeds: 99999999 is out of range; allowed: whole numbers from 1 to 1000000")
    cli("compare", small, "--set", "path.0.loss=150 %").assert_refused("error: --set path.0.loss: ")
    cli("compare", small, "--jobs", 0).assert_refused("--jobs")
    cli("compare", small, "--sed", 1).assert_refused("--sed")
    cli("compare", small, "--set", "buffer").assert_refused("KEY=VALUE")
    cli("compare", small, "--cc", "").assert_refused("--cc")
    cli("compare", small, "--set", "player.bufer=1 s").assert_refused("buffer")
    cli("compar", small).assert_refused("compare")


@pytest.mark.parametrize("words", [("--out", ""), ("--out=",), ("--cc", "", "--json")])
def test_an_empty_value_is_no_folder(cli, small, tmp_path, words):
    cli("compare", small, *words).assert_refused("its value is empty")
    assert [p.name for p in tmp_path.iterdir()] == ["small.toml"]


def test_unwritable_folder_is_found_before_the_run(cli, small, tmp_path):
    (tmp_path / "file").write_text("")
    for target in ("file", "file/below", "/proc/nowhere"):
        cli("compare", small, "--out", target).assert_refused(target)
    cli("run", small, "--sender", "cubic", "--trace", "/proc/nowhere").assert_refused("/proc/nowhere")
    assert not (tmp_path / "out").exists()


def test_report_without_results(cli, tmp_path):
    cli("report", tmp_path).assert_refused("no results")
    (tmp_path / "comparison.json").write_text("{")
    cli("report", tmp_path).assert_refused("damaged")
    cli("report", tmp_path / "comparison.json").assert_refused("comparison.json: no results here; give a folder")


def test_list(cli):
    kinds = cli("list", "--json").json
    for kind in (entry["kind"] for entry in kinds):
        entries = cli("list", kind, "--json")
        assert entries.status == 0, entries.err
        assert all({"name", "summary"} <= set(entry) for entry in entries.json)
    assert "newreno" in cli("list", "cc").out
    cli("list", "queues").assert_refused('did you mean "queue"')


def test_list_says_where_each_control_runs(cli):
    output = " ".join(cli("list", "cc").out.split())
    assert "RFC 9438 runs in: simulator, Linux as cubic, quinn, noq" in output
    assert "Linux as bpf:ccplb" in output
    assert "runs in: simulator, noq; not in quinn: it sets a pacing rate, which quinn does not obey" in output
    assert "not in quinn and noq: it couples paths" in output
    by_name = {entry["name"]: entry for entry in json.loads(cli("list", "cc", "--json").out)}
    assert [one["refused"] for one in by_name["westwood"]["quic_stacks"]] == [None, None]
    assert all("CE marks" in one["refused"] for one in by_name["dctcp"]["quic_stacks"])


@pytest.mark.parametrize(("effective", "found"), [("000001ffffffffff", "yes"), ("0000000000001000", None), ("0", None)])
def test_doctor_says_who_may_load(effective, found, tmp_path, monkeypatch):
    """All capabilities; CAP_NET_ADMIN (bit 12) alone, which is not enough; none."""
    (tmp_path / "status").write_text(f"Name:\tx\nCapPrm:\t0\nCapEff:\t{effective}\nCapBnd:\t0\n")
    monkeypatch.setattr("playpath.real.doctor._STATUS", tmp_path / "status")
    (check,) = [check for check in doctor.examine() if check.name == "right to load"]
    assert check.is_there == (found is not None)
    assert found or "sudo" in check.remedy


def test_doctor_never_fails(cli):
    done = cli("doctor")
    assert done.status == 0
    assert "sim" in done.out
    found = cli("doctor", "--json").json
    assert found["can_run"]["sim"] is True
    assert all(check["remedy"] for check in found["checks"] if not check["is_there"])
    assert cli("doctor", PATH="/nowhere").status == 0


def test_version_help_and_colour(cli, small):
    assert cli("--version").out.startswith("playpath ")
    assert cli("--help").status == 0
    assert cli().status == 0
    done = cli("compare", small, "--seeds", 2, NO_COLOR="1", FORCE_COLOR="", TERM="xterm")
    assert "\x1b[" not in done.out
