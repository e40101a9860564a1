"""The common part of the iterators of a DataLoader: its counts, arguments and workers."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Sized
from typing import Any, Protocol

import numpy as np
from torch.utils.data import IterableDataset, default_collate

from .... import InvalidArgumentError
from ....loader.epoch_steps import EpochSteps
from ....native import has_lock, version
from ....insight.counters import Counters, ReaderFacts, StepTimes, Work
from ....insight.report import Report
from ....insight.stats import empty_stats
from .fetching import Fetcher, Fetching, StreamPlace, collate
from .packing import SlotPool
from .progress import EpochProgress
from .samplers import EpochOrder
from .workers import Workers

# ---- Counts -------------------------------------------------------------------------------------

_WAITED = 0.0002  # seconds: a finished batch is delivered in less
_MOST_NEW = 3 * 512  # numbers that are added up at once, ten times as fast as one by one


class _Counts:
    """Counts of the steps and workers of a loader, for stats() and report()."""

    def __init__(self) -> None:
        self._opened = time.monotonic()
        self._offset = self._opened - time.perf_counter()
        self._lock = threading.RLock()  # threads count, and a signal handler may ask in between
        self._steps = StepTimes(1)
        self._has_begun = False
        self._asked = self._delivered = 0.0
        self._last: float | None = None
        self._new: list[float] = []  # of each batch the times of next() and delivery, and its rows
        self._values = dict.fromkeys(
            ("batches", "records", "wait_seconds", "batches_made", "busy_seconds", "cpu_seconds",
             "process_cpu_seconds", "left_out"), 0.0,
        )  # fmt: skip
        self._cpu_at_start = time.process_time()

    # ---- Steps, in the threads that take batches ----

    def begin(self, now: float) -> None:
        """The first batch of an epoch is asked for."""
        with self._lock:
            self._add_new()
            self._asked, self._last = now, None
            self._has_begun = True

    def ask(self, now: float) -> None:
        """Another batch is asked for."""
        self._asked = now

    def deliver(self, now: float, rows: int) -> None:
        """A batch is delivered."""
        with self._lock:
            self._new += (self._asked, now, rows)
            if len(self._new) >= _MOST_NEW:
                self._add_new()

    def _add_new(self) -> None:
        """Adds the batches that were delivered since the last call."""
        new, self._new = self._new, []
        if not new:
            return
        asked, delivered, rows = np.array(new).reshape(-1, 3).T
        waits = delivered - asked
        values = self._values
        values["batches"] += len(rows)
        values["records"] += float(rows.sum())
        values["wait_seconds"] += float(waits.sum())
        if self._last is None:
            self._steps.add_start(float(waits[0]))
            trains, waits = asked[1:] - delivered[:-1], waits[1:]
        else:
            trains = asked - np.append(self._last, delivered[:-1])
        self._steps.add_many(waits, trains, waits >= _WAITED)
        self._last = self._delivered = float(delivered[-1])

    def end(self, left_out: int) -> None:
        """An epoch has ended, without this number of its samples, over all ranks."""
        with self._lock:
            self._values["left_out"] += left_out

    def work(self, seconds: float, cpu_seconds: float, *, in_process: bool = False) -> None:
        """A batch was made by a worker."""
        with self._lock:
            self._values["batches_made"] += 1
            self._values["busy_seconds"] += seconds
            self._values["cpu_seconds"] += cpu_seconds
            if not in_process:
                self._values["process_cpu_seconds"] += cpu_seconds

    def stats(self, loader: Any) -> dict[str, float]:
        """As DataLoader.stats() of this package."""
        with self._lock:
            self._add_new()
            values = self._values | self._steps.stats()
        now = time.monotonic()
        made, busy = values["batches_made"], values.pop("busy_seconds")
        if loader.num_workers == 0:
            made, busy = values["batches"], values["wait_seconds"]
            values["cpu_seconds"] = busy
        there = (now - self._opened) * max(1, loader.num_workers) if self._has_begun else 0.0
        cpu = time.process_time() - self._cpu_at_start
        pools = loader.slot_pools
        return {
            **empty_stats(),
            **values,
            "batches_made": made,
            "thread_seconds": there,
            "idle_seconds": max(0.0, there - busy),
            "process_cpu_seconds": values["process_cpu_seconds"] + cpu,
            "slots": sum(len(pool) for pool in pools),
            "slots_held": sum(pool.held for pool in pools),
            "slot_bytes": sum(pool.bytes for pool in pools),
            "processors": len(os.sched_getaffinity(0)),
            "now_seconds": now,
            "opened_seconds": self._opened,
            "asked_seconds": self._asked + self._offset if self._asked else 0.0,
            "delivered_seconds": self._delivered + self._offset if self._delivered else 0.0,
        }

    def report(self, loader: Any) -> Report:
        stats = self.stats(loader)
        workers, dataset = loader.num_workers, loader.dataset
        processes = workers if loader.workers == "processes" else 0
        busy = stats["thread_seconds"] - stats["idle_seconds"]
        work = Work(
            kind="op",
            op=type(dataset).__name__,
            name="",
            fused_op="",
            language="processes" if processes else "Python",
            gives="samples",
            reader=0,
            is_whole=True,
            rows=int(stats["records"]),
            ranges=int(stats["batches_made"]),
            measured_ranges=int(stats["batches_made"]),
            wall_seconds=busy,
            cpu_seconds=stats["cpu_seconds"],
            is_by_row=not getattr(dataset, "__getitems__", None),
            processes=processes,
        )
        try:
            records = -1 if loader.is_iterable else len(dataset)
        except TypeError:
            records = -1
        reader = ReaderFacts(
            op="dataset", name=type(dataset).__name__, shuffle="", files=0, bytes=0,
            records=records, index_seconds=0.0, is_new_index=False,
        )  # fmt: skip
        counters = Counters(
            blobs=("batch",),
            num_threads=max(1, workers),
            prefetch=loader.most_ahead,
            memory_budget=0,
            rank=loader.rank,
            world_size=loader.world_size,
            host=socket.gethostname(),
            pid=os.getpid(),
            readers=(reader,),
            stats=stats,
            work=(work,),
            script=os.path.basename(sys.argv[0]) if sys.argv else "",
            version=version(),
            taken=time.time(),
            has_lock=has_lock(),
        )
        return Report(self._steps.put_into(counters))


# ---- The engine ---------------------------------------------------------------------------------


def known_length(one: Any) -> int | None:
    """The len() of a program's own dataset or sampler, or of a loader; None: it has none."""
    try:
        return len(one) if isinstance(one, Sized) else None
    except (TypeError, NotImplementedError):
        return None


