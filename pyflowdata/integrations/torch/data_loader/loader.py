"""torch's DataLoader by another import, with the same arguments and exact resume.

    from pyflowdata.integrations.torch import DataLoader

    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4)
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import operator
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, SupportsIndex, TypeVar, get_args

import torch
import torch.utils.data as torch_data

from .... import InvalidArgumentError, Report, UnsupportedError, world
from ....errors import shown
from ....loader.epoch_steps import EpochSteps
from ....loader.epochs import as_epoch
from ....loader.loader import hooked
from ....loader.ledger import warn_of_no_ledger
from ....loader.state import malformed
from ..accelerate_signal import PreparedLoader, announced, gradient_state
from ..fit_loops import FitLoopLoader, TrainerEpochs
from ..lookahead import Lookahead
from .engine import Engine, Kept, check_stream_count, is_map_style, known_length
from .fetching import StreamPlace
from .iterators import (
    BatchIterator,
    InlineIterator,
    ProcessIterator,
    StreamIterator,
    ThreadIterator,
)
from .progress import EpochProgress, read_state, write_state
from .randomness import mixed, note_hidden_draw
from .samplers import (
    EpochOrder,
    SamplerIterator,
    SequentialOrder,
    ShuffledOrder,
    StreamSampler,
    epoch_of,
    generator_states,
    is_stateful,
    restore_start,
    tell_epoch,
)

__all__ = ["DataLoader"]


# ---- Arguments ----------------------------------------------------------------------------------

LastBatch = Literal["short", "even", "drop", "pad"]
_SEEDS = 2**62 - 1  # the largest seed, and the bits that one has


def _check_own(
    workers: Any, num_workers: Any, dataset: Any, seed: Any, rank: Any, world_size: Any
) -> None:
    """Refuses wrong values of this package's arguments."""
    if workers not in ("processes", "threads"):
        raise InvalidArgumentError(
            f"workers = {shown(workers)}; it must be 'processes' or 'threads', and num_workers "
            "says how many"
        )
    if workers == "threads" and num_workers and not is_map_style(dataset):
        raise UnsupportedError(
            "workers='threads' with an IterableDataset: its iterator is read by one thread at "
            "a time; take processes, or num_workers=0"
        )
    if seed is not None and not 0 <= operator.index(seed) <= _SEEDS:
        raise InvalidArgumentError(f"seed = {seed}; it must be in [0, 2**62)")
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("give both rank and world_size, or neither of them")
    if rank is not None and not 0 <= rank < world_size:
        raise InvalidArgumentError(
            f"rank = {rank} and world_size = {world_size}; rank must be in [0, world_size)"
        )


def _check_torchs(
    num_workers: Any, timeout: Any, prefetch_factor: Any, generator: Any, snapshot_steps: Any
) -> None:
    """Refuses at once the arguments that torch and torchdata refuse when an iterator is made."""
    if not isinstance(num_workers, SupportsIndex):
        raise InvalidArgumentError(f"num_workers = {shown(num_workers)}; it must be an int")
    if not 0 <= timeout < math.inf:
        raise InvalidArgumentError(f"timeout = {timeout}; it must be seconds, 0 for no limit")
    if timeout and not num_workers:
        raise InvalidArgumentError(
            f"timeout = {timeout} with num_workers=0: it limits the wait for workers, of which "
            "there are none; leave it out, or take workers"
        )
    is_count = isinstance(prefetch_factor, SupportsIndex) and operator.index(prefetch_factor) > 0
    if prefetch_factor is not None and not is_count:
        raise InvalidArgumentError(
            f"prefetch_factor = {shown(prefetch_factor)}; it must be an int from 1 on"
        )
    if generator is not None and not isinstance(generator, torch.Generator):
        raise InvalidArgumentError(f"generator = {shown(generator)}; it must be a torch.Generator")
    if snapshot_steps is not None and not isinstance(snapshot_steps, int):
        raise InvalidArgumentError(
            f"snapshot_every_n_steps = {shown(snapshot_steps)}; it must be an int"
        )


