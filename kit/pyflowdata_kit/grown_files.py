"""Sparse copies of a sample file that are larger than 2 and 4 GB, by what its format seems to be.

Zeros are put into the file: into records whose lengths stand in a field before them, or between
records of one size.  The fields for lengths, and tables of offsets in the file or in a companion,
are found by their numbers, and changed to fit.  Whether the guess is right shows in a small copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from .file_layout import Layout, Span

_Order = Literal["little", "big"]
_KINDS: tuple[tuple[int, _Order], ...] = ((8, "little"), (8, "big"), (4, "little"), (4, "big"))
_NEAR = 24  # bytes around a record's beginning in which its length is looked for
_MOST_ADDED = 64  # what a length or offset may have besides: a header, a checksum
_LEAST_STRIDE = 16  # bytes of records of one size: of smaller ones 2 GB have too many
_MOST_BYTES = 1 << 20  # of files in which numbers are looked for
_MOST_WAYS = 16  # that are worth a try
_LONGEST_ENTRY = 64  # bytes of a table of offsets


@dataclass(frozen=True)
class Field:
    """An integer in a file: it counts bytes up to the end of record `number` of the file, or the
    bytes of that record alone."""

    file: str
    place: int
    width: int
    order: _Order
    number: int
    is_length: bool

    def fits(self, value: int) -> bool:
        return 0 <= value < 1 << (8 * self.width)


@dataclass(frozen=True)
class Growth:
    """How a file can grow.

    Attributes:
        name: Of the file.
        layout: Its records.
        fields: The numbers that change.
        step: The zeros come in multiples of so many bytes.
        into: The records after whose bytes zeros are put.
    """

    name: str
    layout: Layout
    fields: tuple[Field, ...]
    step: int
    into: tuple[int, ...]

    def grown(
        self, contents: Mapping[str, bytes], added: int
    ) -> dict[str, dict[int, bytes]] | None:
        """The files that change, with about so many bytes more: the pieces of each by offset, and
        zeros between.  None: the fields have no room for such numbers."""
        each = added // len(self.into) // self.step * self.step
        holes = {number: each for number in self.into}
        changed = {name: bytearray(contents[name]) for name in self._names()}
        for field in self.fields:
            data, end = changed[field.file], field.place + field.width
            value = int.from_bytes(data[field.place : end], field.order)
            if field.is_length:
                value += holes.get(field.number, 0)
            else:
                value += sum(size for number, size in holes.items() if number < field.number)
            if not field.fits(value):
                return None
            data[field.place : end] = value.to_bytes(field.width, field.order)
        pieces = {name: {0: bytes(data)} for name, data in changed.items()}
        pieces[self.name] = self._with_holes(bytes(changed[self.name]), holes)
        return pieces

    def shift(self, added: int) -> int:
        """By how much the last record moves."""
        return added // len(self.into) // self.step * self.step * len(self.into)

    def _names(self) -> set[str]:
        return {self.name, *(field.file for field in self.fields)}

    def _with_holes(self, data: bytes, holes: Mapping[int, int]) -> dict[int, bytes]:
        pieces, begin, shift = {}, 0, 0
        for number in sorted(holes):
            end = self.layout.records[number].end
            pieces[begin + shift] = data[begin:end]
            begin, shift = end, shift + holes[number]
        pieces[begin + shift] = data[begin:]
        return pieces


def growths(contents: Mapping[str, bytes], name: str, layout: Layout) -> Iterator[Growth]:
    """The ways in which a file might grow, none where nothing is known of its format.

    Args:
        contents: Of this file and its companions, by name.
        name: Of the file, whose last record is the last one of the sample.
        layout: All of its records.
    """
    records = layout.records
    if len(records) < 4 or sum(map(len, contents.values())) > _MOST_BYTES:
        return
    strides = {two.offset - one.offset for one, two in zip(records, records[1:])}
    if len(strides) == 1 and min(strides) >= _LEAST_STRIDE:
        yield Growth(name, layout, (), min(strides), (1,))
    lengths = [*_lengths(contents[name], name, records), ()]
    tables = [one for other in contents for one in _tables(contents[other], other, records)]
    middle = tuple(range(1, len(records) - 1))
    ways = [one + two for one in lengths for two in [*tables, ()]]
    for fields in ways[:_MOST_WAYS]:
        if fields:
            yield Growth(name, layout, fields, 64, middle)


def write_sparse(path: Path, pieces: Mapping[int, bytes]) -> None:
    """Writes a file that has zeros between the pieces."""
    with path.open("wb") as file:
        for offset, data in pieces.items():
            file.seek(offset)
            file.write(data)
        file.truncate()


def _lengths(data: bytes, name: str, records: Sequence[Span]) -> Iterator[tuple[Field, ...]]:
    """A field of each record, at the same distance from it."""
    if len({record.size for record in records}) < 2:
        return
    for width, order in _KINDS:
        for distance in range(_NEAR, -_NEAR, -1):
            places = [record.offset - distance for record in records]
            if min(places) < 0 or max(places) + width > len(data):
                continue
            values = [int.from_bytes(data[p : p + width], order) for p in places]
            if _differ_alike(values, [record.size for record in records]):
                yield tuple(
                    Field(name, place, width, order, number, True)
                    for number, place in enumerate(places)
                )


def _tables(data: bytes, name: str, records: Sequence[Span]) -> Iterator[tuple[Field, ...]]:
    """A field for each record, at equal distances from each other."""
    offsets = [record.offset for record in records]
    for width, order in _KINDS:
        if len(data) < width:
            continue
        runs = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), width)
        numbers = np.ascontiguousarray(runs).view(f"{'<' if order == 'little' else '>'}i{width}")
        added = numbers.ravel().astype(np.int64) - offsets[0]
        firsts = np.flatnonzero(np.abs(added) <= _MOST_ADDED)
        for entry in range(width, _LONGEST_ENTRY + 1):
            fit = firsts[firsts + entry * (len(records) - 1) < len(added)]
            fit = fit[added[fit + entry] - added[fit] == offsets[1] - offsets[0]]
            for place in fit.tolist():
                places = range(place, place + entry * len(records), entry)
                if _differ_alike([int(numbers[p, 0]) for p in places], offsets):
                    yield tuple(
                        Field(name, one, width, order, number, False)
                        for number, one in enumerate(places)
                    )


def _differ_alike(values: Sequence[int], expected: Sequence[int]) -> bool:
    added = {value - one for value, one in zip(values, expected)}
    return len(added) == 1 and abs(next(iter(added))) <= _MOST_ADDED
