"""Which samples come in which order: this package's order, and samplers of the program, which go on
where they were."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from .... import DataLoader as FlowLoader
from .... import from_arrays
from ....loader.epoch_steps import EpochSteps
from ....loader.open_loader import open_loader_of
from .randomness import OwnGenerators


# ---- The order of this package ------------------------------------------------------------------
# When the program gives no sampler, divided among ranks.

_ROWS = 4096  # of an epoch's order, read at once


class _Shuffle:
    """The order of n samples in each epoch, with random access."""

    def __init__(self, samples: int, seed: int) -> None:
        self.samples, self.seed, self.pid = samples, seed, os.getpid()
        data = from_arrays({"index": np.arange(samples)}).shuffle(seed=seed)
        batch = data.batch(_ROWS, rank=0, world_size=1)
        self._loader = FlowLoader(batch["index"], num_threads=1, prefetch=1)
        open_loader_of(self._loader).observation.drop_report_at_end()

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
        epoch: The epoch of `iter()`.
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
        """The samples of the dataset."""
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


# ---- Samplers of the program --------------------------------------------------------------------

_DRAW_OF_TORCH = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
_DRAW_NOTHING = (SequentialSampler, DistributedSampler, list, tuple, range)


def _inner(sampler: Any) -> Any:
    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    return sampler


def _generators(sampler: Any) -> list[torch.Generator]:
    """Those that it draws from, of its own."""
    found = [getattr(one, "generator", None) for one in {id(one): one for one in (
        sampler, _inner(sampler), getattr(sampler, "sampler", None))}.values()]  # fmt: skip
    return [one for one in found if isinstance(one, torch.Generator)]


def generator_states(sampler: Any) -> dict[str, Any]:
    """What a state needs of the generators that a sampler draws from, of its own."""
    states = [one.get_state() for one in _generators(sampler)]
    return {"generators": states} if states else {}


def _own_random(sampler: Any, key: int) -> OwnGenerators | None:
    """The generators of the process, where the sampler draws from them."""
    inner = _inner(sampler)
    if type(inner) in _DRAW_NOTHING:
        return None
    if type(inner) in _DRAW_OF_TORCH:
        return OwnGenerators(key, only_torch=True) if inner.generator is None else None
    return OwnGenerators(key)


def is_stateful(one: Any) -> bool:
    """Whether it has a state of its own, as torchdata's Stateful."""
    return hasattr(one, "state_dict") and hasattr(one, "load_state_dict")


def epoch_of(sampler: Any) -> int | None:
    """The epoch that a sampler was told last; None: it has none."""
    inner = _inner(sampler)
    epoch = getattr(inner, "epoch", None)
    return epoch if isinstance(epoch, int) and epoch >= 0 and hasattr(inner, "set_epoch") else None


def tell_epoch(sampler: Any, epoch: int) -> None:
    """Tells a sampler, and the one that it takes its indices from, where they have epochs."""
    told: list[Any] = []
    for one in (sampler, getattr(sampler, "sampler", None), _inner(sampler)):
        set_epoch = getattr(one, "set_epoch", None)
        if set_epoch is not None and not any(one is other for other in told):
            set_epoch(epoch)
            told.append(one)


def restore_epoch(sampler: Any, start: dict[str, Any] | None) -> None:
    """Gives a sampler that has epochs the one of a state."""
    inner = _inner(sampler)
    if start and "epoch" in start and hasattr(inner, "set_epoch"):
        inner.set_epoch(start["epoch"])


class StreamSampler(Sampler[None]):
    """The sampler of a DataLoader with an IterableDataset, which has nothing to choose, as torch's.
    Trainers tell it their epochs.

    Attributes:
        loader_hears: What set_epoch() tells the DataLoader.
    """

    def __init__(self) -> None:
        self.loader_hears: Callable[[], Callable[[int], None] | None] | None = None

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)

    def set_epoch(self, epoch: int) -> None:
        """The loader hears it, as a trainer's own count of epochs."""
        tell_loader = None if self.loader_hears is None else self.loader_hears()
        if tell_loader is not None:
            tell_loader(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {"loader_hears": None}


class SamplerIterator(Iterator[Any]):
    """An epoch of a sampler, or of a batch sampler.

    Attributes:
        start: What a state needs to begin the epoch once more: generators, and the sampler's epoch.
        state: The sampler's own, after what was taken last; None: it has none.
    """

    def __init__(
        self, sampler: Any, key: int, skip: int, start: dict[str, Any] | None, state: Any
    ) -> None:
        """Begins.

        Args:
            sampler: Yields what a batch is made of.
            key: The key of what it draws from the generators of the process.
            skip: How many it has given before.
            start, state: The attributes, of a state; None: of now.
        """
        self._sampler = sampler
        generators = _generators(sampler)
        if start:
            for generator, kept in zip(generators, start.get("generators", ()), strict=False):
                generator.set_state(kept)
        self.start = self.now()
        epoch = epoch_of(sampler)
        if epoch is not None:
            self.start["epoch"] = epoch
        self._random = _own_random(sampler, key)
        self.state: Any = None
        is_own = is_stateful(sampler)
        if state is not None and is_own:
            sampler.load_state_dict(state)
        self._samples = self._do(lambda: iter(sampler))
        self._stateful = sampler if is_own else self._samples
        if not is_stateful(self._stateful):
            self._stateful = None
        elif state is not None and not is_own:
            self._stateful.load_state_dict(state)
        if state is None or self._stateful is None:
            for _ in range(skip):
                try:
                    self._do(self._samples.__next__)
                except StopIteration:
                    break

    def now(self) -> dict[str, Any]:
        """What a state needs to begin the next epoch, after the last batch of this one."""
        return generator_states(self._sampler)

    def _do(self, call: Any) -> Any:
        if self._random is None:
            return call()
        with self._random:
            return call()

    def __next__(self) -> Any:
        found = self._do(self._samples.__next__)
        if self._stateful is not None:
            self.state = self._stateful.state_dict()
        return found
