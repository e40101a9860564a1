"""Turns delivered batches into arrays that view their memory, without a copy.

The arrays of a batch share one owner, which gives the slot back when the last of them, or the last
view of them, is collected: in any thread, and also after the loader is closed.
"""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._native import ffi, lib
from .graph import Blob

Array = npt.NDArray[Any]

_MOST_SLOTS = 4096  # remembered; a loader has far fewer, unless its slots come and go
# The memory of a batch has a finalizer that does nothing but keep the owner of the slot, whose own
# finalizer is the C function.  No Python code runs in either: an exception there, such as the
# KeyboardInterrupt of a signal, would be swallowed.
_release, _keep, _partial = lib.pfd_batch_release, operator.is_, functools.partial
_gc, _buffer, _ndarray = ffi.gc, ffi.buffer, np.ndarray
# Reads all of a pfd_batch at once: slot, epoch, step, rows, data.
_READ_BATCH = struct.Struct("@qqqqq").unpack_from


class _Slot:
    """What stays the same each time that a slot is delivered."""

    __slots__ = ("address", "base", "data", "addresses", "plan", "pointers", "rows", "seen", "size")

    def __init__(self, slot: int, data: int, row_bytes: Sequence[int], most_rows: int) -> None:
        count = len(row_bytes)
        self.data = data  # address of the array of pointers
        pointers = ffi.cast("intptr_t *", data)
        self.addresses: list[int] = ffi.unpack(pointers, count)
        self.pointers = ffi.buffer(pointers, count * ffi.sizeof("intptr_t"))
        self.seen: bytes = self.pointers[:]
        first = min(self.addresses)
        ends = [at + most_rows * size for at, size in zip(self.addresses, row_bytes, strict=True)]
        self.base = ffi.cast("char *", first)
        self.size = max(*ends, first + 1) - first
        self.address = ffi.cast("void *", slot)
        self.rows = -1  # that the plan is for
        self.plan: list[tuple[tuple[int, ...], np.dtype[Any], int]] = []


class BatchArrays:
    """Makes the arrays of a loader's batches.  Used by one thread at a time.

    Attributes:
        batch: The `pfd_batch *` that `pfd_loader_next` writes into.
    """

    __slots__ = ("_bytes", "_row_bytes", "_slots", "_taken", "_types", "_most_rows", "batch")

    def __init__(self, blobs: Sequence[Blob]) -> None:
        self.batch = ffi.new("pfd_batch *")
        self._bytes = ffi.buffer(self.batch)
        self._taken = _READ_BATCH(self._bytes)
        self._types = [(blob.shape[1:], blob.dtype) for blob in blobs]
        self._row_bytes = [
            int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in self._types
        ]
        self._most_rows = max(blob.batch_size for blob in blobs)
        self._slots: dict[int, _Slot] = {}

    def _remember(self, address: int, data: int) -> _Slot:
        if len(self._slots) >= _MOST_SLOTS:
            self._slots.clear()
        slot = _Slot(address, data, self._row_bytes, self._most_rows)
        self._slots[address] = slot
        return slot

    def _plan(self, slot: _Slot, rows: int) -> None:
        first = min(slot.addresses)
        slot.plan = [
            ((rows, *shape), dtype, address - first)
            for (shape, dtype), address in zip(self._types, slot.addresses, strict=True)
        ]
        slot.rows = rows

    def take(self) -> tuple[list[Array], int, int]:
        """The arrays of the batch in `batch`, one per blob; its epoch and step.

        The arrays are writable and C-contiguous.  They own the batch from here on: it is released
        with the last of them.
        """
        found = _READ_BATCH(self._bytes)
        address, epoch, step, rows, data = found
        slot = self._slots.get(address)
        # An address may come again for another slot, with its memory elsewhere.
        if slot is None or slot.data != data or slot.pointers[:] != slot.seen:
            slot = self._remember(address, data)
        if slot.rows != rows:
            self._plan(slot, rows)
        self._taken = found
        owner = _gc(slot.address, _release)
        memory = _buffer(_gc(slot.base, _partial(_keep, owner)), slot.size)
        arrays = [_ndarray(shape, dtype, memory, offset) for shape, dtype, offset in slot.plan]
        return arrays, epoch, step

    def give_back(self) -> None:
        """Releases the batch in `batch` if an interrupt came before take() could own it."""
        found = _READ_BATCH(self._bytes)
        if found[0] and found != self._taken:
            self.batch.slot = ffi.NULL
            _release(ffi.cast("void *", found[0]))
