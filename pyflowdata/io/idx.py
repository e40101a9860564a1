"""IDX files, as MNIST has them."""

from __future__ import annotations

import os
import struct
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidArgumentError
from .arrays import RowShape, buffer_of, sizes_of
from .writer import Shard, Writer

_CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
_MOST = 2**32 - 1  # of a dimension


class IDXWriter(Writer):
    """Writes IDX files: rows of one dtype and shape, big-endian; images and labels in two files.

    A sample is an array, a batch an array with a row for each record; a dict with one entry is
    taken for that.
    """

    compressions: ClassVar[tuple[str, ...]] = ("gzip", "zlib", "zstd")
    is_patched: ClassVar[bool] = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: tuple[int, ...] | None = None,
        **options: Any,
    ) -> None:
        """Begins to write.

        Args:
            path: The file.
            dtype: Of the rows; None: of the first one.  Values that it cannot hold are an error.
            shape: Of a row; None: of the first one.
            **options: As for every `Writer`.

        Raises:
            InvalidArgumentError: An argument is wrong, or IDX has no such dtype.
            FileError: The folder is not there or not writable, or the file is there already.
        """
        self._rows = RowShape(dtype, shape)
        if self._rows.dtype is not None:
            self._code(self._rows.dtype)
        super().__init__(path, **options)

    def _code(self, dtype: np.dtype[Any]) -> int:
        if dtype.name not in _CODES:
            raise InvalidArgumentError(
                f"IDX files hold {', '.join(_CODES)}; this is {dtype}: say dtype='int32', or cast"
            )
        return _CODES[dtype.name]

    def _begin(self, shard: Shard) -> None:
        shard.main.write(bytes(4 + 4 * (1 + len(self._rows.shape or ()))))

    def _finish(self, shard: Shard) -> None:
        code = _CODES["uint8"] if self._rows.dtype is None else self._code(self._rows.dtype)
        sizes = (shard.records, *(self._rows.shape or ()))
        shard.main.patch(0, struct.pack(f">BBBB{len(sizes)}I", 0, 0, code, len(sizes), *sizes))

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
            known = (self._rows.dtype, self._rows.shape)
            rows = self._rows.rows(given, is_batch=is_batch)
            try:
                self._code(rows.dtype)
                if len(rows.shape) > 255 or max((len(rows), *rows.shape[1:])) > _MOST:
                    raise InvalidArgumentError(f"rows of {rows.shape[1:]} are too large for IDX")
                if self._shards[-1].records + len(rows) > _MOST and self._shard_records is None:
                    raise InvalidArgumentError(f"an IDX file has at most {_MOST} rows: use shards")
            except InvalidArgumentError:
                self._rows.dtype, self._rows.shape = known
                raise
        self._emit(buffer_of(rows, ">"), sizes_of(rows))
