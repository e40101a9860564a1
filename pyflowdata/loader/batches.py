"""Turns delivered batches into arrays that view their memory, without a copy.

The arrays of a batch share one owner.  It gives the slot back when the last array, or the last view
of one, is collected: in any thread, also after the loader was closed.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..nodes import Blob, is_bfloat16
from ..native import CData, ffi, lib
from ..ragged import Ragged

Array = npt.NDArray[Any]
Batch = Array | Ragged  # what one blob has

_MOST_PLANS = 1000  # remembered; batches of a loader have few sizes
_gc = ffi.gc  # all in C: no signal can come in between
_release, _buffer, _ndarray, _NULL = lib.pfd_batch_release, ffi.buffer, np.ndarray, ffi.NULL
# Reads the first fields of a pfd_batch at once; ledger.py has the others.
_FIELDS = ffi.typeof("pfd_batch").fields[:4]
_read_batch = struct.Struct(
    "@" + "".join({"void *": "P", "int64_t": "q"}[field.type.cname] for _, field in _FIELDS)
).unpack_from
assert [name for name, _ in _FIELDS] == ["memory", "epoch", "step", "rows"]
# A ragged blob of a batch: pointers and a size, read as four numbers.
_RAGGED_FIELDS = ffi.typeof("pfd_ragged_batch").fields
assert [name for name, _ in _RAGGED_FIELDS] == ["values", "values_bytes", "row_splits", "shapes"]
assert ffi.sizeof("pfd_ragged_batch") == len(_RAGGED_FIELDS) * 8
_INT64 = np.dtype(np.int64)


class _Memory:
    """Gives NumPy an array at an address, and keeps the owner of the memory."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(
        self, address: int, shape: tuple[int, ...], typestr: str, owner: object
    ) -> None:
        self.__array_interface__ = {
            "data": (address, False), "shape": shape, "typestr": typestr, "version": 3,
        }  # fmt: skip
        self._owner = owner


class BatchArrays:
    """Makes the arrays of a loader's batches.  Used by one thread at a time.

    Attributes:
        batch: The `pfd_batch *` that `pfd_loader_next` writes into.
    """

    __slots__ = (
        "_bfloat16", "_bytes", "_offsets", "_plans", "_ragged", "_slot_bytes", "_types", "batch",
    )  # fmt: skip

    def __init__(self, blobs: Sequence[Blob], info: CData) -> None:
        """Args: the blobs of the loader, and its `pfd_loader_info`."""
        self.batch = ffi.new("pfd_batch *")
        self._bytes = ffi.buffer(self.batch)
        # dtype.str is slow
        self._types = [(blob.shape[1:], blob.dtype, blob.dtype.str) for blob in blobs]
        self._ragged = [index for index, blob in enumerate(blobs) if blob.is_ragged]
        self._bfloat16 = {index for index in self._ragged if is_bfloat16(blobs[index].dtype)}
        self._offsets: list[int] = ffi.unpack(info.offsets, len(blobs))
        self._slot_bytes: int = info.slot_bytes
        self._plans: dict[int, list[tuple[tuple[int, ...], np.dtype[Any], int]]] = {}

    def _plan(self, rows: int) -> list[tuple[tuple[int, ...], np.dtype[Any], int]]:
        if len(self._plans) >= _MOST_PLANS:
            self._plans.clear()
        self._plans[rows] = []
        for (shape, dtype, _), offset in zip(self._types, self._offsets, strict=True):
            fixed = tuple(size for size in shape if size is not None)
            if len(fixed) == len(shape):
                self._plans[rows].append(((rows, *fixed), dtype, offset))
            else:
                self._plans[rows].append(((len(_RAGGED_FIELDS),), _INT64, offset))
        return self._plans[rows]

    def take(self) -> tuple[list[Batch], int, int]:
        """The arrays of the batch in `batch`, one per blob, and its epoch and step. The arrays are
        writable and C-contiguous.  From this call on they own the batch, which is released with the
        last array.
        """
        batch = self.batch
        address, epoch, step, rows = _read_batch(self._bytes)
        plan = self._plans.get(rows) or self._plan(rows)
        # The batch has an owner at every moment, for give_back(): Python looks for signals after
        # calls, and there is none between the two lines. The finalizer is the C function itself,
        # since an exception in one written in Python, such as a KeyboardInterrupt, is swallowed.
        memory, batch.memory = batch.memory, _NULL
        owner = _buffer(_gc(memory, _release), self._slot_bytes)
        arrays: list[Batch] = []
        for shape, dtype, offset in plan:
            arrays.append(_ndarray(shape, dtype, owner, offset))  # faster than a comprehension
        for index in self._ragged:
            arrays[index] = self._take_ragged(index, arrays[index], owner, address, rows)
        return arrays, epoch, step

    def _take_ragged(
        self, index: int, fields: Any, owner: Any, address: int, rows: int
    ) -> Ragged:
        shape, dtype, typestr = self._types[index]
        values_at, _, splits_at, shapes_at = fields.tolist()
        row_splits = _ndarray((rows + 1,), _INT64, owner, splits_at - address)
        shapes = None
        if shapes_at:
            shapes = _ndarray((rows, len(shape)), _INT64, owner, shapes_at - address)
        trailing = () if shapes_at else shape[1:]
        values_shape = (row_splits.item(rows), *trailing)
        values = np.asarray(_Memory(values_at, values_shape, typestr, owner))
        if index in self._bfloat16:  # the interface has said the size alone
            values = values.view(dtype)
        return Ragged(values, row_splits, row_shape=shape, shapes=shapes)

    def give_back(self) -> None:
        """Releases the batch in `batch` if an interrupt came before arrays owned it."""
        memory, self.batch.memory = self.batch.memory, _NULL
        _release(memory)