def _find_ranks(rank: Any, world_size: Any) -> tuple[int, int]:
    """Rank and world size of this process; without arguments those of the job."""
    if rank is None:
        job = world()
        return job.rank, job.world_size
    return operator.index(rank), operator.index(world_size)


def _part_of(size: int, world_size: int, batch_size: Any, has_order: bool) -> int:
    """The batch_size of a rank, for a global_batch_size.

    Args:
        size: The global_batch_size.
        batch_size: The argument that it replaces.
        has_order: Whether a map-style dataset has this package's order.
    """
    if batch_size not in (1, None) or not has_order:
        raise InvalidArgumentError(
            "global_batch_size takes the place of batch_size, sampler and batch_sampler, and is "
            "for map-style datasets: leave the others out"
        )
    if size < 1 or size % world_size:
        raise InvalidArgumentError(
            f"global_batch_size = {size}; it must be a multiple of world_size = {world_size}"
        )
    return size // world_size


def _last_batch_of(last: Any, drop_last: Any, has_order: bool) -> str:
    """The rule for the short last batch of an epoch.

    Args:
        last, drop_last: As in the DataLoader.
        has_order: Whether a map-style dataset has this package's order.
    """
    if last is None:
        return "drop" if drop_last else "short"
    if last not in get_args(LastBatch):
        raise InvalidArgumentError(
            f"last = {shown(last)}; it must be 'short', 'even', 'drop' or 'pad'"
        )
    if not has_order:
        raise InvalidArgumentError(
            f"last = '{last}' with a sampler, a batch_sampler or an IterableDataset, which decides "
            "itself what the last batch has: leave it out, or leave the sampler out"
        )
    if drop_last and last != "drop":
        raise InvalidArgumentError(f"drop_last = True and last = '{last}'; give one of the two")
    return str(last)


def _make_order(
    dataset: Any, batch_size: Any, shuffle: Any, last: str, seed: int, rank: int, world_size: int
) -> EpochOrder:
    """The order of a dataset without a sampler of the program."""
    kind = ShuffledOrder if shuffle else SequentialOrder
    is_size = isinstance(batch_size, int) and batch_size > 0
    return kind(
        dataset,
        batch_size=batch_size if is_size else 1,  # torch checks it
        seed=seed, shuffle=bool(shuffle), last=last, rank=rank, world_size=world_size,
    )  # fmt: skip


def _find_seed(seed: int | None, generator: Any, *, needs_same: bool) -> int:
    """The seed; by default that of torch's generator, which torch.manual_seed() sets.

    Args:
        needs_same: Whether ranks divide an order, for which they need the same seed.
    """
    if seed is not None:
        return operator.index(seed)
    if generator is not None and hasattr(generator, "initial_seed"):
        initial: int = generator.initial_seed()
        return initial & _SEEDS
    note_hidden_draw()  # a sample that makes a DataLoader depends on the generator
    return 0 if needs_same else int(torch.initial_seed()) & _SEEDS


def _warn_of_left_out(order: EpochOrder) -> None:
    """Warns of samples that no rank gets, if there are any."""
    if not order.steps.left_out:
        return
    warnings.warn(
        f"the last {order.steps.left_out} of {order.samples} samples of each epoch are left out, "
        f"as they are fewer than the {order.num_replicas} ranks; last='pad' fills the last batches "
        "instead, and real_rows says how many samples are no filling",
        stacklevel=3,
    )


# ---- repr() -------------------------------------------------------------------------------------


