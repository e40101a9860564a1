"""torch's DataLoader by another import: the same arguments, and exact resume besides.

    from pyflowdata.integrations.torch import DataLoader

    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4)
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar

import torch.utils.data as torch_data
from torch.utils.data import IterableDataset, default_collate

from .... import InvalidArgumentError, Report, UnsupportedError, world
from ....errors import shown
from ....loader.epoch_steps import EpochSteps
from ....loader.iterator_hook import hooked
from ..accelerate_signal import PreparedLoader, announced, gradient_state
from . import states
from .arguments import check_own, check_replaced, find_seed, part_of, warn_of_left_out
from .collating import collate
from .counts import Counts
from .fetching import Fetcher, Fetching, StreamPlace
from .iterators import BatchIterator
from .one_ahead import OneAhead
from .orders import EpochOrder, SequentialOrder, ShuffledOrder
from .process_iterators import ProcessIterator, StreamIterator
from .progress import Progress
from .samplers import is_stateful, restore_epoch
from .thread_iterators import InlineIterator, ThreadIterator
from .workers import Workers

__all__ = ["DataLoader"]

_Sample = TypeVar("_Sample", covariant=True)  # of the dataset, as in torch's DataLoader[Sample]


class DataLoader(PreparedLoader, torch_data.DataLoader[_Sample], Generic[_Sample]):
    """torch.utils.data.DataLoader with exact resume, keyed randomness and reports.

    It takes torch's arguments, and is a torch.utils.data.DataLoader.  What differs:

    - `state_dict()` and `load_state_dict()` follow torchdata's Stateful contract, in the middle of
      an epoch, too, for any number of workers and ranks.
    - Without a sampler the order is this package's: `shuffle=True` is a global shuffle, new in each
      epoch, that depends on seed and epoch alone.  The ranks of a distributed job divide it.
    - Before each sample, the generators of `random`, `numpy.random` and torch are seeded by seed,
      epoch and index, so that an augmentation is the same for any number of workers.
    - Workers are processes that hold the dataset's arrays and tensors once for all of them, and
      write batches into shared memory that is used again; or threads.
    - `report()` says whether training waited for batches, and why.

    Used by one thread at a time.

    Attributes:
        seed: Of order and random numbers.
        rank, world_size: Which part of each step's samples this process gets, of how many.
        workers: "processes" or "threads".
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        workers: Literal["processes", "threads"] = "processes",
        seed: int | None = None,
        seed_samples: bool = True,
        global_batch_size: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        """Takes torch's arguments, and some of its own.

        Args:
            dataset ... in_order: As of torch.utils.data.DataLoader.
            workers: What `num_workers` counts: "processes", or "threads" of this process for a
                map-style dataset that lets go of the GIL, and may be called by several threads.
            seed: Of the order and of random numbers; None: that of `generator`, or of
                torch.manual_seed(); of several ranks 0, since they need the same one.
            seed_samples: False leaves the generators of the process to the dataset.
            global_batch_size: Samples of a step of all ranks together, in place of batch_size.
            rank, world_size: Of this process; None: as torch.distributed or the launcher say.

        Raises:
            ValueError, TypeError: As torch's.
            InvalidArgumentError: One of the own arguments is invalid.
        """
        check_own(workers, seed, rank, world_size)
        is_ours = sampler is None and batch_sampler is None
        is_iterable = isinstance(dataset, IterableDataset)
        if rank is None or world_size is None:
            found = world()
            rank, world_size = found.rank, found.world_size
        self.rank, self.world_size = operator.index(rank), operator.index(world_size)
        if global_batch_size is not None:
            check_replaced(batch_size, is_ours and not is_iterable)
            batch_size = part_of(global_batch_size, self.world_size)
        self.workers = workers
        self.seed_samples = seed_samples
        needs_same = is_ours and not is_iterable and self.world_size > 1
        self.seed = find_seed(seed, generator, needs_same=needs_same)
        self.order: EpochOrder | None = None
        if is_ours and not is_iterable:
            kind = ShuffledOrder if shuffle else SequentialOrder
            self.order = kind(
                dataset,
                batch_size=batch_size if isinstance(batch_size, int) and batch_size > 0 else 1,
                seed=self.seed, shuffle=bool(shuffle), drop_last=bool(drop_last),
                rank=self.rank, world_size=self.world_size,
            )  # fmt: skip
            sampler, shuffle = self.order, None
        self.counts = Counts()
        self._progress: Progress | None = None
        self._kept_workers: Workers | None = None
        self._fetcher: Fetcher | None = None
        self._tells_epoch = False  # a state was loaded, or set_epoch() called
        self._wanted_epoch: int | None = None
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn,
            pin_memory, drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
            prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device, in_order=in_order,
        )  # fmt: skip
        if workers == "threads" and is_iterable and num_workers > 0:
            raise UnsupportedError(
                "workers='threads' with an IterableDataset: its iterator is read by one thread at "
                "a time; take processes, or num_workers=0"
            )
        if self.order is not None and self.order.steps.left_out and not drop_last:
            warn_of_left_out(self.order)

    @property
    def is_iterable(self) -> bool:
        """Whether the dataset is an IterableDataset."""
        return isinstance(self.dataset, IterableDataset)

    @property
    def most_ahead(self) -> int:
        """Batches that are made ahead."""
        ahead: int = (self.prefetch_factor or 1) * self.num_workers
        return max(1, ahead)

    def fetching(self) -> Fetching:
        """What makes batches."""
        made: Any = self.collate_fn
        shares = self.workers == "threads" and self.num_workers > 0
        return Fetching(
            dataset=self.dataset,
            is_iterable=self.is_iterable,
            batches=self._auto_collation,
            collate=collate if made is default_collate and not self.is_iterable else made,
            batch_size=self.batch_size,
            drop_last=self.drop_last,
            seeds=("own" if shares else "all") if self.seed_samples else "none",
            by_position=self.order is None,
        )

    def kept_fetcher(self, how: Fetching, keep: Any) -> Fetcher:
        """That of the calling thread, which knows from earlier epochs whether samples draw."""
        kept = self._fetcher
        if kept is None or any(a is not b for a, b in zip(kept.how, how, strict=True)):
            kept = self._fetcher = Fetcher(how, keep=keep)
        return kept

    # ---- Iteration ----

    def __iter__(self) -> Any:
        """The next epoch; after load_state_dict() or set_epoch() the one that these say.

        An iterator from which no batch was taken is no epoch.
        """
        progress = self._next_progress()
        self._progress, self._wanted_epoch = progress, None
        if self.order is not None:
            self.order.epoch = progress.epoch
        return hooked(self, self._batches(progress))

    def _batches(self, progress: Progress) -> Iterator[Any]:
        kind = self._iterator_kind()
        if self.is_iterable and gradient_state() is not None:
            return announced(OneAhead(functools.partial(kind, self), progress), -1)
        steps = self._epoch_steps
        return announced(kind(self, progress), -1 if steps is None else steps.last_rows)

    def _iterator_kind(self) -> type[BatchIterator]:
        if self.num_workers == 0:
            return InlineIterator
        if self.workers == "threads":
            return ThreadIterator
        return StreamIterator if self.is_iterable else ProcessIterator

    def _next_progress(self) -> Progress:
        last = self._progress
        if last is None or not last.has_begun:
            progress = last.copy() if last is not None else Progress()
        else:
            progress = Progress(last.epoch + 1)
        if self._wanted_epoch is not None and self._wanted_epoch != progress.epoch:
            progress = Progress(self._wanted_epoch)
        return progress

    def set_epoch(self, epoch: int) -> None:
        """The next iterator, and one that has not begun, is of this epoch.  A place that
        load_state_dict() gave in it is kept.

        Raises:
            InvalidArgumentError: It is not an int from 0 on.
        """
        if not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 0:
            raise InvalidArgumentError(f"epoch = {shown(epoch)}; it must be an int from 0 on")
        last, self._tells_epoch = self._progress, True
        if last is None or last.has_begun:
            self._wanted_epoch = epoch
        elif last.epoch != epoch:
            last.__dict__.update(Progress(epoch).__dict__)
        for one in (self.sampler, self.batch_sampler):
            if hasattr(one, "set_epoch"):
                one.set_epoch(epoch)

    @property
    def epoch(self) -> int:
        """Of the last iterator; before any, that of the first one."""
        return self._progress.epoch if self._progress is not None else self._wanted_epoch or 0

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank.

        Raises:
            TypeError: The dataset or the sampler has no len().
        """
        if self._epoch_steps is not None:
            return self._epoch_steps.num_steps
        batches: int = super().__len__()
        return batches

    @property
    def _epoch_steps(self) -> EpochSteps | None:
        """None: a sampler or an iterable dataset decides them, or samples are not batched."""
        return self.order.steps if self.order is not None and self._auto_collation else None

    # ---- State ----

    def _facts(self) -> dict[str, Any]:
        """What must be the same of a loader that takes a state."""
        facts: dict[str, Any] = {"seed": self.seed}
        if self.order is None:
            return {**facts, "order": "stream" if self.is_iterable else "sampler"}
        return {
            **facts,
            "order": "shuffled" if self.order.shuffle else "sequential",
            "samples": self.order.samples,
            "global_batch_size": self.order.global_batch,
            "drop_last": self.order.drop_last,
        }

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is.  It counts batches that were delivered, not those made ahead; after
        the last batch of an epoch it means the next epoch.

        It has less than 300 bytes as JSON, and is the same on every rank.  A sampler or dataset
        with a state of its own, or a sampler with a generator, adds that.
        """
        progress = self._progress or Progress(self._wanted_epoch or 0)
        if progress.is_over or self.is_at_end(progress):
            progress = Progress(
                progress.epoch + 1, start=progress.after, streams=progress.after_streams
            )
        streams = progress.streams
        if streams is None and self.is_iterable and not self.num_workers:
            streams = _place_of(self.dataset)
        progress = dataclasses.replace(progress, streams=streams)
        return copy.deepcopy(states.write(progress, self._facts()))

    def is_at_end(self, progress: Progress) -> bool:
        if not progress.has_begun or self.is_iterable:
            return False
        try:
            return 0 < len(self) <= progress.position
        except TypeError:
            return False

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iter() go on where the state was taken.

        The loader may have another number of workers; and another world size, where batch_size
        times world_size is the same.  The seed is that of the state.

        Raises:
            InvalidArgumentError: The state is of another loader; the text lists each difference.
        """
        progress = states.read(copy.deepcopy(state_dict), self._facts())
        if progress.streams is not None and progress.position:
            self._check_stream_count(len(progress.streams), max(1, self.num_workers))
        self.seed = int(state_dict["seed"])
        if self.order is not None:
            self.order.seed, self.order.epoch = self.seed, progress.epoch
        restore_epoch(self._index_sampler, progress.start)
        self._tells_epoch = True
        self._progress, self._wanted_epoch = progress, None

    def told_epoch(self, progress: Progress) -> int | None:
        """For set_epoch() of an iterable dataset, which may keep a loaded state until then."""
        return progress.epoch if self._tells_epoch else None

    def check_streams(self, progress: Progress, count: int) -> list[StreamPlace | None]:
        """Where each worker goes on in an iterable dataset."""
        if progress.streams is None or not progress.position and len(progress.streams) != count:
            return [None] * count
        self._check_stream_count(len(progress.streams), count)
        return list(progress.streams)

    def _check_stream_count(self, saved: int, own: int) -> None:
        if saved != own:
            raise InvalidArgumentError(
                f"the state has the places of {saved} readers of an IterableDataset, and this "
                f"DataLoader has {own}: its workers divide the data, so num_workers must stay the "
                "same in the middle of an epoch"
            )

    # ---- Workers ----

    def take_workers(self) -> Workers:
        """Worker processes for an iterator: those that were kept, or new ones."""
        kept, self._kept_workers = self._kept_workers, None
        if kept is not None:
            return kept
        epoch = self._progress.epoch if self._progress is not None else 0
        return Workers(
            self.fetching(), self.num_workers, self.worker_init_fn, self.multiprocessing_context,
            self.seed + 1000003 * epoch,
        )  # fmt: skip

    def give_back_workers(self, workers: Workers) -> None:
        """After the last batch of an iterator."""
        if self.persistent_workers and self._kept_workers is None:
            self._kept_workers = workers
        else:
            workers.close()

    def close(self) -> None:
        """Ends the worker processes that are kept.  Batches that are held stay valid."""
        workers, self._kept_workers = self._kept_workers, None
        if workers is not None:
            workers.close()

    def __enter__(self) -> DataLoader[_Sample]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        none = dict.fromkeys(("_kept_workers", "_fetcher", "counts", "_iterator"))
        return {**self.__dict__, **none}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["counts"] = Counts()

    # ---- What is seen of it ----

    def shared_memory(self) -> tuple[int, int]:
        """Bytes and slots of memory for batches that worker processes share."""
        workers = self._kept_workers
        if workers is None:
            return 0, 0
        return workers.bytes, sum(one.slots.used for one in workers.processes)

    def stats(self) -> dict[str, float]:
        """Counters since the loader was made, with times in seconds, by the names that
        flow.DataLoader.stats() has; of workers, not of threads."""
        return self.counts.stats(self)

    def report(self, *, since: Report | None = None) -> Report:
        """What limited the training loop, and what to change; see flow.DataLoader.report().

        Args:
            since: An earlier report: of what happened after it.
        """
        report = self.counts.report(self)
        return report if since is None else report.since(since)


def _place_of(dataset: Any) -> list[StreamPlace] | None:
    """Of an iterable dataset in this process, before its first batch."""
    if not is_stateful(dataset):
        return None
    return [StreamPlace(0, ("dataset", dataset.state_dict()), False)]
