"""Batches for programs that take Arrow data: pyarrow, polars, DuckDB, pandas.

    table = pyarrow.record_batch(to_arrow(batch))
    frame = polars.DataFrame(to_arrow(loader))

They take the data through the Arrow C data and stream interfaces and their PyCapsule protocol:
https://arrow.apache.org/docs/format/CDataInterface.html.  This module imports no other package.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import DataLoader, InvalidArgumentError, Ragged
from ..errors import shown
from ..native import CData, ffi, lib

__all__ = ["ArrowBatch", "ArrowStream", "to_arrow"]

Array = npt.NDArray[Any]
Column = Array | Ragged


def __dir__() -> list[str]:
    return sorted(__all__)


# ---- Columns as Arrow arrays --------------------------------------------------------------------

_FORMATS = {
    "int8": "c", "uint8": "C", "int16": "s", "uint16": "S", "int32": "i", "uint32": "I",
    "int64": "l", "uint64": "L", "float16": "e", "float32": "f", "float64": "g",
}  # fmt: skip


class _Node:
    """An Arrow array with its type: what an ArrowSchema and an ArrowArray say about it.

    Attributes:
        format: The type, as the C data interface writes it.
        length: The number of values.
        buffers: The validity bitmap, which is None as nothing is null, then those of the type.
    """

    __slots__ = ("buffers", "children", "format", "length", "metadata", "name")

    def __init__(
        self,
        format: str,
        length: int,
        buffers: Sequence[Array | None],
        children: Sequence[_Node] = (),
        *,
        name: str = "item",
        metadata: bytes | None = None,
    ) -> None:
        self.format, self.length, self.buffers = format, length, buffers
        self.children, self.name, self.metadata = children, name, metadata


def _node(name: str, column: Column, is_text: bool) -> _Node:
    """A column as an Arrow array, whose buffers are those of the column where Arrow's form is the
    same: bools take bits in Arrow, and arrays with strides are copied."""
    node = _ragged_node(name, column, is_text) if isinstance(column, Ragged) else None
    if node is None:
        if is_text:
            raise InvalidArgumentError(f"{name} is named in text=, but its rows are not bytes")
        array = np.ascontiguousarray(column)
        node = _nested(_numbers(name, array), array.shape[1:], len(array))
    node.name = name
    return node


def _numbers(name: str, array: Array) -> _Node:
    """All numbers of an array, flat."""
    flat = array.reshape(-1)
    if flat.dtype == np.bool_:
        return _Node("b", flat.size, [None, np.packbits(flat, bitorder="little")])
    found = _FORMATS.get(flat.dtype.name) if flat.dtype.isnative else None
    if found is None:
        raise InvalidArgumentError(
            f"{name} has the dtype {flat.dtype}, which Arrow has not: flow.Cast makes it float32 "
            "or another one"
        )
    return _Node(found, flat.size, [None, flat])


def _nested(values: _Node, shape: Sequence[int], rows: int) -> _Node:
    """Rows of a fixed shape, as nested lists of fixed sizes."""
    counts = itertools.accumulate([rows, *shape[:-1]], lambda all, size: all * size)
    for size, count in reversed([*zip(shape, counts, strict=False)]):
        values = _Node(f"+w:{size}", count, [None], [values])
    return values


def _ragged_node(name: str, rows: Ragged, is_text: bool) -> _Node:
    """Rows of one varying dimension as large lists, those of bytes as binary data or text, and rows
    of several as tensors of variable shape."""
    splits = np.ascontiguousarray(rows.row_splits)
    values = np.ascontiguousarray(rows.values)
    is_bytes = values.dtype == np.uint8 and len(rows.row_shape) == 1
    if is_text and not is_bytes:
        raise InvalidArgumentError(f"{name} is named in text=, but its rows are not bytes")
    if is_bytes:
        return _Node("U" if is_text else "Z", len(rows), [None, splits, values])
    items = _numbers(name, values)
    if rows.row_shape[0] is None and None not in rows.row_shape[1:]:
        items = _nested(items, values.shape[1:], len(values))
        return _Node("+L", len(rows), [None, splits], [items])
    if rows.row_splits[-1] > np.iinfo(np.int32).max:
        raise InvalidArgumentError(
            f"{name} has {rows.row_splits[-1]} numbers in rows of several varying dimensions; "
            "Arrow counts them with 32 bits: take smaller batches"
        )
    shapes = rows.shapes.astype(np.int32)
    sizes = _nested(_numbers(name, shapes), shapes.shape[1:], len(rows))
    sizes.name = "shape"
    data = _Node("+l", len(rows), [None, splits.astype(np.int32)], [items], name="data")
    metadata = _metadata({"ARROW:extension:name": "arrow.variable_shape_tensor",
                          "ARROW:extension:metadata": "{}"})  # fmt: skip
    return _Node("+s", len(rows), [None], [data, sizes], metadata=metadata)


def _metadata(pairs: Mapping[str, str]) -> bytes:
    """Key and value pairs as the C data interface has them: counts and sizes as int32."""
    texts = [text.encode() for pair in pairs.items() for text in pair]
    parts = [part for text in texts for part in (np.int32(len(text)).tobytes(), text)]
    return b"".join([np.int32(len(pairs)).tobytes(), *parts])


# ---- The structs of the C interfaces ------------------------------------------------------------


def _python_calls() -> CData:
    """The functions that C calls to release Python objects."""
    calls = ffi.new("pfd_python_calls *")
    for name, field in ffi.typeof("pfd_python_calls").fields:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        setattr(calls, name, ffi.cast(field.type, address))
    return calls


lib.pfd_exported_python_set(_python_calls())

_add_reference = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


def _owned(what: object) -> CData:
    """A pointer to an object, with a reference that C gives back."""
    _add_reference(what)
    return ffi.cast("void *", id(what))


def _fill_schema(out: CData, node: _Node) -> None:
    """Fills in a `pfd_exported_schema *`."""
    children, pointers = _children("pfd_exported_schema *", _fill_schema, node)
    texts = [ffi.new("char[]", text.encode()) for text in (node.format, node.name)]
    metadata = ffi.NULL if node.metadata is None else ffi.new("char[]", node.metadata)
    out.format, out.name = texts
    out.metadata, out.flags = metadata, 0
    out.n_children, out.children, out.dictionary = len(children), pointers, ffi.NULL
    out.private_data = _owned([texts, metadata, children, pointers])
    out.release = lib.pfd_exported_schema_release


def _fill_array(out: CData, node: _Node) -> None:
    """Fills in a `pfd_exported_array *`, which keeps the arrays of the node."""
    children, pointers = _children("pfd_exported_array *", _fill_array, node)
    addresses = [0 if buffer is None else buffer.ctypes.data for buffer in node.buffers]
    buffers = ffi.new("const void *[]", [ffi.cast("void *", address) for address in addresses])
    out.length, out.null_count, out.offset = node.length, 0, 0
    out.n_buffers, out.buffers = len(addresses), buffers
    out.n_children, out.children, out.dictionary = len(children), pointers, ffi.NULL
    out.private_data = _owned([node.buffers, buffers, children, pointers])
    out.release = lib.pfd_exported_array_release


def _children(
    kind: str, fill: Callable[[CData, _Node], None], node: _Node
) -> tuple[list[CData], CData]:
    """Filled structs, and an array of pointers to them.  Each keeps what it points at by itself,
    as a consumer may move it away from its parent."""
    children = []
    for child in node.children:
        struct = ffi.new(kind)
        fill(struct, child)
        children.append(struct)
    return children, ffi.new(f"{kind}[]", children)


# ---- Capsules -----------------------------------------------------------------------------------

_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_set_context = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_SetContext", ctypes.pythonapi)
)
_NAMES = {"schema": b"arrow_schema", "array": b"arrow_array", "stream": b"arrow_array_stream"}
_Address = functools.partial(ffi.cast, "uintptr_t")


def _capsule(kind: str, fill: Callable[[CData], None]) -> object:
    """A capsule with a struct, which is released with it if nobody takes it."""
    struct = ffi.new(f"pfd_exported_{kind} *")
    end = getattr(lib, f"pfd_exported_{kind}_capsule_end")
    capsule = _new_capsule(int(_Address(struct)), _NAMES[kind], int(_Address(end)))
    _set_context(capsule, int(_Address(_owned(struct))))
    fill(struct)
    return capsule


def _schema_capsule(node: _Node) -> object:
    return _capsule("schema", lambda out: _fill_schema(out, node))


# ---- What programs take -------------------------------------------------------------------------


class ArrowBatch:
    """A batch as an Arrow record batch: `pyarrow.record_batch(this)`, `polars.DataFrame(this)`."""

    def __init__(
        self, names: Sequence[str], columns: Sequence[Column], text: Sequence[str]
    ) -> None:
        rows = {len(column) for column in columns}
        if len(rows) > 1:
            raise InvalidArgumentError(
                f"the columns {', '.join(names)} have {', '.join(map(str, sorted(rows)))} rows; "
                "those of one batch have the same number"
            )
        nodes = [
            _node(name, column, name in text)
            for name, column in zip(names, columns, strict=True)
        ]
        self._node = _Node("+s", rows.pop() if rows else 0, [None], nodes, name="")

    def __repr__(self) -> str:
        names = ", ".join(node.name for node in self._node.children)
        return f"ArrowBatch({len(self)} rows: {names})"

    def __len__(self) -> int:
        """The number of rows."""
        return self._node.length

    def __arrow_c_schema__(self) -> object:
        """A capsule with an ArrowSchema: a struct with a field for each column."""
        return _schema_capsule(self._node)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Capsules with an ArrowSchema and an ArrowArray, which keep the arrays of the batch.

        Args:
            requested_schema: Other types, which the protocol lets a producer ignore, as here.
        """
        array = _capsule("array", lambda out: _fill_array(out, self._node))
        return _schema_capsule(self._node), array

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with an ArrowArrayStream of this one batch."""
        return ArrowStream(lambda: iter([self])).__arrow_c_stream__(requested_schema)


class ArrowStream:
    """Batches as a stream of Arrow record batches: `pyarrow.table(this)`, `polars.DataFrame(this)`,
    `pyarrow.RecordBatchReader.from_stream(this)`.  Each use is one epoch of the loader."""

    def __init__(self, batches: Callable[[], Iterator[ArrowBatch]]) -> None:
        self._batches = batches

    def __repr__(self) -> str:
        return "ArrowStream()"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with an ArrowArrayStream, which reads the first batch now.

        Raises:
            InvalidArgumentError: There is no batch, and so no schema.
        """
        return _capsule("stream", _Reading(self._batches()).fill)


