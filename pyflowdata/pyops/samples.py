"""Samples of Python objects as records: the rules for a sample, and its bytes.

`pfd_object_source` in pyflowdata.h describes a record.
"""

from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import CorruptDataError, OutOfMemoryError, UserFunctionError, shown
from ..native import CData, ffi
from ..nodes.row_types import RowType, as_dtype, converted, dtype_name, is_bfloat16, widened
from ..ragged import Ragged
from .callbacks import message_of, text_of

Array = npt.NDArray[Any]


# ---- Numbers of Python --------------------------------------------------------------------------
# Numbers of Python have no dtype of their own. They fit into a declared dtype if it holds every
# whole number exactly; other numbers are rounded to the digits of a float dtype.

_WIDER = {"b": "biuf", "i": "iuf", "u": "uf", "f": "f"}  # kind of dtype -> kinds that hold it
_MOST_DIMS = 64  # dimensions of NumPy's arrays: a deeper list is not an array


def _array_of(value: Any, dtype: np.dtype[Any]) -> Array:
    """`np.asarray(value)`; for a field of bfloat16 also for torch's tensors of it, which have no
    NumPy array."""
    if is_bfloat16(dtype) and str(getattr(value, "dtype", "")) == "torch.bfloat16":
        return np.asarray(value.view(sys.modules["torch"].int16)).view(dtype)
    return np.asarray(value)


def _numbers_as(found: Any, array: Array, dtype: np.dtype[Any]) -> Array | None:
    """An array of the dtype; None: the numbers do not fit.

    Args:
        found: A number, or a list or tuple of numbers or arrays.
        array: `np.asarray(found)`.
    """
    if array.size == 0:
        return array.astype(dtype)
    if is_bfloat16(dtype):
        narrow = converted(array, dtype) if array.dtype.kind in _WIDER else None
        is_held = narrow is not None and _are_held(found, array, widened(narrow), 7)
        return narrow if is_held else None
    if dtype.kind not in _WIDER.get(array.dtype.kind, ""):
        return None
    with np.errstate(all="ignore"):
        fitting = array.astype(dtype, copy=False)
        is_fit = (
            _are_held(found, array, fitting, np.finfo(dtype).nmant)
            if dtype.kind == "f"
            else np.array_equal(fitting, array)
        )
    return fitting if is_fit else None


def _are_held(found: Any, array: Array, fitting: Array, fraction_bits: int) -> bool:
    """Whether floats hold all numbers: whole numbers exactly, others as finite ones."""
    limit = 2 ** (fraction_bits + 1)  # below, every whole number is there
    if array.dtype.kind == "b" or not np.any((array >= limit) | (array <= -limit)):
        return True
    if array.dtype.kind != "f":
        return bool(fitting.tolist() == array.tolist())  # Python compares an int exactly
    if np.any(np.isinf(fitting) & ~np.isinf(array)):
        return False
    return all(  # whole numbers among others have become floats already
        not isinstance(number, int) or number == held
        for number, held in zip(_leaves(found), fitting.ravel().tolist(), strict=True)
    )


def _leaves(found: Any) -> Iterator[Any]:
    if isinstance(found, (list, tuple)):
        for element in found:
            yield from _leaves(element)
    elif isinstance(found, (int, float)):
        yield found
    else:
        yield from np.asarray(found).ravel().tolist()


def _has_mask(found: Any, depth: int = 0) -> bool:
    """Whether it is a masked array, or a list with one; np.asarray() would drop the mask."""
    if isinstance(found, np.ma.MaskedArray):
        return True
    if not isinstance(found, (list, tuple)) or depth == _MOST_DIMS:
        return False
    kinds = set(map(type, found))  # a list of numbers is not gone through one by one
    if not any(issubclass(kind, (list, tuple, np.ma.MaskedArray)) for kind in kinds):
        return False
    return any(_has_mask(element, depth + 1) for element in found)


# ---- Many samples at once -----------------------------------------------------------------------


