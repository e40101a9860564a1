"""torch's DataLoader by another import: the same arguments, and exact resume besides.

    from pyflowdata.integrations.torch import DataLoader

    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4)
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar

import torch.utils.data as torch_data

from .... import Report
from ....loader.epoch_steps import EpochSteps
from ....loader.epochs import as_epoch
from ....loader.iterator_hook import hooked
from ....loader.state import malformed
from ..accelerate_signal import PreparedLoader, announced, gradient_state
from ..rows import TrainerEpochs
from . import states
from .arguments import (
    LastBatch,
    check_own,
    check_torchs,
    find_ranks,
    find_seed,
    is_map_style,
    last_batch_of,
    make_order,
    part_of,
    warn_of_left_out,
)
from .description import describe
from .engine import Engine, Kept, check_stream_count
from .fetching import StreamPlace
from .iterators import BatchIterator
from .orders import EpochOrder
from .process_iterators import ProcessIterator, StreamIterator
from .progress import Progress
from .samplers import (
    StreamSampler,
    epoch_of,
    generator_states,
    is_stateful,
    restore_epoch,
    tell_epoch,
)
from .stream_lookahead import StreamLookahead
from .thread_iterators import InlineIterator, ThreadIterator

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
      Tensors from a process are contiguous, also where collate_fn gave other strides, and those
      that shared memory there do not here.
    - `report()` says whether training waited for batches, and why.

    Used by one thread at a time.

    Attributes:
        seed: Of order and random numbers.
        rank, world_size: Which part of each step's samples this process gets, of how many.
        workers: "processes" or "threads".
    """

    def __init__(
        self: DataLoader[Any],
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
        last: LastBatch | None = None,
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
            last: What becomes of a short last step.  "short" (None): ranks divide its samples, of
                which some may have one more; it is left out where a rank would have none.  "even":
                it is cut so that each rank has as many.  "drop": as drop_last.  "pad": each rank
                has a full batch, filled with the last sample; `real_rows` says how many are real.
            rank, world_size: Of this process; None: as torch.distributed or the launcher say.

        Raises:
            ValueError, TypeError: As torch's.
            InvalidArgumentError: One of the own arguments is invalid.
        """
        check_own(workers, num_workers, dataset, seed, rank, world_size)
        self.rank, self.world_size = find_ranks(rank, world_size)
        has_order = sampler is None and batch_sampler is None and is_map_style(dataset)
        if global_batch_size is not None:
            batch_size = part_of(global_batch_size, self.world_size, batch_size, has_order)
        rule = last_batch_of(last, drop_last, has_order)
        drop_last = drop_last or rule == "drop"
        self.workers, self.seed_samples = workers, seed_samples
        self.seed = find_seed(seed, generator, needs_same=has_order and self.world_size > 1)
        self.order: EpochOrder | None = None
        if has_order:
            self.order = make_order(
                dataset, batch_size, shuffle, rule, self.seed, self.rank, self.world_size
            )
            sampler, shuffle = self.order, None
        self._kept = Kept()
        self._progress: Progress | None = None
        self._tells_epoch = False  # a state was loaded, or set_epoch() called
        self._wanted_epoch: int | None = None
        self._heard = 0  # the epoch that the program's sampler was told last
        self._trainer_epochs = TrainerEpochs()
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn,
            pin_memory, drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
            prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device, in_order=in_order,
        )  # fmt: skip
        if self._is_iterable:
            self.__dict__["sampler"] = StreamSampler()
        self._listen()
        check_torchs(num_workers, timeout, prefetch_factor, generator)
        if self.order is not None and self.world_size > 1 and rule == "short":
            warn_of_left_out(self.order)

    @property
    def _is_iterable(self) -> bool:
        return not is_map_style(self.dataset)

    def _listen(self) -> None:
        """Hears what a trainer tells the sampler, where that is ours."""
        if isinstance(self.sampler, (EpochOrder, StreamSampler)):
            self.sampler.loader_hears = weakref.WeakMethod(self._set_epoch_of_trainer)

    def _engine(self) -> Engine:
        return Engine(self, self._kept)

    # ---- Iteration ----

    def __iter__(self) -> Any:
        """The next epoch; after load_state_dict() or set_epoch() the one that these say.

        An iterator from which no batch was taken does not count as an epoch.
        """
        progress = self._next_progress()
        self._progress, self._wanted_epoch = progress, None
        if self.order is not None:
            self.order.epoch = progress.epoch
        return hooked(self, self._batches(progress))

    def _batches(self, progress: Progress) -> Iterator[Any]:
        kind = self._iterator_kind()
        engine, steps = self._engine(), self._epoch_steps
        if self._is_iterable and gradient_state() is not None:
            return announced(StreamLookahead(functools.partial(kind, engine), progress), -1)
        return announced(kind(engine, progress), -1 if steps is None else steps.last_rows)

    def _iterator_kind(self) -> type[BatchIterator]:
        if self.num_workers == 0:
            return InlineIterator
        if self.workers == "threads":
            return ThreadIterator
        return StreamIterator if self._is_iterable else ProcessIterator

    def _next_progress(self) -> Progress:
        last = self._progress
        if last is None or not last.has_started:
            progress = last.copy() if last is not None else Progress()
        else:
            progress = last.next(last.epoch + 1)
        if self._wanted_epoch is not None and self._wanted_epoch != progress.epoch:
            progress = progress.next(self._wanted_epoch)
        return progress

    def set_epoch(self, epoch: int) -> None:
        """The next iterator, and one that has not started, is of this epoch.  A place that
        load_state_dict() gave in it is kept.

        Raises:
            InvalidArgumentError: It is not an int from 0 on.
        """
        epoch = as_epoch(epoch)
        last, self._tells_epoch = self._progress, True
        if last is None or last.has_started:
            self._wanted_epoch = epoch
        elif last.epoch != epoch:
            last.become(last.next(epoch))
        if self.order is not None:
            self.order.epoch = epoch
        elif self._is_from_sampler:
            sampler = self._engine().index_sampler
            if epoch_of(sampler) != epoch:
                tell_epoch(sampler, epoch)
            self._heard = epoch

    def _set_epoch_of_trainer(self, epoch: int) -> None:
        """What a trainer tells our own sampler: by its own count of epochs."""
        self.set_epoch(self._trainer_epochs.epoch_of(as_epoch(epoch), self.epoch))

    def _hear_epoch(self, progress: Progress) -> None:
        """Before the first batch: takes over what the program's sampler was told since the last
        epoch, so that random numbers and states are of the same one."""
        told = epoch_of(self._engine().index_sampler) if self._is_from_sampler else None
        if progress is self._progress and told is not None and told != self._heard:
            self._set_epoch_of_trainer(told)

    @property
    def epoch(self) -> int:
        """Of the last iterator; before any, that of the first one."""
        return self._progress.epoch if self._progress is not None else self._wanted_epoch or 0

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank.

        Raises:
            TypeError: The dataset or the sampler has no len().
        """
        if self._is_iterable:
            self._kept.samples_said = len(self.dataset)
        steps = self._epoch_steps
        batches: int = super().__len__() if steps is None else steps.num_steps
        return batches

    @property
    def real_rows(self) -> int | None:
        """Samples of the last delivered batch, without those that last="pad" filled it with; None:
        there was none in this epoch, or a sampler or an IterableDataset gave them."""
        steps, progress = self._epoch_steps, self._progress
        if steps is None or progress is None or progress.delivered is None:
            return None
        rows = steps.rows_of(progress.delivered, self.rank)
        return max(0, min(rows.stop, steps.rows) - rows.start)

    @property
    def _is_from_sampler(self) -> bool:
        return self.order is None and not self._is_iterable

    @property
    def _epoch_steps(self) -> EpochSteps | None:
        """None: a sampler or an iterable dataset decides them, or samples are not batched."""
        is_batched = self.batch_sampler is not None
        return self.order.steps if self.order is not None and is_batched else None

    # ---- State ----

    def _facts(self) -> dict[str, Any]:
        """What must be the same of a loader that takes a state."""
        facts: dict[str, Any] = {"seed": self.seed}
        if self.order is None:
            return {**facts, "order": "stream" if self._is_iterable else "sampler"}
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
        if progress.is_over or self._engine().is_at_end(progress):
            progress = Progress(
                progress.epoch + 1, start=progress.after, streams=progress.after_streams
            )
        elif self._is_from_sampler and not progress.has_started and not progress.start:
            sampler = self._engine().index_sampler
            progress = dataclasses.replace(progress, start=generator_states(sampler))
        streams = progress.streams
        if streams is None and not progress.has_started:
            streams = progress.after_streams
        if streams is None and self._is_iterable and not self.num_workers:
            streams = _place_of(self.dataset)
        progress = dataclasses.replace(progress, streams=streams)
        return copy.deepcopy(states.write(progress, self._facts()))

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iterator, also one that has not started, continue from the state.

        The loader may have another number of workers; and another world size, where batch_size
        times world_size is the same.  The seed is that of the state.

        Raises:
            InvalidArgumentError: The state is of another loader; the text lists each difference.
        """
        progress = states.read(copy.deepcopy(state_dict), self._facts())
        if self._epoch_steps is not None and progress.position > self._epoch_steps.num_steps:
            raise malformed(
                f"position = {progress.position}, but an epoch has {len(self)} batches"
            )
        if progress.streams is not None and progress.position:
            check_stream_count(len(progress.streams), max(1, self.num_workers))
        self.seed = int(state_dict["seed"])
        if self.order is not None:
            self.order.seed, self.order.epoch = self.seed, progress.epoch
        restore_epoch(self._engine().index_sampler, progress.start)
        self._heard = epoch_of(self._engine().index_sampler) or 0
        self._tells_epoch = True
        if self._progress is None or self._progress.has_started:
            self._progress = progress
        else:
            self._progress.become(progress)  # also for the iterator that has not started
        self._wanted_epoch = None
        self._trainer_epochs.forget()

    # ---- Worker processes ----

    def close(self) -> None:
        """Ends the worker processes that are kept.  Batches that are held stay valid."""
        self._kept.close()

    def __repr__(self) -> str:
        return describe(self)

    def __enter__(self) -> DataLoader[_Sample]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kept=Kept())
        self._listen()

    # ---- Reports ----

    def stats(self) -> dict[str, float]:
        """Counters since the loader was made, with times in seconds, by the names that
        flow.DataLoader.stats() has; of workers, not of threads.

        slots and slot_bytes are those of the worker processes that run now, whether an iterator has
        them or persistent_workers keeps them; slots_held are batches that the program holds, or
        that came ahead.
        """
        return self._kept.counts.stats(self._engine())

    def report(self, *, since: Report | None = None) -> Report:
        """What limited the training loop, and what to change; see flow.DataLoader.report().

        Args:
            since: An earlier report: of what happened after it.
        """
        report = self._kept.counts.report(self._engine())
        return report if since is None else report.since(since)


def _place_of(dataset: Any) -> list[StreamPlace] | None:
    """Of an iterable dataset in this process, before its first batch."""
    if not is_stateful(dataset):
        return None
    return [StreamPlace(0, ("dataset", dataset.state_dict()), False)]
