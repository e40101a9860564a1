"""A worker process, which fetches batches and writes them into shared memory, and its messages."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import get_worker_info

from .... import UnsupportedError
from ....workers.remote_errors import RemoteError, of_user, remote_error
from ....workers.shared_memory import SharedFile
from .fetching import Ended, Fetcher, Fetching, Stream, StreamPlace, use_in_worker
from .packing import SharedPickle, WorkerSlot, pack

# ---- Messages -----------------------------------------------------------------------------------
# Program and worker exchange pickled tuples over a socket.

LENGTH = struct.Struct("<q")  # before an answer
INDIRECT = struct.Struct("<qqqq")  # -1, slot, offset and length of a message in a slot
LONG = 1 << 13  # bytes; a longer message is in a slot
POSITION = struct.Struct("q")  # first in the worker's file: place in the batch of its sample
FIRST_PAGE = 4096  # bytes of the worker's file before the slots


class Begin(NamedTuple):
    """An epoch begins.

    Attributes:
        number: The number of the epoch's run; answers have it, too.
        key: The key of this worker's random numbers, for an iterable dataset.
        place: The place where the worker continues in an iterable dataset.
        epoch: As in Stream.
    """

    number: int
    key: int
    place: StreamPlace | None
    epoch: int | None


class Ask(NamedTuple):
    """A batch is wanted.

    Attributes:
        number: The number of the epoch's run.
        task: The number of the batch; it counts up.
        slot: The slot for the batch.
        indices: The indices for a map-style dataset.
        key: The key of the random numbers.
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
        content: The pickled batch, or RemoteFailure; b"": it is in the slot, at `place`.
        place: Offset and length of the pickled content in the slot.
        places: Offsets and lengths of its arrays.
        size: Bytes of the slot.
        at: The place in an iterable dataset.
        seconds, cpu_seconds: The time that the batch took.
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
        when: What the worker did before any batch; "": it made a batch.
    """

    error: RemoteError
    when: str


class Job(NamedTuple):
    """The arguments of a worker.

    Attributes:
        worker, workers: Its number, and the number of workers.
        seed: The seed of its generators, for worker_init_fn and get_worker_info().
        fetching: A Fetching, or the SharedPickle of one and `init`, which is None then.
        init: worker_init_fn.
        socket, file: Shared with the program.
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


def _remote_failure(failure: BaseException, when: str = "") -> RemoteFailure:
    """An exception as a message."""
    return RemoteFailure(remote_error(failure, of_user(failure.__traceback__, __file__)), when)


# ---- The worker ---------------------------------------------------------------------------------

_LOOK_FOR_PROGRAM_MS = 5000  # after each such time an idle worker looks for the program


def _set_worker_info(job: Job, dataset: Any) -> None:
    """Makes torch's get_worker_info() of this process describe the worker.

    Raises:
        UnsupportedError: It does not, so that each worker would read all of an iterable dataset.
    """
    torch_worker._worker_info = torch_worker.WorkerInfo(
        id=job.worker, num_workers=job.workers, seed=job.seed, dataset=dataset
    )
    if get_worker_info() is not torch_worker._worker_info:
        raise UnsupportedError(
            f"torch.utils.data.get_worker_info() of torch {torch.__version__} does not say what "
            "pyflowdata sets; take num_workers=0, or another version of torch"
        )


