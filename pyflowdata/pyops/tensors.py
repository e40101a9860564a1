"""Rows of blobs inside an op: copied for a Python function, and its results copied back.

C's memory is borrowed until the op returns; the function may change and keep its copy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import OutOfMemoryError, UserFunctionError, shown
from ..native import CData, ffi, lib
from ..nodes.row_types import (
    RAGGED_ROW,
    RowType,
    as_dtype,
    dtype_name,
    dtype_number,
    read_row_type,
)
from ..ragged import Ragged

Array = npt.NDArray[Any]
Rows = Array | list[Array] | Ragged  # of an input; a batch of ragged rows is a Ragged
RaggedRows = Sequence[Array] | Ragged  # of an output whose rows differ in shape

_UINT8 = np.dtype(np.uint8)


def _view(address: CData, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    size = dtype.itemsize * math.prod(shape)
    if size == 0:
        return np.empty(shape, dtype)
    view: Array = np.ndarray(shape, dtype, ffi.buffer(address, size))
    return view


def output_view(tensor: CData, row_type: RowType, num_rows: int) -> Array:
    """The memory of a dense input or output."""
    return _view(tensor.data, (num_rows, *row_type.fixed_sizes), row_type.dtype)


def _ragged_rows(tensor: CData, num_rows: int) -> Array:
    rows: Array = np.ndarray(
        (num_rows,), RAGGED_ROW, ffi.buffer(tensor.rows, num_rows * RAGGED_ROW.itemsize)
    )
    return rows


def _at(address: int) -> CData:
    return ffi.cast("char *", address)


def _shape_of(row: Any, row_type: RowType) -> tuple[int, ...]:
    if row["shape"]:
        return tuple(ffi.unpack(ffi.cast("int64_t *", int(row["shape"])), len(row_type.shape)))
    fixed = math.prod(row_type.fixed_sizes)
    varying = int(row["size"]) // fixed if fixed else 0
    return tuple(varying if size is None else size for size in row_type.shape)


def _copies(tensor: CData, row_type: RowType, num_rows: int) -> Iterator[Array]:
    for row in _ragged_rows(tensor, num_rows):
        shape = _shape_of(row, row_type)
        yield _view(_at(int(row["data"])), shape, row_type.dtype).copy()


def input_rows(tensor: CData, num_rows: int) -> Array | list[Array]:
    """A copy of a `pfd_tensor` that can be indexed by row."""
    row_type = read_row_type(tensor.type)
    if tensor.is_ragged:
        return list(_copies(tensor, row_type, num_rows))
    copy: Array = output_view(tensor, row_type, num_rows).copy()
    return copy


def input_batch(tensor: CData, num_rows: int) -> Array | Ragged:
    """A copy of a `pfd_tensor`, in the form in which a loader delivers a blob."""
    row_type = read_row_type(tensor.type)
    if not tensor.is_ragged:
        copy: Array = output_view(tensor, row_type, num_rows).copy()
        return copy
    if len(row_type.shape) == 1:
        splits = np.empty(num_rows + 1, np.int64)
        lib.pfd_split_rows(tensor.rows, num_rows, ffi.from_buffer("int64_t[]", splits))
        values = np.empty(splits[-1], row_type.dtype)
        copy_ragged_values(tensor, 0, num_rows, row_type.dtype.itemsize, values.view(_UINT8))
        return Ragged(values, splits)
    shapes = ragged_shapes(tensor, row_type, 0, num_rows)
    values = np.empty(int(shapes.prod(axis=1).sum()), row_type.dtype)
    copy_ragged_values(tensor, 0, num_rows, row_type.dtype.itemsize, values.view(_UINT8))
    return ragged_of(values, shapes, row_type)


def ragged_of(values: Array, shapes: Array, row_type: RowType) -> Ragged:
    """Rows back to back as a Ragged, without a copy.

    Args:
        values: All elements, flat.
        shapes: int64 of shape (rows, dimensions).
    """
    splits = np.zeros(len(shapes) + 1, np.int64)
    fixed = row_type.shape[1:]
    if row_type.shape[0] is None and None not in fixed:
        np.cumsum(shapes[:, 0], out=splits[1:])
        tail = tuple(size for size in fixed if size is not None)
        return Ragged(values.reshape(int(splits[-1]), *tail), splits, row_shape=row_type.shape)
    np.cumsum(shapes.prod(axis=1), out=splits[1:])
    return Ragged(values, splits, row_shape=row_type.shape, shapes=shapes)


def to_ragged(rows: Sequence[Array], row_type: RowType) -> Ragged:
    """Rows of fitting shapes as one Ragged."""
    shapes = np.array([row.shape for row in rows], np.int64).reshape(-1, len(row_type.shape))
    flat = [row.ravel() for row in rows]
    values = np.concatenate(flat) if flat else np.empty(0, row_type.dtype)
    return ragged_of(values.astype(row_type.dtype, copy=False), shapes, row_type)


class Told(UserFunctionError):
    """A failure with a complete message; the message of an exception is not added."""


class Mismatch(Told):
    """A function returned a value other than declared."""


class OutputMismatch(Mismatch):
    """An output is other than declared; the message does not name the function yet."""


# ---- Outputs ------------------------------------------------------------------------------------

MASKED = (
    "a masked array, and no field has a mask: return a.filled(value), and the mask, "
    "np.ma.getmaskarray(a), under another name"
)
_WIDER = {"b": "biuf", "i": "iuf", "f": "f"}  # kinds of dtype that numbers of Python may become


def numbers_as(found: Any, array: Array, dtype: np.dtype[Any]) -> Array | None:
    """Python numbers, which have no dtype, in a dtype that can hold them; None: there are other
    values.

    Args:
        found: What a function returned.
        array: `np.asarray(found)`.
        dtype: Floats round; a finite number does not become infinite.
    """
    if not isinstance(found, (bool, int, float, list, tuple)):
        return None
    if array.size > 0 and dtype.kind not in _WIDER.get(array.dtype.kind, ""):
        return None
    try:
        with np.errstate(over="raise"):
            cast = array.astype(dtype, copy=False)
    except FloatingPointError:
        return None
    return cast if dtype.kind == "f" or array.size == 0 or np.array_equal(cast, array) else None


def _other_dtype(name: str, found: Any, array: Array, dtype: np.dtype[Any]) -> str:
    if isinstance(array.base, (bytes, bytearray, memoryview)):  # as as_bytes() makes them
        what, other = "is a text or bytes", "bytes"
    else:
        what, other = f"has dtype {array.dtype}", str(array.dtype)
    if other != "bytes" and not dtype_number(array.dtype):
        return (
            f"the output '{name}' {what}, which no field holds, and {dtype_name(dtype)} is "
            "declared: return numbers of that dtype; an int of more than 64 bits can be a text, "
            "str(number), or a float"
        )
    is_cast = other != "bytes" and hasattr(found, "astype")
    own = f"return {as_dtype(name, dtype)}, or " if is_cast else ""
    return (
        f"the output '{name}' {what}, and {dtype_name(dtype)} is declared, by outputs or by the "
        f"first records: {own}declare the other, as in outputs={{{name!r}: {other!r}}}"
    )


def checked(name: str, found: Any, row_type: RowType, leading: tuple[int, ...]) -> Array:
    """The value of a function for an output, as an array of its dtype and a fitting shape.

    Args:
        leading: (rows,) for a whole batch, () for a row.

    Raises:
        UserFunctionError: Dtype or shape differ from the declaration.
    """
    dtype = row_type.dtype
    if isinstance(found, np.ma.MaskedArray):
        raise OutputMismatch(f"the output '{name}' is {MASKED}")
    if isinstance(found, (np.ndarray, np.generic)):
        array = np.asarray(found)
        fitting = array if array.dtype == dtype else None
    else:
        if found is None or isinstance(found, Ragged):
            raise OutputMismatch(
                f"the output '{name}' is {shown(found)}; it must be an array"
                + ', and None was returned for it: a missing number is float("nan"), and a '
                "missing text b''" * (found is None)
            )
        try:
            array = np.asarray(found)
        except ValueError as failure:
            raise OutputMismatch(f"the output '{name}' is not an array: {failure}") from None
        fitting = array if array.dtype == dtype else numbers_as(found, array, dtype)
    if fitting is None:
        raise OutputMismatch(_other_dtype(name, found, array, dtype))
    if dtype == np.uint8 and row_type.shape == (None,) and not array.shape and not leading:
        raise OutputMismatch(
            f"the output '{name}' is {shown(found)}, and bytes or a text are declared"
        )
    shape = (*leading, *row_type.shape)
    if array.shape != shape and not (
        array.ndim == len(shape)
        and all(n in (None, size) for n, size in zip(shape, array.shape, strict=True))
    ):
        raise OutputMismatch(
            f"the output '{name}' has shape {array.shape}, and {shape} is declared"
            + (": the rows of the batch come first" if leading else " for a row")
        )
    return fitting


def checked_rows(name: str, found: Any, row_type: RowType, num_rows: int) -> list[Array]:
    """The rows of a ragged output of a whole batch, given as a Ragged or a sequence of arrays."""
    if found is None or not hasattr(found, "__len__") or not hasattr(found, "__getitem__"):
        raise OutputMismatch(
            f"the output '{name}' is {shown(found)}; it must be a Ragged or a list of arrays"
        )
    if len(found) != num_rows:
        raise OutputMismatch(
            f"the output '{name}' has {len(found)} rows, and the batch has {num_rows}"
        )
    rows = []
    for index in range(num_rows):
        try:
            rows.append(checked(name, found[index], row_type, ()))
        except OutputMismatch as failure:
            failure.message += f" (row {index})"
            raise
    return rows


def _address(memory: CData) -> np.uint64:
    address: np.uint64 = np.uint64(int(ffi.cast("uintptr_t", memory)))
    return address


def _alloc(args: CData, num_bytes: int) -> CData:
    memory = args.host.alloc(args.scratch, max(num_bytes, 1))
    if memory == ffi.NULL:
        raise OutOfMemoryError(f"no memory for {num_bytes} bytes of a ragged output")
    return memory


def write_ragged(args: CData, tensor: CData, rows: RaggedRows, row_type: RowType) -> None:
    """Copies rows into the scratch, and points a ragged output there."""
    if isinstance(rows, Ragged) and len(row_type.shape) == 1:
        values, num_rows = np.ascontiguousarray(rows.values), len(rows)
        splits = np.ascontiguousarray(rows.row_splits, np.int64)
        memory = _alloc(args, values.nbytes)
        _view(memory, values.shape, values.dtype)[...] = values
        lib.pfd_place_rows(memory, values.itemsize, ffi.from_buffer("int64_t[]", splits), num_rows,
                           tensor.rows)
        return
    values, shapes = flat_rows(rows, row_type)
    place_ragged(args, tensor, 0, values, shapes)


def flat_rows(rows: RaggedRows, row_type: RowType) -> tuple[Array, Array]:
    """The elements of rows, flat, and the shapes of the rows, int64 (rows, dimensions)."""
    made = rows if isinstance(rows, Ragged) else to_ragged(rows, row_type)
    return made.values.ravel(), made.shapes


def place_ragged(args: CData, tensor: CData, begin: int, values: Array, shapes: Array) -> None:
    """Copies rows, whose values are back to back, into the scratch, and points an output there.

    Args:
        begin: The first of these rows in the output.
        shapes: int64 of shape (rows, dimensions).
    """
    num_rows, ndim = shapes.shape
    sizes = shapes.prod(axis=1)
    memory = _alloc(args, values.nbytes)
    _view(memory, values.shape, values.dtype)[...] = values
    out = _ragged_rows(tensor, begin + num_rows)[begin:]
    out["size"] = sizes
    ends = np.cumsum(sizes) * values.dtype.itemsize
    out["data"] = _address(memory) + (ends - sizes * values.dtype.itemsize).astype(np.uint64)
    if ndim > 1:
        own = _alloc(args, shapes.nbytes)
        _view(own, shapes.shape, shapes.dtype)[...] = shapes
        out["shape"] = _address(own) + 8 * ndim * np.arange(num_rows, dtype=np.uint64)


# ---- Ragged inputs as a whole -------------------------------------------------------------------


def ragged_shapes(tensor: CData, row_type: RowType, begin: int, num_rows: int) -> Array:
    """The shapes of rows, int64 of shape (rows, dimensions)."""
    rows = _ragged_rows(tensor, begin + num_rows)[begin:]
    if len(row_type.shape) == 1:
        return rows["size"].reshape(num_rows, 1)
    return np.array([_shape_of(row, row_type) for row in rows], np.int64)


def copy_ragged_values(
    tensor: CData, begin: int, num_rows: int, item_bytes: int, target: Array
) -> None:
    """Copies the bytes of rows back to back."""
    to = ffi.from_buffer("char[]", target, require_writable=True)
    lib.pfd_copy_rows(tensor.rows + begin, num_rows, item_bytes, to)


# ---- Calls of a function over rows --------------------------------------------------------------


def _nothing(row_type: RowType) -> Array:
    """A row of an output that is not there."""
    return np.zeros([size or 0 for size in row_type.shape], row_type.dtype)


class Call(NamedTuple):
    """Rows for a function, and memory for its results.

    Attributes:
        inputs: The rows of each input.
        keywords: The attrs.
        ids, generator: The arguments `ids`, for all rows, and `rng`, for a row.
        types, outputs: The types and arrays of the outputs; None in place of a ragged output.
        before_row: Called before a row; returns in how many rows it must be called again.
    """

    inputs: Sequence[Rows]
    num_rows: int
    keywords: dict[str, Any]
    ids: Array | None
    generator: Callable[[int], np.random.Generator] | None
    types: Sequence[RowType]
    outputs: Sequence[Array | None]
    before_row: Callable[[int], int]


class Runner(NamedTuple):
    """Calls a function for rows, in a thread of the loader or in a worker process.

    Attributes:
        function: The user's function.
        said: Its name, for messages.
        outputs: The names of the outputs.
        from_host: The parameters among `rng` and `ids`.
        is_batch: Whether one call gets all rows.
        switches: For each output the attr that turns it on; "": none.  Without the attr the
            function returns None in place of the output.
    """

    function: Callable[..., Any]
    said: str
    outputs: tuple[str, ...]
    from_host: tuple[str, ...]
    is_batch: bool
    switches: tuple[str, ...]

    @property
    def takes_columns(self) -> bool:
        """Whether inputs are arrays of all rows, or a Ragged."""
        return self.is_batch or hasattr(self.function, "of_columns")

    def run(self, call: Call) -> Sequence[RaggedRows]:
        """Writes dense outputs in place; for each output the rows, if it is ragged.

        Raises:
            BaseException: The exception of the function. Its `pyflowdata_row` is the index of the
                row, where one call gets one row.
        """
        of_columns = getattr(self.function, "of_columns", None)
        if of_columns is not None:
            return self._run_columns(of_columns(call, self.outputs), call)
        if self.is_batch:
            return self._run_batch(call)
        ragged: list[list[Array]] = [[] for _ in call.types]
        for row in range(call.num_rows):
            call.before_row(row)
            try:
                found = self._found([rows[row] for rows in call.inputs], call, row)
                for index, out in enumerate(call.outputs):
                    if self._is_off(index, call):
                        array = _nothing(call.types[index])
                    else:
                        array = checked(self.outputs[index], found[index], call.types[index], ())
                    if out is None:
                        ragged[index].append(array)
                    else:
                        out[row] = array
            except BaseException as failure:
                BaseException.__setattr__(failure, "pyflowdata_row", row)
                raise
        return ragged

    @staticmethod
    def _run_columns(columns: Sequence[Array | Ragged], call: Call) -> Sequence[RaggedRows]:
        for column, out in zip(columns, call.outputs, strict=True):
            if out is not None:
                out[...] = column
        return [() if isinstance(one, np.ndarray) else one for one in columns]

    def _run_batch(self, call: Call) -> list[list[Array]]:
        found = self._found(call.inputs, call, None)
        ragged: list[list[Array]] = []
        declared_of = zip(self.outputs, found, call.types, call.outputs, strict=True)
        for index, (name, value, declared, out) in enumerate(declared_of):
            ragged.append([])
            if self._is_off(index, call):
                ragged[-1] = [_nothing(declared)] * (call.num_rows if out is None else 0)
            elif out is None:
                ragged[-1] = checked_rows(name, value, declared, call.num_rows)
            else:
                out[...] = checked(name, value, declared, (call.num_rows,))
        return ragged

    def _is_off(self, index: int, call: Call) -> bool:
        switch = self.switches[index]
        return bool(switch) and not call.keywords[switch]

    def _found(self, inputs: Sequence[Any], call: Call, row: int | None) -> Sequence[Any]:
        """The results of the function for a row, or for all rows: a value for each output."""
        keywords = call.keywords
        if call.ids is not None:
            keywords["ids"] = call.ids if row is None else call.ids[row]
        if call.generator is not None:
            keywords["rng"] = call.generator(row or 0)
        return self._outputs(self.function(*inputs, **keywords))

    def _outputs(self, found: Any) -> Sequence[Any]:
        """The results of the function, one for each output."""
        names = self.outputs
        if isinstance(found, Mapping):
            if set(found) != set(names):
                raise Mismatch(
                    f"{self.said}() returned the outputs {', '.join(map(str, found))}; declared "
                    f"are {', '.join(names)}"
                )
            return [found[name] for name in names]
        if len(names) == 1:
            if found is None and not self.switches[0]:
                raise OutputMismatch(
                    f"the output '{names[0]}' is None; it must be an array; is a return missing? A "
                    'missing number is float("nan")'
                )
            return (found,)
        if not isinstance(found, (tuple, list)) or len(found) != len(names):
            what = f"{len(found)} values" if isinstance(found, (tuple, list)) else shown(found)
            raise Mismatch(
                f"{self.said}() returned {what}; {len(names)} outputs are declared: return "
                f"({', '.join(names)})"
            )
        return found


class Generators:
    """One NumPy generator, which is set to the key of each row in turn: making a generator costs as
    much as drawing many numbers.
    """

    def __init__(self) -> None:
        start, self._key = np.zeros(4, np.uint64), np.zeros(2, np.uint64)
        self._state = {
            "bit_generator": "Philox",
            "state": {"counter": start, "key": self._key},
            "buffer": start,
            "buffer_pos": 4,
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._generator = np.random.Generator(np.random.Philox(0))

    def of(self, first: int, second: int) -> np.random.Generator:
        """The generator of a key of 128 bits; valid until the next call."""
        self._key[0], self._key[1] = first, second
        self._generator.bit_generator.state = self._state
        return self._generator
