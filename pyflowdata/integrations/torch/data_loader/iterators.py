"""Iterators over batches: what they have in common."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .progress import Progress, Source
from .randomness import mixed
from .samplers import SamplerRun
from .workers import WorkerError


@dataclass(slots=True)
class Task:
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


class TimedOut(WorkerError):
    """A batch takes longer than `timeout`; the next next() waits for it again."""


class Raised:
    """An exception in place of a batch."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


END = object()


def len_of(batch: Any) -> int:
    """Samples of a batch: the length of its first tensor; 1 if there is none."""
    while type(batch) is not torch.Tensor and isinstance(batch, (list, tuple, dict)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape else 1


def timed_out(loader: Source) -> TimedOut:
    """What a batch raises that takes too long."""
    return TimedOut(f"DataLoader timed out after {loader.timeout} seconds")


class BatchIterator(Iterator[Any], ABC):
    """The batches of one epoch.  It begins with the first batch that is asked for."""

    def __init__(self, loader: Source, progress: Progress) -> None:
        self._loader = loader
        self._progress = progress
        self._yielded = 0
        self._is_begun = False
        self._task: Task | None = None  # of the batch that _next() gave
        self._is_iterable = loader.is_iterable  # asked once: it takes as long as a step may
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
        begin, is_first = time.perf_counter(), not progress.has_begun
        if is_first:
            counts.begin(begin)
        else:
            counts.ask(begin)
        try:
            batch = self._made(is_resumed=is_first and progress.position > 0)
            if batch is END:
                progress.is_over = True
                self._end()
                raise StopIteration
            self._yielded += 1
            counts.deliver(time.perf_counter(), self._rows_of(batch))
            if type(batch) is not Raised:
                if self._is_iterable:
                    self._warn_of_length()
                self._deliver()
                return batch
        except TimedOut:
            raise
        except WorkerError:
            progress.is_over = True
            self._end()
            raise
        except BaseException as failure:
            if not isinstance(failure, Exception):  # Ctrl-C, somewhere in here
                self._is_begun = False
            raise
        self._deliver()
        failed = batch.failure
        try:
            raise failed
        finally:
            del failed, batch

    def _rows_of(self, batch: Any) -> int:
        if type(batch) is Raised:
            return 0
        task = self._task
        return len(task.indices) if task and type(task.indices) is list else len_of(batch)

    def _made(self, *, is_resumed: bool) -> Any:
        """The next batch, END or a Raised.  Begins, also after Ctrl-C, where the progress is."""
        progress = self._progress
        if not self._is_begun:
            self._begin()
            self._is_begun = progress.has_begun = True
        batch = self._next()
        if is_resumed and batch is END:  # the state was taken after the last batch of an epoch
            self._end()
            progress.__dict__.update(Progress(progress.epoch + 1, has_begun=True).__dict__)
            self._begin()
            batch = self._next()
        return batch

    @property
    def at_end(self) -> bool:
        """The last batch was delivered, where it is known before the end."""
        return self._loader.is_at_end(self._progress)

    def _warn_of_length(self) -> None:
        said: int | None = self._loader._IterableDataset_len_called
        if said is not None and self._yielded > said:
            text = (
                f"Length of IterableDataset {self._loader.dataset} was reported to be {said} (when "
                f"accessing len(dataloader)), but {self._yielded} samples have been fetched."
            )
            if self._loader.num_workers > 0:
                text += (
                    " For multiprocessing data-loading, this happens where each worker reads all "
                    "of it: divide it by get_worker_info()."
                )
            warnings.warn(text, stacklevel=3)

    @abstractmethod
    def _begin(self) -> None:
        """Goes to where the progress is."""

    @abstractmethod
    def _next(self) -> Any:
        """The next batch, END or a Raised."""

    @abstractmethod
    def _deliver(self) -> None:
        """Notes in the progress that the batch of _next() is delivered."""

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

    def _take_indices(self) -> Task | None:
        while True:
            number = self._number
            try:
                indices = next(self._indices)
            except StopIteration:
                if self._run is not None:
                    self._progress.after = self._run.now()
                return None
            self._number += 1
            if number not in self._ahead:
                break
        key = self._base if self._run is None else mixed(self._base, number)
        return Task(number, indices, key, self._run.state if self._run is not None else None)

    def _deliver_task(self) -> None:
        """_deliver() of a map-style dataset."""
        progress, task = self._progress, self._task
        if task is None:
            return
        progress.sampler = task.sampler
        if task.number == progress.position:
            progress.position += 1
            while progress.position in progress.ahead:
                progress.ahead.remove(progress.position)
                progress.position += 1
        else:
            progress.ahead.append(task.number)
        self._task = None
