"""The processes in which ops are checked, seen from the process that asks for the checks.

Such a process takes longer to start than most checks, so it is kept for the next job.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..plugins.loading import PLUGINS_VARIABLE
from .job import Job

_LEFT_OUT = (PLUGINS_VARIABLE, "PYTEST_CURRENT_TEST")  # the latter is another one for each test
_Started = tuple[int, str, dict[str, str]]  # by which process, in which directory and environment


class _Worker:
    """A process that runs one job after the other."""

    def __init__(self, started: _Started) -> None:
        self.started = started
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyflowdata.conformance.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=started[1], env=started[2],
        )  # fmt: skip

    def ask(self, job: Job) -> list[dict[str, Any]]:
        """What it says about a job; the last line is missing if the process has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(pickle.dumps(job))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        said: list[dict[str, Any]] = []
        for line in self._process.stdout:
            if line == b"\n":
                return said
            said.append(json.loads(line))
        status = self._process.wait()
        text = f"the checking process ended with status {status}; see its output above"
        return [*said, {"group": "descriptor", "id": "kit-fails", "text": text}]

    def is_running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


_idle: list[_Worker] = []  # the last one may be taken by any thread


def ask(job: Job) -> list[dict[str, Any]]:
    """The messages of a checking process about a job."""
    started = (os.getpid(), os.getcwd(), _environment())
    worker = _take(started) or _Worker(started)
    try:
        said = worker.ask(job)
    except BaseException:  # Ctrl-C: it is still at work
        worker.end()
        raise
    if worker.is_running():
        _idle.append(worker)
    return said


def _take(started: _Started) -> _Worker | None:
    try:
        worker = _idle.pop()
    except IndexError:
        return None
    if worker.started == started and worker.is_running():
        return worker
    if worker.started[0] == os.getpid():  # else it belongs to the one that forked this one
        worker.end()
    return None


def _environment() -> dict[str, str]:
    """That of this process, without plugins: only the forks, which may crash, load the job's."""
    package = str(Path(__file__).resolve().parent.parent.parent)
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
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
        worker = _idle.pop()
        if worker.started[0] == os.getpid():
            worker.end()


atexit.register(_end_all)
