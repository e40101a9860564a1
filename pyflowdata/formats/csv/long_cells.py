"""Quoted cells that span lines, and look as if a quote were missing."""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class LongCells:
    """Cells whose lines look like rows of the file.

    Attributes:
        count: How many.
        line: Where the first one begins, from 1.
        lines: How many lines that one has.
    """

    count: int
    line: int
    lines: int


def suspicious_cells(path: str, delimiter: str, quote: str, num_columns: int) -> LongCells | None:
    """The quoted cells over several lines that each have as many delimiters as a row: one quote too
    few makes such a cell of whole rows.

    Args:
        path: A plain file.
        delimiter: Between two cells.
        quote: Around a cell.
        num_columns: Of a row; of one column nothing can be said.
    """
    if num_columns < 2 or not quote:
        return None
    between, mark = re.escape(delimiter.encode()), re.escape(quote.encode())
    inner = b"[^" + mark + b"]*"
    cell = re.compile(
        b"(?<![^" + between + b"\n])" + mark + b"(" + inner + b"(?:" + mark * 2 + inner + b")*)"
        + mark
    )  # fmt: skip
    count = line = lines = 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for found in cell.finditer(data):
            if b"\n" not in found[1]:
                continue
            _, *others = found[1].split(b"\n")
            if all(one.count(delimiter.encode()) == num_columns - 1 for one in others):
                count += 1
                if count == 1:
                    line, lines = data[: found.start()].count(b"\n") + 1, len(others) + 1
    return LongCells(count, line, lines) if count else None
