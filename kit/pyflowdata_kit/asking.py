"""Asks other processes to check ops.  Starting such a process takes longer than most checks, so a
process is kept for the next job.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyflowdata
from pyflowdata.plugins.loading import PLUGINS_VARIABLE
from pyflowdata.workers.pool import Worker, WorkerEnded, forget_in_forks
from .spec import Job

_LEFT_OUT = (PLUGINS_VARIABLE, "PYTEST_CURRENT_TEST")  # pytest changes the latter for each test
_END = 2.0  # seconds that a process has to end by itself
Take = Callable[[dict[str, Any]], None]
_Started = tuple[str, dict[str, str]]  # directory and environment of the start


class _Worker(Worker):
    """A process that runs one job after the other.

    Attributes:
        started: The directory and environment in which the process was started.
    """

    def __init__(self, started: _Started) -> None:
        super().__init__(
            "pyflowdata_kit.checking_process", b"", has_session=False, is_forked=True,
            environment=started[1],
        )  # fmt: skip
        self.started = started
        forget_in_forks(self)
        self.start()

    def ask(self, job: Job, take: Take) -> None:
        """Yields the messages of the process about a job; if the process has ended, the last
        message is a finding.
        """
        try:
            self.give(pickle.dumps(job))
            while line := self.take():
                take(json.loads(line))
        except WorkerEnded:
            text = f"the checking process ended with status {self.status}; see its output above"
            take({"group": "descriptor", "id": "kit-fails", "text": text})


_idle: list[_Worker] = []  # any thread may take the last one


def prepare() -> None:
    """Starts a process for the next job: this takes as long as compiling a plugin."""
    started = (os.getcwd(), _environment())
    _idle.append(_take(started) or _Worker(started))


def ask(job: Job, take: Take) -> None:
    """Yields the messages of a checking process about a job, as they arrive."""
    started = (os.getcwd(), _environment())
    worker = _take(started) or _Worker(started)
    try:
        worker.ask(job, take)
    except BaseException:  # Ctrl-C: the process is still at work
        worker.end(_END)
        raise
    if worker.is_running:
        _idle.append(worker)


def ask_here(job: Job, take: Take) -> None:
    """Asks forks of this process, which has no plugins and one thread; this saves a second start of
    Python.
    """
    from .checking_process import run  # not needed by a program that asks another process

    run(job, take)


def can_ask_here() -> bool:
    """Whether this process is like those that ask() starts, apart from settings of the C library
    that make the search for leaks faster."""
    return threading.active_count() == 1 and not os.environ.get(PLUGINS_VARIABLE)


def _take(started: _Started) -> _Worker | None:
    try:
        worker = _idle.pop()
    except IndexError:
        return None
    if worker.started == started and worker.is_running:
        return worker
    worker.end(_END)
    return None


def _environment() -> dict[str, str]:
    """This process's environment without plugins: only forks, which may crash, load the plugins of
    a job."""
    packages = [Path(file).resolve().parent.parent for file in (__file__, pyflowdata.__file__)]
    paths = os.pathsep.join(filter(None, [*map(str, packages), os.environ.get("PYTHONPATH", "")]))
    return {
        **{name: value for name, value in os.environ.items() if name not in _LEFT_OUT},
        "PYTHONPATH": paths,
        "OPENBLAS_NUM_THREADS": "1",
        "GLIBC_TUNABLES": _without_thread_caches(os.environ.get("GLIBC_TUNABLES", "")),
    }


def _without_thread_caches(tunables: str) -> str:
    """Settings of the C library under which memory counts as free once it is freed."""
    return ":".join(filter(None, [tunables, "glibc.malloc.tcache_count=0"]))


def _end_all() -> None:
    while _idle:
        _idle.pop().end(_END)


atexit.register(_end_all)
