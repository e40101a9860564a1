"""The lengths of records, as views need them that pack records or sort them by length."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..formats import lengths_of
from ..nodes.tables import Table
from .base import DatasetBase
from .column_pass import evaluate
from .columns import files_state, made_of
from .fingerprints import of_blobs

Array = npt.NDArray[Any]


def lengths_table(data: DatasetBase, field: str, lengths: npt.ArrayLike | None) -> Table:
    """The length of each record; made when a loader first needs it, unless it is given.

    Args:
        data: The records.
        field: Whose rows are counted.
        lengths: One for each record, if they are known.

    Raises:
        InvalidArgumentError: The field has no length, the array no whole numbers, or a view draws
            other records in each epoch.
    """
    if field not in data.fields:
        data.blob(field)
    if lengths is not None:
        return Table(_whole_numbers(np.asarray(lengths)))
    if not data._fields[field].shape[1:]:
        raise InvalidArgumentError(f"field {shown(field)} is one number, which has no length")
    counted = made_of(data, lengths_of(data._fields[field]))
    graph = of_blobs(counted.blobs)
    key = None if graph is None else ("lengths", graph)
    return Table(
        lambda: _whole_numbers(evaluate(counted, data)), key=key, state=lambda: files_state(data)
    )


def _whole_numbers(lengths: Array) -> Array:
    if lengths.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"lengths is an array of {lengths.dtype}; lengths are whole numbers"
        )
    if lengths.dtype in (np.int32, np.int64):
        return lengths
    return lengths.astype(np.int32 if lengths.dtype.itemsize < 4 else np.int64)
