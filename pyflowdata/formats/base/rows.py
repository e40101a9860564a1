"""Formats whose files are one array (rows of one dtype and shape), and the common part of their
writers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from ...errors import InvalidArgumentError
from .fields import Field
from .format import Format
from .columns import Array, RowShape, buffer_of, sizes_of
from .writer import Writer


class RowFormat(Format):
    """A file holds one field of numbers."""

    holds_one_field: ClassVar[bool] = True

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Dtype and shape of the rows, if all rows have the same shape."""
        (field,) = fields
        return {} if None in field.shape else {"dtype": field.dtype, "shape": field.shape}


class RowWriter(Writer):
    """Takes arrays: an array for one row, or an array with a row for each record."""

    byte_order: ClassVar[Literal["<", ">"]] = "<"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            dtype: The dtype of the rows; None: that of the first row. Values that it cannot hold
                are an error.
            shape: The shape of a row; None: that of the first row.
            **options: As for every `Writer`.
        """
        self._rows = RowShape(dtype, shape)
        super().__init__(path, **options)

    def write(self, sample: Any) -> None:
        """Writes one row.

        Raises:
            InvalidArgumentError: The row differs in dtype or shape from the rows before.
            FileError: The file cannot be written.
        """
        self._write(sample, is_batch=False)

    def write_batch(self, batch: Any) -> None:
        """Writes all rows of an array; raises as `write`."""
        self._write(batch, is_batch=True)

    def _write(self, given: Any, *, is_batch: bool) -> None:
        with self._naming():
            known = (self._rows.dtype, self._rows.shape)
            try:
                rows = self._rows.rows(given, is_batch=is_batch)
                self._check(rows)
            except InvalidArgumentError:
                self._rows.dtype, self._rows.shape = known
                raise
        self._emit(buffer_of(rows, self.byte_order), sizes_of(rows))

    def _check(self, rows: Array) -> None:
        """Refuses rows that the format cannot hold; by default none that `RowShape` allows."""
