"""Samples of Python objects as records: the rules for a sample, and its bytes.

`pfd_object_source` in pyflowdata.h describes a record.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CorruptDataError, OutOfMemoryError, shown
from ..native import CData, ffi
from .callbacks import message_of, text_of
from .numbers import array_of, has_mask, numbers_as
from .record_layout import RecordLayout
from .sample_columns import column_of, ragged_column_of, values_by_field
from ..nodes.row_types import RowType, as_dtype, dtype_name

Array = npt.NDArray[Any]
_BYTES = (bytes, bytearray, memoryview, str)
_UINT8 = np.dtype(np.uint8)
_DAMAGED = struct.Struct("<qQ")  # how the record of a sample that is damaged begins
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
    """What the user's code raised, as it is: a class of the user may refuse attributes.

    Attributes:
        failure: The exception.
        row: The index of its sample among those asked for, or -1.
        said: What was called, for the message; "": not known yet.
    """

    def __init__(self, failure: BaseException, row: int, said: str = "") -> None:
        self.failure = failure
        self.row = row
        self.said = said
        super().__init__()


def _damaged_by(failure: BaseException, index: int) -> Damaged:
    """What the user's code, such as that of a Mapping, says by an exception about a sample.

    Raises:
        Raised: It is none about damaged data.
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
    """Makes records of samples.  May be used by several threads at once."""

    def __init__(self, keys: Sequence[str], types: Sequence[RowType]) -> None:
        self._keys = tuple(keys)
        self._types = tuple(types)
        self._fixed: np.dtype[Any] | None = None
        if not any(row_type.is_ragged for row_type in types):
            self._fixed = self._fixed_record()

    def _fixed_record(self) -> np.dtype[Any]:
        offsets, formats, end = [], [], 8
        for row_type in self._types:
            shape = tuple(size for size in row_type.shape if size is not None)
            formats.append((row_type.dtype, shape))
            offsets.append(end)
            end += _padded(np.dtype(formats[-1]).itemsize)
        names = [f"field{index}" for index in range(len(formats))]
        return np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": end}
        )

    # ---- What a sample has --------------------------------------------------------------------

    def _values(self, sample: Any) -> Sequence[Any]:
        """The values of the fields."""
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
        """A value as an array of its field's type."""
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
        if has_mask(value):
            raise Damaged(
                f"'{key}' is a masked array, whose mask would be lost: yield {key}.filled(VALUE), "
                f"and np.ma.getmaskarray({key}) as a field of its own"
            )
        try:
            array = array_of(value, dtype)
        except (CorruptDataError, MemoryError):
            raise
        except Exception as failure:  # noqa: BLE001  (what the class of the value raises)
            raise Damaged(f"'{key}' is not an array: {text_of(failure)}") from None
        if array.dtype == object:
            raise Damaged(f"'{key}' is {shown(value)}; {dtype_name(dtype)} is declared")
        if isinstance(value, (bool, int, float, list, tuple)):
            fitting = numbers_as(value, array, dtype)
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
            samples: What the object yielded, or a Damaged in its place.
            first: The ordinal of the first, where they follow each other; None: C knows them.
            out: `pfd_record[]`, to be filled in.

        Raises:
            Raised: The user's code, at a sample.
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
        """An array or RaggedColumn for each field; None: the samples are looked at one by one."""
        fields = values_by_field(samples, self._keys)
        found: list[Any] = []
        for values, row_type in zip(fields or (), self._types, strict=False):
            column = (ragged_column_of if row_type.is_ragged else column_of)(values, row_type)
            if column is None:
                return None
            found.append(column)
        return found or None

    def _write_one_by_one(
        self, samples: Sequence[Any], records: Array, host: CData, scratch: CData
    ) -> list[tuple[int, Damaged]]:
        columns = self._columns(samples)
        if columns is not None:
            self._write_columns(RecordLayout(columns, len(samples)), records, host, scratch)
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
    def _write_columns(layout: RecordLayout, records: Array, host: CData, scratch: CData) -> None:
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
