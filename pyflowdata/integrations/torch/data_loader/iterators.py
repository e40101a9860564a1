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


@dataclass
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
    while isinstance(batch, (dict, tuple, list)) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, dict) else batch[0]
    shape = getattr(batch, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) else 1


def timed_out(loader: Source) -> TimedOut:
    """What a batch raises that takes too long."""
    return TimedOut(f"DataLoader timed out after {loader.timeout} seconds")


class BatchIterator(Iterator[Any], ABC):
    """The batches of one epoch.  It begins with the first batch that is asked for."""

    def __init__(self, loader: Source, progress: Progress) -> None:
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
            if resumes and batch is END:  # the state was taken after the last batch of an epoch
                self._end()
                progress.__dict__.update(Progress(progress.epoch + 1, has_begun=True).__dict__)
                self._begin()
                batch = self._next()
        except TimedOut:
            raise
        except WorkerError:
            self._end()
            progress.is_over = True
            raise
        if batch is END:
            self._end()
            progress.is_over = True
            raise StopIteration
        if isinstance(batch, Raised):
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
        """The next batch, END or a Raised; notes the progress."""

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

    def _note(self, task: Task) -> None:
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
