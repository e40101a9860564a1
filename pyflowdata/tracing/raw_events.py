"""What was written down of a loader from the start of a trace to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..native import CData, ffi
from ..reports.counters import Work

Events = npt.NDArray[Any]  # of pfd_trace_event


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


class Span(NamedTuple):
    """What a thread of the program did with a batch, such as copying it; on the monotonic clock.

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
class Recorded:
    """What was written down from the start of a trace to its end.

    Attributes:
        info: The `pfd_trace_info`.
        threads: The events of each thread of the pool, then of the thread in next().
        slots: Their changes.
        unended: Events that had not ended, of all threads.
        spans: What the program noted itself, in the order of their ends.
        system_ids: Of the threads of the pool.
        work: Its items, by number.
    """

    info: CData
    threads: list[Events]
    slots: Events
    unended: Events
    spans: list[Span]
    system_ids: list[int]
    work: tuple[Work, ...]
