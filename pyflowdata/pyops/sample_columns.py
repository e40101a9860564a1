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

from ..errors import UserFunctionError, shown
from ..nodes.row_types import RowType
from ..ragged import Ragged
from .numbers import has_mask, numbers_as

Array = npt.NDArray[Any]
_LARGE = 1 << 14  # bytes of a sample: it is better copied by NumPy, which needs no GIL for it


class Pieces(NamedTuple):
    """The values of a ragged field.

    Attributes:
        data: The bytes of each sample.
        sizes: int64 (samples,), how many bytes they are.
        shapes: int64 (samples, dimensions).
    """

    data: Sequence[Any]
    sizes: Array
    shapes: Array


class Columns(Sequence[dict[str, Any]]):
    """Samples given by field: a column has a value for each sample.  Its rows are dicts."""

    def __init__(self, columns: Mapping[Any, Any], size: int) -> None:
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
        for key, column in given.items():
            if (found := _length(column)) != size:
                raise UserFunctionError(
                    f"{said} was given {size} indices, and the column {shown(key)} that it "
                    f"returned has {found} values; it needs one for each"
                )
        return Columns(given, size)
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


def _length(values: Any) -> int:
    """Of a column or a list; 0 for what has none."""
    try:
        return len(values)
    except TypeError:
        return 0


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
        values = [np.asarray(value) for value in values]  # tensors
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
    array: Array = np.array(values)
    return numbers_as(values, array, dtype) if array.shape == shape else None


# ---- Fields whose shape varies ------------------------------------------------------------------


def pieces_of(values: Any, row_type: RowType) -> Pieces | None:
    """The values of a ragged field; None: not all of them are as declared, or they are large."""
    found = _pieces(values, row_type)
    return found if found is not None and found.sizes.sum() <= _LARGE * len(found.data) else None


def _pieces(values: Any, row_type: RowType) -> Pieces | None:
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


def _of_bytes(values: Sequence[Any], kind: type) -> Pieces:
    if kind is str:
        values = [value.encode("utf-8", "surrogateescape") for value in values]
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    return Pieces(values, sizes, sizes.reshape(-1, 1))


def _of_lists(values: Sequence[Any], dtype: np.dtype[Any]) -> Pieces | None:
    flat = [*itertools.chain.from_iterable(values)]
    array = None if has_mask(flat) else _of_numbers(flat, (len(flat),), dtype)
    splits = np.cumsum([0, *map(len, values)])
    return None if array is None else _of_flat(array, splits)


def _of_flat(flat: Array, splits: Array) -> Pieces:
    lengths, size = np.diff(splits), flat.dtype.itemsize
    memory = np.ascontiguousarray(flat).view(np.uint8).data
    ends = (splits * size).tolist()
    data = [memory[begin:end] for begin, end in itertools.pairwise(ends)]
    return Pieces(data, lengths * size, lengths.reshape(-1, 1))


def _of_arrays(values: Sequence[Array], row_type: RowType) -> Pieces | None:
    dtype, shape = row_type.dtype, row_type.shape
    if any(value.dtype != dtype or value.ndim != len(shape) for value in values):
        return None
    if sum(value.nbytes for value in values) > _LARGE * len(values):
        return None
    shapes = np.array([value.shape for value in values], np.int64)
    fits = all(n is None or (shapes[:, i] == n).all() for i, n in enumerate(shape))
    sizes = shapes.prod(axis=1) * dtype.itemsize
    return Pieces([value.tobytes() for value in values], sizes, shapes) if fits else None


# ---- Records of them ----------------------------------------------------------------------------


class Layout:
    """Where the fields of samples are in their records, see pfd_object_fields in pyflowdata.h.

    Attributes:
        begins, sizes: int64 (samples,): of the records, in bytes, one after the other.
    """

    def __init__(self, fields: Sequence[Array | Pieces], size: int) -> None:
        self._fields = fields
        self._words = np.full((len(fields) + 1, size), 1)  # of 8 bytes; the first says: not damaged
        for index, field in enumerate(fields):
            if isinstance(field, Pieces):
                self._words[index + 1] = field.shapes.shape[1] + (field.sizes + 7) // 8
            else:
                self._words[index + 1] = (field[0].nbytes + 7) // 8
        self.sizes = 8 * self._words.sum(axis=0)
        self.begins = np.cumsum(self.sizes) - self.sizes

    def write(self, target: Array) -> None:
        """Fills in the records.

        Args:
            target: uint8, as many bytes as the records have.
        """
        words, bytes_, at = target.view(np.int64), target.data, self.begins // 8
        words[at] = 0
        for count, before, field in zip(self._words[1:], self._words, self._fields, strict=False):
            at = at + before
            if not isinstance(field, Pieces):
                _scatter(words, at, _as_words(field, int(count[0])))
                continue
            _scatter(words, at, field.shapes)
            starts = 8 * (at + field.shapes.shape[1])
            places = zip(starts.tolist(), (starts + field.sizes).tolist(), field.data, strict=True)
            for begin, end, data in places:
                bytes_[begin:end] = data


def _scatter(words: Array, at: Array, rows: Array) -> None:
    words[at[:, None] + np.arange(rows.shape[1])] = rows


def _as_words(column: Array, count: int) -> Array:
    """Each value as int64, up to a multiple of 8 bytes."""
    n, size = len(column), column[0].nbytes
    padded = np.zeros((n, 8 * count), np.uint8)
    padded[:, :size] = np.ascontiguousarray(column).reshape(-1).view(np.uint8).reshape(n, size)
    return padded.view(np.int64)
