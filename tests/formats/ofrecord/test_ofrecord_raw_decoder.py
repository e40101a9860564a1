"""OFRecordRawDecoder: files of OneFlow's own message classes and of the protobuf
library, and records written byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from formats.ofrecord.ofrecord_files import (
    ONEFLOW,
    PROTOBUF,
    TRUTH,
    VECTOR,
    frame,
    ints,
    load,
    message,
    part,
    raw,
    varint,
    write,
)

import pyflowdata as flow
from pyflowdata.io import encode_ofrecord

# ---- Files of the libraries ---------------------------------------------------------------------


def test_a_file_of_oneflows_messages() -> None:
    i = np.arange(12)
    assert np.array_equal(raw(ONEFLOW, "images", (2, 3), "float32"),
                          (i[:, None] + np.arange(6) / 8).reshape(12, 2, 3).astype(np.float32))
    assert np.array_equal(raw(ONEFLOW, "labels", (), "int32"), i % 10)
    assert np.array_equal(raw(ONEFLOW, "ids", (2,), "int64"), np.stack([-i, i * 10**12], 1))
    assert np.array_equal(raw(ONEFLOW, "weight", (), "float64"), i / 3)
    record = flow.OFRecordReader(files=ONEFLOW, batch_size=5)
    encoded = load(flow.OFRecordBytesDecoder(record, blob_name="encoded"))
    assert [row.tobytes() for row in encoded] == [bytes(range(200, 200 + n)) for n in i]


@pytest.mark.parametrize("path", PROTOBUF, ids=["packed", "unpacked"])
def test_every_kind_of_list(path: Path) -> None:
    for name in ("float", "double", "int32", "int64", "label", "image"):
        truth = TRUTH[name]
        found = raw(path, name, truth.shape[1:], truth.dtype.name)
        assert found.dtype == truth.dtype and np.array_equal(found, truth), name


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64", "uint16"])
def test_numbers_are_cast(dtype: str) -> None:
    found = raw(PROTOBUF[0], "label", (1,), dtype)
    assert found.dtype == dtype and found[:, 0].tolist() == (np.arange(12) % 10).tolist()
    assert np.array_equal(raw(PROTOBUF[0], "image", (6,), dtype), TRUTH["image"].astype(dtype))


def test_bytes_are_unsigned() -> None:
    assert raw(PROTOBUF[0], "image", (6,), "float32").max() == 250


def test_what_is_a_bool(tmp_path: Path) -> None:
    record = encode_ofrecord({"i": [0, 1], "b": b"\0\1", "f": np.array([0, 0.5], "f4")})
    path = write(tmp_path, frame(record))
    for name in "ibf":
        assert raw(path, name, (2,), "bool").tolist() == [[False, True]]
    path = write(tmp_path, frame(encode_ofrecord({"i": [0, 1, -1], "b": b"\0\2\1"})))
    for name, says in (("i", "value 2 is -1, which bool"), ("b", "value 1 is 2, which bool")):
        with pytest.raises(flow.CorruptDataError, match=says):
            raw(path, name, (3,), "bool")


def test_doubles_too_large_for_float32(tmp_path: Path) -> None:
    values = np.array([1e300, -1e300, 3.4e38, np.nan])
    path = write(tmp_path, frame(encode_ofrecord({"d": values})))
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32)
    np.testing.assert_array_equal(raw(path, "d", (4,), "float32")[0], expected)


def test_the_documented_message(tmp_path: Path) -> None:
    path = write(tmp_path, frame(VECTOR, VECTOR))
    assert raw(path, "x", (2,), "float32").tolist() == [[5.0, 5.5]] * 2
    assert raw(path, "y", (), "int32").tolist() == [5, 5]
    assert raw(path, "b", (2,), "uint8").tolist() == [[5, 200]] * 2
    rows = load(flow.OFRecordReader(files=path))
    assert [row.tobytes() for row in rows] == [VECTOR, VECTOR]


def test_the_builder_takes_oneflows_words(tmp_path: Path) -> None:
    write(tmp_path, frame(VECTOR))
    reader = flow.user_op_builder("r").Op("ofrecord_reader").Output("out")
    reader = reader.Attr("data_dir", str(tmp_path)).Attr("data_part_num", 1).Attr("batch_size", 1)
    record = reader.Build().InferAndTryRun().RemoteBlobList()[0]
    decoder = flow.user_op_builder("d").Op("ofrecord_raw_decoder").Input("in", [record])
    decoder = decoder.Output("out").Attr("name", "x").Attr("shape", (2,))
    decoder = decoder.Attr("data_type", "float32").Attr("dim1_varying_length", False)
    decoder = decoder.Attr("truncate", False)
    blob = decoder.Build().InferAndTryRun().RemoteBlobList()[0]
    assert blob.name == "d/out" and load(blob)[0].tolist() == [5.0, 5.5]
    bytes_decoder = flow.user_op_builder("b").Op("ofrecord_bytes_decoder").Input("in", [record])
    blob = bytes_decoder.Output("out").Attr("name", "b").Build().SoleOutputBlob()
    assert load(blob)[0].tobytes() == b"\x05\xc8"


# ---- Numbers of values --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, attrs, rows",
    [
        ((3,), {"truncate": True}, [[1, 2, 3], [4, 0, 0], [0, 0, 0]]),
        ((3,), {"auto_zero_padding": True}, [[1, 2, 3], [4, 0, 0], [0, 0, 0]]),
        ((6,), {"dim1_varying_length": True}, [[1, 2, 3, 9, 0, 0], [4] + [0] * 5, [0] * 6]),
        ((), {"truncate": True}, [1, 4, 0]),
    ],
)
def test_fewer_and_more_values(
    tmp_path: Path, shape: tuple[int, ...], attrs: dict[str, bool], rows: list[object]
) -> None:
    """Rows that held other values before are zeroed."""
    records = [message(x=ints(1, 2, 3, 9)), message(x=ints(4)), message(x=ints())]
    path = write(tmp_path, frame(*records * 40))
    assert raw(path, "x", shape, "int64", **attrs).tolist() == rows * 40


@pytest.mark.parametrize(
    "shape, attrs, says",
    [
        ((3,), {}, r"feature 'x': it has 4 values, but the attr shape needs 3; truncate=True"),
        ((5,), {}, r"it has 4 values, but the attr shape needs 5"),
        ((3,), {"dim1_varying_length": True}, "has 4 values, but the attr shape takes up to 3"),
        ((4, 3), {"dim1_varying_length": True}, r"up to 12, in rows of 3"),
    ],
)
def test_a_wrong_number_of_values(
    tmp_path: Path, shape: tuple[int, ...], attrs: dict[str, bool], says: str
) -> None:
    path = write(tmp_path, frame(message(x=ints(1, 2, 3, 4))))
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        raw(path, "x", shape, "int64", **attrs)
    assert (caught.value.file, caught.value.ordinal) == (str(path), 0)


@pytest.mark.parametrize(
    "name, dtype, says",
    [
        ("int64", "int32", "value 2 is 9223372036854775807, which int32 cannot hold"),
        ("int32", "uint8", "value 2 is 2147483647, which uint8 cannot hold"),
        ("float", "int64", "value 2 is 1.0000000150474662e.30, which int64"),
        ("image", "int8", "value [0-9] is [12][0-9]+, which int8 cannot hold"),
        ("nothing", "int8", "no feature 'nothing'; there are double, empty, float"),
        ("two", "int8", "bytes_list has 2 values"),
        ("unset", "int8", "has 0 values"),
    ],
)
def test_values_that_do_not_fit(name: str, dtype: str, says: str) -> None:
    with pytest.raises((flow.CorruptDataError, flow.InvalidArgumentError), match=says):
        raw(PROTOBUF[0], name, TRUTH[name].shape[1:] if name in TRUTH else (1,), dtype)


# ---- The rules of protocol buffers --------------------------------------------------------------


def test_the_rules_of_the_protobuf_library(tmp_path: Path) -> None:
    key, value = part(1, b"x"), part(2, ints(7))
    floats = part(2, part(1, struct.pack("<f", 1.5)))
    records = [
        part(1, value + key),  # the value in front of its name
        message(x=ints(1)) + message(x=ints(7)),  # of two entries the last
        part(1, key + part(2, floats) + value),  # of two lists in one entry the last
        message(x=part(5, varint(1 << 3) + varint(7))),  # not packed
        part(9, b"new") + message(x=part(7, b"new") + ints(7)),  # unknown fields
        part(1, part(1, b"y") + key + value),  # of two names the last
    ]
    path = write(tmp_path, frame(*records))
    assert raw(path, "x", (), "int64").tolist() == [7] * len(records)
    joined = part(1, key + part(2, ints(1, 2)) + part(2, ints(3)))
    path = write(tmp_path, frame(joined))
    assert raw(path, "x", (3,), "int64").tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("size", range(1, len(VECTOR)))
def test_messages_that_end_early(tmp_path: Path, size: int) -> None:
    path = write(tmp_path, frame(VECTOR[:size], VECTOR))
    record = flow.OFRecordReader(files=path, batch_size=2, on_error="skip")
    blob = flow.OFRecordRawDecoder(record, blob_name="y", shape=(), dtype="int32")
    with flow.DataLoader(blob) as loader:
        assert np.concatenate(list(loader)).tolist() == [5]
        assert [error.ordinal for error in loader.skipped] == [0]


def test_refuses_attrs_and_inputs() -> None:
    record = flow.OFRecordReader(files=ONEFLOW)
    numbers = flow.OFRecordRawDecoder(record, blob_name="ids", shape=(2,), dtype="float32")
    for given, attrs, says in (
        (numbers, {"blob_name": "x"}, r"rows of input 'in' are float32 \(2,\)"),
        (record, {"blob_name": ""}, "'blob_name' is empty"),
        (record, {"blob_name": "x", "dtype": "float16"}, "'dtype'"),
        (record, {"blob_name": "x", "shape": (), "dim1_varying_length": True}, "no dimension"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.OFRecordRawDecoder(given, **{"shape": (2,), "dtype": "int8"} | attrs)
