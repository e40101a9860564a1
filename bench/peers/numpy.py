"""NumPy's own parser; it needs no environment but ours, so the smoke run has a peer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench import reservoir
from bench.contender import Batch, Source, contender


def tables(source: Source) -> Iterator[Batch]:
    for path in source.files:
        x, y = np.loadtxt(path, delimiter=",", unpack=True, ndmin=2)
        yield x, y


@contender("W1a", parts=2)
def loadtxt(source: Source) -> Iterator[Batch]:
    """loadtxt of a part at a time, sliced."""
    for x, y in tables(source):
        yield from reservoir.slices(x, y, source.batch_size)


@contender("W1b", parts=2, name="loadtxt")
def loadtxt_shuffled(source: Source) -> Iterator[Batch]:
    """loadtxt of a part at a time, then a shuffle buffer in NumPy."""
    yield from reservoir.shuffled(tables(source), source.batch_size)
