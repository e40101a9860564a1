"""DuckDB: a database whose reader of JSON takes the columns that a query names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb

from bench.contender import Batch, Source, contender
from bench.json_lines import Marks

COLUMNS = "{text: 'VARCHAR', meta: 'STRUCT(lang VARCHAR)', score: 'DOUBLE'}"


def marks(batch: Any) -> Marks:
    return Marks(lambda: zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()))


@contender("W13")
def read_json(source: Source) -> Iterator[Batch]:
    """read_json with the types of three columns, Arrow batches in any order."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    query = (
        f"SELECT text, meta.lang, score FROM read_json({source.files!r}, "
        f"format = 'newline_delimited', columns = {COLUMNS})"
    )
    for batch in connection.sql(query).to_arrow_reader(source.batch_size):
        yield batch.column(2).to_numpy(), marks(batch)
