"""Ops that are called on rows of the program in place of blobs: they return results at once.

Attrs and the types of the rows are checked as for a node, once for each combination; then C runs
the kernel as in a loader.
"""

from __future__ import annotations

import contextlib
import math
import operator
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import Error, InvalidArgumentError, OutOfMemoryError, shown
from ..native import CData, check, encode as encode_text, exception, ffi, lib, new_error
from ..native.calls import raised, take_interrupt
from ..ragged import Ragged
from .attr_values import attr_values, encode_node_name, plain_values
from .node import is_present
from .op_facts import ROW_OPTIONS, Op
from .op_texts import ROWS_RULE
from .registry import with_ports_of
from .row_types import NUMBERS, RAGGED_ROW, dtype_name, dtype_number, read_row_type
from .tables import put_tables


# ---- Rows that a program has --------------------------------------------------------------------
# One row is an array, bytes or a number.  A batch is a list of rows, or a Ragged.

Array = npt.NDArray[Any]

_NUMBERS = (bool, int, float, np.generic)
_ARRAYS = (np.ndarray, *_NUMBERS, bytearray, memoryview, list, tuple)
_PROTOCOLS = ("__array__", "__array_interface__")  # arrays of other libraries have them
_UINT8 = np.dtype(np.uint8)
_MAX_DIMS: int = lib.PFD_MAX_DIMS
_from_buffer = ffi.from_buffer
_ONE = ffi.typeof("pfd_ragged_row *")  # a text would be parsed each time


