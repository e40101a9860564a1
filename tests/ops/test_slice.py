"""Slice: against NumPy's own."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged, same

STARTS = [None, 0, 1, 3, 7, -1, -3, -9, sys.maxsize, -sys.maxsize - 1]
STEPS = [None, 1, 2, 3, 100, -1, -2, -100]


def given(start, stop, step):
    attrs = {"start": start, "stop": stop, "step": step}
    return {name: [value] for name, value in attrs.items() if value is not None}


@pytest.mark.parametrize("step", STEPS)
def test_as_python_cuts(step):
    dense = np.arange(4 * 5).reshape(4, 5)
    rows = ragged("int64", 6, most=6)
    all_cuts = [cut for cut in itertools.product(STARTS, STARTS, [step]) if given(*cut)]
    dense_blob, blob = blob_of(dense), blob_of(rows, [-1])
    found = load(*(flow.Slice(dense_blob, **given(*cut)) for cut in all_cuts), num_threads=1)
    for cut, of_cut in zip(all_cuts, found, strict=True):
        same(of_cut, dense[:, slice(*cut)])
    some = [cut for cut in all_cuts if cut[0] in (0, 3, -3, None)]
    found = load(*(flow.Slice(blob, **given(*cut)) for cut in some), num_threads=1)
    for cut, of_cut in zip(some, found, strict=True):
        same(of_cut, [row[slice(*cut)] for row in rows])


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_several_dimensions(dtype):
    rows = np.random.default_rng(0).integers(-100, 100, (600, 4, 5, 3)).astype(dtype)
    blob = blob_of(rows, batch_size=100)
    cuts = (
        ({"start": [1, -2], "stop": [3, sys.maxsize]}, rows[:, 1:3, -2:]),
        ({"start": [0], "stop": [2], "axes": [-1]}, rows[..., 0:2]),
        ({"start": [3, 4], "stop": [0, 1], "step": [-1, -2], "axes": [0, 1]},
         rows[:, 3:0:-1, 4:1:-2]),
        ({"start": [2, 1], "axes": [2, 1]}, rows[:, :, 1:, 2:]),
        ({"step": [-1]}, rows[:, ::-1]),
    )  # fmt: skip
    blobs = [flow.Slice(blob, **attrs) for attrs, _ in cuts]
    assert blobs[0].shape == (100, 2, 2, 3)
    for (_, expected), found in zip(cuts, load(*blobs, num_threads=3), strict=True):
        same(found, expected)


def test_ragged_rows():
    rows = ragged("float32", tail=(4,))
    blob = blob_of(rows, [-1, 4], batch_size=100)
    attrs = ({"stop": [3]}, {"start": [1], "stop": [3], "axes": [1]},
             {"start": [-2, 0], "step": [1, 2]}, {"step": [-1]})  # fmt: skip
    blobs = [flow.Slice(blob, **one) for one in attrs]
    assert blobs[0].shape == (100, None, 4)
    for index, found in zip(
        (np.s_[:3], np.s_[:, 1:3], np.s_[-2:, ::2], np.s_[::-1]),
        load(*blobs, num_threads=3), strict=True,
    ):  # fmt: skip
        same(found, [row[index] for row in rows])


def test_two_dimensions_that_vary():
    chance = np.random.default_rng(0)
    rows = [chance.normal(size=chance.integers(0, 6, 2)) for _ in range(300)]
    blob = blob_of(rows, [-1, -1], batch_size=40)
    both, last = load(flow.Slice(blob, start=[1, 1], stop=[4, 3]),
                      flow.Slice(blob, stop=[2], axes=[-1]))  # fmt: skip
    same(both, [row[1:4, 1:3] for row in rows])
    same(last, [row[:, :2] for row in rows])


def test_attrs():
    blob = blob_of(np.zeros((3, 4, 5)))
    for attrs, says in [
        ({}, "none of start, stop and step"),
        ({"start": [1, 2], "stop": [3]}, "stop has 1 numbers, but another list has 2"),
        ({"start": [1], "axes": [0, 1]}, "axes has 2 numbers"),
        ({"step": [0]}, "step has a 0"),
        ({"start": [1, 1, 1]}, "more numbers than the rows have"),
        ({"start": [1], "axes": [2]}, "another dimension"),
        ({"start": [1, 1], "axes": [1, -1]}, "another dimension"),
        ({"start": [1], "axes": [-3]}, "another dimension"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=says):
            flow.Slice(blob, **attrs)
    with pytest.raises(flow.InvalidArgumentError, match=r"rows of input 'in' are float64 \(\)"):
        flow.Slice(blob_of(np.zeros(3)), start=[1])
