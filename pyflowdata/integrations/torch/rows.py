"""A TorchLoader as trainers use it: its rows as Dataset, Sampler and BatchSampler of torch, and the
attributes of a DataLoader of torch."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from torch.utils.data import (
    BatchSampler,
    Dataset,
    DistributedSampler,
    IterableDataset,
    SequentialSampler,
)

from ... import DataLoader
from ...nodes.batch_forms import identity, map_arrays
from ...loader.epoch_steps import EpochSteps
from ...loader.open_loader import open_loader_of


class _Loader(Protocol):
    """A TorchLoader, with TrainerAttributes.

    Attributes:
        _epoch_steps: None: the rows of a step are not known before it is made.
        _steps: The steps to take in place of all steps.
    """

    loader: DataLoader[Any]
    _epoch_steps: EpochSteps | None
    _steps: BatchSampler | None

    def __iter__(self) -> Iterator[Any]: ...

    @property
    def dataset(self) -> Dataset[Any]: ...

    @property
    def sampler(self) -> EpochSampler: ...

    @property
    def drop_last(self) -> bool: ...

    def place(self) -> tuple[int, int]: ...

    def _set_epoch_of_trainer(self, epoch: int) -> None: ...

    def _start_at(self, step: int) -> Iterator[Any]: ...

    def _to_tensors(self, batch: Any) -> Any: ...


def steps_of(loader: DataLoader[Any]) -> EpochSteps | None:
    """The steps of a loader's epoch; None where their rows are not known before they are made: in
    streams, in batches formed by the size of their records, and where other loaders have steps of
    the same epoch."""
    steps = min(loader.readers, key=lambda reader: reader.records).steps
    if open_loader_of(loader).is_shared or not steps.is_known:
        return None
    return steps if steps.num_steps == len(loader) else None


class StepRows(list[int]):
    """The positions of this rank's rows in one step, which `EpochRows.__getitems__` recognizes."""

    def __init__(self, step: int, rows: range, steps: Steps) -> None:
        super().__init__(rows)
        self.step, self.steps = step, steps


class Steps:
    """One pass over the steps of an epoch, with the batches of the loader's iterator."""

    def __init__(self, steps: EpochSteps, rank: int) -> None:
        self._steps, self._rank = steps, rank
        self._batches: Iterator[Any] | None = None
        self._next = 0  # step of _batches

    def __iter__(self) -> Iterator[StepRows]:
        for step in range(self._steps.num_steps):
            yield StepRows(step, self._steps.rows_of(step, self._rank), self)
        self._batches = None  # this ends the loader's iterator

    def take(self, loader: _Loader, step: int) -> Any:
        """The batch of a step."""
        if self._batches is None or step != self._next:
            self._batches = loader._start_at(step)
        self._next = step + 1
        return next(self._batches)


class EpochRows(Dataset[Any]):
    """The rows of a loader's epoch, in the loader's order, over all ranks.

    A row has the form of the loader's batches, without the first dimension.  The rows follow the
    epoch of the loader.
    """

    def __init__(self, loader: _Loader, steps: EpochSteps) -> None:
        self._loader = loader
        self._steps = steps

    def __len__(self) -> int:
        """Rows of an epoch, of all ranks together."""
        return self._steps.rows

    def __getitem__(self, position: int) -> Any:
        """The row at a position of the epoch, with random access.

        Raises:
            IndexError: There is no such row.
            TypeError: The position is not an int; __getitems__ takes several.
            UnsupportedError: A reader is read in sequence.
        """
        position = operator.index(position)
        if not -len(self) <= position < len(self):
            raise IndexError(f"row {position} of {len(self)}")
        return map_arrays(self._read([position % len(self)]), lambda rows: rows[0])

    def __getitems__(self, positions: Sequence[int]) -> Any:
        """A batch of these rows.

        The positions of a whole step, as `batch_sampler` yields them, are taken from the loader's
        threads, and move the loader; other positions are read with random access.
        """
        if not isinstance(positions, StepRows):
            return self._read(positions)
        return positions.steps.take(self._loader, positions.step)

    def _read(self, positions: Sequence[int]) -> Any:
        batch = self._loader.loader.read(positions, epoch=self._loader.place()[0])
        return self._loader._to_tensors(batch)


