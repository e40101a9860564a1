"""The values of many samples field by field, where all of them are plain: an array for a field of
one shape, the bytes of each sample for one that varies.

Samples that are not are left to the code that looks at one after the other, and says what is wrong
with which.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..nodes.row_types import RowType
from ..ragged import Ragged
from .many_samples import Columns
from .numbers import array_of, has_mask, numbers_as

Array = npt.NDArray[Any]
_LARGE = 1 << 14  # bytes of a sample: it is better copied by NumPy, which needs no GIL for it


class RaggedColumn(NamedTuple):
    """The values of a ragged field.

    Attributes:
        data: The bytes of each sample.
        sizes: int64 (samples,), how many bytes they are.
        shapes: int64 (samples, dimensions).
    """

    data: Sequence[Any]
    sizes: Array
    shapes: Array


def values_by_field(samples: Sequence[Any], keys: Sequence[str]) -> Sequence[Any] | None:
    """For each key its value in every sample; None: the samples differ in kind, or are others."""
    if isinstance(samples, Columns):
        given = samples.columns
        return [given[key] for key in keys] if all(key in given for key in keys) else None
    kinds = set(map(type, samples))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is dict:
        try:
            return [[sample[key] for sample in samples] for key in keys]
        except KeyError:
            return None
    if kind is tuple or (kind is list and len(keys) > 1):
        return [*zip(*samples, strict=True)] if set(map(len, samples)) == {len(keys)} else None
    return [samples] if len(keys) == 1 and not issubclass(kind, (Mapping, tuple)) else None


def column_of(values: Any, row_type: RowType) -> Array | None:
    """The values of a field as an array (values, ...); None: not all of them are as declared."""
    dtype, shape = row_type.dtype, (len(values), *(n for n in row_type.shape if n is not None))
    if type(values) is np.ndarray:
        return values if values.dtype == dtype and values.shape == shape else None
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind in (int, float, bool, list, tuple):
        return _of_numbers(values, shape, dtype)
    if not issubclass(kind, (np.ndarray, np.generic)) and hasattr(kind, "__array__"):
        try:
            values = [array_of(value, dtype) for value in values]  # tensors
        except Exception:  # noqa: BLE001  (what their class raises: said of the sample, later)
            return None
        kind = np.ndarray
    if kind is np.ndarray:
        are_so = all(value.dtype == dtype and value.shape == shape[1:] for value in values)
        return _stacked(values, shape) if are_so else None
    if issubclass(kind, np.generic) and len(shape) == 1 and values[0].dtype == dtype:
        return np.array(values, dtype)
    return None


def _stacked(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    if len(shape) == 1:
        return np.array(arrays)
    found: Array = np.concatenate(arrays).reshape(shape)
    return found


def _of_numbers(
    values: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array | None:
    if has_mask(values):
        return None
    try:
        array: Array = np.array(values)
    except Exception:  # noqa: BLE001  (lists of several lengths; what classes in them raise)
        return None
    return numbers_as(values, array, dtype) if array.shape == shape else None


# ---- Fields whose shape varies ------------------------------------------------------------------


def ragged_column_of(values: Any, row_type: RowType) -> RaggedColumn | None:
    """The values of a ragged field; None: not all of them are as declared, or they are large."""
    found = _ragged_column(values, row_type)
    return found if found is not None and found.sizes.sum() <= _LARGE * len(found.data) else None


def _ragged_column(values: Any, row_type: RowType) -> RaggedColumn | None:
    dtype, shape = row_type.dtype, row_type.shape
    if isinstance(values, Ragged):
        is_so = values.dtype == dtype and values.row_shape == shape and len(shape) == 1
        return _of_flat(values.values, values.row_splits) if is_so else None
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind in (bytes, bytearray, str):
        return _of_bytes(values, kind) if dtype == np.uint8 and len(shape) == 1 else None
    if kind in (list, tuple):
        return _of_lists(values, dtype) if len(shape) == 1 else None
    return _of_arrays(values, row_type) if kind is np.ndarray else None


def _of_bytes(values: Sequence[Any], kind: type) -> RaggedColumn | None:
    if kind is str:
        try:
            values = [value.encode("utf-8", "surrogateescape") for value in values]
        except UnicodeEncodeError:
            return None
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    return RaggedColumn(values, sizes, sizes.reshape(-1, 1))


def _of_lists(values: Sequence[Any], dtype: np.dtype[Any]) -> RaggedColumn | None:
    flat = [*itertools.chain.from_iterable(values)]
    array = None if has_mask(flat) else _of_numbers(flat, (len(flat),), dtype)
    splits = np.cumsum([0, *map(len, values)])
    return None if array is None else _of_flat(array, splits)


def _of_flat(flat: Array, splits: Array) -> RaggedColumn:
    lengths, size = np.diff(splits), flat.dtype.itemsize
    memory = np.ascontiguousarray(flat).view(np.uint8).data
    ends = (splits * size).tolist()
    data = [memory[begin:end] for begin, end in itertools.pairwise(ends)]
    return RaggedColumn(data, lengths * size, lengths.reshape(-1, 1))


def _of_arrays(values: Sequence[Array], row_type: RowType) -> RaggedColumn | None:
    dtype, shape = row_type.dtype, row_type.shape
    if any(value.dtype != dtype or value.ndim != len(shape) for value in values):
        return None
    if sum(value.nbytes for value in values) > _LARGE * len(values):
        return None
    shapes = np.array([value.shape for value in values], np.int64)
    fits = all(n is None or (shapes[:, i] == n).all() for i, n in enumerate(shape))
    sizes = shapes.prod(axis=1) * dtype.itemsize
    return RaggedColumn([value.tobytes() for value in values], sizes, shapes) if fits else None
