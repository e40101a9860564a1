"""Columns: a value for each record of a data set, computed by one pass over all records, stored on
disk.

A pass reads only the fields that it needs.  Records are in the order before a last shuffle, which
has no part in what a record is.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import (
    CorruptDataError,
    Error,
    InvalidArgumentError,
    UnsupportedError,
    UserFunctionError,
    shown,
)
from ..insight.progress import Bar
from ..insight.stats import note_first_work
from ..loader import DataLoader
from ..loader.open_loader import open_loader_of
from ..loader.state import ENDLESS, Reader
from ..native import version
from ..native.calling_line import warn_program_once
from ..nodes import Blob, Node, find_op, widened
from ..nodes.batch_forms import rows_of
from ..nodes.file_states import FileState, state_of, state_of_files
from ..nodes.node import nodes_of, reader_nodes
from ..nodes.python_ops import language_of
from ..nodes.registry import HOST_OUTPUTS
from ..nodes.tables import Table
from ..pyops.callbacks import user_failure
from ..pyops.op import parameters_of
from ..pyops.records import (
    each_record,
    fields_named_by,
    fields_read,
    holds_texts,
    parameters_by_name,
    uses_of,
)
from ..pyops.str_comparisons import refuse_str
from ..ragged import Ragged
from ..words import remedies
from .base import DatasetBase, explain_key, node_alone, reason_of
from .cache_files import CachedArray, array_folder, as_objects
from .expressions import Expression, empty_column
from .fingerprints import of_blobs, of_function


# ---- Fields that change from epoch to epoch -----------------------------------------------------

COMPARED = 64  # records that are computed twice and compared
_IN_A_ROW = 8  # consecutive ones among the compared


def changing_fields(blobs: Mapping[str, Blob]) -> list[str]:
    """The fields of some records that differ between two epochs, with two seeds.

    The records are the first, the last, and some in between, as only one of several sources may
    have a random op.
    """
    first, second = (_some_records(blobs, epoch) for epoch in (0, 1))
    return [name for name in blobs if first[name] != second[name]]


def refuse_changing(blobs: Mapping[str, Blob], said: str) -> None:
    """Refuses fields that random ops compute; reads no records where no op computes.

    Args:
        blobs: The fields.
        said: What is computed from them, for the message.

    Raises:
        InvalidArgumentError: A field changes from epoch to epoch.
    """
    if all(node.op.is_reader or node.op.is_view for node in nodes_of(blobs.values())):
        return
    changing = changing_fields(blobs)
    if changing:
        raise InvalidArgumentError(
            f"{said}: its fields change from epoch to epoch ({', '.join(changing)}), so no value "
            f"belongs to a record for good; use fields before random ops"
        )


def _some_records(blobs: Mapping[str, Blob], epoch: int) -> dict[str, bytes]:
    """The bytes of records from all over the data, with `epoch` as epoch and as seed."""
    node = node_alone(blobs.values(), COMPARED, epoch, on_error="pad", max_skipped=-1)
    outputs = dict(zip(blobs, node.outputs, strict=False))
    with DataLoader(outputs, prefetch=1, ledger="") as loader:
        batch = _batch_of_some(loader, epoch)[1]
    return {name: _bytes_of(values) for name, values in batch.items()}


def some_rows(blob: Blob, epoch: int) -> dict[int, bytes]:
    """The bytes of rows from all over an epoch, in batches of COMPARED, by number."""
    with DataLoader(blob, prefetch=1, ledger="") as loader:
        numbers, batch = _batch_of_some(loader, epoch)
    return {number: batch[row].tobytes() for row, number in enumerate(numbers)}


def _batch_of_some(loader: DataLoader[Any], epoch: int) -> tuple[Sequence[int], Any]:
    """The numbers of some records, and a batch of them: the first, the last, and runs between."""
    records = loader.readers[0].records
    if records < 0:  # a stream gives only the first ones
        loader.seek(0, epoch=epoch)
        batch = next(iter(loader))
        return range(COMPARED), batch
    pieces, last = COMPARED // _IN_A_ROW, max(0, -(-records // _IN_A_ROW) - 1)
    runs = sorted({last * i // (pieces - 1) * _IN_A_ROW for i in range(pieces)})
    numbers = [number for run in runs for number in range(run, min(run + _IN_A_ROW, records))]
    return numbers, loader.read(numbers, epoch=epoch)


def _bytes_of(values: Any) -> bytes:
    if isinstance(values, Ragged):
        return values.values.tobytes() + values.shapes.tobytes()
    found: bytes = values.tobytes()
    return found


# ---- The state of files -------------------------------------------------------------------------


def files_state(data: DatasetBase) -> tuple[FileState, ...]:
    """The states of the files of a data set."""
    return state_of_files(data._fields.values())


# ---- What a pass computes -----------------------------------------------------------------------

Array = npt.NDArray[Any]
Columns = dict[str, Any]

_LEAST_BYTES = 16 << 20  # data whose columns are kept on disk, as indexes are
_LEAST_SECONDS = 1.0  # the same, for the time of a pass
_BATCH_BYTES = 8 << 20
_MOST_ROWS = 65536
_SLOW_ROWS = 1024  # the most, where a function in Python makes them
_ALIGNMENT = 64  # rows of a batch fill whole words of a bitmap
_MOST_PADDING = 8  # times the bytes of texts, in an array of texts of one length
ID, MASK = ("id", "mask")  # in a batch: file and number of each record; whether it is whole


class Computation(NamedTuple):
    """A value of each record, for a pass to compute.

    Attributes:
        blobs: The fields that it needs.
        of_batch: The values of a batch.
        key: A text: the same key means the same values.  None: there is no such text.
        said: What is evaluated, for messages.
        sample: The values of a batch without rows, if they are known.
        attrs: Attrs of the batches; with "with_id" and "with_mask" a batch also has the blobs `ID`
            and `MASK`.
        prepare: Called with the open loader before a pass.
        of_all: Maps the values of all records to the result.
        fields: The fields that the values depend on, if `blobs` are not these fields but results of
            a Python function that the key describes.
        advice: What messages about a batch of values add.
    """

    blobs: Mapping[str, Blob]
    of_batch: Callable[[Columns], Any]
    key: str | None
    said: str
    sample: Array | Ragged | None = None
    attrs: Mapping[str, Any] = MappingProxyType({})
    prepare: Callable[[DataLoader[Columns]], None] | None = None
    of_all: Callable[[Array], Array] | None = None
    fields: Mapping[str, Blob] | None = None
    advice: str = ""


def evaluate(wanted: Computation, fields: Mapping[str, Blob], *, is_bitmap: bool = False) -> Array:
    """The values of all records of a data set with these fields, from the cache or from a pass over
    the records.
    """
    return _values_and_count(wanted, fields, is_bitmap)[0]


def _values_and_count(
    wanted: Computation, fields: Mapping[str, Blob], is_bitmap: bool
) -> tuple[Array, int]:
    """The values, as evaluate() returns them, and the number of records."""
    try:
        opened = _opened(wanted, fields, 1, num_threads=1, prefetch=1)
    except CorruptDataError as failure:
        if failure.reason != "no-records" or len(reader_nodes(list(fields.values()))) > 1:
            raise
        return np.zeros(0, np.uint64 if is_bitmap else np.int64), 0
    with opened as loader:
        reader = loader.readers[0]
        if reader.records < 0:
            raise UnsupportedError(
                f"{wanted.said}: records that are read in sequence have no numbers; convert the "
                "files, or cache() the data set before"
            )
        refuse_endless(reader.records, wanted.said)
        cached, is_given = _cached(wanted, fields, loader, is_bitmap)

    def compute() -> Array:
        return _Pass(wanted, fields, reader, is_bitmap).values()

    def values() -> Array:
        if cached is None:
            return compute()
        found = cached.load()
        if found is not None:
            return found
        if not is_given and reader.bytes < _LEAST_BYTES:
            since = time.monotonic()
            made = compute()
            return cached.store(made) if time.monotonic() - since >= _LEAST_SECONDS else made
        with cached.lock():
            found = cached.load()  # another process may have computed it meanwhile
            return cached.store(compute()) if found is None else found

    return values(), reader.records


def refuse_endless(records: int, what: str) -> None:
    if records >= ENDLESS:
        raise InvalidArgumentError(
            f"{what}: it needs all records, and repeat() has no end: use it before repeat(), or "
            "after take(n)"
        )


@contextlib.contextmanager
def naming(remedy: str = remedies.SKIP_DAMAGED) -> Iterator[None]:
    """Adds to the message about a damaged record what to do."""
    try:
        yield
    except CorruptDataError as failure:
        if failure.line is not None or failure.ordinal is not None:  # it is of one record
            failure.message += remedy
        raise


def pass_over(
    loader: DataLoader[Any],
    said: str,
    batches: Iterable[Any] | None = None,
    remedy: str = remedies.SKIP_DAMAGED,
    kind: str = "pass",
) -> Iterator[Any]:
    """The batches of an epoch of a loader, with a progress bar.

    Args:
        loader: It has one reader.
        said: What is computed from the batches, for the bar and the message.
        batches: The batches of the loader, where they are read in another way.
        remedy: The end of the message about a damaged record.
        kind: As in `FirstWork`, for the report of the loader that needs the pass.

    Raises:
        InvalidArgumentError: The epoch has no end.
        CorruptDataError: A record is damaged.
    """
    records, done = loader.readers[0].records, 0
    refuse_endless(records, said)
    begin = time.monotonic()
    with Bar(said, records) as progress, naming(remedy):
        for batch in loader if batches is None else batches:
            yield batch
            done += rows_of(batch)
            progress.update(done)
    note_first_work(kind, said, time.monotonic() - begin)


def batches_once(loader: DataLoader[Any], at_once: int) -> Iterator[Any]:
    """The batches of one epoch.  A loop over the loader would also begin the next epoch, and call
    slow functions for records that nobody takes; a stream can be read only by a loop.
    """
    records = loader.readers[0].records
    if records < 0:
        yield from loader
        return
    for first in range(0, records, at_once):
        yield loader.read(range(first, min(first + at_once, records)))


def _opened(
    wanted: Computation, fields: Mapping[str, Blob], batch_size: int, **options: Any
) -> DataLoader[Columns]:
    blobs = list(wanted.blobs.values()) or [next(iter(fields.values()))]
    node = node_alone(blobs, batch_size, **wanted.attrs)
    outputs = dict(zip(wanted.blobs, node.outputs, strict=False))
    ports = {blob.name.rpartition("/")[2]: blob for blob in node.outputs}
    outputs |= {port: ports[port] for port in HOST_OUTPUTS if port in ports}
    return DataLoader(outputs, ledger="", **options)


def _cached(
    wanted: Computation, fields: Mapping[str, Blob], loader: DataLoader[Columns], is_bitmap: bool
) -> tuple[CachedArray | None, bool]:
    """The file for the values, if they can be stored; and whether the user chose its folder."""
    blobs = list(wanted.blobs.values()) or list(fields.values())
    given = (str(node.values.get("index_dir", "")) for node in reader_nodes(blobs))
    named = next((folder for folder in given if folder), "")
    graph = of_blobs(wanted.blobs if wanted.fields is None else wanted.fields)
    files = state_of_files(blobs)
    if not files:  # a cache of arrays has only its own, which is there now
        files = tuple(map(state_of, open_loader_of(loader).files()))
    if wanted.key is None or graph is None or not files:
        return None, False
    folder = array_folder(named)
    if folder is None:
        return None, False
    reader = loader.readers[0]
    paths = [one.path for one in files]
    identity = [version(), wanted.key, graph, is_bitmap, sorted(reader.spec.items()), paths]
    state = [reader.data, files]
    return CachedArray(folder, json.dumps(identity), json.dumps(state)), bool(named)


class _Pass:
    def __init__(
        self, wanted: Computation, fields: Mapping[str, Blob], reader: Reader, is_bitmap: bool
    ) -> None:
        self._wanted, self._fields, self._is_bitmap = wanted, fields, is_bitmap
        self._records = reader.records
        bytes_of_record = max(1, reader.bytes // max(1, reader.records))
        bytes_of_record = max(bytes_of_record, sum(map(_row_bytes, wanted.blobs.values())))
        rows = min(max(_BATCH_BYTES // bytes_of_record, _ALIGNMENT), _MOST_ROWS)
        self._rows = rows // _ALIGNMENT * _ALIGNMENT
        self._done = 0
        self._texts: _Texts | None = None
        self._array = (
            np.zeros((self._records + 63) // 64, np.uint64) if is_bitmap else np.empty(0, np.int64)
        )

    def values(self) -> Array:
        """Reads the records, in batches that all threads make."""
        refuse_changing(self._wanted.blobs, self._wanted.said)
        with _opened(self._wanted, self._fields, self._rows) as loader:
            if self._wanted.prepare is not None:
                self._wanted.prepare(loader)
            remedy = "" if "on_error" in self._wanted.attrs else remedies.SKIP_DAMAGED
            nodes = nodes_of(self._wanted.blobs.values())
            is_slow = any(language_of(node) != "C" for node in nodes)
            batches = batches_once(loader, min(self._rows, _SLOW_ROWS)) if is_slow else None
            for batch in pass_over(loader, self._wanted.said, batches, remedy):
                rows = rows_of(batch)
                found = self._checked(self._computed(batch, rows), rows)
                if self._is_bitmap:
                    self._add_bits(np.asarray(found))
                else:
                    self._add(found)
                self._done += rows
        if self._is_bitmap and sys.byteorder == "big":
            self._array.byteswap(inplace=True)
        of_all = self._wanted.of_all
        found = self._array if self._texts is None else self._texts.array()
        return found if of_all is None else of_all(found)

    def _computed(self, batch: Columns, rows: int) -> Any:
        """The values for a batch; an error names the record, or the records of the batch."""
        try:
            return self._wanted.of_batch(batch)
        except UserFunctionError as failure:
            row = getattr(failure.__cause__, "pyflowdata_row", None)
            if row is not None:
                failure.ordinal = self._done + row
            else:
                last = self._done + rows - 1
                failure.message += f", for the records {self._done} to {last}"
                if isinstance(failure.__cause__, (AttributeError, TypeError, ValueError)):
                    failure.message += self._wanted.advice
            raise

    def _checked(self, found: Any, rows: int) -> Array | list[Any]:
        """The values of a batch: an array, or a list of texts that are bytes or str."""
        if isinstance(found, Ragged):
            if found.dtype != np.uint8 or len(found.row_shape) != 1 or self._is_bitmap:
                self._refuse(f"rows of shape {found.row_shape}; len() gives their lengths", rows)
            found = found.to_bytes_list()
        if isinstance(found, list):
            found = self._of_list(found)
            if isinstance(found, list) and len(found) == rows:
                return found
        values = np.asarray(found)
        if self._is_bitmap and values.shape != (rows,) and values.size == rows:
            values = values.reshape(-1)
        is_right = values.shape[:1] == (rows,) and (
            not values.dtype.hasobject or all(type(one) is bytes for one in values.flat)
        )
        if self._is_bitmap:
            is_right = values.shape == (rows,) and values.dtype == np.bool_
        if values.dtype.hasobject and any(type(one) is int for one in values.flat):
            self._refuse("integers beyond 64 bits (make them float())", rows)
        if not is_right:
            advice = self._wanted.advice * (values.shape[:1] != (rows,))
            self._refuse(f"{values.dtype} of shape {values.shape}", rows, advice)
        are_texts = values.dtype.kind in "SUO" and values.ndim == 1
        return values.tolist() if are_texts else values

    def _of_list(self, found: list[Any]) -> Array | list[Any]:
        """The values of records as an array; texts of one kind as they are."""
        kinds = {*map(type, found)}
        if self._is_bitmap and (listed := kinds & {list, tuple, set, dict}):
            self._refuse(f"a {listed.pop().__name__}", len(found))
        for kind, of_kind in ((bytes, (bytes, bytearray)), (str, str)):
            if kinds and all(issubclass(one, of_kind) for one in kinds) and not self._is_bitmap:
                return found if kinds == {kind} else [kind().join((one,)) for one in found]
        are_texts = {issubclass(kind, (bytes, str)) for kind in kinds}
        if len(are_texts) > 1:
            self._refuse("texts beside numbers", len(found))
        if {bytes, str} <= kinds:
            self._refuse("bytes beside str", len(found))
        return np.asarray(found)

    def _refuse(self, found: str, rows: int, advice: str = "") -> NoReturn:
        wanted = "one truth (bool)" if self._is_bitmap else "one value"
        raise InvalidArgumentError(
            f"{self._wanted.said} gives {found} for {rows} records; it must give {wanted} for each"
            f"{advice}"
        )

    def _add_bits(self, truths: Array) -> None:
        packed = np.packbits(truths, bitorder="little")
        begin = self._done // 8  # a multiple of 8
        self._array.view(np.uint8)[begin : begin + len(packed)] = packed

    def _add(self, values: Array | list[Any]) -> None:
        if isinstance(values, list):
            kind = type(values[0])
            if self._done == 0:
                self._texts = _Texts(kind)
            if self._texts is None or self._texts.kind is not kind:
                self._refuse_after(kind.__name__, len(values))
            self._texts.add(values)
            return
        if self._texts is not None:
            self._refuse_after(str(values.dtype), len(values))
        if self._done == 0:
            self._array = np.empty((self._records, *values.shape[1:]), values.dtype)
        if values.shape[1:] != self._array.shape[1:]:
            self._refuse(f"rows of shape {values.shape[1:]} after {self._array.shape[1:]}",
                         len(values))  # fmt: skip
        dtype = np.promote_types(self._array.dtype, values.dtype)
        if dtype != self._array.dtype:
            self._array = self._array.astype(dtype)
        self._array[self._done : self._done + len(values)] = values

    def _refuse_after(self, kind: str, rows: int) -> NoReturn:
        before = self._array.dtype if self._texts is None else self._texts.kind.__name__
        self._refuse(f"{kind} after {before}", rows)


class _Texts:
    """Texts of records, bytes or str, in pieces, as one text may be much longer than all others."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self._pieces: list[Array] = []
        self._count = self._longest = self._elements = 0

    def add(self, texts: list[Any]) -> None:
        longest, elements = max(map(len, texts)), sum(map(len, texts))
        self._count += len(texts)
        self._longest = max(self._longest, longest)
        self._elements += elements
        piece = as_objects(texts)
        if _is_dense(len(texts), longest, elements):
            padded: Array = np.array(texts, self.kind)
            if np.char.str_len(padded).sum() == elements:  # NumPy cuts off a NUL at an end
                piece = padded
        self._pieces.append(piece)

    def array(self) -> Array:
        """An array of texts of one length; of objects where NumPy would cut off a NUL at the end of
        a text, or where most of the array would be padding.
        """
        if not _is_dense(self._count, self._longest, self._elements):
            self._pieces[0] = self._pieces[0].astype(np.object_)
        return np.concatenate(self._pieces)


