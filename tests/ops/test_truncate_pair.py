"""TruncatePair: against MindSpore's values, and Python."""

import json

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged
from support.paths import ROOT

MINDSPORE = json.loads((ROOT / "tests/fixtures/mindspore/text.json").read_text())
ROW, OTHER = (np.array(one, np.int32) for one in MINDSPORE["rows"])


def test_lengths_are_those_of_mindspore():
    for n, expected in MINDSPORE["TruncateSequencePair"].items():
        found = flow.TruncatePair(ROW, OTHER, max_length=int(n))
        assert [row.tolist() for row in found] == expected


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_ragged_rows_of_each_dtype(dtype):
    rows = ragged(dtype)
    blob = blob_of(rows, [-1], batch_size=100)
    first, second = load(*flow.TruncatePair(blob, flow.Slice(blob, stop=[2]), max_length=5))
    for row, a, b in zip(rows, first, second, strict=True):
        lengths = [len(row), min(len(row), 2)]
        while sum(lengths) > 5:
            lengths[lengths[0] <= lengths[1]] -= 1
        assert (a.tobytes(), b.tobytes()) == tuple(row[:n].tobytes() for n in lengths)


def test_dense_rows_and_attrs():
    rows = np.arange(60.0).reshape(5, 6, 2)
    first, second = load(*flow.TruncatePair(blob_of(rows), blob_of(rows), max_length=5))
    assert np.array_equal(first, rows[:, :3]) and np.array_equal(second, rows[:, :2])
    with pytest.raises(flow.InvalidArgumentError, match="max_length"):
        flow.TruncatePair(ROW, ROW, max_length=-1)
