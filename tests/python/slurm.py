"""A Slurm cluster of this machine alone, from Debian's packages: a controller and a node in a folder, and nothing outside it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "scontrol")
_CONF = """
ClusterName=playpath
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """The programs that are not installed."""
    paths = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=paths) is None]


@contextmanager
def cluster(folder: Path, cpus: int = 2) -> Iterator[dict[str, str]]:
    """Start it; gives the variables that its clients need. Needs root, as a node starts jobs of any user."""
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    conf = folder / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    text = _CONF.format(host=host, controller=_free_port(), node=_free_port(), user="root", folder=folder, cpus=cpus)
    conf.write_text(text)
    variables = {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    environment = {**os.environ, **variables}
    with (folder / "daemons.log").open("w") as log:
        programs = [
            subprocess.Popen([name, "-D", "-f", str(conf)], env=environment, stdout=log, stderr=log)
            for name in ("slurmctld", "slurmd")
        ]
        try:
            _wait_until_idle(environment, folder)
            yield variables
        finally:
            for program in reversed(programs):
                program.terminate()
            for program in programs:
                program.wait(30)


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    for _ in range(120):
        done = subprocess.run(
            ["scontrol", "show", "node", "-o"], env=environment, capture_output=True, text=True, check=False
        )
        if "State=IDLE" in done.stdout:
            return
        time.sleep(0.5)
    logs = "\n".join(path.read_text()[-2000:] for path in folder.glob("*.log"))
    raise RuntimeError(f"the cluster did not start: {done.stdout}{done.stderr}\n{logs}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
