"""`playpath init`: every combination of answers is a scenario that runs; nothing is overwritten or left half-written."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from conftest import playpath_command

import playpath
from playpath.base.errors import InputError, RunError
from playpath.cli.init import link
from playpath.cli.init.answers import shipped_trace, text
from playpath.cli.init.interview import Interview

FRAMES = Path(__file__).parents[2] / "media/bigbuckbunny.frames.csv"
MPD = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT8S" profiles="urn:mpeg:dash:profile:isoff-live:2011">
<Period><AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="1" duration="2" media="$RepresentationID$-$Number$.m4s"/>
<Representation id="a" bandwidth="500000"/><Representation id="b" bandwidth="1500000"/></AdaptationSet></Period></MPD>
"""
MASTER = """#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=500000
low.m3u8
"""
MEDIA = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n" + "".join(f"#EXTINF:2,\n{i}.ts\n" for i in range(4)) + "#EXT-X-ENDLIST\n"
VIDEOS = {
    "rate": {"video": "1 Mbit/s", "duration": "8 s"},
    "several rates": {"video": "500 kbit/s, 1 Mbit/s", "duration": "8 s"},
    "clip": {"video": "bigbuckbunny", "duration": "8 s", "buffer": "1 s"},
    "file": {"video": "clip.csv", "duration": "8 s"},
    "file and ladder": {"video": "clip.csv", "duration": "8 s", "ladder": "300 kbit/s, 1 Mbit/s"},
    "ladder alone": {"duration": "8 s", "ladder": "300 kbit/s, 1 Mbit/s"},
    "mpd": {"video": "stream.mpd"},
    "hls": {"video": "stream.m3u8"},
}
PATHS = {
    "default": {},
    "figures": {"rate": "5 Mbit/s", "rtt": "20 ms", "loss": "0.1 %", "queue": "50 packets"},
    "bursts": {"loss": "bursts(every=1 s, duration=20 ms)"},
    "trace": {"trace": "trace.mahi", "rtt": "30 ms"},
    "mobile": {"like": "mobile"},
    "satellite": {"like": "satellite"},
    "measured": {"measure": "http://server/file"},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with one file of every kind."""
    monkeypatch.chdir(tmp_path)
    Path("clip.csv").write_bytes(FRAMES.read_bytes())
    Path("stream.mpd").write_text(MPD)
    Path("stream.m3u8").write_text(MASTER)
    Path("low.m3u8").write_text(MEDIA)
    Path("trace.mahi").write_text("".join(f"{i}\n" for i in range(1, 1001)))
    return tmp_path


@pytest.mark.parametrize(("video", "path"), list(itertools.product(VIDEOS, PATHS)))
def test_every_combination_of_answers_is_a_scenario_that_compare_plays(folder, monkeypatch, video, path):
    monkeypatch.setattr(link, "measure", lambda url: link.Link(12.34, 25.6, 10_000_000, 6.5))
    place = folder / "mine"
    place.mkdir()
    answers = Interview(
        place, VIDEOS[video] | PATHS[path] | {"cc": "vegas(alpha=2)", "seeds": "1"}, asks=False
    ).answers()
    scenario = place / "mine.toml"
    scenario.write_text(text(answers, "mine", place))
    if (trace := shipped_trace(answers)) is not None:
        (place / trace.name).write_bytes(trace.read_bytes())
    result = playpath.compare(scenario)
    assert result.ranking == ["vegas(alpha=2)"]
    assert not result.failures
    assert scenario.read_text().count("  # ") >= 5


def test_senders_by_default(folder):
    answers = Interview(folder, {}, asks=False).answers()
    (folder / "mine.toml").write_text(text(answers, "mine", folder))
    assert playpath.load("mine.toml").senders == ["cubic", "bbr", "newreno"]


def test_bursts_are_written_as_a_table(folder):
    done = init("own", "--loss", "bursts(every=1 s, duration=20 ms)")
    assert done.status == 0, done.err
    assert 'loss = { kind = "bursts", every = "1 s", duration = "20 ms" }' in (folder / "own.toml").read_text()
    done = init("other", "--loss", "bursts(evry=1 s)")
    assert done.status == 2
    assert 'did you mean "every"?' in done.err


def init(*arguments):
    return playpath_command("init", *arguments)


def test_without_a_terminal_flags_and_defaults_answer(folder):
    done = init("own", "--like", "mobile", "--cc", "cubic,bbr")
    assert done.status == 0, done.err
    assert "wrote own.toml" in done.err
    assert (folder / "lte-like.mahi").exists()
    assert playpath.load(folder / "own.toml").senders == ["cubic", "bbr"]


@pytest.mark.slow
def test_a_path_like_a_shipped_one_comes_with_what_it_carries_and_begins_anywhere_in_its_trace(folder):
    """The 5 Mbit/s of other paths would stall with everybody on the cell's 4.51 Mbit/s."""
    assert init("own", "--like", "mobile").status == 0
    assert init("ladder", "--like", "adaptive").status == 0
    assert init("mine", "--like", "mobile", "--video", "1 Mbit/s").status == 0
    own, ladder, mine = (tomllib.loads((folder / f"{name}.toml").read_text()) for name in ("own", "ladder", "mine"))
    assert own["video"]["rate"] == "3 Mbit/s"
    assert own["path"][0]["start"] == "random"
    assert ladder["player"]["ladder"].endswith(", 6 Mbit/s")
    assert mine["video"]["rate"] == "1 Mbit/s"


@pytest.mark.parametrize(
    ("flags", "rate"),
    [
        (["--rate", "20 Mbit/s"], "5 Mbit/s"),
        (["--rate", "2 Mbit/s"], "1 Mbit/s"),
        (["--rate", "100 kbit/s"], "0.2 Mbit/s"),
        (["--trace", "slow.csv"], "0.5 Mbit/s"),
    ],
)
def test_the_video_is_one_that_the_path_carries(folder, flags, rate):
    (folder / "slow.csv").write_text("time_s,rate_mbps\n0,0.5\n10,1.5\n20,1.0\n")
    done = init("own", *flags, "--defaults")
    assert done.status == 0, done.err
    assert tomllib.loads((folder / "own.toml").read_text())["video"]["rate"] == rate


def test_nothing_is_overwritten(folder):
    (folder / "own.toml").write_text("mine")
    done = init("own.toml")
    assert (done.status, done.err) == (2, "error: own.toml: exists already and is not overwritten; give another name\n")
    assert (folder / "own.toml").read_text() == "mine"
    (folder / "lte-like.mahi").write_text("mine, too")
    done = init("other", "--like", "mobile")
    assert done.status == 2
    assert "is not the trace of this name that playpath ships" in done.err
    assert not (folder / "other.toml").exists()
    assert (folder / "lte-like.mahi").read_text() == "mine, too"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--rate", "fast"], "--rate 'fast': `path[0].rate`: \"fast\" is not a rate"),
        (["--like", "mobil"], 'did you mean "mobile"?'),
        (["--like", "mobile", "--rtt", "3 ms"], "--rtt '3 ms': does not go with --like mobile"),
        (["--like", "mobile", "--trace", "trace.mahi"], "--trace and --like: give one of them"),
        (["--trace", "trace.mahi", "--rate", "1 Mbit/s"], "--rate '1 Mbit/s': does not go with --trace"),
        (["--video", "stream.mpd", "--duration", "3 s"], "--duration '3 s': does not go with --video 'stream.mpd'"),
        (["--video", "film.avi"], "--video 'film.avi': a film's file ends in .csv, .mp4"),
        (["--video", "no.mpd"], 'cannot read "no.mpd": no such file or directory'),
        (["--buffer", "2 kg"], '--buffer \'2 kg\': `player.buffer`: "2 kg": unknown unit "kg" (allowed: '),
        (["--trace", "stream.mpd"], "--trace 'stream.mpd': `path[0].trace`: \"stream.mpd\": trace, line 1: "),
        (["--video", "1 Mbit/s", "--ladder", "2 Mbit/s"], "does not go with --video '1 Mbit/s'; drop one of the two"),
        (
            ["--ladder", "1 Mbit/s, 2 Mbit/s", "--buffer", "3 s"],
            "does not go with rates to switch between; drop --buffer",
        ),
        (["--cc", "cubik"], "--cc 'cubik': `sender[0].cc`: unknown congestion control \"cubik\""),
        (["--measure", "ftp://x/y"], "'ftp://x/y': give the address of a large file"),
    ],
)
def test_a_wrong_answer_is_one_line_and_leaves_nothing(folder, flags, words):
    before = sorted(folder.iterdir())
    done = init("own", *flags)
    done.assert_refused(words)
    assert sorted(folder.iterdir()) == before


