"""What trainers ask of a torch.utils.data.DataLoader, answered by a TorchLoader."""

from __future__ import annotations

from typing import Any, Protocol

from torch.utils.data import BatchSampler, Dataset

from ...nodes.batch_forms import identity
from ...loader.epoch_steps import EpochSteps
from .rows import EpochBatches, EpochRows, EpochSampler, EpochStream, Owner


class _Loader(Owner, Protocol):
    """The loader whose attributes these are.

    Attributes:
        _epoch_steps: None where the rows of a step are not known before.
        _steps: The steps to take in place of all.
    """

    _epoch_steps: EpochSteps | None
    _steps: BatchSampler | None

    @property
    def sampler(self) -> EpochSampler: ...


class TrainerAttributes:
    """The attributes of torch's DataLoader, for one without worker processes.

    Trainers make loaders again out of them: `DataLoader(loader.dataset, batch_sampler=...)` around
    `loader.batch_sampler` gives the batches of the loader, since `dataset.__getitems__` takes the
    positions of a step as that step.

    Attributes:
        num_workers, prefetch_factor, persistent_workers, timeout, worker_init_fn, generator,
        in_order, pin_memory_device, multiprocessing_context: As of torch's, without workers.
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
        """The positions in `dataset` of this rank's rows.  Its set_epoch() is that of the loader;
        after load_state_dict() the epochs of a trainer that counts from 0 again are those from the
        state's epoch on.
        """
        return EpochSampler(self, self._epoch_steps)

    @property
    def batch_sampler(self: _Loader) -> BatchSampler | None:
        """The same, step by step; None where they are not known before."""
        if self._steps is not None or self._epoch_steps is None:
            return self._steps
        return EpochBatches(self.sampler)

    @property
    def drop_last(self: _Loader) -> bool:
        """Whether the readers leave out a short last batch; False where batch_size is None, as
        torch's DataLoader has it."""
        drops = self.loader.readers[0].spec.get("last_batch") == "drop"
        return drops and self._epoch_steps is not None
