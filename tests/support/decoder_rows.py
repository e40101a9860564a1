"""Rows of any dtype and shape, given in memory, as a blob for decoders."""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pyflowdata as flow
from pyflowdata import ops

ALL_DTYPES = [np.dtype(name) for name in (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
)]  # fmt: skip

_tables: dict[int, Sequence[np.ndarray]] = {}
_numbers = itertools.count()
_folder = tempfile.TemporaryDirectory(prefix="pyflowdata-rows-")


@functools.cache
def _records(count: int) -> str:
    """A folder with so many records."""
    folder = Path(_folder.name, str(count))
    folder.mkdir()
    (folder / "part-0").write_bytes(b"1,2\n" * count)
    return str(folder)


@flow.register_decoder(
    outputs={"out": lambda x, *, dtype, shape: (dtype, tuple(shape))}, replace=True
)
def table_rows(x, *, table: int, dtype: str, shape: list[int], ids):
    rows, ordinals = _tables[table], np.asarray(ids)[:, 1]
    if isinstance(rows, np.ndarray):
        return rows[ordinals]
    return [rows[ordinal] for ordinal in ordinals.tolist()]


def blob_of(rows, shape=None, dtype=None, batch_size=None, **reader: Any) -> flow.Blob:
    """A blob with these rows; ragged where `shape` has a -1."""
    if isinstance(rows, np.ndarray):
        dtype, shape = rows.dtype, rows.shape[1:] if shape is None else shape
    dtype = np.dtype(dtype or rows[0].dtype)
    number = next(_numbers)
    if -1 in shape:
        _tables[number] = [np.asarray(row, dtype) for row in rows]
    else:
        _tables[number] = np.array(rows, dtype).reshape(len(rows), *shape)
    record = flow.MiniReader(_records(len(rows)), batch_size=batch_size or len(rows), **reader)
    record = record[0] if isinstance(record, tuple) else record
    return ops.TableRows(record, table=number, dtype=dtype.name, shape=list(shape))


def bytes_of(rows: Sequence[bytes], **reader: Any) -> flow.Blob:
    """A blob of rows of bytes."""
    return blob_of([np.frombuffer(row, np.uint8) for row in rows], [-1], np.uint8, **reader)


def load(*blobs: flow.Blob, **options: Any) -> Any:
    """All rows of an epoch: an array or a list of arrays for each blob.

    Where a test does not ask for threads, one batch is made ahead: more would be those of epochs
    that follow, which nobody takes.
    """
    if "num_threads" not in options:
        options.setdefault("prefetch", 1)
    with flow.DataLoader(list(blobs), **options) as loader:
        batches = list(loader)
        skipped = loader.skipped
    out = []
    for parts in zip(*batches, strict=True):
        if isinstance(parts[0], flow.Ragged):
            out.append([row.copy() for part in parts for row in part])
        else:
            out.append(np.concatenate(parts))
    load.skipped = skipped
    return out[0] if len(blobs) == 1 else out


def same(found: Any, expected: Any) -> None:
    """The same rows, bit for bit, of the same dtype and shape."""
    if isinstance(found, np.ndarray) and isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if found.tobytes() == expected.tobytes():
            return
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes(), (one, other)


def ragged(dtype, count=250, tail=(), most=9, seed=0) -> list[np.ndarray]:
    """Rows of 0 to `most` elements and more dimensions behind, with numbers of all kinds."""
    chance = np.random.default_rng(seed)
    ends = chance.integers(0, most + 1, count).cumsum()
    return np.split(chance.integers(-100, 100, (ends[-1], *tail)).astype(dtype), ends[:-1])
