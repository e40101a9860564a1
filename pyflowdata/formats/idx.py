"""IDX files, the format of MNIST."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ..errors import InvalidArgumentError
from .base.fields import Field
from .base.format import RowFormat, RowWriter
from .base.columns import Array, RowShape
from .base.writer import Shard

_CODES = {"uint8": 8, "int8": 9, "int16": 11, "int32": 12, "float32": 13, "float64": 14}
_MOST = 2**32 - 1  # size of a dimension


class IDXWriter(RowWriter):
    """Writes IDX files: rows of one dtype and shape, big-endian; images and labels in two files.

    A sample is an array, a batch an array with a row for each record; a dict with one entry is
    taken for that.
    """

    is_patched: ClassVar[bool] = True
    byte_order: ClassVar[Literal["<", ">"]] = ">"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: tuple[int, ...] | None = None,
        **options: Any,
    ) -> None:
        """Opens the file; arguments and errors are those of `RawWriter`, without `header`."""
        found = RowShape(dtype, shape).dtype
        if found is not None:
            self._code(found)
        super().__init__(path, dtype=dtype, shape=shape, **options)

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

    def _check(self, rows: Array) -> None:
        self._code(rows.dtype)
        if len(rows.shape) > 255 or max((len(rows), *rows.shape[1:])) > _MOST:
            raise InvalidArgumentError(f"rows of {rows.shape[1:]} are too large for IDX")
        if self._shards[-1].records + len(rows) > _MOST and self._shard_records is None:
            raise InvalidArgumentError(f"an IDX file has at most {_MOST} rows: use shards")


class IDX(RowFormat):
    """One array of numbers."""

    writer = IDXWriter
    decompresses_whole: ClassVar[bool] = True

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The nearest dtype of IDX; values that it cannot hold are an error."""
        options = super().writer_options(fields)
        if options and options["dtype"] not in _CODES:
            options["dtype"] = "uint8" if options["dtype"] == "bool" else "int32"
        return options


FORMAT = IDX
