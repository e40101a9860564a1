"""`with loader.trace(path):` writes down what threads and batches do, for Perfetto to show."""

from __future__ import annotations

import gzip
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from ..errors import FileError, InvalidArgumentError, shown
from ..native import CData, check, ffi, lib, new_error, new_struct
from ..reports.counters import read_work
from .raw_events import EVENT, Events, Recorded

class Trace:
    """Writes a file of Chrome's trace events about a loader; a context manager, used once."""

    def __init__(
        self, handle: CData, path: str | os.PathLike[str], memory: int, active: list[Trace]
    ) -> None:
        """As DataLoader.trace(); `active` has the loader's trace while it is on."""
        if type(memory) is not int or memory <= 0:
            raise InvalidArgumentError(f"memory = {shown(memory)}; it must be a number of bytes")
        self._handle = handle
        self._path = os.fspath(path)
        self._memory = memory
        self._active = active
        self._file: IO[str] | None = None
        self._spans: list[tuple[str, int, int]] = []

    def __enter__(self) -> Trace:
        """Starts.

        Raises:
            InvalidArgumentError: The loader is being traced already.
            FileError: The file cannot be written.
        """
        if self._file is not None:
            raise InvalidArgumentError("a trace is used once; call trace() again")
        if self._active:
            raise InvalidArgumentError(
                f"the loader is being traced already, into {self._active[0]._path!r}; end that "
                "trace first"
            )
        self._file = self._open()
        err = new_error()
        check(lib.pfd_loader_trace_start(self._handle, self._memory, err), err)
        self._active.append(self)
        return self

    def _open(self) -> IO[str]:
        try:
            if self._path.endswith(".gz"):
                return gzip.open(self._path, "wt", encoding="utf-8", compresslevel=3)
            return open(self._path, "w", encoding="utf-8")
        except OSError as failure:
            raise FileError(
                f"the trace cannot be written: {failure.strerror}", file=self._path
            ) from None

    def __exit__(self, *_exception: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the trace and writes its file, once; close() of the loader does so too."""
        if self not in self._active:
            return
        self._active.remove(self)
        from .chrome_json import write

        assert self._file is not None
        recorded = self._take()
        with self._file as file:
            write(file, recorded, self._handle)
        dropped = recorded.info.dropped
        if dropped:
            warnings.warn(
                f"{dropped} events did not fit into the trace {self._path}: it has the first ones "
                f"of each thread, in {self._memory} bytes; trace for a shorter time, or give "
                "trace() more memory",
                RuntimeWarning,
                stacklevel=3,
            )

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Shows that the program's thread does something with a batch, such as copying it."""
        begin_ns = time.monotonic_ns()
        try:
            yield
        finally:
            self._spans.append((name, begin_ns, time.monotonic_ns()))

    def _take(self) -> Recorded:
        info = new_struct("pfd_trace_info")
        check(lib.pfd_loader_trace_stop(self._handle, info), new_error())
        tracks = [self._read(track) for track in range(info.num_tracks + 1)]
        lib.pfd_loader_trace_drop(self._handle)
        *threads, slots, unended = tracks
        system_ids = _system_ids(self._handle)
        return Recorded(
            info, threads, slots, unended, self._spans, system_ids, read_work(self._handle)
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
