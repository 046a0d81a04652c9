"""What goes wrong is said in a line, and nothing is left behind."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import FAST, scenario, sender, traces

from playpath.real.testbed import controls, namespaces, processes, state
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
from playpath.real.testbed.errors import TestbedError
from playpath.real.testbed.runner import run_kernel

pytestmark = pytest.mark.usefixtures("nothing_left")


SHORT = """
name = "short"
[video]
rate = "4 Mbit/s"
duration = "20 s"
[[path]]
rate = "20 Mbit/s"
rtt = "20 ms"
[[sender]]
cc = "ccp"
"""


def run_while(disturb: Callable[[Testbed], None], logs: Path | None = None, wait_s: float = 0.7, **video: str) -> str:
    """Run a session, disturb it after a moment, and return what was said."""
    from playpath.real.testbed import runner

    beds: list[Testbed] = []
    build = Testbed.__enter__

    def entered(bed: Testbed) -> Testbed:
        beds.append(build(bed))
        threading.Timer(wait_s, lambda: disturb(bed)).start()
        return bed

    Testbed.__enter__ = entered  # type: ignore[method-assign]
    try:
        long = scenario(video={"rate": "4 Mbit/s", "duration": "20 s", "fps": 30, "seed": 1} | video)
        with pytest.raises(TestbedError) as caught:
            runner.run_kernel(long, sender("ccp"), 1, logs=logs, tolerance="100 ms")
    finally:
        Testbed.__enter__ = build  # type: ignore[method-assign]
    return str(caught.value)


@pytest.mark.parametrize("victim", ["emulator", "nginx", "loader"])
def test_a_program_that_dies_in_mid_run_is_named_and_the_record_marked_failed(victim: str, tmp_path: Path) -> None:
    def kill(bed: Testbed) -> None:
        child = next(child for child in bed._pillars if child.name == victim)
        os.kill(child.process.pid, signal.SIGKILL)

    said = run_while(kill, tmp_path)
    assert said.startswith(f"{victim} was killed by signal 9")
    marked = json.loads((tmp_path / "failed.json").read_text())
    assert marked == {"failed": said, "sender": "ccp", "seed": 1, "player": "own"}


def test_a_player_that_hangs_is_named(tmp_path: Path) -> None:
    said = run_while(lambda bed: os.kill(bed.children["player"].process.pid, signal.SIGSTOP), tmp_path, 1.5)
    assert said.startswith("player hangs")
    assert json.loads((tmp_path / "failed.json").read_text())["failed"] == said


def test_a_disk_that_is_full_in_mid_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    full, logs = tmp_path / "full", tmp_path / "logs"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "full", str(full)], check=True)

    def fill(bed: Testbed) -> None:
        with contextlib.suppress(OSError), (full / "filling").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass

    try:
        monkeypatch.setattr(state, "FOLDER", full / "runs")
        said = run_while(fill, logs, 1.5, duration="3 s")
        # The player cannot write its record any more, nor its words.
        assert said.startswith(f"no space left in {full}/runs/")
        assert json.loads((logs / "failed.json").read_text())["failed"] == said
        assert not state.FOLDER.exists()
    finally:
        subprocess.run(["umount", str(full)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 16 kB: four pages, of which each folder and each file takes one at least."""
    folder = tmp_path / "full"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "full", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("realtime", [True, False])
def test_the_programs_of_a_run_wait_for_no_other_ones(realtime: bool) -> None:
    with Testbed(network([FAST]), realtime=realtime) as bed:
        bed.start_server()
        nginx = namespaces.processes_in(bed.server)
        policies = {os.sched_getscheduler(pid) for pid in nginx}
        assert policies == {os.SCHED_FIFO if realtime else os.SCHED_OTHER}
        beside = bed.start("beside", "client", ["sleep", "60"])
        assert os.sched_getscheduler(beside.process.pid) == os.SCHED_OTHER


def test_logs_that_a_full_disk_does_not_take_fail_the_run(small_disk: Path) -> None:
    (small_disk / "filling").write_bytes(bytes(16 * 1024))
    logs = small_disk / "logs"
    with pytest.raises(TestbedError, match=f"^cannot keep the logs in {logs}: No space left on device$"):
        run_kernel(scenario(), sender("cubic"), 1, tolerance="100 ms", logs=logs)


def test_a_capture_that_a_full_disk_cut_is_told(small_disk: Path) -> None:
    record = run_kernel(scenario(), sender("cubic"), 1, tolerance="100 ms", pcap=small_disk / "s.pcapng")
    assert [text for text in record["warnings"] if text.startswith("capture: ") and "No space left" in text]


