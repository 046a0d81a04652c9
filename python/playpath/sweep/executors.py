"""Executors of chunks: this machine, a Ray cluster, Slurm, or anything with the `concurrent.futures` interface."""

import multiprocessing
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from playpath.base.errors import InputError, RunError, unknown_name
from playpath.base.parallel import check_jobs
from playpath.base.signals import hold_ctrl_c
from playpath.sweep.worker import start_worker

NAMES = ("local", "ray", "slurm")
_POLL_S = 0.5
_LATE_S = 30.0


@dataclass
class Place:
    make: Callable[[], Executor]
    """Makes an executor; called again if the old one broke."""
    workers: int
    """Number of chunks that run at the same time."""
    chunk_s: float
    """How long a chunk should take, in seconds, so that the overhead of handing it over is small."""
    owns: bool = True
    """Whether the runner shuts the executor down at the end."""
    plays_ahead: bool = True
    """Whether workers that would wait for the slowest before a look already play what the next look may need."""


def place(executor: str | Executor, jobs: int | None, folder: Path) -> Place:
    """The place with this name; an executor object is used directly.

    Args:
        executor: `"local"`, `"ray"`, `"slurm"`, or an executor object.
        jobs: Number of workers; by default all cores, or all of the cluster's.
        folder: Folder for the logs of Slurm jobs; it must be visible to the nodes.
    """
    if not isinstance(executor, str):
        return Place(lambda: executor, jobs or getattr(executor, "_max_workers", None) or 8, 2.0, owns=False)
    if executor == "local":
        return _local(check_jobs(jobs))
    if executor == "ray":
        return _ray(jobs)
    if executor == "slurm":
        return _slurm(jobs, folder)
    raise unknown_name("executor", executor, NAMES)


def _local(jobs: int) -> Place:
    # Processes, not threads: with cells of a millisecond the interpreter lock would be the bottleneck. Spawned, not
    # forked: the libraries have threads.
    context = multiprocessing.get_context("spawn")
    return Place(lambda: _Workers(jobs, mp_context=context, initializer=start_worker), jobs, 1.0, plays_ahead=False)


class _Workers(ProcessPoolExecutor):
    """Worker processes that inherit a blocked Ctrl-C, which the driver handles, and that are all started at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Start all workers at the first call, before the pool's own thread: a worker started later, while that thread finds
        # another one dead, gets pipes that are already closed, and Python has no lock for that.
        self._safe_to_dynamically_spawn_children = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call; the first one starts the workers."""
        with hold_ctrl_c(), _without_script():
            return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut the workers down; without `wait` they are killed at once, in the middle of a cell."""
        if not wait:
            for worker in (self._processes or {}).values():
                worker.kill()
        calls = getattr(self, "_call_queue", None)
        if sys.version_info < (3, 11, 5) and calls is not None and (not wait or self._broken):
            # Nobody reads the calls any more, and these versions wait forever for the rest of one to be written. Later versions
            # close this end in the pool's own thread; closing it twice at once may close another file (gh-94777).
            calls._reader.close()
        # Wait until they have ended in any case; otherwise their semaphores are leaked, and Python warns about it.
        super().shutdown(wait=True, cancel_futures=cancel_futures)


@contextmanager
def _without_script() -> Iterator[None]:
    """Keep processes that start in the block from running the user's script, which without a `__main__` guard would start a sweep.

    They do not need it: own code is imported by module name.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _ray(jobs: int | None) -> Place:
    try:
        import ray
    except ImportError:
        raise InputError("--executor ray: Ray is not installed; pip install 'playpath[ray]'") from None
    if not ray.is_initialized():
        try:
            ray.init(log_to_driver=False, include_dashboard=False)
        except (ConnectionError, RuntimeError) as error:  # no such cluster, or wrong token or version
            raise RunError(f"--executor ray: {str(error).strip().splitlines()[0]}") from None
    workers = jobs or int(_cluster(ray).get("CPU", 1))
    return Place(RayExecutor, workers, 5.0)


