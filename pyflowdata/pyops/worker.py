"""The program of a worker process: calls a function over rows in shared memory, until its parent
closes the connection or is gone."""

from __future__ import annotations

import os
import pickle
import select
import signal
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from .callbacks import place_of, text_of
from .runner import Generators, Rows, Runner
from .sending import Sent, receive
from .shared_rows import SharedMemory, output_array, read_input, write_ragged_output
from .shared_task import IDS, KEYS, Done, Raised, Task
from .tensors import to_ragged

is_worker = False  # whether this process is one
_MOST_BYTES = 1 << 20  # of an exception


def main(connection: int, memory: int) -> None:
    """Serves tasks.

    Args:
        connection, memory: Numbers of files that this process has inherited.
    """
    global is_worker
    is_worker = True
    # A thread of a loader, in which signals are blocked, may have started this process.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    parent = Connection(connection)
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    try:
        worker = _Worker(SharedMemory(memory))
        worker.begin(pickle.loads(parent.recv_bytes()))
        while True:
            parent.send_bytes(worker.answer(parent.recv_bytes()))
    except (EOFError, OSError):  # the parent has closed the connection
        os._exit(0)


def _end_with_parent(connection: int) -> None:
    """Ends this process, also in a long call of the function, once the parent is gone."""
    poll = select.poll()
    poll.register(connection, 0)  # 0: only the end is of interest
    poll.poll()
    os._exit(0)


class _Worker:
    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self._runner: Runner | None = None
        self._failure: BaseException | None = None
        self._generators = Generators()

    def begin(self, given: tuple[Sent, dict[str, Any]]) -> None:
        """Imports the function; a failure is the answer to the first task."""
        sent, how = given
        try:
            self._runner = Runner(receive(sent), **how)
        except BaseException as failure:  # noqa: BLE001  (what the user's module raises)
            self._failure = failure

    def answer(self, content: bytes) -> bytes:
        """Pickled Done or Raised for a pickled Task."""
        try:
            if self._runner is None:
                assert self._failure is not None
                return _pickled(self._failure, has_begun=False)
            return pickle.dumps(self._run(self._runner, pickle.loads(content)))
        except BaseException as failure:  # noqa: BLE001  (what the user's function raises)
            return _pickled(failure, has_begun=True)

    def _run(self, runner: Runner, task: Task) -> Done:
        memory, n, started = self._memory, task.num_rows, time.perf_counter()
        memory.follow(task.memory_size)
        inputs: list[Rows] = []
        for place, declared in zip(task.inputs, task.input_types, strict=True):
            rows = read_input(memory, place, declared, n)
            if runner.is_batch and isinstance(rows, list):
                inputs.append(to_ragged(rows, declared))
            else:
                inputs.append(rows)
        ids, keys = (
            None if place is None else np.asarray(read_input(memory, place, declared, n))
            for place, declared in ((task.ids, IDS), (task.keys, KEYS))
        )
        outputs = [
            output_array(memory, place, declared, n)
            for place, declared in zip(task.outputs, task.output_types, strict=True)
        ]
        at_row = memory.at_row

        def note(row: int) -> None:
            at_row[0] = row

        def generator(row: int) -> Any:
            assert keys is not None
            return self._generators.of(*keys[row])

        ragged = iter(
            runner.run(
                inputs,
                n,
                task.keywords,
                ids,
                None if keys is None else generator,
                task.output_types,
                outputs,
                note,
            )
        )
        places, end = list(task.outputs), task.end
        for index, declared in enumerate(task.output_types):
            if declared.is_ragged:
                places[index], end = write_ragged_output(memory, end, next(ragged), declared)
        return Done(memory.size, places, time.perf_counter() - started)


def _pickled(failure: BaseException, *, has_begun: bool) -> bytes:
    trace = failure.__traceback__
    while trace is not None and trace.tb_next and _is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(failure), failure, trace))
    try:
        content = pickle.dumps(failure)
        pickle.loads(content)
    except BaseException:  # noqa: BLE001  (what a user's class raises)
        content = b""
    raised = Raised(
        content if len(content) <= _MOST_BYTES else b"",
        f"{type(failure).__name__}: {text_of(failure)}",
        text[-_MOST_BYTES:],
        place_of(trace),
        getattr(failure, "pyflowdata_row", -1),
        has_begun,
    )
    return pickle.dumps(raised)


def _is_own(file: str) -> bool:
    return os.path.dirname(file) == os.path.dirname(__file__)
