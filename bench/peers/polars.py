"""polars: the fastest parser among the peers, and no loader."""

from __future__ import annotations

from collections.abc import Iterator

import polars

from bench import reservoir, wide_text
from bench.columns import values_and_label
from bench.contender import Batch, Source, contender
from bench.json_lines import Marks

SCHEMA = {"x": polars.Float64, "y": polars.Float64}


def columns(frame: polars.DataFrame) -> Batch:
    return frame["x"].to_numpy(), frame["y"].to_numpy()


def tables(source: Source) -> Iterator[Batch]:
    for path in source.files:
        yield columns(polars.read_csv(path, has_header=False, schema=SCHEMA))


@contender("W1a")
def read_csv(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, sliced."""
    for x, y in tables(source):
        yield from reservoir.slices(x, y, source.batch_size)


@contender("W1a")
def scan_csv(source: Source) -> Iterator[Batch]:
    """The streaming engine, collect() of a part at a time, sliced."""
    for path in source.files:
        scan = polars.scan_csv(path, has_header=False, schema=SCHEMA)
        x, y = columns(scan.collect(engine="streaming"))
        yield from reservoir.slices(x, y, source.batch_size)


@contender("W1b", name="buffer")
def shuffled(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time, then a shuffle buffer in NumPy."""
    yield from reservoir.shuffled(tables(source), source.batch_size)


def read_all(source: Source) -> polars.DataFrame:
    return polars.scan_csv(source.files, has_header=False, schema=SCHEMA).collect(
        engine="streaming"
    )


@contender("W1b")
def in_memory(source: Source) -> Iterator[Batch]:
    """All read, a permutation, batches taken by it: a global shuffle, all rows in memory."""
    yield from reservoir.permuted(*columns(read_all(source)), source.batch_size)


@contender("W1b")
def sample(source: Source) -> Iterator[Batch]:
    """All read, sample(shuffle=True), sliced: a global shuffle, all rows in memory twice."""
    x, y = columns(read_all(source).sample(fraction=1, shuffle=True, seed=7))
    yield from reservoir.slices(x, y, source.batch_size)


WIDE = {name: polars.Float32 for name in wide_text.NAMES} | {"y": polars.Int64}


@contender("W1c")
def wide(source: Source) -> Iterator[Batch]:
    """read_csv of a part at a time with a schema, to_numpy(), sliced."""
    for path in source.files:
        frame = polars.read_csv(path, schema=WIDE)
        x, y = frame.select(wide_text.NAMES).to_numpy(), frame["y"].to_numpy()
        for batch in reservoir.slices(x, y, source.batch_size):
            yield values_and_label(*batch)


PAGES = {
    "text": polars.String,
    "meta": polars.Struct({"lang": polars.String}),
    "score": polars.Float64,
}


@contender("W13")
def scan_ndjson(source: Source) -> Iterator[Batch]:
    """The streaming engine, collect() of a part at a time with a schema, sliced."""
    lang = polars.col("meta").struct.field("lang")
    for path in source.files:
        scan = polars.scan_ndjson(path, schema=PAGES).select("text", lang, "score")
        for some in scan.collect(engine="streaming").iter_slices(source.batch_size):
            yield some["score"].to_numpy(), Marks(some.select("text", "lang").rows)
