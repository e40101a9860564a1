"""`with loader.trace(path):` writes down what threads and batches do, for Perfetto to show."""

from __future__ import annotations

import contextlib
import errno
import gzip
import heapq
import itertools
import json
import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import CancelledError, FileError, InvalidArgumentError, shown
from ..native import CData, check, ffi, file_path, lib, new_error, new_struct, version
from ..nodes.registry import COMPRESSIONS
from .counters import Work, read_work


# ---- Events of the library ----------------------------------------------------------------------

Events = npt.NDArray[Any]  # elements are pfd_trace_event


class Event(NamedTuple):
    """A `pfd_trace_event`."""

    begin_ns: int
    end_ns: int
    epoch: int
    step: int
    first_row: int
    num_rows: int
    file: int
    ordinal: int
    reader: int
    kind: int
    item: int
    track: int


_TYPES = {"int64_t": "i8", "int32_t": "i4"}
_FIELDS = ffi.typeof("pfd_trace_event").fields
EVENT = np.dtype(
    {
        "names": [name for name, _ in _FIELDS],
        "formats": [_TYPES[field.type.cname] for _, field in _FIELDS],
        "offsets": [field.offset for _, field in _FIELDS],
        "itemsize": ffi.sizeof("pfd_trace_event"),
    }
)
assert EVENT.names == Event._fields


def each(events: Events) -> Iterator[Event]:
    """The rows of an array, a few thousand at a time: as objects they take far more memory."""
    for begin in range(0, len(events), 4096):
        yield from map(Event._make, events[begin : begin + 4096].tolist())


class _Span(NamedTuple):
    """Work of a thread of the program with a batch, such as a copy; on the monotonic clock.

    Attributes:
        tid: The system's number of the thread.
        thread: Its name.
    """

    what: str
    begin_ns: int
    end_ns: int
    tid: int
    thread: str


@dataclass(frozen=True)
class _Recorded:
    """The events from the start of a trace to its end.

    Attributes:
        info: The `pfd_trace_info`.
        threads: The events of each thread of the pool, then of the thread in next().
        slots: The changes of slots.
        unended: Events of all threads that had not ended.
        spans: Work of the program's threads, in the order of the ends.
        system_ids: The system's numbers of the threads of the pool.
        work: The items of work, by number.
    """

    info: CData
    threads: list[Events]
    slots: Events
    unended: Events
    spans: list[_Span]
    system_ids: list[int]
    work: tuple[Work, ...]


# ---- The file that is written -------------------------------------------------------------------


def _path_of(path: object) -> str:
    """The path of a file as text; InvalidArgumentError where it is none."""
    try:
        found = os.fspath(path)  # type: ignore[call-overload]
    except TypeError:
        found = None
    if not isinstance(found, str) or not found or "\0" in found:
        raise InvalidArgumentError(f"path = {shown(path)}; it must be the path of a file")
    return found


def _cannot_write(path: str, failure: OSError) -> FileError:
    return FileError(f"the trace cannot be written: {failure.strerror or failure}", file=path)


