"""The types of columns: the narrowest that hold all of their cells."""

from __future__ import annotations

import re
from collections.abc import Sequence

_INTEGERS = re.compile(rb"(?:(?:0|-?[1-9][0-9]{0,14})\n)*")  # exact in a float64, too
_INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
_FLOAT = re.compile(
    rb"[+-]?(?:(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[0-9]+e[+-]?[0-9]+"
    rb"|inf|infinity)|-0", re.IGNORECASE
)  # fmt: skip
_MOST_DIGITS = 4000  # Python refuses longer integers


class Column:
    """The type of the cells of a column that were read so far.

    A cell like 01234 or +5 is text: written as a number, it would change.
    """

    def __init__(self, missing: frozenset[bytes]) -> None:
        """Begins without cells.

        Args:
            missing: The cells that count as missing values.
        """
        self._missing = missing
        self._is_text = self._has_floats = self._has_missing = False
        self._low: int | None = None
        self._high: int | None = None
        self._inexact: int | None = None  # an integer
        self._overflow: bytes | None = None  # a float

    def add(self, cells: Sequence[bytes]) -> None:
        """Reads more cells."""
        if self._is_text or not cells:
            return
        joined = b"\n".join(cells) + b"\n"
        if _INTEGERS.fullmatch(joined) and joined.count(b"\n") == len(cells):
            self._bounds(-1 if b"-" in joined else 0, 1)  # all are small
            return
        for cell in set(cells):
            self._add(cell.strip(b" \t"))

    def _add(self, cell: bytes) -> None:
        if cell in self._missing:
            self._has_missing = True
        elif _INTEGER.fullmatch(cell) and len(cell) <= _MOST_DIGITS:
            value = int(cell)
            self._bounds(value, value)
            if abs(value) > 2**53 and (abs(value) >= 2**1023 or int(float(value)) != value):
                self._inexact = value
        elif _FLOAT.fullmatch(cell):
            self._has_floats = True
            if b"n" not in cell.lower() and abs(float(cell)) == float("inf"):
                self._overflow = cell
        else:
            self._is_text = True

    def _bounds(self, low: int, high: int) -> None:
        self._low = low if self._low is None else min(low, self._low)
        self._high = high if self._high is None else max(high, self._high)

    @property
    def dtype(self) -> str:
        """The narrowest of int64, uint64, float64 and bytes."""
        low, high = self._low, self._high
        if self._is_text or (low is None and not self._has_floats):
            return "bytes"
        if self._has_floats or self._has_missing:
            return "float64"
        if low is None or high is None:
            return "bytes"
        if -(2**63) <= low and high < 2**63:
            return "int64"
        return "uint64" if low >= 0 and high < 2**64 else "bytes"

    @property
    def inexact(self) -> bytes | None:
        """A number that the float64 of the column cannot hold; None: there is none."""
        if self.dtype != "float64":
            return None
        return self._overflow or (None if self._inexact is None else b"%d" % self._inexact)
