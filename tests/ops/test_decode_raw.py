"""DecodeRaw: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, bytes_of, load, ragged, same

each_dtype = pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
orders = pytest.mark.parametrize("order, mark", [("little", "<"), ("big", ">")])


def stored(row, mark):
    return row.astype(row.dtype.newbyteorder(mark)).tobytes()


@each_dtype
@orders
def test_rows_of_one_shape(dtype, order, mark):
    rows = np.random.default_rng(0).integers(-100, 100, (400, 2, 3)).astype(dtype)
    blob = bytes_of([stored(row, mark) for row in rows], batch_size=90)
    decoded = flow.DecodeRaw(blob, dtype=dtype, shape=[2, 3], byte_order=order)
    assert (decoded.shape, decoded.dtype) == ((90, 2, 3), dtype)
    same(load(decoded, num_threads=3), rows)


@each_dtype
@orders
@pytest.mark.parametrize("tail", [(), (3,), (2, 2)])
def test_rows_of_any_length(dtype, order, mark, tail):
    rows = ragged(dtype, tail=tail)
    blob = bytes_of([stored(row, mark) for row in rows], batch_size=180)
    attrs = {} if not tail else {"shape": [-1, *tail]}  # [-1] unless given
    decoded = flow.DecodeRaw(blob, dtype=dtype, byte_order=order, **attrs)
    assert decoded.shape == (180, None, *tail)
    same(load(decoded), rows)


@each_dtype
def test_dense_bytes(dtype):
    rows = np.random.default_rng(0).integers(0, 100, (500, 4)).astype(dtype)
    blob = blob_of(rows.view(np.uint8).reshape(500, -1), batch_size=64)
    same(load(flow.DecodeRaw(blob, dtype=dtype)), rows)
    same(load(flow.DecodeRaw(blob, dtype=dtype, shape=[2, 2])), rows.reshape(500, 2, 2))


def test_a_number_a_row():
    blob = bytes_of([b"\x01\x00", b"\x00\x01"])
    assert load(flow.DecodeRaw(blob, dtype="uint16", shape=[])).tolist() == [1, 256]
    assert load(flow.DecodeRaw(blob, dtype="uint16", shape=(), byte_order="big")).tolist() == [
        256, 1,
    ]  # fmt: skip


def test_what_is_not_0_is_true():
    found = load(flow.DecodeRaw(bytes_of([b"\x00\x02\xff\x01"]), dtype="bool"))[0]
    assert found.tobytes() == b"\x00\x01\x01\x01"


@pytest.mark.parametrize("shape, says", [
    ([2], r"the row has 7 bytes; a row of int32 \(2,\) needs 8"),
    ([], r"7 bytes; a row of int32 \(\) needs 4"),
    ([-1], r"7 bytes; a row of int32 \(None,\) needs a multiple of 4"),
    ([-1, 3], r"7 bytes; a row of int32 \(None, 3\) needs a multiple of 12"),
    ([-1, 0], r"7 bytes; a row of int32 \(None, 0\) needs a multiple of 0"),
])  # fmt: skip
def test_a_row_of_another_size(shape, says):
    good = bytes(4 * int(np.prod([2 if n < 0 else n for n in shape], dtype=int)))
    rows = [good, b"1234567", good]
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        load(flow.DecodeRaw(bytes_of(rows), dtype="int32", shape=shape))
    assert (caught.value.op, caught.value.ordinal) == ("DecodeRaw", 1)
    assert len(load(flow.DecodeRaw(bytes_of(rows, on_error="skip"), dtype="int32",
                                   shape=shape))) == 2  # fmt: skip


def test_dense_rows_of_another_size_are_refused_at_once():
    blob = blob_of(np.zeros((3, 7), np.uint8))
    with pytest.raises(flow.InvalidArgumentError, match="the row has 7 bytes; .* needs 8"):
        flow.DecodeRaw(blob, dtype="int32", shape=[2])
    with pytest.raises(flow.InvalidArgumentError, match="a multiple of 4"):
        flow.DecodeRaw(blob, dtype="int32")


def test_attrs():
    blob = bytes_of([b"1234"])
    with pytest.raises(flow.InvalidArgumentError, match="only the first one may vary"):
        flow.DecodeRaw(blob, dtype="int8", shape=[2, -1])
    with pytest.raises(flow.InvalidArgumentError, match="9 dimensions; at most 8"):
        flow.DecodeRaw(blob, dtype="int8", shape=[1] * 9)
    with pytest.raises(flow.InvalidArgumentError, match="shape is too large"):
        flow.DecodeRaw(blob, dtype="int8", shape=[2**40, 2**40])
    with pytest.raises(flow.InvalidArgumentError, match="the rows of input 'in' are float64"):
        flow.DecodeRaw(blob_of(np.zeros((2, 2))), dtype="int8")
    with pytest.raises(flow.InvalidArgumentError, match="little, big"):
        flow.DecodeRaw(blob, dtype="int8", byte_order="middle")


def test_none_is_a_dimension_that_varies(tmp_path):
    lines = flow.TextLineReader(files=tmp_path / "none.txt", batch_size=2)
    for shape in ([None, 3], (-1, 3)):
        assert flow.DecodeRaw(lines, dtype="int16", shape=shape).shape == (2, None, 3)
    with pytest.raises(flow.InvalidArgumentError, match=r"attr 'shape' = \[-1\]; .* at least 0"):
        flow.RawReader(files="none.bin", dtype="int16", shape=[None], batch_size=2)