class _Reading:
    """A stream that is being read: the callbacks of an ArrowArrayStream."""

    def __init__(self, batches: Iterator[ArrowBatch]) -> None:
        first = next(batches, None)
        if first is None:
            raise InvalidArgumentError("the loader has no batch, so that its schema is not known")
        self._schema = first._node
        self._batches = itertools.chain([first], batches)
        self._error = ffi.new("char[]", b"")
        self._callbacks = [
            ffi.callback("int(pfd_exported_stream *, pfd_exported_schema *)", self._get_schema),
            ffi.callback("int(pfd_exported_stream *, pfd_exported_array *)", self._get_next),
            ffi.callback("const char *(pfd_exported_stream *)", lambda _: self._error),
        ]

    def fill(self, out: CData) -> None:
        """Fills in a `pfd_exported_stream *`, which keeps this object."""
        out.get_schema, out.get_next, out.get_last_error = self._callbacks
        out.private_data = _owned(self)
        out.release = lib.pfd_exported_stream_release

    def _get_schema(self, _: CData, out: CData) -> int:
        return self._answer(lambda: _fill_schema(out, self._schema))

    def _get_next(self, _: CData, out: CData) -> int:
        return self._answer(lambda: self._fill_next(out))

    def _answer(self, work: Callable[[], None]) -> int:
        try:
            work()
        except BaseException as failure:  # a callback cannot raise: the consumer does
            said = f"{type(failure).__name__}: {failure}"
            self._error = ffi.new("char[]", said.replace("\0", "").encode())
            return errno.EIO
        return 0

    def _fill_next(self, out: CData) -> None:
        batch = next(self._batches, None)
        if batch is None:
            out.release = ffi.NULL  # the end of the stream
        else:
            _fill_array(out, batch._node)


