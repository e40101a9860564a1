"""Columns as Arrow arrays, and the base of writers of Arrow tables; both need pyarrow."""

from __future__ import annotations

import importlib
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...errors import InvalidArgumentError, missing_package, shown
from ...ragged import Ragged
from .columns import Array, byte_column, columns, little
from .row_types import (
    TEXT,
    ColumnsWriter,
    RowType,
    arrays,
    dense,
    refuse_other_columns,
    row_type,
    spelled_type,
)
from .writer import Shard, Sizes

# ---- Limits --------------------------------------------------------------------------------------

_NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64",
)  # fmt: skip
_MOST = 2**31 - 1  # bytes or elements of a column in a record batch, as offsets are int32
_HELD = 1 << 30  # bytes of a record batch that is written although it has fewer rows


def _pyarrow(user: str) -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise missing_package(user, "pyarrow") from None


# ---- Columns ------------------------------------------------------------------------------------


class _Column:
    """A column of a file, which makes Arrow arrays."""

    def __init__(self, name: str, type_: RowType) -> None:
        self.name, self._of = name, type_
        self._arrow = importlib.import_module("pyarrow")

    @property
    def type(self) -> Any:
        """The type in the schema."""
        pa, of = self._arrow, self._of
        if not of.is_number:
            return pa.utf8() if of.dtype == TEXT else pa.binary()
        found = pa.from_numpy_dtype(np.dtype(of.dtype))
        for size in reversed(of.shape):
            found = pa.list_(found) if size is None else pa.list_(found, size)
        return found

    def made(self, rows: Array | Ragged | list[Any]) -> tuple[Any, Sizes]:
        """The Arrow array, and the bytes of each row.

        Raises:
            InvalidArgumentError: The type cannot hold a row.
            OverflowError: There are more than 2^31 - 1 bytes or elements.
        """
        if not self._of.is_number:
            return self._runs(rows)
        if not self._of.varies:
            values = dense(self.name, rows, self._of)
            sizes = np.full(len(values), values.nbytes // max(len(values), 1), np.int64)
            shapes = np.tile(np.array(values.shape[1:], np.int64), (len(values), 1))
        else:
            values, shapes = arrays(self.name, rows, self._of)
            sizes = np.prod(shapes, axis=1, dtype=np.int64) * values.dtype.itemsize
        return self._nested(little(values).reshape(-1), shapes), sizes

    def _runs(self, rows: Array | Ragged | list[Any]) -> tuple[Any, Sizes]:
        """Bytes or text."""
        pa = self._arrow
        found = byte_column(self.name, rows)
        offsets = self._offsets(found.lengths)
        data = pa.py_buffer(np.ascontiguousarray(found.values))
        made = pa.Array.from_buffers(self.type, len(found), [None, pa.py_buffer(offsets), data])
        if self._of.dtype == TEXT and not _are_texts(rows):
            self._check_texts(found, made)
        return made, found.lengths

    def _check_texts(self, rows: Ragged, made: Any) -> None:
        try:
            made.validate(full=True)
        except self._arrow.ArrowInvalid:
            for row, data in enumerate(rows.to_bytes_list()):
                try:
                    data.decode()
                except UnicodeDecodeError as failure:
                    raise InvalidArgumentError(
                        f"{self.name} = {shown(data)} is not text in UTF-8 at its byte "
                        f"{failure.start}; say columns={{{self.name!r}: 'bytes'}}",
                        ordinal=row,
                    ) from None
            raise

    def _nested(self, values: Array, shapes: Sizes) -> Any:
        """Arrow arrays of rows: a list for each dimension that varies, a list of fixed size for the
        others.
        """
        pa = self._arrow
        counts = np.ones(len(shapes), np.int64)  # arrays of each row, at each depth
        bounds: list[Array | None] = []
        for axis, size in enumerate(self._of.shape):
            lengths = shapes[:, axis]
            bounds.append(self._offsets(np.repeat(lengths, counts)) if size is None else None)
            counts = counts * lengths
        if values.size > _MOST:
            raise OverflowError
        made = pa.array(values)
        for size, offsets in zip(reversed(self._of.shape), reversed(bounds), strict=True):
            if offsets is None:
                made = pa.FixedSizeListArray.from_arrays(made, size)
            else:
                made = pa.ListArray.from_arrays(pa.array(offsets), made)
        return made

    def _offsets(self, lengths: Sizes) -> Array:
        ends = np.cumsum(lengths)
        if len(ends) and ends[-1] > _MOST:
            raise OverflowError
        return np.concatenate([[0], ends]).astype(np.int32)


def _are_texts(rows: Array | Ragged | list[Any]) -> bool:
    return isinstance(rows, list) and all(isinstance(one, str) for one in rows)


def arrow_table(batch: Mapping[str, Array | Ragged]) -> Any:
    """A pyarrow Table with a column for each field of a batch.

    Raises:
        InvalidArgumentError: A type that Arrow does not have, or more than 2^31 - 1 bytes or
            elements in a column.
        UnsupportedError: pyarrow is not installed.
    """
    pa, made = _pyarrow("to_arrow()"), {}
    for name, rows in batch.items():
        try:
            made[name], _ = _Column(name, row_type(name, rows)).made(rows)
        except OverflowError:
            raise InvalidArgumentError(
                f"{name} has more than 2^31 - 1 bytes or elements; take fewer records at once"
            ) from None
    return pa.table(made)


# ---- Writing ------------------------------------------------------------------------------------


class _Sink:
    """The file of a shard as pyarrow writes it."""

    closed = False

    def __init__(self, shard: Shard) -> None:
        self._file = shard.main

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        return len(view)

    def tell(self) -> int:
        return self._file.size

    def flush(self) -> None:
        """The file is flushed when it is complete."""

    def close(self) -> None:
        """The shard closes the file."""


class TableWriter(ColumnsWriter):
    """The base of writers of Arrow's record batches; `ArrowWriter` describes samples and columns.
    """

    levels: ClassVar[Mapping[str, tuple[int, int] | None]]  # compression -> least and greatest

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Mapping[str, str] | None = None,
        batch_records: int,
        **options: Any,
    ) -> None:
        """Opens the file; arguments and errors are those of `ArrowWriter`."""
        self._arrow = _pyarrow(type(self).__name__)
        self._batch_records = batch_records
        try:
            self._given = self._checked_columns(columns)
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, op=type(self).__name__) from None
        self._columns: list[_Column] = []
        self._out: Any = None  # what writes the batches of the current shard
        self._held: list[Any] = []  # record batches that are written with the next rows
        self._held_rows = self._held_bytes = 0
        super().__init__(path, **options)

    def _checked_columns(self, given: Any) -> dict[str, RowType]:
        if given is not None and not isinstance(given, Mapping):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; it must be a dict of names and types, as "
                "{'text': 'str', 'label': 'int64'}"
            )
        return {name: spelled_type(name, one, _NUMBERS) for name, one in (given or {}).items()}

    def _pack(self, compression: str | None, level: Any) -> tuple[str | None, int | None]:
        """The file itself is never compressed; its buffers are."""
        known = ", ".join(map(repr, self.levels))
        if packed := self._names.compression():
            raise InvalidArgumentError(
                f"path = {shown(str(self._path))}; {packed} compresses the buffers of the file and "
                f"not the whole: leave the suffix out, and say compression=, one of {known}",
                op=type(self).__name__,
            )
        if compression in (None, "none"):
            super()._pack("none", level)
            self._codec: tuple[str, int | None] | None = None
            return None, None
        if not isinstance(compression, str) or compression not in self.levels:
            raise InvalidArgumentError(
                f"compression = {shown(compression)}; it must be None, 'none' or one of "
                f"{known}, which the format has",
                op=type(self).__name__,
            )
        levels = self.levels[compression]
        if level is not None and levels is None:
            raise InvalidArgumentError(
                f"level = {shown(level)}; {compression} has no levels", op=type(self).__name__
            )
        self._codec = compression, self._whole("level", level, *levels) if levels else None
        return None, None

    # ---- Records ------------------------------------------------------------------------------

    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row of the columns; raises as `write`."""
        with self._naming():
            found, count = columns(batch)
            if not count:
                return
            if not self._columns:
                self._set_columns(found)
            refuse_other_columns(found, [one.name for one in self._columns])
            made = self._made(found, 0, count)
        with self._writing():
            for rows, sizes in made:
                self._add(rows, sizes)

    def _set_columns(self, found: Mapping[str, Array | Ragged | list[Any]]) -> None:
        if missing := set(self._given) - set(found):
            raise InvalidArgumentError(
                f"columns names {', '.join(sorted(missing))}, and the fields are "
                f"{', '.join(found)}"
            )
        kinds = {name: self._given.get(name) or row_type(name, one) for name, one in found.items()}
        self._columns = [_Column(name, kind) for name, kind in kinds.items()]

    def _made(
        self, found: Mapping[str, Array | Ragged | list[Any]], begin: int, end: int
    ) -> list[tuple[Any, Sizes]]:
        """Record batches of these rows, and the bytes of each row; there are several if one would
        be too large.
        """
        try:
            made = [one.made(found[one.name][begin:end]) for one in self._columns]
        except OverflowError:
            if end == begin + 1:
                raise InvalidArgumentError(
                    "the record has more than 2^31 - 1 bytes or elements in a field",
                    ordinal=begin,
                ) from None
            middle = (begin + end) // 2
            return self._made(found, begin, middle) + self._made(found, middle, end)
        except InvalidArgumentError as failure:
            row = None if failure.ordinal is None else begin + failure.ordinal
            raise InvalidArgumentError(failure.message, ordinal=row) from None
        rows = self._arrow.RecordBatch.from_arrays([one for one, _ in made], schema=self._schema())
        return [(rows, np.sum([sizes for _, sizes in made], axis=0))]

    def _schema(self) -> Any:
        kinds = [self._arrow.field(one.name, one.type) for one in self._columns]
        return self._arrow.schema(kinds)

    def _add(self, rows: Any, sizes: Sizes) -> None:
        begin = 0
        while begin < len(sizes):
            shard = self._shards[-1]
            count = self._room(np.cumsum(sizes[begin:]))
            if count == 0:
                self._seal(shard)
                self._shards.append(self._new_shard())
                continue
            size = int(sizes[begin : begin + count].sum())
            self._held.append(rows.slice(begin, count))
            self._held_rows += count
            self._held_bytes += size
            shard.bytes += size
            shard.records += count
            self.records += count
            begin += count
            if self._held_rows >= self._batch_records or self._held_bytes >= _HELD:
                self._flush(shard)

    # ---- Files --------------------------------------------------------------------------------

    def _begin(self, shard: Shard) -> None:
        if not self._columns:  # without rows: those that were named
            self._columns = [_Column(name, kind) for name, kind in self._given.items()]
        self._out = self._opened(_Sink(shard))

    @abstractmethod
    def _opened(self, sink: Any) -> Any:
        """The object of pyarrow that writes record batches to a sink."""

    def _flush(self, shard: Shard, *, is_last: bool = False) -> None:
        """Writes full batches of the held rows; also the rest, if it is the last or large."""
        self._begin_once(shard)
        if not self._held:
            return
        size = self._batch_records
        is_large = self._held_bytes >= _HELD
        # Large ones stay apart: together they may have too many bytes for their offsets.
        parts = [[one] for one in self._held] if is_large else [self._held]
        self._held, self._held_rows, self._held_bytes = [], 0, 0
        for part in parts:
            (rows,) = self._arrow.Table.from_batches(part).combine_chunks().to_batches()
            for begin in range(0, rows.num_rows, size):
                one = rows.slice(begin, size)
                if one.num_rows < size and not (is_last or is_large):
                    self._held, self._held_rows = [one], one.num_rows
                    self._held_bytes = one.nbytes
                    break
                self._out.write_batch(one)

    def _finish(self, shard: Shard) -> None:
        self._flush(shard, is_last=True)
        self._out.close()
        self._out = None
