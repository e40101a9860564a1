"""pyarrow: its CSV reader, a part at a time on all cores, or as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from pyarrow import csv

from bench import reservoir, rows, wide_text
from bench.columns import values_and_label
from bench.contender import Batch, Source, contender, on_all_and_one_core

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


def mapped(source: Source) -> Any:
    streams = [pyarrow.ipc.open_stream(pyarrow.memory_map(path)) for path in source.files]
    return pyarrow.concat_tables(stream.read_all() for stream in streams)


@contender("W12", name="random-256-take", data=rows.ArrowRows(100))
def take(source: Source) -> Iterator[Batch]:
    """take() of a table that is mapped, which takes longer the larger the table is."""
    table = mapped(source)
    for order in rows.orders(len(table), source.batch_size):
        yield rows.of_table(table.take(order))


for size in (256, 64):

    @contender("W12", name=f"random-{size}-take-joined")
    def take_joined(source: Source, size: int = size) -> Iterator[Batch]:
        """take() of the table that combine_chunks() made, which is in memory."""
        table = mapped(source).combine_chunks()
        for order in rows.orders(len(table), size):
            yield rows.of_table(table.take(order))


@contender("W12", name="in-order-copied")
def in_order(source: Source) -> Iterator[Batch]:
    """Slices of the mapped table, which take() copies."""
    table = mapped(source)
    for at in range(0, len(table), source.batch_size):
        some = table.slice(at, source.batch_size)
        yield rows.of_table(some.take(np.arange(len(some))))


def row_groups(source: Source) -> Iterator[Any]:
    for path in source.files:
        file = pyarrow.parquet.ParquetFile(path)
        yield from map(file.read_row_group, range(file.num_row_groups))


@on_all_and_one_core("W14", name="iter_batches")
def iter_batches(source: Source) -> Iterator[Batch]:
    """iter_batches(), columns in threads."""
    for path in source.files:
        file = pyarrow.parquet.ParquetFile(path)
        yield from map(rows.of_table, file.iter_batches(source.batch_size))


@on_all_and_one_core("W14", name="read_row_group")
def read_row_group(source: Source) -> Iterator[Batch]:
    """read_row_group(), columns in threads, sliced."""
    for table in row_groups(source):
        yield from map(rows.of_table, table.to_batches(source.batch_size))


@on_all_and_one_core("W14", name="dataset")
def scanner(source: Source) -> Iterator[Batch]:
    """to_batches() of a dataset: files and columns in threads, read ahead."""
    import pyarrow.dataset

    data = pyarrow.dataset.dataset(source.files)
    yield from map(rows.of_table, data.to_batches(batch_size=source.batch_size))


@contender("W14", name="take-shuffled")
def take_shuffled(source: Source) -> Iterator[Batch]:
    """read_row_group(), each permuted by take(), sliced; the groups stay in their order."""
    for table in row_groups(source):
        for order in rows.orders(len(table), source.batch_size):
            yield rows.of_table(table.take(order))