# ---- The door -----------------------------------------------------------------------------------


def to_arrow(
    data: Any, *, names: Sequence[str] | None = None, text: Iterable[str] = ()
) -> ArrowBatch | ArrowStream:
    """A batch or the batches of a loader, for programs that take Arrow data.

    A column of shape (rows,) is an array of its dtype, one of shape (rows, a, b) nested lists of
    fixed sizes.  Rows of a Ragged are large lists; rows of bytes are large binary data, or large
    UTF-8 text; rows of several varying dimensions have the extension type
    "arrow.variable_shape_tensor".  Nothing is null.

    The memory of a batch is not copied, except for bools, which take bits in Arrow, and for arrays
    that are not C-contiguous.  The consumer keeps it as long as it needs it: a loader's batches
    count as held, within memory_budget.  The batches of a loader are copied, since a consumer
    usually keeps all of them.

    Args:
        data: A batch: a dict of arrays and Ragged, a tuple or list of them, or one of them.  Or a
            DataLoader, each use of which is one epoch.
        names: The names of the columns where data is not a dict.  None: those of the loader's
            blobs; "0", "1" and so on of a tuple.
        text: The columns whose bytes are UTF-8; they are not checked.

    Raises:
        InvalidArgumentError: A column has a dtype that Arrow has not (bfloat16), is no array, or
            names or text do not fit the columns.  Of a loader, when it is read.
    """
    texts = [text] if isinstance(text, str) else [*text]
    if not isinstance(data, DataLoader):
        return _batch(data, names, texts)
    if names is None:
        names = _names_of(data)
    return ArrowStream(lambda: (_batch(_copied(one), names, texts) for one in data))


