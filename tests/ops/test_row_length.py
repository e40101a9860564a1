"""RowLength: against the shapes of rows."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import blob_of, load, same


def test_lengths():
    chance = np.random.default_rng(0)
    rows = [chance.integers(0, 5, int(chance.integers(0, 7))) for _ in range(500)]
    blob = flow.RowLength(blob_of(rows, [-1], batch_size=64))
    assert (blob.shape, blob.dtype) == ((64,), np.int64)
    same(load(blob), np.array([len(row) for row in rows]))
    boxes = [chance.random((int(chance.integers(0, 4)), 4)).astype(np.float32) for _ in range(99)]
    found = blob_of(boxes, [-1, 4], batch_size=99)
    same(load(flow.RowLength(found)), np.array([len(each) for each in boxes]))
    same(load(flow.RowLength(found, axis=-1))[:3], np.full(3, 4))
    same(load(flow.RowLength(blob_of(np.zeros((9, 2, 3)), batch_size=9), axis=1)), np.full(9, 3))


def test_rows_on_arrays():
    assert list(flow.RowLength([[1, 2, 3], [7], [4, 5]])) == [3, 1, 2]


@pytest.mark.parametrize("axis", [1, -2])
def test_a_dimension_that_there_is_not(axis):
    with pytest.raises(flow.InvalidArgumentError, match=f"no dimension {axis}, which is axis"):
        flow.RowLength(blob_of(np.zeros((9, 2))), axis=axis)
    with pytest.raises(flow.InvalidArgumentError, match="no dimension"):
        flow.RowLength(blob_of(np.zeros(9)))
