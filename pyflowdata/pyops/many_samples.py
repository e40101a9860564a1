"""What a source gives for several indices at once: a list of samples, or a dict of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import UserFunctionError, shown
from ..ragged import Ragged


class Columns(Sequence[dict[str, Any]]):
    """Samples given by field: a column has a value for each sample.  Its rows are dicts."""

    def __init__(self, columns: dict[Any, Any], size: int) -> None:
        self.columns = columns
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < self._size:
            raise IndexError(index)
        return {key: column[index] for key, column in self.columns.items()}


def samples_of(said: str, given: Any, size: int) -> Sequence[Any]:
    """What a source gave for several indices: a list of samples, or Columns.

    Args:
        said: What was called, for messages.
        size: How many indices there were.

    Raises:
        UserFunctionError: It is something else, or has another length.
    """
    if isinstance(given, Mapping):
        columns = dict(given)
        for key, column in columns.items():
            if (found := _length(column)) != size:
                raise UserFunctionError(
                    f"{said} was given {size} indices, and the column {shown(key)} that it "
                    f"returned has {found} values; it needs one for each"
                )
            if isinstance(column, Ragged):
                _check_splits(said, key, column)
        return Columns(columns, size)
    if not hasattr(type(given), "__iter__") or isinstance(given, (str, bytes)):
        raise UserFunctionError(
            f"{said} returned {shown(given)}; it must be a list of samples, or a dict of columns"
        )
    samples: Sequence[Any] = given
    if type(given) not in (list, tuple, np.ndarray):
        samples = list(given)
    if _length(samples) != size:
        raise UserFunctionError(
            f"{said} was given {size} indices, and returned {_length(samples)} samples"
        )
    return samples


def _check_splits(said: str, key: Any, column: Ragged) -> None:
    splits, size = column.row_splits, len(column.values)
    if splits[0] < 0 or splits[-1] > size or np.any(splits[1:] < splits[:-1]):
        raise UserFunctionError(
            f"{said} returned the column {shown(key)}, a Ragged of {size} values with row_splits "
            "beyond them: row_splits must not decrease, from 0 to that number"
        )


def _length(values: Any) -> int:
    """Of a column or a list; 0 for what has none."""
    try:
        return len(values)
    except TypeError:
        return 0