def _is_dense(texts: int, longest: int, elements: int) -> bool:
    """Whether texts that are padded to one length take no more than a batch does, or than
    _MOST_PADDING times their own memory.
    """
    return texts * longest <= max(_BATCH_BYTES, _MOST_PADDING * elements)


def _row_bytes(blob: Blob) -> int:
    """The bytes of a row; 0 where rows differ in size."""
    sizes = [size or 0 for size in blob.shape[1:]]
    return math.prod(sizes) * blob.dtype.itemsize


# ---- Columns and predicates ---------------------------------------------------------------------

What = str | Callable[..., Any] | Blob


def column(data: DatasetBase, what: What) -> Array:
    """The value of an expression for each record, such as "label" or "len(tokens)".

    All threads compute the values once; they are stored in the cache of indexes, and the array is
    mapped from there.  `Dataset.column()` says how texts come.

    Args:
        data: The records.
        what: A field or an expression; a function of arrays, whose parameters are fields; or a
            blob of an op on fields.

    Raises:
        InvalidArgumentError: It names something that is not a field, or has no value for each
            record.
    """
    return evaluate(made_of(data, what), data._fields)


def bitmap_of(data: DatasetBase, predicate: What) -> Table:
    """The records for which a predicate is true, as a table of the words of a bitmap, computed when
    it is needed.

    Raises:
        InvalidArgumentError: As `column()`; or the predicate gives no truths.
    """
    wanted = made_of(data, predicate)
    if wanted.sample is not None and (
        wanted.sample.dtype != np.bool_ or math.prod(wanted.sample.shape[1:], start=1) != 1
    ):
        shape = wanted.sample.shape[1:]
        of_shape = f" of shape {shape}" if shape else ""
        raise InvalidArgumentError(
            f"{wanted.said} gives {wanted.sample.dtype}{of_shape} for a record; a predicate gives "
            "one truth, as a comparison does"
        )
    graph = of_blobs(wanted.blobs)
    key = None if wanted.key is None or graph is None else ("where", wanted.key, graph)
    said = f"where({wanted.said})"
    return Table(
        lambda: evaluate(wanted, data._fields, is_bitmap=True),
        said=said, key=key, state=lambda: files_state(data),
    )  # fmt: skip


