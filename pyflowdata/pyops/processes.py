"""Worker processes of an op: a Python function that several processes run side by side.

A worker is a new Python process, never a fork of this one, which has threads.  It has a connection
for small messages and a piece of shared memory for rows.  It ends when its connection does: with
the last loader that uses the op, and with this process.
"""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import multiprocessing.spawn
import os
import pickle
import queue
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from ..errors import CancelledError, UnsupportedError, UserFunctionError
from ..nodes.row_types import RowType
from ..native import CData
from ..native.calls import interrupts, waits_for
from . import worker
from .runner import Runner
from .sending import Sent, send
from .shared_rows import Place, Sending, SharedMemory, take_output
from .shared_task import Done, Raised, Task
from .tensors import Told

Array = npt.NDArray[Any]

_LOOK_MS = 20  # how often a wait looks whether it is still of use
_PIECE_SECONDS = 0.001  # rows are not divided into pieces of less work than this
_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from pyflowdata.pyops.worker import main; "
    "main({connection}, {memory})"
)
# NumPy's own threads, one set for each worker, would compete for the cores.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class RemoteTraceback(Exception):
    """The `__cause__` of an exception that a worker raised: its traceback there, as text."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _new_process(connection: int, memory: int) -> subprocess.Popen[bytes]:
    """A process with these two files."""
    program = _PROGRAM.format(path=sys.path, connection=connection, memory=memory)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return subprocess.Popen(
        [os.fsdecode(multiprocessing.spawn.get_executable()), *flags, "-c", program],
        env={**dict.fromkeys(_ONE_THREAD, "1"), **os.environ},
        stdin=subprocess.DEVNULL,
        pass_fds=(connection, memory),
        start_new_session=True,  # Ctrl-C is for the program
    )


class _Worker:
    """One worker process, which is started when it is needed.  One thread at a time uses it.

    Attributes:
        memory: What it shares with this process.
        is_pending: Whether it was given a task, and has not answered.
    """

    def __init__(self, said: str) -> None:
        self._said = said
        self.is_pending = False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._poll: select.poll = select.poll()
        self.memory = SharedMemory()

    def start(self, begin: bytes) -> None:
        """Starts the process if it does not run."""
        if self._process is not None:
            return
        self.stop()
        memory = SharedMemory()
        memory.grow(1)
        mine, other = multiprocessing.connection.Pipe()
        poll = select.poll()
        poll.register(mine.fileno(), select.POLLIN)
        process = None
        try:
            process = _new_process(other.fileno(), memory.fd)
            with contextlib.suppress(OSError):  # it is dead already, which the first task finds
                mine.send_bytes(begin)
        except BaseException:
            mine.close()
            memory.close()
            if process is not None:
                process.kill()
                process.wait()
            raise
        finally:
            other.close()
        self.memory, self._connection, self._poll = memory, mine, poll
        self._process = process

    def stop(self) -> None:
        """Ends the process, also in the middle of a call."""
        process, self._process = self._process, None
        self.is_pending = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.memory.close()
        if process is not None:
            process.kill()
            process.wait()

    def forget(self) -> None:
        """In a forked child, whose parent has the process."""
        self._process = None
        self.stop()

    def give(self, task: Task) -> None:
        """Sends a task.

        Raises:
            Told: The process has ended.
        """
        content = pickle.dumps(task)
        self.is_pending = True
        try:
            self._connection.send_bytes(content)
        except OSError:
            raise self._ended(-1) from None

    def take(self, is_cancelled: Callable[[], bool]) -> Done | Raised:
        """The answer to the task.

        Raises:
            CancelledError: The loader is closing.
            Told: The process has ended.
        """
        if not self._poll.poll(_LOOK_MS):
            self._wait(is_cancelled)
        try:
            answer: Done | Raised = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            raise self._ended(self.memory.at_row[0]) from None
        self.is_pending = False
        return answer

    def _wait(self, is_cancelled: Callable[[], bool]) -> None:
        assert self._process is not None
        me = threading.get_ident()
        waits_for[me] = f"process {self._process.pid} has rows of {self._said}()"
        try:
            while not self._poll.poll(_LOOK_MS):
                if is_cancelled():
                    raise CancelledError("the batch was given up")
        finally:
            waits_for.pop(me, None)

    def _ended(self, row: int) -> Told:
        assert self._process is not None
        try:
            status = self._process.wait(5)
        except subprocess.TimeoutExpired:  # it has closed its connection, and goes on
            status = 0
        how = f"ended with exit status {status}"
        if status < 0:
            how = f"was killed by {_signal_name(-status)}"
            if status == -signal.SIGKILL:
                how += "; the system was probably out of memory"
        failure = Told(
            f"a process of {self._said}() (pid {self._process.pid}) {how}; the next batch has a "
            "new one"
        )
        failure.pyflowdata_row = row  # type: ignore[attr-defined]
        return failure


    def exception(self, raised: Raised) -> BaseException:
        """What the function raised in the process, or a description of it."""
        failure: BaseException
        try:
            failure = pickle.loads(raised.failure)
            assert isinstance(failure, BaseException)
        except Exception:  # noqa: BLE001  (what a user's class raises)
            failure = UserFunctionError(
                f"{self._said}() raised {raised.said} ({raised.place})"
            )
        if not raised.has_begun:
            failure = UserFunctionError(
                f"a process cannot import {self._said}(), which raised {raised.said}"
            )
        if not isinstance(failure, Told):
            failure.__cause__ = RemoteTraceback(raised.trace)
        BaseException.__setattr__(failure, "pyflowdata_row", raised.row)
        BaseException.__setattr__(failure, "pyflowdata_place", raised.place)
        return failure


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Pool:
    """The worker processes of an op, for all loaders that use it.

    Memory: each worker has room for the largest range of rows that it has had, of a function that
    takes batches for the largest batch, with inputs and outputs.
    """

    def __init__(self, runner: Runner, processes: int) -> None:
        self._runner = runner
        self._how = {
            "said": runner.said,
            "outputs": runner.outputs,
            "from_host": runner.from_host,
            "is_batch": runner.is_batch,
        }
        self.processes = processes
        self._lock = threading.Lock()
        self._users = 0
        self._begin = b""
        self._workers: list[_Worker] = []
        self._free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        self._cannot_begin: Raised | None = None  # as every process would say
        self._row_seconds = 0.0  # what a row takes in a worker; 0: not known
        _pools.add(self)

    # ---- Life -----------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a loader uses it."""
        return self._users > 0

    def check(self) -> Sent:
        """What workers need to have the function.

        Raises:
            InvalidArgumentError: It cannot be sent to a process.
        """
        return send(self._runner.function, self._runner.said)

    def acquire(self) -> None:
        """Starts the processes, for the first loader."""
        if worker.is_worker:
            raise UnsupportedError(
                "a worker process of a Python op opens a DataLoader with processes of its own: the "
                "main module was imported there. What the program does belongs under "
                "if __name__ == '__main__':"
            )
        with self._lock:
            if self._users == 0:
                self._cannot_begin = None
                self._begin = pickle.dumps((self.check(), self._how))
                self._workers = [_Worker(self._runner.said) for _ in range(self.processes)]
                self._free = queue.SimpleQueue()
                try:
                    for one in self._workers:
                        one.start(self._begin)
                        self._free.put(one)
                except BaseException:
                    self._stop()
                    raise
            self._users += 1

    def release(self) -> None:
        """Ends the processes, with the last loader."""
        with self._lock:
            if self._users > 0:
                self._users -= 1
                if self._users == 0:
                    self._stop()

    def _stop(self) -> None:
        workers, self._workers = self._workers, []
        for one in workers:
            one.stop()

    def forget(self) -> None:
        """In a forked child, which has none of the processes."""
        self._lock = threading.Lock()
        self._users = 0
        workers, self._workers = self._workers, []
        for one in workers:
            one.forget()

    # ---- Calls ----------------------------------------------------------------------------------

    def run(
        self,
        args: CData,
        keywords: dict[str, Any],
        inputs: Sequence[RowType],
        outputs: Sequence[RowType],
        ids: Array | None,
        keys: Array | None,
    ) -> None:
        """Computes the outputs of a `pfd_compute_args`.

        Args:
            keywords: The attrs.
            inputs, outputs: Their types.
            ids, keys: Of the rows, for functions that take `ids` and `rng`.

        Raises:
            BaseException: What the function raised; or a worker has ended.
        """
        num_rows, scratch = args.num_rows, args.scratch

        def is_cancelled() -> bool:
            interrupt = interrupts.get(threading.get_ident())
            if interrupt is not None:  # this thread is to raise it, as soon as it returns
                raise interrupt
            return bool(args.host.is_cancelled(scratch)) or not self.is_open

        workers: list[_Worker] = []
        try:
            self._take_workers(workers, num_rows, is_cancelled)
            if self._cannot_begin is not None:
                raise workers[0].exception(self._cannot_begin)
            ends = [num_rows * (i + 1) // len(workers) for i in range(len(workers))]
            pieces = [
                _Piece(one, args, begin, end - begin, inputs, outputs)
                for one, begin, end in zip(workers, [0, *ends], ends, strict=False)
            ]
            for piece in pieces:
                piece.start(self._begin, keywords, ids, keys)
            for piece in pieces:
                piece.finish(is_cancelled)
        finally:
            self._give_back(workers)
        for piece in pieces:
            if piece.failure is not None:
                self._cannot_begin = self._cannot_begin or piece.cannot_begin
                raise piece.failure
        seconds = sum(piece.seconds for piece in pieces) / num_rows
        self._row_seconds += (seconds - self._row_seconds) * (0.2 if self._row_seconds else 1)

    def _give_back(self, workers: Sequence[_Worker]) -> None:
        for one in workers:
            if one.is_pending:  # it may still be at work
                one.stop()
            if one in self._workers:
                self._free.put(one)

    def _take_workers(
        self, taken: list[_Worker], num_rows: int, is_cancelled: Callable[[], bool]
    ) -> None:
        """Takes a worker as soon as one is free, and others that are, if the rows are worth it."""
        most = num_rows if not self._runner.is_batch else 1
        if self._row_seconds:
            most = min(most, int(num_rows * self._row_seconds / _PIECE_SECONDS))
        while not taken:
            if is_cancelled():
                raise CancelledError("the batch was given up")
            with contextlib.suppress(queue.Empty):
                taken.append(self._free.get(timeout=_LOOK_MS / 1000))
        with contextlib.suppress(queue.Empty):
            while len(taken) < most:
                taken.append(self._free.get_nowait())


class _Piece:
    """Some rows of a call, and the worker that has them.

    Attributes:
        failure: Of the worker, or of its function.
        cannot_begin: What it says if it cannot import the function.
        seconds: How long the worker took.
    """

    def __init__(
        self,
        given: _Worker,
        args: CData,
        begin: int,
        num_rows: int,
        inputs: Sequence[RowType],
        outputs: Sequence[RowType],
    ) -> None:
        self._worker = given
        self._args = args
        self._begin = begin
        self._num_rows = num_rows
        self._inputs = inputs
        self._outputs = outputs
        self.failure: BaseException | None = None
        self.cannot_begin: Raised | None = None
        self.seconds = 0.0

    def start(
        self, begin: bytes, keywords: dict[str, Any], ids: Array | None, keys: Array | None
    ) -> None:
        """Gives the worker its rows."""
        first, n, args = self._begin, self._num_rows, self._args
        self._worker.start(begin)
        memory = self._worker.memory
        sending = Sending(memory)
        inputs = [
            sending.input(args.inputs[index], declared, first, n)
            for index, declared in enumerate(self._inputs)
        ]
        own_ids, own_keys = (
            None if array is None else Place(sending.numbers(array[first : first + n]))
            for array in (ids, keys)
        )
        outputs = [sending.output(declared, n) for declared in self._outputs]
        memory.at_row[0] = -1
        task = Task(
            memory.size, sending.end, n, inputs, self._inputs, outputs, self._outputs,
            own_ids, own_keys, keywords,
        )  # fmt: skip
        try:
            self._worker.give(task)
        except Told as failure:
            self.failure = failure

    def finish(self, is_cancelled: Callable[[], bool]) -> None:
        """Takes the outputs, or notes the failure."""
        if self.failure is not None:
            return
        try:
            answer = self._worker.take(is_cancelled)
        except Told as failure:
            self._fail(failure)
            return
        if isinstance(answer, Raised):
            self.cannot_begin = None if answer.has_begun else answer
            self._fail(self._worker.exception(answer))
            return
        self.seconds = answer.seconds
        self._worker.memory.follow(answer.memory_size)
        for index, declared in enumerate(self._outputs):
            take_output(
                self._worker.memory, answer.outputs[index], declared, self._args,
                self._args.outputs[index], self._begin, self._num_rows,
            )  # fmt: skip

    def _fail(self, failure: BaseException) -> None:
        row = getattr(failure, "pyflowdata_row", -1)
        if row >= 0:
            BaseException.__setattr__(failure, "pyflowdata_row", row + self._begin)
        self.failure = failure


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def _forget_all() -> None:
    for pool in list(_pools):
        pool.forget()


os.register_at_fork(after_in_child=_forget_all)
