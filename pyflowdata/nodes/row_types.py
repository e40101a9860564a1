"""Row types as users write them, ("float32", (3,)), and as C has them; ragged rows as NumPy has
them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..native import CData, ffi, lib
from .dtypes import NUMBERS, dtype_name, dtype_number, dtype_of, numpy_dtype

# A pfd_ragged_row: two addresses, and between them the number of elements.
RAGGED_ROW = np.dtype([("data", np.uint64), ("size", np.int64), ("shape", np.uint64)])
assert [name for name, _ in ffi.typeof("pfd_ragged_row").fields] == [
    "data", "num_elements", "shape"
]  # fmt: skip
assert RAGGED_ROW.itemsize == ffi.sizeof("pfd_ragged_row")


class RowType(NamedTuple):
    """What one row of a blob is.

    Attributes:
        dtype: Of the elements.
        shape: Without the batch dimension; None for a dimension that varies from row to row.
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @property
    def is_ragged(self) -> bool:
        """Whether rows differ in shape."""
        return None in self.shape

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)} {self.shape}"

    def fits(self, dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> bool:
        """Whether this is what is there, where None stands for any size."""
        return (
            dtype == self.dtype
            and len(shape) == len(self.shape)
            and all(own in (None, size) for own, size in zip(self.shape, shape, strict=True))
        )


def row_type(what: str, given: Any) -> RowType:
    """From ("float32", (3,)) or "float32[3]", or from a dtype alone: rows that are numbers.
    "bytes" stands for "uint8[?]".

    Raises:
        InvalidArgumentError: It is neither; the text begins with `what`.
    """
    dtype, shape = given if isinstance(given, tuple) and len(given) == 2 else (given, ())
    if isinstance(given, str):
        dtype, shape = _written(given)
    try:
        found = numpy_dtype(dtype)
        if dtype is None or not dtype_number(found):
            raise TypeError
        if isinstance(shape, (int, np.integer)):
            shape = (shape,)
        sizes = tuple(None if n is None or n == -1 else int(n) for n in shape)
        if len(sizes) > lib.PFD_MAX_DIMS or any(n is not None and n < 0 for n in sizes):
            raise TypeError
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{what} = {shown(given)}; it must be a dtype, for rows that are numbers, or dtype and "
            f"shape of a row, like ('float32', (3,)) or 'float32[3]', with None or ? for what "
            f"varies from row to row; dtypes: {', '.join(NUMBERS)}"
        ) from None
    return RowType(found, sizes)


def _written(text: str) -> tuple[str, tuple[Any, ...]]:
    """Dtype and shape of "float32[3,?]"; of what is none, the shape is not one either."""
    if text == "bytes":
        return "uint8", (None,)
    dtype, bracket, sizes = text.partition("[")
    if not bracket:
        return text, ()
    parts = sizes.removesuffix("]").split(",") if sizes.endswith("]") else ["none"]
    return dtype.strip(), tuple(None if one.strip() == "?" else one.strip() for one in parts)


def read_row_type(row: CData) -> RowType:
    """Of a `pfd_row_type`."""
    return RowType(
        dtype_of(row.dtype), tuple(None if n < 0 else n for n in row.shape[0 : row.ndim])
    )


def write_row_type(row: CData, value: RowType) -> None:
    """Into a `pfd_row_type`."""
    row.dtype, row.ndim = dtype_number(value.dtype), len(value.shape)
    for axis, size in enumerate(value.shape):
        row.shape[axis] = -1 if size is None else size
