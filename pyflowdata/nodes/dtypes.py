"""Element types, by C's number and name, as NumPy has them.

NumPy has no bfloat16.  Arrays of it have the dtype ml_dtypes.bfloat16 where that package can be
imported, as jax needs it.  Without it they have `BITS`, a field called bfloat16 of the bits as
uint16: its name says what the numbers are, and NumPy refuses to compute with them.  Both are taken
as input.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import ffi, lib, text

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
    """The dtype that arrays of bfloat16 have."""
    try:
        found: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return BITS
    return found


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Whether it is either dtype of bfloat16."""
    return dtype.itemsize == 2 and (dtype.name == _BFLOAT16 or dtype == BITS)


def dtype_of(number: int) -> np.dtype[Any]:
    """Of C's number."""
    found = _NUMPY.get(number)
    return bfloat16() if found is None else found


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """Of a name, or of what else np.dtype() takes.

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
    """The name of a dtype, as C and attrs have it: "bfloat16" of both that stand for it."""
    return _BFLOAT16 if is_bfloat16(dtype) else str(dtype)


def as_dtype(name: str, dtype: np.dtype[Any]) -> str:
    """For messages: how an array called `name` gets this dtype."""
    if not is_bfloat16(dtype):
        return f"{name}.astype('{dtype}')"
    return f"flow.Cast({name}, dtype='{_BFLOAT16}')"


def converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in another dtype, as `flow.Cast(array, dtype=dtype, overflow="wrap")` has them.

    Args:
        array: Of a dtype of blobs; numbers of any other dtype become float64 first.
        dtype: One of blobs.

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
    """bfloat16 as float32, which holds all of it; any other array as it is."""
    return converted(array, _NUMPY[lib.PFD_FLOAT32]) if is_bfloat16(array.dtype) else array
