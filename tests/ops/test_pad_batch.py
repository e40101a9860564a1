"""PadBatch: against Ragged.to_padded()."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, bytes_of, ragged


def batches(blobs, **options):
    with flow.DataLoader(blobs, **options) as loader:
        return list(loader)


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("tail", [(), (3,)])
def test_the_longest_of_each_batch(dtype, tail):
    rows, value = ragged(dtype, most=30, tail=tail), 1 if dtype == bool else 7
    source = blob_of(rows, [-1, *tail], batch_size=41)
    made = flow.PadBatch(source, value=value, with_mask=True, with_length=True)
    longest = set()
    for whole, out, mask, lengths in batches((source, *made), num_threads=3):
        expected, masks = whole.to_padded(value)
        assert isinstance(out.dense, np.ndarray) and np.shares_memory(out.dense, out.values)
        assert out.dense.dtype == dtype and np.array_equal(out.dense, expected)
        assert mask.dense.dtype == bool and np.array_equal(mask.dense, masks)
        assert lengths.tolist() == whole.lengths.tolist()
        longest.add(out.dense.shape[1])
    assert len(longest) > 1


def test_two_dimensions_that_vary():
    chance = np.random.default_rng(0)
    rows = [chance.normal(size=(*chance.integers(0, 6, 2), 2)) for _ in range(900)]
    source = blob_of(rows, [-1, -1, 2], batch_size=10)
    made = flow.PadBatch(source, with_mask=True, with_length=True)
    for whole, out, mask, lengths in batches((source, *made)):
        expected, masks = whole.to_padded()
        assert np.array_equal(out.dense, expected) and np.array_equal(mask.dense, masks)
        assert np.array_equal(lengths, whole.shapes[:, :2])


def test_multiples():
    rows = [np.arange(n) for n in (1, 5, 8, 9, 0, 0)]
    source = blob_of(rows, [-1], batch_size=2)
    found = [out.dense.shape for out in batches(flow.PadBatch(source, multiple_of=8))]
    assert found == [(2, 8), (2, 16), (2, 0)]


def test_a_whole_batch_of_thousands():
    rows = ragged("float32", 5000, most=50)
    (out,) = batches(flow.PadBatch(blob_of(rows, [-1])))
    assert out.dense.shape == (5000, 50)
    assert all(np.array_equal(a[: len(b)], b) for a, b in zip(out.dense, rows, strict=True))


def test_behind_and_before_other_ops():
    rows = [b"1 ", b"22", b" 333\n"]
    made = flow.Affine(flow.PadBatch(flow.Cast(bytes_of(rows), dtype="int64"), value=-1), shift=1)
    (out,) = batches(made)
    assert out.dense.tolist() == [[50, 33, 0, 0, 0], [51, 51, 0, 0, 0], [33, 52, 52, 52, 11]]


def test_rows_of_a_rank():
    rows = [np.arange(n) for n in (1, 2, 3, 4, 5, 6, 7, 8)]
    for rank, expected in ((0, [(2, 2), (2, 6)]), (1, [(2, 4), (2, 8)])):
        source = blob_of(rows, [-1], batch_size=4, rank=rank, world_size=2)
        assert [out.dense.shape for out in batches(flow.PadBatch(source))] == expected


def test_padding_rows_are_empty():
    rows = [np.array([1.0, 2.0]), np.array([300.0]), np.array([3.0])]
    source = blob_of(rows, [-1], on_error="pad")
    (out,) = batches(flow.PadBatch(flow.Cast(source, dtype="uint8")))
    assert out.to_list() == [[1, 2], [], [3, 0]]
    with pytest.raises(ValueError, match=r"row 0 has shape \(2,\) and row 1 has \(0,\)"):
        _ = out.dense
    assert out.to_padded()[0].tolist() == [[1, 2], [0, 0], [3, 0]]


def test_attrs():
    with pytest.raises(flow.InvalidArgumentError, match="all rows have one shape already"):
        flow.PadBatch(blob_of(np.zeros((2, 3))))
    blob = blob_of(ragged("int8"), [-1])
    with pytest.raises(flow.InvalidArgumentError, match="value = 1000; the rows are int8"):
        flow.PadBatch(blob, value=1000)
    with pytest.raises(flow.InvalidArgumentError, match="multiple_of"):
        flow.PadBatch(blob, multiple_of=0)


def test_dense_of_a_ragged():
    splits = np.array([0, 2, 4])
    both = flow.Ragged(np.arange(4), splits)
    assert both.dense.tolist() == [[0, 1], [2, 3]]
    assert flow.Ragged(np.zeros((0, 3)), np.array([0])).dense.shape == (0, 0, 3)
    with pytest.raises(ValueError, match="they do not form an array; use .to_padded"):
        _ = flow.Ragged(np.arange(4), np.array([0, 1, 4])).dense
