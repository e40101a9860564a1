"""Protobuf's variable-length integers, for single numbers and for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LONGEST = 10  # bytes of a 64-bit number


def varint(value: int) -> bytes:
    """One number; a negative one as two's complement of 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(values: npt.NDArray[np.int64]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """All numbers of a flat array back to back, and the size of each."""
    numbers = values.view(np.uint64)
    sizes = np.ones(len(numbers), np.int64)
    for place in range(1, _LONGEST):
        longer = numbers >= np.uint64(1 << (7 * place))
        if not longer.any():
            break
        sizes += longer
    longest = int(sizes.max(initial=1))
    if longest == 1:
        return numbers.astype(np.uint8).tobytes(), sizes
    table = np.empty((len(numbers), longest), np.uint8)
    for place in range(longest):
        table[:, place] = (numbers >> np.uint64(7 * place)).astype(np.uint8) | np.uint8(0x80)
    table[np.arange(len(numbers)), sizes - 1] &= np.uint8(0x7F)
    return table[np.arange(longest) < sizes[:, np.newaxis]].tobytes(), sizes


def row_sums(sizes: npt.NDArray[np.int64], splits: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The sums of sizes[splits[i]:splits[i + 1]]; rows may be empty."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    sums: npt.NDArray[np.int64] = np.diff(ends[splits])
    return sums
