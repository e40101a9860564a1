"""Bucketize: against NumPy's searchsorted."""

import numpy as np
import pytest

import pyflowdata as flow
from support.decoder_rows import ALL_DTYPES, blob_of, load, ragged, same


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("side", ["right", "left"])
def test_is_searchsorted(dtype, side):
    given = np.random.default_rng(0).integers(0, 100, (200, 3)).astype(dtype)
    for boundaries in ([3.0], [0, 1, 50, 98.5], [-np.inf, 7, np.inf], list(range(99))):
        blob = flow.Bucketize(blob_of(given), boundaries=boundaries, side=side)
        same(load(blob), np.searchsorted(boundaries, given.astype(float), side=side))


def test_ragged_rows():
    rows = ragged("float32", 200)
    found = load(flow.Bucketize(blob_of(rows, [-1]), boundaries=[-1, 0, 1]), num_threads=2)
    same(found, [np.searchsorted([-1, 0, 1], row, "right") for row in rows])


def test_what_is_refused():
    for wrong in ([], [1, 1], [2, 1], [np.nan], [0, np.nan]):
        with pytest.raises(flow.InvalidArgumentError, match="boundaries"):
            flow.Bucketize(np.zeros(1), boundaries=wrong)
    with pytest.raises(flow.CorruptDataError, match="element 1 of the row is NaN.*FillMissing"):
        flow.Bucketize(np.array([1, np.nan]), boundaries=[0])
