"""Columns of a batch, and rows of arrays, as writers take them.

A writer refuses values that it would change.  NumPy itself drops masks, turns numbers that are too
large into infinities, and turns integers among floats into floats.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ...errors import InvalidArgumentError, shown
from ...nodes import find_op, widened
from ...nodes.eager import encode
from ...ragged import Ragged

Array = npt.NDArray[Any]
RowT = TypeVar("RowT")


# ---- Masks --------------------------------------------------------------------------------------


def _has_mask(given: Any) -> bool:
    """Whether a value is a masked array, or lists or a Ragged have one."""
    if isinstance(given, Ragged):
        given = given.values
    if isinstance(given, np.ma.MaskedArray):
        return True
    if isinstance(given, np.ndarray):
        return given.dtype.kind == "O" and _has_mask(given.ravel().tolist())
    if not isinstance(given, (list, tuple)):
        return False
    kinds = set(map(type, given))
    deep = any(issubclass(kind, (list, tuple, np.ndarray)) for kind in kinds)
    return deep and _any_masked(given)


def _any_masked(given: Any) -> bool:
    try:
        return any(map(_has_mask, given))
    except RecursionError:  # lists that hold themselves, or nearly; no writer takes these
        return False


def refuse_masked(name: str, given: Any, *, is_batch: bool = False) -> None:
    """Refuses masked arrays, with masked values or without.

    Args:
        name: The name of the field, for the message.
        given: An array, or lists; any other value is accepted.
        is_batch: Whether it has a row for each record.

    Raises:
        InvalidArgumentError: The value is masked; `ordinal` is the first row that lacks a value.
    """
    if not _has_mask(given):
        return
    rows = given if is_batch else ()
    row = _first(np.ma.is_masked, rows)
    if row is None:
        row = _first(_has_mask, rows)
    raise InvalidArgumentError(
        f"{name} is a masked array, and the file cannot say which values are missing; "
        "fill them, as .filled(0) does",
        ordinal=row,
    )


# ---- Numbers ------------------------------------------------------------------------------------


def _first(test: Callable[[Any], bool], rows: Any) -> int | None:
    return next((row for row, one in enumerate(rows) if test(one)), None)


def integers(given: Any) -> Iterator[int]:
    """All integers in nested lists."""
    if isinstance(given, (list, tuple)):
        if not set(map(type, given)) <= {float}:
            for one in given:
                yield from integers(one)
    elif isinstance(given, (int, np.integer)):
        yield int(given)
    elif isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        yield from given.ravel().tolist()


def _refuse_changed(name: str, given: Any, dtype: np.dtype[Any], *, is_batch: bool) -> None:
    """Refuses integers that a float dtype cannot hold exactly."""
    exact = 2 ** (np.finfo(dtype).nmant + 1)  # a float holds all integers up to this one

    def changed(value: Any) -> int | None:
        with np.errstate(over="ignore"):
            for one in integers(value):
                if not -exact <= one <= exact and float(dtype.type(one)) != one:
                    return one
        return None

    found = changed(given)
    if found is not None:
        raise InvalidArgumentError(
            f"{name} has the integer {found}, which {dtype} cannot hold exactly; "
            "give an array of the type that is meant",
            ordinal=_first(lambda row: changed(row) is not None, given) if is_batch else None,
        )


def _same(cast: Array, array: Array) -> Array:
    """Which values have not changed; NumPy compares integers with floats as floats."""
    if array.dtype.kind in "iu" and cast.dtype.kind == "f":
        is_in_range = cast < float(np.iinfo(array.dtype).max + 1)
        found: Array = is_in_range & (cast.astype(array.dtype) == array)
        return found
    if array.dtype.kind == "f":
        return np.asarray((cast == array) | (np.isnan(cast) & np.isnan(array)))
    return np.asarray(cast == array)


def as_array(name: str, given: Any, *, is_batch: bool = False) -> Array:
    """The NumPy array of a value, with all its numbers; float32, which files hold, for bfloat16.

    Args:
        name: The name of the field, for messages.
        given: An array, a number, or lists of numbers.
        is_batch: Whether it has a row for each record.

    Raises:
        InvalidArgumentError: The value is masked, is not an array, or has integers that would
            change.
    """
    refuse_masked(name, given, is_batch=is_batch)
    try:
        found = np.asarray(given)
    except (ValueError, TypeError, OverflowError) as failure:
        raise InvalidArgumentError(f"{name} = {shown(given)} is not an array: {failure}") from None
    if found.dtype.kind == "f" and isinstance(given, (list, tuple)):
        _refuse_changed(name, given, found.dtype, is_batch=is_batch)
    return widened(found)


def to_float(
    name: str, given: Any, found: Array, dtype: np.dtype[Any], *, is_batch: bool = False
) -> Array:
    """Python numbers, which have no width, rounded to a float type.

    Args:
        given: The number, or nested lists.
        found: The array that `as_array` made of it.

    Raises:
        InvalidArgumentError: A finite number becomes infinite, or an integer another number.
    """
    with np.errstate(over="ignore"):
        cast = found.astype(dtype)
    lost = np.isinf(cast) & np.isfinite(found)
    if lost.any():
        row = int(np.argmax(lost.reshape(len(lost), -1).any(axis=1))) if is_batch else None
        raise InvalidArgumentError(
            f"{name} has {found[lost].flat[0]}, which is too large for {dtype}", ordinal=row
        )
    if not isinstance(given, float):
        _refuse_changed(name, given, dtype, is_batch=is_batch)
    return cast


# ---- Columns of a batch -------------------------------------------------------------------------

BYTES_LIKE = (bytes, bytearray, memoryview, str)


def each_row(make: Callable[[Any], RowT], rows: Iterable[Any]) -> list[RowT]:
    """The results of a function for rows; an InvalidArgumentError gets the row as `ordinal`."""
    made = []
    for row, one in enumerate(rows):
        try:
            made.append(make(one))
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, ordinal=row) from None
    return made


def as_bytes(value: Any, name: str = "the record") -> bytes:
    """The bytes of bytes, text, or an array of uint8.

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
    """Refuses a field name that is not text, before messages contain it."""
    if not isinstance(name, str):
        raise InvalidArgumentError(f"the name of a field is {shown(name)}; it must be text")
    as_bytes(name, "the name of a field")


