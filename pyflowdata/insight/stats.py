"""The result of `loader.stats()`: the counters of a loader, without those of its ops and threads.

A loader imports this module; counters.py, which reports need, takes longer to import.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import threading
import weakref
from collections.abc import Iterator

from ..native import CData, check, ffi, lib, new_error, new_struct, text


# The shares of the wall clock of the thread that calls next(), in it (in words) and outside of it.
SAID_OF_NEXT = {
    "wait": "waiting", "help": "helping", "lock": "the interpreter's lock",
    "check": "looking at files", "turn": "turning epochs", "hand_out": "handing out",
    "convert": "converting",
}  # fmt: skip
IN_NEXT = tuple(SAID_OF_NEXT)
TIMES = (*IN_NEXT, "outside", "between")


# ---- The work of threads in words ---------------------------------------------------------------

WORK_KINDS = {
    lib.PFD_WORK_OP: "op",
    lib.PFD_WORK_RECORDS: "records",
    lib.PFD_WORK_READ: "read",
    lib.PFD_WORK_JOIN: "join",
}
DOING = {
    "op": "in {}",
    "records": "looking for the records of {}",
    "read": "reading {}",
    "join": "joining ragged rows",
}


def ops_of(op: str, fused_op: str) -> str:
    """An op, and the one that was fused with it ("": none), in a text."""
    return f"{fused_op} + {op}" if fused_op else op


def read_doing(handle: CData) -> list[str]:
    """What a thread does that is at each work of a loader: "in Resize", "reading TFRecordReader".
    """
    found: list[str] = []
    one = new_struct("pfd_work_stats")
    while (status := lib.pfd_loader_get_work(handle, len(found), one)) != lib.PFD_END:
        check(status, new_error())
        found.append(DOING[WORK_KINDS[one.kind]].format(ops_of(text(one.op), text(one.fused_op))))
    return found


# ---- Counters -----------------------------------------------------------------------------------


def read_stats(handle: CData) -> dict[str, float]:
    """The counters of a loader, with times in seconds."""
    stats = new_struct("pfd_stats")
    check(lib.pfd_loader_get_stats(handle, stats), new_error())
    return _by_name(stats)


def read_fetched() -> dict[str, float]:
    """How much of remote files this process has fetched."""
    counts = ffi.new("pfd_fetch_counts *")
    lib.pfd_fetch_counted(counts)
    return {
        "requests": counts.requests, "bytes": counts.bytes, "again_bytes": counts.again_bytes,
        "seconds": counts.fetch_ns / 1e9, "answer_seconds": counts.answer_ns / 1e9,
    }  # fmt: skip


def read_worker_seconds() -> float:
    """The CPU time of the worker processes of this program, and of all its processes that have
    ended.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    pool = sys.modules.get("pyflowdata.workers.pool")  # else no worker has been started
    return ended.ru_utime + ended.ru_stime + (pool.cpu_seconds() if pool is not None else 0.0)


class LoopThreadTimes:
    """What the kernel counted for the threads that take the batches of a loader, each from its
    first epoch until another one begins an epoch, or until it ends.  Any thread may use it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._here = threading.local()  # its values go in a thread that ends, at its end
        self._thread, self._begin, self._sums = 0, (0, 0), (0, 0)

    def begin(self) -> None:
        """This thread begins an epoch."""
        thread = threading.get_native_id()
        if thread == self._thread:
            return
        if not hasattr(self._here, "mark"):
            self._here.mark = _Mark()
            end = weakref.finalize(self._here.mark, _end_thread, weakref.ref(self), thread)
            end.atexit = False
        with self._lock:
            self._sums = self._ns()
            self._thread, self._begin = thread, _schedstat(thread)

    def end(self, thread: int | None = None) -> None:
        """Counts no further; called in a thread when it ends, as the kernel then has no counts of
        it.

        Args:
            thread: None: whichever is counted, since the loader is closed.
        """
        with self._lock:
            if thread in (None, self._thread):
                self._sums, self._thread, self._begin = self._ns(), 0, (0, 0)

    def seconds(self) -> dict[str, float]:
        """How long they computed, and how long they stood in line for a processor."""
        with self._lock:
            cpu, runnable = self._ns()
        return {"loop_cpu_seconds": cpu / 1e9, "loop_runnable_seconds": runnable / 1e9}

    def _ns(self) -> tuple[int, int]:
        now = _schedstat(self._thread) if self._thread else (0, 0)
        gone = [max(a - b, 0) for a, b in zip(now, self._begin, strict=True)]
        return self._sums[0] + gone[0], self._sums[1] + gone[1]


class _Mark:
    """An object whose end is seen."""


def _end_thread(times: weakref.ref[LoopThreadTimes], thread: int) -> None:
    found = times()
    if found is not None:
        found.end(thread)


def _schedstat(thread: int) -> tuple[int, int]:
    """Nanoseconds on a processor, and in line for one; 0 where the system does not tell."""
    try:
        file = os.open(f"/proc/self/task/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0, 0
    try:
        cpu, runnable = os.read(file, 100).split()[:2]
    except (OSError, ValueError):
        return 0, 0
    finally:
        os.close(file)
    return int(cpu), int(runnable)


# ---- Work before the first batch ----------------------------------------------------------------


class _Open(threading.local):
    def __init__(self) -> None:
        # Of first_work() blocks, the outer ones first.
        self.lists: list[list[tuple[str, str, float]]] = []


_open = _Open()


def note_first_work(kind: str, said: str, seconds: float) -> None:
    """Notes first work of this thread, for each first_work() block around the call."""
    for found in _open.lists:
        found.append((kind, said, seconds))


@contextlib.contextmanager
def first_work() -> Iterator[list[tuple[str, str, float]]]:
    """A context manager with a list of the first work that this thread notes in the block, each as
    the fields of a FirstWork.
    """
    found: list[tuple[str, str, float]] = []
    _open.lists.append(found)
    try:
        yield found
    finally:
        _open.lists.pop()


def empty_stats() -> dict[str, float]:
    """The names of the counters, each with 0."""
    return _by_name(new_struct("pfd_stats"))


def _by_name(stats: CData) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, _ in ffi.typeof(stats).item.fields:
        if name.endswith("_ns"):
            found[name.removesuffix("_ns") + "_seconds"] = getattr(stats, name) / 1e9
        elif name != "struct_size":
            found[name] = getattr(stats, name)
    return found
