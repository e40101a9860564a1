"""The common part of DataLoader and of the loaders that take a DataLoader over."""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ..errors import Error, WrongUseError
from ..insight.stats import read_stats
from ..words import remedies
from ..words.remedies import did_you_mean
from .open_loader import OpenLoader, open_loader_of
from .opening import read_skipped

if TYPE_CHECKING:
    from ..insight.dashboard import Dashboard
    from ..insight.speed import Ceiling, Speed
    from ..insight.stalls import Stall
    from ..insight.trace import Trace
    from ..insight.trials import Trials
    from ..insight.tuning import Tuning


# ---- A hook on iterators, which `pyflowdata speed` sets -----------------------------------------

# The hook gets each iterator when it is made, and may return another one in its place.  Without a
# hook, a step costs nothing more.

Watch = Callable[[Any, Iterator[Any]], Iterator[Any]]

_watch: Watch | None = None


def hooked(loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """The iterator to hand out for one that a loader, or what takes a loader over, has made."""
    return batches if _watch is None else _watch(loader, batches)


@contextlib.contextmanager
def hook_with(watch: Watch) -> Iterator[None]:
    """Gives the iterators that all threads make in the meantime to `watch(loader, iterator)`."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before


# ---- Wrong uses ---------------------------------------------------------------------------------

# A loader that is used as another library's, as an iterator or as a list raises an error that names
# the remedy: a WrongUseError, which is a TypeError, or an AttributeError.

_NEXT = "use batches = iter(loader), then next(batches)"
_LOOP = "use for batch in loader"
_LENGTH = "use len(loader)"
_NO_WORKERS = "threads make the batches, and loader.num_threads counts them"

_METHODS = {
    **dict.fromkeys(("get_next", "next"), _NEXT),
    **dict.fromkeys(
        ("as_numpy_iterator", "create_dict_iterator", "create_tuple_iterator"), _LOOP
    ),
    **dict.fromkeys(
        ("cardinality", "get_dataset_size", "num_batches", "num_steps", "steps"), _LENGTH
    ),
    **dict.fromkeys(("batch_sampler", "generator", "sampler"), remedies.ANY_ORDER),
    **dict.fromkeys(("cpu", "cuda", "device", "pin_memory", "to"), remedies.DEVICE),
    **dict.fromkeys(("num_workers", "persistent_workers", "worker_init_fn"), _NO_WORKERS),
    **dict.fromkeys(
        ("batch", "cache", "filter", "map", "random_shuffle", "shuffle", "skip", "where"),
        remedies.ON_DATA,
    ),
    "batch_size": "use loader.readers[0].batch_size",
    "collate_fn": "ops form the batch, such as flow.PadBatch(x)",
    "dataset": "keep the data set in a variable of yours; loader.readers and loader.blobs say what "
    "is loaded",
    "drop_last": "the readers have last_batch",
    "epochs": "use loader.epoch",
    "prefetch_factor": "use loader.prefetch",
    "reset": f"{_LOOP}, which starts the next epoch, or loader.seek(0)",
    "set_epoch": "each iteration is the next epoch, which data.shuffle() orders differently; "
    "loader.seek(0, epoch=n) goes to another",
    "take": "use itertools.islice(loader, n)",
    "timeout": "a long wait gives a StallWarning",
}


def _next(self: Any) -> NoReturn:
    raise WrongUseError(f"a {type(self).__name__} is not an iterator: {_NEXT}, or {_LOOP[4:]}")


def _getitem(self: Any, key: Any) -> NoReturn:
    name = type(self).__name__
    if isinstance(key, str):
        instead = f"each batch has {key!r} if a dict of blobs is given, for batch in loader"
    else:
        read = "loader.read([i])" if hasattr(self, "read") else "loader.data_loader.read([i])"
        instead = f"take batches by for batch in loader, rows by {read}, and records from "\
            "the data set, data[i]"  # fmt: skip
    raise WrongUseError(f"a {name} has no index: {instead}")


def _array(self: Any, *_args: Any, **_options: Any) -> NoReturn:
    raise WrongUseError(f"a {type(self).__name__} is not an array: {_LOOP}, each of arrays")


def _getattr(self: Any, name: str) -> NoReturn:
    said = f"a {type(self).__name__} has no {name!r}"
    taken_over = self.__dict__.get("loader")
    if name.startswith("_"):
        pass
    elif taken_over is not None and hasattr(type(taken_over), name):
        said += f", its DataLoader does: use loader.data_loader.{name}"
    elif name in _METHODS:
        said += f": {_METHODS[name]}"
    else:
        known = [one for one in dir(type(self)) if not one.startswith("_")]
        said += did_you_mean(name, known)
    raise AttributeError(said, name=name, obj=None)


# ---- The base -----------------------------------------------------------------------------------

BatchT = TypeVar("BatchT", covariant=True)
LoaderT = TypeVar("LoaderT", bound="Loader[Any]")


class Loader(Generic[BatchT]):
    """The base of DataLoader, and of the loaders that take one over."""

    @property
    @abstractmethod
    def data_loader(self) -> Any:
        """The DataLoader: this loader itself, or the one that it took over."""

    @abstractmethod
    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is."""

    @abstractmethod
    def keep_place(self) -> AbstractContextManager[None]:
        """A context manager that undoes the moves of its `with` block."""

    # ---- Measurements ---------------------------------------------------------------------------

    def speed(self, *, seconds: float = 3.0, steps: int | None = None) -> Speed:
        """Measures the loader alone: takes batches and does nothing with them.

        The first batch, and those that are made ahead of it, come before the measured time.  The
        loader stays where it is, as with keep_place(); stats() count the batches.

        Args:
            seconds: How long to measure.
            steps: Batches to measure, in place of seconds.

        Returns:
            `batches_per_second`, `records_per_second`, `bytes_per_second` and more; str() is one
            line.

        Raises:
            InvalidArgumentError: A number is out of range, or an epoch has no batches.
        """
        from ..insight.speed import measure_speed

        return measure_speed(self, seconds, steps)

    def ceiling(
        self, step: Callable[[BatchT], object], *, steps: int = 100, warm_up: int = 3
    ) -> Ceiling:
        """Measures training with an infinitely fast loader: calls `step` with one batch again and
        again.

        The batch is the next batch, or the first batch of an epoch in place of its last.  If the
        first calls change its arrays, every call gets a copy, which is made before the time is
        taken.  Asynchronous work of torch on CUDA and of jax is completed before the measured time,
        and at its end.  The loader stays where it is, as with keep_place().

        Args:
            step: A function that trains with a batch; its result is dropped.
            steps: Calls to measure.
            warm_up: Calls before the measured ones, which may compile or allocate.

        Returns:
            `steps_per_second`, `records_per_second`, `median_seconds`, `p95_seconds` and more;
            str() is one line.

        Raises:
            InvalidArgumentError: A number is out of range, or an epoch has no batches.
        """
        from ..insight.speed import measure_ceiling

        return measure_ceiling(self, step, steps, warm_up)

    def try_remedies(self, *, seconds: float = 2.0) -> Trials:
        """Tries changes that may make the loader faster, and measures the gain of each. The changes
        are other numbers of threads, batches ahead and processes, a larger memory_budget, and
        thread_safe=True, where they apply.  Each change runs in a separate loader, from the current
        place, in turns with a loader without changes; between batches a trial sleeps as long as the
        steps of training took so far.  This loader stays where it is, as with keep_place().  The
        trials also call Python functions and sources, and start processes, unless these would run
        the main module again.

        Args:
            seconds: The measured time of each change; opening the loaders takes additional time.

        Returns:
            An object with `best`, `trials` (each with its gain and spread) and more; str() is a
            sentence and a table.

        Raises:
            InvalidArgumentError: `seconds` is not a number above 0, or an epoch has no batches.
        """
        from ..insight.trials import try_remedies

        return try_remedies(self.data_loader, self.data_loader.report().counters, seconds)

    def trace(self, path: str | os.PathLike[str], *, memory: int = 32 << 20) -> Trace:
        """Records what threads and batches do, in a file for https://ui.perfetto.dev.

            with loader.trace("trace.json"):
                for _, batch in zip(range(100), loader): ...

        The file has Chrome's trace events: the ops of each row range on their threads, the waits,
        and the states of each batch.  It uses the clock of torch's profiles.  The file is written
        when the block ends, or when the loader is closed.  Without `with` the trace does not start,
        and a RuntimeWarning says so.

        Args:
            path: Where to write the file; one that ends in ".gz" is compressed.
            memory: Bytes for events, 80 each.  When they are full, later events are dropped, with
                a RuntimeWarning.

        Raises, when the block begins:
            InvalidArgumentError: The loader is being traced already.
            FileError: The file cannot be written; this may come when the block ends, too.
        """
        from ..insight.trace import Trace

        opened = open_loader_of(self)
        opened.check_life()
        return Trace(opened.handle, path, memory, opened.observation)

    def dashboard(self, port: int = 0) -> Dashboard:
        """Serves a page on this machine that shows the loader while it works.

            with loader.dashboard() as page:
                print(page.url)
                for batch in loader: ...

        The page shows rates, the parts of the time in next(), complete batches, memory, threads,
        ops, and the current verdict.  `url` + "numbers" is JSON, and `url` + "metrics" the text
        format of Prometheus.  A thread reads the counters once a second.  The page ends with the
        block, with its close(), or with the loader.  PYFLOWDATA_DASHBOARD=8123 in the environment
        serves a page for each loader of a program.

        Args:
            port: The port on 127.0.0.1; 0: any free port.

        Raises:
            InvalidArgumentError: The port is not valid, or another program uses it.
        """
        opened = open_loader_of(self)
        opened.check_life()
        return opened.observation.serve(opened, port)

    def collective(self) -> AbstractContextManager[None]:
        """Marks a `with` block that waits for other ranks: a `RankReport` then separates these
        waits from the work of this rank, and names the rank that the others wait for.

            with loader.collective():
                torch.distributed.all_reduce(gradients)

        It costs about a microsecond; the latest 1,024 are kept.
        """
        return open_loader_of(self).observation.collective()

    # ---- Counters -----------------------------------------------------------------------------

    def stats(self) -> dict[str, float]:
        """Counters since the loader was opened, also after close(); they cost almost nothing.

        Keys, with times in seconds; moments are on the monotonic clock:
            slots, slots_held, slots_ready: Slots of memory for batches: all of them, those that the
                program holds, and those with complete batches that are not delivered yet.
            batches, records: Delivered, on this rank.
            bytes: Bytes of records that were parsed.
            skipped: Records that were left out or padded after an error.
            left_out: Records, of all ranks, that last_batch left out at the ends of epochs.
            wait_seconds, help_seconds: next() waited for other threads, and worked itself.  These
                and lock_seconds to between_seconds add up to the wall clock of the thread that
                calls next(), from its first call on.
            thread_seconds, idle_seconds: Time of all threads together, and the part without work.
            slot_bytes: Memory of all slots, with ragged values.
            read_bytes: Read from files that are not mapped, also to index them.
            retries: Calls of the system that failed for a moment, and were tried again.
            cpu_seconds, runnable_seconds, major_faults: The threads computed, waited for a
                processor, and how often they waited for a page of a mapped file; 0 if the system
                does not tell.
            now_seconds, opened_seconds: When this was counted, or the loader was closed, and when
                it was opened.
            asked_seconds, delivered_seconds: When the program asked for the latest batch (0:
                never), and when it got one.
            batches_made: Complete, also those that were not delivered.
            starts, start_seconds: First batches of an epoch or after a seek, and the time in
                next() for them.
            steps, waited_steps: The other batches, and how many were not complete when the program
                asked for them.
            step_wait_seconds, step_train_seconds: Time in next() for the steps that waited, until
                their batch was there, and in the program between steps.
            no_memory_seconds: No further batch could be started: memory_budget was used up.
            processors: Processors that this process may use.
            process_cpu_seconds: All threads of the process computed.
            throttled_seconds: The quota of the cgroup was used up.
            lock_seconds: next() waited for the interpreter's lock after it had a batch.
            check_seconds: next() looked whether files have changed.
            turn_seconds, hand_out_seconds: next() ended epochs, and did all else: it took batches
                out of the loader's memory and made arrays of them.
            convert_seconds: Iterators around that of the loader made something else of batches, as
                a TorchLoader makes tensors.
            outside_seconds, between_seconds: The program had a batch, and was between two epochs.
            step_next_seconds: All time in next() for steps.
            file_checks: How often a thread of the loader looked whether any file has changed.
            machine_cpu_seconds, pressure_seconds: The processors that this process may use
                computed, for any program, and any thread of the machine waited for one.
        """
        return read_stats(self._of_this_process().handle)

    @property
    def last_stall(self) -> Stall | None:
        """The last stall, about which a StallWarning was given; None: there was none."""
        return open_loader_of(self).observation.stall

    @property
    def tuning(self) -> Tuning | None:
        """How the loader adjusts num_threads and prefetch, and why; also after close().  None:
        neither is "auto".  `print(loader.tuning)` shows it."""
        from ..insight.tuning import read_tuning

        return read_tuning(self._of_this_process().handle)

    @property
    def skipped(self) -> list[Error]:
        """The records that on_error="skip" or "pad" omitted, as exceptions, in order of delivery.

        The latest 1000 are kept, also after close(), and at most 100 of one batch.
        stats()["skipped"] counts all.
        """
        return read_skipped(self._of_this_process().handle)

    def _of_this_process(self) -> OpenLoader:
        opened = open_loader_of(self)
        opened.check_process()
        return opened

    # ---- Life ---------------------------------------------------------------------------------

    @abstractmethod
    def close(self) -> None:
        """Stops the threads and closes the files."""

    def __bool__(self) -> bool:
        return True

    def __enter__(self: LoaderT) -> LoaderT:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


# A type checker does not see these methods, so that it finds wrong uses by itself.
for _name, _method in {
    "next": _next, "getitem": _getitem, "getattr": _getattr, "array": _array
}.items():  # fmt: skip
    setattr(Loader, f"__{_name}__", _method)
