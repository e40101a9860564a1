"""Fetches samples of a dataset and makes batches of them, as torch's workers do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import default_convert
from torch.utils.data._utils.collate import (
    collate as torch_collate,
    collate_numpy_array_fn,
    collate_tensor_fn,
    default_collate_fn_map,
)

from .... import InvalidArgumentError
from .randomness import Watch, mixed, note_key, note_samples, number_of, seed_all
from .samplers import is_stateful

# ---- Samples to a batch -------------------------------------------------------------------------
# torch's default_collate with one copy of each array: in a worker process into memory that the
# program shares.

_LEAST = 1024  # bytes; smaller arrays go with the message
_FEW = 1 << 16  # bytes; NumPy makes smaller arrays faster than torch

_Allocate = Callable[[int], memoryview]
_allocate: _Allocate | None = None  # in a worker process
_dtypes: dict[np.dtype[Any], torch.dtype] = {}
# While torch's map has these entries, this module collates plain values.  The loader passes this
# map for its own batches, and only batches that are collated with it may be in reused memory.
_known = dict(default_collate_fn_map)
_NUMBERS = {int: np.dtype(np.int64), float: np.dtype(np.float64)}  # their dtypes in torch


def use_in_worker(allocate: _Allocate) -> None:
    """Makes collate() of this process place arrays and tensors in memory of this function.

    default_collate() in the program's code, which may keep its results, allocates as always.
    """
    global _allocate
    _allocate = allocate
    for kind, torchs, ours in (
        (torch.Tensor, collate_tensor_fn, _tensors), (np.ndarray, collate_numpy_array_fn, _arrays),
    ):  # fmt: skip
        if default_collate_fn_map.get(kind) is torchs:  # the program has not replaced it
            default_collate_fn_map[kind] = ours
            _known[kind] = ours


def collate(samples: Any) -> Any:
    """As default_collate(): the same values, types and dtypes.

    A dataset's `__getitems__` gives a list of samples; any other value is a batch already, whose
    arrays become tensors.
    """
    if type(samples) is not list:
        return _as_tensors(samples)
    if default_collate_fn_map == _known:
        return _samples(samples)
    return torch_collate(samples, collate_fn_map=default_collate_fn_map)


def _samples(samples: list[Any]) -> Any:
    """Collates samples of one kind field by field, and any others by torch."""
    kinds = set(map(type, samples))
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind in (tuple, list) and len(set(map(len, samples))) == 1:
        return [_field(values) for values in zip(*samples, strict=True)]
    if kind is dict and len(set(map(len, samples))) == 1:
        first = samples[0]
        if all(first.keys() == sample.keys() for sample in samples):
            return {key: _field([sample[key] for sample in samples]) for key in first}
    return _field(samples)


def _field(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind is np.ndarray:
        return _joined(values, _known)
    if kind in _NUMBERS:
        array = np.array(values)
        if array.dtype == _NUMBERS[kind]:
            return torch.from_numpy(array)
    return torch_collate(values, collate_fn_map=_known)


def _as_tensors(batch: Any) -> Any:
    if type(batch) is dict:
        return {key: _as_tensors(value) for key, value in batch.items()}
    if type(batch) in (tuple, list):
        return type(batch)(map(_as_tensors, batch))
    return default_convert(batch)


def _empty(shape: Sequence[int], dtype: torch.dtype, collate_fn_map: Any) -> torch.Tensor:
    size = dtype.itemsize
    for length in shape:
        size *= length
    if _allocate is None or collate_fn_map is not _known or size < _LEAST:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(_allocate(size), dtype=dtype).view(tuple(shape))


def _arrays(samples: Any, *, collate_fn_map: Any = None) -> Any:
    if set(map(type, samples)) != {np.ndarray}:
        return _as_torch(samples, collate_fn_map)
    return _joined(samples, collate_fn_map)


def _as_torch(samples: Sequence[Any], collate_fn_map: Any) -> Any:
    return collate_numpy_array_fn(samples, collate_fn_map=collate_fn_map or default_collate_fn_map)


def _joined(samples: Sequence[Any], collate_fn_map: Any) -> Any:
    """Collates arrays that are not of a subclass."""
    first = samples[0]
    shape, dtype = first.shape, first.dtype
    known = _dtypes.get(dtype)
    if known is None and dtype.kind in "biufc" and dtype.isnative:
        known = _dtypes[dtype] = torch.from_numpy(np.empty(0, dtype)).dtype
    if known is None or not shape:
        return _as_torch(samples, collate_fn_map)
    count = len(samples)
    try:  # arrays of one dtype and shape: NumPy compares all lengths but the first
        if len(set(map(len, samples))) > 1:
            raise ValueError
        if _allocate is not None or count * first.nbytes > _FEW:
            made = _empty((count, *shape), known, collate_fn_map)
            joined = made.numpy()
        else:
            joined = np.empty((count, *shape), dtype)
            made = torch.from_numpy(joined)
        rows = joined.reshape(count * shape[0], *shape[1:])
        np.concatenate(samples, out=rows, casting="no")
        return made
    except (TypeError, ValueError):
        return _as_torch(samples, collate_fn_map)


def _tensors(samples: Any, *, collate_fn_map: Any = None) -> Any:
    first = samples[0]
    if first.is_nested:  # and has no shape
        return collate_tensor_fn(samples, collate_fn_map=collate_fn_map)
    shape, dtype = first.shape, first.dtype
    if any(
        type(one) is not torch.Tensor or one.is_nested or one.shape != shape or one.dtype != dtype
        or one.requires_grad or one.device.type != "cpu" or one.layout is not torch.strided
        or one.is_quantized
        for one in samples
    ):  # fmt: skip
        return collate_tensor_fn(samples, collate_fn_map=collate_fn_map)
    made = _empty((len(samples), *shape), dtype, collate_fn_map)
    return torch.stack(tuple(samples), out=made)


# ---- Fetching -----------------------------------------------------------------------------------

_COLLATE = 1 << 62  # in place of an index, in the key of what collate_fn draws
_SEEDS: dict[str, Callable[[int], None]] = {
    "all": seed_all, "own": note_key, "none": lambda _: None,
}  # fmt: skip
_DRAWN = object()


class Ended(Exception):
    """An iterable dataset has no more batches."""


class Fetching(NamedTuple):
    """How batches are made, in any process or thread.

    Attributes:
        dataset: Map-style or iterable.
        is_iterable: Whether it is iterable.
        batches: Whether samples are collated to batches; else each sample is a batch.
        collate: Makes a batch of samples; or of one sample, if not `batches`.
        batch_size, drop_last: The arguments for an iterable dataset.
        seeds: "all": the generators of the process are seeded for each sample; "own": only the one
            of sample_generator(); "none": none.
        by_position: Whether a sample may be in an epoch several times, and draws other numbers each
            time.
    """

    dataset: Any
    is_iterable: bool
    batches: bool
    collate: Callable[[Any], Any]
    batch_size: int | None
    drop_last: bool
    seeds: str
    by_position: bool

    @property
    def seed(self) -> Callable[[int], None]:
        return _SEEDS[self.seeds]


class Fetcher:
    """Makes batches of a map-style dataset, in one thread.

    Where samples draw random numbers, the generators are seeded before each sample.  While samples
    have not drawn any, nothing is seeded, and a batch in which a sample draws is fetched again.
    """

    def __init__(self, how: Fetching, at: Any = None, keep: Any = None) -> None:
        """Fetches nothing yet.

        Args:
            how: How batches are made.
            at: Its [0] is the place in the batch of the sample that is being fetched; -1: none.
            keep: A context that gives the program its own generators back; generators are seeded in
                it.
        """
        self.how = how
        self._at = [-1] if at is None else at
        self._keep = contextlib.nullcontext() if keep is None else keep
        self._draws: bool | None = None if how.seeds == "all" else True
        self._watch = Watch() if how.seeds == "all" else None

    def fetch(self, indices: Any, key: int) -> Any:
        """A batch.

        Args:
            indices: The indices of its samples; one index, if samples are not batched.
            key: The key of the random numbers of these samples.
        """
        how = self.how
        has_many = how.batches and getattr(how.dataset, "__getitems__", None)
        if how.batches and not has_many and not isinstance(indices, (list, tuple)):
            indices = list(indices)  # a batch sampler may give any iterable
        samples: list[Any] = []
        if how.seeds == "none":
            return self._make(indices, samples)
        if not self._draws and self._watch is not None:
            if self._draws is None and how.batches and not has_many and len(indices) > 1:
                self._try(indices, key, samples, 1)  # the first tells
            if not self._draws:
                batch = self._try(indices, key, samples)
                if batch is not _DRAWN:
                    return batch
            samples.clear()
        with self._keep:
            return self._make_seeded(indices, key)

    def _try(self, indices: Any, key: int, samples: list[Any], most: int | None = None) -> Any:
        """A batch, of these samples and the following ones; _DRAWN if a random number was drawn.

        Args:
            most: Fetches only this number of samples, and returns nothing.
        """
        watch = self._watch
        assert watch is not None
        note_samples(lambda: self._key_here(indices, key))
        failure = made = None
        watch.begin()
        if not watch.sees:
            return _DRAWN
        try:
            if most is None:
                made = self._make(indices, samples)
            else:
                self._take(samples, indices[:most])
        except Exception as raised:  # noqa: BLE001  (what user code raises)
            failure = raised
        finally:
            watch.end()
        self._draws = watch.is_used()
        if self._draws:
            watch.undo()
            return _DRAWN
        if failure is not None:
            raise failure
        return made

    def _make(self, indices: Any, samples: list[Any]) -> Any:
        """A batch, of these samples and the following ones."""
        how = self.how
        if not how.batches:
            return how.collate(how.dataset[indices])
        get_many = getattr(how.dataset, "__getitems__", None)
        if get_many:
            return how.collate(get_many(indices))
        self._take(samples, indices)
        self._at[0] = -1
        return how.collate(samples)

    def _take(self, samples: list[Any], indices: Any) -> None:
        """Fetches the samples from the first missing one on."""
        dataset, at = self.how.dataset, self._at
        first = len(samples)
        rest = indices[first:] if first else indices
        for at[0], index in enumerate(rest, first):
            samples.append(dataset[index])

    def _make_seeded(self, indices: Any, key: int) -> Any:
        """A batch in which each sample has its own random numbers."""
        how, at, samples = self.how, self._at, []
        dataset, seed = how.dataset, how.seed
        if not how.batches:
            seed(self._key_of(key, 0, indices))
            return how.collate(dataset[indices])
        get_many = getattr(dataset, "__getitems__", None)
        if get_many:
            if len(indices):
                seed(self._key_of(key, 0, indices[0]))
            samples = get_many(indices)
        else:
            for position, index in enumerate(indices):
                at[0] = position
                seed(self._key_of(key, position, index))
                samples.append(dataset[index])
            at[0] = -1
        if len(indices):
            seed(mixed(key, number_of(indices[0]), _COLLATE))
        return how.collate(samples)

    def _key_here(self, indices: Any, key: int) -> int:
        """The key of the sample that is being fetched."""
        if not self.how.batches:
            return self._key_of(key, 0, indices)
        position = self._at[0]
        if position < 0:  # all at once, or in collate_fn
            get_many = getattr(self.how.dataset, "__getitems__", None)
            first = indices[0]
            return self._key_of(key, 0, first) if get_many else mixed(
                key, number_of(first), _COLLATE
            )
        return self._key_of(key, position, indices[position])

    def _key_of(self, key: int, position: int, index: Any) -> int:
        number = number_of(index)
        return mixed(key, position, number) if self.how.by_position else mixed(key, number)


class Stream:
    """The batches of an iterable dataset, in one worker.

    Attributes:
        batches: The number of batches so far in this epoch.
    """

    def __init__(
        self, how: Fetching, key: int, place: StreamPlace | None, epoch: int | None = None
    ) -> None:
        """Starts, or continues at a place.

        Args:
            how: How batches are made.
            key: The key of the random numbers of this worker and epoch.
            place: The place; None: the start.
            epoch: For the dataset's set_epoch(), if it has one; None: it is not called.
        """
        self._how, self._key = how, key
        self.batches = 0
        self._has_ended = False
        how.seed(mixed(key, 0))
        if epoch is not None and hasattr(how.dataset, "set_epoch"):
            how.dataset.set_epoch(epoch)
        state = place.state if place is not None else None
        if state is not None and state[0] == "dataset":
            how.dataset.load_state_dict(state[1])
        self._samples: Iterator[Any] = iter(how.dataset)
        if state is not None and state[0] == "iterator":
            self._samples.load_state_dict(state[1])  # type: ignore[attr-defined]
        if place is None:
            return
        if state is not None:
            self.batches = place.batches
            self._has_ended = place.has_ended
            return
        while self.batches < place.batches:
            self._skip(place.batches)

    def _skip(self, count: int) -> None:
        """Takes a batch that was delivered, or raised, before the state was taken."""
        taken = self.batches
        try:
            self._take()
        except Ended:
            raise InvalidArgumentError(
                f"the state was taken after {count} batches of an IterableDataset, which now has "
                f"{taken}"
            ) from None
        except Exception:  # noqa: BLE001, S110  (what user code raised before)
            pass

    def _take(self) -> Any:
        how = self._how
        if self._has_ended:
            raise Ended
        self.batches += 1
        how.seed(mixed(self._key, self.batches))
        if not how.batches:
            try:
                return next(self._samples)
            except StopIteration:
                raise Ended from None
        samples: list[Any] = []
        assert how.batch_size is not None
        for _ in range(how.batch_size):
            try:
                samples.append(next(self._samples))
            except StopIteration:
                self._has_ended = True
                break
        if not samples or (how.drop_last and len(samples) < how.batch_size):
            raise Ended
        return samples

    def fetch(self) -> Any:
        """The next batch.

        Raises:
            Ended: There is none.
        """
        return self._how.collate(self._take())

    def place(self) -> StreamPlace:
        """The place for a resume."""
        state = None
        one: Any
        for kind, one in (("iterator", self._samples), ("dataset", self._how.dataset)):
            if is_stateful(one):
                state = kind, one.state_dict()
                break
        return StreamPlace(self.batches, state, self._has_ended)


class StreamPlace(NamedTuple):
    """The place of a worker in its iterable dataset.

    Attributes:
        batches: The number of its batches so far.
        state: ("dataset" or "iterator", its state_dict()); None: it has no state, and is read
            again.
        has_ended: Whether its iterator is at its end.
    """

    batches: int
    state: tuple[str, Any] | None
    has_ended: bool
