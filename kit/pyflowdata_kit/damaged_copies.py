"""Damaged copies of a sample file, each with a description of the damage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from .file_layout import ByteOrder, Layout, LengthField, Span, length_fields, spread_over

Damaged = tuple[bytes, str]  # the bytes, and words for the damage

_ANYWHERE = Layout()


class Damage(Protocol):
    """Yields damaged copies of one kind, of a file with this content and name."""

    def __call__(
        self, data: bytes, name: str, layout: Layout = _ANYWHERE
    ) -> Iterator[Damaged]: ...


def _at(layout: Layout, name: str, place: int) -> str:
    """The name of the file, with the record at the place."""
    words = layout.words(place)
    return f"{name}, {words}," if words else name


def cuts(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """The file cut short, down to nothing."""
    for size in layout.places(len(data), 48, 24, 8):
        words = layout.words(size)
        within = f", at {words}" if words else ""
        yield data[:size], f"{name} cut to {size} of {len(data)} bytes{within}"


def flips(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """One bit of the file flipped."""
    for place in layout.places(len(data), 48, 24, 8):
        bit = place * 5 % 8
        changed = bytearray(data)
        changed[place] ^= 1 << bit
        yield bytes(changed), f"bit {bit} of byte {place} of {_at(layout, name, place)} flipped"


def zeros(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """Runs of zero bytes."""
    for width in (2, 4, 8):
        for place in layout.places(len(data), 24, 8, 4):
            if place + width > len(data) or not any(data[place : place + width]):
                continue
            changed = data[:place] + bytes(width) + data[place + width :]
            where = _at(layout, name, place)
            yield changed, f"bytes {place} to {place + width - 1} of {where} set to zero"
    half = len(data) // 2
    yield data[:half] + bytes(len(data) - half), f"the second half of {name} set to zero"
    yield bytes(len(data)), f"all of {name} set to zero"


def lengths(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """Numbers that a length or a count could have, in place of the original bytes."""
    size = len(data)
    for width, values in (
        (2, (0xFFFF,)),
        (4, (0xFFFFFFFF, 0x7FFFFFFF, size + 1)),
        (8, (2**64 - 1, 2**63 - 1)),
    ):
        for place in layout.places(size, 24, 8, 4):
            if place + width > size:
                continue
            for value in values:
                number = (value % 2 ** (8 * width)).to_bytes(width, "little")
                if data[place : place + width] != number:
                    changed = data[:place] + number + data[place + width :]
                    where = _at(layout, name, place)
                    what = f"bytes {place} to {place + width - 1} of {where} set to {value:#x}"
                    yield changed, what


def swaps(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """Neighbouring words and blocks in each other's place."""
    for width in (1, 2, 4, 8, 16):
        for place in layout.places(len(data), 16, 8, 4):
            one, two = data[place : place + width], data[place + width : place + 2 * width]
            if len(two) == width and one != two:
                changed = data[:place] + two + one + data[place + 2 * width :]
                where = _at(layout, name, place)
                what = f"bytes from {place} of {where}: two runs of {width} swapped"
                yield changed, what.replace(",:", ":")


_LENGTHS: tuple[tuple[int, ByteOrder], ...] = (
    (4, "little"), (4, "big"), (8, "little"), (8, "big"), (2, "little"), (2, "big"), (1, "little"),
)  # fmt: skip
_UNITS = (1, 2, 4, 8)
_MOST_FIELDS = 4
_MOST_RESIZED = 3  # records of a file


def resized(data: bytes, name: str, layout: Layout = _ANYWHERE) -> Iterator[Damaged]:
    """A record is cut or filled up with zeros, and its length is adjusted: all records can be
    found, but the bytes of one do not follow the format.
    """
    found = length_fields(data, layout.records, _LENGTHS, _UNITS)
    fields = sorted(found, key=lambda field: (abs(field.added), abs(field.before)))
    seen = {data}
    for field in fields[:_MOST_FIELDS]:
        for record in spread_over(layout.records, _MOST_RESIZED):
            size = record.size
            for new in (0, size // 2, 2 * size, *(size + n for n in (-4, -1, 1, 4, 4096))):
                changed = _with_size(data, field, record, new)
                if changed is not None and changed not in seen:
                    seen.add(changed)
                    yield changed, f"record {record.ordinal} of {name} with {new} of {size} bytes"


def _with_size(data: bytes, field: LengthField, record: Span, size: int) -> bytes | None:
    """The file with a record of another size; None: there is no such record."""
    value, rest = divmod(size + field.added, field.unit)
    if size < 0 or rest or not 0 <= value < 1 << (8 * field.width):
        return None
    body = data[record.offset : record.offset + min(size, record.size)]
    head, tail = data[: record.offset], data[record.end :]
    changed = bytearray(head + body + bytes(size - len(body)) + tail)
    place = record.offset - field.before
    changed[place : place + field.width] = value.to_bytes(field.width, field.order)
    return bytes(changed)


KINDS: dict[str, Damage] = {
    "cut": cuts,
    "flipped": flips,
    "zeros": zeros,
    "lengths": lengths,
    "swapped": swaps,
    "resized": resized,
}


# ---- A few places of a file with any content ----------------------------------------------------


def spread(size: int, count: int) -> list[int]:
    """Yields this many places, at equal distances."""
    return sorted({(2 * i + 1) * size // (2 * count) for i in range(count)})


def inverted(data: bytes, name: str, places: Iterable[int]) -> Iterator[Damaged]:
    """One byte inverted at each of these offsets, and then four bytes."""
    for place in places:
        for width in (1, 4):
            end = min(place + width, len(data))
            damaged = data[:place] + bytes(0xFF ^ byte for byte in data[place:end]) + data[end:]
            said = f"byte {place}" if end == place + 1 else f"bytes {place} to {end - 1}"
            yield damaged, f"{said} of {name} inverted"


def changed(data: bytes, name: str, count: int) -> Iterator[Damaged]:
    """Some bits of a byte changed, in this many places."""
    for place in spread(len(data), count):
        damaged = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        yield damaged, f"byte {place} of {name} changed"


def shortened(data: bytes, name: str, count: int) -> Iterator[Damaged]:
    """The file cut short, to this many sizes from 0 on."""
    for i in range(count):
        size = i * len(data) // count
        yield data[:size], f"{name} cut to {size} of {len(data)} bytes"
