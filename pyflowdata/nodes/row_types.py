"""Row types: as users write them, ("float32", (3,)), in C, and ragged rows in NumPy."""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..native import CData, ffi, lib, text


# ---- Dtypes -------------------------------------------------------------------------------------

# NumPy has no bfloat16.  Arrays of it have the dtype ml_dtypes.bfloat16 where that package can
# be imported, as jax needs it.  Without it they have `BITS`, a field called bfloat16 of the
# bits as uint16: its name says what the numbers are, and NumPy refuses to compute with them.
# Both are taken as input.

Array = npt.NDArray[Any]

NUMBERS: dict[str, int] = {}  # PFD_BOOL and so on, by name
while lib.pfd_dtype_name(len(NUMBERS) + 1) != ffi.NULL:
    NUMBERS[text(lib.pfd_dtype_name(len(NUMBERS) + 1))] = len(NUMBERS) + 1
_BFLOAT16 = "bfloat16"
BITS = np.dtype([(_BFLOAT16, np.uint16)])
_NUMPY = {number: np.dtype(name) for name, number in NUMBERS.items() if name != _BFLOAT16}
_OF_NUMPY = {dtype: number for number, dtype in _NUMPY.items()}


@functools.cache
def bfloat16() -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return BITS
    return found


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of the two that stand for bfloat16."""
    return dtype.itemsize == 2 and (dtype.name == _BFLOAT16 or dtype == BITS)


def dtype_of(number: int) -> np.dtype[Any]:
    """The dtype with C's number."""
    found = _NUMPY.get(number)
    return bfloat16() if found is None else found


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of a name, or of another argument of np.dtype().

    Raises:
        TypeError, ValueError, SyntaxError: NumPy has none.
    """
    if isinstance(dtype, str) and dtype == _BFLOAT16:
        return bfloat16()
    found = np.dtype(dtype)
    return bfloat16() if is_bfloat16(found) else found


def dtype_number(dtype: np.dtype[Any]) -> int:
    """C's number of a dtype; 0: blobs do not have it."""
    found = _OF_NUMPY.get(dtype, 0)
    return NUMBERS[_BFLOAT16] if not found and is_bfloat16(dtype) else found


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype in C and attrs: "bfloat16" for both dtypes that stand for it."""
    return _BFLOAT16 if is_bfloat16(dtype) else str(dtype)


def as_dtype(name: str, dtype: np.dtype[Any]) -> str:
    """The code, for messages, that gives an array called `name` this dtype."""
    if not is_bfloat16(dtype):
        return f"{name}.astype('{dtype}')"
    return f"flow.Cast({name}, dtype='{_BFLOAT16}')"


def converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """The numbers in another dtype, as `flow.Cast(array, dtype=dtype, overflow="wrap")` converts
    them.

    Args:
        array: Numbers; those of a dtype that blobs do not have become float64 first.
        dtype: A dtype that blobs have.

    Returns:
        A new array of the same shape, C-contiguous.
    """
    if not dtype_number(array.dtype):
        array = array.astype(np.float64)
    given = np.ascontiguousarray(array).reshape(array.shape)
    found: Array = np.empty(array.shape, dtype)
    places = [ffi.cast("void *", each.ctypes.data) for each in (given, found)]
    lib.pfd_convert(
        dtype_number(given.dtype), places[0], dtype_number(dtype), places[1], given.size,
        lib.PFD_OVERFLOW_WRAP,
    )  # fmt: skip
    return found


def widened(array: Array) -> Array:
    """An array of bfloat16 as float32, which holds all its numbers; any other array as it is."""
    return converted(array, _NUMPY[lib.PFD_FLOAT32]) if is_bfloat16(array.dtype) else array


# ---- Row types ----------------------------------------------------------------------------------

# A pfd_ragged_row: two addresses, and between them the number of elements.
RAGGED_ROW = np.dtype([("data", np.uint64), ("size", np.int64), ("shape", np.uint64)])
assert [name for name, _ in ffi.typeof("pfd_ragged_row").fields] == [
    "data", "num_elements", "shape"
]  # fmt: skip
assert RAGGED_ROW.itemsize == ffi.sizeof("pfd_ragged_row")


class RowType(NamedTuple):
    """The type of a row of a blob.

    Attributes:
        dtype: The dtype of the elements.
        shape: The shape without the batch dimension; None for a dimension that varies from row to
            row.
    """

    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @property
    def is_ragged(self) -> bool:
        """Whether rows differ in shape."""
        return None in self.shape

    @property
    def fixed_sizes(self) -> tuple[int, ...]:
        """The sizes that are the same in all rows; for dense rows the whole shape."""
        return tuple(size for size in self.shape if size is not None)

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)} {self.shape}"

    def fits(self, dtype: np.dtype[Any], shape: tuple[int | None, ...]) -> bool:
        """Whether rows of this dtype and shape have this type; None stands for any size."""
        return (
            dtype == self.dtype
            and len(shape) == len(self.shape)
            and all(own in (None, size) for own, size in zip(self.shape, shape, strict=True))
        )


def row_type(what: str, given: Any) -> RowType:
    """The row type of ("float32", (3,)) or "float32[3]"; of a dtype alone, rows are numbers.
    "bytes" stands for "uint8[?]".

    Raises:
        InvalidArgumentError: `given` is none of these; the text starts with `what`.
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
            f"varies from row to row, or 'bytes' for bytes and texts; dtypes: {', '.join(NUMBERS)}"
        ) from None
    return RowType(found, sizes)


def _written(text: str) -> tuple[str, tuple[Any, ...]]:
    """Dtype and shape of "float32[3,?]"; of another text, the shape is no shape either."""
    if text == "bytes":
        return "uint8", (None,)
    dtype, bracket, sizes = text.partition("[")
    if not bracket:
        return text, ()
    parts = sizes.removesuffix("]").split(",") if sizes.endswith("]") else ["none"]
    return dtype.strip(), tuple(None if one.strip() == "?" else one.strip() for one in parts)


def read_row_type(row: CData) -> RowType:
    """The RowType in a `pfd_row_type`."""
    return _row_type_of(row.dtype, *row.shape[0 : row.ndim])


@functools.lru_cache
def _row_type_of(dtype: int, *shape: int) -> RowType:
    return RowType(dtype_of(dtype), tuple(None if n < 0 else n for n in shape))


def write_row_type(row: CData, value: RowType) -> None:
    """Writes a RowType into a `pfd_row_type`."""
    row.dtype, row.ndim = dtype_number(value.dtype), len(value.shape)
    for axis, size in enumerate(value.shape):
        row.shape[axis] = -1 if size is None else size
