"""OFRecordReader: files of OneFlow's own message classes, and files that are none."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from formats.ofrecord.ofrecord_files import FIXTURES, ONEFLOW, VECTOR, frame, load, raw, write

import pyflowdata as flow


@pytest.mark.parametrize(
    "content, says, byte",
    [
        (frame(VECTOR)[:-1], "length of a record is 44, but only 43 bytes follow", 0),
        (frame(VECTOR) + b"\5\0", "inside the length of a record, after 2 bytes of 8", 52),
        (frame(VECTOR) + bytes(8), "is 0; it must be above 0", 52),
        (struct.pack("<q", -5) + VECTOR, "is -5; it must be above 0", 0),
        (b"^ONEREC$" + bytes(40), "OneRecReader", 0),
        ((FIXTURES / "tensorflow" / "examples.tfrecord").read_bytes(), "TFRecordReader", None),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, says: str, byte: int | None) -> None:
    path = write(tmp_path, content)
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        load(flow.OFRecordReader(files=path))
    assert caught.value.file == str(path) and byte in (None, caught.value.byte)


def test_compressed(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(ONEFLOW.read_bytes()))
    assert raw(path, "labels", (), "int32").tolist() == (np.arange(12) % 10).tolist()
    path.write_bytes(gzip.compress(ONEFLOW.read_bytes()[:-1]))
    with pytest.raises(flow.CorruptDataError):
        raw(path, "labels", (), "int32")


def test_shuffled_and_shared() -> None:
    parts = []
    for rank in range(2):
        record = flow.OFRecordReader(files=ONEFLOW, batch_size=4, random_shuffle=True, seed=3,
                                     rank=rank, world_size=2)  # fmt: skip
        parts += load(flow.OFRecordRawDecoder(record, blob_name="weight", shape=(),
                                              dtype="float64"))  # fmt: skip
    assert sorted(parts) == (np.arange(12) / 3).tolist()