class Terminal:
    """`playpath init` at a terminal of its own."""

    def __init__(self, *arguments):
        self.process, self._end = self._start(arguments)
        self.seen = ""

    def _start(self, arguments):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "playpath", "init", *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
        os.close(theirs)
        return process, ours

    def answer(self, question, answer):
        """Wait for a question, then type."""
        self.wait_for(question)
        self.seen = ""
        os.write(self._end, answer.encode() + b"\n")

    def wait_for(self, words):
        """Read on until these words are there."""
        while words not in self.seen:
            self.seen += os.read(self._end, 4096).decode()

    def end(self):
        """Its exit status; what it still says is in `seen`."""
        with contextlib.suppress(OSError):  # a terminal without a program
            while more := os.read(self._end, 4096):
                self.seen += more.decode()
        os.close(self._end)
        return self.process.wait()


@pytest.mark.slow
def test_at_a_terminal_it_asks_and_a_wrong_answer_is_asked_for_again(folder):
    terminal = Terminal("own")
    terminal.answer("Video:", "clip.csv")
    terminal.answer("How long it plays [whole]:", "10 s")
    terminal.answer("Rates to switch between", "")
    terminal.answer("Buffer of the player [2 s]:", "soon")
    terminal.answer("Buffer of the player [2 s]:", "1 s")
    terminal.answer("Path:", "by air")
    terminal.answer("Path:", "like mobil")
    terminal.answer("Path:", "trace")
    terminal.answer("File of the trace:", "trace.mahi")
    terminal.answer("Its round-trip time", "")
    terminal.answer("Its random loss", "0.1 %")
    terminal.answer("The queue in front of it", "")
    terminal.answer("Senders [cubic, bbr, newreno]:", "cubic")
    assert terminal.end() == 0, terminal.seen
    written = (folder / "own.toml").read_text()
    for line in ('source = "clip.csv"', 'buffer = "1 s"', 'trace = "trace.mahi"', 'loss = "0.1 %"', 'cc = "cubic"'):
        assert line in written


