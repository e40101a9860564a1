"""One value of each record of a data set, from one pass over all of them, kept on disk.

A pass reads only the fields that it needs.  Records are in the order before a shuffle that comes
last, which has no part in what a record is.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import CorruptDataError, InvalidArgumentError, UnsupportedError
from ..nodes import Blob
from ..nodes.node import nodes_of, reader_nodes
from ..loader import DataLoader
from ..loader.open_loader import open_loader_of
from ..loader.state import Reader
from ..ragged import Ragged
from ..insight.progress import Bar
from .base import DatasetBase
from .batching import node_alone
from .changing import changing_fields
from .column_cache import CachedArray, cache_folder
from .fingerprints import of_blobs, version

Array = npt.NDArray[Any]
Columns = dict[str, Any]

_LEAST_BYTES = 16 << 20  # of data, for the disk: as indexes
_LEAST_SECONDS = 1.0  # or the time that a pass took
_BATCH_BYTES = 8 << 20
_MOST_ROWS = 65536
_ALIGNMENT = 64  # rows of a batch fill whole words of a bitmap
ID = "id"  # in a batch: file and number of each record


@dataclass(frozen=True)
class Computation:
    """What a pass computes.

    Attributes:
        blobs: The fields that it needs.
        of_batch: The values of a batch.
        key: A text that differs where the values can; None: it is not known.
        said: What is evaluated, in words.
        sample: The values of a batch without rows, where they can be told.
        with_id: Whether a batch has the blob `ID` of the records, too.
        prepare: Called with the open loader before a pass.
        of_all: What becomes of the values of all records.
    """

    blobs: Mapping[str, Blob]
    of_batch: Callable[[Columns], Any]
    key: str | None
    said: str
    sample: Array | Ragged | None = None
    with_id: bool = False
    prepare: Callable[[DataLoader[Columns]], None] | None = None
    of_all: Callable[[Array], Array] | None = None


# ---- The cache ----------------------------------------------------------------------------------


def evaluate(wanted: Computation, data: DatasetBase, *, is_bitmap: bool = False) -> Array:
    """The values of all records, from the cache or from a pass over them."""
    try:
        opened = _opened(wanted, data, 1, num_threads=1, prefetch=1)
    except CorruptDataError as failure:
        if failure.reason != "no-records" or len(reader_nodes(list(data._fields.values()))) > 1:
            raise
        return np.zeros(0, np.uint64 if is_bitmap else np.int64)
    with opened as loader:
        reader = loader.readers[0]
        if reader.records < 0:
            raise UnsupportedError(
                f"{wanted.said}: records that are read in sequence have no numbers; convert the "
                "files, or cache() the data set before"
            )
        cached, is_given = _cached(wanted, data, loader, is_bitmap)

    def compute() -> Array:
        return _Pass(wanted, data, reader, is_bitmap).values()

    if cached is None:
        return compute()
    found = cached.load()
    if found is not None:
        return found
    if not is_given and reader.bytes < _LEAST_BYTES:
        since = time.monotonic()
        values = compute()
        return cached.store(values) if time.monotonic() - since >= _LEAST_SECONDS else values
    with cached.lock():
        found = cached.load()  # another process may have computed it meanwhile
        return cached.store(compute()) if found is None else found


def _opened(
    wanted: Computation, data: DatasetBase, batch_size: int, **options: Any
) -> DataLoader[Columns]:
    blobs = list(wanted.blobs.values()) or [next(iter(data._fields.values()))]
    node = node_alone(blobs, batch_size, with_id=wanted.with_id)
    outputs = dict(zip(wanted.blobs, node.outputs, strict=False))
    if wanted.with_id:
        outputs[ID] = node.outputs[-1]
    return DataLoader(outputs, **options)


def _cached(
    wanted: Computation, data: DatasetBase, loader: DataLoader[Columns], is_bitmap: bool
) -> tuple[CachedArray | None, bool]:
    """The file for the values, if they can be kept; and whether the user said where."""
    nodes = reader_nodes(list(wanted.blobs.values()) or list(data._fields.values()))
    given = (str(node.values.get("index_dir", "")) for node in nodes)
    named = next((folder for folder in given if folder), "")
    folder, graph = cache_folder(named), of_blobs(wanted.blobs)
    paths = [os.path.abspath(path) for path in open_loader_of(loader).files()]
    if folder is None or wanted.key is None or graph is None or not paths:
        return None, False
    reader = loader.readers[0]
    identity = [version(), wanted.key, graph, is_bitmap, sorted(reader.spec.items()), paths]
    found = [os.stat(path) for path in paths]
    state = [reader.data, [(one.st_size, one.st_mtime_ns) for one in found]]
    return CachedArray(folder, json.dumps(identity), json.dumps(state)), bool(named)


# ---- A pass -------------------------------------------------------------------------------------


class _Pass:
    """One pass over all records."""

    def __init__(
        self, wanted: Computation, data: DatasetBase, reader: Reader, is_bitmap: bool
    ) -> None:
        self._wanted, self._data, self._is_bitmap = wanted, data, is_bitmap
        self._records = reader.records
        bytes_of_record = max(1, reader.bytes // max(1, reader.records))
        bytes_of_record = max(bytes_of_record, sum(map(_row_bytes, wanted.blobs.values())))
        rows = min(max(_BATCH_BYTES // bytes_of_record, _ALIGNMENT), _MOST_ROWS)
        self._rows = rows // _ALIGNMENT * _ALIGNMENT
        self._done = 0
        self._array = (
            np.zeros((self._records + 63) // 64, np.uint64) if is_bitmap else np.empty(0, np.int64)
        )

    def values(self) -> Array:
        """Reads the records, in batches that all threads make."""
        if any(not (node.op.is_reader or node.op.is_view)
               for node in nodes_of(self._wanted.blobs.values())):  # fmt: skip
            self._check_fields()
        with (
            _opened(self._wanted, self._data, self._rows) as loader,
            Bar(self._wanted.said, self._records) as progress,
        ):
            if self._wanted.prepare is not None:
                self._wanted.prepare(loader)
            for batch in loader:
                rows = len(next(iter(batch.values())))
                found = self._checked(self._wanted.of_batch(batch), rows)
                if self._is_bitmap:
                    self._add_bits(found)
                else:
                    self._add(found)
                self._done += rows
                progress.update(self._done)
        if self._is_bitmap and sys.byteorder == "big":
            self._array.byteswap(inplace=True)
        of_all = self._wanted.of_all
        return self._array if of_all is None else of_all(self._array)

    def _check_fields(self) -> None:
        """Refuses fields that random ops compute."""
        changing = changing_fields(self._wanted.blobs)
        if changing:
            raise InvalidArgumentError(
                f"{self._wanted.said}: its fields change from epoch to epoch "
                f"({', '.join(changing)}), so that no value is that of the record for good; use "
                "fields before random ops"
            )

    def _checked(self, found: Any, rows: int) -> Array:
        if isinstance(found, Ragged):
            if found.dtype != np.uint8 or len(found.row_shape) != 1 or self._is_bitmap:
                self._refuse(f"rows of shape {found.row_shape}; len() gives their lengths", rows)
            return np.array(found.to_bytes_list(), np.bytes_)
        values = np.asarray(found)
        if self._is_bitmap and values.shape != (rows,) and values.size == rows:
            values = values.reshape(-1)
        is_right = values.shape[:1] == (rows,) and not values.dtype.hasobject
        if self._is_bitmap:
            is_right = values.shape == (rows,) and values.dtype == np.bool_
        if not is_right:
            self._refuse(f"{values.dtype} of shape {values.shape}", rows)
        return values

    def _refuse(self, found: str, rows: int) -> NoReturn:
        wanted = "one truth (bool)" if self._is_bitmap else "one value"
        raise InvalidArgumentError(
            f"{self._wanted.said} gives {found} for {rows} records; it must give {wanted} for each"
        )

    def _add_bits(self, truths: Array) -> None:
        packed = np.packbits(truths, bitorder="little")
        begin = self._done // 8  # a multiple of 8
        self._array.view(np.uint8)[begin : begin + len(packed)] = packed

    def _add(self, values: Array) -> None:
        if self._done == 0:
            self._array = np.empty((self._records, *values.shape[1:]), values.dtype)
        if values.shape[1:] != self._array.shape[1:]:
            self._refuse(f"rows of shape {values.shape[1:]} after {self._array.shape[1:]}",
                         len(values))  # fmt: skip
        dtype = np.promote_types(self._array.dtype, values.dtype)
        if dtype != self._array.dtype:
            self._array = self._array.astype(dtype)
        self._array[self._done : self._done + len(values)] = values


def _row_bytes(blob: Blob) -> int:
    """Of a row that has one size; 0 of others."""
    sizes = [size or 0 for size in blob.shape[1:]]
    return math.prod(sizes) * blob.dtype.itemsize