def is_map_style(dataset: Any) -> bool:
    """Whether samples have indices, so that it is not an IterableDataset."""
    return not isinstance(dataset, IterableDataset)


class _Owner(Protocol):
    """The DataLoader, with the attributes that its engine uses."""

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

    def _hear_epoch(self, progress: EpochProgress) -> None: ...


class Kept:
    """The part of a DataLoader that lasts from one epoch to the next.

    Attributes:
        counts: The counts of steps and work.
        workers: The workers of persistent_workers, while no iterator has them.
        running: These workers, and those of iterators.
        fetcher: The fetcher of the thread that iterates, for num_workers=0.
        samples_said: The last len() of an iterable dataset, when the program asked for len().
    """

    def __init__(self) -> None:
        self.counts = _Counts()
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
    """The arguments of a DataLoader when an iterator is made, and the state that its iterators
    share.

    Attributes:
        order: None: the program gave a sampler, or the dataset is iterable.
        index_sampler: Yields the indices of a batch.
        is_batched: Whether samples are collated to batches; else each sample is a batch.
        is_iterable: Whether the dataset is an IterableDataset.
        counts: The counts of the loader.
        others: As the loader's.
    """

    def __init__(self, loader: _Owner, kept: Kept) -> None:
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
        """The loader's seed, which load_state_dict() may change before the first batch."""
        return self._loader.seed

    @property
    def samples_said(self) -> int | None:
        """The length that an iterable dataset gave; None: the program did not ask."""
        return self._kept.samples_said

    @property
    def left_out(self) -> int:
        """Samples that no step of an epoch has, over all ranks; 0 where that is not known."""
        steps = self._loader._epoch_steps
        return 0 if steps is None else steps.left_out

    @property
    def most_ahead(self) -> int:
        """Batches that are made ahead."""
        return max(1, (self.prefetch_factor or 1) * self.num_workers)

    def __len__(self) -> int:
        return len(self._loader)

    def is_at_end(self, progress: EpochProgress) -> bool:
        """Whether the epoch has no more batches, as far as that is known before its end.

        With a sampler it is known after the sampler's iterator has ended: its len() may be an
        estimate.
        """
        if not progress.has_started or self.is_iterable:
            return False
        if self.order is not None:
            return 0 < len(self) <= progress.position
        if progress.look_ahead is not None:
            length = known_length(self)  # a sampler may give more batches
            if length is not None and length <= progress.position:
                progress.look_ahead()
        return progress.length is not None and progress.length <= progress.position

    def hear_epoch(self, progress: EpochProgress) -> None:
        """Before an iterator begins: takes over the epoch that the program gave the sampler."""
        self._loader._hear_epoch(progress)

    # ---- Batches ----

    def fetching(self) -> Fetching:
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
        """The fetcher of the calling thread, which knows from earlier epochs whether samples
        draw."""
        fetcher = self._kept.fetcher
        if fetcher is None or any(a is not b for a, b in zip(fetcher.how, how, strict=True)):
            fetcher = self._kept.fetcher = Fetcher(how, keep=keep)
        return fetcher

    # ---- Iterable datasets ----

    def told_epoch(self, progress: EpochProgress) -> int | None:
        """The epoch for set_epoch() of an iterable dataset, which may have a loaded state until
        then."""
        return progress.epoch if self._loader._tells_epoch else None

    def check_streams(self, progress: EpochProgress, count: int) -> list[StreamPlace | None]:
        """The place of each worker in an iterable dataset; None: at its start."""
        if progress.streams is None or not progress.position and len(progress.streams) != count:
            return [None] * count
        check_stream_count(len(progress.streams), count)
        return list(progress.streams)

    # ---- Worker processes ----

    def take_workers(self) -> Workers:
        """The workers of persistent_workers, or new ones."""
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
        """Called after the last batch of an iterator."""
        if self.persistent_workers and self._kept.workers is None:
            self._kept.workers = workers
        else:
            workers.close()

    @property
    def slot_pools(self) -> list[SlotPool]:
        """Memory for batches that is shared with the running worker processes."""
        running = [one for one in self._kept.running if one.pid == os.getpid()]
        return [pool for workers in running for pool in workers.slot_pools]


def check_stream_count(saved: int, own: int) -> None:
    """Refuses places of an iterable dataset that belong to another number of workers."""
    if saved != own:
        raise InvalidArgumentError(
            f"the state has the places of {saved} readers of an IterableDataset, and this "
            f"DataLoader has {own}: its workers divide the data, so num_workers must stay the "
            "same in the middle of an epoch"
        )
