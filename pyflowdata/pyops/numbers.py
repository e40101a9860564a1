"""Numbers of Python, and lists of them, as arrays of a declared dtype: which of them fit.

They have no dtype of their own.  They fit where nothing of them is lost: a whole number exactly; of
other numbers only the digits that the float dtype has no room for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..nodes.row_types import converted, is_bfloat16, widened

Array = npt.NDArray[Any]

_WIDER = {"b": "biuf", "i": "iuf", "u": "uf", "f": "f"}  # what a kind of dtype may become
_MOST_DIMS = 64  # of NumPy's arrays: a deeper list is none


def array_of(value: Any, dtype: np.dtype[Any]) -> Array:
    """`np.asarray(value)`; for a field of bfloat16 also of torch's tensors of it, which refuse."""
    if is_bfloat16(dtype) and str(getattr(value, "dtype", "")) == "torch.bfloat16":
        return np.asarray(value.view(sys.modules["torch"].int16)).view(dtype)
    return np.asarray(value)


def numbers_as(found: Any, array: Array, dtype: np.dtype[Any]) -> Array | None:
    """An array of the dtype; None where the numbers do not fit.

    Args:
        found: A number, or a list or tuple of what is a number or an array.
        array: `np.asarray(found)`.
    """
    if array.size == 0:
        return array.astype(dtype)
    if is_bfloat16(dtype):
        narrow = converted(array, dtype) if array.dtype.kind in _WIDER else None
        is_held = narrow is not None and _are_held(found, array, widened(narrow), 7)
        return narrow if is_held else None
    if dtype.kind not in _WIDER.get(array.dtype.kind, ""):
        return None
    with np.errstate(all="ignore"):
        fitting = array.astype(dtype, copy=False)
        is_fit = (
            _are_held(found, array, fitting, np.finfo(dtype).nmant)
            if dtype.kind == "f"
            else np.array_equal(fitting, array)
        )
    return fitting if is_fit else None


def _are_held(found: Any, array: Array, fitting: Array, fraction_bits: int) -> bool:
    """Whether floats hold all numbers: the whole ones exactly, the others as finite ones."""
    limit = 2 ** (fraction_bits + 1)  # below, every whole number is there
    if array.dtype.kind == "b" or not np.any((array >= limit) | (array <= -limit)):
        return True
    if array.dtype.kind != "f":
        return bool(fitting.tolist() == array.tolist())  # Python compares an int exactly
    if np.any(np.isinf(fitting) & ~np.isinf(array)):
        return False
    return all(  # whole numbers among others have become floats already
        not isinstance(number, int) or number == held
        for number, held in zip(_leaves(found), fitting.ravel().tolist(), strict=True)
    )


def _leaves(found: Any) -> Iterator[Any]:
    if isinstance(found, (list, tuple)):
        for element in found:
            yield from _leaves(element)
    elif isinstance(found, (int, float)):
        yield found
    else:
        yield from np.asarray(found).ravel().tolist()


def has_mask(found: Any, depth: int = 0) -> bool:
    """Whether it is a masked array, or a list with one; np.asarray() would drop the mask."""
    if isinstance(found, np.ma.MaskedArray):
        return True
    if not isinstance(found, (list, tuple)) or depth == _MOST_DIMS:
        return False
    kinds = set(map(type, found))  # a list of numbers is not gone through one by one
    if not any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
        return False
    return any(has_mask(element, depth + 1) for element in found)
