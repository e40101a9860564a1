"""OFRecordBytesDecoder: files of the protobuf library, and features that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from formats.ofrecord.ofrecord_files import ONEFLOW, PROTOBUF, VECTOR, frame, load, write

import pyflowdata as flow


@pytest.mark.parametrize("name, says", [("label", "int32_list; this decoder"),
                                        ("two", "2 values"), ("nothing", "no feature 'nothing'")])
def test_bytes_that_are_none(name: str, says: str) -> None:
    record = flow.OFRecordReader(files=PROTOBUF[0])
    with pytest.raises((flow.CorruptDataError, flow.InvalidArgumentError), match=says):
        load(flow.OFRecordBytesDecoder(record, blob_name=name))
    assert all(len(row) == 0 for row in load(flow.OFRecordBytesDecoder(record, blob_name="empty")))


@pytest.mark.parametrize("access", ["map", "read"])
def test_bytes_of_records(access: str) -> None:
    record = flow.OFRecordReader(files=ONEFLOW, batch_size=5, file_access=access)
    rows = load(flow.OFRecordBytesDecoder(record, blob_name="encoded"))
    assert [row.tobytes() for row in rows] == [bytes(range(200, 200 + n)) for n in range(12)]


def test_a_damaged_message_costs_one_record(tmp_path: Path) -> None:
    path = write(tmp_path, frame(VECTOR, VECTOR[:-1] + b"\xff", VECTOR[:5], VECTOR))
    record = flow.OFRecordReader(files=path, batch_size=4, on_error="skip")
    with flow.DataLoader(flow.OFRecordBytesDecoder(record, blob_name="b")) as loader:
        rows = [row.tobytes() for batch in loader for row in batch]
        assert [error.ordinal for error in loader.skipped] == [2]
    assert rows == [b"\x05\xc8"] * 3


def test_refuses_other_inputs() -> None:
    record = flow.OFRecordReader(files=ONEFLOW)
    numbers = flow.OFRecordRawDecoder(record, blob_name="ids", shape=(2,), dtype="float32")
    with pytest.raises(flow.InvalidArgumentError, match=r"are float32 \(2,\)"):
        flow.OFRecordBytesDecoder(numbers, blob_name="x")
