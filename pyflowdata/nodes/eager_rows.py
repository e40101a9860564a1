"""Rows that a program has, as inputs of an op.

One row is an array, bytes or a number.  A batch is a list of rows, or a Ragged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..native import CData, ffi, lib
from ..ragged import Ragged
from .dtypes import NUMBERS, dtype_name, dtype_number
from .op_texts import ROWS_RULE
from .row_types import RAGGED_ROW

Array = npt.NDArray[Any]

_NUMBERS = (bool, int, float, np.generic)
_ARRAYS = (np.ndarray, *_NUMBERS, bytearray, memoryview, list, tuple)
_PROTOCOLS = ("__array__", "__array_interface__")  # of other libraries' arrays
_UINT8 = np.dtype(np.uint8)
_MAX_DIMS: int = lib.PFD_MAX_DIMS
_from_buffer = ffi.from_buffer
_ONE = ffi.typeof("pfd_ragged_row *")  # a text would be parsed each time

class Rows(ABC):
    """The rows of one input.

    Attributes:
        count: How many; None: one row that is no batch.
        dtype: Of the elements.
        shape: Of a row, with -1 for a dimension that varies.
    """

    __slots__ = ("_items", "count", "dtype", "shape")

    def __init__(
        self, items: Any, count: int | None, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self._items = items
        self.count = count
        self.dtype = dtype
        self.shape = shape

    @abstractmethod
    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        """A `pfd_ragged_row *`, and what must live as long as it.

        Args:
            is_ragged: Whether the op sees the rows as ragged ones, and looks at their shapes.
        """


class _OneRow(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        row, item = ffi.new(_ONE), self._items
        row.data = _from_buffer(item)
        row.num_elements = item.size if type(item) is np.ndarray else len(item)
        return row, None


class _RowList(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        items = self._items
        rows, shapes = ffi.new("pfd_ragged_row[]", len(items)), None
        for row, item in zip(rows, items, strict=True):
            row.data = _from_buffer(item)
            row.num_elements = item.size if type(item) is np.ndarray else len(item)
        ndim = len(self.shape)
        if is_ragged and ndim > 1:
            shapes = ffi.new("int64_t[]", [size for item in items for size in item.shape])
            for index, row in enumerate(rows):
                row.shape = shapes + index * ndim
        return rows, shapes


class _OneArray(Rows):
    """Rows of one size, back to back."""

    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        items: Array = self._items
        sizes = np.full(len(items), items[0].size if len(items) else 0, np.int64)
        return _array_table(items, sizes, None)


class _RaggedRows(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        ragged: Ragged = self._items
        sizes = ragged.lengths * math.prod(ragged.values.shape[1:])
        return _array_table(ragged.values, sizes, ragged.shapes if len(self.shape) > 1 else None)


def _array_table(values: Array, sizes: Array, shapes: Array | None) -> tuple[CData, object]:
    """Rows that follow each other in an array."""
    table: Array = np.zeros(len(sizes), RAGGED_ROW)
    table["size"] = sizes
    begins = (np.cumsum(sizes) - sizes) * values.itemsize
    table["data"] = _address(values) + begins.astype(np.uint64)
    if shapes is not None:
        shapes = np.ascontiguousarray(shapes, np.int64)
        table["shape"] = _address(shapes) + shapes.itemsize * shapes.shape[1] * np.arange(
            len(sizes), dtype=np.uint64
        )
    return ffi.cast("pfd_ragged_row *", _from_buffer(table)), (table, values, shapes)


def _address(array: Array) -> np.uint64:
    address: np.uint64 = np.uint64(array.__array_interface__["data"][0])
    return address


# ---- What is given ------------------------------------------------------------------------------


def take(name: str, value: object, *, takes_ragged: bool) -> Rows:
    """The rows that were given for the input `name`.

    Args:
        takes_ragged: Whether the op takes rows that differ in size: rows of bytes then do, even if
            they happen not to.

    Raises:
        InvalidArgumentError: It is neither a row nor a batch of rows.
    """
    if type(value) is list:
        return _batch(name, value, takes_ragged)
    if isinstance(value, Ragged):
        return _ragged(name, value)
    if isinstance(value, tuple):
        raise InvalidArgumentError(
            f"input '{name}' is a tuple of {len(value)}, as ops with several outputs return it: "
            "pick one of them; a batch of rows is a list"
        )
    row = _row(name, value)
    if isinstance(row, np.ndarray):
        return _OneRow(row, None, row.dtype, row.shape)
    return _OneRow(row, None, _UINT8, (-1 if takes_ragged else len(row),))


def take_column(name: str, value: Array | Ragged) -> Rows:
    """The rows of an array, along its first dimension, or of a Ragged."""
    if isinstance(value, Ragged):
        return _ragged(name, value)
    native = value.astype(value.dtype.newbyteorder("="), copy=False)
    array = _row(name, native)
    assert isinstance(array, np.ndarray)
    return _OneArray(array, len(array), array.dtype, array.shape[1:])


def _row(name: str, value: Any) -> Array | bytes:
    """A row as an array that C can read, or as bytes."""
    if isinstance(value, bytes):
        return value
    if type(value) is not np.ndarray:
        value = _other_array(name, value)
    if not dtype_number(value.dtype):
        raise InvalidArgumentError(
            f"input '{name}' has dtype {value.dtype}; rows are of {', '.join(NUMBERS)}"
        )
    if value.ndim > _MAX_DIMS:
        raise InvalidArgumentError(
            f"input '{name}' has {value.ndim} dimensions; a row has at most {_MAX_DIMS}"
        )
    flags = value.flags
    array: Array = value if flags.c_contiguous and flags.aligned else value.copy("C")
    return array


def _other_array(name: str, value: object) -> Array:
    """Of a number, of a nested list of them, or of another library's array."""
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(
            f"input '{name}' is a masked array, whose mask would be lost: give {name}.filled(VALUE)"
        )
    array: Array | None = None
    if isinstance(value, _ARRAYS) or any(hasattr(value, each) for each in _PROTOCOLS):
        try:
            array = np.asarray(value)
        except Exception as failure:  # noqa: BLE001  (what the class of the value raises)
            raise InvalidArgumentError(f"input '{name}' is not an array: {failure}") from None
    if array is None or array.dtype == object:
        raise InvalidArgumentError(
            f"input '{name}' is {shown(value)} ({type(value).__name__}); it must be a Blob, as op "
            f"functions return it, or rows: arrays, bytes or numbers, where {ROWS_RULE}"
        )
    return array


