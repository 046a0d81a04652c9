"""Ctrl-C keeps what is finished."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import SMALL

from playpath import compare
from playpath.base.errors import Interrupted
from playpath.base.parallel import run_all
from playpath.results.comparison import Comparison
from playpath.run.worlds import SimWorld

LONG = """
name = "long"
[video]
rate = "4 Mbit/s"
duration = "60 s"
fps = 25
[[path]]
rate = "6 Mbit/s"
rtt = "60 ms"
loss = "1 %"
[[sender]]
cc = "newreno"
[[sender]]
cc = "cubic"
[run]
seeds = 1000000
"""


@pytest.mark.slow
def test_compare_keeps_finished_seeds(tmp_path):
    (tmp_path / "long.toml").write_text(LONG)
    command = [sys.executable, "-m", "playpath", "compare", "long.toml", "--out", "o"]
    process = subprocess.Popen(
        # The bar is drawn on terminals only; it tells when a seed is finished.
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"},
    )
    # Ten sessions are at least four whole seeds of two senders, two sessions being under way at a time.
    seen = ""
    while not re.search(r"\b[1-9]\d+/2000000", seen[-40:]):
        read = process.stderr.read(1)
        assert read, seen
        seen += read
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert "what the viewer sees" in out
    assert "of 1000000 seeds that were finished" in err
    assert "Traceback" not in err
    assert (tmp_path / "o" / "comparison.json").exists()
    assert "interrupted" in (tmp_path / "o" / "report.html").read_text()


def test_interrupt_finishes_what_is_under_way_and_takes_no_more():
    started, lines = [], []
    interrupted = threading.Event()

    def work(task):
        started.append(task)
        if task > 0:
            interrupted.wait()
        return task

    def interrupt(task):
        if task == 0:
            os.kill(os.getpid(), signal.SIGINT)

    def tell(running):
        lines.append(running)
        interrupted.set()

    outcome = run_all(work, range(100), 2, on_done=interrupt, on_interrupt=tell)
    assert outcome.interrupted
    assert lines == [2]
    finished = [r for r in outcome.results if r is not None]
    assert finished == sorted(started)
    assert len(finished) <= 3


def test_a_ctrl_c_during_the_last_task_is_heard_though_all_are_done():
    outcome = run_all(lambda task: task, range(1), 1, on_done=lambda _: os.kill(os.getpid(), signal.SIGINT))
    assert (outcome.interrupt_seen, outcome.interrupted, outcome.results) == (True, False, [0])


def test_a_ctrl_c_during_the_last_session_of_a_look_ends_the_race():
    is_first = iter([True])

    def press(done, total):
        if done == total and next(is_first, False):
            os.kill(os.getpid(), signal.SIGINT)

    found = compare(SMALL, cc=["cubic"], vary={"player.buffer": ["1 s", "1001 ms"]}, until_decided=64, progress=press)
    assert (found.seeds, found.planned, found.interrupted) == ([1, 2, 3], 7, True)


def test_a_ctrl_c_while_the_cost_of_a_race_is_measured_ends_it(monkeypatch):
    session = SimWorld.session

    def press(world, scenario, sender, *arguments, **options):
        if sender == "bbr":  # the last one
            time.sleep(0.3)  # until the threads run, and the caller waits for them
            os.kill(os.getpid(), signal.SIGINT)
        return session(world, scenario, sender, *arguments, **options)

    monkeypatch.setattr(SimWorld, "session", press)
    with pytest.raises(Interrupted, match="nothing to show"):
        compare(SMALL.replace("[run]\nseeds = 3\n", ""), cc=["cubic", "bbr"], jobs=1)


CTRL_C_AT = """
import importlib, os, signal, sys
from playpath import cli
compare = importlib.import_module("playpath.run.compare")
gather, presses, is_first = compare.gather, int(sys.argv.pop(1)), iter([True])
def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)
def press_and_gather(*given, **named):
    for _ in range(presses):
        ctrl_c()
    return gather(*given, **named)