_MOST_LISTED = 10  # damaged records in a warning


def whole_of(data: DatasetBase, max_skipped: float) -> Table:
    """The records that are not damaged in any field, in the form that `bitmap_of()` returns."""
    fields = data._fields
    blobs = {f"field{place}": blob for place, blob in enumerate(fields.values())}  # none is MASK
    attrs: dict[str, Any] = {"on_error": "pad", "max_skipped": max_skipped}
    key, said = f"whole {max_skipped!r}", "skip_damaged()"
    wanted = Computation(
        blobs, lambda batch: batch[MASK], key, said, attrs={**attrs, "with_mask": True}
    )
    node_alone(blobs.values(), 1, **attrs)  # checks max_skipped

    def bitmap() -> Array:
        words, records = _values_and_count(wanted, fields, is_bitmap=True)
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
        damaged = np.flatnonzero(bits[:records] == 0)
        if damaged.size:
            _list_damaged(blobs, damaged, records)
        return words

    graph = of_blobs(blobs)
    return Table(
        bitmap, said=said, key=None if graph is None else (key, graph),
        state=lambda: files_state(data),
    )  # fmt: skip


def _list_damaged(blobs: Mapping[str, Blob], damaged: Array, records: int) -> None:
    """Warns once, with the records that are left out and the reasons."""
    attrs: dict[str, Any] = {"on_error": "skip", "max_skipped": -1}
    node = node_alone(blobs.values(), _MOST_LISTED, **attrs)
    with DataLoader(tuple(node.outputs), num_threads=1, prefetch=1, ledger="") as loader:
        loader.read(damaged[:_MOST_LISTED].tolist())
        lines = [f"\n    {failure}" for failure in loader.skipped]
    more = damaged.size - len(lines)
    lines += [f"\n    and {more:,} more"] if more > 0 else []
    said = f"skip_damaged() leaves out {damaged.size:,} of {records:,} records:"
    text = "".join([said, *lines])
    warn_program_once(("damaged", text), UserWarning(text))


