"""A worker process: fetches batches, and writes them into memory that the program shares."""

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
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import get_worker_info

from .... import UnsupportedError
from . import collating
from .fetching import Ended, Fetcher, Fetching, Stream, StreamPlace
from .packing import Parcel, pack
from .slots import SharedFile, WrittenSlot

LENGTH = struct.Struct("<q")
INDIRECT = struct.Struct("<qqqq")  # -1, slot, offset and length of a message in a slot
LONG = 1 << 13  # bytes; a longer message is in a slot
AT = 4096  # bytes of the file that say which sample the worker is at
_LOOK_MS = 5000  # how often an idle worker looks whether the program is there
_TEXT = 3000  # characters of a traceback


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


class Made(NamedTuple):
    """The answer to `Ask`.

    Attributes:
        kind: "batch", "ended" or "raised".
        content: Pickled: a batch, or `Raised`; b"": it is in the slot, at `place`.
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


class Raised(NamedTuple):
    """An exception.

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
        fetching: A Fetching, or the Parcel of one and `init`, which is None then.
        init: worker_init_fn.
        socket, file: What it shares with the program.
        path: sys.path.
    """

    worker: int
    workers: int
    seed: int
    fetching: Fetching | Parcel
    init: Callable[[int], Any] | None
    socket: SharedFile
    file: SharedFile
    path: list[str]


def raised(failure: BaseException, when: str = "") -> Raised:
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
    if len(content) > 1 << 20:
        content = b""
    return Raised(content, said, text[-_TEXT:], when)


def _set_worker_info(job: Job, dataset: Any) -> None:
    """Has torch's get_worker_info() of this process say which worker it is.

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
    """The process."""
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
        os.ftruncate(job.file.fd, max(AT, os.fstat(job.file.fd).st_size))
        self._slots: dict[int, WrittenSlot] = {}
        self._last = (0, -1)  # run and task that were asked for
        self._run = 0
        self._slot: WrittenSlot | None = None
        self._stream: Stream | None = None
        self._cannot: Raised | None = None
        self._how: Fetching | None = None
        self._fetcher: Fetcher | None = None
        self._begin_failed: Raised | None = None

    def _prepare(self) -> None:
        job = self._job
        random.seed(job.seed)
        np.random.seed(job.seed & 0xFFFFFFFF)
        torch.manual_seed(job.seed)
        when = "receiving the dataset"
        try:
            how, init = job.fetching, job.init
            if isinstance(how, Parcel):
                how, init = how.open()
            assert isinstance(how, Fetching)
            _set_worker_info(job, how.dataset)
            collating.use_in_worker(self._allocate)
            when = "calling worker_init_fn"
            if init is not None:
                init(job.worker)
            self._how = how
            at = memoryview(mmap.mmap(job.file.fd, AT)).cast("q")
            self._fetcher = Fetcher(how, at)
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            self._cannot = raised(failure, when)

    def _allocate(self, size: int) -> memoryview:
        assert self._slot is not None
        return self._slot.allocate(size)

    def run(self) -> None:
        """Until the program closes its side, or is not there."""
        self._prepare()
        program = multiprocessing.parent_process()
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        buffer = bytearray(1 << 16)
        while True:
            if not poll.poll(_LOOK_MS):
                if program is not None and not program.is_alive():
                    return
                continue
            try:
                size = self._socket.recv_into(buffer)
            except OSError:
                return
            if size == 0:
                return
            message = self._read(memoryview(buffer)[:size])
            with contextlib.suppress(BrokenPipeError):
                if isinstance(message, Begin):
                    self._begin(message)
                elif (message.number, message.task) > self._last:
                    self._last = message.number, message.task
                    self._answer(message)

    def _read(self, content: memoryview) -> Begin | Ask:
        """A message; a long one is in the slot whose number is sent."""
        if content.nbytes == INDIRECT.size:
            _, slot, _, length = INDIRECT.unpack(content)
            memory = self._slot_of(slot)
            memory.clear()
            content = memory.allocate(length)
        found: Begin | Ask = pickle.loads(content)
        return found

    def _slot_of(self, number: int) -> WrittenSlot:
        found = self._slots.get(number)
        if found is None:
            found = self._slots[number] = WrittenSlot(self._job.file, number)
        return found

    def _begin(self, begin: Begin) -> None:
        self._run, self._stream, self._begin_failed = begin.number, None, None
        if self._how is None or not self._how.is_iterable:
            return
        try:
            self._stream = Stream(self._how, begin.key, begin.place, begin.epoch)
        except Exception as failure:  # noqa: BLE001
            self._begin_failed = raised(failure)

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
            kind, value = "raised", raised(failure)
        if self._stream is not None:
            at = self._stream.place()
        try:
            content, buffers = pack(value)
        except Exception as failure:  # noqa: BLE001
            kind = "raised"
            content, buffers = pack(raised(failure, "pickling a batch"))
        places = [slot.place(buffer) for buffer in buffers]
        place, size = (0, 0), slot.size
        if len(content) > LONG // 2:
            place = slot.place(memoryview(content))
            content, size = b"", slot.size
        self._send(ask.slot, Made(
            ask.number, ask.task, ask.slot, kind, content, place, places, size, at,
            time.perf_counter() - begin, time.process_time() - cpu,
        ))  # fmt: skip

    def _send(self, slot: int, made: Made) -> None:
        content = pickle.dumps(made)
        if len(content) <= LONG:
            self._socket.sendall(LENGTH.pack(len(content)) + content)
            return
        offset, size = self._slot_of(slot).place(memoryview(content))
        self._socket.sendall(INDIRECT.pack(-1, slot, offset, size))
