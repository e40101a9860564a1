"""What the iterators of a DataLoader work with: how batches are made, and who makes them."""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol

from torch.utils.data import default_collate

from .... import InvalidArgumentError
from ....loader.epoch_steps import EpochSteps
from .arguments import is_map_style
from .collating import collate
from .counts import Counts
from .fetching import Fetcher, Fetching, StreamPlace
from .orders import EpochOrder
from .progress import Progress
from .slots import SlotPool
from .workers import Workers


class Owner(Protocol):
    """The DataLoader, as its engine uses it; the attributes are its own."""

    dataset: Any
    batch_size: int | None
    sampler: Any
    batch_sampler: Any
    collate_fn: Any
    num_workers: int
    workers: str
    prefetch_factor: int | None
    pin_memory: bool
    drop_last: bool
    timeout: float
    worker_init_fn: Any
    persistent_workers: bool
    in_order: bool
    multiprocessing_context: Any
    order: EpochOrder | None
    seed: int
    seed_samples: bool
    rank: int
    world_size: int
    _tells_epoch: bool

    @property
    def epoch(self) -> int: ...

    @property
    def _epoch_steps(self) -> EpochSteps | None: ...

    def __len__(self) -> int: ...

    def _hear_epoch(self, progress: Progress) -> None: ...


class Kept:
    """What stays from one epoch of a DataLoader to the next.

    Attributes:
        counts: Of steps and work.
        workers: Of persistent_workers, while no iterator has them.
        running: These, and those that iterators have.
        fetcher: Of the thread that iterates, for num_workers=0.
        samples_said: The last len() of an iterable dataset, when the program asked for len().
    """

    def __init__(self) -> None:
        self.counts = Counts()
        self.workers: Workers | None = None
        self.running: weakref.WeakSet[Workers] = weakref.WeakSet()
        self.fetcher: Fetcher | None = None
        self.samples_said: int | None = None

    def close(self) -> None:
        """Ends the worker processes."""
        workers, self.workers = self.workers, None
        if workers is not None:
            workers.close()


class Engine:
    """The arguments of a DataLoader when an iterator is made, and what its iterators share.

    Attributes:
        order: None: the program gave a sampler, or the dataset is iterable.
        index_sampler: Yields what a batch is made of.
        is_batched: Samples are collated to batches; else each is one.
        is_iterable: The dataset is an IterableDataset.
        counts: Of the loader.
        others: As the loader's.
    """

    def __init__(self, loader: Owner, kept: Kept) -> None:
        self._loader, self._kept = loader, kept
        self.dataset, self.order = loader.dataset, loader.order
        self.is_batched = loader.batch_sampler is not None
        self.index_sampler: Any = loader.batch_sampler if self.is_batched else loader.sampler
        self.is_iterable = not is_map_style(loader.dataset)
        self.counts = kept.counts
        self.num_workers: int = loader.num_workers
        self.workers = loader.workers
        self.prefetch_factor, self.timeout = loader.prefetch_factor, loader.timeout
        self.persistent_workers, self.in_order = loader.persistent_workers, loader.in_order
        self.pin_memory = loader.pin_memory
        self.rank, self.world_size = loader.rank, loader.world_size

    @property
    def seed(self) -> int:
        """Of the loader, which load_state_dict() may give another one before the first batch."""
        seed: int = self._loader.seed
        return seed

    @property
    def samples_said(self) -> int | None:
        """What an iterable dataset said of its length; None: nobody asked."""
        return self._kept.samples_said

    @property
    def left_out(self) -> int:
        """Samples that no step of an epoch has, of all ranks; 0 where that is not known."""
        steps = self._loader._epoch_steps
        return 0 if steps is None else steps.left_out

    @property
    def most_ahead(self) -> int:
        """Batches that are made ahead."""
        ahead: int = (self.prefetch_factor or 1) * self.num_workers
        return max(1, ahead)

    def __len__(self) -> int:
        steps: int = len(self._loader)
        return steps

    def is_at_end(self, progress: Progress) -> bool:
        """Whether no batch of the epoch is left, as far as that is known before its end.

        Of a sampler it is known once its iterator has ended: its len() may be an estimate.
        """
        if not progress.has_started or self.is_iterable:
            return False
        if self.order is not None:
            return 0 < len(self) <= progress.position
        if progress.look_ahead is not None and self._is_length_reached(progress.position):
            progress.look_ahead()
        return progress.length is not None and progress.length <= progress.position

    def _is_length_reached(self, position: int) -> bool:
        """A sampler has given as many batches as it said, and may give more."""
        try:
            return len(self) <= position
        except (TypeError, NotImplementedError):
            return False

    def hear_epoch(self, progress: Progress) -> None:
        """Before an iterator begins there: takes over the epoch that the sampler was told."""
        self._loader._hear_epoch(progress)

    # ---- Batches ----

    def fetching(self) -> Fetching:
        """What makes batches."""
        loader, made = self._loader, self._loader.collate_fn
        shares = self.workers == "threads" and self.num_workers > 0
        return Fetching(
            dataset=self.dataset,
            is_iterable=self.is_iterable,
            batches=self.is_batched,
            collate=collate if made is default_collate and self.is_batched else made,
            batch_size=loader.batch_size,
            drop_last=loader.drop_last,
            seeds=("own" if shares else "all") if loader.seed_samples else "none",
            by_position=self.order is None,
        )

    def kept_fetcher(self, how: Fetching, keep: Any) -> Fetcher:
        """That of the calling thread, which knows from earlier epochs whether samples draw."""
        fetcher = self._kept.fetcher
        if fetcher is None or any(a is not b for a, b in zip(fetcher.how, how, strict=True)):
            fetcher = self._kept.fetcher = Fetcher(how, keep=keep)
        return fetcher

    # ---- Iterable datasets ----

    def told_epoch(self, progress: Progress) -> int | None:
        """For set_epoch() of an iterable dataset, which may keep a loaded state until then."""
        return progress.epoch if self._loader._tells_epoch else None

    def check_streams(self, progress: Progress, count: int) -> list[StreamPlace | None]:
        """Where each worker goes on in an iterable dataset."""
        if progress.streams is None or not progress.position and len(progress.streams) != count:
            return [None] * count
        check_stream_count(len(progress.streams), count)
        return list(progress.streams)

    # ---- Worker processes ----

    def take_workers(self) -> Workers:
        """Those that were kept, or new ones."""
        workers, self._kept.workers = self._kept.workers, None
        if workers is not None and workers.pid == os.getpid():
            return workers
        loader = self._loader
        workers = Workers(
            self.fetching(), self.num_workers, loader.worker_init_fn,
            loader.multiprocessing_context, self.seed + 1000003 * loader.epoch,
        )  # fmt: skip
        self._kept.running.add(workers)
        return workers

    def give_back_workers(self, workers: Workers) -> None:
        """After the last batch of an iterator."""
        if self.persistent_workers and self._kept.workers is None:
            self._kept.workers = workers
        else:
            workers.close()

    @property
    def slot_pools(self) -> list[SlotPool]:
        """Memory for batches that is shared with worker processes which run now."""
        running = [one for one in self._kept.running if one.pid == os.getpid()]
        return [pool for workers in running for pool in workers.slot_pools]


def check_stream_count(saved: int, own: int) -> None:
    """Refuses places of an iterable dataset that other workers had.

    Raises:
        InvalidArgumentError: The numbers differ.
    """
    if saved != own:
        raise InvalidArgumentError(
            f"the state has the places of {saved} readers of an IterableDataset, and this "
            f"DataLoader has {own}: its workers divide the data, so num_workers must stay the "
            "same in the middle of an epoch"
        )
