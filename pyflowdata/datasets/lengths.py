"""The lengths of records, as views need them that pack records or sort them by length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..graph.tables import Table
from ..loader import DataLoader
from ..ragged import Ragged
from .base import DatasetBase
from .batches import batch_node

Array = npt.NDArray[Any]

_AT_ONCE = 1024  # records that are counted


def lengths_table(data: DatasetBase, field: str, lengths: npt.ArrayLike | None) -> Table:
    """The length of each record; made when a loader first needs it, unless it is given.

    Args:
        data: The records.
        field: Whose rows are counted.
        lengths: One for each record, if they are known.

    Raises:
        InvalidArgumentError: The field has no length, or the array no whole numbers.
    """
    if field not in data.fields:
        data.blob(field)
    if lengths is not None:
        return Table(_whole_numbers(np.asarray(lengths)))
    shape = data.fields[field].shape
    if not shape:
        raise InvalidArgumentError(f"field {shown(field)} is one number, which has no length")
    return Table(lambda: _counted(data, field), key=("lengths", field))


def _counted(data: DatasetBase, field: str) -> Array:
    """One pass over the records."""
    attrs = {"batch_size": _AT_ONCE, "rank": 0, "world_size": 1}
    blobs = {field: data._fields[field]}
    node = batch_node(blobs, type(data)(blobs), attrs)
    found = [np.zeros(0, np.int64)]
    loader: Any
    with DataLoader(node.outputs[0]) as loader:
        for rows in loader:
            is_ragged = isinstance(rows, Ragged)
            found.append(rows.lengths if is_ragged else np.full(len(rows), rows.shape[1]))
    return np.concatenate(found)


def _whole_numbers(lengths: Array) -> Array:
    if lengths.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"lengths is an array of {lengths.dtype}; lengths are whole numbers"
        )
    if lengths.dtype in (np.int32, np.int64):
        return lengths
    return lengths.astype(np.int32 if lengths.dtype.itemsize < 4 else np.int64)
