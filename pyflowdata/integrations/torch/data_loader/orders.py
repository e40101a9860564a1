"""The order of samples when no sampler is given: this package's, divided among ranks."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from .... import DataLoader as FlowLoader
from .... import from_arrays
from ....loader.epoch_steps import EpochSteps
from ....loader.loader_wrapper import WrappedLoader

_ROWS = 4096  # of an epoch's order, read at once


class _Shuffle:
    """The order of n samples in each epoch, with random access."""

    def __init__(self, samples: int, seed: int) -> None:
        self.samples, self.seed, self.pid = samples, seed, os.getpid()
        data = from_arrays({"index": np.arange(samples)}).shuffle(seed=seed)
        batch = data.batch(_ROWS, rank=0, world_size=1)
        self._loader = FlowLoader(batch["index"], num_threads=1, prefetch=1)
        WrappedLoader(self._loader).drop_report_at_end()

    def rows(self, epoch: int, begin: int, end: int) -> list[int]:
        """The samples at these positions."""
        found: list[int] = self._loader.read(range(begin, end), epoch=epoch).tolist()
        return found


class EpochOrder:
    """Which samples this rank gets, step after step; as a sampler, those of one epoch.

    A step has the samples at the next `batch_size * num_replicas` positions, of which each rank
    takes its part; what becomes of the last step is `last`, with "short", "even", "drop" or "pad"
    as of the DataLoader.  All ranks have the same number of steps.

    Attributes:
        data_source, dataset: The dataset.
        num_replicas, rank: As of torch's DistributedSampler.
        batch_size: Samples of this rank in a full step.
        seed, shuffle: As of the DataLoader.
        epoch: Of `iter()`.
        loader_hears: What set_epoch() tells the DataLoader that has this order.
    """

    def __init__(
        self, dataset: Sized, *, batch_size: int, seed: int, shuffle: bool, last: str, rank: int,
        world_size: int,
    ) -> None:  # fmt: skip
        self.data_source = self.dataset = dataset
        self.num_replicas, self.rank = world_size, rank
        self.batch_size, self.last = batch_size, last
        self.seed, self.shuffle = seed, shuffle
        self.epoch = 0
        self.loader_hears: Callable[[], Callable[[int], None] | None] | None = None
        self.replacement, self.generator = False, None
        self._shuffle: _Shuffle | None = None
        if shuffle and len(dataset) < 1:
            raise ValueError(
                "num_samples should be a positive integer value, but got num_samples=0: the "
                "dataset is empty"
            )

    @property
    def drop_last(self) -> bool:
        """As of torch's samplers."""
        return self.last == "drop"

    @property
    def samples(self) -> int:
        """Of the dataset."""
        return len(self.dataset)

    @property
    def global_batch(self) -> int:
        """Samples of a full step, of all ranks together."""
        return self.batch_size * self.num_replicas

    @property
    def steps(self) -> EpochSteps:
        """The steps of an epoch, and how ranks share them."""
        samples, step, ranks = self.samples, self.global_batch, self.num_replicas
        rest = samples % step
        left_out = {
            "short": rest if rest < ranks else 0,  # some rank would have no batch
            "even": rest % ranks,
            "drop": rest,
            "pad": 0,
        }
        return EpochSteps(
            records=samples,
            rows=samples - left_out[self.last],
            batch_size=step,
            world_size=ranks,
            last_batch=self.last,
        )

    def rows(self, epoch: int, begin: int, end: int) -> list[int]:
        """The samples at these positions of an epoch; beyond its end the last one, again."""
        last = self.samples - 1
        if end - 1 > last:
            found = self._rows(epoch, min(begin, last), last + 1)
            return (found + found[-1:] * (end - 1 - last))[-(end - begin) :]
        return self._rows(epoch, begin, end)

    def _rows(self, epoch: int, begin: int, end: int) -> list[int]:
        if not self.shuffle:
            return list(range(begin, end))
        made = self._shuffle
        if made is None or (made.samples, made.seed, made.pid) != (
            self.samples, self.seed, os.getpid(),
        ):  # fmt: skip
            made = self._shuffle = _Shuffle(self.samples, self.seed)
        return made.rows(epoch, begin, end)

    def batches(self, epoch: int, step: int = 0) -> Iterator[list[int]]:
        """This rank's samples, step after step."""
        ahead = max(1, _ROWS // self.global_batch) if self.num_replicas == 1 else 1
        steps = self.steps
        for first in range(step, steps.num_steps, ahead):
            numbers = range(first, min(first + ahead, steps.num_steps))
            parts = [steps.rows_of(number, self.rank) for number in numbers]
            begin, end = parts[0].start, parts[-1].stop
            rows: list[int] = []
            for at in range(begin, end, _ROWS):
                rows += self.rows(epoch, at, min(end, at + _ROWS))
            for part in parts:
                yield rows[part.start - begin : part.stop - begin]

    def __iter__(self) -> Iterator[int]:
        """This rank's samples of an epoch."""
        return itertools.chain.from_iterable(self.batches(self.epoch))

    def __len__(self) -> int:
        """This rank's samples of an epoch."""
        return self.steps.num_rows(self.rank)

    def set_epoch(self, epoch: int) -> None:
        """Which epoch iter() gives; the loader hears it, as a trainer's own count of epochs."""
        self.epoch = epoch
        tell_loader = None if self.loader_hears is None else self.loader_hears()
        if tell_loader is not None:
            tell_loader(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shuffle": None, "loader_hears": None}


# Trainers know samplers by these classes: such a one is divided among ranks already.


class SequentialOrder(EpochOrder, DistributedSampler[Any], SequentialSampler):
    """The samples in their order."""


class ShuffledOrder(EpochOrder, DistributedSampler[Any], RandomSampler):
    """The samples in another order in each epoch, which is this package's global shuffle."""
