"""An open loader: its handle in the library, the turns of threads, its place, and observation."""

from __future__ import annotations

import atexit
import contextlib
import copy
import dataclasses
import functools
import operator
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from ..errors import (
    CancelledError,
    CorruptDataError,
    Error,
    InvalidArgumentError,
    UnsupportedError,
    shown,
)
from ..insight.at_end import report_at_end
from ..insight.stats import (
    LoopThreadTimes,
    first_work,
    note_first_work,
    read_fetched,
    read_worker_seconds,
)
from ..native import CData, check, exception, ffi, file_path, lib, new_error
from ..native.calls import inside, interrupts, is_in_pause, raised, take_interrupt
from ..nodes import Blob, Node
from ..nodes.node import nodes_of
from .batches import Batch, BatchArrays
from .epochs import CONVERTED, Cursor
from .graph_digest import Graph
from .ledger import LOAD, SEEK, STATE, Ledger, NotedArrays, directory_of
from .opening import open_handle, rank_of, read_info, read_readers
from .reader_advice import (
    advise_on_batches,
    repeating_orders,
    warn_of_equal_orders,
    warn_of_left_out,
    warn_of_readers,
    warn_of_two_orders,
)
from .shares import find_share
from .state import ENDLESS, make_state, read_state, was_in_loop

if TYPE_CHECKING:
    from ..insight.counters import CountedLoader, Counters, DataFacts
    from ..insight.dashboard import Dashboard
    from ..insight.ranks import Collectives
    from ..insight.report import Report
    from ..insight.stalls import Stall, Wait
    from ..insight.trace import Trace
    from ..insight.trials import Trials


# ---- The end of a process, and forks ------------------------------------------------------------

open_loaders: weakref.WeakSet[OpenLoader] = weakref.WeakSet()  # this process has


def _close_all() -> None:
    with contextlib.ExitStack() as closing:  # also the others, if one cannot write its trace
        for loader in list(open_loaders):
            closing.callback(loader.close)


def _forget_all() -> None:
    for loader in list(open_loaders):
        loader.forget()
    open_loaders.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)


# ---- Turns --------------------------------------------------------------------------------------


