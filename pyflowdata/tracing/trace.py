"""`with loader.trace(path):` writes down what threads and batches do, for Perfetto to show."""

from __future__ import annotations

import gzip
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Protocol

import numpy as np

from ..errors import FileError, InvalidArgumentError, shown
from ..native import CData, check, ffi, lib, new_error, new_struct
from ..reports.counters import read_work
from .raw_events import EVENT, Events, Recorded, Span


class Traced(Protocol):
    """What a loader knows of its trace.

    Attributes:
        trace_on: It is on from here until its end; several threads may look.
    """

    trace_on: Trace | None


class Trace:
    """Writes a file of Chrome's trace events about a loader; a context manager, used once."""

    def __init__(
        self, handle: CData, path: str | os.PathLike[str], memory: int, traced: Traced
    ) -> None:
        """As DataLoader.trace()."""
        if type(memory) is not int or memory <= 0:
            raise InvalidArgumentError(f"memory = {shown(memory)}; it must be a number of bytes")
        self._handle = handle
        self._path = os.fspath(path)
        self._memory = memory
        self._traced = traced
        self._file: IO[str] | None = None
        self._spans: list[Span] = []
        self._ending = threading.RLock()

    def __enter__(self) -> Trace:
        """Starts.

        Raises:
            InvalidArgumentError: The loader is being traced already.
            FileError: The file cannot be written.
        """
        if self._file is not None:
            raise InvalidArgumentError("a trace is used once; call trace() again")
        other = self._traced.trace_on
        if other is not None:
            raise InvalidArgumentError(
                f"the loader is being traced already, into {other._path!r}; end that "
                "trace first"
            )
        self._file = self._open()
        err = new_error()
        try:
            check(lib.pfd_loader_trace_start(self._handle, self._memory, err), err)
        except BaseException:
            self._file.close()
            raise
        self._traced.trace_on = self
        return self

    def _open(self) -> IO[str]:
        try:
            if self._path.endswith(".gz"):
                return gzip.open(self._path, "wt", encoding="utf-8", compresslevel=3)
            return open(self._path, "w", encoding="utf-8")
        except OSError as failure:
            raise self._unwritten(failure) from None

    def _unwritten(self, failure: OSError) -> FileError:
        why = failure.strerror or str(failure)
        return FileError(f"the trace cannot be written: {why}", file=self._path)

    def __exit__(self, *_exception: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the trace and writes its file, once; close() of the loader does so too.  A thread
        waits while another one does it.

        Raises:
            FileError: The file cannot be written, for example because the disk is full.
        """
        with self._ending:
            if self._traced.trace_on is not self:
                return
            self._traced.trace_on = None
            dropped = self._write()
        if dropped:
            warnings.warn(
                f"{dropped} events did not fit into the trace {self._path}: it has the first ones "
                f"of each thread, in {self._memory} bytes; trace for a shorter time, or give "
                "trace() more memory",
                RuntimeWarning,
                stacklevel=3,
            )

    def _write(self) -> int:
        """Returns how many events were dropped."""
        from .chrome_json import write

        assert self._file is not None
        try:
            with self._file as file:
                recorded = self._take()
                write(file, recorded, self._handle)
        except OSError as failure:
            raise self._unwritten(failure) from None
        return int(recorded.info.dropped)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Shows that this thread does something with a batch, such as copying it."""
        begin_ns = time.monotonic_ns()
        try:
            yield
        finally:
            end_ns, thread = time.monotonic_ns(), threading.current_thread()
            self._spans.append(Span(name, begin_ns, end_ns, threading.get_native_id(), thread.name))

    def _take(self) -> Recorded:
        info = new_struct("pfd_trace_info")
        check(lib.pfd_loader_trace_stop(self._handle, info), new_error())
        tracks = [self._read(track) for track in range(info.num_tracks + 1)]
        lib.pfd_loader_trace_drop(self._handle)
        *threads, slots, unended = tracks
        system_ids = _system_ids(self._handle)
        return Recorded(
            info, threads, slots, unended, [*self._spans], system_ids, read_work(self._handle)
        )

    def _read(self, track: int) -> Events:
        count = ffi.new("int64_t *")
        check(lib.pfd_loader_trace_read(self._handle, track, ffi.NULL, 0, count), new_error())
        events = np.zeros(count[0], EVENT)
        memory = ffi.from_buffer("pfd_trace_event[]", events, require_writable=True)
        check(
            lib.pfd_loader_trace_read(self._handle, track, memory, len(events), count),
            new_error(),
        )
        return events


def _system_ids(handle: CData) -> list[int]:
    """Of the threads of the pool; none of a loader that is closed."""
    now = new_struct("pfd_thread_now")
    ids: list[int] = []
    while lib.pfd_loader_get_thread(handle, len(ids), now) == 0:
        ids.append(int(now.system_id))
    return ids[:-1]
