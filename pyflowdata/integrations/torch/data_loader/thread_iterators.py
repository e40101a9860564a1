"""Batches that this process fetches: in the calling thread, or in threads of its own."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

from .batch_tasks import END, FailedBatch, Task
from .fetching import Ended, Fetcher, Stream
from .iterators import BatchIterator
from .randomness import OwnGenerators, mixed
from .workers import pin


class InlineIterator(BatchIterator):
    """num_workers=0: each batch is fetched when it is asked for."""

    def _begin(self) -> None:
        loader, progress = self._loader, self._progress
        self._how = loader.fetching()
        self._random = OwnGenerators(0) if self._how.seeds == "all" else None
        self._fetcher = loader.kept_fetcher(self._how, self._random)
        self._ahead_task: Task | None = None
        self._stream: Stream | None = None
        if not loader.is_iterable:
            self._begin_order()
            if self._run is not None:
                progress.look_ahead = self._look_ahead
            return
        places = loader.check_streams(progress, 1)
        key = mixed(loader.seed, progress.epoch, loader.rank, 0)
        epoch = loader.told_epoch(progress)
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
            return END
        except StopIteration as failure:
            return FailedBatch(_stopped(failure))
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            return FailedBatch(failure)

    def _fetch(self) -> Any:
        if self._stream is not None:
            batch = self._do(self._stream.fetch)
        else:
            self._task, self._ahead_task = self._ahead_task or self._take_indices(), None
            if self._task is None:
                return END
            batch = self._fetcher.fetch(self._task.indices, self._task.key)
        return pin(batch) if self._pins else batch

    def _look_ahead(self) -> None:
        """Takes the indices of the next batch; a sampler gives them when asked, not before."""
        if self._ahead_task is None and self._progress.length is None:
            self._ahead_task = self._take_indices()

    def _end(self) -> None:
        self._progress.look_ahead = None

    def _deliver(self) -> None:
        self._deliver_task()
        if self._stream is not None:
            self._progress.streams = [self._stream.place()]
            self._progress.position += 1


def _stopped(failure: StopIteration) -> RuntimeError:
    """What a StopIteration of the dataset becomes, as of a generator."""
    raised = RuntimeError("the dataset raised StopIteration")
    raised.__cause__ = failure
    return raised


class ThreadIterator(BatchIterator):
    """workers="threads": threads of this process fetch batches of a map-style dataset."""

    _pool: ThreadPoolExecutor | None = None

    def _begin(self) -> None:
        loader = self._loader
        self._end()
        self._how = loader.fetching()
        self._begin_order()
        self._pool = ThreadPoolExecutor(loader.num_workers, "pyflowdata fetch")
        self._tasks: deque[tuple[Task, Future[Any]]] = deque()
        self._fill()

    def _fill(self) -> None:
        assert self._pool is not None
        while len(self._tasks) < self._loader.most_ahead:
            task = self._take_indices()
            if task is None:
                return
            self._tasks.append((task, self._pool.submit(self._work, task)))

    def _work(self, task: Task) -> Any:
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
            return END
        at = 0
        if not self._loader.in_order:
            done = (i for i, (_, one) in enumerate(self._tasks) if one.done())
            at = next(done, 0)
        task, future = self._tasks[at]
        try:
            batch = future.result(self._loader.timeout or None)
        except FutureTimeout:
            if not future.done():
                raise self._timed_out() from None
            batch = FailedBatch(_exception(future))
        except Exception as failure:  # noqa: BLE001  (what user code raises)
            batch = FailedBatch(failure)
        del self._tasks[at]
        self._task = task
        self._fill()
        return batch

    def _deliver(self) -> None:
        self._deliver_task()

    def _end(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def __del__(self) -> None:
        self._end()


def _exception(future: Future[Any]) -> BaseException:
    found = future.exception()
    assert found is not None
    return found
