"""TFRecord files of tf.train.Examples with 64 float32 and an int64; OFRecord files of the same."""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from bench.columns import VALUES
from bench.data import Data, Truth


@dataclasses.dataclass(frozen=True)
class Examples(Data):
    """A row of the truth is a value and its record's label."""

    parts: int = 4

    KIND: ClassVar[str] = "examples"
    ROW_BYTES: ClassVar[float] = 302.9  # with its frame
    ROWS: ClassVar[int] = VALUES

    def frame(self, row: bytes, label: int) -> bytes:
        """A record as it stands in a file."""
        return framed(example(_entry(b"x", 2, row), _label(3, label)))

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(4000 + part)
        labels = random.randint(0, 1000, self.part_records)
        for begin in range(0, self.part_records, 1024):
            some = labels[begin : begin + 1024]
            values = random.standard_normal((len(some), VALUES)).astype("<f4")
            frames = [self.frame(row.tobytes(), y) for row, y in zip(values, some.tolist())]
            yield b"".join(frames), Truth.of(values, np.repeat(some, VALUES))


@dataclasses.dataclass(frozen=True)
class OFRecords(Examples):
    KIND: ClassVar[str] = "ofrecords"

    def frame(self, row: bytes, label: int) -> bytes:
        record = _entry(b"x", 2, row) + _label(5, label)
        return struct.pack("<Q", len(record)) + record


def example(*entries: bytes) -> bytes:
    """A message Example."""
    return _field(1, b"".join(entries))


def bytes_entry(key: str, content: bytes) -> bytes:
    """A feature with its name: a bytes_list of one value."""
    return _entry(key.encode(), 1, content)


def int64_entry(key: str, value: int) -> bytes:
    return _entry(key.encode(), 3, _varint(value))


def framed(record: bytes) -> bytes:
    """A record as it stands in a TFRecord file."""
    return _framed_length(len(record)) + record + _masked(record)


def _field(number: int, content: bytes) -> bytes:
    return bytes([number * 8 + 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + _varint(value // 128)


def _entry(key: bytes, kind: int, packed: bytes) -> bytes:
    return _field(1, _field(1, key) + _field(2, _field(kind, _field(1, packed))))


@functools.cache
def _label(kind: int, label: int) -> bytes:
    return _entry(b"y", kind, _varint(label))


@functools.cache
def _framed_length(size: int) -> bytes:
    length = struct.pack("<Q", size)
    return length + _masked(length)


def _masked(content: bytes) -> bytes:
    from pyflowdata.native import lib

    crc = lib.pfd_crc32c(content, len(content))
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)
