"""What contenders yield where a row is more than two numbers: columns of as many rows as the truth
has.  Only what checks an epoch makes arrays of them; what times one asks for their length."""

from __future__ import annotations

from typing import Any

import numpy as np

VALUES = 64  # of a record in Examples, OFRecords and wide text


class Flat:
    """The values of a matrix, one after the other."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def __len__(self) -> int:
        rows, values = self._matrix.shape
        return int(rows) * int(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._matrix).astype(dtype or np.float64).ravel()


class Repeated:
    """The label of a record, once for each of its values."""

    def __init__(self, labels: Any, counts: Any) -> None:
        self._labels, self._counts = labels, counts

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.repeat(np.asarray(self._labels), self._counts).astype(dtype or np.float64)


def values_and_label(x: Any, y: Any) -> tuple[Flat, Repeated]:
    """A batch of VALUES values and a label a record."""
    return Flat(x), Repeated(y, VALUES)