class _NewFile:
    """A file that appears at its path when it is complete: it is written beside the path and then
    moved.  A target that is not a regular file, such as a pipe, is written in place.
    """

    def __init__(self, path: str) -> None:
        """Makes sure that the file can be written, or raises FileError."""
        self._is_compressed = path.endswith(COMPRESSIONS["gzip"].suffixes)
        self._path = os.path.realpath(path)  # a link stays one
        self._written = self._path
        self._is_beside = os.path.isfile(self._path) or not os.path.exists(self._path)
        try:
            if os.path.isdir(self._path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if self._is_beside:
                self._written = f"{self._path}.{os.getpid()}-{id(self):x}.part"
                os.close(os.open(self._written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as failure:
            raise _cannot_write(path, failure) from None

    def open(self) -> IO[str]:
        if self._is_compressed:
            return gzip.open(self._written, "wt", encoding="utf-8", compresslevel=3)
        return open(self._written, "w", encoding="utf-8")

    def put_in_place(self) -> None:
        """Moves the whole file to its path."""
        if self._is_beside:
            os.replace(self._written, self._path)

    def remove(self) -> None:
        if self._is_beside:
            with contextlib.suppress(OSError):
                os.remove(self._written)


# ---- JSON for Perfetto --------------------------------------------------------------------------

# Perfetto opens the JSON of Chrome's trace events.  Times are microseconds since
# `baseTimeNanoseconds`; a profile of torch has the same base, so the two can be shown together.

_QUARTER_NS = 7_889_238 * 10**9  # torch's base is the last multiple of it
_PROCESS_BITS = 22  # the kernel's numbers of processes have these bits, a trace's more
_MOST_PROCESSES = 1 << (32 - _PROCESS_BITS)
_numbers = itertools.count()
_UNENDED = -1  # in place of a track
_encode = json.JSONEncoder(separators=(",", ":")).encode
# Perfetto reads microseconds as doubles, which round to about 1 ns, and drops events that overlap.
_APART_NS = 2

_STATES = {  # state of a slot -> what to show, and its colour
    lib.PFD_TRACE_SLOT_FILLS: ("fill {step}", "thread_state_running"),
    lib.PFD_TRACE_SLOT_READY: ("ready: {step}", "good"),
    lib.PFD_TRACE_SLOT_HELD: ("held: {step}", "yellow"),
    lib.PFD_TRACE_SLOT_FREE: ("free", "grey"),
}


def write(file: IO[str], recorded: _Recorded, handle: CData) -> int:
    """Writes a whole file, event by event; returns the number of events."""
    events = _Events(recorded, handle)
    info = recorded.info
    head = {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": events.base_ns,
        "otherData": {
            "pyflowdata": version(),
            "process": os.getpid(),
            "seconds": (info.end_ns - info.begin_ns) / 1e9,
            "events_dropped": info.dropped,
        },
    }
    file.write(json.dumps(head, indent=1)[:-2] + ',\n "traceEvents": [')
    count = 0
    for count, event in enumerate(events.all(), start=1):
        file.write(",\n" if count > 1 else "\n")
        file.write(_text(event))
    file.write("\n]}\n")
    return count


def _text(event: dict[str, Any]) -> str:
    """The JSON of an event, with exact times: "ts" and "dur" are ns in it so far."""
    ts, dur = event.pop("ts"), event.pop("dur", None)
    times = f'{{"ts":{ts // 1000}.{ts % 1000:03d},'
    if dur is not None:
        times += f'"dur":{dur // 1000}.{dur % 1000:03d},'
    return times + _encode(event)[1:]


class _Events:
    """Makes the events of a file from those of a trace.

    Attributes:
        base_ns: The moment of ts = 0, since 1970.
    """

    def __init__(self, recorded: _Recorded, handle: CData) -> None:
        self._recorded = recorded
        self._handle = handle
        info = recorded.info
        self._begin_ns, self._end_ns = info.begin_ns, info.end_ns
        self.base_ns = info.begin_unix_ns // _QUARTER_NS * _QUARTER_NS
        self._begin_ts = info.begin_unix_ns - self.base_ns
        span_ns = max(info.end_ns - info.begin_ns, 1)
        # The two clocks may go at different speeds, by less than this.
        pace = (info.end_unix_ns - info.begin_unix_ns) / span_ns
        self._pace = pace if abs(pace - 1) < 0.001 else 1.0
        number = 2 * next(_numbers) % (_MOST_PROCESSES - 2) + 1
        self._threads_pid = number << _PROCESS_BITS | os.getpid()
        self._slots_pid = (number + 1) << _PROCESS_BITS | os.getpid()
        self._flow_ids = number << 48
        self._files: dict[tuple[int, int], str] = {}

    # ---- Times and places ---------------------------------------------------------------------

    def _slice(
        self, name: str, tid: int, begin_ns: int, end_ns: int, **more: Any
    ) -> dict[str, Any]:
        begin_ns = min(max(begin_ns, self._begin_ns), self._end_ns)
        end_ns = min(max(end_ns, begin_ns), self._end_ns)
        begin_ts = self._begin_ts + round((begin_ns - self._begin_ns) * self._pace)
        end_ts = self._begin_ts + round((end_ns - self._begin_ns) * self._pace)
        return {
            "ts": begin_ts, "dur": max(end_ts - begin_ts - _APART_NS, 0), "ph": "X", "name": name,
            "pid": self._threads_pid, "tid": tid, **more,
        }  # fmt: skip

    def _file(self, reader: int, file: int) -> str:
        key = reader, file
        if key not in self._files:
            try:
                name = file_path(self._handle, reader, file) or ""
            except CancelledError:
                name = ""
            self._files[key] = name.encode("utf-8", "replace").decode()
        return self._files[key]

    # ---- All of them --------------------------------------------------------------------------

    def all(self) -> Iterator[dict[str, Any]]:
        recorded = self._recorded
        tids = self._tids(recorded.threads[-1])
        yield from self._names(tids)
        for track, tid in enumerate(tids[:-1]):
            yield from self._thread(tid, self._with_unended(track))
        program = self._thread(tids[-1], self._with_unended(len(tids) - 1))
        spans = self._spans()
        yield from heapq.merge(program, spans.pop(tids[-1], []), key=_order)
        yield from itertools.chain.from_iterable(spans.values())
        yield from self._flows(tids)
        yield from self._slots()

    def _tids(self, program: Events) -> list[int]:
        """A number for each thread: that of the system, if known."""
        found = self._recorded.system_ids
        count = len(self._recorded.threads) - 1
        deliveries = program[program["kind"] == lib.PFD_TRACE_NEXT]["item"]
        pool = [*found, *range(1 + len(found), 1 + count)]
        return [*pool, int(deliveries[0]) if len(deliveries) else os.getpid()]

    def _names(self, tids: list[int]) -> Iterator[dict[str, Any]]:
        pid, num_threads = os.getpid(), len(self._recorded.system_ids) or len(tids) - 1
        for process, what in ((self._threads_pid, "threads"), (self._slots_pid, "batches")):
            yield _meta("process_name", process, 0, name=f"pyflowdata {what} (process {pid})")
            yield _meta("process_sort_index", process, 0, sort_index=process >> _PROCESS_BITS)
        for index, tid in enumerate(tids):
            if num_threads <= index < len(tids) - 1:
                continue  # this thread was never started
            name = f"thread {index} of {num_threads}" if index < num_threads else "next()"
            yield _meta("thread_name", self._threads_pid, tid, name=name)
            yield _meta("thread_sort_index", self._threads_pid, tid, sort_index=index)
        others = {span.tid: span.thread for span in self._recorded.spans if span.tid != tids[-1]}
        for tid, name in others.items():  # such as that of a sink
            yield _meta("thread_name", self._threads_pid, tid, name=name)
            yield _meta("thread_sort_index", self._threads_pid, tid, sort_index=len(tids))

    # ---- Threads ------------------------------------------------------------------------------

    def _thread(self, tid: int, events: Events) -> Iterator[dict[str, Any]]:
        """The events of a thread; outer ones before inner ones."""
        order = np.lexsort((events["kind"], -events["end_ns"], events["begin_ns"]))
        for event in each(events[order]):
            yield self._of_thread(tid, event)

    def _spans(self) -> dict[int, list[dict[str, Any]]]:
        """The spans by thread; outer ones before inner ones."""
        found: dict[int, list[dict[str, Any]]] = {}
        for span in self._recorded.spans:
            slice_ = self._slice(
                span.what, span.tid, span.begin_ns, span.end_ns, cat="hand over",
                cname="thread_state_iowait",
            )  # fmt: skip
            found.setdefault(span.tid, []).append(slice_)
        return {tid: sorted(slices, key=_order) for tid, slices in found.items()}

    def _of_thread(self, tid: int, event: Event) -> dict[str, Any]:
        kind, begin_ns, end_ns = event.kind, event.begin_ns, event.end_ns
        more = {"ended": False} if event.track == _UNENDED else {}
        args = self._args(event) | more
        if kind == lib.PFD_TRACE_IDLE:
            return self._slice("idle", tid, begin_ns, end_ns, cat="idle", cname="grey", args=more)
        if kind == lib.PFD_TRACE_WAIT:
            return self._slice("wait", tid, begin_ns, end_ns, cat="wait", cname="terrible")
        if kind == lib.PFD_TRACE_NEXT:
            return self._slice(
                f"next(): {_step(event)}", tid, begin_ns, end_ns, cat="next", cname="good",
                args={key: args[key] for key in ("epoch", "step", "rows")},
            )  # fmt: skip
        if kind == lib.PFD_TRACE_WORK:
            work = self._recorded.work[event.item]
            category = "op" if work.kind == "op" else "loader"
            return self._slice(work.title, tid, begin_ns, end_ns, cat=category, args=args)
        is_read = event.item >= 0 and self._recorded.work[event.item].kind == "read"
        verb = "read " if is_read else ""
        return self._slice(f"{verb}{_step(event)}", tid, begin_ns, end_ns, cat="rows", args=args)

    def _args(self, event: Event) -> dict[str, Any]:
        args: dict[str, Any] = {
            "epoch": event.epoch, "step": event.step, "first_row": event.first_row,
            "rows": event.num_rows,
        }  # fmt: skip
        if event.file >= 0:
            args["file"] = self._file(event.reader, event.file)
            args["record"] = event.ordinal
        return args

    def _with_unended(self, track: int) -> Events:
        """The events of a thread that began before the end; events that had not ended last until
        the end of the trace, with the item of work inside.
        """
        events, found = self._recorded.threads[track], self._recorded.unended
        events = events[events["begin_ns"] < self._end_ns]
        found = found[found["track"] == track]
        ended = np.isin(found["begin_ns"], events[events["kind"] != lib.PFD_TRACE_WORK]["begin_ns"])
        found = found[~ended]  # these ended while the trace was being stopped
        found["end_ns"] = self._end_ns
        found["track"] = _UNENDED
        inner = found[(found["kind"] == lib.PFD_TRACE_RANGE) & (found["item"] >= 0)]
        done = events[events["kind"] == lib.PFD_TRACE_WORK]["end_ns"]
        for item in inner:
            item["kind"] = lib.PFD_TRACE_WORK
            item["begin_ns"] = max(item["begin_ns"], done.max(initial=0))
        return np.concatenate([events, found, inner])

    # ---- Batches ------------------------------------------------------------------------------

    def _flows(self, tids: list[int]) -> Iterator[dict[str, Any]]:
        """Arrows from the first range of each batch, through the range that ended last, to the
        delivery.
        """
        ranges: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for track, events in enumerate(self._recorded.threads):
            for event in each(events[events["kind"] == lib.PFD_TRACE_RANGE]):
                span = event.begin_ns, event.end_ns, tids[track]
                ranges.setdefault((event.epoch, event.step), []).append(span)
        program = self._recorded.threads[-1]
        number = 0
        for event in each(program[program["kind"] == lib.PFD_TRACE_NEXT]):
            made = ranges.get((event.epoch, event.step))
            if not made:
                continue  # the batch was made before the trace began
            number += 1
            first, last = min(made), max(made, key=lambda span: span[1])
            points = [("s", first), *([("t", last)] if last != first else [])]
            for phase, (begin_ns, _, tid) in points:
                yield self._flow(phase, number, tid, begin_ns)
            given_ns = max(event.end_ns - 5 * _APART_NS, event.begin_ns)  # inside that slice
            yield self._flow("f", number, tids[-1], given_ns) | {"bp": "e"}

    def _flow(self, phase: str, number: int, tid: int, at_ns: int) -> dict[str, Any]:
        """A point of an arrow, on the slice of that moment."""
        event = self._slice("batch", tid, at_ns, at_ns, cat="pyflowdata")
        del event["dur"]
        return event | {"ph": phase, "id": hex(self._flow_ids | number)}

    def _slots(self) -> Iterator[dict[str, Any]]:
        events = self._recorded.slots
        tracks = _Lanes()
        for number in dict.fromkeys(events["item"].tolist()):
            own = list(each(events[events["item"] == number]))
            gone = own[-1].kind == lib.PFD_TRACE_SLOT_GONE
            may_be_new = own[0].kind == lib.PFD_TRACE_SLOT_FILLS
            begin = own[0].begin_ns if may_be_new else self._begin_ns
            tid = tracks.take(begin, own[-1].begin_ns if gone else None)
            if tracks.is_new:
                yield _meta("thread_name", self._slots_pid, tid, name=f"slot {tid}")
                yield _meta("thread_sort_index", self._slots_pid, tid, sort_index=tid)
            for event in self._states(tid, own):
                yield event | {"pid": self._slots_pid}

    def _states(self, tid: int, own: list[Event]) -> Iterator[dict[str, Any]]:
        """From each change of a slot to the next one, and from the beginning to the first."""
        former = {lib.PFD_TRACE_SLOT_READY: lib.PFD_TRACE_SLOT_FILLS,
                  lib.PFD_TRACE_SLOT_HELD: lib.PFD_TRACE_SLOT_READY,
                  lib.PFD_TRACE_SLOT_FREE: lib.PFD_TRACE_SLOT_HELD}.get(own[0].kind)  # fmt: skip
        if former is not None:
            own = [own[0]._replace(kind=former, begin_ns=self._begin_ns), *own]
        ends = [*(event.begin_ns for event in own[1:]), self._end_ns]
        for event, end_ns in zip(own, ends, strict=True):
            if event.kind == lib.PFD_TRACE_SLOT_GONE:
                continue
            name, colour = _STATES[event.kind]
            args = {"epoch": event.epoch, "step": event.step, "rows": event.num_rows}
            if event.kind == lib.PFD_TRACE_SLOT_FREE:
                args = {}
            elif event.kind == lib.PFD_TRACE_SLOT_FILLS:
                del args["rows"]  # a stream does not know yet
            yield self._slice(
                name.format(step=_step(event)), tid, event.begin_ns, end_ns,
                cat="batch", cname=colour, args=args,
            )  # fmt: skip


class _Lanes:
    """Numbers of tracks; the number of a slot that is gone is used for a later slot."""

    def __init__(self) -> None:
        self._free_from: list[int | None] = []  # None: never
        self.is_new = False

    def take(self, begin_ns: int, end_ns: int | None) -> int:
        for lane, free_ns in enumerate(self._free_from):
            if free_ns is not None and free_ns <= begin_ns:
                self._free_from[lane], self.is_new = end_ns, False
                return lane + 1
        self._free_from.append(end_ns)
        self.is_new = True
        return len(self._free_from)


def _order(event: dict[str, Any]) -> tuple[int, int]:
    return event["ts"], -event["dur"]


def _step(event: Event) -> str:
    return f"step {event.step}" if event.step >= 0 else "read()"  # rows at positions


def _meta(name: str, pid: int, tid: int, /, **args: object) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "ts": 0, "args": args}


# ---- A trace ------------------------------------------------------------------------------------

_MOST_BYTES = (1 << 63) - 1
_claims = threading.RLock()  # a loader's trace is looked up and set as one step


class Traced(Protocol):
    """A loader that can have a trace.

    Attributes:
        trace_on: The current trace; several threads may read it.
    """

    trace_on: Trace | None


class Trace:
    """Writes a file of Chrome's trace events about a loader; a context manager, used once."""

    def __init__(
        self, handle: CData, path: str | os.PathLike[str], memory: int, traced: Traced
    ) -> None:
        """Takes the arguments of DataLoader.trace()."""
        if type(memory) is not int or not 0 < memory <= _MOST_BYTES:
            raise InvalidArgumentError(f"memory = {shown(memory)}; it must be a number of bytes")
        self._handle = handle
        self._path = _path_of(path)
        self._memory = memory
        self._traced = traced
        self._process = os.getpid()
        self._file: _NewFile | None = None
        self._spans: list[_Span] = []
        self._lock = threading.RLock()  # held while it starts and while it ends
        self._is_used = False
        self._is_ending = False  # perhaps further out in this thread, where a signal handler runs
        self._events: int | None = None  # known when the file is written
        self._dropped = 0

    def __enter__(self) -> Trace:
        """Starts.

        Raises:
            InvalidArgumentError: The loader is being traced already, or memory is too small.
            FileError: The file cannot be written.
        """
        with self._lock:
            self._is_used = True
            self._start()
        return self

    def _start(self) -> None:
        if self._file is not None:
            raise InvalidArgumentError("a trace is used once; call trace() again")
        with _claims:
            other = self._traced.trace_on
            if other is not None:
                raise InvalidArgumentError(
                    f"the loader is being traced already, into {other._path!r}; end that trace "
                    "first"
                )
            self._traced.trace_on = self
        try:
            self._file = _NewFile(self._path)
            err = new_error()
            check(lib.pfd_loader_trace_start(self._handle, self._memory, err), err)
        except BaseException:
            self._traced.trace_on = None
            if self._file is not None:
                self._file.remove()
            raise

    def __exit__(self, *_exception: object) -> None:
        self.end()

    @property
    def _not_started(self) -> str:
        return (
            f"the trace {self._path!r} was not started, and there is no file: it starts in a "
            f"block, with loader.trace({self._path!r}):"
        )

    def __del__(self) -> None:
        """Warns of a trace that was never started, since its file is missing."""
        is_used = self.__dict__.get("_is_used", True)  # True: the constructor has raised an error
        if not is_used and os.getpid() == self._process:
            warnings.warn(self._not_started, RuntimeWarning, stacklevel=2)

    def end(self) -> None:
        """Ends the trace and writes its file, once; close() of the loader does so too.  If another
        thread is ending the trace, the call waits for it.  Does nothing in a forked child, which
        has no loader.

        Raises:
            FileError: The file cannot be written; a former file at its path is still there.
            InvalidArgumentError: The trace was not started.
        """
        if os.getpid() != self._process:
            return
        if not self._is_used:
            raise InvalidArgumentError(self._not_started)
        with self._lock:
            if self._is_ending or self._traced.trace_on is not self:
                return
            try:
                self._is_ending = True
                self._write()
            finally:
                self._traced.trace_on = None  # until here close() waits, and no other trace starts
        if self._dropped:
            warnings.warn(
                f"{self._dropped} events did not fit into the trace {self._path}: it has the first "
                f"ones of each thread, in {self._memory} bytes; trace for a shorter time, or give "
                "trace() more memory",
                RuntimeWarning,
                stacklevel=3,
            )

    def _write(self) -> None:
        assert self._file is not None
        try:
            recorded = self._take()
            with self._file.open() as file:
                count = write(file, recorded, self._handle)
            self._file.put_in_place()
        except OSError as failure:
            raise _cannot_write(self._path, failure) from None
        finally:
            self._file.remove()
        self._events, self._dropped = count, int(recorded.info.dropped)

    def __repr__(self) -> str:
        if self._events is not None:
            dropped = f", {self._dropped:,} dropped" if self._dropped else ""
            state = f"{self._events:,} events{dropped}; open it in https://ui.perfetto.dev"
        elif self._file is None:
            state = "not started; use it with `with`"
        elif self._traced.trace_on is self:
            state = "on; the file is written at its end"
        else:
            state = "ended without a file"
        return f"Trace({self._path!r}: {state})"

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Shows that this thread does something with a batch, such as copying it."""
        begin_ns = time.monotonic_ns()
        try:
            yield
        finally:
            end_ns, thread = time.monotonic_ns(), threading.current_thread()
            tid = threading.get_native_id()
            self._spans.append(_Span(name, begin_ns, end_ns, tid, thread.name))

    def _take(self) -> _Recorded:
        info = new_struct("pfd_trace_info")
        check(lib.pfd_loader_trace_stop(self._handle, info), new_error())
        tracks = [self._read(track) for track in range(info.num_tracks + 1)]
        lib.pfd_loader_trace_drop(self._handle)
        *threads, slots, unended = tracks
        system_ids = _system_ids(self._handle)
        return _Recorded(
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
    """The system's numbers of the threads of the pool; none for a closed loader."""
    now = new_struct("pfd_thread_now")
    ids: list[int] = []
    while lib.pfd_loader_get_thread(handle, len(ids), now) == 0:
        ids.append(int(now.system_id))
    return ids[:-1]
