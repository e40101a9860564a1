"""Rows of 1 KB in columnar files: an int64, a text and 128 float32, as Arrow streams of record
batches of 1000 rows, which is what datasets writes, and as Parquet files of row groups of 5000; and
rows of tokens as such streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.data import Data, Truth

VALUES = 128  # of a row
TEXT_BYTES = 500  # mean of a row; they differ by up to 100
Array = npt.NDArray[Any]
Columns = tuple[Array, Array, Array, Array]  # numbers, bytes of all texts, their lengths, values


@dataclasses.dataclass(frozen=True)
class ArrowRows(Data):
    """A row of the truth is a digest of the text and the values, and the number."""

    parts: int = 4

    KIND: ClassVar[str] = "arrow-rows"
    FILE: ClassVar[str] = "part-{:03}.arrow"
    VERSION: ClassVar[int] = 1
    ROW_BYTES: ClassVar[float] = 8 + TEXT_BYTES + 4 * VALUES + 8  # with two offsets
    AT_ONCE: ClassVar[int] = 1000  # rows of a record batch

    @property
    def part_records(self) -> int:
        return max(1000, super().part_records)

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        sink = _Sink()
        writer = None
        for columns in _columns(self.part_records, self.AT_ONCE, part):
            table = _table(*columns)
            writer = writer or self.writer(sink, table.schema)
            writer.write_table(table)
            yield sink.take(), Truth.of(digests(*columns[1:]), columns[0])
        if writer:
            writer.close()
        yield sink.take(), Truth()

    def writer(self, sink: Any, schema: Any) -> Any:
        import pyarrow

        return pyarrow.ipc.new_stream(sink, schema)


@dataclasses.dataclass(frozen=True)
class ParquetRows(ArrowRows):
    KIND: ClassVar[str] = "parquet-rows"
    FILE: ClassVar[str] = "part-{:03}.parquet"
    AT_ONCE: ClassVar[int] = 5000  # rows of a row group

    def writer(self, sink: Any, schema: Any) -> Any:
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(sink, schema)


@dataclasses.dataclass(frozen=True)
class TokenRows(Data):
    """Rows of tokens, a source in each file; a row of the truth is a token, twice."""

    parts: int = 100

    KIND: ClassVar[str] = "token-rows"
    FILE: ClassVar[str] = "source-{:03}.arrow"
    VERSION: ClassVar[int] = 1
    ROW_BYTES: ClassVar[float] = 2200
    MOST: ClassVar[int] = 2048  # tokens of a row

    @property
    def part_records(self) -> int:
        return max(4, super().part_records)

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        import pyarrow

        random = np.random.RandomState(8000 + part)
        drawn = random.lognormal(np.log(400), 0.8, self.part_records).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(np.clip(drawn, 1, self.MOST))]).astype(np.int32)
        tokens = random.randint(1, 50257, ends[-1]).astype(np.int32)
        table = pyarrow.table({"input_ids": pyarrow.ListArray.from_arrays(ends, tokens)})
        sink = _Sink()
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=1000)
        yield sink.take(), Truth.of(tokens, tokens)


class _Sink:
    """A file to write, of which the bytes are taken piece by piece."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def _columns(rows: int, at_once: int, part: int) -> Iterator[Columns]:
    random = np.random.RandomState(6000 + part)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz      ", np.uint8)
    for begin in range(0, rows, at_once):
        some = min(at_once, rows - begin)
        numbers = part * rows + begin + np.arange(some)
        lengths = random.randint(TEXT_BYTES - 100, TEXT_BYTES + 101, some)
        text = letters[random.randint(0, len(letters), lengths.sum())]
        yield numbers, text, lengths, random.random_sample((some, VALUES)).astype(np.float32)


def _table(numbers: Array, text: Array, lengths: Array, values: Array) -> Any:
    import pyarrow

    begins = pyarrow.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    texts = pyarrow.StringArray.from_buffers(len(numbers), begins, pyarrow.py_buffer(text))
    rows = np.arange(0, values.size + 1, VALUES, dtype=np.int32)
    lists = pyarrow.ListArray.from_arrays(rows, values.ravel())
    return pyarrow.table({"n": numbers, "text": texts, "x": lists})


def digests(text: Array, lengths: Array, values: Array) -> Array:
    """A number of each row, exact in float64, in which each value counts, and each byte of the text
    with its place."""
    begins = np.cumsum(lengths) - lengths
    places = np.arange(1, len(text) + 1) - np.repeat(begins, lengths)
    texts = np.add.reduceat(text * places, begins)
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    weights = np.arange(1, VALUES + 1, dtype=np.uint64)
    return (bits * weights).sum(1) % 2**26 * 2.0**26 + texts % 2**26


class Digests:
    """Those of a batch; only what checks the epoch makes them of its columns."""

    def __init__(self, rows: int, columns: Callable[[], tuple[Any, Any, Any]]) -> None:
        self._rows, self._columns = rows, columns

    def __len__(self) -> int:
        return self._rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return digests(*self._columns()).astype(dtype or np.float64)


def of_table(table: Any) -> tuple[Digests, Any]:
    """A batch as a contender yields it, of a table or a record batch of pyarrow."""

    def columns() -> tuple[Any, Any, Any]:
        parts = [table] if not hasattr(table, "to_batches") else table.to_batches()
        texts = [text.encode() for part in parts for text in part["text"].to_pylist()]
        values = np.concatenate([part["x"].flatten() for part in parts]).reshape(-1, VALUES)
        return np.frombuffer(b"".join(texts), np.uint8), np.array(list(map(len, texts))), values

    return Digests(table.num_rows, columns), table["n"]


def orders(rows: int, batch_size: int) -> Iterator[Array]:
    """The rows of each batch, in a new random order."""
    order = np.random.permutation(rows)
    for at in range(0, rows, batch_size):
        yield order[at : at + batch_size]
