"""The counts of a loader at a moment, as plain numbers from C, and differences of such counts.

Times are in seconds, and moments are seconds on the monotonic clock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Error
from ..native import (
    CData,
    check,
    ffi,
    file_path,
    has_lock,
    lib,
    new_error,
    new_struct,
    text,
    version,
)
from ..nodes.python_ops import (
    SourceTimes,
    calls_by_row,
    language_of,
    process_times_of,
    processes_of,
)
from ..nodes.node import Blob, Node, nodes_of
from ..nodes.objects import Object
from .stalls import python_threads_now
from .stats import (
    DOING,
    TIMES,
    WORK_KINDS,
    LoopThreadTimes,
    ops_of,
    read_fetched,
    read_stats,
    read_worker_seconds,
)
from .tuning import read_tuning


# ---- What is known of the data ------------------------------------------------------------------

@dataclass(frozen=True)
class DataFacts:
    """Facts about the data.

    Attributes:
        readers: The fields of `pyflowdata.loader.state.Reader` of each, and "shuffle".
        order: The places of the records of the first batches; see `sample_order()`.
        graph: A picture of the graph as HTML; "": there is no picture.  JSON does not contain it,
            since a page must not take HTML from a file.
    """

    readers: Sequence[Mapping[str, Any]]
    order: Mapping[str, Any]
    graph: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The facts as a dict, without the picture."""
        return {"readers": self.readers, "order": self.order}


# ---- Counters -----------------------------------------------------------------------------------

_TITLES = {
    "op": "{}",
    "records": "find records of {}",
    "read": "read {}",
    "join": "join ragged rows",
}
_LEVELS = (  # not sums; all other times are durations
    "slots", "slots_held", "slots_ready", "slot_bytes", "processors",
    "now_seconds", "opened_seconds", "asked_seconds", "delivered_seconds",
)  # fmt: skip


@dataclass(frozen=True)
class FirstWork:
    """Work that is done once for all epochs, while a loader is opened.

    Attributes:
        kind: "index", building one; "pass", over all records, as for where(); "cache-fill"; or
            "processes", starting the processes of an op.
        said: The thing that was made, as "where('x > 3')".
        seconds: The time that it took.
    """

    kind: str
    said: str
    seconds: float


@dataclass(frozen=True)
class SlowRange:
    """A range of rows that took long, and its record with the most bytes; or a record that has more
    bytes than others.

    Attributes:
        seconds: The time of the range, through all ops of its stage; 0: it is not known.
        rows: How many rows the range has.
        file: The path of the record's file; if it is not known, the number of the file.
        record: The record's number in its reader, as in the blob "id".
        bytes: The size of the record, as its reader finds it.
    """

    seconds: float
    rows: int
    file: str
    record: int
    bytes: int


