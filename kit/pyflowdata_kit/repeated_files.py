"""Copies of a sample file with its records many times, by what its format seems to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .file_layout import Layout

_Order = Literal["little", "big"]
_KINDS: tuple[tuple[int, _Order], ...] = ((4, "little"), (4, "big"), (8, "little"), (8, "big"))
_HEADER = 64  # bytes at a file's beginning in which a count is looked for


@dataclass(frozen=True)
class Repetition:
    """How the records of a file can be repeated.

    Attributes:
        data: The file.
        begin, end: The bytes that are repeated.
        count: Place, width and byte order of the number of records; None: there is none.
        num_records: In the file.
    """

    data: bytes
    begin: int
    end: int
    count: tuple[int, int, _Order] | None
    num_records: int

    def repeated(self, times: int) -> bytes:
        data = bytearray(self.data)
        if self.count:
            place, width, order = self.count
            total = self.num_records * times
            data[place : place + width] = total.to_bytes(width, order)
        return bytes(data[: self.begin] + data[self.begin : self.end] * times + data[self.end :])

    def shift(self, times: int) -> int:
        """By how much the last record moves."""
        return (self.end - self.begin) * (times - 1)


def repetitions(data: bytes, layout: Layout) -> Iterator[Repetition]:
    """The ways in which the records of a file might be repeated."""
    records = layout.records
    if len(records) < 2:
        return
    first, last, gap = records[0].offset, records[-1].end, layout.gap
    for before in dict.fromkeys([min(gap, first), *range(min(gap, first), -1, -4), 0]):
        begin, end = first - before, last + gap - before
        if end > len(data):
            continue
        for count in [None, *_counts(data[: min(begin, _HEADER)], len(records))]:
            yield Repetition(data, begin, end, count, len(records))


def _counts(header: bytes, num_records: int) -> Iterator[tuple[int, int, _Order]]:
    """Where the number stands, first as the most likely kind of an integer."""
    for width, order in _KINDS:
        place = header.find(num_records.to_bytes(width, order))
        if place >= 0:
            yield place, width, order