def _names_of(loader: DataLoader[Any]) -> list[str]:
    """The last parts of the names of a loader's blobs, or the whole names where two are equal."""
    whole = [blob.name for blob in loader.blobs]
    short = [name.rpartition("/")[2] for name in whole]
    return short if len(set(short)) == len(short) else whole


def _copied(batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return {name: _copied(column) for name, column in batch.items()}
    if isinstance(batch, (tuple, list)):
        return [_copied(column) for column in batch]
    if isinstance(batch, Ragged):
        return Ragged.concatenate([batch])
    return batch.copy()


def _batch(data: Any, names: Sequence[str] | None, text: Sequence[str]) -> ArrowBatch:
    if isinstance(data, Mapping):
        found, columns = [*data], [*data.values()]
    else:
        columns = [*data] if isinstance(data, (tuple, list)) else [data]
        found = [str(index) for index in range(len(columns))] if names is None else [*names]
    if len(found) != len(columns):
        raise InvalidArgumentError(
            f"names has {len(found)} names, and the batch {len(columns)} columns"
        )
    for name, column in zip(found, columns, strict=True):
        if not isinstance(column, (np.ndarray, Ragged)) or not getattr(column, "ndim", 1):
            raise InvalidArgumentError(
                f"{name} is {shown(column)}; a column is an array with a row for each record, or a "
                "Ragged"
            )
    for name in text:
        if name not in found:
            raise InvalidArgumentError(
                f"text names {shown(name)}; the columns are {', '.join(map(str, found))}"
            )
    return ArrowBatch(found, columns, text)
