"""`flow.from_arrays`: arrays of the program as a data set, without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..formats import array_blob
from ..nodes import Blob
from ..nodes.argument_hints import says_how
from ..nodes.row_types import BITS, is_bfloat16
from ..nodes.tables import Table
from ..ragged import Ragged
from .base import named_view
from .dataset import Dataset

Array = npt.NDArray[Any]
_NONE = np.zeros(0, np.int64)


@says_how('give a dict of arrays, flow.from_arrays({"x": x, "y": y})')
def from_arrays(arrays: Mapping[str, Any]) -> Dataset:
    """A data set in memory: record i has row i of each array.

        data = flow.from_arrays({"x": images, "y": labels})
        x, y = data.shuffle(seed=1).batch(64)

    Arrays in C order are read where they are, and must not change while they are in use; others are
    copied once.

    Args:
        arrays: By the names of the fields: arrays with a row for each record, `Ragged`s, or lists
            of bytes or texts (UTF-8).

    Raises:
        InvalidArgumentError: They have different numbers of rows, or no fixed dtype.
    """
    if not isinstance(arrays, Mapping) or not arrays:
        raise InvalidArgumentError(
            f'from_arrays({shown(arrays)}): give a dict of arrays, as {{"x": x, "y": y}}'
        )
    blobs, first = {}, ""
    rows = -1
    for name, given in arrays.items():
        if not isinstance(name, str):
            raise InvalidArgumentError(f"from_arrays(): the name {shown(name)} must be a str")
        values, splits = _rows_of(name, given)
        count = len(values) if splits is None else len(splits) - 1
        if rows not in (-1, count):
            raise InvalidArgumentError(
                f"from_arrays(): {first} has {rows} rows, and {name} has {count}; each record has "
                "one of each"
            )
        first, rows = first or name, count
        blobs[name] = _blob_of(values, splits)
    return Dataset(blobs if len(blobs) == 1 else named_view("ZipDataset", blobs, {}))


def _rows_of(name: str, given: Any) -> tuple[Array, Array | None]:
    """The elements, and where rows begin if they differ in length."""
    if isinstance(given, Ragged):
        if given.row_shape[1:] != given.values.shape[1:] or given.row_shape[0] is not None:
            raise InvalidArgumentError(
                f"from_arrays(): the rows of {name} are {given.row_shape}; only the first "
                "dimension may vary"
            )
        return given.values, given.row_splits
    if isinstance(given, (list, tuple)) and any(isinstance(one, (bytes, str)) for one in given):
        return _joined(name, given)
    try:
        values = np.asarray(given)
    except ValueError as failure:
        raise InvalidArgumentError(
            f"from_arrays(): {name} is not an array: {failure}; a Ragged has rows of several "
            "lengths"
        ) from None
    if values.ndim == 0:
        raise InvalidArgumentError(f"from_arrays(): {name} is {shown(given)}, which has no rows")
    if values.dtype.kind in "SU":
        return _joined(name, values.tolist())
    if is_bfloat16(values.dtype):
        values = values.view(BITS)  # whose memory C can read, other than that of ml_dtypes
    if (values.dtype.kind not in "buif" and values.dtype != BITS) or 0 in values.shape[1:]:
        raise InvalidArgumentError(
            f"from_arrays(): {name} has dtype {values.dtype} and rows of shape {values.shape[1:]}; "
            "rows are numbers or truths, of a fixed dtype, and not empty"
        )
    return values, None


def _joined(name: str, given: Sequence[Any]) -> tuple[Array, Array]:
    """Bytes and texts one after another."""

    def encoded() -> Iterator[bytes]:
        """Each as bytes."""
        for row, one in enumerate(given):
            if not isinstance(one, (bytes, str)):
                raise InvalidArgumentError(
                    f"from_arrays(): row {row} of {name} is {shown(one)}, beside bytes or texts"
                )
            yield one if isinstance(one, bytes) else one.encode()

    rows = list(encoded())
    splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return np.frombuffer(b"".join(rows), np.uint8), splits


def _blob_of(values: Array, splits: Array | None) -> Blob:
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    begins = Table(_NONE if splits is None else np.ascontiguousarray(splits, np.int64))
    shape = [*(() if splits is None else (-1,)), *native.shape[1:]]
    return array_blob(Table(native.reshape(-1)), begins, native.dtype, shape)
