"""What never ends, or takes more than there is, is told in one line before or while it runs; what merely takes long shows how far it is."""

import io
import os
import subprocess
import sys
import threading

import pytest
from rich.console import Console

import playpath
from playpath.base.errors import InputError
from playpath.base.progress import Pulse
from playpath.show import console

CUBIC = '[[sender]]\ncc = "cubic"\n'
VIDEO = '[video]\nrate = "2 Mbit/s"\nduration = "20 s"\n'
ENDLESS = '[[path]]\nrate = "unlimited"\nrtt = "0 s"\n[[traffic]]\nkind = "bulk"\n'


def path(
    *, rate: str = "10 Mbit/s", rtt: str = "40 ms", queue: str = '"100 kB"', name: str = "one", more: str = ""
) -> str:
    return f'[[path]]\nname = "{name}"\nrate = "{rate}"\nrtt = "{rtt}"\nqueue = {queue}\n{more}\n'


def udp(rate: str) -> str:
    return f'[[traffic]]\nkind = "udp"\nrate = "{rate}"\n'


@pytest.mark.parametrize("text", [ENDLESS, VIDEO + path() + udp("9000000000000000000 bit/s")], ids=["bulk", "udp"])
@pytest.mark.slow
def test_a_run_without_end_is_refused_while_it_runs(text):
    with pytest.raises(
        InputError, match=r"`run.max_events` = 1000000: the run would take (about \S+|an endless number of) events"
    ):
        playpath.run(text, set={"run.max_events": 1_000_000})


def test_the_budget_of_a_scenario_is_its_own():
    text = VIDEO + path() + CUBIC
    assert playpath.load(text).resolved["run"]["max_events"] == 10**10
    assert playpath.run(text).metrics
    with pytest.raises(InputError, match=r"about \S+ events"):
        playpath.run(text + udp("1 Gbit/s"), set={"run.max_events": 200_000})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (VIDEO + path(queue='{ kind = "pie", update_interval = "1 ns" }'), "pie.update_interval = 1 ns is not allowed"),
        (VIDEO + "".join(path(name=f"p{i}") for i in range(33)), "33 paths are more than one connection can use"),
    ],
    ids=["pie", "paths"],
)
def test_what_cannot_run_is_refused_before(text, says):
    with pytest.raises(InputError, match=says):
        playpath.run(text)


def test_time_series_by_the_nanosecond_are_refused_before():
    text = VIDEO + path() + '[run]\nsample_interval = "1 ns"\n'
    assert playpath.run(text).metrics  # nobody samples
    with pytest.raises(
        InputError, match=r"`run.sample_interval` = 1 ns: .* 140000000000 rows; allowed: up to 10000000"
    ):
        playpath.run(text, trace=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        '[video]\nrate = "2 Mbit/s"\nduration = "10 h"\n' + path(rate="1 bit/s"),
        VIDEO + path(rtt="0 s"),
        VIDEO + '[[path]]\nrate = "unlimited"\nrtt = "0 s"\n',
        VIDEO + path(queue='"1 packets"'),
        VIDEO + path(queue='"1500 B"'),
        VIDEO + path(rate="9000000000000000000 bit/s"),
    ],
    ids=["1 bit/s", "no delay", "no network", "1 packet", "1500 B", "9e18 bit/s"],
)
def test_extreme_scenarios_end(text):
    assert playpath.run(text, set={"run.max_events": 20_000_000}).metrics


@pytest.mark.slow
def test_a_flow_chooses_among_very_many_paths():
    paths = "".join(path(name=f"p{i}") for i in range(5_000))
    chosen = playpath.run(paths + '[[traffic]]\nkind = "bulk"\npaths = ["p7", "p4999"]\n[run]\nduration = "1 s"\n')
    assert len(chosen.links) == 10_000
    assert sum(link["delivered_packets"] > 0 for link in chosen.links) == 4


def test_very_many_warnings_are_counted(monkeypatch):
    captured = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=captured, width=80))
    console.warn(f"path p{i}: a warning" for i in range(100_000))
    first, *_, last = captured.getvalue().splitlines()
    assert (first, last) == ("warning: path p0: a warning", "warning: and 99980 more")
    assert len(captured.getvalue().splitlines()) == 21