class Turns:
    """The threads that use a loader take turns.

    Attributes:
        lock: Held by the thread that takes batches or moves the loader.
        is_busy: The holder is inside a call that must not be entered again.
    """

    __slots__ = ("is_busy", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_busy = False

    def is_mine(self) -> bool:
        """Whether this thread has the lock, perhaps in a caller that a signal handler interrupted.
        """
        lock: Any = self.lock
        return bool(lock._is_owned())

    def check_idle(self) -> None:
        """Refuses a call inside another one of this thread: the caller holds the lock, so a busy
        holder is the same thread, interrupted.
        """
        if self.is_busy:
            raise UnsupportedError(
                "this thread is inside next() of the DataLoader already, and a signal handler or "
                "__del__ called it again; there only close(), state_dict(), stats() and skipped "
                "may be used"
            )

    def check_not_inside(self) -> None:
        """Refuses calls from a function that C runs for a batch: it must not wait for that batch.
        """
        if threading.get_ident() in inside and not self.is_mine():
            raise UnsupportedError(
                "a function that a DataLoader calls, of register_decoder or in the source of a "
                "reader, takes batches or the state of a DataLoader; it would wait for itself if "
                "that loader runs it"
            )


# ---- Observation --------------------------------------------------------------------------------

_NOTHING = contextlib.nullcontext()


def _check_count(name: str, value: object) -> None:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 <= value < float("inf"):  # type: ignore[operator]
        raise InvalidArgumentError(f"{name} = {shown(value)}; it must be a number from 0 on")


class Observation:
    """Observation of one loader: copies, reports, a trace, stalls.

    It does nothing in the steps of the loader, and changes neither batches nor their order.  It
    has no reference to the OpenLoader, whose finalizer uses it.

    Attributes:
        trace_on: The running trace.
    """

    def __init__(self, loader: OpenLoader) -> None:
        self._handle, self._blobs, self._readers = loader.handle, loader.blobs, loader.readers
        self._first_work = loader.first_work
        self.trace_on: Trace | None = None
        self._wait: Wait | None = None  # from the first epoch on, unless stalls are not watched
        self._before = {**read_fetched(), "worker_cpu_seconds": read_worker_seconds()}
        self._loop_thread, self._sources = LoopThreadTimes(), loader.in_use.sources
        self._waits: list[Wait] = []  # [self._wait], for reports
        self._collectives: list[Collectives] = []  # one, once the program marks some
        self._pages: list[Dashboard] = []
        self._is_hidden = self._has_ended = False
        self._at_end = report_at_end(loader, lambda: self._counted)

    # ---- Reports ------------------------------------------------------------------------------

    @functools.cached_property
    def _counted(self) -> CountedLoader:
        from ..insight.counters import CountedLoader

        counted = CountedLoader(
            self._handle, self._blobs, self._readers, waits=self._waits, before=self._before,
            first_work=self._first_work, collectives=self._collectives,
            loop_thread=self._loop_thread, sources=self._sources,
        )
        if self._has_ended:
            counted.name_records()
        return counted

    def report(
        self, since: Report | None, describe_data: Callable[[], DataFacts],
        try_remedies: Callable[[Counters, float], Trials],
    ) -> Report:  # fmt: skip
        """As `DataLoader.report`; `describe_data` is called if the report describes the data, and
        `try_remedies` if it tries remedies.
        """
        from ..insight.ranks import steps_of
        from ..insight.report import Report

        report = Report(
            self._counted.count(looks=True), describe_data, steps=steps_of(self._counted),
            try_remedies=try_remedies,
        )
        return report if since is None else report.since(since)

    def count_copy(self, seconds: float, size: int, device: str, overlaps: bool) -> None:
        _check_count("seconds", seconds)
        _check_count("size", size)
        if not isinstance(device, str):
            raise InvalidArgumentError(f"device = {shown(device)}; it must be a str")
        copies = self._counted.ahead if overlaps else self._counted.hand_over
        copies.device = device
        copies.batches += 1
        copies.bytes += size
        copies.seconds += seconds

    def hide(self) -> None:
        """Leaves the loader out of what PYFLOWDATA_REPORT and PYFLOWDATA_DASHBOARD show."""
        self._is_hidden = True
        if self._at_end is not None:
            self._at_end.detach()

    def collective(self) -> contextlib.AbstractContextManager[None]:
        """As `Loader.collective`."""
        from ..insight.ranks import Collectives

        if not self._collectives:
            self._collectives.append(Collectives())
        return self._collectives[0].one()

    # ---- A trace ------------------------------------------------------------------------------

    def shows(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Shows in a trace that this thread does something with a batch in a `with` block."""
        trace = self.trace_on  # another thread may end it
        return _NOTHING if trace is None else trace.span(what)

    # ---- A page while it works ----------------------------------------------------------------

    def serve(self, loader: OpenLoader, port: int) -> Dashboard:
        """As `Loader.dashboard`; the page ends with the OpenLoader."""
        from ..insight.dashboard import Dashboard

        return self._kept_page(loader, Dashboard(self._counted, port))

    def _kept_page(self, loader: OpenLoader, page: Dashboard) -> Dashboard:
        self._pages.append(page)
        weakref.finalize(loader, page.close).atexit = False
        return page

    def _serve_as_asked(self, loader: OpenLoader) -> None:
        if self._is_hidden or os.environ.get("PYFLOWDATA_DASHBOARD", "0") in ("", "0"):
            return
        from ..insight.dashboard import dashboard_as_asked

        page = dashboard_as_asked(self._counted)
        self._is_hidden = True  # it is shown once
        if page is not None:
            self._kept_page(loader, page)

    def end_pages(self) -> None:
        """Ends the pages; in a forked child it closes the inherited sockets."""
        for page in self._pages:
            page.close()

    # ---- Stalls -------------------------------------------------------------------------------

    def watch(self, loader: OpenLoader) -> None:
        """This thread begins an epoch of this OpenLoader, whose waits are watched from then on."""
        self._serve_as_asked(loader)
        self._loop_thread.begin()
        if self._wait is None:
            from ..insight.stalls import begin

            self._wait = begin(loader)
            if self._wait is not None:
                self._waits.append(self._wait)

    @property
    def stall(self) -> Stall | None:
        return None if self._wait is None else self._wait.stall

    def raise_stall(self, cursor: Cursor) -> None:
        """In next(): raises the StallWarning about this batch, if a filter makes it an error."""
        if self._wait is not None and self._wait.failure is not None:
            self._wait.raise_failure(*cursor.next())

    # ---- The end ------------------------------------------------------------------------------

    def end(self) -> None:
        """Ends observation; called before the loader is closed.

        Raises:
            FileError: A trace cannot be written; everything else is done.
        """
        trace = self.trace_on
        self.end_pages()
        self._loop_thread.end()
        try:
            if self._at_end is not None or "_counted" in self.__dict__:  # there may be a report
                self._counted.name_records()
            if trace is not None:
                trace.end()
        finally:
            self._has_ended = True
            if self._wait is not None:
                self._wait.end()

    def report_end(self) -> None:
        """After the loader was closed."""
        if self._at_end is not None:
            self._at_end()


# ---- The open loader ----------------------------------------------------------------------------


def _say_sample(failure: Error, nodes: Iterable[Node]) -> None:
    """Adds to the failure of a record that its types were inferred from the first records."""
    for node in nodes:
        listed = node.op.outputs_attr
        if isinstance(failure, CorruptDataError) and failure.op == node.op.name \
                and listed in node.sampled and failure.attr == listed:  # fmt: skip
            argument = node.sampled[listed]
            failure.message += (
                f" ({argument} was left out, and found in the first records; give {argument}= for "
                "other types)"
            )
            return


_read = lib.pfd_loader_read
_new_positions = functools.partial(ffi.new, "int64_t[]")
_FEW = 64  # positions; of a longer range NumPy makes them, at a tenth of the time


class OpenLoader:
    """What a DataLoader has opened; iterators and sinks keep it.  open_loader_of() gives it.

    Attributes:
        blobs: The blobs whose arrays a batch has, in order.
        form: Makes a batch, such as a dict, of a list with the arrays of the blobs.
        handle: The `pfd_loader *`.
        share: The steps that the loader delivers.
        options: The arguments of the DataLoader, as given.
        in_use: What its ops and sources use until it is closed.
        info: The `pfd_loader_info` from when it was opened.
        err: The `pfd_error *` of the thread that has the turn.
        arrays: Makes the arrays of batches.
        moments: The times of the work of next() and of iterators around it: the fields of a
            pfd_caller.
        ledger: The ledger of delivered batches; None: no ledger.
        turns: The turns of threads.
        cursor: The place of the loader.
        readers: As in DataLoader.
        rank: Rank and world size as a text.
        observation: Reports, traces and so on.
        repeating: Warnings for a second epoch, see `repeating_orders()`.
        life: "open", "closed" or "forked".
    """

    def __init__(
        self,
        blobs: list[Blob],
        form: Callable[[list[Batch]], Any],
        num_threads: int | Literal["auto"] | None,
        prefetch: int | Literal["auto"] | None,
        memory_budget: int | None,
        zip: str,
        share: tuple[int, int] | None = None,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        """Args: blobs and form as arrange() returns them, the others as in DataLoader."""
        directory = directory_of(ledger)
        self.blobs, self.form = tuple(blobs), form
        self.life = "open"
        self.turns = Turns()
        self.err = new_error()
        self.share = find_share(share, blobs)
        self.options = {
            "num_threads": num_threads, "prefetch": prefetch, "memory_budget": memory_budget,
            "zip": zip, "share": share,
        }  # fmt: skip
        with first_work() as found:
            self.handle, self.in_use = open_handle(
                blobs, num_threads, prefetch, memory_budget, zip, self.share
            )
        self.first_work = tuple(found)
        open_loaders.add(self)
        self.info = read_info(self.handle)
        self.readers = read_readers(self.handle, self.info.num_readers)
        for reader in self.readers:
            if reader.index.is_new:  # another loader may be opened because it needs this one
                note_first_work("index", reader.op, reader.index.seconds)
        is_endless = all(reader.records >= ENDLESS for reader in self.readers)
        self.cursor = Cursor(-1 if is_endless else self.info.num_batches, self.share)
        self.rank = rank_of(blobs)
        self.ledger = Ledger(directory, self._ledger_header()) if directory else None
        self.arrays = self._arrays()
        caller = ffi.buffer(lib.pfd_loader_caller(self.handle), ffi.sizeof("pfd_caller"))
        self.moments = memoryview(caller).cast("q")
        self.observation = Observation(self)
        warn_of_readers(self.readers)
        warn_of_equal_orders(blobs)
        warn_of_two_orders(blobs, self.readers)
        warn_of_left_out(blobs)
        advise_on_batches(blobs, self.readers)
        self.repeating = repeating_orders(blobs, self.readers)

    # ---- Turns --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def lent(self) -> Iterator[Cursor]:
        """The cursor, in a block in which no other thread can take batches or move the loader."""
        self.turns.check_not_inside()
        with self.turns.lock:
            self.turns.check_idle()
            yield self.cursor

    def must_not_wait(self) -> bool:
        """Whether this thread is inside a call of this loader, as a signal handler may be, or in a
        function that a loader calls; another thread may wait for it."""
        return threading.get_ident() in inside or self.turns.is_mine()

    # ---- Where it is --------------------------------------------------------------------------

    @property
    def place(self) -> tuple[int, int]:
        """Epoch and step of the batch after the last one that it delivered, as in state_dict()."""
        return self.cursor.consumed()

    @property
    def started(self) -> int | None:
        """The last started epoch; None: the loader was moved, and the next iterator starts at
        `place`.
        """
        return self.cursor.started

    @property
    def is_shared(self) -> bool:
        """Whether other loaders have steps of the same epoch, which may be left after its own."""
        return self.share.total > 1

    def tell_epoch(self) -> None:
        """Notes that the program has chosen the next epoch."""
        self.cursor.is_after_last = False

    def stay_in_epoch(self) -> None:
        """If the loader was moved to the end of a stream, the next iterator has no batch; otherwise
        it would go on with the next epoch.
        """
        self.cursor.stays_in_epoch = self.started is None

    # ---- Batches ------------------------------------------------------------------------------

    def go_to_position(self) -> None:
        """Moves the library to the cursor's position; a failed batch after it is tried again."""
        status, cursor = lib.PFD_PENDING, self.cursor
        while status == lib.PFD_PENDING:
            self.check_life()
            status = lib.pfd_loader_seek(self.handle, cursor.epoch, cursor.position, self.err)
        if status < 0:
            raise self.failure(status)
        if self.ledger is not None and not self.ledger.is_paused:
            self.ledger.note(SEEK, cursor.epoch, cursor.position)
        cursor.must_seek = False

    def note_converted(self) -> None:
        """Notes that an iterator around the loader's iterator has converted a batch."""
        self.moments[CONVERTED] = time.perf_counter_ns()

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
        _say_sample(failure, nodes_of(self.blobs))
        return failure

    # ---- State --------------------------------------------------------------------------------

    def state_at(self, epoch: int, position: int, is_after_last: bool = False) -> dict[str, Any]:
        """Like DataLoader.state_dict(), for the place before this batch; `is_after_last` as in
        Cursor.
        """
        self.note(STATE, epoch, position)
        pasts = self._pasts(epoch, position)
        return make_state(epoch, position, self.readers, pasts, self._graph, is_after_last)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(), in a turn of this thread."""
        self.check_life()
        place = read_state(state, self.readers, self._pasts, self.cursor.num_batches, self._graph)
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
        self.cursor.is_after_last = was_in_loop(state)
        self.note(LOAD, place.epoch, place.position, *place.seeds)

    @functools.cached_property
    def _graph(self) -> Graph:
        formed = self.form(list(self.blobs))  # type: ignore[arg-type]
        return Graph(self.blobs, [*formed] if isinstance(formed, dict) else None)

    def _pasts(self, epoch: int, position: int) -> list[int]:
        """A hash for each reader of what may change from this batch on; 0 for most readers."""
        handle, count = self.handle, len(self.readers)
        return [lib.pfd_loader_get_past(handle, i, epoch, position) for i in range(count)]

    @contextlib.contextmanager
    def kept_place(self) -> Iterator[None]:
        """As DataLoader.keep_place(), in a turn of this thread."""
        kept, repeating = copy.copy(self.cursor), self.repeating
        err = new_error()
        check(lib.pfd_loader_pause_counts(self.handle, 1, err), err)
        try:
            self.cursor.lease = None  # what a `with` block does ends no sink
            self.repeating = ()  # the warning is for epochs that the program repeats
            paused = self._pause_ledger(True)
            yield
        finally:
            self._pause_ledger(paused)
            lib.pfd_loader_pause_counts(self.handle, 0, err)
            self.cursor.go_back(kept)
            self.repeating = repeating

    # ---- The ledger ---------------------------------------------------------------------------

    def note(self, kind: int, epoch: int, position: int, *others: int) -> None:
        """Notes a moment in the ledger, if there is one."""
        if self.ledger is not None and not self.ledger.is_paused:
            self.ledger.note(kind, epoch, position, *others)

    def take_back(self, epoch: int, position: int) -> None:
        """Notes that batches from this place on were taken ahead, but reached no step."""
        self.note(SEEK, epoch, position)

    def _pause_ledger(self, is_paused: bool) -> bool:
        """Pauses the ledger, or resumes it; returns whether it was paused before."""
        if self.ledger is None:
            return False
        before, self.ledger.is_paused = self.ledger.is_paused, is_paused
        return before

    def _arrays(self) -> BatchArrays:
        if self.ledger is None:
            return BatchArrays(self.blobs, self.info)
        return NotedArrays(self.blobs, self.info, self.ledger, self.handle)

    def _ledger_header(self) -> dict[str, Any]:
        """The header of the ledger, which describes this loader and process."""
        first, rows = self.readers[0], [reader.steps.rows for reader in self.readers]
        return {
            "state": make_state(0, 0, self.readers, self._pasts(0, 0), self._graph),
            "seeds": [None if one.shuffle == "none" else one.seed for one in self.readers],
            "rank": first.rank,
            "world_size": first.world_size,
            "share": [self.share.number, self.share.total],
            "records": first.records,
            "rows": -1 if min(rows) < 0 or self.cursor.num_batches < 0 else min(rows),
            "steps": self.cursor.num_batches,
            "batch_size": first.batch_size,
            "fields": [blob.name for blob in self.blobs][:100],
        }

    # ---- Files --------------------------------------------------------------------------------

    def files(self, reader: int = 0) -> list[str]:
        """The paths of a reader's files, as its blob "id" numbers them; for a view, the files of
        all its readers.
        """
        self.check_life()
        paths: list[str] = []
        while (path := file_path(self.handle, reader, len(paths))) is not None:
            paths.append(path)
        return paths

    def first_records(self, count: int) -> list[int]:
        """The number, as in "id", of the first record of each of `count` files of the first
        reader: records lie in the order of the files."""
        self.check_life()
        found, err = ffi.new("int64_t *"), new_error()
        firsts = []
        for index in range(count):
            self._check(lib.pfd_loader_first_record(self.handle, 0, index, found, err), err)
            firsts.append(int(found[0]))
        return firsts

    def file_of_record(self, file: int, ordinal: int) -> str:
        """The path of the file with the record of the first reader that has this "id"; for a
        folder, a file in it.
        """
        self.check_life()
        place = new_error()
        self._check(lib.pfd_loader_locate(self.handle, 0, file, ordinal, place), place)
        return os.fsdecode(ffi.string(place.file))

    def _check(self, status: int, err: CData) -> None:
        """Like check(), for a call that another thread may have ended by closing the loader."""
        if status < 0:
            self.check_life()
        check(status, err)

    # ---- Life ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the loader was not closed, and this process opened it."""
        return self.life == "open"

    def check_life(self) -> None:
        """Raises CancelledError if the loader is closed, and raises as check_process()."""
        if self.life == "closed":
            raise CancelledError("the DataLoader is closed")
        self.check_process()

    def check_process(self) -> None:
        """Raises UnsupportedError in a forked child of the process that opened the loader."""
        if self.life == "forked":
            raise UnsupportedError(
                f"this process ({os.getpid()}) was forked from the process that opened the "
                f"DataLoader; open a DataLoader in this process"
            )

    def close(self) -> None:
        """As DataLoader.close()."""
        if self.is_open:
            self.life = "closed"
            open_loaders.discard(self)
            if self.ledger is not None:
                self.ledger.close(*self.cursor.consumed())
            # A thread of the loader cannot wait for itself.
            if threading.get_ident() in inside or is_in_pause():
                threading.Thread(target=self._stop, name="pyflowdata close").start()
            else:
                self._stop()

    def _stop(self) -> None:
        try:
            self.observation.end()
        finally:
            lib.pfd_loader_close(self.handle)
            self.in_use.release()
            self.observation.report_end()

    def forget(self) -> None:
        """Called in a forked child, which lacks the loader's threads; the lock may stay held there.
        """
        self.turns = Turns()
        self.ledger = None  # the parent's
        self.observation.end_pages()
        self.life = "forked"


def _positions(positions: Iterable[SupportsIndex]) -> Any:
    """Row numbers for the library: int64_t[]."""
    if isinstance(positions, range) and len(positions) > _FEW:
        numbers = np.arange(positions.start, positions.stop, positions.step, dtype=np.int64)
        return ffi.from_buffer("int64_t[]", numbers)
    return _new_positions(list(map(operator.index, positions)))


def open_loader_of(loader: Any) -> OpenLoader:
    """The OpenLoader of a DataLoader, or of a loader that has taken a DataLoader over.

    Other packages use it where the public methods of a DataLoader are not enough.
    """
    opened: OpenLoader = loader.data_loader._opened
    return opened
