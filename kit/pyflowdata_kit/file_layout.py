"""The places of records in a sample file: targets of damage, and names of places in messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


# ---- Files of one kind, of which some are damaged and fuzzed ------------------------------------


def kind_of(path: Path) -> str:
    """The suffixes of a name, or the name if it has none, without the numbers of parts."""
    return re.sub(r"\d+", "0", "".join(path.suffixes) or path.name)


def file_of_each_kind(files: Sequence[Path]) -> list[Path]:
    """The last file of each kind with at least half the bytes of the longest file, since a short
    file may have no records; in the order of the files."""
    sizes = {file: file.stat().st_size for file in files}
    longest: dict[str, int] = {}
    for file, size in sizes.items():
        longest[kind_of(file)] = max(size, longest.get(kind_of(file), 0))
    last = {kind_of(file): file for file in files if 0 < longest[kind_of(file)] <= 2 * sizes[file]}
    return [file for file in files if file in last.values()]


def files_like(file: Path, files: Sequence[Path]) -> list[Path]:
    """All files of one file's kind."""
    return [other for other in files if kind_of(other) == kind_of(file)]


# ---- Places of records --------------------------------------------------------------------------

_WIDEST_GAP = 64  # more bytes between two records are no frame
_END = 4  # messages call so many bytes at a record's ends its head and tail


@dataclass(frozen=True)
class Span:
    """The bytes of a record: its ordinal, offset and size."""

    ordinal: int
    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True)
class Layout:
    """The records of one file.

    Attributes:
        records: The records in the order of their offsets; empty if the file has none, or none is
            known.
        share: 1: every place counts; n: about one in n is enough.
    """

    records: tuple[Span, ...] = ()
    share: int = 1

    @property
    def gap(self) -> int:
        """The bytes between records, where frames begin; 0: none."""
        pairs = zip(self.records, self.records[1:])
        return max(0, min((two.offset - one.end for one, two in pairs), default=0))

    def places(self, size: int, dense: int, spread: int, records: int) -> list[int]:
        """Offsets to try in a file of `size` bytes.

        Args:
            dense: All of so many bytes at the beginning are tried, where headers are.
            spread: So many places in the rest are tried.
            records: Head, middle and tail of so many records are tried.
        """
        dense, spread, records = (n // self.share for n in (dense, spread, records))
        chosen = set(self._record_places(records))
        if size <= dense + spread + len(chosen):
            return list(range(size))
        step = max(1, (size - dense) // max(1, spread))
        chosen.update(range(dense), range(dense, size, step), range(size - 8, size))
        return sorted(place for place in chosen if 0 <= place < size)

    def _record_places(self, most: int) -> Iterable[int]:
        gap = min(self.gap, _WIDEST_GAP)
        for record in spread_over(self.records, most):
            yield record.offset - gap
            yield record.offset
            if record.size > 0:
                yield record.offset + record.size // 2
                yield record.end - 1

    def words(self, place: int) -> str:
        """The name of a place, for a message: "the head of record 3", or ""."""
        gap = min(self.gap, _WIDEST_GAP)
        for record in self.records:
            if not record.offset - gap <= place < max(record.end, record.offset + 1):
                continue
            third = min(_END, max(1, record.size // 3))
            if place < record.offset + third:
                return f"the head of record {record.ordinal}"
            part = "tail" if place >= record.end - third else "middle"
            return f"the {part} of record {record.ordinal}"
        return ""


def spread_over(records: tuple[Span, ...], most: int) -> list[Span]:
    """At most this many items: the first, the last, and some between."""
    if len(records) <= most:
        return list(records)
    if most < 2:
        return list(records[:most])
    return [records[i * (len(records) - 1) // (most - 1)] for i in range(most)]


# ---- Numbers that say how long a record is ------------------------------------------------------

ByteOrder = Literal["little", "big"]
_NEAR = 24  # a length is looked for so near to its record's beginning
_MOST_ADDED = 64  # bytes that a length may count besides: a header, a checksum


@dataclass(frozen=True)
class LengthField:
    """An integer that seems to hold the length of each record of a file.

    Attributes:
        before: The number of bytes from the field to the record; negative: within the record.
        width: The bytes of the field.
        order: The byte order.
        unit: The bytes of the elements that the integer counts.
        added: Bytes that it counts in addition to those of the record, equal for all records.
    """

    before: int
    width: int
    order: ByteOrder
    unit: int
    added: int


def length_fields(
    data: bytes, records: Sequence[Span], kinds: Iterable[tuple[int, ByteOrder]],
    units: Sequence[int] = (1,),
) -> Iterator[LengthField]:  # fmt: skip
    """The fields that all records of a file have; none if it has no record.

    Args:
        data: The bytes of the file.
        records: Its records.
        kinds: The widths and byte orders to look for.
        units: Bytes of the elements that a field may count.
    """
    sizes = [record.size for record in records]
    for width, order in kinds:
        for before in range(_NEAR, -_NEAR, -1):
            places = [record.offset - before for record in records]
            if not places or min(places) < 0 or max(places) + width > len(data):
                continue
            values = [int.from_bytes(data[p : p + width], order) for p in places]
            for unit in units:
                if differ_alike([value * unit for value in values], sizes):
                    added = values[0] * unit - sizes[0]
                    yield LengthField(before, width, order, unit, added)


def differ_alike(values: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether each value is the expected one plus one small number, the same for all."""
    added = {value - one for value, one in zip(values, expected)}
    return len(added) == 1 and abs(next(iter(added))) <= _MOST_ADDED