@dataclass(frozen=True)
class Work:
    """The work of threads for one op, or for one stage of the loader itself.

    Attributes:
        kind: "op", an op's compute(); "records", finding the records of rows: order, views, index;
            "read", reading a stream's records, in sequence; "join", joining ragged rows.
        op, name: The names of the op or reader and of its node; "" if there is none.
        fused_op: The op whose work this item also contains; "": none.
        language: "C"; "Python", under the interpreter's lock; "processes", Python in processes.
        gives: What the op returns: "images"; "samples" of a torch dataset; or "" for anything else.
        reader: The number of the reader whose records they are; -1 for "join".
        is_whole: Whether it is an op over whole batches; one thread computes a whole batch.
        rows, ranges: How many rows, and how many ranges of rows, were computed.
        measured_ranges: The number of ranges from which the times are estimated.
        wall_seconds, cpu_seconds: Summed over threads.
        help_seconds: The part of wall_seconds in which next() itself worked.
        lock_seconds: The part of wall_seconds in which calls waited for the interpreter's lock.
        source: For a view, the op of an object of the program among what the view joins; "": there
            is none.
        takes_turns: Whether it is a source whose calls do not overlap, since thread_safe was not
            given.
        row_seconds: The time that its processes take for a row, without copies; 0: not known.
        row_wait_seconds: The part of row_seconds in which a process waits for something else than a
            processor.
        start_seconds: How long the loader's first call waited until its processes had started.
        call_seconds: For "records", how long the calls of objects of the program took.
        turn_seconds: How long these calls waited for their turn before.
        row_bytes: For an op in processes, the bytes of a row of its inputs and outputs, which are
            copied; 0: rows differ.
        is_by_row: Whether it is Python code that is called for each row.
        processes: How many processes run it.
        elements, padded: The number of elements of the padded rows, and how many of these are
            padding.
        slowest: Up to five ranges that took the longest since the loader was opened, the slowest
            first.
        largest: For "records", the largest record of the reader since the loader was opened; None:
            not known.
    """

    kind: str
    op: str
    name: str
    fused_op: str
    language: str
    gives: str
    reader: int
    is_whole: bool
    rows: int
    ranges: int
    measured_ranges: int
    wall_seconds: float
    cpu_seconds: float
    is_by_row: bool = False
    processes: int = 0
    help_seconds: float = 0.0
    lock_seconds: float = 0.0
    source: str = ""
    takes_turns: bool = False
    row_seconds: float = 0.0
    row_wait_seconds: float = 0.0
    start_seconds: float = 0.0
    call_seconds: float = 0.0
    turn_seconds: float = 0.0
    row_bytes: int = 0
    elements: int = 0
    padded: int = 0
    slowest: tuple[SlowRange, ...] = ()
    largest: SlowRange | None = None

    @property
    def title(self) -> str:
        """The name in tables."""
        return _TITLES[self.kind].format(self._ops)

    @property
    def doing(self) -> str:
        """The work of a thread in a sentence: "in Resize", "reading TFRecordReader"."""
        return DOING[self.kind].format(self._ops)

    @property
    def _ops(self) -> str:
        own = f"{self.op} '{self.name}'" if self.name else self.op
        return ops_of(own, self.fused_op)


@dataclass(frozen=True)
class ReaderFacts:
    """A reader of the loader.

    Attributes:
        op, name: The name of its op, and its name in the loader.
        shuffle: The attr, or "" where it has none.
        files, bytes: The number of its files, and the bytes of all files.
        records: The number of records; -1: known only at the end of an epoch.
        index_seconds: The time of building or finding its indexes when the loader was opened.
        is_new_index: Whether an index was built then.
        suffix: The suffix of the file with its first record, such as ".csv.gz"; "": not known.
    """

    op: str
    name: str
    shuffle: str
    files: int
    bytes: int
    records: int
    index_seconds: float
    is_new_index: bool
    suffix: str = ""


@dataclass(frozen=True)
class Period:
    """The work of a loader between two moments: the delivered batches and rows, the time of next()
    for them, and the sum of how many complete batches were ready before each of them.
    """

    batches: int
    rows: int
    wait_seconds: float
    ready: int


@dataclass(frozen=True)
class History:
    """What a loader did over time, since its first batch was asked for.

    Attributes:
        begin: Moment at which the first period begins.
        period_seconds: The length of each period.
        periods: The periods in order.
        waits, trains: The numbers of steps by duration: [i] counts steps of at least 2**i ns and
            less than 2**(i + 1) ns.  `waits` counts the time in next() of steps that waited,
            `trains` the time from a batch to the next call of next().
    """

    begin: float = 0.0
    period_seconds: float = 0.0
    periods: tuple[Period, ...] = ()
    waits: tuple[int, ...] = ()
    trains: tuple[int, ...] = ()


