"""Iterators over batches: fetched in the calling thread, in threads, or in worker processes."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from .fetching import Ended, Fetcher, Stream, StreamPlace
from .randomness import OwnGenerators, mixed
from .samplers import SamplerRun
from .worker_main import Made
from .workers import WorkerError, Workers, exception_of, pin

if TYPE_CHECKING:
    from .loader import DataLoader

_LOOK_MS = 1000


@dataclass
class Progress:
    """Where an iterator is; the DataLoader has it for its state.

    Attributes:
        epoch: Of the iterator.
        position: Batches delivered; with in_order=False all before this one were.
        ahead: Batches from `position` on that were delivered, with in_order=False.
        start, sampler: Of the program's sampler, see SamplerRun.
        streams: Of an iterable dataset: where each worker is.
        worker: Of an iterable dataset: which worker has the next batch.
        has_begun: A batch was asked for.
        is_over: The epoch is at its end.
    """

    epoch: int = 0
    position: int = 0
    ahead: list[int] = field(default_factory=list)
    start: dict[str, Any] | None = None
    sampler: Any = None
    streams: list[StreamPlace] | None = None
    worker: int = 0
    has_begun: bool = False
    is_over: bool = False

    def copy(self) -> Progress:
        """As it was before an iterator began here."""
        return Progress(
            self.epoch, self.position, list(self.ahead), self.start, self.sampler,
            list(self.streams) if self.streams is not None else None, self.worker,
        )  # fmt: skip


class BatchIterator(Iterator[Any], ABC):
    """The batches of one epoch.  It begins with the first batch that is asked for."""

    def __init__(self, loader: DataLoader, progress: Progress) -> None:
        self._loader = loader
        self._progress = progress
        self._yielded = 0
        pins = loader.pin_memory and torch.accelerator.is_available()
        accelerator = torch.accelerator.current_accelerator() if pins else None
        self._pins = accelerator is not None and accelerator.type != "mps"
        if loader.pin_memory and not self._pins:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found that uses it, "
                "then device pinned memory won't be used.",
                stacklevel=3,
            )

    def __iter__(self) -> BatchIterator:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        progress, counts = self._progress, self._loader.counts
        if progress.is_over:
            raise StopIteration
        begin = time.perf_counter()
        if not progress.has_begun:
            resumes = progress.position > 0
            progress.has_begun = True
            try:
                self._begin()
            except BaseException:
                progress.has_begun = False
                raise
            counts.begin(begin)
        else:
            resumes = False
            counts.ask(begin)
        try:
            batch = self._next()
            if resumes and batch is _END:  # the state was taken after the last batch of an epoch
                self._end()
                progress.__dict__.update(Progress(progress.epoch + 1, has_begun=True).__dict__)
                self._begin()
                batch = self._next()
        except WorkerError:
            self._end()
            progress.is_over = True
            raise
        if batch is _END:
            self._end()
            progress.is_over = True
            raise StopIteration
        if isinstance(batch, _Raised):
            counts.deliver(time.perf_counter(), 0)
            failure = batch.failure
            try:
                raise failure
            finally:
                del failure, batch
        self._yielded += 1
        counts.deliver(time.perf_counter(), len_of(batch))
        if self._loader.is_iterable:
            self._warn_of_length()
        return batch

    def _warn_of_length(self) -> None:
        said = self._loader._IterableDataset_len_called
        if said is not None and self._yielded > said:
            text = (
                f"Length of IterableDataset {self._loader.dataset} was reported to be {said} (when "
                f"accessing len(dataloader)), but {self._yielded} samples have been fetched."
            )
            if self._loader.num_workers > 0:
                text += " Each worker reads all of it, unless it uses get_worker_info()."
            warnings.warn(text, stacklevel=3)

    @abstractmethod
    def _begin(self) -> None:
        """Goes to where the progress is."""

    @abstractmethod
    def _next(self) -> Any:
        """The next batch, _END or a _Raised; notes the progress."""

    def _end(self) -> None:
        """The epoch is over."""

    # ---- Of map-style datasets ----

    def _begin_order(self) -> None:
        loader, progress = self._loader, self._progress
        self._base = mixed(loader.seed, progress.epoch)
        self._number = progress.position  # of the batch whose indices are taken next
        self._ahead = set(progress.ahead)
        self._run: SamplerRun | None = None
        if loader.order is not None:
            self._indices: Iterator[Any] = loader.order.batches(progress.epoch, self._number)
            if not loader._auto_collation:
                self._indices = (one for batch in self._indices for one in batch)
            return
        self._indices = self._run = SamplerRun(
            loader._index_sampler, self._base, self._number, progress.start, progress.sampler
        )
        progress.start = self._run.start

    def _take_indices(self) -> _Task | None:
        while True:
            number = self._number
            try:
                indices = next(self._indices)
            except StopIteration:
                return None
            self._number += 1
            if number not in self._ahead:
                break
        key = self._base if self._run is None else mixed(self._base, number)
        return _Task(number, indices, key, self._run.state if self._run is not None else None)

    def _note(self, task: _Task) -> None:
        """A batch is delivered."""
        progress = self._progress
        if task.number == progress.position:
            progress.position += 1
            while progress.position in progress.ahead:
                progress.ahead.remove(progress.position)
                progress.position += 1
        else:
            progress.ahead.append(task.number)
        progress.sampler = task.sampler


@dataclass
class _Task:
    """A batch that is to be made.

    Attributes:
        number: Of the epoch.
        indices: Of its samples.
        key: Of its random numbers.
        sampler: State of the program's sampler after it.
    """

    number: int
    indices: Any
    key: int
    sampler: Any


class _Raised:
    """An exception in place of a batch."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


