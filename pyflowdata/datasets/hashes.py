"""Hashes of the values of columns: 64 bits for each row, the same on every machine.

A value hashes alike in every dtype that holds it: 3 as int8, int64 and float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError
from ..ragged import Ragged

Array = npt.NDArray[Any]
Hashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def hash_words(hashes: Hashes, words: Hashes) -> Hashes:
    """Each hash with one more word; as `pfd_hash_word()` of csrc/core/hash.h."""
    with np.errstate(over="ignore"):
        x: Hashes = (hashes ^ words) + _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
        x ^= x >> np.uint64(31)
    return x


def hash_bytes(text: bytes) -> int:
    """The hash of bytes, from 0 on."""
    rows = Ragged(np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64))
    return int(hash_column(np.zeros(1, np.uint64), rows)[0])


def hash_column(hashes: Hashes, column: Array | Ragged) -> Hashes:
    """Each hash with the value of its row.

    Args:
        hashes: One for each row.
        column: Numbers, arrays or texts.
    """
    if isinstance(column, Ragged):
        if len(column.row_shape) != 1:
            raise InvalidArgumentError(
                f"rows of shape {column.row_shape} were given; one dimension can vary"
            )
        if column.dtype == np.uint8:
            return _hash_texts(hashes, column)
        return _hash_ragged(hashes, column)
    for element in _words_of(column).reshape(len(column), -1).T:
        hashes = hash_words(hashes, element)
    return hashes


def _words_of(values: Array) -> Hashes:
    """Numbers as words: whole ones as integers, others as the bits of a float64."""
    if values.dtype.kind != "f":
        wide = values if values.dtype == np.uint64 else values.astype(np.int64)
        return np.ascontiguousarray(wide).view(np.uint64)
    wide = values.astype(np.float64)
    is_whole = (np.abs(wide) < 2.0**63) & (np.floor(wide) == wide)
    words = np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
    whole = np.where(is_whole, wide, 0).astype(np.int64).view(np.uint64)
    return np.where(is_whole, whole, words)


def _hash_ragged(hashes: Hashes, column: Ragged) -> Hashes:
    words = _words_of(np.asarray(column.values))
    hashes = hashes.copy()
    for place in range(int(column.lengths.max(initial=0))):
        rows = np.flatnonzero(column.lengths > place)
        hashes[rows] = hash_words(hashes[rows], words[column.row_splits[rows] + place])
    return hash_words(hashes, column.lengths.astype(np.uint64))


def _hash_texts(hashes: Hashes, column: Ragged) -> Hashes:
    """Eight bytes at a time, the last ones filled up with zeros; then the size."""
    padded = np.zeros(len(column.values) + 8, np.uint8)
    padded[:-8] = column.values
    words = np.ndarray(len(column.values) + 1, "<u8", padded.data, strides=(1,))  # at any byte
    hashes = hashes.copy()
    for begin in range(0, int(column.lengths.max(initial=0)), 8):
        rows = np.flatnonzero(column.lengths > begin)
        left = np.minimum(column.lengths[rows] - begin, 8)
        found = words[column.row_splits[rows] + begin].astype(np.uint64)
        kept = np.uint64(2**64 - 1) >> ((8 - left) * 8).astype(np.uint64)
        hashes[rows] = hash_words(hashes[rows], found & kept)
    return hash_words(hashes, column.lengths.astype(np.uint64))
