"""Iterators over the batches of one epoch: this process fetches them, or worker processes do."""

from __future__ import annotations

import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .engine import Engine
from .fetching import Ended, Fetcher, Stream, StreamPlace
from .progress import EpochProgress
from .randomness import OwnGenerators, mixed, note_key, noted_key, turns
from .samplers import SamplerIterator
from .worker_main import Answer
from .workers import WorkerError, Workers, exception_of, pin

# ---- Tasks --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Task:
    """A batch that is to be made.

    Attributes:
        number: Its number in the epoch.
        indices: The indices of its samples.
        key: The key of its random numbers.
        sampler: State of the program's sampler after it.
    """

    number: int
    indices: Any
    key: int
    sampler: Any


class _TimedOut(WorkerError):
    """A batch takes longer than `timeout`; the next next() waits for it again."""


class _FailedBatch:
    """An exception in place of a batch."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


_END = object()


def _len_of(batch: Any) -> int:
    """The samples of a batch: the length of its first tensor; 1 without a tensor."""
    while type(batch) is not torch.Tensor and isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    if isinstance(batch, torch.Tensor) and batch.is_nested:  # which has no shape
        return int(batch.size(0))
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else 1


# ---- Any iterator -------------------------------------------------------------------------------


class BatchIterator(Iterator[Any], ABC):
    """The batches of one epoch. It begins with the first batch that is asked for.

    Threads that share it take turns, and each batch is given to one of them.
    """

    def __init__(self, engine: Engine, progress: EpochProgress) -> None:
        seeds = engine.num_workers == 0 and engine.fetching().seeds == "all"
        self._turns = turns if seeds else threading.RLock()  # others seed in this process, too
        self._engine = engine
        self._progress = progress
        self._yielded = 0
        self._is_started = False
        self._has_failed = False  # a worker has died
        self._task: _Task | None = None  # of the batch that _next() gave
        pins = engine.pin_memory and torch.accelerator.is_available()
        accelerator = torch.accelerator.current_accelerator() if pins else None
        self._pins = accelerator is not None and accelerator.type != "mps"
        if engine.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found that uses it, "
                "then device pinned memory won't be used.",
                stacklevel=3,
            )

    def __iter__(self) -> BatchIterator:
        return self

    def __len__(self) -> int:
        return len(self._engine)

    def __next__(self) -> Any:
        with self._turns:
            return self._next_in_turn()

    def _next_in_turn(self) -> Any:
        progress, counts = self._progress, self._engine.counts
        if progress.is_over or self._has_failed:
            raise StopIteration
        begin = time.perf_counter()
        if progress.has_started:
            counts.ask(begin)
        else:
            counts.begin(begin)
        try:
            batch = self._made()
            if batch is _END:
                progress.is_over = True
                counts.end(self._engine.left_out)
                self._end()
                raise StopIteration
            self._yielded += 1
            has_failed = type(batch) is _FailedBatch
            counts.deliver(time.perf_counter(), 0 if has_failed else _len_of(batch))
            if not has_failed:
                if self._engine.is_iterable:
                    self._warn_of_length()
                self._deliver()
                return batch
        except _TimedOut:
            raise
        except WorkerError:
            self._has_failed = True
            self._fail()
            raise
        except BaseException as failure:
            if not isinstance(failure, Exception):  # Ctrl-C, somewhere in here
                self._is_started = False
            raise
        self._deliver()
        failed = batch.failure
        try:
            raise failed
        finally:
            del failed, batch

    def _made(self) -> Any:
        """The next batch, _END or a _FailedBatch. Starts at the progress, also after Ctrl-C."""
        progress = self._progress
        if not self._is_started:
            if not progress.has_started:
                self._engine.hear_epoch(progress)
            self._begin()
            self._is_started = progress.has_started = True
            progress.after_streams = None
        return self._next()

    @property
    def at_end(self) -> bool:
        """Whether the last batch was delivered, if that is known before the end."""
        with self._turns:
            return self._engine.is_at_end(self._progress)

    def _timed_out(self) -> _TimedOut:
        return _TimedOut(f"DataLoader timed out after {self._engine.timeout} seconds")

    def _warn_of_length(self) -> None:
        said = self._engine.samples_said
        if said is not None and self._yielded > said:
            text = (
                f"Length of IterableDataset {self._engine.dataset} was reported to be {said} (when "
                f"accessing len(dataloader)), but {self._yielded} samples have been fetched."
            )
            if self._engine.num_workers > 0:
                text += (
                    " For multiprocessing data-loading, this happens where each worker reads all "
                    "of it: divide it by get_worker_info()."
                )
            warnings.warn(text, stacklevel=3)

    @abstractmethod
    def _begin(self) -> None:
        """Goes to the place of the progress."""

    @abstractmethod
    def _next(self) -> Any:
        """The next batch, _END or a _FailedBatch."""

    def _end(self) -> None:
        """Called at the end of the epoch."""

    def _fail(self) -> None:
        """Called when the epoch cannot continue."""

    # ---- Of map-style datasets ----

    def _begin_order(self) -> None:
        engine, progress = self._engine, self._progress
        self._base = mixed(engine.seed, progress.epoch)
        self._number = progress.position  # of the batch whose indices are taken next
        self._ahead = set(progress.ahead)
        self._run: SamplerIterator | None = None
        if engine.order is not None:
            self._indices: Iterator[Any] = engine.order.batches(progress.epoch, self._number)
            if not engine.is_batched:
                self._indices = (one for batch in self._indices for one in batch)
            return
        self._indices = self._run = SamplerIterator(
            engine.index_sampler, self._base, self._number, progress.start, progress.sampler
        )
        progress.start = self._run.start

    def _take_indices(self) -> _Task | None:
        while True:
            number = self._number
            try:
                indices = next(self._indices)
            except StopIteration:
                self._progress.length = number
                if self._run is not None:
                    self._progress.after = self._run.now()
                return None
            self._number += 1
            if number not in self._ahead:
                break
        if self._run is not None:
            indices = _own(indices)
        key = self._base if self._run is None else mixed(self._base, number)
        return _Task(number, indices, key, self._run.state if self._run is not None else None)

    def _deliver(self) -> None:
        """Notes in the progress that the batch of _next() is delivered."""
        progress, task = self._progress, self._task
        if task is None:
            return
        progress.sampler, progress.delivered = task.sampler, task.number
        if task.number == progress.position:
            progress.position += 1
            while progress.position in progress.ahead:
                progress.ahead.remove(progress.position)
                progress.position += 1
        else:
            progress.ahead.append(task.number)
        self._task = None


def _own(indices: Any) -> Any:
    """A copy of the indices from a batch sampler, if it may fill the same object for its next
    batch."""
    if type(indices) is list or isinstance(indices, np.ndarray):
        return indices.copy()
    return indices.clone() if isinstance(indices, torch.Tensor) else indices


# ---- In this process ----------------------------------------------------------------------------


class InlineIterator(BatchIterator):
    """num_workers=0: each batch is fetched when it is asked for."""

    def __next__(self) -> Any:
        outer = noted_key()  # of a loader whose dataset uses this one
        try:
            return super().__next__()
        finally:
            note_key(outer)

    def _begin(self) -> None:
        engine, progress = self._engine, self._progress
        self._how = engine.fetching()
        self._random = OwnGenerators(0) if self._how.seeds == "all" else None
        self._fetcher = engine.kept_fetcher(self._how, self._random)
        self._ahead_task: _Task | None = None
        self._stream: Stream | None = None
        if not engine.is_iterable:
            self._begin_order()
            if self._run is not None:
                progress.look_ahead = self._look_ahead
            return
        places = engine.check_streams(progress, 1)
        key = mixed(engine.seed, progress.epoch, engine.rank, 0)
        epoch = engine.told_epoch(progress)
        self._stream = self._do(lambda: Stream(self._how, key, places[0], epoch))

    def _do(self, call: Any) -> Any:
        if self._random is None:
            return call()
        with self._random:
            return call()

    def _next(self) -> Any:
        try:
            return self._fetch()
        except Ended:
            return _END
        except StopIteration as failure:
            return _FailedBatch(_stopped(failure))
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            return _FailedBatch(failure)

    def _fetch(self) -> Any:
        if self._stream is not None:
            batch = self._do(self._stream.fetch)
        else:
            self._task, self._ahead_task = self._ahead_task or self._take_indices(), None
            if self._task is None:
                return _END
            batch = self._fetcher.fetch(self._task.indices, self._task.key)
        return pin(batch) if self._pins else batch

    def _look_ahead(self) -> None:
        """Takes the indices of the next batch: a sampler is asked only when they are needed."""
        if self._ahead_task is None and self._progress.length is None:
            self._ahead_task = self._take_indices()

    def _end(self) -> None:
        self._progress.look_ahead = None

    def _deliver(self) -> None:
        super()._deliver()
        if self._stream is not None:
            self._progress.streams = [self._stream.place()]
            self._progress.position += 1


def _stopped(failure: StopIteration) -> RuntimeError:
    """The RuntimeError for a StopIteration of the dataset, as of a generator."""
    raised = RuntimeError("the dataset raised StopIteration")
    raised.__cause__ = failure
    return raised


class ThreadIterator(BatchIterator):
    """workers="threads": threads of this process fetch batches of a map-style dataset."""

    _pool: ThreadPoolExecutor | None = None

    def _begin(self) -> None:
        engine = self._engine
        self._end()
        self._how = engine.fetching()
        self._begin_order()
        self._pool = ThreadPoolExecutor(engine.num_workers, "pyflowdata fetch")
        self._tasks: deque[tuple[_Task, Future[Any]]] = deque()
        self._fill()

    def _fill(self) -> None:
        assert self._pool is not None
        while len(self._tasks) < self._engine.most_ahead:
            task = self._take_indices()
            if task is None:
                return
            self._tasks.append((task, self._pool.submit(self._work, task)))

    def _work(self, task: _Task) -> Any:
        begin, cpu = time.perf_counter(), time.thread_time()
        try:
            batch = Fetcher(self._how).fetch(task.indices, task.key)
            return pin(batch) if self._pins else batch
        finally:
            self._engine.counts.work(
                time.perf_counter() - begin, time.thread_time() - cpu, in_process=True
            )

    def _next(self) -> Any:
        if not self._tasks:
            return _END
        at = 0
        if not self._engine.in_order:
            done = (i for i, (_, one) in enumerate(self._tasks) if one.done())
            at = next(done, 0)
        task, future = self._tasks[at]
        try:
            batch = future.result(self._engine.timeout or None)
        except FutureTimeout:
            if not future.done():
                raise self._timed_out() from None
            batch = _FailedBatch(_exception(future))
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            batch = _FailedBatch(failure)
        del self._tasks[at]
        self._task = task
        self._fill()
        return batch

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def __del__(self) -> None:
        self._end()


def _exception(future: Future[Any]) -> BaseException:
    found = future.exception()
    assert found is not None
    return found


# ---- In worker processes ------------------------------------------------------------------------

_POLL_MS = 1000  # longest wait for answers before the timeout is looked at


class _ProcessIterator(BatchIterator):
    """The common part of iterators over worker processes."""

    _workers: Workers | None = None

    def _begin_workers(self, key: int, places: list[Any]) -> None:
        if self._workers is None:
            self._workers = self._engine.take_workers()
        self._workers.begin(key, places, self._engine.told_epoch(self._progress))
        self._done: dict[int, tuple[Any, Any]] = {}  # task -> answer and batch, or FailedBatch
        self._pin_pool = ThreadPoolExecutor(1, "pyflowdata pin") if self._pins else None

    def _end(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            self._engine.give_back_workers(workers)

    def _fail(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()

    def _receive(self, *, waits: bool, since: float = 0.0) -> None:
        """Takes the answers that have arrived."""
        assert self._workers is not None
        wait_ms = _POLL_MS if waits else 0
        timeout = self._engine.timeout
        if waits and timeout > 0:
            left = since + timeout - time.perf_counter()
            if left <= 0:
                raise self._timed_out()
            wait_ms = min(wait_ms, int(left * 1000) + 1)
        for process, answer in self._workers.receive(wait_ms):
            self._done[answer.task] = answer, self._content(process, answer)
            self._engine.counts.work(answer.seconds, answer.cpu_seconds)

    def _content(self, process: Any, answer: Answer) -> Any:
        try:
            content = process.content(answer)
        except Exception as failure:  # noqa: BLE001  (what unpickling a user's class raises)
            return _FailedBatch(failure)
        if answer.kind == "raised":
            return _FailedBatch(exception_of(content, process.number))
        if answer.kind == "ended":
            return _END
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
        self._begin_workers(0, [None] * self._engine.num_workers)
        self._tasks: deque[_Task] = deque()
        self._turn = 0
        self._fill()

    def _fill(self) -> None:
        assert self._workers is not None
        processes = self._workers.processes
        while len(self._tasks) < self._engine.most_ahead:
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
                self._done[task.number] = None, _FailedBatch(failure)

    def _next(self) -> Any:
        if not self._tasks:
            return _END
        since = time.perf_counter()
        self._receive(waits=False)
        while (task := self._ready()) is None:
            self._receive(waits=True, since=since)
        self._tasks.remove(task)
        _, batch = self._taken(task.number)
        self._task = task
        self._fill()
        return batch

    def _ready(self) -> _Task | None:
        for task in self._tasks:
            if task.number in self._done:
                return task
            if self._engine.in_order:
                return None
        return None


class StreamIterator(_ProcessIterator):
    """Worker processes read an iterable dataset, each with its own iterator; their batches take
    turns."""

    def _begin(self) -> None:
        engine, progress = self._engine, self._progress
        count = engine.num_workers
        places = engine.check_streams(progress, count)
        self._begin_workers(mixed(engine.seed, progress.epoch, engine.rank), places)
        self._places = [place or StreamPlace(0, None, False) for place in places]
        self._waiting: list[deque[int]] = [deque() for _ in range(count)]
        self._active = [number for number in range(count) if not _is_over(self._places[number])]
        self._asked = 0
        self._ended: dict[int, StreamPlace] = {}  # where workers were at the end
        self._next_worker = progress.worker
        self._fill()

    def _fill(self) -> None:
        assert self._workers is not None
        each = max(1, self._engine.prefetch_factor or 1)
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
                if not self._engine.in_order and task not in self._done:
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
            self._next_worker = (number + 1) % self._engine.num_workers
            if batch is _END:
                self._active.remove(number)
                self._ended[number] = self._places[number]
                self._places[number] = self._places[number]._replace(batches=-1, has_ended=True)
                continue
            self._fill()
            return batch
        self._note_end()
        return _END

    def _note_end(self) -> None:
        """Lets datasets with a state, which their workers keep, begin the next epoch with it."""
        states = [place.state for place in self._ended.values()]
        kept = self._engine.persistent_workers and len(states) == self._engine.num_workers
        if kept and all(state is not None and state[0] == "dataset" for state in states):
            self._progress.after_streams = [
                StreamPlace(0, self._ended[number].state, False) for number in sorted(self._ended)
            ]

    def _deliver(self) -> None:
        progress = self._progress
        progress.streams, progress.worker = list(self._places), self._next_worker
        progress.position += 1

    def _whose_turn(self) -> int:
        count = self._engine.num_workers
        turns = ((self._next_worker + i) % count for i in range(count))
        return next(number for number in turns if number in self._active)

    def _any_done(self, otherwise: int) -> int:
        found = (one for one in self._active if self._waiting[one][0] in self._done)
        return next(found, otherwise)


def _is_over(place: StreamPlace) -> bool:
    """Whether the dataset of a worker is at its end."""
    return place.batches < 0
