"""The processes in which ops are checked, seen from the process that asks for the checks.

Such a process takes longer to start than most checks, so it is kept for the next job.
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

_LEFT_OUT = (PLUGINS_VARIABLE, "PYTEST_CURRENT_TEST")  # the latter is another one for each test
_END = 2.0  # seconds in which a process ends itself
Take = Callable[[dict[str, Any]], None]
_Started = tuple[str, dict[str, str]]  # in which directory and environment


class _Worker(Worker):
    """A process that runs one job after the other.

    Attributes:
        started: In which directory and environment it was started.
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
        """Gives what it says about a job, line by line; a finding says if the process has ended."""
        try:
            self.give(pickle.dumps(job))
            while line := self.take():
                take(json.loads(line))
        except WorkerEnded:
            text = f"the checking process ended with status {self.status}; see its output above"
            take({"group": "descriptor", "id": "kit-fails", "text": text})


_idle: list[_Worker] = []  # the last one may be taken by any thread


def prepare() -> None:
    """Starts a process for the next job, which takes as long as to compile a plugin."""
    started = (os.getcwd(), _environment())
    _idle.append(_take(started) or _Worker(started))


def ask(job: Job, take: Take) -> None:
    """Gives the messages of a checking process about a job, as they come."""
    started = (os.getcwd(), _environment())
    worker = _take(started) or _Worker(started)
    try:
        worker.ask(job, take)
    except BaseException:  # Ctrl-C: it is still at work
        worker.end(_END)
        raise
    if worker.is_running:
        _idle.append(worker)


def ask_here(job: Job, take: Take) -> None:
    """Asks forks of this process, which saves a second start of Python: for a program that
    has loaded no plugins and has one thread."""
    from .checking_process import run  # which a program that asks another process does not need

    run(job, take)


def can_ask_here() -> bool:
    """Whether this process is as the one that ask() starts, but for settings of the C library that
    make the search for leaks take less."""
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
    """This process's environment without plugins: only forks, which may crash, load the job's."""
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
