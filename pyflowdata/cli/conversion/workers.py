"""The tasks of a conversion: in this process, or in several."""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable

from ...errors import UserFunctionError
from ...plugins import load_library
from ...workers.inside import Send
from ...workers.pool import Pool, Worker, WorkerEnded, answered
from ...workers.remote_errors import RemoteError, RemoteTraceback, raised_there, remote_error
from ...workers.shared_memory import SharedMemory
from .plan import Conversion
from .shards import Task, write_shards

_LOOK_MS = 200  # how often the progress is told


def run_tasks(
    conversion: Conversion, tasks: list[Task], jobs: int, progress: Callable[[int], None]
) -> None:
    """Runs tasks in this process, or in several.

    Args:
        conversion: Is told what is finished.
        tasks: What to do.
        jobs: How many processes at most.
        progress: Called now and then with the records that are written.
    """
    if jobs == 1 or len(tasks) <= 1:
        add = _counter(progress)
        for task in tasks:
            write_shards(task, add, conversion.note, conversion.note_left_out)
        return
    origin = conversion.source.format.origin
    plugins = [origin] if os.path.isfile(origin) else []  # "built in" for most
    count = min(jobs, len(tasks))
    pool = Pool(__name__, lambda: pickle.dumps(plugins), count, has_session=False)
    pool.acquire()
    try:
        _run_in(pool, conversion, tasks, progress)
    finally:
        pool.release()


def _counter(told: Callable[[int], None]) -> Callable[[int], None]:
    """What adds up, and tells the sum."""
    total = 0

    def count(records: int) -> None:
        nonlocal total
        total += records
        told(total)

    return count


def _run_in(
    pool: Pool, conversion: Conversion, tasks: list[Task], progress: Callable[[int], None]
) -> None:
    waiting, busy = deque(tasks), dict[Worker, Task]()
    while waiting or busy:
        while waiting and (one := pool.take(0)) is not None:
            busy[one] = waiting.popleft()
            _give(one, busy[one])
        ready = answered(busy, _LOOK_MS)
        progress(sum(one.memory.place[0] for one in pool.workers))
        for one in ready:
            counts = _take(one)
            pool.give_back(one)
            for (number, _, _), records in zip(busy.pop(one).shards, counts, strict=True):
                conversion.note(number, records)


def _give(one: Worker, task: Task) -> None:
    try:
        one.give(pickle.dumps(task))
    except WorkerEnded:
        raise _death(one) from None


def _take(one: Worker) -> list[int]:
    """The records of each shard of a task."""
    try:
        answer: list[int] | RemoteError = pickle.loads(one.take())
    except WorkerEnded:
        raise _death(one) from None
    if isinstance(answer, RemoteError):
        failure = raised_there(answer) or UserFunctionError(answer.said)
        raise failure from RemoteTraceback(answer.trace)
    return answer


def _death(one: Worker) -> UserFunctionError:
    return UserFunctionError(f"a process of the conversion (pid {one.pid}) {one.how_it_ended()}")


# ---- In a worker --------------------------------------------------------------------------------


def begin(content: bytes, memory: SharedMemory, send: Send) -> Callable[[bytes], None]:
    """What answers pickled tasks, for pyflowdata.workers.

    Args:
        content: The files of plugins, pickled.
        memory: Its number is that of the records that this worker has written.
    """
    for library in pickle.loads(content):
        load_library(library)
    place = memory.place

    def count(total: int) -> None:
        place[0] = total

    add = _counter(count)

    def answer(message: bytes) -> None:
        found: list[int] | RemoteError
        try:
            found = write_shards(pickle.loads(message), add)
        except BaseException as failure:  # noqa: BLE001  (the program raises it)
            found = remote_error(failure, failure.__traceback__)
        send(pickle.dumps(found))

    return answer
