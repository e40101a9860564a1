"""Worker processes of a DataLoader, from the program."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import select
import socket
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .... import UserFunctionError
from ....workers.pool import end_together, forget_in_forks, killed_by
from ....workers.remote_errors import RemoteTraceback, begins_as_torchs, raised_there
from ....workers.shared_memory import SharedFile
from .fetching import Fetching
from .worker_main import (
    FIRST_PAGE,
    INDIRECT,
    LENGTH,
    LONG,
    POSITION,
    Answer,
    Ask,
    Begin,
    Job,
    RemoteFailure,
    main,
)
from .packing import NotPicklable, SharedPickle, SlotPool, pickle_to_memory, unpack
from .randomness import mixed

_CLOSE_SECONDS = 2.0  # for workers to end by themselves
_OWN = "pyflowdata.integrations.torch.data_loader.worker_main"


class WorkerError(UserFunctionError):
    """A worker process has died, or is too slow for `timeout`."""


def exception_of(found: RemoteFailure, worker: int) -> BaseException:
    """The exception of a worker, of its own class if it could be sent, with the text of torch's;
    its cause is the exception as it was raised."""
    where = f"in DataLoader worker process {worker}"
    if found.when:
        where += f", while {found.when}"
    kind = found.error.said.partition(":")[0]
    text = f"Caught {kind} {where}.\nOriginal {found.error.trace}"
    cause = raised_there(found.error)
    failure = begins_as_torchs(raised_there(found.error) or UserFunctionError(text), text)
    failure.__cause__ = cause or RemoteTraceback(found.error.trace)
    return failure


class _Process:
    """One worker.

    Attributes:
        number: From 0 to the number of workers.
        pending: Its tasks, with their slots.
        asked: The indices of each task.
    """

    def __init__(self, number: int, context: Any, job: Callable[..., Job]) -> None:
        self.number = number
        self.pending: dict[int, int] = {}
        self.asked: dict[int, Any] = {}
        self._unsent: list[bytes] = []
        self._begin_slot: int | None = None
        mine, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._file = SharedFile()
        self._buffer = bytearray(LONG + LENGTH.size)
        self.slots = SlotPool(self._file)
        os.ftruncate(self._file.fd, FIRST_PAGE)
        self.socket = mine
        forget_in_forks(self)
        theirs = SharedFile(other.detach())
        try:
            self.process = context.Process(
                target=main, args=(job(number, theirs, self._file),), daemon=True
            )
            with _quiet():
                self.process.start()
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()

    # ---- Messages ----

    def _send(self, content: bytes, slot: int) -> None:
        """Sends a message; a long message goes through a slot that the worker does not use."""
        if len(content) > LONG or len(content) == INDIRECT.size:
            self.slots.write(slot, content)
            content = INDIRECT.pack(-1, slot, 0, len(content))
        self._unsent.append(content)
        self.flush()

    def flush(self) -> None:
        """Sends as much as the connection takes; the rest follows when the worker has read. If
        Ctrl-C makes a message be sent twice, the worker ignores the second."""
        while self._unsent:
            try:
                self.socket.send(self._unsent[0], socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:  # it has ended: answers() raises
                self._unsent.clear()
                return
            self._unsent.pop(0)

    @property
    def events(self) -> int:
        """The events to wait for: answers, and room for unsent messages."""
        return select.POLLIN | select.POLLOUT if self._unsent else select.POLLIN

    def begin(self, begin: Begin) -> None:
        """Begins an epoch; tasks of the one before are dropped."""
        self.pending.clear()
        self.asked.clear()
        slot = self.slots.take()
        self._begin_slot = slot
        self._send(pickle.dumps(begin), slot)

    def ask(self, run: int, task: int, indices: Any, key: int) -> None:
        """Asks for a batch.

        Raises:
            Exception: The exception of pickle for indices that cannot be pickled.
        """
        slot = self.slots.take()
        try:
            content = pickle.dumps(Ask(run, task, slot, indices, key))
        except Exception:
            self.slots.give_back(slot)
            raise
        self.pending[task], self.asked[task] = slot, indices
        self._send(content, slot)

    def answers(self, run: int) -> list[Answer]:
        """The answers that have arrived, without waiting.

        Raises:
            EOFError: The process has ended.
        """
        found: list[Answer] = []
        while True:
            (size,) = LENGTH.unpack_from(self._buffer)
            if size == 0:
                try:
                    count = self.socket.recv_into(self._buffer, 0, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    return found
                except OSError:
                    count = 0
                if count == 0:
                    if found:
                        return found
                    raise EOFError
                (size,) = LENGTH.unpack_from(self._buffer)
            if size < 0:
                _, slot, offset, length = INDIRECT.unpack_from(self._buffer)
                content: Any = self.slots.copy(slot, offset, length)
            else:
                content = memoryview(self._buffer)[LENGTH.size : LENGTH.size + size]
            answer: Answer = pickle.loads(content)
            self._take(answer, run, found)
            LENGTH.pack_into(self._buffer, 0, 0)  # after Ctrl-C before this line it is read again

    def _take(self, answer: Answer, run: int, found: list[Answer]) -> None:
        if answer.number != run:
            self.slots.give_back(answer.slot)
            return
        if self._begin_slot is not None:
            slot, self._begin_slot = self._begin_slot, None
            self.slots.give_back(slot)
        if answer.task in self.pending:
            found.append(answer)

    def content(self, answer: Answer) -> Any:
        """The batch or exception of an answer; its slot is used again when the batch is
        collected."""
        slot = self.pending.pop(answer.task)
        self.asked.pop(answer.task, None)
        if not answer.size:
            self.slots.give_back(slot)
            return unpack(answer.content, ())
        memory = self.slots.read(slot, answer.size)
        buffers = [memory[begin : begin + size] for begin, size in answer.places]
        content: Any = answer.content
        if not content:
            begin, size = answer.place
            content = memory[begin : begin + size]
        return unpack(content, buffers)

    # ---- The end ----

    def death(self) -> WorkerError:
        """The error for the end of the process, with its status."""
        self.process.join(2)
        code, pid = self.process.exitcode, self.process.pid
        how = f"(pid(s) {pid}) exited unexpectedly with exit code {code}"
        if signal := killed_by(code).removeprefix("signal "):
            how = f"(pid {pid}) is killed by signal: {signal}"
        return WorkerError(f"DataLoader worker {how}{self._had()}")

    def _had(self) -> str:
        task = min(self.pending, default=None)
        asked = self.asked.get(task) if task is not None else None
        if asked is None:
            return ""
        try:
            (at,) = POSITION.unpack(os.pread(self._file.fd, POSITION.size, 0))
            if hasattr(asked, "__len__") and 0 <= at < len(asked):
                return f", while it fetched sample {asked[at]!r}"
            return f", while it made the batch of {_few(asked)}"
        except Exception:  # noqa: BLE001  (a repr() of the user's)
            return ""

    def forget(self) -> None:
        """In a fork of the program, also in a worker, which may have the same file."""
        self.socket.close()

    def close(self) -> None:
        self.socket.close()
        self._file.close()


def _few(indices: Any) -> str:
    if not hasattr(indices, "__len__"):
        return f"sample {indices!r}"
    shown = ", ".join(repr(one) for one in list(indices)[:3])
    return f"samples {shown}{', ...' if len(indices) > 3 else ''}"


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppresses Python's warning of a fork of threads: the fork does not need this package's
    threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def _end(pid: int, processes: list[_Process]) -> None:
    """Closes the connections, which ends the processes; in a fork of the program it only closes."""
    is_program = pid == os.getpid()
    for one in processes:
        if is_program:
            with contextlib.suppress(OSError):
                one.socket.shutdown(socket.SHUT_RDWR)
        one.close()
    if is_program:
        end_together([one.process for one in processes], _CLOSE_SECONDS)


class Workers:
    """The worker processes of a DataLoader.

    Attributes:
        processes: One for each worker.
        run: The number of the epoch's run.
        pid: The process of the program; a fork of it has no workers.
    """

    def __init__(
        self, how: Fetching, count: int, init: Callable[[int], Any] | None, context: Any, seed: int
    ) -> None:
        """Starts the processes.

        Args:
            how: How batches are made.
            count: The number of workers.
            init: worker_init_fn.
            context: A context of multiprocessing; None: its default.
            seed: Worker i has seed + i.

        Raises:
            InvalidArgumentError: The dataset cannot be sent.
        """
        self.run = 0
        self.pid = os.getpid()
        self.processes: list[_Process] = []
        self._end = weakref.finalize(self, _end, self.pid, self.processes)
        context, given = _context(context, how, init)

        def job(number: int, other: SharedFile, file: SharedFile) -> Job:
            own_init = None if isinstance(given, SharedPickle) else init
            seeded = (seed + number) & (2**63 - 1)
            return Job(number, count, seeded, given, own_init, other, file, list(sys.path))

        try:
            for number in range(count):
                self.processes.append(_Process(number, context, job))
        except BaseException:
            self.close()
            raise
        finally:
            if isinstance(given, SharedPickle):
                given.file.close()
        self._poll = select.poll()
        self._by_fd = {}
        self._events = [select.POLLIN] * count
        for one in self.processes:
            self._poll.register(one.socket.fileno(), select.POLLIN)
            self._by_fd[one.socket.fileno()] = one

    def begin(self, key: int, places: Sequence[Any], epoch: int | None) -> None:
        """Begins an epoch.

        Args:
            key: The key of the random numbers of iterable datasets.
            places: The place of each worker in an iterable dataset.
            epoch: As in Stream.
        """
        self.run += 1
        for one, place in zip(self.processes, places, strict=True):
            one.begin(Begin(self.run, mixed(key, one.number), place, epoch))

    def receive(self, wait_ms: int) -> list[tuple[_Process, Answer]]:
        """The answers that have arrived; waits at most this long for one.

        Raises:
            WorkerError: A process has ended.
        """
        found = []
        for one in self.processes:
            one.flush()
            if self._events[one.number] != one.events:
                self._events[one.number] = one.events
                self._poll.modify(one.socket.fileno(), one.events)
        for fd, _ in self._poll.poll(wait_ms):
            process = self._by_fd[fd]
            try:
                found += [(process, answer) for answer in process.answers(self.run)]
            except EOFError:
                raise process.death() from None
        return found

    @property
    def slot_pools(self) -> list[SlotPool]:
        """Shared memory for batches, of each process."""
        return [one.slots for one in self.processes]

    def close(self) -> None:
        """Ends the processes, which have a few seconds for that, all together."""
        self._end()


def _context(
    context: Any, how: Fetching, init: Callable[[int], Any] | None
) -> tuple[Any, Fetching | SharedPickle]:
    """A context of multiprocessing, and the argument for its processes."""
    is_default = context is None
    if is_default:
        context = multiprocessing.get_context()
    if context.get_start_method() == "fork":
        return context, how
    try:
        given = pickle_to_memory((how, init))
    except NotPicklable as failure:
        if not is_default or "fork" not in multiprocessing.get_all_start_methods():
            raise
        warnings.warn(f"{failure}; forks are used", RuntimeWarning, stacklevel=6)
        return multiprocessing.get_context("fork"), how
    _preload(context)
    return context, given


def _preload(context: Any) -> None:
    """Makes the server of new processes import torch once, if it does not run already."""
    if context.get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver

    server: Any = getattr(forkserver, "_forkserver", None)
    others = getattr(server, "_preload_modules", None)  # of the program: without them no preload
    if others is None or getattr(server, "_forkserver_pid", None) is not None:
        return
    if _OWN not in others:
        context.set_forkserver_preload([*others, _OWN])


def pin(batch: Any) -> Any:
    """A batch in pinned memory of torch's accelerator."""
    from torch.utils.data._utils.pin_memory import pin_memory

    accelerator = torch.accelerator.current_accelerator()
    return pin_memory(batch, accelerator.type if accelerator is not None else None)
