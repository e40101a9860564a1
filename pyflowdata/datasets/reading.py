"""Records of a data set by number, one after another, and how many there are."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..graph import Blob, Node, find_op
from ..graph.in_use import nothing_in_use
from ..loader import DataLoader
from ..ragged import Ragged
from .base import DatasetBase

_AT_ONCE = 64  # records that iteration reads


def batch_node(
    blobs: Mapping[str, Blob], data: DatasetBase, attrs: Mapping[str, Any]
) -> Node:
    """The node of the batches of a data set."""
    shuffle = data._shuffle
    given: dict[str, Any] = {"fields": list(blobs), **attrs}
    if shuffle is not None:
        given |= {"random_shuffle": True, "shuffle": shuffle.kind, "order_key": shuffle.order_key,
                  "shuffle_after_epoch": shuffle.reshuffle, **shuffle.attrs}  # fmt: skip
        if shuffle.seed is not None and "seed" not in given:
            given["seed"] = shuffle.seed
    return Node(find_op("BatchDataset"), None, list(blobs.values()), given)


def row_of(values: Any, row: int) -> Any:
    """One row of a batch's array; numbers as NumPy scalars, bytes as bytes."""
    found = values[row]
    if isinstance(values, Ragged) and found.dtype == np.uint8 and found.ndim == 1:
        return found.tobytes()
    return found.copy() if isinstance(found, np.ndarray) else found


class Reading(DatasetBase):
    """The methods of `Dataset` that read records."""

    _opened: DataLoader[Any] | None = None

    def _reader(self) -> DataLoader[Any]:
        """A loader of single records, kept open."""
        if self._opened is None:
            self._opened = self._loader(1, num_threads=1, prefetch=1)
        return self._opened

    def _loader(self, batch_size: int, **options: Any) -> DataLoader[Any]:
        own = {"batch_size": batch_size, "rank": 0, "world_size": 1}
        if self._shuffle is None or self._shuffle.seed is None:
            own["seed"] = 0
        node = batch_node(self._fields, self, own)
        blobs = dict(zip(self._fields, node.outputs, strict=False))
        with nothing_in_use():
            return DataLoader(blobs, **options)

    def __len__(self) -> int:
        """Records of an epoch.

        Raises:
            TypeError: The source can only be read in sequence.
        """
        records = self._reader().readers[0].records
        if records < 0:
            raise TypeError("this data set has no len(): its source is read in sequence")
        return records

    def record(self, index: int) -> dict[str, Any]:
        """A record of the first epoch, by number; negative ones count from the end."""
        size = len(self)
        place = operator.index(index)
        place += size if place < 0 else 0
        if not 0 <= place < size:
            raise IndexError(f"record {index} of {size} records")
        loader = self._reader()
        loader.seek(place, epoch=0)
        batch = next(iter(loader))
        return {name: row_of(values, 0) for name, values in batch.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The records of the first epoch, in order."""
        with self._loader(_AT_ONCE) as loader:
            for batch in loader:
                rows = len(next(iter(batch.values())))
                for row in range(rows):
                    yield {name: row_of(values, row) for name, values in batch.items()}

    def head(self, count: int = 5) -> list[dict[str, Any]]:
        """The first records."""
        if operator.index(count) < 0:
            raise InvalidArgumentError(f"head({shown(count)}); it must be 0 or more")
        records = iter(self)
        return [record for _, record in zip(range(count), records, strict=False)]
