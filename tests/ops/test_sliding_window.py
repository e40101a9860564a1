"""SlidingWindow: against MindSpore's values, also of Truncate and Ngram, and NumPy."""

import json

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged
from support.paths import ROOT

MINDSPORE = json.loads((ROOT / "tests/fixtures/mindspore/text.json").read_text())
ROW = np.array(MINDSPORE["rows"][0], np.int32)


def test_windows_are_those_of_mindspore():
    for width, expected in MINDSPORE["SlidingWindow"].items():
        assert flow.SlidingWindow(ROW, width=int(width)).tolist() == expected
    for n, expected in MINDSPORE["Ngram"].items():
        windows = flow.SlidingWindow(np.array([0, 1, 2]), width=int(n))
        assert [" ".join("abc"[i] for i in one) for one in windows] == expected
    for n, expected in MINDSPORE["Truncate"].items():
        assert flow.Slice(ROW, stop=[int(n)]).tolist() == expected


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
def test_ragged_rows_of_each_dtype(dtype):
    rows = ragged(dtype)
    blob = blob_of(rows, [-1], batch_size=100)
    windows = load(flow.SlidingWindow(blob, width=3, step=2), num_threads=3)
    for row, found in zip(rows, windows, strict=True):
        expected = [row[i : i + 3] for i in range(0, len(row) - 2, 2)]
        assert found.dtype == dtype and found.shape == (len(expected), 3)
        assert found.tobytes() == b"".join(one.tobytes() for one in expected)


def test_dense_rows_and_rows_of_several_dimensions():
    rows = np.arange(60.0).reshape(5, 6, 2)
    view = np.lib.stride_tricks.sliding_window_view(rows, 4, axis=1).transpose(0, 1, 3, 2)
    found = load(flow.SlidingWindow(blob_of(rows), width=4))
    assert found.shape == (5, 3, 4, 2) and np.array_equal(found, view)
    assert load(flow.SlidingWindow(blob_of(rows), width=7)).shape == (5, 0, 7, 2)


def test_attrs():
    with pytest.raises(flow.InvalidArgumentError, match="width"):
        flow.SlidingWindow(ROW, width=0)
    with pytest.raises(flow.InvalidArgumentError, match="1 to 7 dimensions"):
        flow.SlidingWindow(blob_of(np.zeros(3)), width=1)