class EpochStream(IterableDataset[Any]):
    """The batches of a loader's next epoch, where their rows are not known before.

    Each iterator starts at the first batch, also after load_state_dict(): a trainer counts the
    batches and skips the used ones, as accelerate's skip_first_batches does.
    """

    def __init__(self, loader: _Loader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return self._loader._start_at(0)


class EpochSampler(DistributedSampler[Any], SequentialSampler):
    """The positions of this rank's rows, step after step.

    It has the meaning of both of torch's samplers: `dataset` has the rows in their order, and each
    rank takes its part of them.  Trainers keep such a sampler as it is.

    Attributes:
        num_replicas, rank, epoch, shuffle, seed, drop_last: As in torch's DistributedSampler.
    """

    def __init__(self, loader: _Loader, steps: EpochSteps | None) -> None:
        reader = loader.loader.readers[0]
        self.dataset = loader.dataset
        self.num_replicas, self.rank = reader.world_size, reader.rank
        self.epoch = loader.place()[0]
        self.shuffle, self.seed = reader.shuffle != "none", reader.seed
        self.drop_last = loader.drop_last
        self._steps = steps
        self._loader = loader

    def __iter__(self) -> Iterator[int]:
        steps = self._known()
        for step in range(steps.num_steps):
            yield from steps.rows_of(step, self.rank)

    def __len__(self) -> int:
        """This rank's rows of an epoch.

        Raises:
            TypeError: The rows are not known before they are made.
        """
        return self._known().num_rows(self.rank)

    def set_epoch(self, epoch: int) -> None:
        """As TorchLoader.set_epoch(), by a trainer's own count of epochs."""
        self._loader._set_epoch_of_trainer(epoch)
        self.epoch = epoch

    def _known(self) -> EpochSteps:
        if self._steps is None:
            raise TypeError("the rows of this loader's steps are not known before they are made")
        return self._steps


class EpochBatches(BatchSampler):
    """The positions of this rank's rows in each step of an epoch, from its first step on.

    It has the arguments of torch's BatchSampler, but uses only the sampler: a trainer that makes it
    again may give other values.

    Attributes:
        sampler, batch_size, drop_last: As in torch's BatchSampler.
        even_batches: Whether each batch is full, on every rank; accelerate's name for it.
    """

    def __init__(self, sampler: EpochSampler, batch_size: int = 0, drop_last: bool = False) -> None:
        self._steps = steps = sampler._known()
        self.sampler, self.drop_last = sampler, sampler.drop_last
        self.batch_size = len(steps.rows_of(0, sampler.rank))
        self.even_batches = steps.is_filled or not steps.last_rows

    def __iter__(self) -> Iterator[list[int]]:
        return iter(Steps(self._steps, self.sampler.rank))

    def __len__(self) -> int:
        return self._steps.num_steps

    def set_epoch(self, epoch: int) -> None:
        self.sampler.set_epoch(epoch)


# ---- Attributes that trainers read --------------------------------------------------------------


class TrainerAttributes:
    """The attributes of torch's DataLoader, for a loader without worker processes.

    Trainers make loaders again from them: `DataLoader(loader.dataset, batch_sampler=...)` around
    `loader.batch_sampler` gives the batches of the loader, since `dataset.__getitems__` takes the
    positions of a step as that step.

    Attributes:
        num_workers, prefetch_factor, persistent_workers, timeout, worker_init_fn, generator,
            in_order, pin_memory_device, multiprocessing_context: As in torch's, without workers.
        collate_fn: Returns its argument, since `dataset.__getitems__` returns whole batches.
    """

    num_workers = 0
    prefetch_factor = None
    persistent_workers = False
    timeout = 0
    worker_init_fn = None
    generator = None
    in_order = True
    pin_memory_device = ""
    multiprocessing_context = None
    collate_fn = staticmethod(identity)

    @property
    def dataset(self: _Loader) -> Dataset[Any]:
        """The rows of the epoch, in the loader's order, over all ranks, with `len()`; of streams,
        and of batches whose rows are not known before, an IterableDataset of whole batches.
        """
        steps = self._epoch_steps
        return EpochStream(self) if steps is None else EpochRows(self, steps)

    @property
    def batch_size(self: _Loader) -> int | None:
        """Rows that this rank has in a full batch; None where they are not known before."""
        steps = self._epoch_steps
        return None if steps is None else steps.batch_size // steps.world_size

    @property
    def sampler(self: _Loader) -> EpochSampler:
        """The positions in `dataset` of this rank's rows. Its set_epoch() is that of the loader;
        after load_state_dict() a trainer that counts from 0 again starts at the state's epoch."""
        return EpochSampler(self, self._epoch_steps)

    @property
    def batch_sampler(self: _Loader) -> BatchSampler | None:
        """The positions of `sampler`, step by step; None where they are not known before."""
        if self._steps is not None or self._epoch_steps is None:
            return self._steps
        return EpochBatches(self.sampler)

    @property
    def drop_last(self: _Loader) -> bool:
        """Whether the readers leave out a short last batch; False where batch_size is None, as in
        torch's DataLoader."""
        drops = self.loader.readers[0].spec.get("last_batch") == "drop"
        return drops and self._epoch_steps is not None


# ---- How Lightning makes a loader again ---------------------------------------------------------


def saved_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The attributes in which Lightning looks for the arguments of a loader that it makes again."""
    return {
        "__pl_saved_args": (),
        "__pl_saved_arg_names": (),
        "__pl_saved_kwargs": arguments,
        "__dataset": None,
    }


def take_batch_sampler(arguments: dict[str, Any]) -> Any:
    """Takes torch's arguments out of the arguments with which Lightning makes a loader again to
    predict, and returns its batch_sampler, or None. It is around one of ours, to see the positions.
    """
    batch_sampler = arguments.get("batch_sampler")
    sampler = getattr(batch_sampler, "sampler", arguments.get("sampler"))
    if not isinstance(sampler, EpochSampler):
        return None
    for name in ("sampler", "shuffle", "batch_sampler", "batch_size", "drop_last"):
        arguments.pop(name, None)
    return batch_sampler
