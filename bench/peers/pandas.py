"""pandas: the C engine, which is the fastest one, and since 3.1 uses several threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas

from bench import reservoir, wide_text
from bench.columns import values_and_label
from bench.contender import Batch, Source, contender


def tables(source: Source) -> Iterator[Batch]:
    for path in source.files:
        frame = pandas.read_csv(path, header=None, names=["x", "y"], dtype=np.float64, engine="c")
        yield frame["x"].to_numpy(), frame["y"].to_numpy()


@contender("W1a")
def read_csv(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, sliced."""
    for x, y in tables(source):
        yield from reservoir.slices(x, y, source.batch_size)


@contender("W1b", name="buffer")
def shuffled(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, then a shuffle buffer in NumPy."""
    yield from reservoir.shuffled(tables(source), source.batch_size)


@contender("W1b")
def in_memory(source: Source) -> Iterator[Batch]:
    """All read, a permutation, batches taken by it: a global shuffle, all rows in memory."""
    x, y = (np.concatenate(column) for column in zip(*tables(source)))
    yield from reservoir.permuted(x, y, source.batch_size)


@contender("W1c")
def wide(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time with dtypes, to_numpy(), sliced."""
    types = {name: np.float32 for name in wide_text.NAMES} | {"y": np.int64}
    for path in source.files:
        frame = pandas.read_csv(path, dtype=types, engine="c")
        x, y = frame[wide_text.NAMES].to_numpy(), frame["y"].to_numpy()
        for batch in reservoir.slices(x, y, source.batch_size):
            yield values_and_label(*batch)
