"""Batches as the bytes of a file, which ops of the C library make of whole columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import InvalidArgumentError
from ....nodes import find_op
from ....nodes.eager import encode
from ....ragged import Ragged
from .columns import bytes_rows, column, is_bytes_like, row_stride
from .lossless import Array


def joined(rows: Sequence[bytes]) -> Ragged:
    """Byte strings as the rows of one array."""
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=splits[1:])
    return Ragged(np.frombuffer(b"".join(rows), np.uint8), splits)


def byte_column(name: str, given: Any) -> Ragged:
    """A column of bytes or text; as `bytes_rows`, which refuses what is something else."""
    rows = column(name, given)
    if not isinstance(rows, (Ragged, np.ndarray)) or rows.dtype != np.uint8:
        return joined(bytes_rows(name, rows))
    if isinstance(rows, Ragged):
        return Ragged(rows.values.reshape(-1), rows.row_splits * row_stride(rows))
    width = rows.nbytes // max(len(rows), 1)
    return Ragged(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * width)


def encoded(op: str, columns: Mapping[str, Array | Ragged], **attrs: object) -> Ragged:
    """What an op makes of each row of these columns: rows of bytes.

    Raises:
        InvalidArgumentError: The op refuses a row, which `ordinal` is.
    """
    try:
        values, sizes = encode(find_op(op), attrs, columns)
    except InvalidArgumentError as failure:
        raise InvalidArgumentError(failure.message, ordinal=failure.row) from None
    splits = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=splits[1:])
    return Ragged(values, splits)


def are_bytes(rows: Sequence[Any]) -> bool:
    """Whether all rows of a list are byte strings."""
    return all(map(is_bytes_like, rows))
