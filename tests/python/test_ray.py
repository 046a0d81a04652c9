"""A population on a Ray cluster that is running, as docs/recipes/on-a-cluster.md says: the same digests as on one machine."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import TINY_POPULATION, playpath_command

from playpath.errors import RunError
from playpath.sweep.executors import place

pytestmark = pytest.mark.slow
OPEN = {"RAY_AUTH_MODE": "disabled"}
"""Whether a cluster wants a token depends on the user's home (~/.ray); this one is open."""
MINE = "class Mine:\n    def on_report(self, report):\n        return 30.0\n"


@pytest.fixture
def cluster(tmp_path):
    """A head with two cores; ended by its own process group, never by `ray stop`, which ends everybody's."""
    pytest.importorskip("ray")
    command = [Path(sys.executable).with_name("ray"), "start", "--head", "--port=0", "--num-cpus=2", "--block"]
    command += ["--include-dashboard=false", "--disable-usage-stats"]
    log = tmp_path / "head.log"
    with log.open("w") as output:
        head = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=os.environ | OPEN
        )
    try:
        while not (told := re.search(r"--address='([^']+)'", log.read_text())):
            assert head.poll() is None, log.read_text()
            time.sleep(0.2)
        yield told[1]
    finally:
        # At SIGTERM it would wait half a minute for its own server, which is gone by then.
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()
        known = Path(tempfile.gettempdir(), "ray", "ray_current_cluster")
        if known.is_file() and known.read_text() == told[1]:
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
            "--store", f"store-{executor}", "--out", executor, "--json", cwd=tmp_path, RAY_ADDRESS=cluster, **OPEN,
        )
        for executor in ("ray", "local")
    )  # fmt: skip
    assert there.status == 0, there.err
    assert there.json["digest"] == here.json["digest"]
    assert there.json["headline"] == here.json["headline"]