def main(job: Job) -> None:
    """Runs a worker; called in its process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program
    torch.set_num_threads(1)
    for one in job.path:
        if one not in sys.path:
            sys.path.append(one)
    _Worker(job).run()


class _Worker:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._socket = socket.socket(fileno=job.socket.fd)
        os.ftruncate(job.file.fd, max(FIRST_PAGE, os.fstat(job.file.fd).st_size))
        self._program = multiprocessing.parent_process()
        self._parent = os.getppid()
        self._is_child = self._program is not None and self._program.pid == self._parent
        self._slots: dict[int, WorkerSlot] = {}
        self._last = (0, -1)  # run and task that were asked for
        self._run = 0
        self._slot: WorkerSlot | None = None
        self._stream: Stream | None = None
        self._cannot: RemoteFailure | None = None
        self._how: Fetching | None = None
        self._fetcher: Fetcher | None = None
        self._begin_failed: RemoteFailure | None = None

    def _prepare(self) -> None:
        job = self._job
        random.seed(job.seed)
        np.random.seed(job.seed & 0xFFFFFFFF)
        torch.manual_seed(job.seed)
        when = "receiving the dataset"
        try:
            how, init = job.fetching, job.init
            if isinstance(how, SharedPickle):
                how, init = how.open()
            assert isinstance(how, Fetching)
            _set_worker_info(job, how.dataset)
            use_in_worker(self._allocate)
            when = "calling worker_init_fn"
            if init is not None:
                init(job.worker)
            self._how = how
            at = memoryview(mmap.mmap(job.file.fd, FIRST_PAGE)).cast("q")  # [0] as POSITION
            self._fetcher = Fetcher(how, at)
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            self._cannot = _remote_failure(failure, when)

    def _allocate(self, size: int) -> memoryview:
        if self._slot is None:  # no batch is being made
            return memoryview(bytearray(size))
        return self._slot.allocate(size)

    def run(self) -> None:
        """Answers messages until the program closes its side, or has ended."""
        self._prepare()
        buffer = bytearray(1 << 16)
        with contextlib.suppress(ConnectionError):
            while self._waits(select.POLLIN):
                size = self._socket.recv_into(buffer)
                if size == 0:
                    return
                message = self._read(memoryview(buffer)[:size])
                if isinstance(message, Begin):
                    self._begin(message)
                elif (message.number, message.task) > self._last:
                    self._last = message.number, message.task
                    self._answer(message)

    def _waits(self, event: int) -> bool:
        """Waits until the connection has a message, or takes one; False: the program has ended."""
        poll = select.poll()
        poll.register(self._socket.fileno(), event)
        while not poll.poll(_LOOK_FOR_PROGRAM_MS):
            program = self._program
            if program is not None and not program.is_alive():
                return False
            if self._is_child and os.getppid() != self._parent:  # a fork keeps the sentinel open
                return False
        return True

    def _read(self, content: memoryview) -> Begin | Ask:
        """A message; a long message is in the slot whose number was sent."""
        if content.nbytes == INDIRECT.size:
            _, slot, _, length = INDIRECT.unpack(content)
            memory = self._slot_of(slot)
            memory.clear()
            content = memory.allocate(length)
        found: Begin | Ask = pickle.loads(content)
        return found

    def _slot_of(self, number: int) -> WorkerSlot:
        found = self._slots.get(number)
        if found is None:
            found = self._slots[number] = WorkerSlot(self._job.file, number)
        return found

    def _begin(self, begin: Begin) -> None:
        self._run, self._stream, self._begin_failed = begin.number, None, None
        self._slot = None
        if self._how is None or not self._how.is_iterable:
            return
        try:
            self._stream = Stream(self._how, begin.key, begin.place, begin.epoch)
        except Exception as failure:  # noqa: BLE001
            self._begin_failed = _remote_failure(failure)

    def _answer(self, ask: Ask) -> None:
        if ask.number != self._run:
            return
        begin, cpu = time.perf_counter(), time.process_time()
        slot = self._slot = self._slot_of(ask.slot)
        slot.clear()
        kind, value, at = "batch", None, None
        try:
            if self._cannot is not None or self._begin_failed is not None:
                kind, value = "raised", self._cannot or self._begin_failed
            elif self._how is not None and self._how.is_iterable:
                assert self._stream is not None
                value = self._stream.fetch()
            elif self._fetcher is not None:
                value = self._fetcher.fetch(ask.indices, ask.key)
        except Ended:
            kind = "ended"
        except Exception as failure:  # noqa: BLE001
            kind, value = "raised", _remote_failure(failure)
        try:
            if self._stream is not None:
                at = self._stream.place()
        except Exception as failure:  # noqa: BLE001
            kind, value = "raised", _remote_failure(failure, "taking the state of the dataset")
        try:
            content, buffers = pack(value)
        except Exception as failure:  # noqa: BLE001
            kind = "raised"
            content, buffers = pack(_remote_failure(failure, "pickling a batch"))
        places = [slot.place(buffer) for buffer in buffers]
        place, size = (0, 0), slot.size
        if len(content) > LONG // 2:
            place = slot.place(memoryview(content))
            content, size = b"", slot.size
        self._send(ask.slot, Answer(
            ask.number, ask.task, ask.slot, kind, content, place, places, size, at,
            time.perf_counter() - begin, time.process_time() - cpu,
        ))  # fmt: skip

    def _send(self, slot: int, answer: Answer) -> None:
        try:
            content = pickle.dumps(answer)
        except Exception as failure:  # noqa: BLE001  (of the state of a user's dataset)
            said = pack(_remote_failure(failure, "pickling the state of the dataset"))[0]
            answer = answer._replace(kind="raised", content=said, at=None, places=[], size=0)
            content = pickle.dumps(answer)
        if len(content) <= LONG:
            message = LENGTH.pack(len(content)) + content
        else:
            offset, size = self._slot_of(slot).place(memoryview(content))
            message = INDIRECT.pack(-1, slot, offset, size)
        while self._waits(select.POLLOUT):
            with contextlib.suppress(BlockingIOError):
                self._socket.send(message, socket.MSG_DONTWAIT)
                return
        raise BrokenPipeError
