"""The place of a loader, its link to a sink, and its iterators, each over one epoch or over all."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator
from typing import Any, Protocol, SupportsIndex, TypeVar

from ..errors import CancelledError, InvalidArgumentError, shown
from ..native import ffi, lib
from ..native.calls import inside, interrupts, is_interrupt, raised, take_interrupt
from .ledger import END
from .reader_advice import advise_on_orders
from .shares import Share
from .state import LAST_EPOCH

BatchT = TypeVar("BatchT")

OVER = "this iterator is over: a newer one was started, or a state was loaded"
_SIGNALS_NS = 50_000_000  # how long a wait may keep Python from looking for signals
_END = lib.PFD_END
_next = lib.pfd_loader_next
_clock = time.perf_counter_ns

# Numbers of the moments in OpenLoader.moments, which is a pfd_caller of int64 fields.
_ASKED, _TOOK, _MADE, CONVERTED = (
    ffi.offsetof("pfd_caller", f"{name}_ns") // 8
    for name in ("asked", "took", "made", "converted")
)


# ---- The link between a sink and its loader -----------------------------------------------------

CLOSED = "the sink is closed"
REPLACED = (
    "this sink is over: a newer sink or iterator of its DataLoader was started, or that was moved"
)


class Stoppable(Protocol):
    """A thread that can be told to end, from a signal handler or finalizer too."""

    def stop(self) -> None: ...


class Lease:
    """The loader keeps the lease when its sink is dropped, so that the next iterator starts after
    the last consumed batch.

    Attributes:
        place: Epoch and position of the batch after the last consumed one.
        over: Why the sink makes no more calls; None: it still makes calls.
        thread: The thread that takes batches ahead; None: there is none.
    """

    __slots__ = ("over", "place", "thread")

    def __init__(self, place: tuple[int, int]) -> None:
        self.place = place
        self.over: str | None = None
        self.thread: Stoppable | None = None

    def stop(self) -> None:
        """Ends the thread soon; returns at once."""
        if self.thread is not None:
            self.thread.stop()  # again, if a signal comes before the next line
            self.thread = None

    def end(self, why: str) -> None:
        """The sink makes no more calls; a call that runs ends after its step."""
        if self.over is None:
            self.over = why
        self.stop()


# ---- The place of a loader ----------------------------------------------------------------------


class Cursor:
    """The place of a loader.

    Attributes:
        num_batches: Batches of an epoch, of all shares; below 0: not known.
        share: The batches that this loader delivers.
        epoch, position: The place after the last delivered batch.
        started: The last started epoch; None: the next iterator starts at the position.
        iterator: Number of the only iterator that is not over.
        must_seek: Whether the library may be at another position.
        lease: The lease of the sink that takes the batches; None: there is no sink.
        stays_in_epoch: Whether an iterator that starts after the last batch of a stream has no
            batch; if not, it goes on with the next epoch.
        is_endless: Whether the iterator is one of repeat().
        is_after_last: Whether a state was loaded that was taken in a loop at the last batch of an
            epoch: the program may not know that the next loop is the next epoch.
    """

    __slots__ = (
        "epoch", "is_after_last", "is_endless", "iterator", "lease", "must_seek", "num_batches",
        "position", "share", "started", "stays_in_epoch",
    )  # fmt: skip

    def __init__(self, num_batches: int, share: Share) -> None:
        self.num_batches, self.share = num_batches, share
        self.epoch = self.position = self.iterator = 0
        self.started: int | None = None
        self.lease: Lease | None = None
        self.must_seek = self.stays_in_epoch = self.is_endless = self.is_after_last = False

    @property
    def is_at_last(self) -> bool:
        """Whether a loop over one epoch has its last batch, and has not asked for more."""
        is_whole = self.share.total == 1 and not self.is_endless
        return is_whole and self.started is not None and 0 < self.num_batches <= self.position

    def next(self) -> tuple[int, int]:
        """Epoch and position of the next batch; the end of an epoch is the next one's start, unless
        steps are shared."""
        is_whole = self.share.total == 1  # after the last step other shares may have batches left
        if is_whole and 0 < self.num_batches <= self.position:
            return self.epoch + 1, 0
        return self.epoch, self.position

    def consumed(self) -> tuple[int, int]:
        """Like next(), but without the batches that the thread of a sink has taken ahead."""
        return self.next() if self.lease is None else self.lease.place

    def lend(self) -> Lease:
        """Lends the loader to a new sink, which ends an earlier sink and all iterators."""
        lease = Lease(self.consumed())
        self.go(*lease.place)
        self.lease = lease
        return lease

    def take_back(self) -> None:
        """Ends a sink: the next iterator starts after the last batch that it has consumed."""
        if self.lease is not None:
            self.go(*self.lease.place)

    def begin(self, epoch: int, position: int, *, endless: bool) -> int:
        """Starts an iterator at this place, and returns its number."""
        _check_epoch(epoch)
        self.is_endless, self.is_after_last = endless, False
        self.iterator += 1
        self.epoch, self.position, self.started = epoch, position, epoch
        self.must_seek = True
        return self.iterator

    def go(self, epoch: int, position: int) -> None:
        """Moves the loader: the next iterator starts at the new place; earlier iterators and a sink
        end.
        """
        if self.lease is not None:
            self.lease.end(REPLACED)
            self.lease = None
        self.iterator += 1
        self.epoch, self.position, self.started = epoch, position, None
        self.stays_in_epoch = self.is_endless = self.is_after_last = False
        self.epoch, self.position = self.next()
        self.must_seek = True

    def go_back(self, kept: Cursor) -> None:
        """Moves back to `kept`, an earlier copy; iterators that were made since then end."""
        self.iterator, self.started = kept.iterator, kept.started
        self.epoch, self.position, self.lease = kept.epoch, kept.position, kept.lease
        self.stays_in_epoch, self.is_endless = kept.stays_in_epoch, kept.is_endless
        self.is_after_last = kept.is_after_last
        self.must_seek = True


def as_epoch(epoch: SupportsIndex) -> int:
    """The number of an epoch, as an int.

    Raises:
        InvalidArgumentError: The number is not an epoch that can start.
    """
    try:
        number = operator.index(epoch)
    except TypeError:
        number = -1
    if number < 0:
        raise InvalidArgumentError(f"epoch = {shown(epoch)}; it must be an int from 0 on")
    _check_epoch(number)
    return number


def _check_epoch(epoch: int) -> None:
    """Refuses the last epoch: it can be the next epoch of a state, but cannot start, since no epoch
    follows it.
    """
    if epoch >= LAST_EPOCH:
        raise InvalidArgumentError(f"there is no epoch after {LAST_EPOCH - 1}")


class Batches(Iterator[BatchT]):
    """The batches of one epoch of a loader, or of all epochs."""

    __slots__ = ("_cursor", "_endless", "_loader", "_number", "_over", "_resumes")

    def __init__(self, loader: Any, number: int, endless: bool) -> None:
        """
        Args:
            loader: The OpenLoader.
            number: The number that its cursor gave.
            endless: The next epoch follows.
        """
        self._loader = loader
        self._cursor: Cursor = loader.cursor
        self._number = number
        self._endless = endless
        self._over = False
        # Whether this starts within an epoch, and has not delivered a batch.
        self._resumes = loader.cursor.position > 0 and not loader.cursor.stays_in_epoch

    def __next__(self) -> BatchT:
        asked, turns, moments = _clock(), self._loader.turns, self._loader.moments
        if inside:
            turns.check_not_inside()
        with turns.lock:
            if turns.is_busy:
                turns.check_idle()
            try:
                turns.is_busy = True
                moments[_ASKED] = asked
                cursor = self._cursor
                if cursor.must_seek or self._number != cursor.iterator:
                    self._go_to_position()
                return self._take()
            finally:
                turns.is_busy = False  # before a call, in which an interrupt may come
                moments[_MADE] = _clock()

    def _take(self) -> BatchT:
        loader, cursor = self._loader, self._cursor
        cursor.must_seek = True  # until no interrupt can come in between
        ended = False
        try:
            while True:
                status = _next(loader.handle, _SIGNALS_NS, loader.arrays.batch, loader.err)
                loader.moments[_TOOK] = _clock()
                if interrupts:
                    take_interrupt()
                if status == 0:
                    arrays, epoch, step = loader.arrays.take()
                    batch: BatchT = loader.form(arrays)
                    cursor.epoch, cursor.position = epoch, step + 1
                    cursor.must_seek = self._resumes = False
                    return batch
                if status < 0:
                    failure = loader.failure(status)
                    if is_interrupt(failure.__cause__):
                        continue  # already raised; the library tries the batch again
                    # The library skips the batch or tries it again.
                    cursor.must_seek = self._resumes = False
                    raise raised(failure)
                if status == _END:
                    self._end_epoch(is_second=ended)
                    loader.moments[_MADE] = _clock()
                    ended = True
                loader.check_life()
                loader.observation.raise_stall(cursor)
        except BaseException:
            loader.arrays.give_back()
            raise

    def _go_to_position(self) -> None:
        loader = self._loader
        if self._over:
            raise StopIteration
        loader.check_life()
        if self._number != self._cursor.iterator:
            raise CancelledError(OVER)
        loader.go_to_position()

    def _end_epoch(self, *, is_second: bool) -> None:
        cursor = self._cursor
        if is_second and self._endless:
            raise InvalidArgumentError(
                "repeat() of an epoch without batches would never end; is last_batch='drop' with "
                "fewer records than batch_size meant?"
            )
        # Resumed after a stream's last batch, the first thing seen is the end: the next epoch
        # starts, as for counted readers.  Other shares may have batches of this one left.
        is_over = self._resumes and cursor.share.total == 1
        goes_on, self._resumes = self._endless or is_over, False
        self._loader.note(END, cursor.epoch, cursor.position)
        if goes_on:
            _check_epoch(cursor.epoch + 1)
            advise_on_orders(self._loader.repeating)
        cursor.epoch, cursor.position, self._over = cursor.epoch + 1, 0, not goes_on
        if self._over:
            raise StopIteration
        cursor.started = cursor.epoch
