"""Concat: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, same
from support.files import lines, rows, write_parts


def columns(*shapes, dtype="float64", count=400):
    """Blobs of one reader, and their arrays."""
    chance = np.random.default_rng(0)
    arrays = [chance.integers(-100, 100, (count, *shape)).astype(dtype) for shape in shapes]
    return arrays, [blob_of(array, batch_size=120) for array in arrays]


def test_two_columns_become_one(tmp_path):
    x, y = flow.MiniDecoder(flow.MiniReader(write_parts(tmp_path, lines(0, 50)), batch_size=7))
    both = flow.Concat(x, y)
    assert (both.shape, both.dtype) == ((7, 2), np.float64)
    assert np.array_equal(load(both), rows(0, 50))


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_numbers_and_vectors(dtype):
    arrays, blobs = columns((), (3,), (), (0,), dtype=dtype)
    expected = np.concatenate([array.reshape(400, -1) for array in arrays], 1)
    whole, two, one, listed = load(
        flow.Concat(*blobs), flow.Concat(blobs[0], blobs[2], axis=-1), flow.Concat(blobs[0]),
        flow.Concat(blobs), num_threads=3,
    )  # fmt: skip
    same(whole, expected)
    same(two, expected[:, [0, 4]])
    same(one, arrays[0][:, None])
    same(listed, expected)  # a list of blobs, as other ops return them


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_dimensions(axis):
    shapes = [[2, 3, 4] for _ in range(3)]
    for k, shape in enumerate(shapes):
        shape[axis] = k + 1
    arrays, blobs = columns(*map(tuple, shapes), dtype="float32")
    same(load(flow.Concat(*blobs, axis=axis)),
         np.concatenate(arrays, axis if axis < 0 else axis + 1))  # fmt: skip


def test_ragged_rows():
    chance = np.random.default_rng(0)
    first, second = ([chance.normal(size=(int(chance.integers(0, 5)), 3)) for _ in range(300)]
                     for _ in range(2))  # fmt: skip
    fixed = chance.normal(size=(300, 2, 3))
    blobs = [blob_of(one, [-1, 3], batch_size=80) for one in (first, second)]
    blobs.append(blob_of(fixed, batch_size=80))
    joined = flow.Concat(*blobs)
    assert joined.shape == (80, None, 3)
    same(load(joined, num_threads=3),
         [np.concatenate(three) for three in zip(first, second, fixed, strict=True)])  # fmt: skip


def test_rows_that_vary_must_agree():
    first = [np.zeros((n, 2)) for n in (1, 2, 3)]
    second = [np.zeros((n, 1)) for n in (1, 5, 3)]
    blobs = [blob_of(first, [-1, 2], on_error="skip"), blob_of(second, [-1, 1], on_error="skip")]
    joined = flow.Concat(*blobs, axis=1)
    assert joined.shape == (3, None, 3)
    assert [row.shape for row in load(joined)] == [(1, 3), (3, 3)]
    assert "dimension 0 of the row is 5 in input number 1 but 2 in number 0" in str(
        load.skipped[0]
    )
    fixed = blob_of(np.zeros((3, 3, 1)), on_error="skip")
    joined = flow.Concat(blobs[0], fixed, axis=1)
    assert joined.shape == (3, 3, 3)
    assert len(load(joined)) == 1


def test_what_cannot_be_joined():
    _, (a, b) = columns((3,), (3, 2))
    for blobs, axis, says in [
        ((a, b), 0, "number 1 are float64 .3, 2., but those of number 0 are float64 .3,.; all must "
                    "have the same number of dimensions"),
        ((b, columns((2, 2))[1][0]), 1, "agree in all dimensions but axis"),
        ((a, columns((3,), dtype="int64")[1][0]), 0, r"same dtype: use flow.Cast\(.*; "
                                                     "from number 0 on: out float64, out int64"),
        ((a, a), 1, "no dimension 1"),
        ((a, a), -2, "no dimension -2"),
    ]:  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.Concat(*blobs, axis=axis)
    with pytest.raises(flow.InvalidArgumentError, match="input 'in' is missing"):
        flow.Concat()
