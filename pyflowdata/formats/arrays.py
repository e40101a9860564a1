"""Arrays of the program, read like files of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Blob
from ..graph.tables import Table
from .base.source import make_node

_NONE = np.zeros(0, np.int64)


def array_blob(values: npt.NDArray[Any], splits: npt.NDArray[Any] | None) -> Blob:
    """The rows of an array, on one rank.

    Args:
        values: With a row for each record; read where it is, if it is in C order.
        splits: Where rows begin in it and the last one ends, if they differ in length.
    """
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    offsets = _NONE if splits is None else np.ascontiguousarray(splits, np.int64)
    return make_node(
        "ArrayReader", (), array=Table(native.reshape(-1)), splits=Table(offsets),
        dtype=native.dtype, shape=[*(() if splits is None else (-1,)), *native.shape[1:]],
        rank=0, world_size=1, seed=0,
    ).outputs[0]  # fmt: skip
