"""Random ops of images: rates, models in NumPy and Pillow, the same draws for a record."""

from __future__ import annotations

import numpy as np
import pytest
from support.decoder_rows import blob_of, load
from support.same_draws import check_same_draws

import pyflowdata as flow

CHANCE = np.random.default_rng(0)
PICTURES = CHANCE.integers(0, 256, (40, 8, 9, 3), np.uint8)


def test_coin_flips():
    count = 2000
    rows = np.arange(count)
    for probability in (0.0, 0.2, 0.5, 1.0):
        flips = load(flow.CoinFlip(blob_of(rows, batch_size=64), probability=probability))
        assert flips.dtype == np.int8 and set(flips.tolist()) <= {0, 1}
        assert abs(flips.mean() - probability) < 4 * np.sqrt(0.25 / count)
    blob = blob_of(rows)
    first, second = load(flow.CoinFlip(blob), flow.CoinFlip(blob))
    assert 0.4 < (first == second).mean() < 0.6  # independent
    with pytest.raises(flow.InvalidArgumentError, match="probability"):
        flow.CoinFlip(blob, probability=1.1)
    check_same_draws(flow.CoinFlip, PICTURES)
