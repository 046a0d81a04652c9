"""Sweeps and populations on a Ray cluster that is running, as docs/recipes/on-a-cluster.md says: the same digests as on one machine."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import TINY_POPULATION, playpath_command
from test_sweep import DESIGN

from playpath.base.errors import RunError
from playpath.sweep import runner, sweep
from playpath.sweep.executors import place
from playpath.sweep.worker import run_chunk

pytestmark = pytest.mark.slow
OPEN = {"RAY_AUTH_MODE": "disabled"}
"""Whether a cluster wants a token depends on the user's home (~/.ray); this one is open."""
FLAG = "PLAYPATH_TEST_FLAG"
"""A file that is there when a worker has died."""
MINE = "class Mine:\n    def on_report(self, report):\n        return 30.0\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head with two cores; ended by its own process group, never by `ray stop`, which ends everybody's.

    Its workers can import this file, and find a place for a flag.
    """
    pytest.importorskip("ray")
    folder = tmp_path_factory.mktemp("ray")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | OPEN | {"PYTHONPATH": path, FLAG: str(folder / "died")}
    command = [Path(sys.executable).with_name("ray"), "start", "--head", "--port=0", "--num-cpus=2", "--block"]
    command += ["--include-dashboard=false", "--disable-usage-stats"]
    log = folder / "head.log"
    with log.open("w") as output:
        head = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )
    try:
        while not (shown := re.search(r"--address='([^']+)'", log.read_text())):
            assert head.poll() is None, log.read_text()
            time.sleep(0.2)
        yield SimpleNamespace(address=shown[1], flag=folder / "died")
    finally:
        # At SIGTERM it would wait half a minute for its own server, which is gone by then.
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
        known = Path(tempfile.gettempdir(), "ray", "ray_current_cluster")
        if known.is_file() and known.read_text() == shown[1]:
            known.unlink()  # else the next program looks for a cluster that is gone


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch, tmp_path):
    ray = pytest.importorskip("ray")

    def refuse(**_):
        raise ConnectionError("Failed to connect to Ray cluster at 192.0.2.1:6379\nSee the manual.")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(RunError, match=r"--executor ray: Failed to connect to Ray cluster at 192\.0\.2\.1:6379$"):
        place("ray", None, tmp_path)


def test_a_population_with_a_control_of_its_own_is_the_same_there(cluster, tmp_path):
    (tmp_path / "people.toml").write_text(TINY_POPULATION)
    (tmp_path / "mine.py").write_text(MINE)
    there, here = (
        playpath_command(
            "population", "compare", "people.toml", "--cc", "cubic,mine:Mine", "--executor", executor,
            "--store", f"store-{executor}", "--out", executor, "--json", cwd=tmp_path, **variables,
        )
        for executor, variables in (("ray", {"RAY_ADDRESS": cluster.address, **OPEN}), ("local", {}))
    )  # fmt: skip
    assert there.status == 0, there.err
    assert there.json["digest"] == here.json["digest"]
    assert there.json["headline"] == here.json["headline"]


def chunk_that_dies_once(chunk, *rest):
    """The first worker to come here is killed in the middle of its chunk."""
    try:
        open(os.environ[FLAG], "x").close()
    except FileExistsError:
        return run_chunk(chunk, *rest)
    run_chunk(chunk[:1], *rest)
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_sweep_gives_the_same_bytes_though_a_worker_dies(cluster, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    with ThreadPoolExecutor(2) as pool:
        here = sweep(DESIGN, store=tmp_path / "here", executor=pool)
    for name, value in OPEN.items():
        monkeypatch.setenv(name, value)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        monkeypatch.setattr(runner, "run_chunk", chunk_that_dies_once)
        there = sweep(DESIGN, store=tmp_path / "there", executor="ray", jobs=2)
    finally:
        ray.shutdown()
    assert there.digest == here.digest
    assert there.table.equals(here.table)
    assert cluster.flag.exists()