def is_bytes_like(value: Any) -> bool:
    """Whether a value is one run of bytes, as text and arrays of uint8 are."""
    is_array = isinstance(value, np.ndarray) and value.dtype == np.uint8
    return is_array or isinstance(value, BYTES_LIKE)


def slices(data: bytes, sizes: npt.NDArray[np.int64]) -> list[bytes]:
    """The rows that are back to back in data."""
    ends = np.cumsum(sizes).tolist()
    return [data[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def little(array: Array) -> Array:
    """The array C-contiguous and little-endian."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def column(name: str, given: Any) -> Array | Ragged | list[Any]:
    """A column in one of three forms: a numeric array of at least one dimension, a Ragged, or a
    list.

    Raises:
        InvalidArgumentError: The column has no dimension of rows, or is masked.
    """
    refuse_masked(name, given, is_batch=True)
    if isinstance(given, Ragged):
        return given
    if isinstance(given, np.ndarray):
        if given.ndim == 0:
            raise InvalidArgumentError(f"{name}: the array has no dimension of rows")
        array = widened(given)
        return array if array.dtype.kind in "biuf" else list(array.tolist())
    if isinstance(given, BYTES_LIKE) or not isinstance(given, Sequence):
        raise InvalidArgumentError(
            f"{name} = {shown(given)}; a column is an array, a Ragged or a list with a row for "
            "each record"
        )
    return list(given)


def columns(batch: Mapping[str, Any]) -> tuple[dict[str, Array | Ragged | list[Any]], int]:
    """All columns of a batch, and their number of rows.

    Raises:
        InvalidArgumentError: Columns differ in their number of rows, there is no column, or a name
            is not text.
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
        InvalidArgumentError: A row is something else; `ordinal` is the first such row.
    """
    rows = column(name, given)
    if isinstance(rows, Ragged):
        if rows.dtype != np.uint8:
            raise InvalidArgumentError(f"{name} is {rows!r}; rows of bytes are uint8")
        return slices(rows.values.tobytes(), rows.lengths * _row_stride(rows))
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
    return each_row(lambda value: as_bytes(value, name), rows)


def _row_stride(rows: Ragged) -> int:
    """The number of elements that row_splits count as one; 1 if values are flat."""
    return int(np.prod(rows.values.shape[1:], dtype=np.int64))


# ---- Columns of bytes, and encoders -------------------------------------------------------------


def ragged_of_bytes(rows: Sequence[bytes]) -> Ragged:
    """Byte strings as the rows of one array."""
    splits = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=splits[1:])
    return Ragged(np.frombuffer(b"".join(rows), np.uint8), splits)


def byte_column(name: str, given: Any) -> Ragged:
    """A column of bytes or text as rows of uint8; raises as `bytes_rows`."""
    rows = column(name, given)
    if not isinstance(rows, (Ragged, np.ndarray)) or rows.dtype != np.uint8:
        return ragged_of_bytes(bytes_rows(name, rows))
    if isinstance(rows, Ragged):
        return Ragged(rows.values.reshape(-1), rows.row_splits * _row_stride(rows))
    width = rows.nbytes // max(len(rows), 1)
    return Ragged(rows.reshape(-1), np.arange(len(rows) + 1, dtype=np.int64) * width)


def encoded(op: str, columns: Mapping[str, Array | Ragged], **attrs: object) -> Ragged:
    """The rows of bytes that an op makes from the rows of these columns.

    Raises:
        InvalidArgumentError: The op refuses a row; `ordinal` is the row.
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


# ---- Rows of arrays -----------------------------------------------------------------------------


def only_field(given: Any) -> Any:
    """The value itself, or the only one of a dict."""
    if not isinstance(given, Mapping):
        return given
    if len(given) != 1:
        raise InvalidArgumentError(
            f"the file holds one array, and this has the fields {', '.join(map(str, given))}: "
            "choose one"
        )
    return next(iter(given.values()))


class RowShape:
    """The dtype and shape of all rows of a file: given, or taken from the first row."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None) -> None:
        try:
            self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        except (TypeError, ValueError) as failure:
            raise InvalidArgumentError(f"dtype = {shown(dtype)}: {failure}") from None
        try:
            self.shape = None if shape is None else tuple(map(operator.index, shape))
            if any(size < 0 for size in self.shape or ()):
                raise ValueError
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                f"shape = {shown(shape)}; it must be a tuple of sizes, as (28, 28)"
            ) from None

    def rows(self, given: Any, *, is_batch: bool) -> Array:
        """The rows as one array; a single row is its only row.

        Raises:
            InvalidArgumentError: The rows are not an array of numbers, or differ from the rows
                before.
        """
        name = str(*given) if isinstance(given, Mapping) and len(given) == 1 else "the array"
        given = only_field(given)
        if isinstance(given, Ragged):
            given = self._dense(given)
        array = as_array(name, given, is_batch=is_batch)
        if array.dtype.kind not in "biuf":
            raise InvalidArgumentError(
                f"{shown(given)} is of {array.dtype}; the file holds numbers"
            )
        if not is_batch:
            array = array[np.newaxis]
        elif array.ndim == 0:
            raise InvalidArgumentError(f"{shown(given)} has no dimension of rows")
        if self.shape is None:
            self.shape = array.shape[1:]
        if array.shape[1:] != self.shape:
            raise InvalidArgumentError(
                f"the row is of shape {array.shape[1:]}; those of this file are of {self.shape}"
            )
        return self._cast(name, array, given, is_batch)

    def _dense(self, given: Ragged) -> Array:
        shapes = given.shapes
        if len(given) and (shapes != shapes[0]).any():
            row = int(np.argmax((shapes != shapes[0]).any(axis=1)))
            raise InvalidArgumentError(
                f"rows of the shapes {tuple(shapes[0].tolist())} and "
                f"{tuple(shapes[row].tolist())} cannot be in one array; pad them",
                ordinal=row,
            )
        tail = tuple(shapes[0].tolist()) if len(given) else tuple(given.values.shape)
        return given.values.reshape(len(given), *tail)

    def _cast(self, name: str, array: Array, given: Any, is_batch: bool) -> Array:
        """The array in the dtype of the file; a value that would change is an error."""
        if self.dtype is None:
            self.dtype = array.dtype.newbyteorder("=")
        if array.dtype == self.dtype:
            return array
        if self.dtype.kind == "f" and not isinstance(given, (np.ndarray, np.generic, Ragged)):
            found = array if is_batch else array.reshape(array.shape[1:])
            return to_float(name, given, found, self.dtype, is_batch=is_batch).reshape(array.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            cast = array.astype(self.dtype)
            same = _same(cast, array)
        if not same.all():
            differ = ~same.reshape(len(array), -1).all(axis=1)
            raise InvalidArgumentError(
                f"values of {array.dtype} do not fit into {self.dtype}, which the file has; "
                "cast them where that is meant",
                ordinal=int(np.argmax(differ)),
            )
        return cast


def buffer_of(array: Array, order: Literal["<", ">"]) -> memoryview:
    """The bytes of an array in a byte order, without a copy if they already are."""
    found = np.ascontiguousarray(array, array.dtype.newbyteorder(order))
    return found.reshape(-1).view(np.uint8).data


def sizes_of(array: Array) -> Array:
    """Bytes of each row."""
    return np.full(len(array), array.nbytes // max(len(array), 1), np.int64)
