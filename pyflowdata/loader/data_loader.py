"""DataLoader: takes batches of the wanted blobs, epoch after epoch."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import operator
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeVar, overload

from ..errors import CancelledError, Error, InvalidArgumentError, UnsupportedError, shown
from ..nodes import Blob
from ..native import check, exception, ffi, lib, new_error
from ..native.calls import inside, interrupts, is_interrupt, raised, take_interrupt
from ..reports.at_end import report_at_end
from ..reports.stats import read_stats
from ..reports.tuning import Tuning, read_tuning
from .batches import Array, Batch, BatchArrays
from .any_loader import AnyLoader
from .opening import (
    arrange,
    describe_threads,
    open_loader,
    rank_of,
    read_info,
    read_readers,
    warn_of_readers,
)
from .places import Places
from .skipped import read_skipped
from .state import LAST_EPOCH, Reader, make_state, read_state
from .turns import Turns
from .iterator_hook import hooked

if TYPE_CHECKING:
    from ..reports.counters import CountedLoader
    from ..reports.report import Report
    from ..tracing.trace import Trace
    from ..stalls.watchdog import Stall, Wait

__all__ = ["DataLoader"]

BatchT = TypeVar("BatchT")

_SIGNALS_NS = 50_000_000  # how long a wait may keep Python from looking for signals
_END = lib.PFD_END
_next = lib.pfd_loader_next
_read = lib.pfd_loader_read
_new_positions = functools.partial(ffi.new, "int64_t[]")
_NOTHING = contextlib.nullcontext()
_OPEN, _CLOSED, _FORKED = "open", "closed", "forked"
_open_loaders: weakref.WeakSet[DataLoader[Any]] = weakref.WeakSet()


class DataLoader(AnyLoader[BatchT]):
    """Opens the readers of some blobs, and yields batches as NumPy arrays.

    `for batch in loader` is one epoch.  What a batch is depends on how the blobs are given:
    one blob gives bare arrays, several or a tuple give tuples of arrays, a dict gives dicts.

    An array has the rows of this rank first, then the dimensions of a row, and the blob's dtype.
    It views memory of the loader, is writable, and belongs to the caller until it and all views
    of it are collected; also after close().  Where rows differ in shape (`blob.is_ragged`), a
    `Ragged` takes the place of the array, with the same rules for the arrays in it.  A type
    checker sees arrays, unless the code tests `isinstance(batch, Ragged)`.

    A blob that is given twice gives two arrays that share their memory.

    A loader may be used by several threads; they take turns.  In a signal handler, close(),
    state_dict(), stats() and skipped may be used at any time; what takes batches or moves the
    loader raises UnsupportedError while the thread is inside such a call.  A loader belongs to the
    process that opened it: in a forked child its calls raise UnsupportedError.
    """

    @overload
    def __init__(
        self: DataLoader[Array],
        blob: Blob,
        /,
        *,
        num_threads: int | Literal["auto"] | None = ...,
        prefetch: int | Literal["auto"] | None = ...,
        memory_budget: int | None = ...,
        zip: Literal["strict", "shortest"] = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[dict[str, Array]],
        blobs: Mapping[str, Blob],
        /,
        *,
        num_threads: int | Literal["auto"] | None = ...,
        prefetch: int | Literal["auto"] | None = ...,
        memory_budget: int | None = ...,
        zip: Literal["strict", "shortest"] = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        blobs: Sequence[Blob],
        /,
        *,
        num_threads: int | Literal["auto"] | None = ...,
        prefetch: int | Literal["auto"] | None = ...,
        memory_budget: int | None = ...,
        zip: Literal["strict", "shortest"] = ...,
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        first: Blob,
        second: Blob,
        /,
        *blobs: Blob,
        num_threads: int | Literal["auto"] | None = ...,
        prefetch: int | Literal["auto"] | None = ...,
        memory_budget: int | None = ...,
        zip: Literal["strict", "shortest"] = ...,
    ) -> None: ...

    def __init__(
        self,
        *blobs: Any,
        num_threads: int | Literal["auto"] | None = None,
        prefetch: int | Literal["auto"] | None = None,
        memory_budget: int | None = None,
        zip: Literal["strict", "shortest"] = "strict",
        **others: object,
    ) -> None:
        """Opens the readers, and starts making batches ahead.

        Args:
            *blobs: Blobs, or one tuple or dict of blobs.
            num_threads: Threads that work on batches; None or 0: one for each usable core.
                "auto": adjusted while the loader runs; `tuning` says how.
            prefetch: Batches that are made ahead; None or 0: chosen from their size and the number
                of threads.  "auto": adjusted, within memory_budget.
            memory_budget: Bytes that batches may use, including those still held; None or 0: half
                of the memory that the process may use.  What an op needs only while it works is
                limited to as much again on each thread.
            zip: For several readers. "strict": they must have equal lengths; "shortest": the
                first one that ends ends the epoch.

        Raises:
            InvalidArgumentError: An argument is invalid, or the readers do not match.
            FileError: Files are missing or cannot be read.
        """
        if others:
            raise TypeError(
                f"DataLoader() has no argument {next(iter(others))!r}; batches and their order are "
                "of the data: flow.open(files).shuffle().batch(n, last=\"drop\"), or a reader's "
                "attrs"
            )
        self._form: Callable[[list[Batch]], BatchT]
        wanted, self._form = arrange(blobs)
        self._blobs = tuple(wanted)
        self._life = _OPEN
        self._turns = Turns()
        self._epoch = self._position = 0  # after the last delivered batch
        self._started: int | None = None  # the last started epoch; None: start at the position
        self._iterator = 0  # number of the iterator that may go on
        self._must_seek = False  # the library may be at another position
        self._err = new_error()
        self._handle, self._in_use = open_loader(
            wanted, num_threads, prefetch, memory_budget, zip
        )
        self._traces: list[Trace] = []  # the one that is on
        self._wait: Wait | None = None  # from the first epoch on, if stalls are watched for
        _open_loaders.add(self)
        self._info = read_info(self._handle)
        self._num_batches: int = self._info.num_batches
        self._arrays = BatchArrays(wanted, self._info)
        self._rank = rank_of(wanted)  # in words
        self._readers = read_readers(self._handle, self._info.num_readers)
        self._report_at_end = report_at_end(self, lambda: self._counted)
        warn_of_readers(self._readers)

    # ---- Epochs -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BatchT]:
        """Starts the epoch after the last started one; after load_state_dict() continues there.

        An earlier iterator that is not at its end raises CancelledError from now on.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            if self._started is not None:
                return self._begin(self._started + 1, 0, endless=False)
            return self._begin(self._epoch, self._position, endless=False)

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is.

        Raises, from next():
            InvalidArgumentError: An epoch has no batches.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            return self._begin(*self._next_place(), endless=True)

    def _begin(self, epoch: int, position: int, *, endless: bool) -> Iterator[BatchT]:
        self._check_life()
        _check_epoch(epoch)
        self._iterator += 1
        self._epoch, self._position, self._started = epoch, position, epoch
        self._must_seek = True
        if self._wait is None:
            from ..stalls.watchdog import begin

            self._wait = begin(self)
        return hooked(self, _Batches(self, self._iterator, endless))

    def _seek(self) -> None:
        """Moves the library to the position; a failed batch after it is tried again."""
        status = lib.PFD_PENDING
        while status == lib.PFD_PENDING:
            self._check_life()
            status = lib.pfd_loader_seek(self._handle, self._epoch, self._position, self._err)
        if status < 0:
            raise self._failure(status)
        self._must_seek = False

    def _next_place(self) -> tuple[int, int]:
        """Epoch and position of the next batch; the end of an epoch is the next one's start."""
        if 0 < self._num_batches <= self._position:
            return self._epoch + 1, 0
        return self._epoch, self._position

    def _failure(self, status: int) -> Error:
        self._check_life()
        failure = exception(status, self._err)
        self._err = new_error()
        return failure

    # ---- State --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a dict for JSON, the same on every rank, below 1 KB for up to 8
        readers.  A loader with many readers gives hashes of their attrs instead of the attrs.

        It counts delivered batches, not those made ahead.  A failed batch is tried again, unless a
        later one was delivered.  After the last batch of an epoch the state means the next epoch.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            return self._state_at(*self._next_place())

    def _state_at(self, epoch: int, position: int) -> dict[str, Any]:
        return make_state(epoch, position, self._readers, self._pasts(epoch, position))

    def _pasts(self, epoch: int, position: int) -> list[int]:
        """Of each reader: a hash of what may change from this batch on; 0 for most."""
        handle, count = self._handle, len(self._readers)
        return [lib.pfd_loader_get_past(handle, i, epoch, position) for i in range(count)]

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iter() or repeat() continue exactly where the state was taken.

        The loader may have another world size, rank, number of threads or prefetch.  Seeds are
        taken from the state.  Iterators made before raise CancelledError from now on.

        Args:
            state: The result of state_dict(), also after a round trip through JSON.

        Raises:
            InvalidArgumentError: Attrs or files differ from those of the state; the text lists
                each difference.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._check_life()
            self._turns.check_idle()
            place = read_state(state, self._readers, self._pasts, self._num_batches)
            for index, seed in enumerate(place.seeds):
                if self._readers[index].seed != seed:
                    status = lib.pfd_loader_set_seed(self._handle, index, seed, self._err)
                    if status < 0:
                        raise self._failure(status)
            self._readers = tuple(
                dataclasses.replace(reader, seed=seed, seed_is_default=False)
                for reader, seed in zip(self._readers, place.seeds, strict=True)
            )
            self._go(place.epoch, place.position)

    def seek(self, position: int, *, epoch: int | None = None) -> None:
        """Makes the next iter() or repeat() start with batch `position` of an epoch.

        Like load_state_dict(), it costs the same for any position of files with an index; a stream
        or a shuffle buffer is read up to the position.  Iterators made before raise CancelledError
        from now on.

        Args:
            position: Batches of the epoch to skip; all of them means the next epoch.
            epoch: The epoch, counted from 0; None: that of `state_dict()`.

        Raises:
            InvalidArgumentError: There is no such batch or epoch.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._check_life()
            self._turns.check_idle()
            epoch = self._next_place()[0] if epoch is None else epoch
            most = self._num_batches if self._num_batches >= 0 else LAST_EPOCH
            for name, value, limit in (("position", position, most), ("epoch", epoch, LAST_EPOCH)):
                if type(value) is not int or not 0 <= value <= limit:
                    raise InvalidArgumentError(
                        f"{name} = {shown(value)}; it must be an int in [0, {limit}]"
                    )
            self._go(epoch, position)

    @contextlib.contextmanager
    def keep_place(self) -> Iterator[None]:
        """Makes what is done in a `with` block of this not count: after it the loader is where it
        was before, iterators that were made before go on, and the steps in it are in no report.
        Other threads wait meanwhile.

        Only batches may be taken in the block, with seek(), iter() and repeat().  Afterwards the
        loader seeks: a stream or a shuffle buffer is read again up to the position.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            kept = self._iterator, self._epoch, self._position, self._started
            err = new_error()
            check(lib.pfd_loader_pause_counts(self._handle, 1, err), err)
            try:
                yield
            finally:
                lib.pfd_loader_pause_counts(self._handle, 0, err)
                self._iterator, self._epoch, self._position, self._started = kept
                self._must_seek = True

    # ---- Rows at positions --------------------------------------------------------------------

    def read(self, positions: Iterable[SupportsIndex], *, epoch: int = 0) -> BatchT:
        """A batch of the rows at these positions of an epoch's order, with random access: in any
        order, also with repeats.  The loader stays where it is.  Damaged records are left out or
        padded as the readers' on_error says.

        Args:
            positions: Of rows, counted from 0 over all ranks; at most as many as a batch has on
                this rank.
            epoch: Counted from 0.

        Raises:
            UnsupportedError: A reader is read in sequence.
            InvalidArgumentError: There is no such row, or there are too many.
            CorruptDataError: A record is damaged.
        """
        if inside:
            self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            try:
                self._turns.is_busy = True
                return self._read(positions, epoch)
            finally:
                self._turns.is_busy = False

    def _read(self, positions: Iterable[SupportsIndex], epoch: int) -> BatchT:
        places = _new_positions(list(map(operator.index, positions)))
        status = lib.PFD_PENDING
        try:
            while status == lib.PFD_PENDING:
                self._check_life()
                status = _read(
                    self._handle, epoch, places, len(places), self._arrays.batch, self._err
                )
                if interrupts:
                    take_interrupt()
            if status < 0:
                raise raised(self._failure(status))
            return self._form(self._arrays.take()[0])
        except BaseException:
            self._arrays.give_back()
            raise

    def _go(self, epoch: int, position: int) -> None:
        self._iterator += 1
        self._epoch, self._position, self._started = epoch, position, None
        self._epoch, self._position = self._next_place()
        self._must_seek = True

    # ---- Facts --------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank.

        Raises:
            TypeError: A reader is a stream that has to be read to be counted.
        """
        if self._num_batches < 0:
            raise TypeError("this DataLoader has no len(): a reader is a stream of unknown length")
        return self._num_batches

    def __bool__(self) -> bool:
        return True

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """The blobs whose arrays a batch has, in order."""
        return self._blobs

    @property
    def readers(self) -> tuple[Reader, ...]:
        """What the loader knows about each of its readers: seed, files, records, rank and so on."""
        return self._readers

    @property
    def places(self) -> Places:
        """Where its records lie; of an open loader."""
        self._check_life()
        return Places(self._handle)

    @property
    def memory_budget(self) -> int:
        """Bytes that batches may use: as given, or as chosen."""
        return int(self._info.memory_budget)

    @property
    def num_threads(self) -> int:
        """Threads that work on batches: as given, or as chosen; of now where it is "auto"."""
        return int(read_info(self._handle).num_threads)

    @property
    def prefetch(self) -> int:
        """Batches that are made ahead: as given, or as chosen; of now where it is "auto"."""
        return int(read_info(self._handle).prefetch)

    @property
    def epoch(self) -> int:
        """The last started epoch; before any, the one that the first iter() starts."""
        return self._epoch if self._started is None else self._started

    def stats(self) -> dict[str, float]:
        """Counters since the loader was opened, also after close(); they cost almost nothing.

        Keys as in `pfd_stats` (pyflowdata.h), with times in seconds: wait_seconds and so on.
        """
        self._check_process()
        return read_stats(self._handle)

    @property
    def last_stall(self) -> Stall | None:
        """What the last StallWarning was about; None: there was none."""
        return None if self._wait is None else self._wait.stall

    def _trace(self, path: str | os.PathLike[str], memory: int) -> Trace:
        self._check_life()
        from ..tracing.trace import Trace

        return Trace(self._handle, path, memory, self._traces)

    @functools.cached_property
    def _counted(self) -> CountedLoader:
        from ..reports.counters import CountedLoader

        return CountedLoader(self._handle, self._blobs, self._readers)

    def report(self, *, since: Report | None = None) -> Report:
        """Says in a sentence what limits the training loop and what to change, with tables under
        it; `print(loader.report())`.  Since the loader was opened, also after close().

        Args:
            since: An earlier report of this loader: only what came after it counts, for example
                the last epoch.
        """
        from ..reports.report import Report
        from .report_data import data_facts

        self._check_process()
        describe = functools.partial(
            data_facts, DataLoader, self._form, self._blobs, self._readers, self.epoch
        )
        report = Report(self._counted.count(), describe)
        return report if since is None else report.since(since)

    def count_copy(
        self, seconds: float, size: int, device: str, *, overlaps: bool = False
    ) -> None:
        """Counts a batch that the program copied elsewhere, for `report()`; TorchLoader, JaxLoader
        and sinks do so themselves.

        Args:
            seconds: That a thread took, for starting the copy and for waiting.
            size: Bytes of the batch.
            device: Where to, in a word.
            overlaps: The thread is another one than the training loop's, which trains meanwhile.
        """
        copies = self._counted.ahead if overlaps else self._counted.hand_over
        copies.device = device
        copies.batches += 1
        copies.bytes += size
        copies.seconds += seconds

    @property
    def tuning(self) -> Tuning | None:
        """How the loader adjusts num_threads and prefetch, and why; also after close().  None:
        neither is "auto".  `print(loader.tuning)` shows it."""
        self._check_process()
        return read_tuning(self._handle)

    def _shows(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Shows in a trace that the program does something with a batch in a `with` block."""
        return self._traces[0].span(what) if self._traces else _NOTHING

    @property
    def skipped(self) -> list[Error]:
        """The records that on_error="skip" or "pad" omitted, as exceptions, in order of delivery.

        The latest 1000 are kept, also after close(); of one batch at most 100. stats()["skipped"]
        counts all."""
        self._check_process()
        return read_skipped(self._handle)

    def __repr__(self) -> str:
        parts = [*map(str, self._readers), self._rank, self._settings()]
        parts[-1] += "" if self._life == _OPEN else f", {self._life}"
        return f"DataLoader({', '.join(blob.name for blob in self._blobs)}; {'; '.join(parts)})"

    def _settings(self) -> str:
        steps = self._num_batches if self._num_batches >= 0 else "unknown"
        return f"steps={steps}, epoch={self.epoch}, {describe_threads(self._handle)}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from .loader_html import loader_html

        return loader_html(self._blobs, self._readers, (self._rank, self._settings()), self._life)

    # ---- Life ---------------------------------------------------------------------------------

    def _check_life(self) -> None:
        if self._life == _CLOSED:
            raise CancelledError("the DataLoader is closed")
        self._check_process()

    def _check_process(self) -> None:
        if self._life == _FORKED:
            raise UnsupportedError(
                f"the DataLoader was opened by another process than this one ({os.getpid()}), "
                "which was forked from it; open a DataLoader in this process"
            )

    def close(self) -> None:
        """Stops the threads and closes the files.  Held arrays stay valid, and state, counters and
        skipped records can still be read.

        Another thread that waits for a batch gets a CancelledError.  Closing twice is allowed.  In
        a function that the loader calls, it returns at once, and the threads stop soon after.
        """
        if self._life == _OPEN:
            self._life = _CLOSED
            _open_loaders.discard(self)
            if threading.get_ident() in inside:  # the threads cannot be waited for by one of them
                threading.Thread(target=self._stop, name="pyflowdata close").start()
            else:
                self._stop()

    def _stop(self) -> None:
        for trace in [*self._traces]:
            trace.end()
        if self._wait is not None:
            self._wait.end()
        lib.pfd_loader_close(self._handle)
        self._in_use.release()
        if self._report_at_end is not None:
            self._report_at_end()

    def __enter__(self) -> DataLoader[BatchT]:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a DataLoader cannot be copied or pickled: it has threads and open files; save "
            "state_dict(), open another DataLoader and give it to load_state_dict()"
        )

    def _forget(self) -> None:
        """In a forked child, which lacks the loader's threads; the lock may stay held there."""
        self._turns = Turns()
        self._life = _FORKED


