"""Damaged copies of a sample file, each with a description of the damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Damaged = tuple[bytes, str]  # the bytes, and what was done

_DENSE = 64  # so many bytes at the beginning, where headers are, are all tried
_SPREAD = 32  # places over the rest


def _places(size: int, dense: int = _DENSE, spread: int = _SPREAD) -> list[int]:
    """Offsets: all near the beginning, the last ones, and some between."""
    if size <= dense + spread:
        return list(range(size))
    step = (size - dense) / spread
    between = {dense + int(i * step) for i in range(spread)}
    return sorted({*range(dense), *between, *range(size - 8, size)})


def cuts(data: bytes, name: str) -> Iterator[Damaged]:
    """The file cut short, down to nothing."""
    for size in _places(len(data)):
        yield data[:size], f"{name} cut to {size} of {len(data)} bytes"


def flips(data: bytes, name: str) -> Iterator[Damaged]:
    """One bit of the file flipped."""
    for place in _places(len(data)):
        bit = place * 5 % 8
        changed = bytearray(data)
        changed[place] ^= 1 << bit
        yield bytes(changed), f"bit {bit} of byte {place} of {name} flipped"


def zeros(data: bytes, name: str) -> Iterator[Damaged]:
    """Runs of zero bytes."""
    for width in (2, 4, 8):
        for place in _places(len(data), 32, 8):
            if place + width > len(data) or not any(data[place : place + width]):
                continue
            changed = data[:place] + bytes(width) + data[place + width :]
            yield changed, f"bytes {place} to {place + width - 1} of {name} set to zero"
    half = len(data) // 2
    yield data[:half] + bytes(len(data) - half), f"the second half of {name} set to zero"
    yield bytes(len(data)), f"all of {name} set to zero"


def lengths(data: bytes, name: str) -> Iterator[Damaged]:
    """Numbers that a length or a count could be, in place of what was there."""
    size = len(data)
    for width, values in (
        (2, (0xFFFF,)),
        (4, (0xFFFFFFFF, 0x7FFFFFFF, size + 1)),
        (8, (2**64 - 1, 2**63 - 1)),
    ):
        for place in _places(size, 32, 8):
            if place + width > size:
                continue
            for value in values:
                number = (value % 2 ** (8 * width)).to_bytes(width, "little")
                if data[place : place + width] != number:
                    changed = data[:place] + number + data[place + width :]
                    what = f"bytes {place} to {place + width - 1} of {name} set to {value:#x}"
                    yield changed, what


def swaps(data: bytes, name: str) -> Iterator[Damaged]:
    """Neighbouring words and blocks in each other's place."""
    for width in (1, 2, 4, 8, 16):
        for place in _places(len(data), 24, 8):
            one, two = data[place : place + width], data[place + width : place + 2 * width]
            if len(two) == width and one != two:
                changed = data[:place] + two + one + data[place + 2 * width :]
                what = f"bytes from {place} of {name}: two runs of {width} swapped"
                yield changed, what


KINDS: dict[str, Callable[[bytes, str], Iterator[Damaged]]] = {
    "cut": cuts,
    "flipped": flips,
    "zeros": zeros,
    "lengths": lengths,
    "swapped": swaps,
}
