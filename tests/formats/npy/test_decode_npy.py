"""DecodeNpy: against numpy.save()."""

from __future__ import annotations

import io

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, bytes_of, load, ragged, same


def saved(array, **options) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), **options)
    return file.getvalue()


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("mark", "<>")
@pytest.mark.parametrize("order", "CF")
def test_arrays_of_one_shape(dtype, mark, order):
    count = 200
    rows = np.random.default_rng(0).integers(-100, 100, (count, 2, 3, 2)).astype(dtype)
    other = dtype.newbyteorder(mark)
    blob = bytes_of([saved(row.astype(other, order=order)) for row in rows], batch_size=80)
    decoded = flow.DecodeNpy(blob, dtype=dtype, shape=[2, 3, 2])
    assert (decoded.shape, decoded.dtype) == ((80, 2, 3, 2), dtype)
    same(load(decoded, num_threads=3), rows)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", "CF")
def test_arrays_that_vary(version, order):
    rows = ragged("float32", tail=(4,))
    rows = [np.asarray(row, order=order) for row in rows]
    blob = bytes_of([saved(row, version=version) for row in rows], batch_size=300)
    same(load(flow.DecodeNpy(blob, dtype="float32", shape=[-1, 4])), rows)
    same(load(flow.DecodeNpy(blob, dtype="float32", shape=[-1, -1])), rows)


def test_numbers():
    blob = bytes_of([saved(np.int64(n)) for n in range(5)])
    assert load(flow.DecodeNpy(blob, dtype="int64", shape=[])).tolist() == [0, 1, 2, 3, 4]


GOOD = saved(np.arange(6, dtype=np.int32))


@pytest.mark.parametrize("bad, says", [
    (b"", "npy|NumPy|magic|header"),
    (GOOD[:-1], "23 bytes follow the header; an array of int32 .6,. has 24"),
    (GOOD + b"\0", "25 bytes follow the header"),
    (GOOD[:40], "header"),
    (b"x" + GOOD[1:], "npy|NumPy|magic|begin"),
    (saved(np.arange(6)), r"is int64 \(6,\), but the attrs dtype and shape say int32 \(6,\)"),
    (saved(np.arange(5, dtype=np.int32)), r"the array is int32 \(5,\)"),
    (saved(np.zeros((2, 3), np.int32)), r"the array is int32 \(2, 3\)"),
    (saved(np.zeros(6, "complex64")), "c8"),
    (saved(np.zeros(6, "i4,i4")), "."),
    (saved(np.array([None] * 6), allow_pickle=True), "."),
    (saved(np.zeros((1,) * 9, np.int32)), "."),
])  # fmt: skip
def test_what_is_damaged_or_another_array(bad, says):
    rows = [GOOD, bad, GOOD]
    with pytest.raises(flow.CorruptDataError, match=says) as caught:
        load(flow.DecodeNpy(bytes_of(rows), dtype="int32", shape=[6]))
    assert (caught.value.op, caught.value.ordinal) == ("DecodeNpy", 1)
    found = load(flow.DecodeNpy(bytes_of(rows, on_error="skip"), dtype="int32", shape=[6]))
    assert found.tolist() == [[0, 1, 2, 3, 4, 5]] * 2


def test_every_cut_is_found():
    cuts = [GOOD[:size] for size in range(len(GOOD))]
    blob = bytes_of([*cuts, GOOD], batch_size=20, on_error="skip", max_errors=1000)
    assert load(flow.DecodeNpy(blob, dtype="int32", shape=[-1]))[-1].tolist() == [0, 1, 2, 3, 4, 5]
    assert len(load.skipped) == len(cuts)


def test_attrs():
    blob = bytes_of([GOOD])
    with pytest.raises(flow.InvalidArgumentError, match="shape"):
        flow.DecodeNpy(blob, dtype="int32")
    with pytest.raises(flow.InvalidArgumentError, match="9 dimensions"):
        flow.DecodeNpy(blob, dtype="int32", shape=[1] * 9)
    with pytest.raises(flow.InvalidArgumentError, match="the rows of input 'in' are float64"):
        flow.DecodeNpy(blob_of(np.zeros((2, 2))), dtype="int8", shape=[2])


def test_none_is_a_dimension_that_varies(tmp_path):
    lines = flow.TextLineReader(files=tmp_path / "none.txt", batch_size=2)
    for shape in ([None, 3], (-1, 3)):
        assert flow.DecodeNpy(lines, dtype="int16", shape=shape).shape == (2, None, 3)
    with pytest.raises(flow.InvalidArgumentError, match=r"attr 'shape' = \[-1\]; .* at least 0"):
        flow.RawReader(files="none.bin", dtype="int16", shape=[None], batch_size=2)