@dataclass
class CopyCounts:
    """The copies of an integration from the loader's memory to a device, or to memory on the way
    there.

    Attributes:
        device: The target of the copies.
        batches, bytes: How much was copied.
        seconds: The time of the copying thread, which is the training loop for `hand_over`, and
            another thread for `ahead`.
    """

    device: str = ""
    batches: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Counters:
    """All numbers that a report is made from.

    Attributes:
        blobs: The names of the blobs of a batch.
        num_threads, prefetch, memory_budget: The settings of the loader; with "auto", their values
            at the moment.
        rank, world_size: The rank and the number of ranks of its readers.
        host, pid: The process.
        readers, work, history: The readers, the work of threads, and the course over time.
        hand_over: Copies in the thread of the training loop; None: there were none.
        ahead: Copies in another thread, while the loop trains with batches before; None: there
            were none.
        tuning: Sentences about how num_threads and prefetch were adjusted; (): they are as given.
        automatic: "num_threads" or "prefetch", if the loader adjusts them.
        most_threads: The most threads of num_threads="auto"; 0: the number was given.
        last_stall: The text of the last StallWarning, or "".
        python_threads, lock_waiters: The number of threads that ran Python for a loader, and how
            many of them waited for a lock of the program.  Both are sums over several looks: some
            while next() waits, and one when a report is made.
        script, version: The file of the program, and the version of this package; "": not known.
        taken: When the counters were read, in seconds since 1970; 0: not known.
        stats: The keys of `DataLoader.stats()`, and times since the loader was opened:
            worker_cpu_seconds, the CPU time of the worker processes of this program;
            loop_cpu_seconds and loop_runnable_seconds, how long the thread of the training loop
            computed and waited for a processor.
        first_work: Work that was done once while the loader was opened, besides the indexes of its
            own readers.
        fetched: How much of remote files this process fetched since the loader was opened.
        missing_bytes: What the cache lacks of remote files: of the blocks that the rest of the
            epoch reads, where its reader plans ahead and the plan has reached the epoch's end, else
            of whole files.
        has_lock: Whether one thread at a time ran Python when the counters were read.
    """

    blobs: tuple[str, ...]
    num_threads: int
    prefetch: int
    memory_budget: int
    rank: int
    world_size: int
    host: str
    pid: int
    readers: tuple[ReaderFacts, ...]
    stats: dict[str, float]
    work: tuple[Work, ...]
    history: History = field(default_factory=History)
    hand_over: CopyCounts | None = None
    ahead: CopyCounts | None = None
    tuning: tuple[str, ...] = ()
    automatic: tuple[str, ...] = ()
    most_threads: int = 0
    last_stall: str = ""
    python_threads: int = 0
    lock_waiters: int = 0
    script: str = ""
    version: str = ""
    taken: float = field(default=0.0, compare=False)
    fetched: dict[str, float] = field(default_factory=dict)
    first_work: tuple[FirstWork, ...] = ()
    missing_bytes: int = 0
    has_lock: bool = True

    def since(self, earlier: Counters) -> Counters:
        """The differences to earlier counts of the same loader."""
        stats = {
            name: value if name in _LEVELS else value - earlier.stats.get(name, 0)
            for name, value in self.stats.items()
        }
        stats["opened_seconds"] = earlier.stats["now_seconds"]
        work = tuple(
            _less(one, before, _COUNTED)
            for one, before in zip(self.work, earlier.work, strict=True)
        )
        readers = tuple(
            dataclasses.replace(reader, index_seconds=0.0, is_new_index=False)
            for reader in self.readers
        )
        last_stall = "" if self.last_stall == earlier.last_stall else self.last_stall
        return dataclasses.replace(
            self,
            stats=stats,
            work=work,
            readers=readers,
            hand_over=_copies_since(self.hand_over, earlier.hand_over),
            ahead=_copies_since(self.ahead, earlier.ahead),
            python_threads=self.python_threads - earlier.python_threads,
            lock_waiters=self.lock_waiters - earlier.lock_waiters,
            history=_history_since(self.history, earlier),
            last_stall=last_stall,
            first_work=(),
            fetched={
                name: value - earlier.fetched.get(name, 0) for name, value in self.fetched.items()
            },
        )


_COUNTED = (
    "rows", "ranges", "measured_ranges", "wall_seconds", "cpu_seconds", "help_seconds",
    "lock_seconds", "elements", "padded", "start_seconds", "call_seconds", "turn_seconds",
)  # fmt: skip
_COPIED = ("batches", "bytes", "seconds")


def _less(one: Any, before: Any, names: Sequence[str]) -> Any:
    """A copy in which the fields of these names are differences."""
    less = {name: getattr(one, name) - getattr(before, name) for name in names}
    return dataclasses.replace(one, **less)


