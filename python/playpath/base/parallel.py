"""Run tasks on threads, return their results in a fixed order, and stop cleanly on Ctrl-C.

Threads suffice: the engine releases the interpreter lock while it runs. The order of results is the order of the tasks,
so nothing depends on the number of threads.
"""

import os
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Generic, SupportsIndex, TypeVar

from playpath.base.errors import InputError
from playpath.base.signals import exit_on_signals

Task = TypeVar("Task")
Result = TypeVar("Result")

_POLL_S = 0.1


@dataclass
class Outcome(Generic[Result]):
    """The results of all tasks; None for a task that was not finished."""

    results: list[Result | None]
    """In the order of the tasks."""
    interrupted: bool
    """Ctrl-C came before all were done."""
    interrupt_seen: bool
    """Ctrl-C came, if only while the last ones were finished: what would follow must not begin."""


def default_jobs() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def check_jobs(jobs: int | None) -> int:
    """The number of threads to use; all cores by default."""
    if jobs is None:
        return default_jobs()
    if not isinstance(jobs, SupportsIndex) or jobs < 1:
        raise InputError(f"jobs {jobs!r}: must be a whole number, at least 1")
    return jobs


def run_all(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    *,
    on_done: Callable[[Task], None] = lambda task: None,
    on_wait: Callable[[], None] = lambda: None,
    on_interrupt: Callable[[int], None] = lambda running: None,
    on_stopped: Callable[[], None] = lambda: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Outcome[Result]:
    """Run `work` on every task.

    After Ctrl-C no further task is started; those under way are finished and kept. A second Ctrl-C abandons them; SIGTERM and
    SIGHUP do so at once (SystemExit). The first error of a task is raised once the tasks under way are done.

    Args:
        work: Must release the interpreter lock during its long part.
        jobs: Number of threads.
        on_done: Called in the calling thread with each finished task.
        on_wait: Called in the calling thread several times a second.
        on_interrupt: Called at the first Ctrl-C with the number of tasks under way.
        on_stopped: Called when those have ended without a second Ctrl-C.
        meanwhile: Called once in the calling thread, after the tasks have begun; the calls above wait for its end. A
            Ctrl-C ends it.
    """
    pool = _Pool(work, tasks, jobs)
    interrupted = has_begun = False
    with exit_on_signals():
        while pool.is_busy:
            try:
                if not has_begun:
                    has_begun = True
                    meanwhile()
                for task in pool.wait():
                    on_done(task)
                on_wait()
            except KeyboardInterrupt:
                if interrupted:
                    break
                interrupted = True
                pool.stop()
                on_interrupt(pool.running)
            except BaseException:  # SIGTERM, or what a call raised
                pool.stop()
                raise
        else:
            if interrupted:
                on_stopped()
    if pool.error is not None:
        raise pool.error
    unfinished = any(not done for done in pool.finished)
    return Outcome(list(pool.results), interrupted and unfinished, interrupted)


def import_ahead(*modules: str) -> None:
    """Import modules in the background that will be needed later, while the program waits for something else.

    It uses its own thread, where Ctrl-C cannot leave a module half imported. Code that imports one of them in the meantime waits
    for it; an import that fails here fails again there and is reported there.
    """

    def fetch() -> None:
        with suppress(Exception):
            for module in modules:
                import_module(module)

    threading.Thread(target=fetch, daemon=True).start()


class _Pool(Generic[Task, Result]):
    def __init__(self, work: Callable[[Task], Result], tasks: Sequence[Task], jobs: int) -> None:
        self._work, self._tasks = work, tasks
        self.results: list[Result | None] = [None] * len(tasks)
        self.finished = [False] * len(tasks)
        self._errors: dict[int, BaseException] = {}
        self._next = 0
        self._lock = threading.Lock()
        self._done: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        # Daemons, so that a second Ctrl-C can leave while the engine still computes.
        self._threads = [threading.Thread(target=self._loop, daemon=True) for _ in range(min(jobs, len(tasks)))]
        self._live = len(self._threads)
        for thread in self._threads:
            thread.start()

    @property
    def error(self) -> BaseException | None:
        """The error of the first failed task in the order of the tasks, not of time: all tasks before it had begun, and are done."""
        return self._errors[min(self._errors)] if self._errors else None

    @property
    def is_busy(self) -> bool:
        return self._live > 0

    @property
    def running(self) -> int:
        return self._live

    def stop(self) -> None:
        """Start no further task."""
        with self._lock:
            self._next = len(self._tasks)

    def wait(self) -> list[Task]:
        """Tasks that finished since the last call; waits a moment for the first."""
        try:
            index = self._done.get(timeout=_POLL_S)
        except queue.Empty:
            return []
        if index is None:
            self._live -= 1
            return []
        return [self._tasks[index]]

    def _take(self) -> int | None:
        with self._lock:
            if self._next >= len(self._tasks):
                return None
            self._next += 1
            return self._next - 1

    def _loop(self) -> None:
        while (index := self._take()) is not None:
            try:
                self.results[index] = self._work(self._tasks[index])
            except BaseException as error:  # re-raised in the calling thread
                self._errors[index] = error
                self.stop()
                break
            self.finished[index] = True
            self._done.put(index)
        self._done.put(None)
