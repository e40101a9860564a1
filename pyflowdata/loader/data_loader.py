"""DataLoader: takes batches of the wanted blobs, epoch after epoch."""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from abc import abstractmethod
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
from .ledger import MOVE
from .loader import Loader, hooked
from .loader_arguments import arrange
from .open_loader import OpenLoader
from .opening import describe_threads, read_info
from .reader_advice import advise_on_orders, warn_of_next_epoch
from .state import ENDLESS, LAST_EPOCH, Reader

if TYPE_CHECKING:
    from ..insight.graph_drawing import Graph
    from typing_extensions import Unpack

    from ..insight.counters import Counters
    from ..insight.report import RankReport, Report
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
    """Opens the readers of the blobs, and yields batches as NumPy arrays.

    `for batch in loader` is one epoch.  The form of a batch follows the form of the blobs: one blob
    gives arrays, several blobs or a tuple give tuples of arrays, and a dict gives dicts of arrays.

    An array has the rows of this rank first, then the dimensions of a row, and the blob's dtype.
    An array views memory of the loader and is writable.  It belongs to the caller until it and all
    views of it are collected, also after close().  If rows differ in shape (`blob.is_ragged`), the
    blob gives a `Ragged` in place of an array; the same rules hold for the arrays in it.  A type
    checker sees arrays, unless the code tests `isinstance(batch, Ragged)`.  If all rows of a Ragged
    have one shape, `np.asarray(batch)` is an array.  A blob that is given twice gives two arrays
    that share their memory.

    A loader may be used by several threads; they take turns.  A signal handler may use close(),
    state_dict(), stats() and skipped at any time.  Methods that take batches or move the loader
    raise UnsupportedError in the handler if it interrupted such a method.  A loader belongs to the
    process that opened it: in a forked child its methods raise UnsupportedError.
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
            num_threads: Threads that work on batches; None or 0: one for each usable processor.
                "auto": adjusted while the loader runs; `tuning` says how.
            prefetch: Batches that are made ahead; None or 0: chosen from their size and the number
                of threads, and not more than an epoch has, if fewer keep the threads busy.  "auto":
                adjusted, within memory_budget.
            memory_budget: Bytes that batches may use, including batches that are still held; None
                or 0: half of the memory that the process may use.  The temporary memory of ops has
                the same limit in each thread.
            zip: For several readers. "strict": they must have equal lengths; "shortest": the epoch
                ends with the shortest reader.
            share: (i, n): only steps i, i + n and so on of each epoch, for n loaders that take
                turns.  None: all steps; but in a worker process of torch.utils.data.DataLoader its
                number and the number of workers, unless the readers have rank=0, world_size=1.
            ledger: A directory for a file that records which batches were delivered, for
                `pyflowdata audit`.  None: the directory in PYFLOWDATA_LEDGER, if any; "": no
                ledger.

        Raises:
            InvalidArgumentError: An argument is invalid, or the readers do not match; or, in a
                worker process of torch, `share` is left out and the program gave a reader another
                rank and world_size.
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
        """Starts the epoch after the last started one; after load_state_dict() it continues at the
        place of the state.

        From then on, an earlier iterator that is not at its end, and a sink, raise CancelledError.
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
        """The place of the loader: a dict for JSON, the same on every rank, below 1 KB for up to 8
        readers.  For many readers it has hashes of their attrs in place of the attrs.

        It counts delivered batches, not batches that were made ahead.  A failed batch is tried
        again, unless a later batch was delivered.  After the last batch of an epoch the state means
        the next epoch, also if the loop over the epoch has not ended: see `epoch`.
        """
        opened = self._opened
        opened.turns.check_not_inside()
        with opened.turns.lock:
            cursor = opened.cursor
            return opened.state_at(*cursor.consumed(), cursor.lease is None and cursor.is_at_last)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iter() or repeat() continue exactly where the state was taken.

        The loader may have another world size, rank, number of threads or prefetch.  The seeds of
        the state replace the loader's seeds.  Earlier iterators raise CancelledError from then on.

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

        For files with an index it takes the same time for any position, like load_state_dict(); a
        stream or a shuffle buffer is read up to the position.  Earlier iterators raise
        CancelledError from then on.

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
        """A context manager that undoes the moves of its `with` block.  After the block the loader
        is at its former place, earlier iterators go on, and no report counts the steps of the
        block. Other threads wait during the block.

        The block may only take batches, with seek(), iter() and repeat().  After the block the
        loader seeks: a stream or a shuffle buffer is read again up to the position.
        """
        with self._opened.lent(), self._opened.kept_place():
            yield

    # ---- Rows at positions --------------------------------------------------------------------

    def read(self, positions: Iterable[SupportsIndex], *, epoch: int = 0) -> BatchT:
        """A batch of the rows at these positions in the order of an epoch, by random access:
        positions may be in any order, and may repeat.  The place of the loader does not change.
        Damaged records are left out or padded as on_error of the readers says.

        Args:
            positions: The positions, counted from 0 over all ranks; at most as many as a batch has
                rows on this rank.
            epoch: The epoch, counted from 0.

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
        """This loader itself.  (For a TorchLoader or JaxLoader it is the DataLoader that was taken
        over.)
        """
        return self

    def __len__(self) -> int:
        """The number of batches of an epoch, the same on every rank; with a share, the batches of
        the share.

        Raises:
            TypeError: A reader is a stream, whose records can be counted only by reading it; or a
                data set is repeated without end.
        """
        if self.readers and min(reader.records for reader in self.readers) >= ENDLESS:
            raise WrongUseError(
                "this DataLoader has no len(), since repeat() has no end: count the steps, and "
                "break"
            )
        if self._opened.cursor.num_batches < 0:
            raise WrongUseError(
                "this DataLoader has no len(), since a reader is a stream of unknown length: count "
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
                "a list of all batches: repeat() has no end; use take(n) after it, or take some "
                "batches, itertools.islice(loader, n)"
            )
        return 0

    @property
    def blobs(self) -> tuple[Blob, ...]:
        """The blobs of a batch, in order."""
        return self._opened.blobs

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Facts about each reader of the loader: seed, files, records, rank and so on."""
        return self._opened.readers

    @property
    def memory_budget(self) -> int:
        """The bytes that batches may use, as given or chosen."""
        return int(self._opened.info.memory_budget)

    @property
    def num_threads(self) -> int:
        """The number of threads that work on batches, as given or chosen; with "auto" the current
        number.
        """
        return int(read_info(self._opened.handle).num_threads)

    @property
    def prefetch(self) -> int:
        """The number of batches that are made ahead, as given or chosen; with "auto" the current
        number.
        """
        return int(read_info(self._opened.handle).prefetch)

    @property
    def epoch(self) -> int:
        """The epoch that was started last.  After a finished loop it is still the epoch of this
        loop (0 after the first loop), while state_dict()["epoch"] is already the next epoch.
        Before the first iter(), also after load_state_dict(), it is the epoch of the next batch: a
        resumed run loops over `range(loader.epoch, epochs)`.
        """
        cursor = self._opened.cursor
        cursor.is_after_last = False  # the program knows from here on
        return cursor.epoch if cursor.started is None else cursor.started

    def report(self, *, since: Report | None = None) -> Report:
        """A report that says in one sentence what limits the training loop and what to change, with
        tables: `print(loader.report())`.  It covers the time since the loader was opened, and works
        after close(), too.

        Args:
            since: An earlier report of this loader: the new report covers only the time after it,
                for example the last epoch.
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
        """The graph that computes a batch: each op with dtypes, shapes and bytes, and notes about
        it, such as outputs of float64: `print(loader.explain())`.

        This is `flow.graph` of the loader.
        """
        from ..insight.graph_drawing import graph

        return graph(self)

    def count_copy(
        self, seconds: float, size: int, device: str, *, overlaps: bool = False
    ) -> None:
        """Counts a batch that the program copied elsewhere, for `report()`; TorchLoader, JaxLoader
        and sinks count their copies themselves.

        Args:
            seconds: Time that a thread took to start the copy and to wait for it.
            size: Bytes of the batch.
            device: The place of the copy, in a word.
            overlaps: Whether another thread copies while the training loop trains.

        Raises:
            InvalidArgumentError: `seconds` or `size` is not a number from 0 on, or `device` is not
                a str.
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
        """Whether the loader can give batches: it was not closed, and this process opened it."""
        return self._opened.is_open

    def close(self) -> None:
        """Stops the threads and closes the files.  Held arrays stay valid, and state, counters and
        skipped records can still be read.

        close() waits for calls of this loader in other threads.  A thread that waits for a batch
        gets a CancelledError; a trace that is being written is completed.  A loader may be closed
        twice. If a function that the loader calls closes it, close() returns at once, and the
        threads stop soon after.

        Raises:
            FileError: A running trace cannot be written; the loader is closed nevertheless.
        """
        self._opened.close()

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a DataLoader cannot be copied or pickled: it has threads and open files; save "
            "state_dict(), open another DataLoader, and load the state there"
        )