def _copies_since(now: CopyCounts | None, before: CopyCounts | None) -> CopyCounts | None:
    if now is None or before is None:
        return now
    less: CopyCounts = _less(now, before, _COPIED)
    return less


def _history_since(history: History, earlier: Counters) -> History:
    old, moment = earlier.history, earlier.stats["now_seconds"]
    if not old.periods or not history.periods:
        return history
    first = int((moment - history.begin) / history.period_seconds)
    return History(
        begin=history.begin + first * history.period_seconds,
        period_seconds=history.period_seconds,
        periods=history.periods[first:],
        waits=tuple(a - b for a, b in zip(history.waits, old.waits, strict=True)),
        trains=tuple(a - b for a, b in zip(history.trains, old.trains, strict=True)),
    )


# ---- From the library ---------------------------------------------------------------------------


_Place = tuple[int, int, int]  # reader, file and ordinal of a record
_NO_SOURCES: Mapping[int, SourceTimes] = {}


class _Names:
    """The files of records, by their places.

    Args:
        known: The files that were looked up before; for a closed loader only these are known.
        nodes: All nodes of its graph.  A source of the program is never asked for the place of a
            record: it would read the record again, and may be stuck.
    """

    def __init__(self, handle: CData, known: dict[_Place, str], nodes: Sequence[Node]) -> None:
        self._handle = handle
        self._known = known
        self._is_c = not any(_asks_program(node) for node in nodes)

    def of(self, place: _Place) -> str:
        """The path of a record's file; for a folder, the path of a file in it."""
        if place not in self._known:
            err = new_error()
            if not self._is_c or lib.pfd_loader_locate(self._handle, *place, err) != lib.PFD_OK:
                return f"file {place[1]}"
            self._known[place] = os.fsdecode(ffi.string(err.file))
        return self._known[place]

    def range(self, one: CData) -> SlowRange:
        place = one.reader, one.file, one.ordinal
        return SlowRange(one.ns / 1e9, one.rows, self.of(place), one.ordinal, one.bytes)


def read_work(
    handle: CData, nodes: Sequence[Node] = (), known: dict[_Place, str] | None = None,
    begin: float = 0.0, end: float = 0.0, sources: Mapping[int, SourceTimes] = _NO_SOURCES,
) -> tuple[Work, ...]:  # fmt: skip
    """The work of the threads of a loader.

    Args:
        handle: The loader, open or closed.
        nodes: All nodes of its graph.
        known: The files of records that were looked up before; for a closed loader no others are
            known.  None: the slowest records are left out.
        begin, end: The time of the loader, as for `process_times_of()`.
        sources: The times of its sources, see `InUse`.
    """
    names = None if known is None else _Names(handle, known, nodes)
    by_name = {(node.op.name, node.name): node for node in nodes}
    found: list[Work] = []
    one = new_struct("pfd_work_stats")
    while (status := lib.pfd_loader_get_work(handle, len(found), one)) != lib.PFD_END:
        check(status, new_error())
        work, node = _work_of(one, by_name, names)
        times: dict[str, Any] = {}
        if node is not None and work.kind == "op":
            times = process_times_of(node, begin, end)
        elif node is not None and work.kind == "records":
            times = _source_times(node, sources)
        found.append(dataclasses.replace(work, **times))
    return tuple(found)


def _source_times(node: Node, sources: Mapping[int, SourceTimes]) -> dict[str, float]:
    """The times of the objects of the program among what a reader or a view reads."""
    objects = [one.values.get("source") for one in _objects_in(node)]
    numbers = {one.number for one in objects if isinstance(one, Object)}
    called = [sources[number] for number in numbers if number in sources]
    return {
        "call_seconds": sum(one.call_seconds for one in called),
        "turn_seconds": sum(one.turn_seconds for one in called),
    }


