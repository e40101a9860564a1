"""NumPy's own parser; it needs no environment but ours, so the smoke run has a peer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench import digits, reservoir, tokens
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


class Shuffled:
    """A loop over a permutation of arrays in memory."""

    def __init__(self, source: Source, scaled: Any) -> None:
        self._images, self._labels = map(digits.load, source.files)
        self._batch_size, self._scaled = source.batch_size, scaled

    def __iter__(self) -> Iterator[Batch]:
        order = np.random.permutation(len(self._images))
        for begin in range(0, len(order), self._batch_size):
            chosen = order[begin : begin + self._batch_size]
            yield self._scaled(self._images, chosen), self._labels[chosen]


@contender("W3")
def take(source: Source) -> digits.Epochs:
    """take() by a permutation, astype(), and a product in place."""
    scale = np.float32(digits.SCALE)

    def scaled(pixels: Any, chosen: Any) -> Any:
        batch = pixels.take(chosen, 0).astype(np.float32)
        batch *= scale
        return batch

    return digits.Epochs(Shuffled(source, scaled))


@contender("W3")
def multiply(source: Source) -> digits.Epochs:
    """The same by an index and multiply() into float32."""
    scale = np.float32(digits.SCALE)

    def scaled(pixels: Any, chosen: Any) -> Any:
        return np.multiply(pixels[chosen], scale, dtype=np.float32)

    return digits.Epochs(Shuffled(source, scaled))
