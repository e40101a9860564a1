"""The order of samples: this package's order, and samplers of the program, which continue after a
resume."""

from __future__ import annotations

import itertools
from base64 import b64decode, b64encode
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

from ....loader.epoch_steps import EpochSteps
from ....native import ffi, lib
from .randomness import OwnGenerators, turns

# ---- The order of this package ------------------------------------------------------------------
# The ranks divide this order if the program gives no sampler.

_ROWS = 4096  # rows of an epoch's order that are read at once


def _shuffled(samples: int, seed: int, epoch: int, begin: int, end: int) -> list[int]:
    """The samples at these positions of an epoch, in the order of `Dataset.shuffle(seed=seed)`."""
    found = np.empty(end - begin, np.int64)
    data = ffi.from_buffer("int64_t[]", found)
    lib.pfd_shuffled(seed, epoch, b"shuffle", samples, begin, end - begin, data)
    order: list[int] = found.tolist()
    return order


_Hears = Callable[[], Callable[[int], None] | None] | None  # a weak reference to a function


def _tell_loader(hears: _Hears, epoch: int) -> None:
    tell = None if hears is None else hears()
    if tell is not None:
        tell(epoch)


class EpochOrder:
    """The samples of this rank, step after step; as a sampler, those of one epoch.

    A step has the samples at the next `batch_size * num_replicas` positions, of which each rank
    takes its part; `last` is the rule for the last step, "short", "even", "drop" or "pad" as of the
    DataLoader.  All ranks have the same number of steps.

    Attributes:
        data_source, dataset: The dataset.
        num_replicas, rank: As in torch's DistributedSampler.
        batch_size: Samples of this rank in a full step.
        seed, shuffle: As in the DataLoader.
        epoch: The epoch of `iter()`.
        loader_hears: The function of the DataLoader that hears the epochs of set_epoch().
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
        self.loader_hears: _Hears = None
        self.replacement, self.generator = False, None
        if shuffle and len(dataset) < 1:
            raise ValueError(
                "num_samples should be a positive integer value, but got num_samples=0: the "
                "dataset is empty"
            )

    @property
    def drop_last(self) -> bool:
        """As in torch's samplers."""
        return self.last == "drop"

    @property
    def samples(self) -> int:
        return len(self.dataset)

    @property
    def global_batch(self) -> int:
        """Samples of a full step, over all ranks."""
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
        """The samples at these positions of an epoch; positions after its end repeat the last
        sample."""
        last = self.samples - 1
        if end - 1 > last:
            found = self._rows(epoch, min(begin, last), last + 1)
            return (found + found[-1:] * (end - 1 - last))[-(end - begin) :]
        return self._rows(epoch, begin, end)

    def _rows(self, epoch: int, begin: int, end: int) -> list[int]:
        if not self.shuffle:
            return list(range(begin, end))
        return _shuffled(self.samples, self.seed, epoch, begin, end)

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
        """Sets the epoch of iter(), and tells it the loader as a trainer's own count."""
        self.epoch = epoch
        _tell_loader(self.loader_hears, epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "loader_hears": None}


# Trainers recognize by these classes a sampler that is divided among ranks already.


class SequentialOrder(EpochOrder, DistributedSampler[Any], SequentialSampler):
    """The samples in their order."""


class ShuffledOrder(EpochOrder, DistributedSampler[Any], RandomSampler):
    """The samples in this package's global shuffle, with another order in each epoch."""


# ---- Samplers of the program --------------------------------------------------------------------

_DRAW_OF_TORCH = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
_DRAW_NOTHING = (SequentialSampler, DistributedSampler, list, tuple, range)


def _inner(sampler: Any) -> Any:
    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    return sampler


def _generators(sampler: Any) -> list[torch.Generator]:
    """The generators of its own that a sampler draws from."""
    found = [getattr(one, "generator", None) for one in {id(one): one for one in (
        sampler, _inner(sampler), getattr(sampler, "sampler", None))}.values()]  # fmt: skip
    return [one for one in found if isinstance(one, torch.Generator)]