def _batch(name: str, values: list[Any], takes_ragged: bool) -> Rows:
    if not values:
        raise InvalidArgumentError(
            f"input '{name}' is an empty list, which does not say what its rows are"
        )
    if isinstance(values[0], _NUMBERS):
        numbers = _row(name, values)
        assert isinstance(numbers, np.ndarray)
        return _OneArray(numbers, len(numbers), numbers.dtype, numbers.shape[1:])
    rows = []
    for index, value in enumerate(values):
        try:
            rows.append(_row(name, value))
        except InvalidArgumentError as failure:
            failure.message += f" (row {index})"
            raise
    if all(isinstance(row, bytes) for row in rows):
        size = len(rows[0])
        is_fixed = not takes_ragged and all(len(row) == size for row in rows)
        return _RowList(rows, len(rows), _UINT8, (size if is_fixed else -1,))
    arrays = [np.asarray(memoryview(row)) if isinstance(row, bytes) else row for row in rows]
    return _RowList(arrays, len(arrays), *_common_type(name, arrays))


def _common_type(
    name: str, rows: Sequence[Array]
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of the rows; the dimensions in which they differ vary."""
    dtype, shape = rows[0].dtype, rows[0].shape
    for index, row in enumerate(rows):
        if row.dtype != dtype or row.ndim != len(shape):
            raise InvalidArgumentError(
                f"input '{name}': row 0 is {_said(rows[0])} and row {index} is {_said(row)}; rows "
                "of a batch have one dtype, and as many dimensions each"
            )
        if row.shape != shape:
            shape = tuple(
                size if size == own else -1 for size, own in zip(row.shape, shape, strict=True)
            )
    return dtype, shape


def _said(row: Array) -> str:
    return f"{dtype_name(row.dtype)} {row.shape}"


def _ragged(name: str, value: Ragged) -> Rows:
    shape = tuple(-1 if size is None else size for size in value.row_shape)
    if not dtype_number(value.dtype) or len(shape) > _MAX_DIMS or not _is_sound(value):
        raise InvalidArgumentError(
            f"input '{name}' is {value!r}, whose dtype, row_splits or shapes are not those of rows"
        )
    if not value.values.flags.c_contiguous or not value.values.flags.aligned:
        value = Ragged(
            value.values.copy("C"), value.row_splits, row_shape=value.row_shape,
            shapes=value.shapes if value.values.ndim == 1 else None,
        )  # fmt: skip
    return _RaggedRows(value, len(value), value.dtype, shape)


def _is_sound(ragged: Ragged) -> bool:
    """Whether rows lie in the values: a user may have made it of any arrays."""
    splits, values, shapes = ragged.row_splits, ragged.values, ragged.shapes
    lengths = ragged.lengths
    if len(splits) == 0 or splits[0] != 0 or splits[-1] > len(values) or (lengths < 0).any():
        return False
    is_fit = [
        (sizes >= 0).all() if fixed is None else (sizes == fixed).all()
        for sizes, fixed in zip(shapes.T, ragged.row_shape, strict=True)
    ]
    elements = lengths * math.prod(values.shape[1:])
    return all(is_fit) and np.array_equal(shapes.prod(axis=1), elements)
