"""ExampleEncoder, OFRecordEncoder and the frames, against messages that are written here."""

import struct

import numpy as np
import pytest
from pyflowdata.io import encode_example, encode_ofrecord
from formats.tfrecord.tfrecords import framed
from pyflowdata.nodes import find_op
from pyflowdata.nodes.eager import encode
from pyflowdata.ragged import Ragged

import pyflowdata as flow

EXAMPLE = {"float32": 2, "float16": 2, **dict.fromkeys(
    ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), 3)}  # fmt: skip
OFRECORD = {
    "float32": 2, "float16": 2, "float64": 3,
    **dict.fromkeys(("bool", "int8", "int16", "uint16", "int32"), 4),
    **dict.fromkeys(("uint32", "int64", "uint64"), 5),
}  # fmt: skip


def varint(value):
    value &= 2**64 - 1
    low = value & 127
    return bytes([low]) if value < 128 else bytes([low | 128]) + varint(value >> 7)


def sized(field, data):
    return bytes([field << 3 | 2]) + varint(len(data)) + data


def feature(kinds, row):
    if row.dtype == np.uint8:
        return sized(1, sized(1, row.tobytes()))
    kind = kinds[row.dtype.name]
    if row.dtype.kind == "f":
        data = row.astype({2: "<f4", 3: "<f8"}[kind]).tobytes()
    else:
        data = b"".join(map(varint, row.ravel().tolist()))
    return sized(kind, sized(1, data) if data else b"")


def message(kinds, sample):
    entries = b"".join(
        sized(1, sized(1, name.encode()) + sized(2, feature(kinds, row)))
        for name, row in sample.items()
    )
    return sized(1, entries) if kinds is EXAMPLE else entries


def columns(kinds, count):
    chance = np.random.default_rng(3)
    found = {}
    for place, name in enumerate(kinds):
        dtype, shape = np.dtype(name), [(), (3,), (2, 2), (0,)][place % 4]
        size = count * int(np.prod(shape))
        bits = chance.integers(0, 256, size * dtype.itemsize, np.uint8)
        values = (bits & 1 if name == "bool" else bits).view(dtype)
        if name == "uint64":
            values = values >> np.uint64(1)
        if dtype.kind == "f":
            values = chance.normal(size=size).astype(dtype)
        small = dtype.kind in "iu" and dtype.itemsize == 8
        if small:  # varints of every length
            values = values >> (np.arange(size) * 7 % 64).astype(dtype)
        found[f"dense/{name}"] = values.reshape(count, *shape)
        splits = np.sort(chance.integers(0, size + 1, count + 1))
        splits[0], splits[-1] = 0, size
        found[f"ragged/{name}"] = Ragged(values, splits)
    text = chance.integers(0, 256, 40 * count, np.uint8)
    splits = np.sort(np.append(chance.integers(0, len(text), count - 1), [0, len(text)]))
    return {**found, "é": Ragged(text, splits), "pixels": text.reshape(count, 5, 8)}


def rows_of(encoded):
    values, sizes = encoded
    ends = np.cumsum(sizes)
    return [values[end - size : end].tobytes() for end, size in zip(ends, sizes, strict=True)]


@pytest.mark.parametrize(
    "op, kinds, of_python",
    [
        ("ExampleEncoder", EXAMPLE, encode_example),
        ("OFRecordEncoder", OFRECORD, encode_ofrecord),
    ],
)
def test_messages_are_those_of_the_wire_format(op, kinds, of_python):
    given = columns(kinds, 200)
    found = rows_of(encode(find_op(op), {"names": list(given)}, given))
    for row, data in enumerate(found):
        sample = {name: np.asarray(one[row]) for name, one in given.items()}
        assert data == message(kinds, sample)
        assert row > 9 or data == of_python(sample)  # which a writer takes for one sample


def test_large_values_have_long_lengths():
    sizes = [0, 1, 127, 128, 16383, 16384, 2**21, 3, 3]
    rows = [np.full(size, 7, np.uint8) for size in sizes]
    (found, *_) = [flow.ExampleEncoder(rows, names=["x" * 300])]
    for data, row in zip(found, rows, strict=True):
        assert data.tobytes() == message(EXAMPLE, {"x" * 300: row})


def test_what_a_message_cannot_hold_is_refused():
    with pytest.raises(flow.InvalidArgumentError, match="x is of float64.*an Example.*Cast"):
        flow.ExampleEncoder([np.zeros(2)], names=["x"])
    with pytest.raises(flow.InvalidArgumentError, match="names.*has 2 names, and there are 1"):
        flow.OFRecordEncoder([np.zeros(2)], names=["x", "y"])
    with pytest.raises(flow.InvalidArgumentError, match="x is of float64.*an Example"):
        encode_example({"x": np.zeros(2)})
    with pytest.raises(flow.InvalidArgumentError, match=r"'x\\x00'; it must have no NUL"):
        encode_ofrecord({"x\0": 1})
    for names, says in (
        (["a", "a"], "has 'a' twice"), (["a", ""], "name of input 1 is empty"),
        (["a", "\udc80"], "UTF-8"),
    ):  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=f"names.*{says}"):
            flow.ExampleEncoder(np.ones(2), np.ones(2), names=names)
    rows = [np.uint64([1]), np.uint64([2**63])]
    with pytest.raises(flow.InvalidArgumentError, match="x has 9223372036854775808.*int64") as at:
        flow.ExampleEncoder(rows, names=["x"])
    assert at.value.row == 1


def test_frames():
    records = [b"", b"abc", bytes(range(256)), b"\xff" * 100]
    found = flow.TFRecordFrame(records)
    for data, record in zip(found, records, strict=True):
        assert data.tobytes() == framed(record)
    found = flow.OFRecordFrame(records[1:])
    assert [one.tobytes() for one in found] == [
        struct.pack("<q", len(record)) + record for record in records[1:]
    ]
    with pytest.raises(flow.InvalidArgumentError, match="the record is empty") as at:
        flow.OFRecordFrame([b"a", b""])
    assert at.value.row == 1
