"""Flat files of rows of one size."""

from __future__ import annotations

import os
from typing import Any

from .arrays import RowShape, buffer_of, sizes_of
from .writer import Shard, Writer


class RawWriter(Writer):
    """Writes flat files: rows of one dtype and shape back to back, little-endian.

    A sample is an array, a batch an array with a row for each record; a dict with one entry is
    taken for that.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: tuple[int, ...] | None = None,
        header: bytes = b"",
        **options: Any,
    ) -> None:
        """Begins to write.

        Args:
            path: The file.
            dtype: Of the rows; None: of the first one.  Values that it cannot hold are an error.
            shape: Of a row; None: of the first one.
            header: What stands at the beginning of each file.
            **options: As for every `Writer`.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The folder is not there or not writable, or the file is there already.
        """
        self._header = header
        self._rows = RowShape(dtype, shape)
        super().__init__(path, **options)

    def _begin(self, shard: Shard) -> None:
        shard.main.write(self._header)

    def write(self, sample: Any) -> None:
        """Writes one row.

        Raises:
            InvalidArgumentError: It is of another dtype or shape than the rows before.
            FileError: It cannot be written.
        """
        self._write(sample, is_batch=False)

    def write_batch(self, batch: Any) -> None:
        """Writes all rows of an array; as `write`."""
        self._write(batch, is_batch=True)

    def _write(self, given: Any, *, is_batch: bool) -> None:
        with self._naming():
            rows = self._rows.rows(given, is_batch=is_batch)
        self._emit(buffer_of(rows, "<"), sizes_of(rows))