def _describe(loader: DataLoader[Any]) -> str:
    """Dataset, order, batches, workers and steps of a loader, in a line."""
    dataset, samples = type(loader.dataset).__name__, known_length(loader.dataset)
    parts = [
        dataset if samples is None else f"{dataset} of {samples} samples",
        _batches_of(loader),
        _order_of(loader),
        f"rank={loader.rank}/{loader.world_size}" if loader.world_size > 1 else "",
        f"{loader.num_workers} worker {loader.workers}" if loader.num_workers else "no workers",
        f"steps={_or_unknown(known_length(loader))}, epoch={loader.epoch}",
    ]
    return f"DataLoader({'; '.join(filter(None, parts))})"


def _batches_of(loader: DataLoader[Any]) -> str:
    if loader.batch_sampler is None:
        return "single samples"
    last = "" if loader.order is None or loader.order.last == "short" else loader.order.last
    size = f"batch_size={loader.batch_size}" if loader.batch_size is not None else ""
    return ", ".join(filter(None, (size, f"last={last!r}" if last else "")))


def _order_of(loader: DataLoader[Any]) -> str:
    if loader.order is not None:
        return f"shuffle={loader.order.shuffle}, seed={loader.seed}"
    is_own = loader.batch_size is None and loader.batch_sampler is not None
    sampler = type(loader.batch_sampler if is_own else loader.sampler).__name__
    return "" if sampler == "StreamSampler" else f"{'batch_' * is_own}sampler={sampler}"


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else str(number)


# ---- Iterable datasets, one batch ahead ---------------------------------------------------------


class _StreamLookahead(Iterator[Any]):
    """The batches of an iterator, with a progress that does not count the batch ahead."""

    def __init__(
        self, make: Callable[[EpochProgress], BatchIterator], public: EpochProgress
    ) -> None:
        """Takes a function that makes the iterator, and the progress of the DataLoader."""
        self._make = make
        self._public = public
        self._own: EpochProgress
        self._batches: BatchIterator
        self._lookahead: Lookahead[EpochProgress] | None = None
        self._turns = threading.RLock()

    def __next__(self) -> Any:
        with self._turns:
            return self._next_in_turn()

    def _next_in_turn(self) -> Any:
        lookahead = self._lookahead
        if lookahead is None:
            self._own = self._public.unstarted()
            self._batches = self._make(self._own)
            lookahead = self._lookahead = Lookahead(
                lambda: next(self._batches), self._own.snapshot, self._go_back, (Exception,)
            )
        try:
            return next(lookahead)
        finally:
            self._public.become(lookahead.place)

    @property
    def at_end(self) -> bool:
        """Whether the last batch was delivered."""
        return self._lookahead is not None and self._lookahead.at_end

    def _go_back(self, place: EpochProgress) -> None:
        own = self._own
        if (own.epoch, own.position) != (place.epoch, place.position):
            own.become(place.snapshot())
            self._batches = self._make(own)


# ---- The DataLoader -----------------------------------------------------------------------------

_Sample = TypeVar("_Sample", covariant=True)  # of the dataset, as in torch's DataLoader[Sample]


