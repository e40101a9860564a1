"""Samplers of the program, and how they go on where they were."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

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

from .randomness import OwnGenerators

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
            key: Of what it draws from the generators of the process.
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