def test_generated_traces_have_a_length(cli):
    for kind in ("markov", "lte", "wifi"):
        done = cli("convert", "--generate", kind, "--set", "duration=1000000000 s", "--to", "csv")
        assert (done.status, len(done.err.splitlines())) == (2, 1), done.err
        assert "at most 10000000 s are allowed" in done.err


def test_what_a_scenario_names_is_a_regular_file(cli, tmp_path):
    os.mkfifo(tmp_path / "pipe.mpd")
    (tmp_path / "sparse.mpd").open("wb").truncate(10**12)
    (tmp_path / "zero.mpd").symlink_to("/dev/zero")
    for name, problem in (
        ("pipe", "is a device, a pipe"),
        ("zero", "is a device, a pipe"),
        ("sparse", "is larger than 200 MB"),
    ):
        for text in (
            VIDEO + f'[[path]]\nrtt = "40 ms"\ntrace = "{name}.mpd"\n',
            f'[video]\nmanifest = "{name}.mpd"\n' + path(),
            f'[video]\nsource = "{name}.mpd"\n' + path(),
        ):
            with pytest.raises(InputError, match=problem):
                playpath.load(text, folder=tmp_path)


def test_a_long_session_tells_how_far_it_is():
    lines = []

    def watch(played_s, expected_s):
        lines.append((played_s, expected_s))
        if len(lines) == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # what a watch raises ends the run
        playpath.run(path() + '[[traffic]]\nkind = "bulk"\n[run]\nduration = "1000000 s"\n', watch=watch)
    assert [expected for _, expected in lines] == [1e6] * 3
    assert 0 < lines[0][0] < lines[1][0] < lines[2][0]


def test_parts_of_sessions_count():
    lines = []
    pulse = Pulse(lambda done, total: lines.append((done, total)), 2)
    with pulse.watching() as watch:
        watch(3.0, 10.0)
        pulse.report_running()
        pulse.report_running()  # nothing new
        watch(9.0, 10.0)
        pulse.report_running()
    pulse.count(None)
    pulse.report_running()
    assert lines == [(0.3, 2), (0.9, 2), (1, 2)]


def test_threads_have_parts_of_their_own():
    lines = []
    pulse = Pulse(lambda done, total: lines.append(done), 2)
    here, there = threading.Event(), threading.Event()

    def play():
        with pulse.watching() as watch:
            watch(1.0, 2.0)
            here.set()
            there.wait()

    other = threading.Thread(target=play)
    other.start()
    here.wait()
    with pulse.watching() as watch:
        watch(1.0, 4.0)
        pulse.report_running()
    there.set()
    other.join()
    assert lines == [0.8]  # rounded to tenths


LONG = path(rate="1 Gbit/s") + '[[traffic]]\nkind = "bulk"\n[run]\nduration = "100000 s"\n'


@pytest.mark.slow
def test_ctrl_c_ends_one_long_session(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    script = """
import os, signal
import playpath
try:
    playpath.run("long.toml", watch=lambda played_s, expected_s: os.kill(os.getpid(), signal.SIGINT))
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "stopped\n", done.stderr


def test_too_small_an_address_space_is_told_at_once():
    """With 600 MB OpenBLAS asked for memory without end while scipy was loaded, and nothing was said."""
    done = subprocess.run(
        ["sh", "-c", f"ulimit -v 600000; exec {sys.executable} -m playpath list queue"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: this shell allows 0.6 GB of address space; playpath needs 1.5 GB; "
        "`ulimit -v unlimited` removes the limit\n"
    )


@pytest.mark.slow
def test_memory_that_runs_out_is_told(tmp_path):
    """A queue without bounds under a flood, in an address space of 3 GB."""
    flood = '[[path]]\nrate = "1 kbit/s"\nrtt = "0 s"\nqueue = "1000000000 packets"\n' + udp("10 Gbit/s")
    (tmp_path / "flood.toml").write_text(flood)
    command = f"ulimit -v 3000000; exec {sys.executable} -m playpath run flood.toml"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    # On a slow machine, after lines on how far it is.
    captured = [line for line in done.stderr.splitlines() if not line.startswith("seconds played: ")]
    assert (done.returncode, len(captured)) == (2, 1), done.stderr
    assert captured[0].startswith("error: out of memory at ")