_END = object()


def len_of(batch: Any) -> int:
    """Samples of a batch: the length of its first tensor; 1 if there is none."""
    while isinstance(batch, (dict, tuple, list)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else 1


# ---- In the calling thread ----------------------------------------------------------------------


class InlineIterator(BatchIterator):
    """num_workers=0: each batch is fetched when it is asked for."""

    def _begin(self) -> None:
        loader, progress = self._loader, self._progress
        self._how = loader.fetching()
        self._fetcher = Fetcher(self._how)
        self._random = OwnGenerators(0) if self._how.seeds == "all" else None
        self._task: _Task | None = None
        self._stream: Stream | None = None
        if not loader.is_iterable:
            self._begin_order()
            return
        places = loader.check_streams(progress, 1)
        key = mixed(loader.seed, progress.epoch, loader.rank, 0)
        self._stream = self._do(lambda: Stream(self._how, key, places[0]))

    def _do(self, call: Any) -> Any:
        if self._random is None:
            return call()
        with self._random:
            return call()

    def _next(self) -> Any:
        try:
            batch = self._do(self._fetch)
        except Ended:
            return _END
        except StopIteration as failure:
            raise RuntimeError("the dataset raised StopIteration") from failure
        except Exception:
            self._delivered()
            raise
        if batch is _END:
            return _END
        self._delivered()
        return pin(batch) if self._pins else batch

    def _fetch(self) -> Any:
        if self._stream is not None:
            return self._stream.fetch()
        if self._task is None:  # Ctrl-C leaves it here, to be fetched again
            self._task = self._take_indices()
        if self._task is None:
            return _END
        return self._fetcher.fetch(self._task.indices, self._task.key)

    def _delivered(self) -> None:
        if self._task is not None:
            self._note(self._task)
            self._task = None
        elif self._stream is not None:
            self._progress.position += 1
            self._progress.streams = [self._stream.place()]


# ---- In threads ---------------------------------------------------------------------------------


class ThreadIterator(BatchIterator):
    """workers="threads": threads of this process fetch batches of a map-style dataset."""

    _pool: ThreadPoolExecutor | None = None

    def _begin(self) -> None:
        loader = self._loader
        self._how = loader.fetching()
        self._begin_order()
        self._pool = ThreadPoolExecutor(loader.num_workers, "pyflowdata fetch")
        self._tasks: deque[tuple[_Task, Future[Any]]] = deque()
        self._fill()

    def _fill(self) -> None:
        assert self._pool is not None
        while len(self._tasks) < self._loader.most_ahead:
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
            self._loader.counts.work(
                time.perf_counter() - begin, time.thread_time() - cpu, in_process=True
            )

    def _next(self) -> Any:
        if not self._tasks:
            return _END
        at = 0
        if not self._loader.in_order:
            done = (i for i, (_, one) in enumerate(self._tasks) if one.done())
            at = next(done, 0)
        task, future = self._tasks[at]
        try:
            batch = future.result(self._loader.timeout or None)
        except FutureTimeout:
            if not future.done():
                raise timed_out(self._loader) from None
            batch = _Raised(_exception(future))
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            batch = _Raised(failure)
        del self._tasks[at]
        self._note(task)
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


def timed_out(loader: DataLoader) -> WorkerError:
    """What a batch raises that takes too long."""
    return WorkerError(f"DataLoader timed out after {loader.timeout} seconds")


# ---- In worker processes ------------------------------------------------------------------------


class _ProcessIterator(BatchIterator):
    """What iterators over worker processes have in common.

    Attributes:
        _done: Answers that have arrived, by worker and task.
    """

    _workers: Workers | None = None

    def _begin_workers(self, key: int, places: list[Any]) -> None:
        self._workers = self._loader.take_workers()
        self._workers.begin(key, places)
        self._done: dict[int, tuple[Any, Any]] = {}  # task -> answer and batch, or _Raised
        self._pin_pool = ThreadPoolExecutor(1, "pyflowdata pin") if self._pins else None

    def _end(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            self._loader.give_back_workers(workers)

    def _receive(self, *, waits: bool, since: float = 0.0) -> None:
        """Takes what has arrived."""
        assert self._workers is not None
        wait_ms = _LOOK_MS if waits else 0
        timeout = self._loader.timeout
        if waits and timeout > 0:
            left = since + timeout - time.perf_counter()
            if left <= 0:
                raise timed_out(self._loader)
            wait_ms = min(wait_ms, int(left * 1000) + 1)
        for process, made in self._workers.receive(wait_ms):
            self._done[made.task] = made, self._content(process, made)
            self._loader.counts.work(made.seconds, made.cpu_seconds)

    def _content(self, process: Any, made: Made) -> Any:
        try:
            content = process.content(made)
        except Exception as failure:  # noqa: BLE001  (what unpickling a user's class raises)
            return _Raised(failure)
        if made.kind == "raised":
            return _Raised(exception_of(content, process.number))
        if made.kind == "ended":
            return _END
        if self._pin_pool is not None:
            return self._pin_pool.submit(pin, content)
        return content

    def _taken(self, task: int) -> tuple[Any, Any]:
        made, batch = self._done.pop(task)
        return made, batch.result() if isinstance(batch, Future) else batch


class ProcessIterator(_ProcessIterator):
    """Worker processes fetch batches of a map-style dataset."""

    def _begin(self) -> None:
        self._begin_order()
        self._begin_workers(0, [None] * self._loader.num_workers)
        self._tasks: deque[_Task] = deque()
        self._turn = 0
        self._is_full = False
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
            one.ask(self._workers.run, task.number, task.indices, task.key)

    def _next(self) -> Any:
        if not self._tasks:
            return _END
        since = time.perf_counter()
        self._receive(waits=False)
        while (task := self._ready()) is None:
            self._receive(waits=True, since=since)
        self._tasks.remove(task)
        _, batch = self._taken(task.number)
        self._note(task)
        self._fill()
        return batch

    def _ready(self) -> _Task | None:
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
            made, batch = self._taken(task)
            if made.at is not None:
                self._places[number] = made.at
            self._next_worker = (number + 1) % self._loader.num_workers
            if batch is _END:
                self._active.remove(number)
                self._places[number] = self._places[number]._replace(batches=-1, has_ended=True)
                continue
            progress = self._progress
            progress.position += 1
            progress.streams, progress.worker = list(self._places), self._next_worker
            self._fill()
            return batch
        return _END

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
