"""AddToken: against MindSpore's values, and NumPy."""

import json

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged
from support.paths import ROOT

MINDSPORE = json.loads((ROOT / "tests/fixtures/mindspore/text.json").read_text())


def test_tokens_are_those_of_mindspore():
    letters = {7: "t", 1: "a", 2: "b"}
    for begin, expected in zip((True, False), MINDSPORE["AddToken"], strict=True):
        found = flow.AddToken(np.array([1, 2]), token=7, begin=begin).tolist()
        assert [letters[one] for one in found] == expected


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_ragged_rows_of_each_dtype(dtype):
    rows, one = ragged(dtype), np.ones(1, dtype)
    blob = blob_of(rows, [-1], batch_size=100)
    begins = (True, False)
    added = [flow.AddToken(blob, token=1, begin=begin) for begin in begins]
    for begin, found in zip(begins, load(*added, num_threads=3), strict=True):
        joined = [np.concatenate([one, row] if begin else [row, one]) for row in rows]
        assert [row.tobytes() for row in found] == [row.tobytes() for row in joined]


def test_dense_rows():
    rows = np.arange(30.0).reshape(5, 6)
    found = load(flow.AddToken(blob_of(rows), token=-1, begin=False))
    assert np.array_equal(found, np.pad(rows, ((0, 0), (0, 1)), constant_values=-1))


def test_attrs():
    with pytest.raises(flow.InvalidArgumentError, match="token = 256; the rows are uint8"):
        flow.AddToken(np.zeros(3, np.uint8), token=256)
    with pytest.raises(flow.InvalidArgumentError, match="one dimension"):
        flow.AddToken(np.zeros((3, 2)), token=1)