class DataLoader(
    FitLoopLoader, PreparedLoader, torch_data.DataLoader[_Sample], Generic[_Sample]
):
    """torch.utils.data.DataLoader with exact resume, keyed randomness and reports.

    It takes torch's arguments, and is a torch.utils.data.DataLoader.  The differences:

    - `state_dict()` and `load_state_dict()` follow torchdata's Stateful contract, also in the
      middle of an epoch, for any number of workers and ranks.
    - Without a sampler the order is this package's: `shuffle=True` is a global shuffle, new in each
      epoch, that depends on seed and epoch alone.  The ranks of a distributed job divide it.
    - Before each sample, the generators of `random`, `numpy.random` and torch are seeded by seed,
      epoch and index, so that an augmentation is the same for any number of workers.
    - Workers are processes, which share one copy of the dataset's arrays and tensors, and write
      batches into shared memory that is reused; or threads.  Tensors from a process are contiguous,
      also if collate_fn gave other strides, and no longer share memory with each other.
    - `report()` says whether training waited for batches, and why.

    Threads may share an iterator, each batch is given to one of them, or have one each.  With
    num_workers=0 and seed_samples they take turns, also with other loaders, since the generators
    are those of the process: a sample must not wait for a batch in another thread.

    Attributes:
        seed: The seed of order and random numbers.
        rank, world_size: This process gets part `rank` of `world_size` parts of each step.
        workers: "processes" or "threads".
    """

    order: EpochOrder | None = None
    _progress: EpochProgress | None = None
    _tells_epoch = False  # a state was loaded, or set_epoch() called
    _wanted_epoch: int | None = None
    _heard = 0  # the epoch that the program's sampler was told last

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
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        """Takes torch's arguments, and some of its own.

        Args:
            dataset ... in_order: As in torch.utils.data.DataLoader.
            workers: The kind of workers: "processes", or "threads" of this process for a map-style
                dataset that releases the GIL, and may be called by several threads.
            seed: The seed of order and random numbers; None: that of `generator`, or of
                torch.manual_seed(); for several ranks 0, since they need the same seed.
            seed_samples: False leaves the generators of the process to the dataset.
            global_batch_size: Samples of a step of all ranks together, in place of batch_size.
            last: The rule for a short last step.  "short" (None): ranks divide its samples, and
                some ranks may get one more; the step is left out if a rank would get none.  "even":
                the step is cut so that all ranks get the same number.  "drop": as drop_last.
                "pad": each rank gets a full batch, filled with the last sample; `real_rows` counts
                the real samples.
            rank, world_size: The rank of this process and the number of ranks; None: those of
                torch.distributed or the launcher.
            snapshot_every_n_steps: An argument of torchdata's StatefulDataLoader, which is checked
                and changes nothing: a state is exact after each batch.

        Raises:
            ValueError, TypeError: As torch's.
            InvalidArgumentError: One of the own arguments is invalid.
        """
        _check_own(workers, num_workers, dataset, seed, rank, world_size)
        warn_of_no_ledger("the DataLoader with torch's arguments")
        self.rank, self.world_size = _find_ranks(rank, world_size)
        has_order = sampler is None and batch_sampler is None and is_map_style(dataset)
        if global_batch_size is not None:
            batch_size = _part_of(global_batch_size, self.world_size, batch_size, has_order)
        rule = _last_batch_of(last, drop_last, has_order)
        drop_last = drop_last or rule == "drop"
        self.workers, self.seed_samples = workers, seed_samples
        self.seed = _find_seed(seed, generator, needs_same=has_order and self.world_size > 1)
        if has_order:
            sampler = self.order = _make_order(
                dataset, batch_size, shuffle, rule, self.seed, self.rank, self.world_size
            )
            shuffle = None
        self._kept, self._trainer_epochs = Kept(), TrainerEpochs()
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn,
            pin_memory, drop_last, timeout, worker_init_fn, multiprocessing_context, generator,
            prefetch_factor=prefetch_factor, persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device, in_order=in_order,
        )  # fmt: skip
        if self._is_iterable:
            self.__dict__["sampler"] = StreamSampler()
        self._listen()
        _check_torchs(num_workers, timeout, prefetch_factor, generator, snapshot_every_n_steps)
        self.snapshot_every_n_steps = snapshot_every_n_steps
        if self.order is not None and self.world_size > 1 and rule == "short":
            _warn_of_left_out(self.order)

    @property
    def _is_iterable(self) -> bool:
        return not is_map_style(self.dataset)

    def _listen(self) -> None:
        """Hears the epochs that a trainer tells the sampler, if it is this package's."""
        if isinstance(self.sampler, (EpochOrder, StreamSampler)):
            self.sampler.loader_hears = weakref.WeakMethod(self._set_epoch_of_trainer)

    def _engine(self) -> Engine:
        return Engine(self, self._kept)

    # ---- Iteration ----

    def __iter__(self) -> Any:
        """The next epoch; after load_state_dict() or set_epoch() the epoch that they chose.

        An iterator from which no batch was taken does not count as an epoch.
        """
        return self._followed(self._next_batches)

    def _next_batches(self) -> Iterator[Any]:
        progress = self._next_progress()
        self._progress, self._wanted_epoch = progress, None
        if self.order is not None:
            self.order.epoch = progress.epoch
        return hooked(self, self._batches(progress))

    def _batches(self, progress: EpochProgress) -> Iterator[Any]:
        kind = self._iterator_kind()
        engine, steps = self._engine(), self._epoch_steps
        if self._is_iterable and gradient_state() is not None:
            return announced(_StreamLookahead(functools.partial(kind, engine), progress), -1)
        return announced(kind(engine, progress), -1 if steps is None else steps.last_rows)

    def _iterator_kind(self) -> type[BatchIterator]:
        if self.num_workers == 0:
            return InlineIterator
        if self.workers == "threads":
            return ThreadIterator
        return StreamIterator if self._is_iterable else ProcessIterator

    def _next_progress(self) -> EpochProgress:
        last = self._progress
        progress = EpochProgress() if last is None else last.unstarted()
        if last is not None and last.has_started:  # asked after the copy: a thread may start it now
            progress = last.next(last.epoch + 1)
        if self._wanted_epoch is not None and self._wanted_epoch != progress.epoch:
            progress = progress.next(self._wanted_epoch)
        return progress

    def set_epoch(self, epoch: int) -> None:
        """The next iterator, and one that has not started, is of this epoch. A place in this epoch
        that load_state_dict() chose is kept.

        Raises:
            InvalidArgumentError: The epoch is not an int from 0 on.
        """
        epoch = as_epoch(epoch)
        last, self._tells_epoch = self._progress, True
        if last is None or last.has_started:
            self._wanted_epoch = epoch
        elif last.epoch != epoch:
            self._leave(last, epoch)
        if self.order is not None:
            self.order.epoch = epoch
        elif self._is_from_sampler:
            sampler = self._engine().index_sampler
            if epoch_of(sampler) != epoch:
                tell_epoch(sampler, epoch)
            self._heard = epoch

    def _leave(self, place: EpochProgress, epoch: int) -> None:
        """Goes from a place in an epoch, at which no iterator started, to the start of another
        epoch, as a program does that has had the batches before that place."""
        sampler = self._engine().index_sampler
        drawn_from = (place.start or {}).get("generators")
        if drawn_from and generator_states(sampler)["generators"] == drawn_from:
            # A trainer may have read the epoch from the sampler itself; otherwise this draws.
            key = mixed(self.seed, place.epoch)
            SamplerIterator(sampler, key, place.position, place.start, None)
        streams = None
        if place.streams and (self.persistent_workers or not self.num_workers):
            streams = [StreamPlace(0, one.state, False) for one in place.streams
                       if one.state is not None and one.state[0] == "dataset"]  # fmt: skip
        place.become(dataclasses.replace(place.next(epoch), streams=streams or None))

    def _begin_epoch(self, epoch: int) -> None:
        """Goes to the first batch of an epoch."""
        last = self._progress
        if last is not None and not last.has_started and last.epoch == epoch and last.position:
            self._leave(last, epoch)
        self.set_epoch(epoch)

    def _next_epoch(self) -> int:
        return self.epoch

    def _hear_epoch(self, progress: EpochProgress) -> None:
        """Before the first batch: takes over the epoch that the program has told its sampler since
        the last epoch, so that random numbers and states are of the same epoch."""
        told = epoch_of(self._engine().index_sampler) if self._is_from_sampler else None
        if progress is self._progress and told is not None and told != self._heard:
            self._set_epoch_of_trainer(told)

    @property
    def epoch(self) -> int:
        """The epoch of the last iterator; before any, the epoch of the first iterator."""
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
        """Samples of the last delivered batch, without those with which last="pad" filled it; None:
        no batch was delivered in this epoch, or a sampler or an IterableDataset gave the samples.
        """
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
        """None: a sampler or an iterable dataset decides the steps, or samples are not batched."""
        is_batched = self.batch_sampler is not None
        return self.order.steps if self.order is not None and is_batched else None

    # ---- State ----

    def _facts(self) -> dict[str, Any]:
        """The facts that a loader and a state for it must share."""
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
        """The place of the loader. Delivered batches count, not batches that are made ahead.

        After the last batch of an epoch it is the end of that epoch, and the first iterator of a
        resumed program has no batch; after the StopIteration it is the start of the next epoch.

        The state has less than 300 bytes as JSON, and is the same on every rank.  A sampler or
        dataset with its own state, or a sampler with a generator, adds that.
        """
        return self._state_of_user()

    def _own_state(self) -> dict[str, Any]:
        progress = self._progress or EpochProgress(self._wanted_epoch or 0)
        if progress.is_over:
            progress = EpochProgress(
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
        state = copy.deepcopy(write_state(progress, self._facts()))
        if self._is_iterable:
            state["told"] = self._tells_epoch
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iterator, also one that has not started, continue from the state.

        The loader may have another number of workers; and another world size, if batch_size times
        world_size is the same.  The seed is that of the state.

        Raises:
            InvalidArgumentError: The state is of another loader; the message lists each difference.
        """
        progress = read_state(copy.deepcopy(state_dict), self._facts())
        if self._epoch_steps is not None and progress.position > self._epoch_steps.num_steps:
            raise malformed(
                f"position = {progress.position}, but an epoch has {len(self)} batches"
            )
        if progress.streams is not None and progress.position:
            check_stream_count(len(progress.streams), max(1, self.num_workers))
        self.seed = int(state_dict["seed"])
        if self.order is not None:
            self.order.seed, self.order.epoch = self.seed, progress.epoch
        restore_start(self._engine().index_sampler, progress.start)
        if progress.start:
            progress.start.update(generator_states(self._engine().index_sampler))
        self._heard = epoch_of(self._engine().index_sampler) or 0
        # A dataset may stay in the epoch of its own state until it is told of another one.
        has_own = any(one.state is not None for one in progress.streams or ())
        self._tells_epoch = has_own or bool(state_dict.get("told", True))
        if self._progress is None or self._progress.has_started:
            self._progress = progress
        else:
            self._progress.become(progress)  # also for the iterator that has not started
        self._wanted_epoch = None
        self._has_loaded()

    # ---- The end ----

    def close(self) -> None:
        """Ends the worker processes. Batches that are held stay valid."""
        self._kept.close()

    def __repr__(self) -> str:
        return _describe(self)

    def __enter__(self) -> DataLoader[_Sample]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        left_out = "_kept", "_noted", "_left_at"
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kept=Kept())
        self._listen()

    # ---- Reports ----

    def stats(self) -> dict[str, float]:
        """Counters since the loader was made, with times in seconds, by the names in
        flow.DataLoader.stats(); they count workers in place of threads.

        slots and slot_bytes count the memory of the running worker processes, whether iterators or
        persistent_workers have them; slots_held are batches that the program holds, or that came
        ahead.
        """
        return self._kept.counts.stats(self._engine())

    def report(self, *, since: Report | None = None) -> Report:
        """What limited the training loop, and what to change; see flow.DataLoader.report().

        Args:
            since: An earlier report: the new one covers the time after it.
        """
        report = self._kept.counts.report(self._engine())
        return report if since is None else report.since(since)


def _place_of(dataset: Any) -> list[StreamPlace] | None:
    """The place of an iterable dataset in this process, before its first batch."""
    if not is_stateful(dataset):
        return None
    return [StreamPlace(0, ("dataset", dataset.state_dict()), False)]