def _work_of(
    one: CData, nodes: dict[tuple[str, str], Node], names: _Names | None
) -> tuple[Work, Node | None]:
    kind, op, name = WORK_KINDS[one.kind], text(one.op), text(one.name)
    # A reader without a name is called by its op and its number.
    node = nodes.get((op, name)) or nodes.get((op, ""))
    slowest = [] if names is None else [*map(names.range, one.slowest[0 : one.num_slowest])]
    objects = [] if node is None or kind == "op" else [*_objects_in(node)]
    work = Work(
        kind=kind,
        op=op,
        name=name if node is not None and node.name else "",
        fused_op=text(one.fused_op),
        language=_language_of(node, kind) if node is not None else "C",
        gives=_gives(node) if node is not None and kind == "op" else "",
        reader=one.reader,
        is_whole=bool(one.is_whole),
        rows=one.rows,
        ranges=one.ranges,
        measured_ranges=one.measured_ranges,
        wall_seconds=one.wall_ns / 1e9,
        cpu_seconds=one.cpu_ns / 1e9,
        help_seconds=one.help_ns / 1e9,
        lock_seconds=one.lock_ns / 1e9,
        is_by_row=node is not None and kind == "op" and calls_by_row(node),
        processes=processes_of(node) if node is not None and kind == "op" else 0,
        source=objects[0].op.name if objects and objects != [node] else "",
        takes_turns=any(map(takes_turns, objects)),
        row_bytes=_row_bytes(node) if node is not None and processes_of(node) else 0,
        elements=one.elements,
        padded=one.padded,
        slowest=tuple(slowest),
        largest=None if names is None or not one.largest.bytes else names.range(one.largest),
    )
    return work, node


def _objects_in(node: Node) -> Iterator[Node]:
    """The readers of objects of the program whose records a reader or a view gives."""
    above = [blob.node for blob in node.inputs] if node.op.is_view else [node]
    for one in nodes_of([output for each in above for output in each.outputs]):
        if _asks_program(one):
            yield one


def _asks_program(node: Node) -> bool:
    """Whether a reader reads an object of the program."""
    return any(attr.name == "source" and attr.type.word == "object" for attr in node.op.attrs)


def _language_of(node: Node, kind: str) -> str:
    """The language of an op, or of a reader, which may call an object of the program."""
    if kind == "op":
        return language_of(node)
    return "Python" if _asks_program(node) else "C"


def takes_turns(node: Node) -> bool:
    """Whether calls of a source do not overlap, since thread_safe was not given."""
    return node.op.attr("thread_safe") is not None and not node.values.get("thread_safe")


def _row_bytes(node: Node) -> int:
    blobs = (*node.inputs, *node.outputs)
    if any(blob.is_ragged for blob in blobs):
        return 0
    return sum(math.prod(blob.dense_row_shape) * blob.dtype.itemsize for blob in blobs)


def _gives(node: Node) -> str:
    for blob in node.outputs:
        if len(blob.shape) == 4 and None in blob.shape and blob.dtype == "uint8":
            return "images"
    return ""


def _read_history(handle: CData) -> History:
    found = new_struct("pfd_history")
    check(lib.pfd_loader_get_history(handle, found), new_error())
    return History(
        begin=found.begin_ns / 1e9,
        period_seconds=found.period_ns / 1e9,
        periods=tuple(
            Period(one.batches, one.rows, one.wait_ns / 1e9, one.ready)
            for one in found.periods[0 : found.num_periods]
        ),
        waits=tuple(found.waits),
        trains=tuple(found.trains),
    )


