"""datasets of Hugging Face: mapped Arrow streams, Parquet files as a stream, functions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import datasets
import numpy as np

from bench import records, rows
from bench.contender import Batch, Source, contender

datasets.disable_progress_bars()
datasets.disable_caching()
datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN = 0  # 5 s at the end of a shuffled stream


def of_numpy(batch: Any) -> Batch:
    def columns() -> tuple[Any, Any, Any]:
        texts = [str(text).encode() for text in batch["text"]]
        return np.frombuffer(b"".join(texts), np.uint8), np.array(list(map(len, texts))), batch["x"]

    return rows.Digests(len(batch["n"]), columns), batch["n"]


def mapped(source: Source, kind: str) -> Any:
    parts = [datasets.Dataset.from_file(path) for path in source.files]
    return datasets.concatenate_datasets(parts).with_format(kind)


for size in (256, 64):

    @contender("W12", name=f"random-{size}-numpy", parts=1)
    def random_numpy(source: Source, size: int = size) -> Iterator[Batch]:
        """with_format("numpy")[list of rows]."""
        data = mapped(source, "numpy")
        for order in rows.orders(len(data), size):
            yield of_numpy(data[order])

    @contender("W12", name=f"random-{size}-arrow", parts=1)
    def random_arrow(source: Source, size: int = size) -> Iterator[Batch]:
        """with_format("arrow")[list of rows], whose columns combine_chunks() joins."""
        data = mapped(source, "arrow")
        for order in rows.orders(len(data), size):
            yield rows.of_table(data[order].combine_chunks())

    @contender("W12", name=f"random-{size}-pieces", parts=1)
    def random_pieces(source: Source, size: int = size) -> Iterator[Batch]:
        """with_format("arrow")[list of rows] as it comes: a chunk a row; no byte is read."""
        data = mapped(source, "arrow")
        for order in rows.orders(len(data), size):
            yield rows.of_table(data[order])


@contender("W12", name="random-256-shuffle", parts=1)
def shuffle(source: Source) -> Iterator[Batch]:
    """shuffle().with_format("arrow").iter(), joined."""
    data = mapped(source, "arrow").shuffle(keep_in_memory=True)
    for batch in data.iter(source.batch_size):
        yield rows.of_table(batch.combine_chunks())


@contender("W12", name="in-order-numpy", parts=1)
def in_order_numpy(source: Source) -> Iterator[Batch]:
    """with_format("numpy").iter()."""
    yield from map(of_numpy, mapped(source, "numpy").iter(source.batch_size))


@contender("W12", name="in-order-arrow")
def in_order_arrow(source: Source) -> Iterator[Batch]:
    """with_format("arrow").iter(): slices of the map, of which no byte is read."""
    yield from map(rows.of_table, mapped(source, "arrow").iter(source.batch_size))


def streamed(source: Source, kind: str) -> Any:
    files: Any = source.files
    data = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
    return data.with_format(kind)


def batches(data: Any, size: int) -> Iterable[Any]:
    found: Iterable[Any] = data.iter(size)
    return found


@contender("W14", name="stream")
def stream(source: Source) -> Iterator[Batch]:
    """load_dataset(streaming=True) in order, with_format("arrow").iter()."""
    yield from map(rows.of_table, batches(streamed(source, "arrow"), source.batch_size))


@contender("W14", name="stream-shuffled", parts=1)
def stream_shuffled(source: Source) -> Iterator[Batch]:
    """The same with shuffle(buffer_size=1000), the default, of columns as NumPy arrays."""
    data = streamed(source, "numpy").shuffle(seed=7, buffer_size=1000)
    yield from map(of_numpy, batches(data, source.batch_size))


@contender("W14", name="stream-shuffled-arrow", parts=1)
def stream_shuffled_arrow(source: Source) -> Iterator[Batch]:
    """The same with_format("arrow")."""
    data = streamed(source, "arrow").shuffle(seed=7, buffer_size=1000)
    yield from map(rows.of_table, batches(data, source.batch_size))


def of_records(source: Source) -> Any:
    x, n = records.load(source)
    return datasets.Dataset.from_dict({"x": x, "n": n})


def map_records(source: Source, kind: str | None = None, **options: Any) -> records.Epochs:
    data = of_records(source).with_format(kind)

    def found() -> Iterable[Any]:
        mapped = data.map(records.mapped, keep_in_memory=True, **options)
        return batches(mapped.with_format("numpy"), source.batch_size)

    return records.Epochs(found, "y")


of_columns = {"kind": "numpy", "batched": True}
for name, text, options in (
    ("map", "map(function)", {}),
    ("map-batched", "map(batched=True) of NumPy arrays", of_columns),
    ("map-processes", "map(function, num_proc=2)", {"num_proc": 2}),
):
    contender("W16", name=name, text=f"{text} into memory, in each epoch; NumPy arrays.")(
        functools.partial(map_records, **options)
    )


@contender("W16", name="map-stream", parts=1)
def map_stream(source: Source) -> records.Epochs:
    """to_iterable_dataset().map(function).with_format("numpy").iter()."""
    data = of_records(source).to_iterable_dataset().map(records.mapped).with_format("numpy")
    return records.Epochs(lambda: batches(data, source.batch_size), "y")


def parts_of_columns(columns: Any) -> Any:
    parts = [part for x, n in zip(columns["x"], columns["n"])
             for part in records.whole_parts_of({"x": x, "n": n})]  # fmt: skip
    return {name: [part[name] for part in parts] for name in ("x", "part")}


@contender("W17")
def parts(source: Source) -> records.Epochs:
    """map(batched=True) that returns more rows, into memory in each epoch; NumPy arrays."""
    data = of_records(source)

    def found() -> Iterable[Any]:
        options: Any = {"batched": True, "remove_columns": ["n"], "keep_in_memory": True}
        more = data.map(parts_of_columns, **options).with_format("numpy")
        return batches(more, source.batch_size)

    return records.Epochs(found, "part")


@contender("W17", data=records.Windows(6.4))
def windows(source: Source) -> records.WindowEpochs:
    """Slices of 16 of with_format("numpy"), stacked."""
    data = of_records(source).with_format("numpy")
    ends = range(records.LENGTH, len(data) + 1, records.STEP)

    def found() -> Iterator[Any]:
        for at in range(0, len(ends), source.batch_size):
            some = [data[end - records.LENGTH : end] for end in ends[at : at + source.batch_size]]
            yield {name: np.stack([each[name] for each in some]) for name in ("x", "n")}

    return records.WindowEpochs(found)
