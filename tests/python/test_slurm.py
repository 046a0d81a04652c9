"""Sweeps and populations on a Slurm cluster: a controller and a node of this machine, from Debian's packages.

apt-get install slurmctld slurmd slurm-client && pip install 'playpath[slurm]'
"""

import os
import subprocess
from pathlib import Path

import pytest
import slurm
from conftest import TINY_POPULATION, playpath_command

from playpath.sweep import executors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(slurm.missing()), reason=f"needs {', '.join(slurm.missing())}"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a node of Slurm starts jobs of any user"),
]
MINE = "class Mine:\n    def on_report(self, report):\n        return 30.0\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("submitit")
    with slurm.cluster(tmp_path_factory.mktemp("slurm") / "cluster") as variables:
        yield variables


def test_a_population_with_a_control_of_its_own_is_the_same_there(cluster, tmp_path):
    (tmp_path / "people.toml").write_text(TINY_POPULATION)
    (tmp_path / "mine.py").write_text(MINE)
    there, here = (
        playpath_command(
            "population", "compare", "people.toml", "--cc", "cubic,mine:Mine", "--executor", executor, "--jobs", 2,
            "--store", f"store-{executor}", "--out", executor, "--json", cwd=tmp_path, **variables,
        )
        for executor, variables in (("slurm", cluster), ("local", {}))
    )  # fmt: skip
    assert there.status == 0, there.err
    assert there.json["digest"] == here.json["digest"]
    assert there.json["headline"] == here.json["headline"]
    assert "sacct" not in there.err
    assert list((tmp_path / "store-slurm/slurm").glob("*_result.pkl"))


def test_a_job_that_is_cancelled_is_no_result(cluster, tmp_path, monkeypatch):
    for name, value in cluster.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(executors, "_LATE_S", 1.0)
    executor = executors.SlurmExecutor(tmp_path)
    future = executor.submit(_sleep)
    job = executor._jobs[0][0]
    subprocess.run(["scancel", job.job_id], check=True)
    with pytest.raises(RuntimeError, match=f"job {job.job_id} ended without a result; its log: {Path(tmp_path)}"):
        future.result(60)
    executor.shutdown()


def _sleep():
    import time

    time.sleep(600)
