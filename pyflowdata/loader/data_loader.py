"""DataLoader: takes batches of the wanted blobs, epoch after epoch."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NoReturn,
    SupportsIndex,
    TypedDict,
    TypeVar,
    overload,
)

from ..errors import CancelledError, InvalidArgumentError, WrongUseError, printable, shown
from ..insight.at_end import check_report_variable
from ..native.calls import inside
from ..nodes import Blob
from ..nodes.argument_hints import refuse_arguments
from ..words.html_text import Html, element, note, table, title
from ..words.plain_text import size
from .batches import Array
from .epochs import Batches
from .iterator_hook import hooked
from .ledger import MOVE
from .loader import Loader
from .loader_arguments import arrange
from .open_loader import OpenLoader
from .opening import describe_threads, read_info
from .reader_advice import advise_on_orders, warn_of_next_epoch
from .state import ENDLESS, LAST_EPOCH, Reader

if TYPE_CHECKING:
    from ..insight.graph_drawing import Graph
    from typing_extensions import Unpack

    from ..insight.counters import Counters
    from ..insight.report import Report
    from ..insight.trials import Trials


def _try_remedies(
    found: weakref.ref[DataLoader[Any]], counters: Counters, seconds: float
) -> Trials:
    """For a report, which does not keep its loader."""
    from ..insight.trials import try_remedies

    loader = found()
    if loader is None:
        raise CancelledError("the DataLoader of the report is closed")
    return try_remedies(loader, counters, seconds)


# ---- In notebooks -------------------------------------------------------------------------------

_MOST_ROWS = 40


def _loader_html(
    blobs: Sequence[Blob], readers: Sequence[Reader], facts: Sequence[str], life: str
) -> Html:
    """Tables of the blobs and readers of a loader.

    Args:
        blobs: The blobs that a batch has.
        readers: The readers of the loader.
        facts: Lines below the tables.
        life: "open", "closed" or "forked".
    """
    return element(
        "div",
        title("DataLoader" if life == "open" else f"DataLoader, {life}"),
        table([_blob_row(blob) for blob in blobs[:_MOST_ROWS]], ("blob", "dtype", "shape")),
        _rest(len(blobs), "blobs"),
        table(
            [_reader_row(reader) for reader in readers[:_MOST_ROWS]],
            ("reader", "records", "files", "bytes", "batch", "order", "seed"),
        ),
        _rest(len(readers), "readers"),
        *map(note, facts),
    )


def _blob_row(blob: Blob) -> tuple[object, ...]:
    shape = ", ".join("varies" if size is None else f"{size}" for size in blob.shape)
    return blob.name, blob.dtype, f"({shape})"


def _reader_row(reader: Reader) -> tuple[object, ...]:
    records = f"{reader.records:,}" if reader.records >= 0 else "not known"
    return (
        reader.name, records, f"{reader.files:,}", size(reader.bytes),
        f"{reader.batch_size:,}", reader.shuffle, reader.seed,
    )  # fmt: skip


def _rest(count: int, what: str) -> Html:
    return note(f"and {count - _MOST_ROWS} more {what}") if count > _MOST_ROWS else Html("")


# ---- The loader ---------------------------------------------------------------------------------

BatchT = TypeVar("BatchT", covariant=True)


class _Options(TypedDict, total=False):
    num_threads: int | Literal["auto"] | None
    prefetch: int | Literal["auto"] | None
    memory_budget: int | None
    zip: Literal["strict", "shortest"]
    share: tuple[int, int] | None
    ledger: str | os.PathLike[str] | None


class DataLoader(Loader[BatchT]):
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
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[dict[str, Array]],
        blobs: Mapping[str, Blob],
        /,
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        blobs: Sequence[Blob],
        /,
        **options: Unpack[_Options],
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[tuple[Array, ...]],
        first: Blob,
        second: Blob,
        /,
        *blobs: Blob,
        **options: Unpack[_Options],
    ) -> None: ...

    def __init__(
        self,
        *blobs: Any,
        num_threads: int | Literal["auto"] | None = None,
        prefetch: int | Literal["auto"] | None = None,
        memory_budget: int | None = None,
        zip: Literal["strict", "shortest"] = "strict",
        share: tuple[int, int] | None = None,
        ledger: str | os.PathLike[str] | None = None,
        **others: object,
    ) -> None:
        """Opens the readers, and starts making batches ahead.

        Args:
            *blobs: Blobs, or one tuple or dict of blobs.
            num_threads: Threads that work on batches; None or 0: one for each usable opened.
                "auto": adjusted while the loader runs; `tuning` says how.
            prefetch: Batches that are made ahead; None or 0: chosen from their size and the number
                of threads, and not more than an epoch has, if fewer keep the threads busy.  "auto":
                adjusted, within memory_budget.
            memory_budget: Bytes that batches may use, including those still held; None or 0: half
                of the memory that the process may use.  What an op needs only while it works is
                limited to as much again on each thread.
            zip: For several readers. "strict": they must have equal lengths; "shortest": the
                first one that ends ends the epoch.
            share: (i, n): only steps i, i + n and so on of each epoch, for n loaders that take
                turns.  None: in a worker process of torch.utils.data.DataLoader its number and that
                of the workers, unless the readers have rank=0, world_size=1; elsewhere all steps.
            ledger: A directory, where a file notes which batches are delivered, for `pyflowdata
                audit`.  None: as PYFLOWDATA_LEDGER says; "": nothing is noted.

        Raises:
            InvalidArgumentError: An argument is invalid, or the readers do not match; or, in a
                worker process of torch, a reader has another rank and world_size by hand, and share
                is left out.
            FileError: Files are missing or cannot be read.
        """
        if blobs:  # what is no blob comes first
            arrange(blobs)
        refuse_arguments(others, "DataLoader", _Options.__annotations__)
        check_report_variable()
        wanted, form = arrange(blobs)
        self._opened = OpenLoader(
            wanted, form, num_threads, prefetch, memory_budget, zip, share, ledger
        )

    # ---- Epochs -------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[BatchT]:
        """Starts the epoch after the last started one; after load_state_dict() continues there.

        An earlier iterator that is not at its end raises CancelledError from now on, and so does a
        sink.
        """
        with self._opened.lent() as cursor:
            cursor.take_back()
            if cursor.started is not None:
                return self._begin(cursor.started + 1, 0, endless=False)
            if cursor.is_after_last:
                warn_of_next_epoch(cursor.epoch)
            return self._begin(cursor.epoch, cursor.position, endless=False)

    def repeat(self) -> Iterator[BatchT]:
        """Batches without end, epoch after epoch, from where the loader is.

        Raises, from next():
            InvalidArgumentError: An epoch has no batches.
        """
        with self._opened.lent() as cursor:
            cursor.take_back()
            return self._begin(*cursor.next(), endless=True)

    def _begin(self, epoch: int, position: int, *, endless: bool) -> Iterator[BatchT]:
        opened = self._opened
        opened.check_life()
        if epoch > 0:
            advise_on_orders(opened.repeating)
        number = opened.cursor.begin(epoch, position, endless=endless)
        opened.observation.watch(opened)
        return hooked(self, Batches(opened, number, endless))

    # ---- State --------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the loader is: a dict for JSON, the same on every rank, below 1 KB for up to 8
        readers.  A loader with many readers gives hashes of their attrs instead of the attrs.

        It counts delivered batches, not those made ahead.  A failed batch is tried again, unless a
        later one was delivered.  After the last batch of an epoch the state means the next epoch,
        also when it is taken in the loop: see `epoch`.
        """
        opened = self._opened
        opened.turns.check_not_inside()
        with opened.turns.lock:
            cursor = opened.cursor
            return opened.state_at(*cursor.consumed(), cursor.lease is None and cursor.is_at_last)

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
        with self._opened.lent():
            self._opened.load_state(state)

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
        with self._opened.lent() as cursor:
            self._opened.check_life()
            epoch = cursor.consumed()[0] if epoch is None else epoch
            most = cursor.num_batches if cursor.num_batches >= 0 else LAST_EPOCH
            for name, value, limit in (("position", position, most), ("epoch", epoch, LAST_EPOCH)):
                if type(value) is not int or not 0 <= value <= limit:
                    raise InvalidArgumentError(
                        f"{name} = {shown(value)}; it must be an int in [0, {limit}]"
                    )
            cursor.go(epoch, position)
            self._opened.note(MOVE, epoch, position)

    @contextlib.contextmanager
    def keep_place(self) -> Iterator[None]:
        """Makes what is done in a `with` block of this not count: after it the loader is where it
        was before, iterators that were made before go on, and the steps in it are in no report.
        Other threads wait meanwhile.

        Only batches may be taken in the block, with seek(), iter() and repeat().  Afterwards the
        loader seeks: a stream or a shuffle buffer is read again up to the position.
        """
        with self._opened.lent(), self._opened.kept_place():
            yield

    # ---- Rows at positions --------------------------------------------------------------------

    def read(self, positions: Iterable[SupportsIndex], *, epoch: int = 0) -> BatchT:
        """A batch of the rows at these positions of an epoch's order, with random access: in any
        order, also with repeats.  The loader stays where it is.  Damaged records are left out or
        padded as the readers' on_error says.

        Args:
            positions: The rows, counted from 0 over all ranks; at most as many as a batch has on
                this rank.
            epoch: Counted from 0.

        Raises:
            UnsupportedError: A reader is read in sequence.
            InvalidArgumentError: There is no such row, or there are too many.
            CorruptDataError: A record is damaged.
        """
        opened, turns = self._opened, self._opened.turns
        if inside:
            turns.check_not_inside()
        with turns.lock:
            turns.check_idle()
            try:
                turns.is_busy = True
                batch: BatchT = opened.read_rows(positions, epoch)
                return batch
            finally:
                turns.is_busy = False

    # ---- Facts --------------------------------------------------------------------------------

    @property
    def data_loader(self) -> DataLoader[BatchT]:
        """This one; of a TorchLoader or JaxLoader, the one that it took over."""
        return self

    def __len__(self) -> int:
        """Batches of an epoch, the same on every rank; of those of its share, if it has one.

        Raises:
            TypeError: A reader is a stream that has to be read to be counted, or a data set is
                repeated without end.
        """
        if self.readers and min(reader.records for reader in self.readers) >= ENDLESS:
            raise WrongUseError(
                "this DataLoader has no len(), as repeat() has no end: count the steps, and break"
            )
        if self._opened.cursor.num_batches < 0:
            raise WrongUseError(
                "this DataLoader has no len(), as a reader is a stream of unknown length: count "
                "the batches of an epoch, for batch in loader"
            )
        return self._opened.share.size(self._opened.cursor.num_batches)

    def __length_hint__(self) -> int:
        """What list() and its like ask for where there is no len().

        Raises:
            InvalidArgumentError: The list would have no end.
        """
        if self.readers and min(reader.records for reader in self.readers) >= ENDLESS:
            raise InvalidArgumentError(
                "a list of all batches: repeat() has no end; take(n) after it has one, or take "
                "some, itertools.islice(loader, n)"
            )
        return 0

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """The blobs whose arrays a batch has, in order."""
        return self._opened.blobs

    @property
    def readers(self) -> tuple[Reader, ...]:
        """What the loader knows about each of its readers: seed, files, records, rank and so on."""
        return self._opened.readers

    @property
    def memory_budget(self) -> int:
        """Bytes that batches may use: as given, or as chosen."""
        return int(self._opened.info.memory_budget)

    @property
    def num_threads(self) -> int:
        """Threads that work on batches: as given, or as chosen; of now where it is "auto"."""
        return int(read_info(self._opened.handle).num_threads)

    @property
    def prefetch(self) -> int:
        """Batches that are made ahead: as given, or as chosen; of now where it is "auto"."""
        return int(read_info(self._opened.handle).prefetch)

    @property
    def epoch(self) -> int:
        """The epoch that was started last.  After a finished loop it is still that of this loop,
        0 after the first, while state_dict()["epoch"] is already the next one.  Before the first
        iter(), also after load_state_dict(), it is the epoch of the next batch: a resumed run
        loops over `range(loader.epoch, epochs)`."""
        cursor = self._opened.cursor
        cursor.is_after_last = False  # the program knows from here on
        return cursor.epoch if cursor.started is None else cursor.started

    def report(self, *, since: Report | None = None) -> Report:
        """Says in a sentence what limits the training loop and what to change, with tables under
        it; `print(loader.report())`.  Since the loader was opened, also after close().

        Args:
            since: An earlier report of this loader: only what came after it counts, for example
                the last epoch.
        """
        from .order_sample import data_facts

        self._opened.check_process()
        form = self._opened.form
        describe = functools.partial(
            data_facts, DataLoader, form, self.blobs, self.readers, self.epoch
        )
        tried = functools.partial(_try_remedies, weakref.ref(self))
        return self._opened.observation.report(since, describe, tried)

    def explain(self) -> Graph:
        """Draws what a batch is computed by: each op with dtypes, shapes and bytes, and under it
        what is worth a look, such as outputs of float64; `print(loader.explain())`.

        This is `flow.graph` of the loader.
        """
        from ..insight.graph_drawing import graph

        return graph(self)

    def count_copy(
        self, seconds: float, size: int, device: str, *, overlaps: bool = False
    ) -> None:
        """Counts a batch that the program copied elsewhere, for `report()`; TorchLoader, JaxLoader
        and sinks do so themselves.

        Args:
            seconds: Time that a thread took to start the copy and to wait for it.
            size: Bytes of the batch.
            device: The place of the copy, in a word.
            overlaps: Another thread than the training loop copies, which trains meanwhile.

        Raises:
            InvalidArgumentError: Seconds or size are no numbers from 0 on, or device is no str.
        """
        self._opened.observation.count_copy(seconds, size, device, overlaps)

    def __repr__(self) -> str:
        parts = [*map(str, self.readers), self._opened.rank, self._settings()]
        parts[-1] += "" if self.is_open else f", {self._opened.life}"
        names = printable(", ".join(blob.name for blob in self.blobs))
        return f"DataLoader({names}; {'; '.join(parts)})"

    def _settings(self) -> str:
        share = self._opened.share
        count = share.size(self._opened.cursor.num_batches)
        steps = ", ".join(filter(None, (str(count) if count >= 0 else "unknown", str(share))))
        return f"steps={steps}, epoch={self.epoch}, {describe_threads(self._opened.handle)}"

    def _repr_html_(self) -> str:
        settings = (self._opened.rank, self._settings())
        return _loader_html(self.blobs, self.readers, settings, self._opened.life)

    # ---- Life ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether it can give batches: it was not closed, and this process opened it."""
        return self._opened.is_open

    def close(self) -> None:
        """Stops the threads and closes the files.  Held arrays stay valid, and state, counters and
        skipped records can still be read.

        It waits for the calls of this loader that other threads are in.  One that waits for a batch
        gets a CancelledError; a trace that is being written is completed.  Closing twice is
        allowed.  In a function that the loader calls, it returns at once, and the threads stop soon
        after.

        Raises:
            FileError: A trace that is on cannot be written; the loader is closed.
        """
        self._opened.close()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a DataLoader cannot be copied or pickled: it has threads and open files; save "
            "state_dict(), open another DataLoader and give it to load_state_dict()"
        )
