"""pyarrow: its CSV reader, a part at a time on all cores, or as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow
from pyarrow import csv

from bench import reservoir, wide_text
from bench.columns import values_and_label
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


WIDE = csv.ConvertOptions(
    column_types={name: pyarrow.float32() for name in wide_text.NAMES} | {"y": pyarrow.int64()}
)


def matrices(blocks: Iterable[Any], batch_size: int) -> Iterator[Batch]:
    for block in blocks:
        x = np.column_stack([block[name].to_numpy() for name in wide_text.NAMES])
        for batch in reservoir.slices(x, block["y"].to_numpy(), batch_size):
            yield values_and_label(*batch)


@contender("W1c")
def wide(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time with types, its columns stacked, sliced."""
    tables = (csv.read_csv(path, convert_options=WIDE) for path in source.files)
    yield from matrices(tables, source.batch_size)


@contender("W1c")
def wide_stream(source: Source) -> Iterator[Batch]:
    """The streaming reader with types, the columns of its record batches stacked, sliced."""
    for path in source.files:
        yield from matrices(csv.open_csv(path, convert_options=WIDE), source.batch_size)
