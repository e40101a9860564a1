"""Turns delivered batches into arrays that view their memory, without a copy.

The arrays of a batch share one owner, which gives the slot back when the last of them, or the last
view of them, is collected: in any thread, and also after the loader is closed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import _cffi_backend
import numpy as np
import numpy.typing as npt

from ._native import CData, ffi, lib
from .graph import Blob

Array = npt.NDArray[Any]

_MOST_PLANS = 1000  # remembered; batches of a loader have few sizes
_gc = _cffi_backend.FFI().gc  # as ffi.gc, but all in C: no signal can come in between
_release, _buffer, _ndarray, _NULL = lib.pfd_batch_release, ffi.buffer, np.ndarray, ffi.NULL
# Reads all of a pfd_batch at once: its fields in their order.
_FIELDS = ffi.typeof("pfd_batch").fields
_read_batch = struct.Struct(
    "@" + "".join({"void *": "P", "int64_t": "q"}[field.type.cname] for _, field in _FIELDS)
).unpack_from
assert [name for name, _ in _FIELDS] == ["memory", "epoch", "step", "rows"]


class BatchArrays:
    """Makes the arrays of a loader's batches.  Used by one thread at a time.

    Attributes:
        batch: The `pfd_batch *` that `pfd_loader_next` writes into.
    """

    __slots__ = ("_bytes", "_offsets", "_plans", "_slot_bytes", "_types", "batch")

    def __init__(self, blobs: Sequence[Blob], info: CData) -> None:
        """Args: the blobs of the loader, and its `pfd_loader_info`."""
        self.batch = ffi.new("pfd_batch *")
        self._bytes = ffi.buffer(self.batch)
        self._types = [(blob.shape[1:], blob.dtype) for blob in blobs]
        self._offsets: list[int] = ffi.unpack(info.offsets, len(blobs))
        self._slot_bytes: int = info.slot_bytes
        self._plans: dict[int, list[tuple[tuple[int, ...], np.dtype[Any], int]]] = {}

    def _plan(self, rows: int) -> list[tuple[tuple[int, ...], np.dtype[Any], int]]:
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[rows] = [
            ((rows, *shape), dtype, offset)
            for (shape, dtype), offset in zip(self._types, self._offsets, strict=True)
        ]
        return self._plans[rows]

    def take(self) -> tuple[list[Array], int, int]:
        """The arrays of the batch in `batch`, one per blob; its epoch and step.

        The arrays are writable and C-contiguous.  They own the batch from here on: it is released
        with the last of them.
        """
        batch = self.batch
        _, epoch, step, rows = _read_batch(self._bytes)
        plan = self._plans.get(rows) or self._plan(rows)
        # The batch has an owner at every moment, for give_back(): Python looks for signals after
        # calls, and there is none between the two lines. The finalizer is the C function itself,
        # since an exception in one written in Python, such as a KeyboardInterrupt, is swallowed.
        memory, batch.memory = batch.memory, _NULL
        owner = _buffer(_gc(memory, _release), self._slot_bytes)
        arrays = []
        for shape, dtype, offset in plan:
            arrays.append(_ndarray(shape, dtype, owner, offset))  # faster than a comprehension
        return arrays, epoch, step

    def give_back(self) -> None:
        """Releases the batch in `batch` if an interrupt came before take() could own it."""
        memory, self.batch.memory = self.batch.memory, _NULL
        _release(memory)
