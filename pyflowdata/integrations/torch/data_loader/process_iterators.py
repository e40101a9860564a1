"""Batches that worker processes fetch."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .batch_tasks import END, FailedBatch, Task
from .fetching import StreamPlace
from .iterators import BatchIterator
from .randomness import mixed
from .messages import Answer
from .workers import Workers, exception_of, pin

_POLL_MS = 1000  # longest wait for answers before the timeout is looked at


class _ProcessIterator(BatchIterator):
    """What iterators over worker processes have in common.

    Attributes:
        _done: Answers that have arrived, by worker and task.
    """

    _workers: Workers | None = None

    def _begin_workers(self, key: int, places: list[Any]) -> None:
        if self._workers is None:
            self._workers = self._loader.take_workers()
        self._workers.begin(key, places, self._loader.told_epoch(self._progress))
        self._done: dict[int, tuple[Any, Any]] = {}  # task -> answer and batch, or FailedBatch
        self._pin_pool = ThreadPoolExecutor(1, "pyflowdata pin") if self._pins else None

    def _end(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            self._loader.give_back_workers(workers)

    def _fail(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _receive(self, *, waits: bool, since: float = 0.0) -> None:
        """Takes what has arrived."""
        assert self._workers is not None
        wait_ms = _POLL_MS if waits else 0
        timeout = self._loader.timeout
        if waits and timeout > 0:
            left = since + timeout - time.perf_counter()
            if left <= 0:
                raise self._timed_out()
            wait_ms = min(wait_ms, int(left * 1000) + 1)
        for process, answer in self._workers.receive(wait_ms):
            self._done[answer.task] = answer, self._content(process, answer)
            self._loader.counts.work(answer.seconds, answer.cpu_seconds)

    def _content(self, process: Any, answer: Answer) -> Any:
        try:
            content = process.content(answer)
        except Exception as failure:  # noqa: BLE001  (what unpickling a user's class raises)
            return FailedBatch(failure)
        if answer.kind == "raised":
            return FailedBatch(exception_of(content, process.number))
        if answer.kind == "ended":
            return END
        if self._pin_pool is not None:
            return self._pin_pool.submit(pin, content)
        return content

    def _taken(self, task: int) -> tuple[Any, Any]:
        answer, batch = self._done.pop(task)
        return answer, batch.result() if isinstance(batch, Future) else batch


class ProcessIterator(_ProcessIterator):
    """Worker processes fetch batches of a map-style dataset."""

    def _begin(self) -> None:
        self._begin_order()
        self._begin_workers(0, [None] * self._loader.num_workers)
        self._tasks: deque[Task] = deque()
        self._turn = 0
        self._fill()

    def _fill(self) -> None:
        assert self._workers is not None
        processes = self._workers.processes
        while len(self._tasks) < self._loader.most_ahead:
            task = self._take_indices()
            if task is None:
                return
            self._tasks.append(task)
            count, turn = len(processes), self._turn
            one = min(
                (processes[(turn + i) % count] for i in range(count)),
                key=lambda process: len(process.pending),
            )
            self._turn = (one.number + 1) % count
            try:
                one.ask(self._workers.run, task.number, task.indices, task.key)
            except Exception as failure:  # noqa: BLE001  (what pickling a user's class raises)
                self._done[task.number] = None, FailedBatch(failure)

    def _next(self) -> Any:
        if not self._tasks:
            return END
        since = time.perf_counter()
        self._receive(waits=False)
        while (task := self._ready()) is None:
            self._receive(waits=True, since=since)
        self._tasks.remove(task)
        _, batch = self._taken(task.number)
        self._task = task
        self._fill()
        return batch

    def _deliver(self) -> None:
        self._deliver_task()

    def _ready(self) -> Task | None:
        for task in self._tasks:
            if task.number in self._done:
                return task
            if self._loader.in_order:
                return None
        return None


class StreamIterator(_ProcessIterator):
    """Worker processes read an iterable dataset, each with an iterator of its own; their batches
    take turns."""

    def _begin(self) -> None:
        loader, progress = self._loader, self._progress
        count = loader.num_workers
        places = loader.check_streams(progress, count)
        self._begin_workers(mixed(loader.seed, progress.epoch, loader.rank), places)
        self._places = [place or StreamPlace(0, None, False) for place in places]
        self._waiting: list[deque[int]] = [deque() for _ in range(count)]
        self._active = [number for number in range(count) if not _is_over(self._places[number])]
        self._asked = 0
        self._ended: dict[int, StreamPlace] = {}  # where workers were at the end
        self._next_worker = progress.worker
        self._fill()

    def _fill(self) -> None:
        assert self._workers is not None
        each = max(1, self._loader.prefetch_factor or 1)
        for turn in range(each):
            for number in self._active:
                if len(self._waiting[number]) <= turn and len(self._waiting[number]) < each:
                    self._waiting[number].append(self._asked)
                    process = self._workers.processes[number]
                    process.ask(self._workers.run, self._asked, None, 0)
                    self._asked += 1

    def _next(self) -> Any:
        since = time.perf_counter()
        self._receive(waits=False)
        while self._active:
            number = self._whose_turn()
            task = self._waiting[number][0]
            while task not in self._done:
                self._receive(waits=True, since=since)
                if not self._loader.in_order and task not in self._done:
                    break
            if task not in self._done:
                number = self._any_done(number)
                task = self._waiting[number][0]
                if task not in self._done:
                    continue
            self._waiting[number].popleft()
            answer, batch = self._taken(task)
            if answer.at is not None:
                self._places[number] = answer.at
            self._next_worker = (number + 1) % self._loader.num_workers
            if batch is END:
                self._active.remove(number)
                self._ended[number] = self._places[number]
                self._places[number] = self._places[number]._replace(batches=-1, has_ended=True)
                continue
            self._fill()
            return batch
        self._note_end()
        return END

    def _note_end(self) -> None:
        """Datasets with a state, which their workers keep, begin the next epoch with it."""
        states = [place.state for place in self._ended.values()]
        kept = self._loader.persistent_workers and len(states) == self._loader.num_workers
        if kept and all(state is not None and state[0] == "dataset" for state in states):
            self._progress.after_streams = [
                StreamPlace(0, self._ended[number].state, False) for number in sorted(self._ended)
            ]

    def _deliver(self) -> None:
        progress = self._progress
        progress.streams, progress.worker = list(self._places), self._next_worker
        progress.position += 1

    def _whose_turn(self) -> int:
        count = self._loader.num_workers
        turns = ((self._next_worker + i) % count for i in range(count))
        return next(number for number in turns if number in self._active)

    def _any_done(self, otherwise: int) -> int:
        found = (one for one in self._active if self._waiting[one][0] in self._done)
        return next(found, otherwise)


def _is_over(place: StreamPlace) -> bool:
    """The worker has said that its dataset is at its end."""
    return place.batches < 0
