"""The processes of a conversion."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any

from ...plugins import load_library
from .plan import Conversion
from .shards import Task, share, write_shards


def _begin_worker(counter: Any, plugins: list[str]) -> None:
    """A worker ends with the process that started it, also where that is killed, and says nothing
    of an interrupt, which was held back while it began."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    share(counter)
    for library in plugins:
        load_library(library)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def run_tasks(
    conversion: Conversion, tasks: list[Task], jobs: int, progress: Callable[[int], None]
) -> None:
    """Runs tasks in this process, or in several.

    Args:
        conversion: Is told what is finished.
        tasks: What to do.
        jobs: How many processes at most.
        progress: Called now and then with the records that are written.
    """
    if jobs == 1 or len(tasks) <= 1:
        counter = _Counter(progress)
        share(counter)
        try:
            for task in tasks:
                write_shards(task, conversion.note, conversion.note_left_out)
        finally:
            share(None)
        return
    origin = conversion.source.format.origin
    plugins = [origin] if os.path.isfile(origin) else []  # "built in" for most
    spawn = multiprocessing.get_context("spawn")
    shared = spawn.Value("q", 0)
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(
        min(jobs, len(tasks)), mp_context=spawn, initializer=_begin_worker,
        initargs=(shared, plugins),
    ) as pool:
        pending: dict[Future[list[int]], Task] = {}
        try:
            with _held_back(signal.SIGINT):  # processes begin here, and inherit that
                pending |= {pool.submit(write_shards, task): task for task in tasks}
            while pending:
                finished, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                progress(shared.value)
                for one in finished:
                    task = pending.pop(one)
                    for (number, _, _), records in zip(task.shards, one.result(), strict=True):
                        conversion.note(number, records)
        except BaseException:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()  # whatever it is at: nothing of it is wanted, nor what it says
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _held_back(number: int) -> Iterator[None]:
    """A signal comes when this is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Counter:
    """Counts in this process, as the shared one does."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress, self._value = progress, 0

    def get_lock(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    @property
    def value(self) -> int:
        """Records so far."""
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        self._value = value
        self._progress(value)
