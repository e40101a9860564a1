"""NumPy's own parser; it needs no environment but ours, so the smoke run has a peer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench import reservoir, tokens
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


@contender("W5")
def windows(source: Source) -> Iterator[Batch]:
    """A loop over slices of the mapped file, each assigned to a row of a new array."""
    file = tokens.load(source.files[0])
    for batch in tokens.batches(file, source.batch_size):
        out = np.empty((len(batch), tokens.SEQ_LENGTH + 1), np.int64)
        for row, begin in enumerate(batch):
            out[row] = file[begin : begin + tokens.SEQ_LENGTH + 1]
        yield tokens.columns(out)


@contender("W5")
def stacked_windows(source: Source) -> Iterator[Batch]:
    """The same by astype() and stack()."""
    file = tokens.load(source.files[0])
    length = tokens.SEQ_LENGTH + 1
    for batch in tokens.batches(file, source.batch_size):
        rows = [file[begin : begin + length].astype(np.int64) for begin in batch]
        yield tokens.columns(np.stack(rows))
