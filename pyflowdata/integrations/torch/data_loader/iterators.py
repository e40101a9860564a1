"""Iterators over batches: what they have in common."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .batch_tasks import END, FailedBatch, Task, TimedOut, len_of
from .engine import Engine
from .progress import Progress
from .randomness import mixed
from .samplers import SamplerIterator
from .workers import WorkerError


class BatchIterator(Iterator[Any], ABC):
    """The batches of one epoch.  It begins with the first batch that is asked for."""

    def __init__(self, loader: Engine, progress: Progress) -> None:
        self._loader = loader
        self._progress = progress
        self._yielded = 0
        self._is_begun = False
        self._has_failed = False  # a worker has died
        self._task: Task | None = None  # of the batch that _next() gave
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
        if progress.is_over or self._has_failed:
            raise StopIteration
        begin, is_first = time.perf_counter(), not progress.has_started
        if is_first:
            counts.begin(begin)
        else:
            counts.ask(begin)
        try:
            batch = self._made(is_resumed=is_first and progress.position > 0)
            if batch is END:
                progress.is_over = True
                counts.end(self._loader.left_out)
                self._end()
                raise StopIteration
            self._yielded += 1
            counts.deliver(time.perf_counter(), 0 if type(batch) is FailedBatch else len_of(batch))
            if type(batch) is not FailedBatch:
                if self._loader.is_iterable:
                    self._warn_of_length()
                self._deliver()
                return batch
        except TimedOut:
            raise
        except WorkerError:
            self._has_failed = True
            self._fail()
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

    def _made(self, *, is_resumed: bool) -> Any:
        """The next batch, END or a FailedBatch.  Starts at the progress, also after Ctrl-C."""
        progress = self._progress
        if not self._is_begun:
            if not progress.has_started:
                self._loader.hear_epoch(progress)
            self._begin()
            self._is_begun = progress.has_started = True
            progress.after_streams = None
        batch = self._next()
        if is_resumed and batch is END:  # the state was taken after the last batch of an epoch
            self._end()
            progress.become(Progress(progress.epoch + 1, has_started=True))
            self._begin()
            batch = self._next()
        return batch

    @property
    def at_end(self) -> bool:
        """The last batch was delivered, where it is known before the end."""
        return self._loader.is_at_end(self._progress)

    def _timed_out(self) -> TimedOut:
        return TimedOut(f"DataLoader timed out after {self._loader.timeout} seconds")

    def _warn_of_length(self) -> None:
        said = self._loader.samples_said
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
        """The next batch, END or a FailedBatch."""

    @abstractmethod
    def _deliver(self) -> None:
        """Notes in the progress that the batch of _next() is delivered."""

    def _end(self) -> None:
        """The epoch is over."""

    def _fail(self) -> None:
        """The epoch cannot go on."""

    # ---- Of map-style datasets ----

    def _begin_order(self) -> None:
        loader, progress = self._loader, self._progress
        self._base = mixed(loader.seed, progress.epoch)
        self._number = progress.position  # of the batch whose indices are taken next
        self._ahead = set(progress.ahead)
        self._run: SamplerIterator | None = None
        if loader.order is not None:
            self._indices: Iterator[Any] = loader.order.batches(progress.epoch, self._number)
            if not loader.is_batched:
                self._indices = (one for batch in self._indices for one in batch)
            return
        self._indices = self._run = SamplerIterator(
            loader.index_sampler, self._base, self._number, progress.start, progress.sampler
        )
        progress.start = self._run.start

    def _take_indices(self) -> Task | None:
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
        return Task(number, indices, key, self._run.state if self._run is not None else None)

    def _deliver_task(self) -> None:
        """_deliver() of a map-style dataset."""
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
    """A copy of what a batch sampler gave, if it may fill that once more for its next batch."""
    if type(indices) is list or isinstance(indices, np.ndarray):
        return indices.copy()
    return indices.clone() if isinstance(indices, torch.Tensor) else indices
