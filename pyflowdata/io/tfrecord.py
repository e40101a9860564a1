"""TFRecord files."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .crc32c import crc32c, masked
from .message_writer import MessageWriter
from .messages import encode_example, encode_examples
from .writer import Sizes

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


class TFRecordWriter(MessageWriter):
    """Writes TFRecord files: a length, its checksum, the data and their checksum for each record.

    A sample is a dict of features, which becomes a tf.train.Example as `encode_example` makes it,
    or the bytes of a record as they are, as `encode_sequence_example` makes them.  A batch is a
    dict of columns, or a column of bytes.  TensorFlow reads "gzip" and "zlib"; "zstd" it does not.
    """

    def _encode(self, sample: Mapping[str, Any]) -> bytes:
        return encode_example(sample)

    def _encode_batch(self, batch: Mapping[str, Any]) -> list[bytes]:
        return encode_examples(batch)

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
