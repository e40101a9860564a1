"""DataLoader: takes batches of the wanted blobs, epoch after epoch."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeVar, overload

from ..errors import (
    CancelledError,
    Error,
    InvalidArgumentError,
    UnsupportedError,
    WrongUseError,
    shown,
)
from ..nodes import Blob
from ..nodes.node import nodes_of
from ..nodes.argument_hints import refuse_arguments
from ..reports.at_end import check_report_variable
from ..native import check, exception, ffi, lib, new_error
from ..native.calls import inside, interrupts, raised, take_interrupt
from .any_loader import AnyLoader
from .at_exit import open_loaders
from .batches import Array, Batch, BatchArrays
from .epochs import Batches, Cursor
from .iterator_hook import hooked
from .observed import Observed
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
from .reader_advice import advise_on_batches, advise_on_orders, repeating_orders
from .sampled_types import say_sample
from .state import LAST_EPOCH, Reader, make_state, read_state
from .turns import Turns

if TYPE_CHECKING:
    from ..reports.report import Report
    from ..reports.tuning import Tuning
    from ..stalls.watchdog import Stall
    from ..tracing.trace import Trace

__all__ = ["DataLoader"]

BatchT = TypeVar("BatchT", covariant=True)

_read = lib.pfd_loader_read
_new_positions = functools.partial(ffi.new, "int64_t[]")
_OPTIONS = ("num_threads", "prefetch", "memory_budget", "zip")
_OPEN, _CLOSED, _FORKED = "open", "closed", "forked"


class DataLoader(AnyLoader[BatchT]):
    """Opens the readers of some blobs, and yields batches as NumPy arrays.

    `for batch in loader` is one epoch.  What a batch is depends on how the blobs are given:
    one blob gives bare arrays, several or a tuple give tuples of arrays, a dict gives dicts.

    An array has the rows of this rank first, then the dimensions of a row, and the blob's dtype.
    It views memory of the loader, is writable, and belongs to the caller until it and all views
    of it are collected; also after close().  Where rows differ in shape (`blob.is_ragged`), a
    `Ragged` takes the place of the array, with the same rules for the arrays in it.  A type
    checker sees arrays, unless the code tests `isinstance(batch, Ragged)`; where all rows of a
    Ragged have one shape, `np.asarray(batch)` is the array.

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
        if blobs:  # a thing that is no blob is what matters
            arrange(blobs)
        refuse_arguments(others, "DataLoader", _OPTIONS)
        check_report_variable()
        # form, cursor and observed have no underscore: other modules of the package use them.
        self.form: Callable[[list[Batch]], BatchT]
        wanted, self.form = arrange(blobs)
        self._blobs = tuple(wanted)
        self._life = _OPEN
        self._turns = Turns()
        self._err = new_error()
        self._handle, self._in_use = open_loader(
            wanted, num_threads, prefetch, memory_budget, zip
        )
        open_loaders.add(self)
        self._info = read_info(self._handle)
        self.cursor = Cursor(self._info.num_batches)
        self._arrays = BatchArrays(wanted, self._info)
        self._rank = rank_of(wanted)  # in words
        self._readers = read_readers(self._handle, self._info.num_readers)
        self.observed = Observed(self._handle, self._blobs, self._readers)
        self.observed.report_at_end_of(self)
        warn_of_readers(self._readers)
        advise_on_batches(wanted, self._readers)
        self.repeating = repeating_orders(wanted, self._readers)

    # ---- Epochs -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BatchT]:
        """Starts the epoch after the last started one; after load_state_dict() continues there.

        An earlier iterator that is not at its end raises CancelledError from now on, and so does a
        sink.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            cursor = self.cursor
            cursor.take_back()
            if cursor.started is not None:
                return self._begin(cursor.started + 1, 0, endless=False)
            return self._begin(cursor.epoch, cursor.position, endless=False)

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is.

        Raises, from next():
            InvalidArgumentError: An epoch has no batches.
        """
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            self.cursor.take_back()
            return self._begin(*self.cursor.next(), endless=True)

    @contextlib.contextmanager
    def lent(self) -> Iterator[Cursor]:
        """For sinks: where the loader is, with its lease, while no other thread can move it."""
        self._turns.check_not_inside()
        with self._turns.lock:
            self._turns.check_idle()
            yield self.cursor

    def must_not_wait(self) -> bool:
        """For sinks: whether this thread is inside a call of this loader, as a signal handler may
        be, or in a function that a loader calls; another thread may wait for it."""
        return threading.get_ident() in inside or self._turns.is_mine()

    def _begin(self, epoch: int, position: int, *, endless: bool) -> Iterator[BatchT]:
        self.check_life()
        if epoch > 0:
            advise_on_orders(self.repeating)
        number = self.cursor.begin(epoch, position)
        self.observed.watch(self)
        return hooked(self, Batches(self, number, endless))

    def _seek(self) -> None:
        """Moves the library to the position; a failed batch after it is tried again."""
        status, cursor = lib.PFD_PENDING, self.cursor
        while status == lib.PFD_PENDING:
            self.check_life()
            status = lib.pfd_loader_seek(self._handle, cursor.epoch, cursor.position, self._err)
        if status < 0:
            raise self._failure(status)
        cursor.must_seek = False

    def _failure(self, status: int) -> Error:
        self.check_life()
        failure = exception(status, self._err)
        self._err = new_error()
        say_sample(failure, nodes_of(self._blobs))
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
            return self.state_at(*self.cursor.consumed())

    def state_at(self, epoch: int, position: int) -> dict[str, Any]:
        """As state_dict(), of the place before this batch; for sinks."""
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
            self.check_life()
            self._turns.check_idle()
            place = read_state(state, self._readers, self._pasts, self.cursor.num_batches)
            for index, seed in enumerate(place.seeds):
                if self._readers[index].seed != seed:
                    status = lib.pfd_loader_set_seed(self._handle, index, seed, self._err)
                    if status < 0:
                        raise self._failure(status)
            self._readers = tuple(
                dataclasses.replace(reader, seed=seed, seed_is_default=False)
                for reader, seed in zip(self._readers, place.seeds, strict=True)
            )
            self.cursor.go(place.epoch, place.position)

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
            self.check_life()
            self._turns.check_idle()
            epoch = self.cursor.consumed()[0] if epoch is None else epoch
            most = self.cursor.num_batches if self.cursor.num_batches >= 0 else LAST_EPOCH
            for name, value, limit in (("position", position, most), ("epoch", epoch, LAST_EPOCH)):
                if type(value) is not int or not 0 <= value <= limit:
                    raise InvalidArgumentError(
                        f"{name} = {shown(value)}; it must be an int in [0, {limit}]"
                    )
            self.cursor.go(epoch, position)

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
            kept, repeating = dataclasses.replace(self.cursor), self.repeating
            err = new_error()
            check(lib.pfd_loader_pause_counts(self._handle, 1, err), err)
            try:
                self.cursor.lease = None  # what is done here does not end a sink
                self.repeating = ()  # which is to be said where the program repeats it
                yield
            finally:
                lib.pfd_loader_pause_counts(self._handle, 0, err)
                self.cursor.go_back(kept)
                self.repeating = repeating

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
                self.check_life()
                status = _read(
                    self._handle, epoch, places, len(places), self._arrays.batch, self._err
                )
                if interrupts:
                    take_interrupt()
            if status < 0:
                raise raised(self._failure(status))
            return self.form(self._arrays.take()[0])
        except BaseException:
            self._arrays.give_back()
            raise

    # ---- Facts --------------------------------------------------------------------------------

    @property
    def data_loader(self) -> DataLoader[BatchT]:
        """This one; of a TorchLoader or JaxLoader, the one that it took over."""
        return self

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank.

        Raises:
            TypeError: A reader is a stream that has to be read to be counted.
        """
        if self.cursor.num_batches < 0:
            raise WrongUseError(
                "this DataLoader has no len(), as a reader is a stream of unknown length: count "
                "the batches of an epoch, for batch in loader"
            )
        return self.cursor.num_batches

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
        self.check_life()
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
        cursor = self.cursor
        return cursor.epoch if cursor.started is None else cursor.started

    def stats(self) -> dict[str, float]:
        """Counters since the loader was opened, also after close(); they cost almost nothing.

        Keys, with times in seconds; moments are on the monotonic clock:
            slots, slots_held, slots_ready: Memory for batches: allocated, in the program's hands,
                and complete but not yet delivered.
            batches, records: Delivered, on this rank.
            bytes: Of record data that were parsed.
            skipped: Records that were left out or padded after an error.
            wait_seconds, help_seconds: next() waited for other threads, and worked itself.
            thread_seconds, idle_seconds: Threads were there to work, summed over threads, and of
                it had no work.
            slot_bytes: Memory of all slots, with ragged values.
            read_bytes: Read from files that are not mapped, also to index them.
            cpu_seconds, runnable_seconds, major_faults: The threads computed, waited for a
                processor, and how often they waited for a page of a mapped file; 0 where the
                system does not say.
            now_seconds, opened_seconds: When this was counted, or the loader was closed, and when
                it was opened.
            asked_seconds, delivered_seconds: When the program asked for the latest batch (0:
                never), and when it got one.
            batches_made: Complete, also those that were not delivered.
            starts, start_seconds: First batches of an epoch, or after a seek, and next() for them.
            steps, waited_steps: The other batches, and of them those not complete when asked for.
            step_wait_seconds, step_train_seconds: next() for these, and the program between them.
            no_memory_seconds: No further batch could be started: memory_budget was used up.
            processors: That this process may use.
            process_cpu_seconds: All threads of the process computed, since the loader was opened.
            throttled_seconds: The quota of the cgroup was used up, since then.
        """
        self.check_process()
        return self.observed.stats()

    @property
    def last_stall(self) -> Stall | None:
        """What the last StallWarning was about; None: there was none."""
        return self.observed.stall

    def report(self, *, since: Report | None = None) -> Report:
        """Says in a sentence what limits the training loop and what to change, with tables under
        it; `print(loader.report())`.  Since the loader was opened, also after close().

        Args:
            since: An earlier report of this loader: only what came after it counts, for example
                the last epoch.
        """
        from .data_facts import data_facts

        self.check_process()
        describe = functools.partial(
            data_facts, DataLoader, self.form, self._blobs, self._readers, self.epoch
        )
        return self.observed.report(since, describe)

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

        Raises:
            InvalidArgumentError: Seconds or size are no numbers from 0 on, or device is no str.
        """
        self.observed.count_copy(seconds, size, device, overlaps)

    @property
    def tuning(self) -> Tuning | None:
        """How the loader adjusts num_threads and prefetch, and why; also after close().  None:
        neither is "auto".  `print(loader.tuning)` shows it."""
        self.check_process()
        return self.observed.tuning()

    @property
    def skipped(self) -> list[Error]:
        """The records that on_error="skip" or "pad" omitted, as exceptions, in order of delivery.

        The latest 1000 are kept, also after close(); of one batch at most 100. stats()["skipped"]
        counts all."""
        self.check_process()
        return self.observed.skipped()

    def __repr__(self) -> str:
        parts = [*map(str, self._readers), self._rank, self._settings()]
        parts[-1] += "" if self.is_open else f", {self._life}"
        return f"DataLoader({', '.join(blob.name for blob in self._blobs)}; {'; '.join(parts)})"

    def _settings(self) -> str:
        steps = self.cursor.num_batches if self.cursor.num_batches >= 0 else "unknown"
        return f"steps={steps}, epoch={self.epoch}, {describe_threads(self._handle)}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from .loader_html import loader_html

        return loader_html(self._blobs, self._readers, (self._rank, self._settings()), self._life)

    # ---- Life ---------------------------------------------------------------------------------

    def check_life(self) -> None:
        """Raises CancelledError when it is closed, and as check_process()."""
        if self._life == _CLOSED:
            raise CancelledError("the DataLoader is closed")
        self.check_process()

    @property
    def is_open(self) -> bool:
        """Whether it can give batches: it was not closed, and this process opened it."""
        return self._life == _OPEN

    def check_process(self) -> None:
        """Raises UnsupportedError in a forked child of the process that opened it."""
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

        Raises:
            FileError: A trace that is on cannot be written; the loader is closed.
        """
        if self.is_open:
            self._life = _CLOSED
            open_loaders.discard(self)
            if threading.get_ident() in inside:  # the threads cannot be waited for by one of them
                threading.Thread(target=self._stop, name="pyflowdata close").start()
            else:
                self._stop()

    def _stop(self) -> None:
        try:
            self.observed.end()
        finally:
            lib.pfd_loader_close(self._handle)
            self._in_use.release()
            self.observed.report_end()

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