def generator_states(sampler: Any) -> dict[str, Any]:
    """The states of the generators of its own that a sampler draws from, for a state: as texts,
    since transformers.Trainer keeps states as JSON."""
    states = [b64encode(one.get_state().numpy().tobytes()).decode() for one in _generators(sampler)]
    return {"generators": states} if states else {}


def _as_tensor(state: Any) -> torch.Tensor:
    """The state of a generator; states of older versions have the tensor."""
    if isinstance(state, torch.Tensor):
        return state
    return torch.frombuffer(bytearray(b64decode(state)), dtype=torch.uint8)


def _own_random(sampler: Any, key: int) -> OwnGenerators | None:
    """The generators of the process, if the sampler draws from them."""
    inner = _inner(sampler)
    if type(inner) in _DRAW_NOTHING:
        return None
    if type(inner) in _DRAW_OF_TORCH:
        return OwnGenerators(key, only_torch=True) if inner.generator is None else None
    return OwnGenerators(key)


def is_stateful(one: Any) -> bool:
    """Whether it has its own state, as torchdata's Stateful."""
    return hasattr(one, "state_dict") and hasattr(one, "load_state_dict")


def epoch_of(sampler: Any) -> int | None:
    """The last epoch that a sampler was told; None: it has no epochs."""
    inner = _inner(sampler)
    epoch = getattr(inner, "epoch", None)
    return epoch if isinstance(epoch, int) and epoch >= 0 and hasattr(inner, "set_epoch") else None


def tell_epoch(sampler: Any, epoch: int) -> None:
    """Tells an epoch to a sampler, and to the samplers inside it, if they have epochs."""
    told: list[Any] = []
    for one in (sampler, getattr(sampler, "sampler", None), _inner(sampler)):
        set_epoch = getattr(one, "set_epoch", None)
        if set_epoch is not None and not any(one is other for other in told):
            set_epoch(epoch)
            told.append(one)


def restore_start(sampler: Any, start: dict[str, Any] | None) -> None:
    """Brings a sampler to the start of the epoch of a state: its epoch and its generators, from
    which a trainer may read the sampler itself."""
    if not start:
        return
    inner = _inner(sampler)
    if start.get("epoch") is not None and hasattr(inner, "set_epoch"):
        inner.set_epoch(start["epoch"])
    for generator, kept in zip(_generators(sampler), start.get("generators", ()), strict=False):
        generator.set_state(_as_tensor(kept))


class StreamSampler(Sampler[None]):
    """The sampler of a DataLoader with an IterableDataset, which chooses nothing, as torch's.
    Trainers tell it their epochs.

    Attributes:
        loader_hears: The function of the DataLoader that hears the epochs of set_epoch().
    """

    def __init__(self) -> None:
        self.loader_hears: _Hears = None

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)

    def set_epoch(self, epoch: int) -> None:
        """Tells the epoch to the loader, as a trainer's own count."""
        _tell_loader(self.loader_hears, epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {"loader_hears": None}


class SamplerIterator(Iterator[Any]):
    """An epoch of a sampler, or of a batch sampler.

    Attributes:
        start: The part of a state that starts the epoch again: generators, and the sampler's epoch.
        state: The sampler's own state, after the last indices that were taken; None: it has none.
    """

    def __init__(
        self, sampler: Any, key: int, skip: int, start: dict[str, Any] | None, state: Any
    ) -> None:
        """Starts the epoch, or continues it.

        Args:
            sampler: Yields the indices of a batch.
            key: The key of its draws from the generators of the process.
            skip: The number of indices that it has given before.
            start, state: The attributes, from a state; None: the current ones.
        """
        self._sampler = sampler
        if start:
            restore_start(sampler, {**start, "epoch": None})
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
        """The part of a state that starts the next epoch, after the last batch of this one."""
        return generator_states(self._sampler)

    def _do(self, call: Any) -> Any:
        if self._random is None:
            return call()
        with turns, self._random:
            return call()

    def __next__(self) -> Any:
        found = self._do(self._samples.__next__)
        if self._stateful is not None:
            self.state = self._stateful.state_dict()
        return found
