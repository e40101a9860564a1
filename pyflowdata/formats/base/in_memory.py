"""Arrays of the program, read like files of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...nodes import Blob
from .source import make_node


def array_blob(array: Any, splits: Any, dtype: Any, shape: Sequence[int]) -> Blob:
    """The rows of a `Table`, on one rank; the arguments are the attrs of the reader."""
    node = make_node(
        "ArrayReader", (), array=array, splits=splits, dtype=dtype, shape=shape,
        rank=0, world_size=1, seed=0,
    )  # fmt: skip
    return node.outputs[0]
