"""TFRecord files and tf.train.Examples written by hand, independent of the library under test."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from support.paths import ROOT

FIXTURES = ROOT / "tests/fixtures/tensorflow"


def _table() -> list[int]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return rows


_CRC = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)


def framed(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def write(path: Path, records: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(map(framed, records)))
    return path


def unframed(data: bytes) -> list[bytes]:
    """The records of a file that is known to be good."""
    records, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        records.append(data[at + 12 : at + 12 + length])
        at += 16 + length
    return records


# ---- Examples ----------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value %= 2**64
    out = bytearray()
    while value >= 0x80:
        out.append(value % 0x80 + 0x80)
        value //= 0x80
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    return varint(number * 8 + 2) + varint(len(content)) + content


def strings(*values: bytes) -> bytes:
    return field(1, b"".join(field(1, value) for value in values))


def floats(*values: float) -> bytes:
    return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))


def ints(*values: int) -> bytes:
    return field(3, field(1, b"".join(map(varint, values))))


def entry(key: str, feature: bytes) -> bytes:
    return field(1, field(1, key.encode()) + field(2, feature))


def example(**features: bytes) -> bytes:
    return field(1, b"".join(entry(key, feature) for key, feature in features.items()))


def sequence_example(context: dict[str, bytes], lists: dict[str, list[bytes]]) -> bytes:
    steps = {k: b"".join(field(1, feature) for feature in v) for k, v in lists.items()}
    return b"".join(
        field(number, b"".join(entry(key, value) for key, value in part.items()))
        for number, part in ((1, context), (2, steps))
    )