compare.gather = press_and_gather
compare.Pulse.count = lambda *_: next(is_first, False) and ctrl_c()  # the first one, when a session is finished
sys.argv[0] = "playpath"
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("presses", [0, 1, 2])
def test_a_ctrl_c_after_the_sessions_spares_what_is_finished_and_the_next_one_ends(presses, small, tmp_path):
    """The second one is meant for the sessions. It ended the command without a word and a result where they were quicker."""
    command = [sys.executable, "-c", CTRL_C_AT, str(presses), "compare", "small.toml", "--cc", "cubic", "--jobs", "1"]
    command += ["--seeds", "100000"]
    done = subprocess.run([*command, "--out", "o"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    stopping, *_, last = done.stderr.splitlines()
    assert stopping == "stopping: finishing 1 session under way; Ctrl-C again drops them"
    if presses < 2:
        assert re.fullmatch(r"interrupted: the result holds the \d+ of 100000 seeds that were finished", last)
        assert (tmp_path / "o" / "comparison.json").exists()
    else:
        assert last == "interrupted"
        assert not (tmp_path / "o").exists()


def test_results_are_in_the_order_of_the_tasks():
    def work(task):
        time.sleep((7 * task % 5) / 1000)
        return task * task

    for jobs in (1, 3, 8):
        assert run_all(work, range(30), jobs).results == [i * i for i in range(30)]


def test_an_error_is_raised_and_stops_the_rest():
    started, raisers = [], queue.SimpleQueue()

    def work(task):
        started.append(task)
        if task == 2:
            raisers.put(threading.current_thread())
            raise ValueError("two")
        if task > 2:
            raisers.get().join()  # its thread ends after it has stopped the rest
        return task

    with pytest.raises(ValueError, match="two"):
        run_all(work, range(1000), 2)
    assert len(started) <= 4


def test_the_error_is_that_of_the_first_task_whichever_fails_sooner():
    second_failed = threading.Event()

    def work(number):
        if number == 0:
            assert second_failed.wait(10)
            raise ValueError("first")
        second_failed.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        run_all(work, range(2), 2)


def test_what_is_done_meanwhile_is_done_while_the_tasks_run():
    """Both tasks wait for it; the calls for finished ones come after it."""
    done, begun = [], threading.Event()

    def work(task):
        assert begun.wait(60)
        return task

    def meanwhile():
        done.append("meanwhile")
        begun.set()

    outcome = run_all(work, range(2), 2, on_done=done.append, meanwhile=meanwhile)
    assert outcome.results == [0, 1]
    assert (done[0], sorted(done[1:])) == ("meanwhile", [0, 1])


def test_a_ctrl_c_ends_what_is_done_meanwhile_and_keeps_what_is_under_way():
    released = threading.Event()

    def work(task):
        released.wait()
        return task

    def meanwhile():
        os.kill(os.getpid(), signal.SIGINT)
        pytest.fail("was not ended")

    outcome = run_all(work, range(100), 2, on_interrupt=lambda running: released.set(), meanwhile=meanwhile)
    assert outcome.interrupted
    assert [r for r in outcome.results if r is not None] in ([0], [0, 1])


def test_an_error_meanwhile_is_raised_and_stops_the_rest():
    started, released = [], threading.Event()

    def work(task):
        started.append(task)
        released.wait()

    def meanwhile():
        raise ValueError("meanwhile")

    with pytest.raises(ValueError, match="meanwhile"):
        run_all(work, range(100), 2, meanwhile=meanwhile)
    released.set()
    assert len(started) <= 2


FAILING = """
import importlib, os, signal, sys
from playpath import cli
page = importlib.import_module("playpath.show.report.comparison_page")
how = sys.argv.pop(1)
def fail(result):
    if how == "end":
        os.kill(os.getpid(), signal.SIGTERM)
    raise KeyboardInterrupt if how == "ctrl-c" else RuntimeError("cannot draw")
page._viewer_figures = fail
sys.argv[0] = "playpath"
cli.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "status"), [("fails", 1), ("ctrl-c", 130), ("end", 143)])
def test_a_drawing_that_fails_or_is_ended_loses_no_result(how, status, small, tmp_path):
    command = [sys.executable, "-c", FAILING, how, "compare", "small.toml", "--seeds", "2", "--out", "o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert ("cannot draw" in done.stderr) == (how == "fails")
    stored = Comparison.load(tmp_path / "o")
    assert stored.seeds == [1, 2]
    assert sorted(stored.timelines) == sorted(stored.senders)
    assert not (tmp_path / "o/report.html").exists()
