"""The types of columns, and their rows in these types, for files that have one type per column."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ...errors import InvalidArgumentError, shown
from ...ragged import Ragged
from .columns import Array, RowShape, are_bytes, as_array, each_row, is_bytes_like, slices
from .fields import BYTES, Field
from .writer import Writer

TEXT = "str"  # the dtype of a column whose rows are text


class RowType(NamedTuple):
    """The type of the rows of a column.

    Attributes:
        dtype: "bytes", "str", or the name of a dtype of NumPy.
        shape: The shape of a row, with None for a size that varies; () for bytes and text.
    """

    dtype: str
    shape: tuple[int | None, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether rows are numbers or arrays of these."""
        return self.dtype not in (BYTES, TEXT)

    @property
    def varies(self) -> bool:
        """Whether rows differ in shape."""
        return None in self.shape


class Arrays(NamedTuple):
    """Arrays of one dtype that differ in shape.

    Attributes:
        values: The elements of all rows, back to back.
        shapes: The shape of each row.
    """

    values: Array
    shapes: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of elements of each row."""
        found: npt.NDArray[np.int64] = np.prod(self.shapes, axis=1, dtype=np.int64)
        return found


def single(value: Any) -> Any:
    """The column whose only row is this value."""
    is_array = isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray)
    return value[np.newaxis] if is_array and not is_bytes_like(value) else [value]


def row_type(name: str, rows: Array | Ragged | list[Any]) -> RowType:
    """The type of a column: bytes for rows of uint8 with one dimension.

    Args:
        name: The name of the field, for messages.
        rows: The column, as of `column`.

    Raises:
        InvalidArgumentError: Rows are neither bytes nor text nor numbers; `ordinal` is the row.
    """
    if isinstance(rows, (Ragged, np.ndarray)):
        is_number = rows.dtype.kind in "biuf"  # else bfloat16, which is stored as float32
        found = RowType(rows.dtype.name if is_number else "float32", rows.shape[1:])
    elif are_bytes(rows):
        return RowType(TEXT if rows and all(isinstance(one, str) for one in rows) else BYTES)
    else:
        found = _type_of_list(name, rows)
    return RowType(BYTES) if found.dtype == "uint8" and len(found.shape) == 1 else found


def _type_of_list(name: str, rows: list[Any]) -> RowType:
    arrays = each_row(lambda row: _numbers(name, row), rows)
    if len({one.ndim for one in arrays}) != 1:
        raise InvalidArgumentError(f"the rows of {name} differ in their number of dimensions")
    sizes = [set(column) for column in zip(*(one.shape for one in arrays), strict=True)]
    filled = [one for one in arrays if one.size] or arrays  # [] is of any type
    return RowType(
        np.result_type(*{one.dtype for one in filled}).name,
        tuple(one.pop() if len(one) == 1 else None for one in sizes),
    )


def _numbers(name: str, given: Any) -> Array:
    array = as_array(name, given)
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"{name} = {shown(given)}; a value is a number, text, bytes or an array of numbers"
        )
    return array


def spelled_type(name: str, given: Any, dtypes: Sequence[str]) -> RowType:
    """The type that a user gives for a column, as str, bytes or float32[3,?].

    Args:
        name: The name of the column.
        given: What is spelled.
        dtypes: The dtypes that the format has.

    Raises:
        InvalidArgumentError: There is no such type.
    """
    found = RowType("")
    if isinstance(given, str):
        try:
            found = type_of_field(Field(name, BYTES).with_type(given))
        except InvalidArgumentError:
            pass
    is_type = found.dtype in dtypes if found.is_number else not found.shape
    if not is_type or any(size is not None and size < 1 for size in found.shape):
        raise InvalidArgumentError(
            f"columns[{shown(name)}] = {shown(given)}; it must be str, bytes, or a dtype with the "
            f"shape of a row, as float32, float32[3] or float32[?,2]: {', '.join(dtypes)}"
        )
    return found


def type_of_field(field: Field) -> RowType:
    """The type of the rows of a field that is read."""
    return RowType(field.dtype, field.shape)


def dense(name: str, rows: Array | Ragged | list[Any], of: RowType) -> Array:
    """The rows of a column whose shape does not vary, as one array.

    Raises:
        InvalidArgumentError: Rows have another shape, or values that the dtype cannot hold.
    """
    return RowShape(of.dtype, of.shape).rows({name: rows}, is_batch=True)  # type: ignore[arg-type]


def arrays(name: str, rows: Array | Ragged | list[Any], of: RowType) -> Arrays:
    """The rows of a column whose shape varies; raises as `dense`."""
    if isinstance(rows, list):
        found = each_row(lambda row: _row(name, row, of), rows)
        values = np.concatenate([one.reshape(-1) for one in found])
        shapes = np.array([one.shape for one in found], np.int64).reshape(len(found), -1)
    else:
        if len(rows.shape) != len(of.shape) + 1:
            raise _wrong_shape(name, tuple(rows.shape[1:]), of)
        if isinstance(rows, Ragged):
            values, shapes = rows.values, rows.shapes
        else:
            values, shapes = rows, np.tile(np.array(rows.shape[1:], np.int64), (len(rows), 1))
        values = RowShape(of.dtype, ()).rows({name: values.reshape(-1)}, is_batch=True)
    for axis, size in enumerate(of.shape):
        if size is not None and (shapes[:, axis] != size).any():
            row = int(np.argmax(shapes[:, axis] != size))
            failure = _wrong_shape(name, tuple(shapes[row].tolist()), of)
            failure.ordinal = row
            raise failure
    return Arrays(values, shapes)


def _row(name: str, given: Any, of: RowType) -> Array:
    array = _numbers(name, given)
    if array.ndim != len(of.shape):
        raise _wrong_shape(name, array.shape, of)
    cast: Array = RowShape(of.dtype, array.shape).rows({name: given}, is_batch=False)[0]
    return cast


def _wrong_shape(name: str, shape: tuple[int | None, ...], of: RowType) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name} has a row of shape {shape}; those of this file are of {of.shape}"
    )


# ---- Rows as bytes ------------------------------------------------------------------------------

# A part of each row: an array of bytes, (rows, bytes), or bytes of different sizes.
Part: TypeAlias = "Array | list[bytes]"


def joined(parts: Sequence[Part]) -> list[bytes]:
    """The bytes of each row: its parts one after the other."""
    pieces: list[list[bytes]] = []
    for _, run in itertools.groupby(parts, lambda one: isinstance(one, list)):
        same = list(run)
        if isinstance(same[0], list):
            pieces += [one for one in same if isinstance(one, list)]
            continue
        fixed = np.concatenate(same, axis=1)
        pieces.append(slices(fixed.tobytes(), np.full(len(fixed), fixed.shape[1], np.int64)))
    return pieces[0] if len(pieces) == 1 else [b"".join(row) for row in zip(*pieces, strict=True)]


def sizes_of_part(part: Part) -> npt.NDArray[np.int64]:
    """The bytes that each row has in a part."""
    if isinstance(part, list):
        return np.fromiter(map(len, part), np.int64, len(part))
    return np.full(len(part), part.shape[1], np.int64)


def byte_view(numbers: Array) -> Array:
    """The bytes of each row of an array, in the order in which they are: (rows, bytes)."""
    width = int(np.prod(numbers.shape[1:], dtype=np.int64)) * numbers.itemsize
    found = np.ascontiguousarray(numbers).reshape(-1).view(np.uint8)
    return found.reshape(len(numbers), width)


# ---- Writers ------------------------------------------------------------------------------------


class ColumnsWriter(Writer):
    """A writer of samples with the same columns: those of an argument, or of the first batch."""

    def write(self, sample: Any) -> None:
        """Writes one sample.

        Raises:
            InvalidArgumentError: The sample is not a dict, its fields differ from the columns, or
                a column cannot hold a value.
            FileError: The file cannot be written.
        """
        with self._naming():
            self._check_sample(sample)
        self.write_batch({name: single(value) for name, value in sample.items()})


def refuse_other_columns(found: Collection[str], columns: Sequence[str]) -> None:
    """Raises InvalidArgumentError unless the fields of a batch are the columns."""
    if set(found) != set(columns):
        raise InvalidArgumentError(
            f"the fields are {', '.join(found)}; the columns are {', '.join(columns)}"
        )
