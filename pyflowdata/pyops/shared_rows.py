"""Rows of blobs in memory that two processes share: inputs on their way to a worker process, and
its outputs on their way back.

The parent lays out the inputs and the dense outputs.  The worker adds the ragged outputs, whose
size only it knows, and makes the memory larger where they need it.  One of the two uses it at a
time.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..nodes.row_types import RowType
from ..native import CData
from .tensors import copy_ragged_values, output_view, place_ragged, ragged_shapes

Array = npt.NDArray[Any]

_ALIGNMENT = 64
_START = 64  # below: the number of the row that the worker is at
_MIN_BYTES = 1 << 16


class Place(NamedTuple):
    """Where the rows of a blob are.

    Attributes:
        data: Offset of the first value; rows follow each other.
        shapes: Of a ragged blob, offset of int64 (rows, dimensions).
    """

    data: int
    shapes: int = -1


def aligned(offset: int) -> int:
    """The next offset at which an array may begin."""
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


class SharedMemory:
    """Memory without a name, which ends with the last process that has it open.

    Attributes:
        fd: Its file, which the other process gets.
        size: In bytes, as far as this process knows.
    """

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("pyflowdata", os.MFD_CLOEXEC) if fd is None else fd
        self.size = 0
        self._memory: mmap.mmap | None = None

    def grow(self, size: int) -> None:
        """Makes it at least that large.  Arrays in it that are still there stay valid."""
        if size <= self.size:
            return
        size = -(-max(size, 2 * self.size, _MIN_BYTES) // mmap.PAGESIZE) * mmap.PAGESIZE
        os.ftruncate(self.fd, size)
        self.follow(size)

    def follow(self, size: int) -> None:
        """Maps what the other process has made larger."""
        if size != self.size:
            self._memory, self.size = mmap.mmap(self.fd, size), size

    def array(self, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array in this memory."""
        assert self._memory is not None
        found: Array = np.ndarray(shape, dtype, self._memory, offset)
        return found

    @property
    def at_row(self) -> memoryview:
        """One number: the row that the worker is at."""
        assert self._memory is not None
        return memoryview(self._memory)[:8].cast("q")

    def close(self) -> None:
        """Returns the memory to the system, as soon as no array in it is left."""
        self._memory, self.size = None, 0
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _fixed(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n is not None)


def _row_bytes(declared: RowType) -> int:
    return int(np.prod(_fixed(declared.shape), dtype=np.int64)) * declared.dtype.itemsize


# ---- In the parent ------------------------------------------------------------------------------


class Sending:
    """Lays out and writes what a worker is given."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory
        self.end = _START

    def _reserve(self, num_bytes: int) -> int:
        offset = self.end
        self.end = aligned(offset + num_bytes)
        return offset

    def numbers(self, array: Array) -> int:
        """Writes an array; returns its offset."""
        offset = self._reserve(array.nbytes)
        self._memory.grow(self.end)
        self._memory.array(offset, array.shape, array.dtype)[...] = array
        return offset

    def input(self, tensor: CData, declared: RowType, begin: int, num_rows: int) -> Place:
        """Copies rows of a `pfd_tensor`."""
        if tensor.is_ragged:
            shapes = ragged_shapes(tensor, declared, begin, num_rows)
            total = int(shapes.prod(axis=1).sum()) * declared.dtype.itemsize
            at = self.numbers(shapes)
            offset = self._reserve(total)
            self._memory.grow(self.end)
            target = self._memory.array(offset, (total,), np.dtype(np.uint8))
            copy_ragged_values(tensor, begin, num_rows, declared.dtype.itemsize, target)
            return Place(offset, at)
        rows = output_view(tensor, declared, begin + num_rows)[begin:]
        return Place(self.numbers(rows))

    def output(self, declared: RowType, num_rows: int) -> Place:
        """Makes room for a dense output."""
        if declared.is_ragged:
            return Place(-1)
        offset = self._reserve(num_rows * _row_bytes(declared))
        self._memory.grow(self.end)
        return Place(offset)


def take_output(
    memory: SharedMemory, place: Place, declared: RowType, args: CData, tensor: CData,
    begin: int, num_rows: int,
) -> None:  # fmt: skip
    """Copies rows that a worker wrote into a `pfd_tensor`."""
    if not declared.is_ragged:
        view = output_view(tensor, declared, begin + num_rows)
        shape = (num_rows, *_fixed(declared.shape))
        view[begin:] = memory.array(place.data, shape, declared.dtype)
        return
    shapes = memory.array(place.shapes, (num_rows, len(declared.shape)), np.dtype(np.int64))
    total = int(shapes.prod(axis=1).sum())
    values = memory.array(place.data, (total,), declared.dtype)
    place_ragged(args, tensor, begin, values, shapes)


# ---- In the worker ------------------------------------------------------------------------------


def read_input(
    memory: SharedMemory, place: Place, declared: RowType, num_rows: int
) -> Array | list[Array]:
    """A copy of the rows of an input: what indexed by a row is that row."""
    if not declared.is_ragged:
        shape = (num_rows, *_fixed(declared.shape))
        copy: Array = memory.array(place.data, shape, declared.dtype).copy()
        return copy
    ndim = len(declared.shape)
    shapes = memory.array(place.shapes, (num_rows, ndim), np.dtype(np.int64))
    ends = np.cumsum(shapes.prod(axis=1))
    total = int(ends[-1]) if num_rows else 0
    values = memory.array(place.data, (total,), declared.dtype)
    return [
        values[begin:end].reshape(shape).copy()
        for begin, end, shape in zip([0, *ends[:-1].tolist()], ends.tolist(), shapes.tolist(),
                                     strict=True)
    ]  # fmt: skip


def output_array(
    memory: SharedMemory, place: Place, declared: RowType, num_rows: int
) -> Array | None:
    """The memory of a dense output; None for a ragged one."""
    if declared.is_ragged:
        return None
    return memory.array(place.data, (num_rows, *_fixed(declared.shape)), declared.dtype)


def write_ragged_output(
    memory: SharedMemory, end: int, rows: Sequence[Array], declared: RowType
) -> tuple[Place, int]:
    """Writes rows at the first free offset; returns their place, and the next free offset."""
    shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), -1)
    total = sum(row.size for row in rows)
    at = aligned(end + shapes.nbytes)
    after = aligned(at + total * declared.dtype.itemsize)
    memory.grow(after)
    memory.array(end, shapes.shape, shapes.dtype)[...] = shapes
    target, begin = memory.array(at, (total,), declared.dtype), 0
    for row in rows:
        target[begin : begin + row.size] = row.ravel()
        begin += row.size
    return Place(at, end), after