@pytest.mark.slow
def test_a_link_is_measured_only_after_a_yes(folder):
    terminal = Terminal("own", "--video", "1 Mbit/s", "--duration", "9 s", "--buffer", "1 s", "--cc", "cubic")
    terminal.answer("Path:", "measure")
    terminal.answer("Address of a large file", "http://127.0.0.1:9/")
    terminal.answer("10 connections to 127.0.0.1, then 8 s of download (50 MB at most): now? [y/N]:", "no")
    for question in ("Its rate [20 Mbit/s]", "Its round-trip time", "Its random loss", "The queue"):
        terminal.answer(question, "")
    assert terminal.end() == 0, terminal.seen
    assert "measured" not in (folder / "own.toml").read_text()


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(folder):
    before = sorted(folder.iterdir())
    terminal = Terminal("own", "--like", "mobile")
    terminal.wait_for("Video:")
    time.sleep(0.1)
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert sorted(folder.iterdir()) == before


class _Server(http.server.BaseHTTPRequestHandler):
    body = b"x" * 1_000_000

    def do_GET(self):
        self.send_response(200 if self.path == "/large" else 404)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
def test_a_real_download_gives_figures(server):
    found = link.measure(f"{server}/large")
    assert found.bytes == 1_000_000
    assert found.rate_mbps > 1
    assert 0 < found.rtt_ms < 1000


@pytest.mark.slow
def test_a_download_that_tells_nothing_is_refused(server, monkeypatch):
    with pytest.raises(RunError, match=r"404"):
        link.measure(f"{server}/small")
    monkeypatch.setattr(_Server, "body", b"x" * 1000)
    with pytest.raises(RunError, match=r"only 1 kB arrived; give a file of 10 MB or more$"):
        link.measure(f"{server}/large")


def test_the_first_quarter_of_a_download_does_not_count():
    # 1 Mbit/s for the first second, 8 Mbit/s (1 MB/s) for the other three.
    samples = [(0.0, 0), (1.0, 125_000), (2.0, 1_125_000), (3.0, 2_125_000), (4.0, 3_125_000)]
    assert link.rate_mbps(samples) == pytest.approx(8.0)


@pytest.mark.parametrize("url", ["video.mp4", "https://", "http://host:port/x", "file:///etc/passwd"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError):
        link.measure(url)
