"""The types of columns: the narrowest that hold all of their cells."""

from __future__ import annotations

from collections.abc import Sequence

from ...nodes import find_op
from ...nodes.eager import call

TYPES = "CSVCellTypes"

# The bits of CSVCellTypes.
_MISSING, _TEXT, _FLOAT, _INTEGER, _NEGATIVE, _UNSIGNED, _BEYOND = (1 << bit for bit in range(7))
_INEXACT, _INFINITE = 128, 256
_INTEGERS = _INTEGER | _NEGATIVE | _UNSIGNED | _BEYOND
UNSURE = _INEXACT | _INFINITE  # a float64 may not hold the number


def types_of(cells: Sequence[bytes], missing: Sequence[str]) -> list[int]:
    """What each cell is, in the bits of CSVCellTypes."""
    if not cells:
        return []
    rows = call(find_op(TYPES), None, {"missing": list(missing)}, {"in": list(cells)})
    return [int(row[0]) for row in rows]


def dtype_of(types: int) -> str:
    """The narrowest of int64, uint64, float64 and bytes that holds cells of all these types.

    A cell like 01234 or +5 is text: written as a number, it would change.
    """
    if types & _TEXT or not types & (_FLOAT | _INTEGERS):
        return "bytes"
    if types & (_FLOAT | _MISSING):
        return "float64"
    if not types & (_UNSIGNED | _BEYOND):
        return "int64"
    return "bytes" if types & (_NEGATIVE | _BEYOND) else "uint64"


def is_exact(cell: bytes, types: int) -> bool:
    """Whether a float64 holds the number of a cell of these types."""
    if types & _INFINITE:
        return False
    value = int(cell)
    return abs(value) < 2**1023 and int(float(value)) == value
