"""OFRecord files of OneFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from .message_writer import MessageWriter
from .messages import encode_ofrecord, encode_ofrecords
from .writer import Sizes


class OFRecordWriter(MessageWriter):
    """Writes OFRecord files: a length of 8 bytes and an OFRecord for each record.

    A sample is a dict of features, which becomes an OFRecord as `encode_ofrecord` makes it, or the
    bytes of one.  A batch is a dict of columns, or a column of bytes.  The path
    `part-{shard:05d}` gives the names that OneFlow's readers expect.  OneFlow itself reads no
    compressed files.
    """

    def _encode(self, sample: Mapping[str, Any]) -> bytes:
        return encode_ofrecord(sample)

    def _encode_batch(self, batch: Mapping[str, Any]) -> list[bytes]:
        return encode_ofrecords(batch)

    def _frame(self, records: list[bytes]) -> None:
        sizes: Sizes = np.fromiter(map(len, records), np.int64, len(records))
        if not sizes.all():
            row = int(np.argmin(sizes))
            raise InvalidArgumentError("the record is empty; OneFlow takes none", ordinal=row)
        pieces: list[bytes] = [b""] * (2 * len(records))
        lengths = sizes.astype("<i8").tobytes()
        pieces[0::2] = [lengths[at : at + 8] for at in range(0, len(lengths), 8)]
        pieces[1::2] = records
        self._emit(b"".join(pieces), sizes + 8)
