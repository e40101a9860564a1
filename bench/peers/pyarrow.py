"""pyarrow: its CSV reader, a part at a time on all cores, or as a stream."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow
from pyarrow import csv

from bench import reservoir
from bench.contender import Batch, Source, contender

NAMES = csv.ReadOptions(column_names=["x", "y"])
TYPES = csv.ConvertOptions(column_types={"x": pyarrow.float64(), "y": pyarrow.float64()})


def tables(source: Source) -> Iterator[Batch]:
    for path in source.files:
        table = csv.read_csv(path, read_options=NAMES, convert_options=TYPES)
        yield table["x"].to_numpy(), table["y"].to_numpy()


@contender("W1a")
def read_csv(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, sliced."""
    for x, y in tables(source):
        yield from reservoir.slices(x, y, source.batch_size)


@contender("W1a")
def open_csv(source: Source) -> Iterator[Batch]:
    """The streaming reader, its record batches sliced."""
    for path in source.files:
        for batch in csv.open_csv(path, read_options=NAMES, convert_options=TYPES):
            columns = [batch.column(i).to_numpy() for i in range(2)]
            yield from reservoir.slices(columns[0], columns[1], source.batch_size)


@contender("W1b", name="buffer")
def shuffled(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, then a shuffle buffer in NumPy."""
    yield from reservoir.shuffled(tables(source), source.batch_size)