def order_of(data: DatasetBase, by: What, reverse: bool) -> Table:
    """The numbers of the records in the order of a value, as a table that is computed when it is
    needed.

    Raises:
        InvalidArgumentError: As `column()`; or the value is no number, truth or text.
    """
    wanted = made_of(data, by)
    said = f"sort({wanted.said}{', reverse=True' if reverse else ''})"
    if wanted.sample is not None:
        _check_sorted(wanted.sample, said)

    def of_all(values: Array) -> Array:
        _check_sorted(values, said)
        return _sorted_numbers(values, reverse)

    graph = of_blobs(wanted.blobs)
    key = None if wanted.key is None or graph is None else ("sort", reverse, wanted.key, graph)
    order = wanted._replace(
        key=None if wanted.key is None else f"sort {reverse} {wanted.key}", said=said, of_all=of_all
    )
    return Table(
        lambda: evaluate(order, data._fields), said=said, key=key, state=lambda: files_state(data)
    )


def _check_sorted(values: Array | Ragged, said: str) -> None:
    if isinstance(values, Ragged):
        is_right = values.dtype == np.uint8 and len(values.row_shape) == 1
    else:
        is_right = values.ndim == 1 and widened(values[:0]).dtype.kind in "biufSUO"
    if not is_right:
        raise InvalidArgumentError(
            f"{said}: there is an array of shape {values.shape[1:]} for each record; give a number "
            "or a text for each, as x[0] or len(x)"
        )


