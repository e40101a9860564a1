"""The types of columns: the narrowest that hold all of their cells."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import shown
from ...nodes import find_op
from ...nodes.eager import call

TYPES = "CSVCellTypes"

# The bits of CSVCellTypes.
_MISSING, _TEXT, _FLOAT, _INTEGER, _NEGATIVE, _UNSIGNED, _BEYOND = (1 << bit for bit in range(7))
_INEXACT, _INFINITE = 128, 256
_INTEGERS = _INTEGER | _NEGATIVE | _UNSIGNED | _BEYOND
_NUMBERS_PER_ODD = 10  # from which on a column of bytes may be one of numbers

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


def oddity_of(cells: Sequence[bytes], types: Sequence[int], lines: Sequence[int]) -> str:
    """Why a column is of bytes of which nearly all cells are numbers; "" of other columns.

    Args:
        cells: Of the first rows.
        types: Theirs, in the bits of CSVCellTypes.
        lines: Of the file, which they are in, from 1.
    """
    odd = [place for place, one in enumerate(types) if one & _TEXT]
    numbers = sum(bool(one & (_FLOAT | _INTEGERS)) for one in types) - len(odd)
    if not odd or numbers < _NUMBERS_PER_ODD * len(odd):
        return ""
    cell = shown(cells[odd[0]].decode("utf-8", "replace"))
    return (
        f"{len(odd):,} of the first {len(cells):,} cells {'is' if len(odd) == 1 else 'are'} text: "
        f"{cell} in line {lines[odd[0]]}"
    )


def is_exact(cell: bytes, types: int) -> bool:
    """Whether a float64 holds the number of a cell of these types."""
    if types & _INFINITE:
        return False
    value = int(cell)
    return abs(value) < 2**1023 and int(float(value)) == value