class _Columns(Sequence[dict[str, Any]]):
    """Samples given by field: a column has a value for each sample. Its rows are dicts."""

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
    """The samples that a source gave for several indices, as a list or as _Columns.

    Args:
        said: The name of the call, for messages.
        size: The number of indices.

    Raises:
        UserFunctionError: The value is something else, or has another length.
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
                _check_rows_lie_in(said, key, column)
        return _Columns(columns, size)
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


def _check_rows_lie_in(said: str, key: Any, column: Ragged) -> None:
    splits, size = column.row_splits, len(column.values)
    if splits[0] < 0 or splits[-1] > size or np.any(splits[1:] < splits[:-1]):
        raise UserFunctionError(
            f"{said} returned the column {shown(key)}, a Ragged of {size} values with row_splits "
            "beyond them: row_splits must not decrease, from 0 to that number"
        )


def _length(values: Any) -> int:
    """The length of a column or a list; 0 for a value without len()."""
    try:
        return len(values)
    except TypeError:
        return 0


# ---- Columns ------------------------------------------------------------------------------------
# The values of many plain samples field by field: an array for a field of one shape, the bytes of
# each sample for a field whose shape varies. Other samples are written one by one, by code that
# names the wrong sample.

_LARGE = 1 << 14  # bytes; larger samples are copied by NumPy, without the GIL


class _RaggedColumn(NamedTuple):
    """The values of a ragged field.

    Attributes:
        data: The bytes of each sample.
        sizes: int64 (samples,), the number of these bytes.
        shapes: int64 (samples, dimensions).
    """

    data: Sequence[Any]
    sizes: Array
    shapes: Array


def values_by_field(samples: Sequence[Any], keys: Sequence[str]) -> Sequence[Any] | None:
    """For each key its value in every sample; None: samples differ in kind, or lack keys."""
    if isinstance(samples, _Columns):
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


def _column_of(values: Any, row_type: RowType) -> Array | None:
    """The values of a field as an array (values, ...); None: some are not as declared."""
    dtype, shape = row_type.dtype, (len(values), *row_type.fixed_sizes)
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
            values = [_array_of(value, dtype) for value in values]  # tensors
        except Exception:  # noqa: BLE001  (raised again for the sample alone)
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
    if _has_mask(values):
        return None
    try:
        array: Array = np.array(values)
    except Exception:  # noqa: BLE001  (lists of several lengths; what classes in them raise)
        return None
    return _numbers_as(values, array, dtype) if array.shape == shape else None


# ---- Columns whose shape varies -----------------------------------------------------------------


def _ragged_column_of(values: Any, row_type: RowType) -> _RaggedColumn | None:
    """The values of a ragged field; None: some are not as declared, or they are large."""
    found = _ragged_column(values, row_type)
    return found if found is not None and found.sizes.sum() <= _LARGE * len(found.data) else None


def _ragged_column(values: Any, row_type: RowType) -> _RaggedColumn | None:
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


def _of_bytes(values: Sequence[Any], kind: type) -> _RaggedColumn | None:
    if kind is str:
        try:
            values = [value.encode("utf-8", "surrogateescape") for value in values]
        except UnicodeEncodeError:
            return None
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    return _RaggedColumn(values, sizes, sizes.reshape(-1, 1))


def _of_lists(values: Sequence[Any], dtype: np.dtype[Any]) -> _RaggedColumn | None:
    flat = [*itertools.chain.from_iterable(values)]
    array = None if _has_mask(flat) else _of_numbers(flat, (len(flat),), dtype)
    splits = np.cumsum([0, *map(len, values)])
    return None if array is None else _of_flat(array, splits)


def _of_flat(flat: Array, splits: Array) -> _RaggedColumn:
    lengths, size = np.diff(splits), flat.dtype.itemsize
    memory = np.ascontiguousarray(flat).view(np.uint8).data
    ends = (splits * size).tolist()
    data = [memory[begin:end] for begin, end in itertools.pairwise(ends)]
    return _RaggedColumn(data, lengths * size, lengths.reshape(-1, 1))


def _of_arrays(values: Sequence[Array], row_type: RowType) -> _RaggedColumn | None:
    dtype, shape = row_type.dtype, row_type.shape
    if any(value.dtype != dtype or value.ndim != len(shape) for value in values):
        return None
    if sum(value.nbytes for value in values) > _LARGE * len(values):
        return None
    shapes = np.array([value.shape for value in values], np.int64)
    fits = all(n is None or (shapes[:, i] == n).all() for i, n in enumerate(shape))
    sizes = shapes.prod(axis=1) * dtype.itemsize
    return _RaggedColumn([value.tobytes() for value in values], sizes, shapes) if fits else None


# ---- The records of columns ---------------------------------------------------------------------


class _RecordLayout:
    """The records of samples, as pfd_object_fields in pyflowdata.h describes them.

    Attributes:
        begins, sizes: int64 (samples,): bytes of the records, one after the other.
    """

    def __init__(self, fields: Sequence[Array | _RaggedColumn], size: int) -> None:
        self._fields = fields
        self._words = np.full((len(fields) + 1, size), 1)  # of 8 bytes; the first: not damaged
        for index, field in enumerate(fields):
            if isinstance(field, _RaggedColumn):
                self._words[index + 1] = field.shapes.shape[1] + (field.sizes + 7) // 8
            else:
                self._words[index + 1] = (field[0].nbytes + 7) // 8
        self.sizes = 8 * self._words.sum(axis=0)
        self.begins = np.cumsum(self.sizes) - self.sizes

    def write(self, target: Array) -> None:
        """Fills in the records, in uint8 of their size."""
        words, bytes_, at = target.view(np.int64), target.data, self.begins // 8
        words[at] = 0
        for count, before, field in zip(self._words[1:], self._words, self._fields, strict=False):
            at = at + before
            if not isinstance(field, _RaggedColumn):
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
    """Each value as int64, padded to a multiple of 8 bytes."""
    n, size = len(column), column[0].nbytes
    padded = np.zeros((n, 8 * count), np.uint8)
    padded[:, :size] = np.ascontiguousarray(column).reshape(-1).view(np.uint8).reshape(n, size)
    return padded.view(np.int64)


# ---- Samples ------------------------------------------------------------------------------------

_BYTES = (bytes, bytearray, memoryview, str)
_UINT8 = np.dtype(np.uint8)
_DAMAGED = struct.Struct("<qQ")  # the head of the record of a damaged sample
_RECORD = np.dtype(
    {
        "names": [name for name, _ in ffi.typeof("pfd_record").fields],
        "formats": [f"i{ffi.sizeof(field.type)}" for _, field in ffi.typeof("pfd_record").fields],
        "offsets": [field.offset for _, field in ffi.typeof("pfd_record").fields],
        "itemsize": ffi.sizeof("pfd_record"),
    }
)


class Damaged(Exception):
    """A sample that does not match the declaration, or that the user's code calls damaged.

    Attributes:
        text: The message for C.
        cause: The number of the exception, see native.calls; 0: none.
    """

    def __init__(self, text: str | bytes, cause: int = 0) -> None:
        self.text = text.encode("utf-8", "backslashreplace") if isinstance(text, str) else text
        self.cause = cause
        super().__init__(text)


class Raised(BaseException):
    """Carries an exception of the user's code, whose class may refuse attributes.

    Attributes:
        failure: The exception.
        row: The index of its sample in the call, or -1.
        said: The name of the call, for the message; "": not known yet.
    """

    def __init__(self, failure: BaseException, row: int, said: str = "") -> None:
        self.failure = failure
        self.row = row
        self.said = said
        super().__init__()


def _damaged_by(failure: BaseException, index: int) -> Damaged:
    """The damage for an exception of the user's code, such as that of a Mapping, at a sample.

    Raises:
        Raised: The exception is not about damaged data.
    """
    if isinstance(failure, CorruptDataError):
        return Damaged(*message_of(failure, "", (__file__,)))
    raise Raised(failure, index) from None


def _padded(size: int) -> int:
    return (size + 7) // 8 * 8


def _array_of_bytes(key: str, value: bytes | bytearray | memoryview | str) -> Array:
    if isinstance(value, str):
        try:
            value = str.encode(value, "utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise Damaged(
                f"'{key}' is {shown(value)}, which is not valid Unicode text: UTF-8 cannot hold it"
            ) from None
    elif isinstance(value, memoryview):
        try:
            is_fit = value.ndim == value.itemsize == 1 and value.c_contiguous
        except ValueError as failure:  # released
            raise Damaged(f"'{key}' is a memoryview: {failure}") from None
        if not is_fit:
            raise Damaged(
                f"'{key}' is a memoryview of format '{value.format}', shape {value.shape} and "
                f"strides {value.strides}; it must be of bytes one after the other: yield "
                f"{key}.tobytes(), if they are meant"
            )
    array: Array = np.frombuffer(value, np.uint8)
    return array


class Samples:
    """Makes records of samples. Several threads may use it at once."""

    def __init__(self, keys: Sequence[str], types: Sequence[RowType]) -> None:
        self._keys = tuple(keys)
        self._types = tuple(types)
        self._fixed: np.dtype[Any] | None = None
        if not any(row_type.is_ragged for row_type in types):
            self._fixed = self._fixed_record()

    def _fixed_record(self) -> np.dtype[Any]:
        offsets, formats, end = [], [], 8
        for row_type in self._types:
            formats.append((row_type.dtype, row_type.fixed_sizes))
            offsets.append(end)
            end += _padded(np.dtype(formats[-1]).itemsize)
        names = [f"field{index}" for index in range(len(formats))]
        return np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": end}
        )

    # ---- What a sample has --------------------------------------------------------------------

    def _values(self, sample: Any) -> Sequence[Any]:
        keys = self._keys
        if isinstance(sample, Damaged):
            raise sample
        if isinstance(sample, Mapping):
            missing = [key for key in keys if key not in sample]
            if missing:
                raise Damaged(
                    f"the sample has no '{missing[0]}'; its keys: "
                    + ", ".join(map(str, list(sample)[:20]))
                )
            return [sample[key] for key in keys]
        if len(keys) == 1:
            is_in_tuple = isinstance(sample, tuple) and len(sample) == 1
            return sample if is_in_tuple else (sample,)
        if not isinstance(sample, (tuple, list)):
            raise Damaged(
                f"the sample is {shown(sample)}; with {len(keys)} fields it must be a tuple or a "
                f"dict: {', '.join(keys)}"
            )
        if len(sample) != len(keys):
            raise Damaged(
                f"the sample has {len(sample)} values; the fields are {len(keys)}: "
                + ", ".join(keys)
            )
        return sample

    def _array(self, index: int, value: Any) -> Array:
        key, (dtype, shape) = self._keys[index], self._types[index]
        if isinstance(value, _BYTES):
            if dtype != _UINT8 or len(shape) != 1:
                raise Damaged(
                    f"'{key}' is of type {type(value).__name__}; {self._types[index]} is declared"
                )
            array = _array_of_bytes(key, value)
        else:
            array = self._array_of_numbers(key, value, dtype)
        if len(array.shape) != len(shape) or any(
            size not in (None, found) for size, found in zip(shape, array.shape, strict=True)
        ):
            raise Damaged(
                f"'{key}' has shape {array.shape}; {self._types[index].shape} is declared"
            )
        return array

    def _array_of_numbers(self, key: str, value: Any, dtype: np.dtype[Any]) -> Array:
        if _has_mask(value):
            raise Damaged(
                f"'{key}' is a masked array, whose mask would be lost: yield {key}.filled(VALUE), "
                f"and np.ma.getmaskarray({key}) as its own field"
            )
        try:
            array = _array_of(value, dtype)
        except (CorruptDataError, MemoryError):
            raise
        except Exception as failure:  # noqa: BLE001  (what the class of the value raises)
            raise Damaged(f"'{key}' is not an array: {text_of(failure)}") from None
        if array.dtype == object:
            raise Damaged(f"'{key}' is {shown(value)}; {dtype_name(dtype)} is declared")
        if isinstance(value, (bool, int, float, list, tuple)):
            fitting = _numbers_as(value, array, dtype)
            if fitting is not None:
                return fitting
        elif array.dtype == dtype:
            return array
        declared = dtype_name(dtype)
        raise Damaged(
            f"'{key}' has dtype {array.dtype}, and {declared} is declared: declare the other, or "
            f"yield {as_dtype(key, dtype)}"
            if isinstance(value, (np.ndarray, np.generic))
            else f"'{key}' is {shown(value)}, which does not fit into the declared {declared}"
        )

    # ---- Records ------------------------------------------------------------------------------

    def write(
        self, samples: Sequence[Any], first: int | None, host: CData, scratch: CData, out: CData
    ) -> None:
        """Writes records.

        Args:
            samples: The samples of the object, or a Damaged in place of one.
            first: The ordinal of the first sample, if they are in sequence; None: C knows the
                ordinals.
            out: `pfd_record[]`, to be filled in.

        Raises:
            Raised: The user's code raised at a sample.
        """
        n = len(samples)
        records: Array = np.ndarray((n,), _RECORD, ffi.buffer(out, n * _RECORD.itemsize))
        records[:] = 0
        if first is not None:
            records["ordinal"] = np.arange(first, first + n)
        write = self._write_one_by_one if self._fixed is None else self._write_fixed
        for index, damaged in write(samples, records, host, scratch):
            content = _DAMAGED.pack(1, damaged.cause) + damaged.text[:1000]
            memory = _alloc(host, scratch, len(content))
            ffi.buffer(memory, len(content))[:] = content
            records[index]["data"] = int(ffi.cast("intptr_t", memory))
            records[index]["size"] = len(content)

    def _write_fixed(
        self, samples: Sequence[Any], records: Array, host: CData, scratch: CData
    ) -> list[tuple[int, Damaged]]:
        assert self._fixed is not None
        size, n, bad = self._fixed.itemsize, len(samples), []
        memory = _alloc(host, scratch, size * n)
        buffer = ffi.buffer(memory, size * n)
        np.ndarray((n,), np.int64, buffer, 0, (size,))[...] = 0
        rows: Array = np.ndarray((n,), self._fixed, buffer)
        records["data"] = int(ffi.cast("intptr_t", memory)) + size * np.arange(n)
        records["size"] = size
        columns: list[Array] = [rows[name] for name in self._fixed.names or ()]
        found = self._columns(samples)
        if found is not None:
            for column, array in zip(columns, found, strict=True):
                column[...] = array
            return []
        for index, sample in enumerate(samples):
            try:
                values = self._values(sample)
                for field, column in enumerate(columns):
                    value = values[field]
                    if (
                        type(value) is not np.ndarray
                        or value.dtype != column.dtype
                        or value.shape != column.shape[1:]
                    ):
                        value = self._array(field, value)
                    column[index] = value
            except Damaged as damaged:
                bad.append((index, damaged))
            except BaseException as failure:
                bad.append((index, _damaged_by(failure, index)))
        return bad

    def _columns(self, samples: Sequence[Any]) -> list[Any] | None:
        """An array or _RaggedColumn for each field; None: the samples are written one by one."""
        fields = values_by_field(samples, self._keys)
        found: list[Any] = []
        for values, row_type in zip(fields or (), self._types, strict=False):
            column = (_ragged_column_of if row_type.is_ragged else _column_of)(values, row_type)
            if column is None:
                return None
            found.append(column)
        return found or None

    def _write_one_by_one(
        self, samples: Sequence[Any], records: Array, host: CData, scratch: CData
    ) -> list[tuple[int, Damaged]]:
        columns = self._columns(samples)
        if columns is not None:
            self._write_columns(_RecordLayout(columns, len(samples)), records, host, scratch)
            return []
        bad, found, sizes = [], [], np.zeros(len(samples), np.int64)
        for index, sample in enumerate(samples):
            try:
                values = self._values(sample)
                arrays = [self._array(field, value) for field, value in enumerate(values)]
                found.append(arrays)
                sizes[index] = 8 + sum(map(self._bytes, range(len(arrays)), arrays))
            except Damaged as damaged:
                found.append([])
                bad.append((index, damaged))
            except BaseException as failure:
                found.append([])
                bad.append((index, _damaged_by(failure, index)))
        ends = np.cumsum(sizes)
        memory = _alloc(host, scratch, int(ends[-1]))
        target = np.frombuffer(ffi.buffer(memory, max(int(ends[-1]), 8)), np.uint8)
        for begin, arrays in zip((ends - sizes).tolist(), found, strict=True):
            if arrays:
                self._put(target, begin, arrays)
        records["data"] = int(ffi.cast("intptr_t", memory)) + ends - sizes
        records["size"] = sizes
        return bad

    @staticmethod
    def _write_columns(layout: _RecordLayout, records: Array, host: CData, scratch: CData) -> None:
        size = int(layout.sizes.sum())
        memory = _alloc(host, scratch, size)
        layout.write(np.frombuffer(ffi.buffer(memory, size), np.uint8))
        records["data"] = int(ffi.cast("intptr_t", memory)) + layout.begins
        records["size"] = layout.sizes

    def _bytes(self, field: int, array: Array) -> int:
        return 8 * array.ndim * self._types[field].is_ragged + _padded(array.nbytes)

    def _put(self, target: Array, begin: int, arrays: Sequence[Array]) -> None:
        numbers = target[begin : begin + 8].view(np.int64)
        numbers[0], begin = 0, begin + 8
        for row_type, array in zip(self._types, arrays, strict=True):
            if row_type.is_ragged:
                end = begin + 8 * array.ndim
                target[begin:end].view(np.int64)[:] = array.shape
                begin = end
            if array.nbytes:
                data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                target[begin : begin + array.nbytes] = data
            begin += _padded(array.nbytes)


def _alloc(host: CData, scratch: CData, num_bytes: int) -> CData:
    memory = host.alloc(scratch, max(num_bytes, 8))
    if memory == ffi.NULL:
        raise OutOfMemoryError(f"no memory for {num_bytes} bytes of samples")
    return memory
