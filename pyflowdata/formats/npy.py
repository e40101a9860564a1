"""NumPy's files, written row by row."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .base.format import RowFormat, RowWriter
from .base.writer import Shard

_MAGIC = b"\x93NUMPY\x01\x00"
_MOST = 10**20  # rows, more than any file has: the header has space for this number


class NpyWriter(RowWriter):
    """Writes `.npy` files: rows along the first axis, whose length is filled in at the end.

    A sample is an array, a batch an array with a row for each record; a dict with one entry is
    taken for that.
    """

    compressions: ClassVar[tuple[str, ...]] = ()
    is_patched: ClassVar[bool] = True

    def _head(self, records: int, size: int = 0) -> bytes:
        """The header for a number of rows, padded with blanks to a size or a multiple of 64."""
        dtype = np.dtype(np.float64) if self._rows.dtype is None else self._rows.dtype
        shape = "".join(f", {size}" for size in self._rows.shape or ()) or ","
        descr = dtype.newbyteorder("<").str
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({records}{shape}), }}"
        size = size or -(-(len(_MAGIC) + 3 + len(text)) // 64) * 64
        room = size - len(_MAGIC) - 2
        return _MAGIC + room.to_bytes(2, "little") + text.ljust(room - 1).encode() + b"\n"

    def _begin(self, shard: Shard) -> None:
        shard.main.write(self._head(_MOST))

    def _finish(self, shard: Shard) -> None:
        shard.main.patch(0, self._head(shard.records, len(self._head(_MOST))))


class Npy(RowFormat):
    """One array of numbers."""

    writer = NpyWriter
    tokens = "flat"
    decompresses_whole: ClassVar[bool] = True


FORMAT = Npy