@dataclass(frozen=True)
class CountedLoader:
    """Reads the counters of a loader, open or closed.

    Attributes:
        handle: The loader.
        blobs: The blobs of its batches.
        readers: Facts about its readers, see `pyflowdata.loader.state.Reader`.
        hand_over, ahead: What its integration counts, see `Counters`.
        waits: What watches for its stalls, see `pyflowdata.insight.stalls.Wait`; empty before the
            first epoch.
        first_work: The fields of those of `Counters`.
        collectives: The `Collectives` of the program; empty: it marks none.
        loop_thread: The times of the thread that takes batches.
        sources: The times of its sources, see `InUse`.
        before: What read_fetched() and read_worker_seconds() gave when the loader opened, the
            latter as "worker_cpu_seconds".
    """

    handle: CData
    blobs: tuple[Blob, ...]
    readers: tuple[Any, ...]
    hand_over: CopyCounts = field(default_factory=CopyCounts)
    ahead: CopyCounts = field(default_factory=CopyCounts)
    waits: Sequence[Any] = ()
    before: Mapping[str, float] = field(default_factory=dict)
    first_work: tuple[tuple[str, str, float], ...] = ()
    collectives: Sequence[Any] = ()
    loop_thread: LoopThreadTimes = field(default_factory=LoopThreadTimes)
    sources: Mapping[int, SourceTimes] = field(default_factory=dict)
    _names: dict[_Place, str] = field(default_factory=dict)
    _seen: list[int] = field(default_factory=lambda: [0, 0])  # threads in Python, over reports
    _suffixes: dict[int, str] = field(default_factory=dict)  # by reader
    _others: dict[str, float] = field(default_factory=dict)  # times until the loader was closed

    def name_records(self) -> None:
        """Called before the loader is closed: later reports name the same records, and the time of
        workers that go on is no longer counted.
        """
        self._others.update(self._other_times())
        with contextlib.suppress(Error):
            read_work(self.handle, nodes_of(self.blobs), self._names)
            self._reader_facts()

    def _reader_facts(self) -> tuple[ReaderFacts, ...]:
        return tuple(
            ReaderFacts(
                op=reader.op,
                name=reader.name,
                shuffle=reader.spec.get("shuffle", ""),
                files=reader.files,
                bytes=reader.bytes,
                records=reader.records,
                index_seconds=reader.index.seconds,
                is_new_index=reader.index.is_new,
                suffix=self._suffix(number),
            )
            for number, reader in enumerate(self.readers)
        )

    def _suffix(self, reader: int) -> str:
        """The suffix of the first file; for a folder, the suffix of the file with the first record.
        """
        if reader not in self._suffixes:
            names = _Names(self.handle, self._names, nodes_of(self.blobs))
            with contextlib.suppress(Error):
                path = PurePath(file_path(self.handle, reader, 0) or "")
                path = path if path.suffix else PurePath(names.of((reader, 0, 0)))
                self._suffixes[reader] = "".join(path.suffixes[-2:]).lower()
        return self._suffixes.get(reader, "")

    def _other_times(self) -> dict[str, float]:
        """Those of `Counters.stats` that the library does not count."""
        if self._others:
            return self._others
        worked = read_worker_seconds() - self.before.get("worker_cpu_seconds", 0)
        return {"worker_cpu_seconds": worked, **self.loop_thread.seconds()}

    def count(self, *, looks: bool = False) -> Counters:
        """The counters of this moment; after close(), the counters at the end.

        Args:
            looks: Whether to look also at what threads in Python wait for, which stops all of them
                for a moment.
        """
        copies, ahead = dataclasses.replace(self.hand_over), dataclasses.replace(self.ahead)
        is_open = not self._others
        threads, waiters = python_threads_now() if looks and is_open else (0, 0)
        self._seen[:] = self._seen[0] + threads, self._seen[1] + waiters
        sums = (self._seen, *(one.python_threads for one in self.waits))
        threads, waiters = map(sum, zip(*sums, strict=True))
        history, stats = _read_history(self.handle), read_stats(self.handle)
        now = stats["now_seconds"]
        info, tuning = new_struct("pfd_loader_info"), read_tuning(self.handle)
        check(lib.pfd_loader_get_info(self.handle, info), new_error())
        return Counters(
            blobs=tuple(blob.name for blob in self.blobs),
            num_threads=info.num_threads,
            prefetch=info.prefetch,
            memory_budget=info.memory_budget,
            rank=self.readers[0].rank,
            world_size=self.readers[0].world_size,
            host=os.uname().nodename,
            pid=os.getpid(),
            readers=self._reader_facts(),
            stats={**stats, **self._other_times()},
            work=read_work(
                self.handle, nodes_of(self.blobs), self._names, history.begin or now, now,
                self.sources,
            ),
            history=history,
            hand_over=copies if copies.batches else None,
            ahead=ahead if ahead.batches else None,
            tuning=tuple(str(tuning).split("\n")) if tuning else (),
            automatic=tuning.automatic if tuning else (),
            most_threads=tuning.most_threads if tuning else 0,
            script=os.path.basename(sys.argv[0]) if sys.argv else "",
            python_threads=threads,
            lock_waiters=waiters,
            version=version(),
            taken=time.time(),
            fetched={
                name: value - self.before.get(name, 0) for name, value in read_fetched().items()
            },
            first_work=tuple(FirstWork(*one) for one in self.first_work),
            missing_bytes=lib.pfd_loader_missing_bytes(self.handle),
            has_lock=has_lock(),
            last_stall=next((one.stall.text for one in self.waits if one.stall), ""),
        )