class Rows(ABC):
    """The rows of one input.

    Attributes:
        count: Number of rows; None: a single row, not a batch.
        dtype: The dtype of the elements.
        shape: The shape of a row, with -1 for a dimension that varies.
    """

    __slots__ = ("_items", "count", "dtype", "shape")

    def __init__(
        self, items: Any, count: int | None, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self._items = items
        self.count = count
        self.dtype = dtype
        self.shape = shape

    @abstractmethod
    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        """A `pfd_ragged_row *`, and the objects that must live as long as it.

        Args:
            is_ragged: Whether the op takes the rows as ragged rows, and looks at their shapes.
        """


class _OneRow(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        row, item = ffi.new(_ONE), self._items
        row.data = _from_buffer(item)
        row.num_elements = item.size if type(item) is np.ndarray else len(item)
        return row, None


class _RowList(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        items = self._items
        rows, shapes = ffi.new("pfd_ragged_row[]", len(items)), None
        for row, item in zip(rows, items, strict=True):
            row.data = _from_buffer(item)
            row.num_elements = item.size if type(item) is np.ndarray else len(item)
        ndim = len(self.shape)
        if is_ragged and ndim > 1:
            shapes = ffi.new("int64_t[]", [size for item in items for size in item.shape])
            for index, row in enumerate(rows):
                row.shape = shapes + index * ndim
        return rows, shapes


class _OneArray(Rows):
    """Rows of one size, back to back."""

    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        items: Array = self._items
        sizes = np.full(len(items), items[0].size if len(items) else 0, np.int64)
        return _array_table(items, sizes, None)


class _RaggedRows(Rows):
    __slots__ = ()

    def table(self, *, is_ragged: bool) -> tuple[CData, object]:
        ragged: Ragged = self._items
        sizes = ragged.lengths * math.prod(ragged.values.shape[1:])
        return _array_table(ragged.values, sizes, ragged.shapes if len(self.shape) > 1 else None)


def _array_table(values: Array, sizes: Array, shapes: Array | None) -> tuple[CData, object]:
    """Rows that follow each other in an array."""
    table: Array = np.zeros(len(sizes), RAGGED_ROW)
    table["size"] = sizes
    begins = (np.cumsum(sizes) - sizes) * values.itemsize
    table["data"] = _address(values) + begins.astype(np.uint64)
    if shapes is not None:
        shapes = np.ascontiguousarray(shapes, np.int64)
        table["shape"] = _address(shapes) + shapes.itemsize * shapes.shape[1] * np.arange(
            len(sizes), dtype=np.uint64
        )
    return ffi.cast("pfd_ragged_row *", _from_buffer(table)), (table, values, shapes)


def _address(array: Array) -> np.uint64:
    address: np.uint64 = np.uint64(array.__array_interface__["data"][0])
    return address


# ---- Rows of arguments --------------------------------------------------------------------------


def take(name: str, value: object, *, takes_ragged: bool) -> Rows:
    """The rows that were given for the input `name`.

    Args:
        takes_ragged: Whether the op takes rows that differ in size: then rows of bytes count as
            ragged, even if they have one size.

    Raises:
        InvalidArgumentError: The value is neither a row nor a batch of rows.
    """
    if type(value) is list:
        return _batch(name, value, takes_ragged)
    if isinstance(value, Ragged):
        return _ragged(name, value)
    if isinstance(value, tuple):
        raise InvalidArgumentError(
            f"input '{name}' is a tuple of {len(value)}, as ops with several outputs return it: "
            "pick one of them; a batch of rows is a list"
        )
    row = _row(name, value)
    if isinstance(row, np.ndarray):
        return _OneRow(row, None, row.dtype, row.shape)
    return _OneRow(row, None, _UINT8, (-1 if takes_ragged else len(row),))


def take_column(name: str, value: Array | Ragged) -> Rows:
    """The rows of an array, along its first dimension, or of a Ragged."""
    if isinstance(value, Ragged):
        return _ragged(name, value)
    native = value.astype(value.dtype.newbyteorder("="), copy=False)
    array = _row(name, native)
    assert isinstance(array, np.ndarray)
    return _OneArray(array, len(array), array.dtype, array.shape[1:])


def _row(name: str, value: Any) -> Array | bytes:
    """A row as an array that C can read, or as bytes."""
    if isinstance(value, bytes):
        return value
    if type(value) is not np.ndarray:
        value = _other_array(name, value)
    if not dtype_number(value.dtype):
        raise InvalidArgumentError(
            f"input '{name}' has dtype {value.dtype}; rows are of {', '.join(NUMBERS)}"
        )
    if value.ndim > _MAX_DIMS:
        raise InvalidArgumentError(
            f"input '{name}' has {value.ndim} dimensions; a row has at most {_MAX_DIMS}"
        )
    flags = value.flags
    array: Array = value if flags.c_contiguous and flags.aligned else value.copy("C")
    return array


def _other_array(name: str, value: object) -> Array:
    """The NumPy array of a number, of a nested list of numbers, or of an array of another library.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(
            f"input '{name}' is a masked array, whose mask would be lost: give {name}.filled(VALUE)"
        )
    array: Array | None = None
    if isinstance(value, _ARRAYS) or any(hasattr(value, each) for each in _PROTOCOLS):
        try:
            array = np.asarray(value)
        except Exception as failure:  # noqa: BLE001  (what the class of the value raises)
            raise InvalidArgumentError(f"input '{name}' is not an array: {failure}") from None
    if array is None or array.dtype == object:
        raise InvalidArgumentError(
            f"input '{name}' is {shown(value)} ({type(value).__name__}); it must be a Blob, as op "
            f"functions return it, or rows: arrays, bytes or numbers, where {ROWS_RULE}"
        )
    return array


def _batch(name: str, values: list[Any], takes_ragged: bool) -> Rows:
    if not values:
        raise InvalidArgumentError(
            f"input '{name}' is an empty list, which does not say what its rows are"
        )
    if isinstance(values[0], _NUMBERS):
        numbers = _row(name, values)
        assert isinstance(numbers, np.ndarray)
        return _OneArray(numbers, len(numbers), numbers.dtype, numbers.shape[1:])
    rows = []
    for index, value in enumerate(values):
        try:
            rows.append(_row(name, value))
        except InvalidArgumentError as failure:
            failure.message += f" (row {index})"
            raise
    if all(isinstance(row, bytes) for row in rows):
        size = len(rows[0])
        is_fixed = not takes_ragged and all(len(row) == size for row in rows)
        return _RowList(rows, len(rows), _UINT8, (size if is_fixed else -1,))
    arrays = [np.asarray(memoryview(row)) if isinstance(row, bytes) else row for row in rows]
    is_empty = [isinstance(value, (list, tuple)) and not value for value in values]
    if any(is_empty) and not all(is_empty):  # an empty list has no dtype of its own
        dtype = arrays[is_empty.index(False)].dtype
        arrays = [
            row.astype(dtype) if empty else row for row, empty in zip(arrays, is_empty, strict=True)
        ]
    return _RowList(arrays, len(arrays), *_common_type(name, arrays))


def _common_type(
    name: str, rows: Sequence[Array]
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of the rows; a dimension in which they differ varies."""
    dtype, shape = rows[0].dtype, rows[0].shape
    for index, row in enumerate(rows):
        if row.dtype != dtype or row.ndim != len(shape):
            raise InvalidArgumentError(
                f"input '{name}': row 0 is {_said(rows[0])} and row {index} is {_said(row)}; rows "
                "of a batch have one dtype, and as many dimensions each"
            )
        if row.shape != shape:
            shape = tuple(
                size if size == own else -1 for size, own in zip(row.shape, shape, strict=True)
            )
    return dtype, shape


def _said(row: Array) -> str:
    return f"{dtype_name(row.dtype)} {row.shape}"


def _ragged(name: str, value: Ragged) -> Rows:
    shape = tuple(-1 if size is None else size for size in value.row_shape)
    if not dtype_number(value.dtype) or len(shape) > _MAX_DIMS or not _is_sound(value):
        raise InvalidArgumentError(
            f"input '{name}' is {value!r}, whose dtype, row_splits or shapes are not those of rows"
        )
    if not value.values.flags.c_contiguous or not value.values.flags.aligned:
        value = Ragged(
            value.values.copy("C"), value.row_splits, row_shape=value.row_shape,
            shapes=value.shapes if value.values.ndim == 1 else None,
        )  # fmt: skip
    return _RaggedRows(value, len(value), value.dtype, shape)


def _is_sound(ragged: Ragged) -> bool:
    """Whether the rows of a Ragged lie within its values: a user may have made it from any arrays.
    """
    splits, values, shapes = ragged.row_splits, ragged.values, ragged.shapes
    lengths = ragged.lengths
    if len(splits) == 0 or splits[0] != 0 or splits[-1] > len(values) or (lengths < 0).any():
        return False
    is_fit = [
        (sizes >= 0).all() if fixed is None else (sizes == fixed).all()
        for sizes, fixed in zip(shapes.T, ragged.row_shape, strict=True)
    ]
    elements = lengths * math.prod(values.shape[1:])
    return all(is_fit) and np.array_equal(shapes.prod(axis=1), elements)


# ---- Prepared ops -------------------------------------------------------------------------------

_DEFAULTS = tuple(least for least, _ in ROW_OPTIONS.values())
_SIGNALS_NS = 50_000_000  # how long a call may keep Python from looking for signals
_MOST_KEPT = 512  # combinations of op, attrs and types

# Types of cffi: those that are given as text are parsed each time.
_ROWS, _PLACES, _CALL = map(ffi.typeof, ("pfd_ragged_row *[]", "void *[]", "pfd_eager_call **"))

_Types = tuple[tuple[np.dtype[Any], tuple[int, ...]], ...]


class _Output(NamedTuple):
    """One output: its place among those of the op, and the type of its rows."""

    place: int
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    is_ragged: bool
    is_present: bool


class _Prepared:
    """An op with attrs, for rows of certain types.  Immutable: any thread may run it."""

    __slots__ = ("_handle", "_is_ragged", "_op", "_outputs", "_values")

    def __init__(
        self, op: Op, name: str | None, values: Mapping[str, object], types: _Types
    ) -> None:
        node_name = encode_node_name(name)
        plain = plain_values(op, values)
        put_tables(plain)
        self._values = plain  # C finds the tables among them as long as they live
        slots, keep = attr_values(plain)
        rows = ffi.new("pfd_row_type[]", len(types))
        for row, (dtype, shape) in zip(rows, types, strict=True):
            row.dtype, row.ndim = dtype_number(dtype), len(shape)
            row.shape[0 : len(shape)] = shape
        out, err = ffi.new("pfd_eager **"), new_error()
        status = lib.pfd_eager_create(
            encode_text(op.name, "op name"), node_name, slots, len(plain), rows, len(types), out,
            err,
        )  # fmt: skip
        keep.clear()  # C used raw pointers into these until here
        take_interrupt()
        check(status, err)
        self._handle = ffi.gc(out[0], lib.pfd_eager_release)
        self._op = with_ports_of(op, lib.pfd_eager_op(self._handle))
        self._is_ragged = [-1 in shape for _, shape in types]
        found = lib.pfd_eager_outputs(self._handle)
        self._outputs = []
        for index, port in enumerate(self._op.outputs):
            row_type = read_row_type(found[index])
            wanted = is_present(self._op, port.name, plain)
            self._outputs.append(_Output(index, *row_type, row_type.is_ragged, wanted))

    def run(
        self, inputs: Sequence[Rows], count: int | None, seed: int, epoch: int, ordinal: int
    ) -> Any:
        """The result of each output: a row, or a list of rows.

        Args:
            count: Rows of each input; None: one row, and not a batch.
        """
        num_rows = 1 if count is None else count
        leading = () if count is None else (count,)
        arrays = [
            None if output.is_ragged else _empty((*leading, *output.shape), output.dtype)
            for output in self._outputs
        ]
        with self._done(inputs, num_rows, arrays, (seed, epoch, ordinal), count) as done:
            answers = [
                _answer(array, count)
                if array is not None
                else _ragged_answer(done, output, count)
                for output, array in zip(self._outputs, arrays, strict=True)
                if output.is_present
            ]
        return answers[0] if len(answers) == 1 else tuple(answers)

    def run_bytes(self, inputs: Sequence[Rows], count: int) -> tuple[Array, Array]:
        """The rows of the only output, whose rows are bytes: all rows one after another, and the
        size of each row.
        """
        with self._done(inputs, count, [None], _DEFAULTS, count) as done:
            return _ragged_values(done, self._outputs[0], count)

    @contextlib.contextmanager
    def _done(
        self, inputs: Sequence[Rows], num_rows: int, arrays: Sequence[Array | None],
        options: tuple[int, ...], count: int | None,
    ) -> Iterator[CData]:
        """The call after the op has run; dense outputs are in these arrays."""
        tables = [
            rows.table(is_ragged=is_ragged)
            for rows, is_ragged in zip(inputs, self._is_ragged, strict=True)
        ]
        places = ffi.new(_ROWS, [table for table, _ in tables])
        memory = ffi.new(
            _PLACES, [ffi.NULL if array is None else ffi.from_buffer(array) for array in arrays]
        )
        err, out = new_error(), ffi.new(_CALL)
        status = lib.pfd_eager_open(self._handle, places, num_rows, memory, *options, out, err)
        check(status, err)
        try:
            while (status := lib.pfd_eager_run(out[0], _SIGNALS_NS, err)) == lib.PFD_PENDING:
                take_interrupt()
            take_interrupt()
            if status < 0:
                raise raised(self._failure(status, err, count))
            yield out[0]
        finally:
            lib.pfd_eager_close(out[0])

    def _failure(self, status: int, err: CData, count: int | None) -> Error:
        row = err.row
        failure = exception(status, err)
        if row >= 0 and count is not None:
            failure.row = row
        return failure


def _empty(shape: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        raise OutOfMemoryError(f"no memory for rows of shape {shape}") from None


def _answer(array: Array, count: int | None) -> Any:
    """A row (a scalar if it has no dimensions), or the rows of an array as a list."""
    if count is not None:
        return list(array)
    return array if array.ndim else array[()]


def _ragged_values(call: CData, output: _Output, count: int) -> tuple[Array, Array]:
    """All elements of the rows, and the shape of each; the size where a row has one dimension."""
    shapes = np.empty((count, len(output.shape)), np.int64)
    size = lib.pfd_eager_shapes(call, output.place, ffi.from_buffer("int64_t[]", shapes))
    values = _empty((size,), output.dtype)
    lib.pfd_eager_copy(call, output.place, ffi.from_buffer(values))
    return values, shapes if len(output.shape) > 1 else shapes[:, 0]


def _ragged_answer(call: CData, output: _Output, count: int | None) -> Any:
    """A row; or a list of rows, which are views of one array."""
    values, shapes = _ragged_values(call, output, 1 if count is None else count)
    sizes = shapes.reshape(-1, len(output.shape)).tolist()
    if count is None:
        return values.reshape(sizes[0])
    rows, begin = [], 0
    for shape in sizes:
        end = begin + math.prod(shape)
        rows.append(values[begin:end].reshape(shape))
        begin = end
    return rows


# ---- Combinations that were used before ---------------------------------------------------------

_prepared: dict[Any, _Prepared] = {}
_lock = threading.RLock()  # for changes of _prepared; a signal handler may come in


def forget() -> None:
    """Drops all prepared ops: an op was replaced by another op of its name."""
    with _lock:
        _prepared.clear()


def _frozen(value: object) -> object:
    """A key that is equal only for values that mean the same to an attr.

    Raises:
        TypeError: The value is a mutable object.
    """
    if isinstance(value, (list, tuple)):
        return (list, *map(_frozen, value))
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("the bytes of the array are addresses")
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, (float, np.floating)):
        return type(value), float(value).hex()  # -0.0 == 0.0
    hash(value)
    return type(value), value


def _prepare(
    op: Op, name: str | None, values: Mapping[str, object], inputs: Sequence[Rows]
) -> _Prepared:
    types = tuple((rows.dtype, rows.shape) for rows in inputs)
    try:
        key = (op.name, name, tuple((key, _frozen(values[key])) for key in values), types)
        found = _prepared.get(key)
    except (TypeError, RecursionError):
        return _made(op, name, values, inputs, types)
    if found is None:
        found = _made(op, name, values, inputs, types)
        with _lock:
            if len(_prepared) >= _MOST_KEPT:
                del _prepared[next(iter(_prepared))]
            _prepared[key] = found
    return found


def _made(
    op: Op, name: str | None, values: Mapping[str, object], inputs: Sequence[Rows], types: _Types
) -> _Prepared:
    try:
        return _Prepared(op, name, values, types)
    except InvalidArgumentError as failure:
        other = types
        if op.is_whole_batch:  # the first dimension of rows may vary
            other = tuple((dtype, (-1, *shape[1:]) if shape else shape) for dtype, shape in types)
        if other != types:
            try:
                return _Prepared(op, name, values, other)
            except InvalidArgumentError:
                pass
        if failure.attr is None and _are_rows(op, name, values, inputs):
            failure.message += f"; {ROWS_RULE}: list(array) has the rows of an array"
        raise


def _are_rows(
    op: Op, name: str | None, values: Mapping[str, object], inputs: Sequence[Rows]
) -> bool:
    """Whether the given arrays are batches by mistake: the op takes their rows, but no array with
    their number of dimensions.
    """
    if any(rows.count is not None or not rows.shape for rows in inputs):
        return False
    others = tuple((rows.dtype, (*(-1 for _ in rows.shape[1:]), rows.shape[-1])) for rows in inputs)
    parts = tuple((rows.dtype, rows.shape[1:]) for rows in inputs)
    return _takes(op, name, values, parts) and not _takes(op, name, values, others)


def _takes(op: Op, name: str | None, values: Mapping[str, object], types: _Types) -> bool:
    try:
        _Prepared(op, name, values, types)
    except Error:
        return False
    return True


# ---- The call -----------------------------------------------------------------------------------


def call(op: Op, name: str | None, values: dict[str, object], inputs: Mapping[str, object]) -> Any:
    """Calls an op on rows.

    Args:
        name: The name of the node in a graph, on which its random numbers depend; None: no name.
        values: Attrs, and arguments of `ROW_OPTIONS`.
        inputs: The value for each input, by its name.

    Returns:
        A row, or a list of rows if batches were given; for several outputs a tuple.

    Raises:
        Error: As the nodes of a graph and the loader raise them; `row` is the row that failed.
    """
    try:
        options = _DEFAULTS
        if not ROW_OPTIONS.keys().isdisjoint(values):
            options = tuple(_option(op, key, values) for key in ROW_OPTIONS)
        rows = [
            take(key, value, takes_ragged=op.takes_ragged) for key, value in inputs.items()
        ]
        count = _common_count(op, inputs, rows)
        prepared, rows = _fitted(op, name, values, inputs, rows)
        return prepared.run(rows, count, *options)
    except Error as failure:
        if failure.op is None:
            failure.op = op.name
        raise


def encode(
    op: Op, values: Mapping[str, object], columns: Mapping[str, Array | Ragged]
) -> tuple[Array, Array]:
    """Calls an op that makes one row of bytes from each row of its inputs.

    Args:
        values: Attrs.
        columns: The value for each input: an array or a Ragged with a row for each record.

    Returns:
        The bytes of all rows one after another, and the size of each row as int64.

    Raises:
        Error: As `call`.
    """
    rows = [take_column(name, column) for name, column in columns.items()]
    count = rows[0].count
    if not count:
        return np.empty(0, np.uint8), np.empty(0, np.int64)
    return _prepare(op, None, values, rows).run_bytes(rows, count)


def _fitted(
    op: Op, name: str | None, values: Mapping[str, object], inputs: Mapping[str, object],
    rows: list[Rows],
) -> tuple[_Prepared, list[Rows]]:
    """The prepared op for the rows; if the op refuses int64, Python ints become int8."""
    try:
        return _prepare(op, name, values, rows), rows
    except InvalidArgumentError:
        narrow = [
            take(key, _as_int8(value), takes_ragged=op.takes_ragged) if _is_small(value) else row
            for (key, value), row in zip(inputs.items(), rows, strict=True)
        ]
        if any(map(operator.is_not, narrow, rows)):
            with contextlib.suppress(InvalidArgumentError):
                return _prepare(op, name, values, narrow), narrow
        raise


def _is_small(value: object) -> bool:
    """Whether a value is an int of Python, or a list of such, in the range of int8."""
    numbers = value if type(value) is list else [value]
    return all(type(number) is int and -128 <= number < 128 for number in numbers)


def _as_int8(value: Any) -> object:
    return [np.int8(number) for number in value] if type(value) is list else np.int8(value)


def _option(op: Op, key: str, values: dict[str, object]) -> int:
    least, _ = ROW_OPTIONS[key]
    if key not in values or op.attr(key) is not None:
        return least
    value = values.pop(key)
    if value is None and least == -1:
        return least
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number < 2**62:
        raise InvalidArgumentError(
            f"{key} = {shown(value)}; it must be an int, at least {least} and below 2**62"
        )
    return number


def _common_count(op: Op, given: Iterable[str], inputs: Sequence[Rows]) -> int | None:
    first = inputs[0].count
    if len(inputs) == 1 and not op.is_whole_batch:
        return first
    names = list(given)
    for name, rows in zip(names, inputs, strict=True):
        if rows.count != first:
            one, other = (
                "one row" if count is None else f"a batch of {count}"
                for count in (first, rows.count)
            )
            raise InvalidArgumentError(
                f"input '{names[0]}' is {one} and input '{name}' is {other}: give one row of each "
                f"or as many of each ({ROWS_RULE})"
            )
    if first is None and op.is_whole_batch:
        raise InvalidArgumentError(
            f"input '{names[0]}' is one row, and {op.name} looks at all rows of a batch: give a "
            f"list of rows ({ROWS_RULE})"
        )
    return first