def _sorted_numbers(values: Array, reverse: bool) -> npt.NDArray[np.int64]:
    """The places of values in ascending order; equal values keep their order, and NaN comes last.
    """
    values = widened(values)
    if not reverse:
        return np.argsort(values, kind="stable").astype(np.int64, copy=False)
    order = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    if values.dtype.kind == "f":
        is_nan = np.isnan(values[order])
        order = np.concatenate([order[~is_nan], np.flatnonzero(np.isnan(values))])
    return order.astype(np.int64, copy=False)


def words_of(truths: Array) -> Array:
    """The words of a bitmap: bit i % 64 of word i / 64 is truth i."""
    words = np.zeros((len(truths) + 63) // 64, "<u8")
    packed = np.packbits(truths, bitorder="little")
    words.view(np.uint8)[: len(packed)] = packed
    return words.astype(np.uint64, copy=False)


# ---- What to compute ----------------------------------------------------------------------------


def made_of(data: DatasetBase, what: What) -> Computation:
    """The computation of an expression, function or blob, checked without reading a record."""
    refuse_changing_order(data)
    data._check_files()
    if isinstance(what, str):
        return _of_text(data, what)
    if isinstance(what, Blob):
        return _of_blob(data, what)
    if callable(what):
        return _of_function(data, what)
    raise InvalidArgumentError(
        f"{shown(what)} was given; it must be a field or an expression in a text, a function of "
        "fields, or a blob"
    )


def _of_text(data: DatasetBase, text: str) -> Computation:
    fields = data._fields
    if text.strip() in fields:
        blobs = {text.strip(): fields[text.strip()]}
        (sample,) = map(empty_of, blobs.values())
        return Computation(blobs, only_column, "field", shown(text), sample)
    expression = Expression(text, list(fields), lambda name: reason_of(name, fields))
    blobs = {name: fields[name] for name in expression.names}
    sample = expression.evaluate({name: empty_of(blob) for name, blob in blobs.items()})
    key = f"text {expression.text}"
    return Computation(blobs, expression.evaluate, key, shown(text), sample)


def only_column(batch: Columns) -> Any:
    """The values of a batch of one column."""
    (found,) = batch.values()
    return found


def empty_of(blob: Blob) -> Array | Ragged:
    """A column of a blob without rows."""
    return empty_column(blob.dtype, blob.shape[1:])


def _of_blob(data: DatasetBase, blob: Blob) -> Computation:
    first = next(iter(data._fields.values()))
    try:
        attrs = {"fields": ["first", "value"], "rank": 0, "world_size": 1}
        Node(find_op("BatchDataset"), None, [first, blob], attrs)
    except InvalidArgumentError as failure:
        failure.message += "; it must be made of the fields of this data set"
        raise
    return Computation({"value": blob}, only_column, "blob", blob.name, empty_of(blob))


def _of_function(data: DatasetBase, function: Callable[..., Any]) -> Computation:
    said = getattr(function, "__name__", type(function).__name__)
    fields = data._fields
    names = fields_named_by(function, fields, by_name=True)
    if names is None:
        return _of_records(function, fields, said)
    for parameter in parameters_by_name(function):
        if parameter.name not in fields or parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidArgumentError(
                f"{said}: there is no field {shown(parameter.name)} for its parameter; the fields "
                f"are {', '.join(fields)}{reason_of(parameter.name, fields)}"
            )
    if not names:
        raise InvalidArgumentError(
            f"{said}: it has no parameter; its parameters are the fields that it needs, as in "
            f"lambda label: label != 3; a parameter with a default keeps it"
        )
    blobs = {name: fields[name] for name in names}
    texts = {name for name, blob in blobs.items() if holds_texts(blob)}
    refuse_str(function, texts, of_columns=True)

    advice = (
        "; a function of fields gets arrays of many records: a function of one parameter with "
        f"another name, as lambda r: ... r[{shown(names[0])}] ..., gets one record"
    )
    called = _of_user(lambda batch: function(**batch), said, fields)
    return Computation(blobs, called, of_function(function), said, advice=advice)


def _of_records(
    function: Callable[..., Any], fields: Mapping[str, Blob], said: str
) -> Computation:
    """The value of a function of the record, for each record."""
    uses = uses_of(function)
    if uses is not None and not uses.read and uses.made is None:
        first = next(iter(fields))
        raise InvalidArgumentError(
            f"{said} reads no field of the record; it must give a value of each record, and for "
            f"filter() a truth, True or False, as lambda r: r[{first!r}] > 0"
        )
    if uses is not None and not uses.read:
        own, first = next(iter(parameters_of(function))), next(iter(fields))
        raise InvalidArgumentError(
            f"{said}: there is no field {shown(own)} for its parameter; the fields are "
            f"{', '.join(fields)}, and a function of the record reads {own}[{shown(first)}]"
            f"{reason_of(own, fields)}"
        )
    blobs = {name: fields[name] for name in fields_read(function, fields)}
    key = of_function(function)
    called = _of_user(each_record(function, tuple(fields)), said, fields)
    return Computation(blobs, called, None if key is None else f"record {key}", said)


def _of_user(
    called: Callable[[Columns], Any], said: str, fields: Mapping[str, Blob]
) -> Callable[[Columns], Any]:
    """Calls the user's function; an exception names the function."""

    def of_batch(batch: Columns) -> Any:
        try:
            return called(batch)
        except Error:
            raise
        except Exception as failure:
            told = user_failure(failure, f"{said}()")
            explain_key(told, failure, fields)
            raise told from failure

    return of_batch


def refuse_changing_order(
    data: DatasetBase, instead: str = "use where(), split() and columns before it"
) -> None:
    """Refuses a view that draws the records again in each epoch: they have no lasting numbers.

    Raises:
        InvalidArgumentError: There is such a view, for example a shuffle before another view.
    """
    node = drawing_view(data._fields.values())
    if node is not None:
        raise InvalidArgumentError(
            f"{node.op.name} draws other records, or another order, in each epoch, so that record "
            f"i differs from epoch to epoch: {instead}"
        )


def drawing_view(blobs: Iterable[Blob]) -> Node | None:
    """A view that gives other records, or another order, in each epoch; None: there is no such
    view.  Packs are made from the first epoch of the data below them.
    """
    waiting, seen = [(blob.node, False) for blob in blobs], set()
    while waiting:
        node, is_packed = one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if node.op.is_view and node.op.attr("seed") is not None:
            is_same = is_packed or node.values.get("reshuffle") is False
            if not is_same or has_no_seed(node):
                return node
        is_packed = is_packed or node.op.name == "PackDataset"
        waiting += [(blob.node, is_packed) for blob in node.inputs]
    return None


def has_no_seed(node: Node) -> bool:
    """Whether a view takes the seed of the batches."""
    return int(str(node.values.get("seed", -1))) < 0