# ---- Steps that the training loop times itself --------------------------------------------------

Times = npt.NDArray[np.float64]


class StepTimes:
    """The times of steps: waiting for the batch, and training.

    A loader measures these times in the thread that calls next().  If that thread fills a queue for
    the training loop, the loop has its own steps, and counts them with this class.  Used by one
    thread at a time.
    """

    def __init__(self, batches: int) -> None:
        """Args: the number of batches of the loader in each step of the loop; a step counts as this
        many.
        """
        self._batches = batches
        self._starts = self._steps = self._waited = 0
        self._start_seconds = self._wait_seconds = self._train_seconds = 0.0
        self._waits, self._trains = [0] * lib.PFD_DURATIONS, [0] * lib.PFD_DURATIONS

    def add_start(self, wait: float) -> None:
        """Adds the first step of an epoch, with the seconds until it had its batch."""
        self._starts += 1
        self._start_seconds += wait

    def add(self, wait: float, train: float, has_waited: bool) -> None:
        """Adds a step, with its times in seconds; has_waited: its batch was not ready when it was
        asked for.
        """
        batches = self._batches
        self._steps += batches
        self._wait_seconds += wait
        self._train_seconds += train
        self._trains[_power(train / batches)] += batches
        if has_waited:
            self._waited += batches
            self._waits[_power(wait / batches)] += batches

    def add_many(self, waits: Times, trains: Times, has_waited: npt.NDArray[np.bool_]) -> None:
        """Adds several steps: their times in seconds, float64, and which of them waited."""
        batches, waited = self._batches, waits[has_waited]
        self._steps += batches * len(waits)
        self._wait_seconds += float(waits.sum())
        self._train_seconds += float(trains.sum())
        self._waited += batches * len(waited)
        for counts, times in ((self._trains, trains), (self._waits, waited)):
            for power in _powers(times / batches):
                counts[power] += batches

    def stats(self) -> dict[str, float]:
        """The counts of these steps, under the names of DataLoader.stats()."""
        return {
            "starts": self._starts,
            "start_seconds": self._start_seconds,
            "steps": self._steps,
            "waited_steps": self._waited,
            "step_wait_seconds": self._wait_seconds,
            "step_next_seconds": self._wait_seconds,
            "step_train_seconds": self._train_seconds,
            **dict.fromkeys((f"{name}_seconds" for name in TIMES), 0.0),
            "wait_seconds": self._start_seconds + self._wait_seconds,
            "outside_seconds": self._train_seconds,
        }

    def put_into(self, counters: Counters) -> Counters:
        """The counts of a loader, with these steps in place of the loader's own steps."""
        history = dataclasses.replace(
            counters.history, waits=tuple(self._waits), trains=tuple(self._trains)
        )
        stats = {**counters.stats, **self.stats()}
        return dataclasses.replace(counters, stats=stats, history=history)


def _power(seconds: float) -> int:
    """The i for which a duration is at least 2**i ns and less than 2**(i + 1) ns, as in History."""
    power = max(int(seconds * 1e9), 1).bit_length() - 1
    return int(min(power, lib.PFD_DURATIONS - 1))


def _powers(seconds: Times) -> list[int]:
    _, powers = np.frexp(np.maximum(np.floor(seconds * 1e9), 1.0))
    found: list[int] = np.minimum(powers - 1, lib.PFD_DURATIONS - 1).tolist()
    return found
