"""Flat files of rows of one size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from ..errors import InvalidArgumentError, shown
from .base.format import RowFormat, RowWriter
from .base.writer import Shard


class RawWriter(RowWriter):
    """Writes flat files: rows of one dtype and shape back to back, little-endian.

    A sample is an array, a batch an array with a row for each record; a dict with one entry is
    taken for that.  `RawReader` reads no compressed files: none are made.
    """

    compressions: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: Any = None,
        shape: Sequence[int] | None = None,
        header: bytes = b"",
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            dtype: The dtype of the rows; None: that of the first row. Values that it cannot hold
                are an error.
            shape: The shape of a row; None: that of the first row.
            header: The bytes at the beginning of each file.
            **options: As for every `Writer`.
        """
        if not isinstance(header, (bytes, bytearray)):
            raise InvalidArgumentError(
                f"header = {shown(header)}; it must be bytes", op=type(self).__name__
            )
        self._header = bytes(header)
        super().__init__(path, dtype=dtype, shape=shape, **options)

    def _begin(self, shard: Shard) -> None:
        shard.main.write(self._header)


class Raw(RowFormat):
    """Numbers without a header: attrs of the reader give their dtype and shape."""

    writer = RawWriter
    tokens = "flat"
    refuses_compressed = True


FORMAT = Raw
