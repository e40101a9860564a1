"""Batches as writers take them: a column a field, a row a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ....errors import InvalidArgumentError, shown
from ....nodes import widened
from ....ragged import Ragged
from .lossless import Array, refuse_masked

BYTES = (bytes, bytearray, memoryview, str)


def as_bytes(value: Any, name: str = "the record") -> bytes:
    """Of bytes, text, or an array of uint8.

    Raises:
        InvalidArgumentError: The text has half a surrogate pair, or the array is masked; the
            message begins with the name.
    """
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as failure:
            raise InvalidArgumentError(
                f"{name} = {shown(value)} is not valid Unicode text: its character "
                f"{failure.start} is half a surrogate pair"
            ) from None
    if isinstance(value, np.ndarray):
        refuse_masked(name, value)
        return value.tobytes()
    return bytes(value)


def check_name(name: Any) -> None:
    """Refuses names of fields that are no text, before they get into messages."""
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a field is {shown(name)}; it must be text")
    as_bytes(name, "the name of a field")


def is_bytes_like(value: Any) -> bool:
    """Whether it is one run of bytes: text and arrays of uint8 are."""
    return isinstance(value, BYTES) or (isinstance(value, np.ndarray) and value.dtype == np.uint8)


def slices(data: bytes, sizes: npt.NDArray[np.int64]) -> list[bytes]:
    """The rows that stand back to back in data."""
    ends = np.cumsum(sizes).tolist()
    return [data[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def little(array: Array) -> Array:
    """C-contiguous and little-endian."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def column(name: str, given: Any) -> Array | Ragged | list[Any]:
    """A column as one of three: a numeric array of at least one dimension, a Ragged, or a list.

    Raises:
        InvalidArgumentError: It has no rows, or is masked.
    """
    refuse_masked(name, given, is_batch=True)
    if isinstance(given, Ragged):
        return given
    if isinstance(given, np.ndarray):
        if given.ndim == 0:
            raise InvalidArgumentError(f"{name}: the array has no dimension of rows")
        array = widened(given)
        return array if array.dtype.kind in "biuf" else list(array.tolist())
    if isinstance(given, BYTES) or not isinstance(given, Sequence):
        raise InvalidArgumentError(
            f"{name} = {shown(given)}; a column is an array, a Ragged or a list with a row for "
            "each record"
        )
    return list(given)


def columns(batch: Mapping[str, Any]) -> tuple[dict[str, Array | Ragged | list[Any]], int]:
    """All columns of a batch, and how many rows they have.

    Raises:
        InvalidArgumentError: They differ in their number of rows, there is none, or a name is not
            text.
    """
    if not isinstance(batch, Mapping) or not batch:
        raise InvalidArgumentError(
            f"a batch is a dict of columns, with at least one; this is {shown(batch)}"
        )
    for name in batch:
        check_name(name)
    found = {name: column(name, given) for name, given in batch.items()}
    counts = {name: len(one) for name, one in found.items()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise InvalidArgumentError(f"the columns differ in their number of rows: {said}")
    return found, next(iter(counts.values()))


def bytes_rows(name: str, given: Any) -> list[bytes]:
    """The rows of a column of bytes.

    Raises:
        InvalidArgumentError: They are something else; `ordinal` is the first such row.
    """
    rows = column(name, given)
    if isinstance(rows, Ragged):
        if rows.dtype != np.uint8:
            raise InvalidArgumentError(f"{name} is {rows!r}; rows of bytes are uint8")
        return slices(rows.values.tobytes(), rows.lengths * row_stride(rows))
    if isinstance(rows, np.ndarray):
        if rows.dtype != np.uint8:
            raise InvalidArgumentError(f"{name} is of {rows.dtype}; rows of bytes are uint8")
        width = rows.nbytes // max(len(rows), 1)
        return slices(rows.tobytes(), np.full(len(rows), width))
    for row, value in enumerate(rows):
        if not is_bytes_like(value):
            raise InvalidArgumentError(
                f"{name} = {shown(value)}; it must be bytes, text or an array of uint8",
                ordinal=row,
            )
    made = []
    for row, value in enumerate(rows):
        try:
            made.append(as_bytes(value, name))
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, ordinal=row) from None
    return made


def row_stride(rows: Ragged) -> int:
    """Elements of what row_splits count: 1 where values are flat."""
    return int(np.prod(rows.values.shape[1:], dtype=np.int64))
