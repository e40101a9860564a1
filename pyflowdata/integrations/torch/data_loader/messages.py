"""The messages between the program and a worker process: pickled tuples over a socket."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from ....workers.remote_errors import RemoteError, remote_error
from ....workers.shared_memory import SharedFile
from .fetching import Fetching, StreamPlace
from .packing import SharedPickle

LENGTH = struct.Struct("<q")  # before an answer
INDIRECT = struct.Struct("<qqqq")  # -1, slot, offset and length of a message in a slot
LONG = 1 << 13  # bytes; a longer message is in a slot
POSITION = struct.Struct("q")  # first in the worker's file: of the sample that it fetches
FIRST_PAGE = 4096  # bytes of the worker's file before the slots


class Begin(NamedTuple):
    """An epoch begins.

    Attributes:
        number: Of the epoch's run; answers have it, too.
        key: Of the random numbers of this worker, for an iterable dataset.
        place: Where the worker goes on in one.
        epoch: As of Stream.
    """

    number: int
    key: int
    place: StreamPlace | None
    epoch: int | None


class Ask(NamedTuple):
    """A batch is wanted.

    Attributes:
        number: Of the epoch's run.
        task: Counts up.
        slot: Where it goes.
        indices: Of a map-style dataset.
        key: Of the random numbers.
    """

    number: int
    task: int
    slot: int
    indices: Any
    key: int


class Answer(NamedTuple):
    """The answer to `Ask`.

    Attributes:
        kind: "batch", "ended" or "raised".
        content: Pickled: a batch, or a RemoteFailure; b"": it is in the slot, at `place`.
        place: Offset and length of the pickled content in the slot.
        places: Offsets and lengths of its arrays.
        size: Of the slot.
        at: Where an iterable dataset is.
        seconds, cpu_seconds: That it took.
    """

    number: int
    task: int
    slot: int
    kind: str
    content: bytes
    place: tuple[int, int]
    places: list[tuple[int, int]]
    size: int
    at: StreamPlace | None
    seconds: float
    cpu_seconds: float


class RemoteFailure(NamedTuple):
    """An exception of a worker.

    Attributes:
        when: "" or what the worker was doing before any batch.
    """

    error: RemoteError
    when: str


class Job(NamedTuple):
    """What a worker is started with.

    Attributes:
        worker, workers: Its number, and how many there are.
        seed: Of its generators, for worker_init_fn and get_worker_info().
        fetching: A Fetching, or the SharedPickle of one and `init`, which is None then.
        init: worker_init_fn.
        socket, file: What it shares with the program.
        path: sys.path.
    """

    worker: int
    workers: int
    seed: int
    fetching: Fetching | SharedPickle
    init: Callable[[int], Any] | None
    socket: SharedFile
    file: SharedFile
    path: list[str]


def remote_failure(failure: BaseException, when: str = "") -> RemoteFailure:
    """An exception as a message."""
    return RemoteFailure(remote_error(failure, failure.__traceback__), when)
