"""Rows of one dtype and shape, as the writers of flat files take them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ....errors import InvalidArgumentError, shown
from ....ragged import Ragged
from .lossless import Array, as_array, to_float


def only_field(given: Any) -> Any:
    """The value itself, or the only one of a dict."""
    if not isinstance(given, Mapping):
        return given
    if len(given) != 1:
        raise InvalidArgumentError(
            f"the file holds one array, and this has the fields {', '.join(map(str, given))}: "
            "choose one"
        )
    return next(iter(given.values()))


class RowShape:
    """The dtype and shape that all rows of a file have: given, or those of the first row."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None) -> None:
        try:
            self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        except (TypeError, ValueError) as failure:
            raise InvalidArgumentError(f"dtype = {shown(dtype)}: {failure}") from None
        try:
            self.shape = None if shape is None else tuple(map(operator.index, shape))
            if any(size < 0 for size in self.shape or ()):
                raise ValueError
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"shape = {shown(shape)}; it must be a tuple of sizes, as (28, 28)"
            ) from None

    def rows(self, given: Any, *, is_batch: bool) -> Array:
        """The rows as one array; a single one is the only row of it.

        Raises:
            InvalidArgumentError: It is not an array of numbers, or differs from the rows before.
        """
        name = str(*given) if isinstance(given, Mapping) and len(given) == 1 else "the array"
        given = only_field(given)
        if isinstance(given, Ragged):
            given = self._dense(given)
        array = as_array(name, given, is_batch=is_batch)
        if array.dtype.kind not in "biuf":
            raise InvalidArgumentError(
                f"{shown(given)} is of {array.dtype}; the file holds numbers"
            )
        if not is_batch:
            array = array[np.newaxis]
        elif array.ndim == 0:
            raise InvalidArgumentError(f"{shown(given)} has no dimension of rows")
        if self.shape is None:
            self.shape = array.shape[1:]
        if array.shape[1:] != self.shape:
            raise InvalidArgumentError(
                f"the row is of shape {array.shape[1:]}; those of this file are of {self.shape}"
            )
        return self._cast(name, array, given, is_batch)

    def _dense(self, given: Ragged) -> Array:
        shapes = given.shapes
        if len(given) and (shapes != shapes[0]).any():
            row = int(np.argmax((shapes != shapes[0]).any(axis=1)))
            raise InvalidArgumentError(
                f"rows of the shapes {tuple(shapes[0].tolist())} and "
                f"{tuple(shapes[row].tolist())} cannot be in one array; pad them",
                ordinal=row,
            )
        tail = tuple(shapes[0].tolist()) if len(given) else tuple(given.values.shape)
        return given.values.reshape(len(given), *tail)

    def _cast(self, name: str, array: Array, given: Any, is_batch: bool) -> Array:
        """To the dtype of the file, where no value is changed by that."""
        if self.dtype is None:
            self.dtype = array.dtype.newbyteorder("=")
        if array.dtype == self.dtype:
            return array
        if self.dtype.kind == "f" and not isinstance(given, (np.ndarray, np.generic, Ragged)):
            found = array if is_batch else array.reshape(array.shape[1:])
            return to_float(name, given, found, self.dtype, is_batch=is_batch).reshape(array.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            cast = array.astype(self.dtype)
        if not np.array_equal(cast, array, equal_nan=array.dtype.kind == "f"):
            differ = (cast != array).reshape(len(array), -1).any(axis=1)
            raise InvalidArgumentError(
                f"values of {array.dtype} do not fit into {self.dtype}, which the file has; "
                "cast them where that is meant",
                ordinal=int(np.argmax(differ)),
            )
        return cast


def buffer_of(array: Array, order: Literal["<", ">"]) -> memoryview:
    """The bytes of an array in that byte order, without a copy where it is so already."""
    found = np.ascontiguousarray(array, array.dtype.newbyteorder(order))
    return found.reshape(-1).view(np.uint8).data


def sizes_of(array: Array) -> Array:
    """Bytes of each row."""
    return np.full(len(array), array.nbytes // max(len(array), 1), np.int64)