def _check_epoch(epoch: int) -> None:
    """The last epoch can be the next one of a state, but cannot start: it has no successor."""
    if epoch >= LAST_EPOCH:
        raise InvalidArgumentError(f"there is no epoch after {LAST_EPOCH - 1}")


class _Batches(Iterator[BatchT]):
    """One epoch of a loader, or all of them."""

    __slots__ = ("_endless", "_loader", "_number", "_over", "_resumes")

    def __init__(self, loader: DataLoader[BatchT], number: int, endless: bool) -> None:
        self._loader = loader
        self._number = number
        self._endless = endless
        self._over = False
        self._resumes = loader._position > 0  # until a batch was delivered from there

    def __next__(self) -> BatchT:
        loader = self._loader
        turns = loader._turns
        if inside:
            turns.check_not_inside()
        with turns.lock:
            if turns.is_busy:
                turns.check_idle()
            try:
                turns.is_busy = True
                if loader._must_seek or self._number != loader._iterator:
                    self._go_to_position()
                return self._take()
            finally:
                turns.is_busy = False

    def _take(self) -> BatchT:
        loader = self._loader
        loader._must_seek = True  # until no interrupt can come in between
        ended = False
        try:
            while True:
                status = _next(loader._handle, _SIGNALS_NS, loader._arrays.batch, loader._err)
                if interrupts:
                    take_interrupt()
                if status == 0:
                    arrays, epoch, step = loader._arrays.take()
                    batch = loader._form(arrays)
                    loader._epoch, loader._position = epoch, step + 1
                    loader._must_seek = self._resumes = False
                    return batch
                if status < 0:
                    failure = loader._failure(status)
                    if is_interrupt(failure.__cause__):
                        continue  # already raised; the library tries the batch again
                    # The library skips the batch or tries it again.
                    loader._must_seek = self._resumes = False
                    raise raised(failure)
                if status == _END:
                    self._end_epoch(is_second=ended)
                    ended = True
                loader._check_life()
                if loader._wait is not None and loader._wait.failure is not None:
                    loader._wait.raise_failure(*loader._next_place())
        except BaseException:
            loader._arrays.give_back()
            raise

    def _go_to_position(self) -> None:
        loader = self._loader
        if self._over:
            raise StopIteration
        loader._check_life()
        if self._number != loader._iterator:
            raise CancelledError(
                "this iterator is over: a newer one was started, or a state was loaded"
            )
        loader._seek()

    def _end_epoch(self, *, is_second: bool) -> None:
        loader = self._loader
        if is_second and self._endless:
            raise InvalidArgumentError(
                "repeat() of an epoch without batches would never end; is last_batch='drop' with "
                "fewer records than batch_size meant?"
            )
        # Resumed after a stream's last batch, the first thing seen is the end: the next epoch
        # starts, as for counted readers.
        goes_on, self._resumes = self._endless or self._resumes, False
        if goes_on:
            _check_epoch(loader._epoch + 1)
        loader._epoch, loader._position, self._over = loader._epoch + 1, 0, not goes_on
        if self._over:
            raise StopIteration
        loader._started = loader._epoch


# ---- The end of a process, and forks ------------------------------------------------------------


def _close_all() -> None:
    for loader in list(_open_loaders):
        loader.close()


def _forget_all() -> None:
    for loader in list(_open_loaders):
        loader._forget()
    _open_loaders.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