def test_a_comparison_whose_results_a_full_disk_does_not_take(small_disk: Path, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT.replace("20 s", "1 s"))
    command = [
        sys.executable,
        "-m",
        "playpath",
        "compare",
        "short.toml",
        "--world",
        "kernel",
        "--out",
        str(small_disk / "o"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    (captured,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "every session failed: ccp, seed 1: cannot " in captured
    assert "No space left on device" in captured
    assert "Traceback" not in done.stderr


def test_a_link_beyond_tolerance_fails_the_record(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from playpath.real.testbed import runner

    with pytest.raises(
        TestbedError, match="the link did not behave as configured, so the run does not count: path"
    ) as caught:
        # No wake-up is ever within a nanosecond.
        runner.run_kernel(scenario(), sender("cubic"), 1, tolerance="1 ns", tries=2, logs=tmp_path)
    assert "\n" not in str(caught.value)
    (once_more,) = caplog.messages  # of two tries
    assert once_more.startswith("cubic, seed 1: repeating the run: the link did not behave as configured")
    assert json.loads((tmp_path / "failed.json").read_text())["failed"] == str(caught.value)


def test_a_namespace_name_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    run = state.RunState.new()
    taken = run.namespace("server")
    namespaces.create(taken)
    try:
        monkeypatch.setattr(state.RunState, "new", classmethod(lambda cls: run))
        with pytest.raises(TestbedError, match=f"network namespace {taken} exists already"), Testbed(network([FAST])):
            pass
    finally:
        run.remove()


IN_A_CONTAINER = """
import os
from playpath.real.testbed import namespaces
name = f"pp-{os.getpid()}-0-ro"
namespaces.create(name)
try:
    print(namespaces.read_sysctls(name, ["net.ipv6.conf.all.disable_ipv6"]), os.access("/proc/sys/net", os.W_OK))
finally:
    namespaces.delete(name)
"""


def test_a_container_s_read_only_sysctls_are_written_and_stay_read_only_for_others() -> None:
    """Docker and Podman mount /proc/sys so."""
    as_container = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", as_container, "sh", sys.executable, "-c", IN_A_CONTAINER]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("{'net.ipv6.conf.all.disable_ipv6': '1'} False\n", "")


def test_a_folder_that_takes_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "full", str(tmp_path)], check=True)
    try:
        monkeypatch.setattr(state, "FOLDER", tmp_path / "runs")
        # Room for the owner's note (a page) and not for the emulator's configuration.
        (tmp_path / "filling").write_bytes(bytes(28 * 1024))
        with pytest.raises(TestbedError, match="No space left on device"), Testbed(network([FAST])):
            pass
        assert not state.FOLDER.exists()
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


PROGRAM = """
import sys, time
from playpath.real.testbed.bed import Testbed
from playpath.real.testbed.emulator import network
with Testbed(network([{path!r}])) as bed:
    server = bed.start_server()
    bed.use_control("bpf:vegas")
    if {is_busy}:
        server.serve_zeros("zeros", 1 << 36)
        bed.emulator.begin_at(time.monotonic())
        url = f"http://{{bed.ends[0].server_address}}:{{server.port}}/zeros"
        bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", url])
        time.sleep(1)
    print(bed.name, flush=True)
    time.sleep(60)
"""


def start_program(*, is_busy: bool = False) -> tuple[subprocess.Popen[str], str]:
    """A test bed in a process of its own, and its name; with data under way if it is busy."""
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(path=FAST, is_busy=is_busy)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    name = child.stdout.readline().strip()
    if not name:
        raise AssertionError(child.communicate()[1])
    return child, name


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_cleans_up(number: signal.Signals) -> None:
    before = traces()
    child, name = start_program()
    assert name in "".join(traces()["namespaces"])
    child.send_signal(number)
    child.communicate(timeout=20)
    assert child.returncode != 0
    assert traces() == before


def names_of(pid: int) -> list[str]:
    """What bears the name of a run of this process."""
    return [path.name for folder in (namespaces.NETNS_FOLDER, state.FOLDER) for path in folder.glob(f"*pp-{pid}-*")]


# Sessions run in threads there, which no signal reaches. A second Ctrl-C does not wait for them.
@pytest.mark.parametrize("signals", [["SIGTERM"], ["SIGHUP"], ["SIGINT", "SIGINT"]], ids="-".join)
def test_a_signal_cleans_up_behind_a_comparison(signals: list[str], tmp_path: Path) -> None:
    before = traces()
    (tmp_path / "short.toml").write_text(SHORT)
    command = [sys.executable, "-m", "playpath", "compare", "short.toml", "--world", "kernel", "--jobs", "2"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    # Two runs with a folder and two namespaces each.
    while len(names_of(child.pid)) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(names_of(child.pid)) == 6
    for name in signals:
        child.send_signal(getattr(signal, name))
        time.sleep(0.3)
    _, err = child.communicate(timeout=20)
    assert child.returncode != 0
    assert "Traceback" not in err
    assert names_of(child.pid) == []
    # A loader that was just starting ends by itself, when its standard input does.
    deadline = time.monotonic() + 60
    while traces() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert traces() == before


def test_a_program_behind_the_path_ends_with_ctrl_c(tmp_path: Path) -> None:
    """Sent to playpath alone, not to the whole group as a terminal does."""
    before = traces()
    (tmp_path / "short.toml").write_text(SHORT)
    command = [
        sys.executable,
        "-m",
        "playpath",
        "testbed",
        "exec",
        "short.toml",
        "--",
        "sh",
        "-c",
        "echo on; exec sleep 60",
    ]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "on\n"
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=20) == 130
    assert traces() == before


def test_clean_removes_a_run_that_was_killed_before_it_had_a_name() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    draft = state.FOLDER / f".{namespaces.PREFIX}-{child.pid}-0"
    draft.mkdir(parents=True)
    assert state.clean() == [f"folder {draft}"]
    assert not draft.exists()


def test_clean_removes_what_sigkill_left_and_nothing_else() -> None:
    before = traces()
    killed, name = start_program()
    alive, other = start_program()
    killed.kill()
    killed.communicate()
    # The loader ends by itself: its standard input did.
    deadline = time.monotonic() + 60
    while len(traces()["controls"]) > len(before["controls"]) + 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(traces()["controls"]) == len(before["controls"]) + 1
    removed = state.clean()
    assert any(name in line for line in removed)
    assert not any(other in line for line in removed)
    assert other in "".join(traces()["namespaces"])
    assert name not in "".join(traces()["namespaces"])
    alive.terminate()
    alive.communicate(timeout=20)
    assert traces() == before


def test_clean_takes_the_connections_that_keep_a_killed_runs_control() -> None:
    """A server that is killed with data under way leaves orphans, which keep namespace and control for minutes."""
    killed, name = start_program(is_busy=True)
    control = json.loads((state.FOLDER / name / "loader.out").read_text())["registered"]
    assert control in loaded()
    killed.kill()
    killed.communicate()
    state.clean()
    deadline = time.monotonic() + 20
    while control in loaded() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert control not in loaded()


def loaded() -> list[str]:
    """Names of our controls in the kernel, also of those that are unregistered and still in use."""
    return [entry["name"] for kind in json.loads(controls.call("list")) for entry in kind["registered"]]


def test_several_clean_up_after_the_same_dead_runs() -> None:
    ended = subprocess.Popen(["true"])
    started = processes.identify(ended.pid)
    assert started is not None
    ended.wait()
    dead = [state.RunState.new() for _ in range(6)]
    for run in dead:
        (run.folder / "owner.json").write_text(json.dumps({"pid": started.pid, "started": started.started}))
        namespaces.create(run.namespace("client"))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        removed = [line for lines in pool.map(lambda _: state.clean(), range(4)) for line in lines]
    for run in dead:
        assert any(run.name in line for line in removed)
        assert not run.folder.exists()
        assert not run.namespaces()


def test_runs_that_come_and_go_do_not_disturb_who_cleans() -> None:
    gone = threading.Event()

    def come_and_go() -> None:
        try:
            for _ in range(300):
                state.RunState.new().remove()
        finally:
            gone.set()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        coming = pool.submit(come_and_go)
        while not gone.is_set():
            state.clean()
        coming.result()


def test_two_at_once_do_not_meet() -> None:
    with Testbed(network([FAST])) as one, Testbed(network([FAST])) as two:
        controls = []
        for bed in (one, two):
            bed.start_server().serve_zeros("file", 200_000)
            controls.append(bed.use_control("bpf:ccplb", {"kp": 1.5 if bed is one else 2.5}))
        assert controls[0].name != controls[1].name
        for bed in (one, two):
            url = f"http://{bed.ends[0].server_address}:8080/file"
            child = bed.start("curl", "client", ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", url])
            assert child.process.wait(timeout=10) == 0
            assert child.output.read_text() == "200000"


def test_a_reused_process_id_is_another_process() -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    assert me.is_alive
    assert not processes.Identity(me.pid, me.started + 1).is_alive
