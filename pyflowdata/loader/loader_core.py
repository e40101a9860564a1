"""What a DataLoader is made of: its handle in the library, its turns and where it is."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np

from ..errors import CancelledError, Error, UnsupportedError
from ..native import check, exception, ffi, lib, new_error
from ..native.calls import inside, interrupts, raised, take_interrupt
from ..nodes.node import nodes_of
from .at_exit import open_loaders
from .batches import Batch, BatchArrays
from .epochs import Cursor
from .observed import Observed
from .opening import arrange, open_loader, rank_of, read_info, read_readers, warn_of_readers
from .places import Places
from .reader_advice import advise_on_batches, repeating_orders
from .shares import find_share
from .sampled_types import say_sample
from .state import make_state, read_state
from .turns import Turns

_read = lib.pfd_loader_read
_new_positions = functools.partial(ffi.new, "int64_t[]")
_FEW = 64  # positions; of a longer range NumPy makes them, at a tenth of the time


class LoaderCore:
    """For the modules of this package that work with a DataLoader; iterators and sinks keep it.

    Attributes:
        blobs: Whose arrays a batch has, in order.
        form: Makes a batch of the arrays.
        handle: The library's loader.
        share: Which steps it delivers.
        info: What the library says of it when it is opened.
        err: For calls of its turn.
        arrays: Those of the batch that is taken.
        turns: Whose turn it is.
        cursor: Where it is.
        readers: As of DataLoader.
        rank: In words.
        observed: What is seen of it besides batches.
        repeating: Readers that have the same order in each epoch, to be told of once.
        life: "open", "closed" or "forked".
    """

    def __init__(
        self,
        given: tuple[Any, ...],
        num_threads: int | Literal["auto"] | None,
        prefetch: int | Literal["auto"] | None,
        memory_budget: int | None,
        zip: str,
        share: tuple[int, int] | None = None,
    ) -> None:
        """Args: as of DataLoader."""
        self.form: Callable[[list[Batch]], Any]
        wanted, self.form = arrange(given)
        self.blobs = tuple(wanted)
        self.life = "open"
        self.turns = Turns()
        self.err = new_error()
        self.share = find_share(share, wanted)
        self.handle, self._in_use = open_loader(
            wanted, num_threads, prefetch, memory_budget, zip, self.share
        )
        open_loaders.add(self)
        self.info = read_info(self.handle)
        self.cursor = Cursor(self.info.num_batches, self.share)
        self.arrays = BatchArrays(wanted, self.info)
        self.rank = rank_of(wanted)
        self.readers = read_readers(self.handle, self.info.num_readers)
        self.observed = Observed(self.handle, self.blobs, self.readers)
        self.observed.report_at_end_of(self)
        warn_of_readers(self.readers)
        advise_on_batches(wanted, self.readers)
        self.repeating = repeating_orders(wanted, self.readers)

    # ---- Turns --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lent(self) -> Iterator[Cursor]:
        """Where the loader is, while no other thread can take batches or move it."""
        self.turns.check_not_inside()
        with self.turns.lock:
            self.turns.check_idle()
            yield self.cursor

    def must_not_wait(self) -> bool:
        """Whether this thread is inside a call of this loader, as a signal handler may be, or in a
        function that a loader calls; another thread may wait for it."""
        return threading.get_ident() in inside or self.turns.is_mine()

    # ---- Batches ------------------------------------------------------------------------------

    def go_to_position(self) -> None:
        """Moves the library to the cursor's position; a failed batch after it is tried again."""
        status, cursor = lib.PFD_PENDING, self.cursor
        while status == lib.PFD_PENDING:
            self.check_life()
            status = lib.pfd_loader_seek(self.handle, cursor.epoch, cursor.position, self.err)
        if status < 0:
            raise self.failure(status)
        cursor.must_seek = False

    def read_rows(self, positions: Iterable[SupportsIndex], epoch: int) -> Any:
        """As DataLoader.read(), in a turn of this thread."""
        places = _positions(positions)
        status = lib.PFD_PENDING
        try:
            while status == lib.PFD_PENDING:
                self.check_life()
                status = _read(self.handle, epoch, places, len(places), self.arrays.batch, self.err)
                if interrupts:
                    take_interrupt()
            if status < 0:
                raise raised(self.failure(status))
            return self.form(self.arrays.take()[0])
        except BaseException:
            self.arrays.give_back()
            raise

    def failure(self, status: int) -> Error:
        """The exception for a call that returned this status."""
        self.check_life()
        failure = exception(status, self.err)
        self.err = new_error()
        say_sample(failure, nodes_of(self.blobs))
        return failure

    # ---- State --------------------------------------------------------------------------------

    def state_at(self, epoch: int, position: int) -> dict[str, Any]:
        """As DataLoader.state_dict(), of the place before this batch."""
        return make_state(epoch, position, self.readers, self._pasts(epoch, position))

    def load_state(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(), in a turn of this thread."""
        self.check_life()
        place = read_state(state, self.readers, self._pasts, self.cursor.num_batches)
        for index, seed in enumerate(place.seeds):
            if self.readers[index].seed != seed:
                status = lib.pfd_loader_set_seed(self.handle, index, seed, self.err)
                if status < 0:
                    raise self.failure(status)
        self.readers = tuple(
            dataclasses.replace(reader, seed=seed, seed_is_default=False)
            for reader, seed in zip(self.readers, place.seeds, strict=True)
        )
        self.cursor.go(place.epoch, place.position)

    def _pasts(self, epoch: int, position: int) -> list[int]:
        """Of each reader: a hash of what may change from this batch on; 0 for most."""
        handle, count = self.handle, len(self.readers)
        return [lib.pfd_loader_get_past(handle, i, epoch, position) for i in range(count)]

    @contextlib.contextmanager
    def kept_place(self) -> Iterator[None]:
        """As DataLoader.keep_place(), in a turn of this thread."""
        kept, repeating = dataclasses.replace(self.cursor), self.repeating
        err = new_error()
        check(lib.pfd_loader_pause_counts(self.handle, 1, err), err)
        try:
            self.cursor.lease = None  # what is done here does not end a sink
            self.repeating = ()  # which is to be said where the program repeats it
            yield
        finally:
            lib.pfd_loader_pause_counts(self.handle, 0, err)
            self.cursor.go_back(kept)
            self.repeating = repeating

    @property
    def places(self) -> Places:
        """Where its records lie; of an open loader."""
        self.check_life()
        return Places(self.handle)

    # ---- Life ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it was not closed, and this process opened it."""
        return self.life == "open"

    def check_life(self) -> None:
        """Raises CancelledError when it is closed, and as check_process()."""
        if self.life == "closed":
            raise CancelledError("the DataLoader is closed")
        self.check_process()

    def check_process(self) -> None:
        """Raises UnsupportedError in a forked child of the process that opened it."""
        if self.life == "forked":
            raise UnsupportedError(
                f"the DataLoader was opened by another process than this one ({os.getpid()}), "
                "which was forked from it; open a DataLoader in this process"
            )

    def close(self) -> None:
        """As DataLoader.close()."""
        if self.is_open:
            self.life = "closed"
            open_loaders.discard(self)
            if threading.get_ident() in inside:  # the threads cannot be waited for by one of them
                threading.Thread(target=self._stop, name="pyflowdata close").start()
            else:
                self._stop()

    def _stop(self) -> None:
        try:
            self.observed.end()
        finally:
            lib.pfd_loader_close(self.handle)
            self._in_use.release()
            self.observed.report_end()

    def forget(self) -> None:
        """In a forked child, which lacks the loader's threads; the lock may stay held there."""
        self.turns = Turns()
        self.life = "forked"


def _positions(positions: Iterable[SupportsIndex]) -> Any:
    """Row numbers for the library: int64_t[]."""
    if isinstance(positions, range) and len(positions) > _FEW:
        numbers = np.arange(positions.start, positions.stop, positions.step, dtype=np.int64)
        return ffi.from_buffer("int64_t[]", numbers)
    return _new_positions(list(map(operator.index, positions)))
