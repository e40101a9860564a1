"""TFRecord files."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .columns import as_bytes, bytes_rows, is_bytes_like
from .crc32c import crc32c, masked
from .messages import encode_example, encode_examples
from .writer import Sizes, Writer

_LENGTH, _CHECKSUM = struct.Struct("<Q"), struct.Struct("<I")


def frame_head(size: int, known: dict[int, bytes]) -> bytes:
    """What stands before the data of a record: its length, and the checksum of that."""
    head = known.get(size)
    if head is None:
        length = _LENGTH.pack(size)
        head = length + _CHECKSUM.pack(masked(crc32c(length)))
        if len(known) < 4096:
            known[size] = head
    return head


class TFRecordWriter(Writer):
    """Writes TFRecord files: a length, its checksum, the data and their checksum for each record.

    A sample is a dict of features, which becomes a tf.train.Example as `encode_example` makes it,
    or the bytes of a record as they are, as `encode_sequence_example` makes them.  A batch is a
    dict of columns, or a column of bytes.  TensorFlow reads "gzip" and "zlib"; "zstd" it does not.
    """

    def write(self, sample: Any) -> None:
        """Writes one record.

        Raises:
            InvalidArgumentError: It is neither a dict of features nor bytes.
            FileError: It cannot be written.
        """
        with self._naming():
            is_bytes = is_bytes_like(sample)
            self._frame([as_bytes(sample) if is_bytes else encode_example(sample)])

    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row.

        Raises:
            InvalidArgumentError: The batch is neither a dict of columns nor a column of bytes.
            FileError: It cannot be written.
        """
        with self._naming():
            is_examples = isinstance(batch, Mapping)
            self._frame(encode_examples(batch) if is_examples else bytes_rows("records", batch))

    def _frame(self, records: list[bytes]) -> None:
        known: dict[int, bytes] = {}
        pieces: list[bytes] = []
        for record in records:
            pieces += (
                frame_head(len(record), known),
                record,
                _CHECKSUM.pack(masked(crc32c(record))),
            )
        sizes: Sizes = np.fromiter(map(len, records), np.int64, len(records)) + 16
        self._emit(b"".join(pieces), sizes)
