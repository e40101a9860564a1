"""The messages between the program and a worker process: pickled tuples over a socket."""

from __future__ import annotations

import pickle
import struct
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from .fetching import Fetching, StreamPlace
from .packing import SharedPickle
from .slots import SharedFile

LENGTH = struct.Struct("<q")  # before an answer
INDIRECT = struct.Struct("<qqqq")  # -1, slot, offset and length of a message in a slot
LONG = 1 << 13  # bytes; a longer message is in a slot
POSITION = struct.Struct("q")  # first in the worker's file: of the sample that it fetches
FIRST_PAGE = 4096  # bytes of the worker's file before the slots
_TRACE = 3000  # characters of a traceback
_LONGEST = 1 << 20  # bytes of a pickled exception


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
        failure: Pickled; b"" where it cannot be.
        said: Class and text.
        trace: The traceback as text.
        when: "" or what the worker was doing before any batch.
    """

    failure: bytes
    said: str
    trace: str
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
    text = "".join(traceback.format_exception(failure))
    try:
        content = pickle.dumps(failure)
        pickle.loads(content)
    except BaseException:  # noqa: BLE001  (what a user's class raises)
        content = b""
    try:
        said = f"{type(failure).__name__}: {failure}"
    except Exception:  # noqa: BLE001
        said = type(failure).__name__
    if len(content) > _LONGEST:
        content = b""
    return RemoteFailure(content, said, text[-_TRACE:], when)