# ---- Loaders that give the batches in another form ----------------------------------------------


class ConvertingLoader(Loader[BatchT]):
    """The base of loaders for other libraries, which take a DataLoader over.

    Attributes:
        loader: The DataLoader.
    """

    loader: DataLoader[Any]

    @property
    def data_loader(self) -> DataLoader[Any]:
        """The DataLoader, as `loader`."""
        return self.loader

    def __length_hint__(self) -> int:
        return self.data_loader.__length_hint__()

    def __len__(self) -> int:
        """As len() of the DataLoader."""
        return len(self.loader)

    @overload
    def report(self, *, since: Report | None = ..., gather: Literal[False] = ...) -> Report: ...

    @overload
    def report(self, *, since: Report | None = ..., gather: Literal[True]) -> RankReport: ...

    def report(
        self, *, since: Report | None = None, gather: bool = False
    ) -> Report | RankReport:
        """As DataLoader.report(), with the copies of batches to devices.

        Args:
            since: An earlier report of this process.
            gather: Every process of torch.distributed or jax.distributed must call this, and each
                gets a `RankReport` of all ranks.  Without these packages the report has one rank.
        """
        report = self.loader.report(since=since)
        return self._gathered(report) if gather else report

    @abstractmethod
    def _gathered(self, report: Report) -> RankReport:
        """The reports of all ranks; every process calls this."""

    def __reduce_ex__(self, _protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled: it has taken over a DataLoader, "
            f"with threads and open files; save state_dict(), make another loader, and load the "
            f"state there"
        )
