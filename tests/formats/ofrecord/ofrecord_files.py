"""OFRecord files for tests: those of the libraries, and messages written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from support.paths import ROOT

import pyflowdata as flow

FIXTURES = ROOT / "tests/fixtures"
ONEFLOW = FIXTURES / "oneflow" / "records.ofrecord"
PROTOBUF = [FIXTURES / "protobuf" / name for name in ("packed.ofrecord", "unpacked.ofrecord")]
TRUTH = dict(np.load(FIXTURES / "protobuf" / "truth.npz"))
# A message of the format's documentation: x = [5.0, 5.5], y = [5], b = 05 c8.
VECTOR = bytes.fromhex(
    "0a0b0a016212060a040a0205c8" "0a110a0178120c120a0a080000a0400000b040" "0a0a0a0179120522030a0105"
)


def frame(*records: bytes) -> bytes:
    return b"".join(struct.pack("<q", len(record)) + record for record in records)


def write(folder: Path, content: bytes) -> Path:
    (folder / "part-0").write_bytes(content)
    return folder / "part-0"


def load(blob: flow.Blob) -> list[np.ndarray]:
    with flow.DataLoader(blob) as loader:
        return [row for batch in loader for row in batch]


def raw(path: object, name: str, shape: object, dtype: str, **attrs: object) -> np.ndarray:
    record = flow.OFRecordReader(files=path, batch_size=5)
    return np.array(load(flow.OFRecordRawDecoder(record, blob_name=name, shape=shape, dtype=dtype,
                                                 **attrs)))  # fmt: skip


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def part(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(**features: bytes) -> bytes:
    """Features as bytes of the message Feature."""
    return b"".join(part(1, part(1, name.encode()) + part(2, value))
                    for name, value in features.items())  # fmt: skip


def ints(*numbers: int) -> bytes:
    return part(5, part(1, b"".join(varint(number % 2**64) for number in numbers)))
