"""Files that Python writes, as they are read."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from .. import ops
from ..errors import CorruptDataError
from .check import need, rows, same

LINES = [f"line {i} of a text".encode() * (i % 5 + 1) for i in range(500)]


def text_and_csv(folder: Path) -> None:
    """Lines, and numbers of CSV to the last bit."""
    (folder / "lines.txt").write_bytes(b"\n".join(LINES) + b"\n")
    lines = rows(ops.TextLineReader(files=[folder / "lines.txt"], batch_size=64))
    same(lines, [LINES])
    numbers = [0.1, 2.5e-320, 1.7976931348623157e308, -1e23, 9007199254740993.0, 0.3, 1 / 3]
    text = "a,b\n" + "".join(f"{number!r},{i}\n" for i, number in enumerate(numbers))
    (folder / "table.csv").write_text(text)
    columns = ["a:float64", "b:int32"]
    found = rows(*ops.CSVReader(files=[folder / "table.csv"], columns=columns, batch_size=3))
    same(found, [numbers, list(range(len(numbers)))])


def npy(folder: Path) -> None:
    """A file of numpy.save()."""
    array = np.arange(4000, dtype=np.float32).reshape(1000, 2, 2) / 7
    np.save(folder / "array.npy", array)
    (found,) = rows(ops.NpyReader(files=[folder / "array.npy"], batch_size=128))
    same(np.array(found, np.float32), array)


def _crc32c(data: bytes) -> int:
    """Bit by bit, as the polynomial says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = _crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32)


def tfrecord(folder: Path) -> None:
    """TFRecord with its checksums; a damaged byte is noticed, and named."""
    records = [bytes([i]) * (i % 7 * 40) for i in range(40)]
    framed = bytearray()
    for record in records:
        length = struct.pack("<Q", len(record))
        framed += length + _masked(length) + record + _masked(record)
    path = folder / "records.tfrecord"
    path.write_bytes(framed)
    same(rows(ops.TFRecordReader(files=[path], batch_size=8)), [records])
    at = framed.index(bytes([5]) * 200)
    framed[at + 100] ^= 1
    path.write_bytes(framed)
    try:
        rows(ops.TFRecordReader(files=[path], batch_size=8))
    except CorruptDataError as failure:
        same((failure.file, failure.ordinal), (str(path), 5))
    else:
        raise AssertionError("the damaged byte was not noticed")
    (found,) = rows(ops.TFRecordReader(files=[path], batch_size=8, on_error="skip"))
    same(found, records[:5] + records[6:])


def gzipped(folder: Path) -> None:
    """A file of Python's gzip."""
    need("zlib")
    (folder / "lines.gz").write_bytes(gzip.compress(b"\n".join(LINES)))
    same(rows(ops.TextLineReader(files=[folder / "lines.gz"], batch_size=64)), [LINES])


def zstd(folder: Path) -> None:
    """A frame of zstd: a block that repeats a byte, and one that is stored."""
    need("libzstd")
    repeated, stored = b"a" * 100, b"\nsecond line"
    frame = struct.pack("<IBB", 0xFD2FB528, 0x20, len(repeated) + len(stored))
    frame += (len(repeated) << 3 | 2).to_bytes(3, "little") + repeated[:1]
    frame += (len(stored) << 3 | 1).to_bytes(3, "little") + stored
    (folder / "lines.zst").write_bytes(frame)
    lines = rows(ops.TextLineReader(files=[folder / "lines.zst"], batch_size=4))
    same(lines, [[repeated, stored[1:]]])