def _cluster(ray: Any) -> dict[str, float]:
    return ray.cluster_resources()


class RayExecutor(Executor):
    """Tasks on a Ray cluster as futures. Ray itself repeats a task if its worker or node dies."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        import ray

        return ray.remote(fn).options(max_retries=-1).remote(*args, **kwargs).future()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster running: others may be using it."""


def _slurm(jobs: int | None, folder: Path) -> Place:
    try:
        import submitit  # noqa: F401
    except ImportError:
        raise InputError("--executor slurm: submitit is not installed; pip install 'playpath[slurm]'") from None
    return Place(lambda: SlurmExecutor(folder / "slurm"), jobs or 64, 120.0)


class SlurmExecutor(Executor):
    """Jobs on a Slurm cluster as futures, through submitit.

    A job is over when its result is there. A job that has left the queue without a result has died; the queue shows that on
    every cluster, `sacct` only if accounting is enabled.

    Args:
        folder: Folder for logs and pickles, on a file system that all nodes share.
        cluster: submitit's cluster name; `"local"` runs jobs as processes, for tests.
    """

    def __init__(self, folder: Path, cluster: str | None = None) -> None:
        import submitit

        if cluster is None and shutil.which("sbatch") is None:
            raise InputError("--executor slurm: there is no `sbatch` on this machine; run it on a cluster's login node")
        self._has_queue = cluster is None
        self._gone_since: dict[str, float] = {}
        self._executor = submitit.AutoExecutor(folder=str(folder), cluster=cluster or "slurm")
        self._executor.update_parameters(name="playpath", timeout_min=60, cpus_per_task=1)
        self._jobs: list[tuple[Any, Future[Any]]] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        job = self._executor.submit(fn, *args, **kwargs)
        with self._lock:
            self._jobs.append((job, future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop watching; with `cancel_futures`, cancel the jobs too."""
        with self._lock:
            jobs = list(self._jobs)
        if cancel_futures:
            for job, _ in jobs:
                job.cancel()
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(_POLL_S):
            with self._lock:
                jobs = list(self._jobs)
            over = {id(job) for job, _ in jobs if job.paths.result_pickle.exists()}
            over |= {id(job) for job in self._dead([job for job, _ in jobs if id(job) not in over])}
            with self._lock:
                self._jobs = [pair for pair in self._jobs if id(pair[0]) not in over]
            for job, future in jobs:
                if id(job) in over:
                    _settle(job, future)

    def _dead(self, jobs: list[Any]) -> list[Any]:
        """Jobs that ended without a result; a result may reach a shared file system some seconds after its job has ended."""
        if not self._has_queue:
            return [job for job in jobs if job.done()]
        now = time.monotonic()
        if not jobs or (queued := _queue()) is None:
            return []
        self._gone_since = {j.job_id: self._gone_since.get(j.job_id, now) for j in jobs if j.job_id not in queued}
        return [job for job in jobs if now - self._gone_since.get(job.job_id, now) > _LATE_S]


def _queue() -> set[str] | None:
    """Ids of this user's jobs; None if the controller does not answer."""
    done = subprocess.run(["squeue", "--me", "-h", "-o", "%A"], capture_output=True, text=True, check=False)
    return set(done.stdout.split()) if done.returncode == 0 else None


def _settle(job: Any, future: Future[Any]) -> None:
    """Read the job's result."""
    from submitit.core.utils import pickle_load

    if not job.paths.result_pickle.exists():
        future.set_exception(RuntimeError(f"job {job.job_id} ended without a result; its log: {job.paths.stderr}"))
        return
    outcome, value = pickle_load(job.paths.result_pickle)
    if outcome == "success":
        future.set_result(value)
    else:  # submitit's error has the traceback as text
        future.set_exception(RuntimeError(str(value).strip().splitlines()[-1]))
