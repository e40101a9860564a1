"""The writer of CSV files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError, shown
from ...ragged import Ragged
from ..base.writing.columns import BYTES, as_bytes, check_name, columns, slices
from ..base.writing.encoding import byte_column, encoded, joined
from ..base.writing.lossless import Array, as_array
from ..base.writing.writer import Shard, Writer

ENCODER = "CSVEncoder"


class CSVWriter(Writer):
    """Writes CSV files: a header line, then a row for each record.

    A sample is a dict of numbers, text and bytes, a batch a dict of columns.  Numbers are written
    so that reading gives the same numbers.  A row of a fixed shape has a column for each element,
    named `x[0]`, `x[1]`, or `x[0][1]`.  Bytes and text are quoted where needed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        header: bool = True,
        delimiter: str = ",",
        **options: Any,
    ) -> None:
        """Opens the file.

        Args:
            path: The file.
            columns: Names of the fields, in their order; None: those of the first sample.
            header: Whether each file begins with a line of names.
            delimiter: One ASCII character between two cells, which is not a part of numbers.
            **options: As for every `Writer`.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The folder is not there or not writable, or the file is there already.
        """
        is_character = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
        if not is_character or delimiter.isalnum() or delimiter in '"\r\n\0+-.':
            raise InvalidArgumentError(
                f"delimiter = {shown(delimiter)}; it must be one ASCII character that is neither "
                "a quote nor a line break, nor a part of numbers: no letter, digit or +-.",
                op=type(self).__name__,
            )
        self._delimiter = delimiter
        self._fields = None if columns is None else self._named(columns)
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._header = header
        super().__init__(path, **options)

    def _named(self, given: Any) -> list[str]:
        """The names of the argument `columns`."""
        names = [] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
        if not names or not all(isinstance(one, str) for one in names):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; it must be a list of names", op=type(self).__name__
            )
        if len(set(names)) < len(names):
            raise InvalidArgumentError(
                f"columns = {shown(given)}; a name is given twice", op=type(self).__name__
            )
        for one in names:
            as_bytes(one, "a name in columns")
        return names

    def _begin(self, shard: Shard) -> None:
        if not self._header or not self._fields:
            return
        names = [
            (field + "".join(f"[{i}]" for i in index)).encode()
            for field in self._fields
            for index in np.ndindex(self._shapes.get(field, ()))
        ]
        lines = encoded(ENCODER, {"name": joined(names)}, delimiter=self._delimiter)
        cells = [line[:-1] for line in slices(lines.values.tobytes(), lines.lengths)]
        shard.main.write(self._delimiter.encode().join(cells) + b"\n")

    def write(self, sample: Any) -> None:
        """Writes one row.

        Raises:
            InvalidArgumentError: It is not a dict, or its fields differ from those before.
            FileError: It cannot be written.
        """
        with self._naming():
            if not isinstance(sample, Mapping):
                raise InvalidArgumentError(f"a sample is a dict of fields; this is {shown(sample)}")
            for name in sample:
                check_name(name)
            batch = {name: self._as_column(name, value) for name, value in sample.items()}
            rows = self._lines(batch)
        self.write_encoded(rows)

    def write_batch(self, batch: Any) -> None:
        """Writes a row for each row of the columns; as `write`."""
        with self._naming():
            rows = self._lines(batch)
        self.write_encoded(rows)

    @staticmethod
    def _as_column(name: str, value: Any) -> Any:
        if isinstance(value, BYTES):
            return [value]
        array = as_array(name, value)
        if array.dtype.kind not in "biuf":
            raise InvalidArgumentError(
                f"{name} = {shown(value)}; a cell is a number, text or bytes"
            )
        return array[np.newaxis]

    def expect(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Takes the fields of rows that come encoded: name -> shape of a row."""
        self._fields, self._shapes = list(shapes), dict(shapes)

    def _lines(self, batch: Any) -> Ragged:
        """A line for each row."""
        found, count = columns(batch)
        if self._fields is not None and set(found) != set(self._fields):
            raise InvalidArgumentError(
                f"the fields are {', '.join(found)}; those of this file are "
                f"{', '.join(self._fields)}"
            )
        names = self._fields or list(found)
        cells = {name: _cells(name, found[name]) for name in names}
        shapes = {
            name: () if isinstance(one, Ragged) else one.shape[1:] for name, one in cells.items()
        }
        if self._shapes and shapes != self._shapes:
            raise InvalidArgumentError(
                f"the rows are of the shapes {shapes}; those of this file are of {self._shapes}"
            )
        if count:
            self._fields, self._shapes = names, shapes
        some = {name: one for name, one in cells.items() if 0 not in shapes[name]}
        return encoded(ENCODER, some, delimiter=self._delimiter) if some else joined([])


def _cells(name: str, rows: Array | Ragged | list[Any]) -> Array | Ragged:
    """A column as the encoder takes it: numbers, or bytes as rows of uint8."""
    if isinstance(rows, list) and not all(isinstance(row, BYTES) for row in rows):
        rows = as_array(name, rows, is_batch=True)
        if rows.dtype.kind not in "biuf":
            raise InvalidArgumentError(f"{name} has rows that are neither numbers nor text")
    if isinstance(rows, Ragged) and rows.dtype != np.uint8:
        raise InvalidArgumentError(
            f"{name} is {rows!r}: rows of different lengths have no columns; pad them"
        )
    return rows if isinstance(rows, np.ndarray) else byte_column(name, rows)
