"""Worker processes of an op: several processes run a Python function at the same time."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..errors import CancelledError, CorruptDataError, UnsupportedError, UserFunctionError
from ..native import CData
from ..native.calls import interrupts, waits_for
from ..nodes.row_types import RowType
from ..workers import inside, pool
from ..workers.pool import Worker, WorkerEnded
from ..workers.remote_errors import RemoteTraceback, raised_there
from . import worker_calls
from .tensors import Runner, Told
from .worker_calls import (
    Done,
    Failed,
    RowsPlace,
    Sending,
    Sent,
    Task,
    first_line_again,
    send,
    take_output,
)

Array = npt.NDArray[Any]
IsCancelled = Callable[[], bool]

_PIECE_SECONDS = 0.001  # the least work of a piece into which rows are divided


class Pool(pool.Pool):
    """The worker processes of an op, for all loaders that use it.

    Memory: each worker has room for the largest range of rows that it has computed (for a function
    of batches: the largest batch), with inputs and outputs.
    """

    def __init__(self, runner: Runner, processes: int) -> None:
        super().__init__(worker_calls.__name__, self._first_message, processes)
        self._runner = runner
        self._how = {
            "said": runner.said,
            "outputs": runner.outputs,
            "from_host": runner.from_host,
            "is_batch": runner.is_batch,
            "switches": runner.switches,
        }
        self.processes = processes
        self._cannot_start: Failed | None = None  # the answer of every process
        self.row_seconds = 0.0  # time of a row in a worker; 0: not known
        self.row_wait_seconds = 0.0  # the part in which it does not compute
        self.starts: list[tuple[float, float] | None] = []  # waits of first calls, see Resource

    # ---- Life -----------------------------------------------------------------------------------

    def check(self) -> Sent:
        """The function in the form that workers receive.

        Raises:
            InvalidArgumentError: It cannot be sent to a process.
        """
        return send(self._runner.function, self._runner.said)

    def acquire(self) -> None:
        """Starts the processes, for the first loader."""
        if inside.is_worker:
            raise UnsupportedError(
                "a worker process of a Python op opens a DataLoader with processes of its own: the "
                "main module was imported there. What the program does belongs under "
                "if __name__ == '__main__':"
            )
        super().acquire()

    def first_line_again(self) -> str:
        """As `nodes.python_ops.Resource` says."""
        return first_line_again(self.check())

    def has_started(self, seconds: float) -> bool:
        """As `nodes.python_ops.Resource` says; a process that has not started in time is ended."""
        until, taken = time.monotonic() + seconds, list[Worker]()
        while (one := self.take(0)) is not None:
            taken.append(one)
        try:
            for one in taken:
                one.start()
                with contextlib.suppress(WorkerEnded):  # the first call says how
                    one.give(b"")
            while time.monotonic() < until and not all(one.is_ready() for one in taken):
                pass
            return all(one.is_ready() for one in taken)
        finally:
            for one in taken:
                if one.is_ready():
                    with contextlib.suppress(WorkerEnded):
                        one.take()
                self.give_back(one)

    def _first_message(self) -> bytes:
        self._cannot_start = None
        self.starts.append(None)
        return pickle.dumps((self.check(), self._how))

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
            ids, keys: Arrays with an entry for each row, if the function takes `ids` and `rng`.

        Raises:
            BaseException: The exception of the function; or a worker has ended.
        """
        num_rows, scratch = args.num_rows, args.scratch

        def is_cancelled() -> bool:
            interrupt = interrupts.get(threading.get_ident())
            if interrupt is not None:  # this thread must raise it
                raise interrupt
            return bool(args.host.is_cancelled(scratch)) or not self.is_open

        workers: list[Worker] = []
        try:
            self._take_workers(workers, num_rows, is_cancelled)
            if self._cannot_start is not None:
                raise _exception(self._cannot_start, self._runner.said)
            ends = [num_rows * (i + 1) // len(workers) for i in range(len(workers))]
            pieces = [
                _Piece(self._runner.said, one, args, begin, end - begin, inputs, outputs)
                for one, begin, end in zip(workers, [0, *ends], ends, strict=False)
            ]
            begin = time.monotonic()
            for piece in pieces:
                piece.start(keywords, ids, keys)
            for piece in pieces:
                piece.finish(is_cancelled)
            end = time.monotonic()
        finally:
            for one in workers:
                self.give_back(one)
        for piece in pieces:
            if piece.failure is not None:
                self._cannot_start = self._cannot_start or piece.cannot_start
                raise piece.failure
        if self.starts[-1] is None:
            self.starts[-1] = begin, end - max(piece.seconds for piece in pieces)
        weight = 0.2 if self.row_seconds else 1
        seconds = sum(piece.seconds for piece in pieces) / num_rows
        waited = sum(piece.wait_seconds for piece in pieces) / num_rows
        self.row_seconds += (seconds - self.row_seconds) * weight
        self.row_wait_seconds += (waited - self.row_wait_seconds) * weight

    def _take_workers(
        self, taken: list[Worker], num_rows: int, is_cancelled: IsCancelled
    ) -> None:
        """Waits for a free worker, and takes other free ones if the rows are worth it."""
        most = num_rows if not self._runner.is_batch else 1
        if self.row_seconds:
            most = min(most, int(num_rows * self.row_seconds / _PIECE_SECONDS))
        while not taken:
            if is_cancelled():
                raise CancelledError("the batch was given up")
            one = self.take()
            taken += [one] if one is not None else []
        while len(taken) < most and (one := self.take(0)) is not None:
            taken.append(one)


class _DiedOfRow(CorruptDataError, Told):
    """A process ended in the call for a row: `on_error` decides, as for an exception of the call.
    """


@dataclass
class _Piece:
    """Rows of a call, and the worker that computes them.

    Attributes:
        failure: The death of the worker, or the exception of its function.
        cannot_start: The answer of a worker that cannot import the function.
        seconds, wait_seconds: The times in the answer.
    """

    _said: str
    _worker: Worker
    _args: CData
    _begin: int
    _num_rows: int
    _inputs: Sequence[RowType]
    _outputs: Sequence[RowType]
    failure: BaseException | None = None
    cannot_start: Failed | None = None
    seconds: float = 0.0
    wait_seconds: float = 0.0

    def start(self, keywords: dict[str, Any], ids: Array | None, keys: Array | None) -> None:
        first, n, args = self._begin, self._num_rows, self._args
        self._worker.start()
        memory = self._worker.memory
        sending = Sending(memory)
        inputs = [
            sending.input(args.inputs[index], declared, first, n)
            for index, declared in enumerate(self._inputs)
        ]
        own_ids, own_keys = (
            None if array is None else RowsPlace(sending.numbers(array[first : first + n]))
            for array in (ids, keys)
        )
        outputs = [sending.output(declared, n) for declared in self._outputs]
        memory.place[0] = -1
        task = Task(
            memory.size, sending.end, n, inputs, self._inputs, outputs, self._outputs,
            own_ids, own_keys, keywords,
        )  # fmt: skip
        try:
            self._worker.give(pickle.dumps(task))
        except WorkerEnded:
            self._fail(self._death(-1), -1)

    def finish(self, is_cancelled: IsCancelled) -> None:
        """Takes the outputs, or notes the failure."""
        if self.failure is not None:
            return
        if not self._worker.is_ready():
            self._wait(is_cancelled)
        try:
            answer: Done | Failed = pickle.loads(self._worker.take())
        except WorkerEnded:
            row = self._worker.memory.place[0]
            self._fail(self._death(row), row)
            return
        if isinstance(answer, Failed):
            self.cannot_start = None if answer.has_started else answer
            self._fail(_exception(answer, self._said), answer.row)
            return
        self.seconds, self.wait_seconds = answer.seconds, answer.wait_seconds
        self._worker.memory.follow(answer.memory_size)
        for index, declared in enumerate(self._outputs):
            take_output(
                self._worker.memory, answer.outputs[index], declared, self._args,
                self._args.outputs[index], self._begin, self._num_rows,
            )  # fmt: skip

    def _wait(self, is_cancelled: IsCancelled) -> None:
        me = threading.get_ident()
        waits_for[me] = f"process {self._worker.pid} has rows of {self._said}()"
        try:
            while not self._worker.is_ready():
                if is_cancelled():
                    raise CancelledError("the batch was given up")
        finally:
            waits_for.pop(me, None)

    def _death(self, row: int) -> Told:
        """The error for the end of the process; if its current row may be the cause, the row counts
        as damaged.
        """
        kind = _DiedOfRow if row >= 0 and not self._worker.was_ended() else Told
        return kind(
            f"a process of {self._said}() (pid {self._worker.pid}) {self._worker.how_it_ended()}; "
            "the next rows have a new one"
        )

    def _fail(self, failure: BaseException, row: int) -> None:
        """Notes a failure at a row of the piece; -1: at no row."""
        row = row + self._begin if row >= 0 else row
        BaseException.__setattr__(failure, "pyflowdata_row", row)
        self.failure = failure


def _exception(raised: Failed, said: str) -> BaseException:
    """The exception of the function in the process, or a description of it."""
    error = raised.error
    failure = raised_there(error)
    if not raised.has_started:
        failure = UserFunctionError(
            f"a process cannot import {said}(), which raised {error.said}"
        )
    elif failure is None:
        place = f" ({raised.place})" if raised.place else ""
        failure = UserFunctionError(f"{said}() raised {error.said}{place}")
    if not isinstance(failure, Told):
        kind = error.said.partition(":")[0]
        failure.__cause__ = RemoteTraceback(
            f"Caught {kind} in a worker process of {said}().\nOriginal {error.trace}"
        )
    BaseException.__setattr__(failure, "pyflowdata_place", raised.place)
    return failure
