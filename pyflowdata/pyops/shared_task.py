"""The messages between a program and its worker processes; rows are in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..nodes.row_types import RowType
from .shared_rows import Place

IDS = RowType(np.dtype(np.int64), (2,))
KEYS = RowType(np.dtype(np.uint64), (2,))


class Task(NamedTuple):
    """Rows to call the function with.

    Attributes:
        memory_size: Of the shared memory.
        end: The first free offset in it.
        inputs, outputs: Where rows are and, if they are dense, are to be.
        ids, keys: Where the ids of the records and the keys of their random numbers are; None
            where the function does not take them.
        keywords: The attrs.
    """

    memory_size: int
    end: int
    num_rows: int
    inputs: Sequence[Place]
    input_types: Sequence[RowType]
    outputs: Sequence[Place]
    output_types: Sequence[RowType]
    ids: Place | None
    keys: Place | None
    keywords: dict[str, Any]


class Done(NamedTuple):
    """The outputs are in the memory.

    Attributes:
        memory_size: Of the shared memory, which may have grown.
        outputs: Where the rows are.
        seconds: How long it took.
    """

    memory_size: int
    outputs: Sequence[Place]
    seconds: float


class Raised(NamedTuple):
    """The function raised an exception.

    Attributes:
        failure: The exception, pickled; b"" where it cannot be.
        said: Class and text.
        trace: The traceback as Python prints it.
        place: File and line of the function's code.
        row: The row that it was called with, or -1.
        has_begun: False where the function could not be imported.
    """

    failure: bytes
    said: str
    trace: str
    place: str
    row: int
    has_begun: bool
