"""Where the fields of samples are in their records, and the writing of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .sample_columns import RaggedColumn

Array = npt.NDArray[Any]


class RecordLayout:
    """The records of samples, as pfd_object_fields in pyflowdata.h describes them.

    Attributes:
        begins, sizes: int64 (samples,): of the records, in bytes, one after the other.
    """

    def __init__(self, fields: Sequence[Array | RaggedColumn], size: int) -> None:
        self._fields = fields
        self._words = np.full((len(fields) + 1, size), 1)  # of 8 bytes; the first says: not damaged
        for index, field in enumerate(fields):
            if isinstance(field, RaggedColumn):
                self._words[index + 1] = field.shapes.shape[1] + (field.sizes + 7) // 8
            else:
                self._words[index + 1] = (field[0].nbytes + 7) // 8
        self.sizes = 8 * self._words.sum(axis=0)
        self.begins = np.cumsum(self.sizes) - self.sizes

    def write(self, target: Array) -> None:
        """Fills in the records.

        Args:
            target: uint8, as many bytes as the records have.
        """
        words, bytes_, at = target.view(np.int64), target.data, self.begins // 8
        words[at] = 0
        for count, before, field in zip(self._words[1:], self._words, self._fields, strict=False):
            at = at + before
            if not isinstance(field, RaggedColumn):
                _scatter(words, at, _as_words(field, int(count[0])))
                continue
            _scatter(words, at, field.shapes)
            starts = 8 * (at + field.shapes.shape[1])
            places = zip(starts.tolist(), (starts + field.sizes).tolist(), field.data, strict=True)
            for begin, end, data in places:
                bytes_[begin:end] = data


def _scatter(words: Array, at: Array, rows: Array) -> None:
    words[at[:, None] + np.arange(rows.shape[1])] = rows


def _as_words(column: Array, count: int) -> Array:
    """Each value as int64, up to a multiple of 8 bytes."""
    n, size = len(column), column[0].nbytes
    padded = np.zeros((n, 8 * count), np.uint8)
    padded[:, :size] = np.ascontiguousarray(column).reshape(-1).view(np.uint8).reshape(n, size)
    return padded.view(np.int64)
